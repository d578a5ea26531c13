// Every grid the network scored: what it saw, what it thought of each cell, and which look led where.

const MOST_WRITTEN = 7; // cells per side beyond which numbers do not fit

function buildLevels(stage, scene) {
  const tree = stage.querySelector(".tn-tree"), root = gridOf(scene, null);
  tree.replaceChildren(...(root ? [branch(scene, root)] : []));
  const [low, high] = scene.lift, cells = scene.grid ** 2;
  const deeper = scene.levels > 2 ? " Looks that were taken have a grid of their own, to the right of the one they lie in." : "";
  stage.querySelector(".tn-levels .tn-head p").textContent = root
    ? `${scene.levels > 2 ? "Each grid" : "The grid"} over the picture as the network saw it. In a cell: its rank, and how much likelier than chance it was (1× is uniform; darker is less likely, on a fixed scale). Click a cell to add or remove that look.${deeper}`
    : "This model looks at the whole picture once: there is no grid.";
  const why = stage.querySelector(".tn-levels details");
  why.hidden = !root;
  why.querySelector("p").textContent =
    `Raw probabilities look flat whatever was learned, because location logits are scaled to unit length before the softmax: with ${cells} cells the likeliest can never be more than ${times(high)} and the least likely never less than ${times(low)} as likely as by chance. Those bounds are the ends of the scale, so the same tint means the same for every picture.`;
}

function branch(scene, grid) {
  const node = document.createElement("div");
  node.className = "tn-node";
  if (grid.parent !== null) node.dataset.inside = grid.parent;
  const title = grid.parent === null ? "level 1: the thumbnail" : `level ${grid.level}: inside ${insideOf(scene.looks[grid.parent].name)}`;
  const image = grid.parent === null ? scene.thumbnail : scene.looks[grid.parent].crop;
  const written = scene.grid <= MOST_WRITTEN ? "" : " tn-dense";
  const buttons = grid.lift.map((lift, index) =>
    `<button type="button" data-cell="${index}" tabindex="${index ? -1 : 0}" style="--dim:${dimming(scene, lift).toFixed(3)}" ` +
    `data-lift="${lift}"><b></b><small>${ordinalShort(grid.rank[index])}</small><small>${times(lift)}</small></button>`).join("");
  node.innerHTML = `<div class="tn-grid${written}" data-parent="${grid.parent ?? ""}"${grid.parent === null ? "" : ` data-look="${grid.parent}"`}>` +
    `<h3>${escaped(title)}</h3><div class="tn-cells" role="group" aria-label="${escaped(title)}; arrow keys move between cells" style="--n:${scene.grid}"><img src="${image}" alt="">${buttons}</div></div>`;
  const below = scene.grids.filter(other => other.parent !== null && scene.looks[other.parent].parent === grid.parent);
  if (below.length) {
    const branches = document.createElement("div");
    branches.className = "tn-branches";
    branches.append(...below.map(other => branch(scene, other)));
    node.append(branches);
  }
  return node;
}

// A name spells the way to its look and has no room in deep grids, whose own place tells most of it.
const LONG = 5;
const insideOf = name => name.length > LONG ? name : `look ${name}`;
const nameInGrid = name => name.length > LONG ? `…${name.slice(name.lastIndexOf(".") + 1)}` : name;

const ordinalShort = n => `#${n}`;

function drawLevels(stage, view) {
  const { scene } = view;
  for (const node of stage.querySelectorAll("[data-inside]")) node.hidden = !view.shown.has(Number(node.dataset.inside));
  for (const grid of stage.querySelectorAll(".tn-grid")) {
    const parent = grid.dataset.parent === "" ? null : Number(grid.dataset.parent);
    for (const cell of grid.querySelectorAll("[data-cell]")) {
      const look = lookAt(scene, parent, Number(cell.dataset.cell)), taken = look >= 0 && view.shown.has(look);
      cell.setAttribute("aria-pressed", taken);
      cell.classList.toggle("tn-newest", taken && look === view.newest);
      cell.querySelector("b").textContent = taken ? nameInGrid(scene.looks[look].name) : "";
      if (taken) cell.dataset.look = look;
      else delete cell.dataset.look;
      const [rank, lift] = cell.querySelectorAll("small");
      cell.setAttribute("aria-label", `cell ${Number(cell.dataset.cell) + 1}, rank ${rank.textContent.slice(1)}, ${lift.textContent} chance${taken ? `, look ${scene.looks[look].name}` : ""}`);
    }
  }
}

// One stop of the tab key per grid; arrows move inside it.
function moveInGrid(event, n) {
  const move = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -n, ArrowDown: n }[event.key];
  const cell = event.target.closest?.(".tn-cells [data-cell]");
  if (!move || !cell || event.altKey || event.ctrlKey || event.metaKey) return false;
  const at = Number(cell.dataset.cell), to = at + move;
  const sameRow = Math.abs(move) > 1 || Math.floor(at / n) === Math.floor(to / n);
  const next = to >= 0 && sameRow ? cell.parentElement.querySelector(`[data-cell="${to}"]`) : null;
  if (next) {
    takeTabStop(next);
    next.focus();
  }
  return true;
}
