// One side: the picture with its looks, the decision, and the class compared over the number of looks.

function buildColumn(root, side, pair, mine) {
  const scene = pair[side], column = root.querySelector(`.compare-column[data-side="${side}"]`);
  const word = mine ? "button" : "div";
  column.innerHTML =
    `<h2><b>${side.toUpperCase()}</b> ${escaped(scene.called)}</h2>` +
    '<figure class="tn-picture"><div class="tn-frame"><img class="tn-photo" alt=""><div class="tn-tint"></div><div class="tn-boxes" role="img"></div></div><figcaption></figcaption></figure>';
  const grid = scene.grids[0];
  buildPicture(column, scene);
  const cells = [...column.querySelectorAll(".tn-tint > div")].map((cell, index) => {
    const made = document.createElement(word);
    made.style.cssText = cell.style.cssText;
    made.dataset.cell = index;
    const place = `row ${Math.floor(index / scene.grid) + 1}, column ${index % scene.grid + 1}`;
    const worth = `${ordinal(grid.rank[index])} choice of the network, ${times(grid.lift[index])} as likely as by chance`;
    made.title = `${place[0].toUpperCase()}${place.slice(1)}: ${worth}.${mine ? " Click to add or remove this look." : ""}`;
    if (mine) {
      const taken = mine.includes(index);
      made.type = "button";
      made.tabIndex = index === (mine[mine.length - 1] ?? 0) ? 0 : -1; // arrow keys move between cells
      made.setAttribute("aria-pressed", taken);
      made.setAttribute("aria-label", `${place}, ${taken ? `look ${mine.indexOf(index) + 1}` : "not looked at"}`);
    }
    return made;
  });
  const tint = column.querySelector(".tn-tint");
  tint.replaceChildren(...cells);
  tint.classList.toggle("compare-mine", Boolean(mine));
  if (mine) Object.entries({ role: "group", "aria-label": "Your own cells; arrow keys move between them" }).forEach(([name, value]) => tint.setAttribute(name, value));
  for (const box of column.querySelectorAll(".tn-box")) box.dataset.path = pathKey(scene.looks[Number(box.dataset.look)]);
}

// Arrow keys among the cells of a picture; whether the key was meant for them.
function moveBetweenCells(event, n) {
  const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
  const cell = event.target.closest?.(".compare-mine [data-cell]");
  if (!step || !cell || event.altKey || event.ctrlKey || event.metaKey) return false;
  const at = Number(cell.dataset.cell), row = Math.floor(at / n) + step[0], column = at % n + step[1];
  const next = row < 0 || row >= n || column < 0 || column >= n ? null : cell.parentElement.querySelector(`[data-cell="${row * n + column}"]`);
  if (next) {
    cell.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }
  return true;
}

function drawColumn(root, side, view) {
  const { scene, looks, shown } = view[side], column = root.querySelector(`.compare-column[data-side="${side}"]`);
  column.querySelector(".tn-tint").classList.toggle("tn-off", !view.state.tint);
  for (const box of column.querySelectorAll(".tn-box")) {
    box.hidden = !shown.has(Number(box.dataset.look));
    box.classList.toggle("tn-newest", Number(box.dataset.look) === looks[looks.length - 1]);
  }
  column.querySelector(".tn-boxes").setAttribute("aria-label", `Boxes of ${counted(looks.length, "look", "looks")}`);
}

function drawSideDecision(root, side, view) {
  const { scene, looks, share, order, logits } = view[side], cls = view.cls[side], other = side === "a" ? "b" : "a";
  const panel = root.querySelector(`.compare-decision[data-side="${side}"]`);
  const rows = scene.label === null || order.includes(scene.label) ? order : [...order.slice(0, 4), scene.label];
  const from = looks.length ? `From the thumbnail and ${counted(looks.length, "look", "looks")}` : "From the thumbnail alone";
  const bars = rows.map(c =>
    `<li data-class="${c}" class="${c === order[0] ? "tn-first" : ""}" title="logit ${logits[c].toFixed(5)}"><span>${escaped(scene.classes[c])}${c === scene.label ? "<em>true label</em>" : ""}</span>` +
    `<b>${percent(share[c])}</b><div class="tn-bar"><div style="width:${(100 * share[c]).toFixed(3)}%"></div></div></li>`).join("");
  const last = view.pair.most[0], at = view.budget[0];
  const lines = [{ name: side, values: courseOf(scene, view.budget, cls), from: 0, kind: "tn-lead" }];
  if (view.comparable) lines.unshift({ name: other, values: courseOf(view.pair[other], view.budget, view.cls[other]), from: 0, kind: "compare-other" });
  const chart = shareChart(lines, last, at, view.state.width, `Probability of ${scene.classes[cls]} after each look, for ${side.toUpperCase()}`);
  const key = view.comparable ? `<li>${swatch("compare-other")}${other.toUpperCase()}</li>` : "";
  panel.innerHTML =
    `<div class="tn-head"><h2>Decision of ${side.toUpperCase()}</h2><p>${from}. Probabilities are the network's own and may be too sure of themselves.</p></div>` +
    `<ol class="tn-classes">${bars}</ol><h3>${escaped(scene.classes[cls])} over looks <b data-probability="${share[cls]}">${percent(share[cls])}</b></h3>` +
    `<div class="tn-plot">${chart}<ul class="tn-key"><li>${swatch("tn-lead")}${side.toUpperCase()}</li>${key}</ul></div>`;
}
