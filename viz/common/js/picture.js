// The picture: cells tinted by lift, numbered boxes, and a click that looks there.

const TINY = 0.07; // of the picture's side: a box without room for its name, which appears when the look is pointed at
const WIDEST = 4; // stranger shapes are shown squeezed, so that their boxes stay visible

const share100 = share => `${(100 * share).toFixed(3)}%`;

function place(element, box) {
  const [x0, y0, x1, y1] = box;
  Object.assign(element.style, { left: share100(x0), top: share100(y0), width: share100(x1 - x0), height: share100(y1 - y0) });
}

// How dark a cell is drawn: a fixed scale, the same for every picture and every checkpoint with this grid.
function dimming(scene, lift) {
  const [low, high] = scene.lift.map(Math.log2);
  return high > low ? 1 - Math.min(1, Math.max(0, (Math.log2(lift) - low) / (high - low))) : 0;
}

// Cells overlap, so the picture is divided by whose middle is nearest.
function territories(boxes, n) {
  const middle = (axis, i) => (boxes[i][axis] + boxes[i][axis + 2]) / 2;
  const edges = (axis, step) => {
    const at = Array.from({ length: n }, (_, i) => middle(axis, i * step));
    return [0, ...at.slice(1).map((m, i) => (m + at[i]) / 2), 1];
  };
  const xs = edges(0, 1), ys = edges(1, n);
  return boxes.map((_, i) => [xs[i % n], ys[Math.floor(i / n)], xs[i % n + 1], ys[Math.floor(i / n) + 1]]);
}

function buildPicture(stage, scene) {
  const photo = stage.querySelector(".tn-photo"), frame = stage.querySelector(".tn-frame");
  photo.src = scene.picture;
  photo.alt = scene.title;
  frame.style.setProperty("--ratio", Math.min(Math.max(scene.width / scene.height, 1 / WIDEST), WIDEST).toFixed(5));
  const by = scene.credit ? `<small>${escaped(scene.credit)}</small>` : "";
  stage.querySelector("figcaption").innerHTML = `${escaped(scene.title)}, ${scene.width} × ${scene.height} px${scene.cut?.caption ? `, ${escaped(scene.cut.caption)}` : ""}${by}`;
  const tint = stage.querySelector(".tn-tint"), grid = gridOf(scene, null);
  tint.replaceChildren(...(grid ? territories(grid.boxes, scene.grid) : []).map((box, index) => {
    const cell = document.createElement("div");
    place(cell, box);
    cell.dataset.cell = index;
    cell.style.setProperty("--dim", dimming(scene, grid.lift[index]).toFixed(3));
    cell.title = `Cell ${index + 1}: ${ordinal(grid.rank[index])} choice, ${times(grid.lift[index])} as likely as by chance. Click to add or remove this look.`;
    return cell;
  }));
  stage.querySelector(".tn-boxes").replaceChildren(...scene.looks.map((look, at) => {
    const box = document.createElement("div");
    box.className = look.level > 2 ? "tn-box tn-deep" : "tn-box";
    const [x0, y0, x1, y1] = look.box;
    if (look.level > 2 && Math.min(x1 - x0, y1 - y0) < TINY) box.classList.add("tn-tiny", x0 < 0.5 ? "tn-before" : "tn-behind");
    box.dataset.look = at;
    place(box, look.box);
    box.innerHTML = `<b>${escaped(look.name)}</b>`;
    return box;
  }));
}

function drawPicture(stage, view) {
  stage.querySelector(".tn-tint").classList.toggle("tn-off", !view.state.tint);
  for (const box of stage.querySelectorAll(".tn-box")) {
    const look = Number(box.dataset.look);
    box.hidden = !view.shown.has(look);
    box.classList.toggle("tn-newest", look === view.newest);
  }
  stage.querySelector(".tn-boxes").setAttribute("aria-label", `Boxes of ${counted(view.looks.length, "look", "looks")}`);
}

function previewCell(stage, scene, parent, index) {
  const preview = stage.querySelector(".tn-preview"), grid = gridOf(scene, parent);
  preview.hidden = index === null || !grid;
  if (!preview.hidden) place(preview, grid.boxes[index]);
}

function ordinal(n) {
  const tail = n % 100 > 10 && n % 100 < 14 ? "th" : { 1: "st", 2: "nd", 3: "rd" }[n % 10] ?? "th";
  return n === 1 ? "first" : n + tail;
}

function drawCost(stage, view) {
  const { scene, looks } = view;
  const boxes = level => [...looks].map(at => scene.looks[at]).filter(look => look.level === level).map(look => look.box);
  const all = [...scene.looks.keys()];
  const parts = [
    scene.looks.length ? `<b>${looks.length}</b> of ${counted(scene.looks.length, "look", "looks")}` : "<b>0</b> looks: the whole picture is seen once",
    `<b>${gigaflops(flopsOf(scene, looks))}</b> of ${gigaflops(flopsOf(scene, all))}`,
  ];
  if (scene.looks.length) parts.push(`boxes cover <b>${percent(coverage(boxes(2)))}</b> of the picture`);
  if (scene.levels > 2) parts.push(`the closest <b>${percent(coverage(boxes(scene.levels)))}</b>`);
  stage.querySelector(".tn-cost").innerHTML = parts.map(part => `<span>${part}</span>`).join("");
}
