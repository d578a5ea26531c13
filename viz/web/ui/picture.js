// The picture of all tabs: cells tinted by lift, and numbered boxes of looks.

import { coverage, flopsOf, gridOf } from "../core/scene.js";
import { formatCount, gigaflops, ordinal, percent, times } from "../core/text.js";
import { build } from "./dom.js";

const TINY = 0.07; // of the picture's side: a box without room for its name, which appears when the look is pointed at
const WIDEST = 4; // stranger shapes are shown squeezed, so that their boxes stay visible

const share100 = share => `${(100 * share).toFixed(3)}%`;

export function place(element, box) {
  const [x0, y0, x1, y1] = box;
  const [left, top, width, height] = [x0, y0, x1 - x0, y1 - y0].map(share100);
  Object.assign(element.style, { left, top, width, height });
}

// How dark a cell is drawn: a fixed scale, the same for every picture and every checkpoint with this grid.
export function computeDimness(scene, lift) {
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
  const xs = edges(0, 1);
  const ys = edges(1, n);
  return boxes.map((_, i) => [xs[i % n], ys[Math.floor(i / n)], xs[(i % n) + 1], ys[Math.floor(i / n) + 1]]);
}

function buildCell(scene, grid, index) {
  const worth = `${ordinal(grid.rank[index])} choice, ${times(grid.lift[index])} as likely as by chance`;
  return build("div", { title: `Cell ${index + 1}: ${worth}. Click to add or remove this look.` });
}

// `makeCell` makes another element for a cell, such as a button.
export function buildPicture(stage, scene, makeCell = buildCell) {
  const photo = stage.querySelector(".tn-photo");
  photo.src = scene.picture;
  photo.alt = scene.title;
  const ratio = Math.min(Math.max(scene.width / scene.height, 1 / WIDEST), WIDEST);
  stage.querySelector(".tn-frame").style.setProperty("--ratio", ratio.toFixed(5));
  const cut = scene.cut?.caption ? `, ${scene.cut.caption}` : "";
  const caption = `${scene.title}, ${scene.width} × ${scene.height} px${cut}`;
  stage.querySelector("figcaption").replaceChildren(caption, scene.credit ? build("small", {}, scene.credit) : "");
  const grid = gridOf(scene, null);
  const cells = (grid ? territories(grid.boxes, scene.grid) : []).map((box, index) => {
    const cell = makeCell(scene, grid, index);
    place(cell, box);
    cell.dataset.cell = index;
    cell.style.setProperty("--dim", computeDimness(scene, grid.lift[index]).toFixed(3));
    return cell;
  });
  stage.querySelector(".tn-tint").replaceChildren(...cells);
  stage.querySelector(".tn-boxes").replaceChildren(...scene.looks.map(buildBox));
}

function buildBox(look, at) {
  const [x0, y0, x1, y1] = look.box;
  const box = build("div", { class: look.level > 2 ? "tn-box tn-deep" : "tn-box", "data-look": at });
  if (look.level > 2 && Math.min(x1 - x0, y1 - y0) < TINY) {
    box.classList.add("tn-tiny", x0 < 0.5 ? "tn-before" : "tn-behind");
  }
  place(box, look.box);
  box.append(build("b", {}, look.name));
  return box;
}

// Shows the boxes of a view's looks; the last one is the newest.
export function drawPicture(stage, { state, looks, shown }) {
  const newest = looks.at(-1) ?? null;
  stage.querySelector(".tn-tint").classList.toggle("tn-off", !state.tint);
  for (const box of stage.querySelectorAll(".tn-box")) {
    const look = Number(box.dataset.look);
    box.hidden = !shown.has(look);
    box.classList.toggle("tn-newest", look === newest);
  }
  stage.querySelector(".tn-boxes").setAttribute("aria-label", `Boxes of ${formatCount(looks.length, "look", "looks")}`);
}

export function previewCell(stage, scene, parent, index) {
  const preview = stage.querySelector(".tn-preview");
  const grid = gridOf(scene, parent);
  preview.hidden = index === null || !grid;
  if (!preview.hidden) place(preview, grid.boxes[index]);
}

export function drawCost(stage, view) {
  const { scene, looks } = view;
  const count = scene.looks.length;
  const covered = level =>
    percent(
      coverage(
        looks
          .map(at => scene.looks[at])
          .filter(look => look.level === level)
          .map(look => look.box),
      ),
    );
  const bold = text => build("b", {}, text);
  const parts = [
    count
      ? [bold(looks.length), ` of ${formatCount(count, "look", "looks")}`]
      : [bold(0), " looks: the whole picture is seen once"],
    [bold(gigaflops(flopsOf(scene, looks))), ` of ${gigaflops(flopsOf(scene, [...scene.looks.keys()]))}`],
  ];
  if (count) parts.push(["boxes cover ", bold(covered(2)), " of the picture"]);
  if (scene.levels > 2) parts.push(["the closest ", bold(covered(scene.levels))]);
  stage.querySelector(".tn-cost").replaceChildren(...parts.map(part => build("span", {}, part)));
}
