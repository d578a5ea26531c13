// The keyboard's place on the stage, kept when what has the focus is made anew.

const PLACES = [".tn-ledger tbody tr", ".tn-look", ".tn-grid [data-cell]", ".tn-budgets input", ".tn-look [data-zoom]", ".tn-cut input"];

// A selector that finds the focused element again, or null where it is not made anew.
function focusedPlace(stage) {
  const element = stage.contains(document.activeElement) ? document.activeElement : null;
  const kind = element && PLACES.find(selector => element.matches(selector));
  if (!kind) return null;
  const { look, cell, level, zoom } = element.dataset;
  if (element.name) return `${kind}[name="${element.name}"]:checked`;
  if (cell !== undefined) return `.tn-grid[data-parent="${element.closest("[data-parent]").dataset.parent}"] [data-cell="${cell}"]`;
  if (zoom !== undefined) return `${kind}[data-zoom="${zoom}"]`;
  return level !== undefined ? `${kind}[data-level="${level}"]` : `${kind}[data-look="${look}"]`;
}

// The row of a look that was removed is not there any more: then the last one has the focus.
function refocus(stage, place) {
  if (place === null) return;
  const element = stage.querySelector(place) ?? [...stage.querySelectorAll(`${PLACES[0]}[data-look]`)].pop();
  if (!element || element === document.activeElement) return;
  if (element.dataset.cell !== undefined) takeTabStop(element);
  element.focus({ preventScroll: true });
}

// One cell of a grid is a stop of the tab key.
function takeTabStop(cell) {
  for (const other of cell.parentElement.querySelectorAll("[data-cell]")) other.tabIndex = other === cell ? 0 : -1;
}
