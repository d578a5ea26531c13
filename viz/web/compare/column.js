// One side: the picture with its looks, the decision, and the class compared over the number of looks.

import { sayCalibrated } from "../core/scene.js";
import { ordinal, percent, times } from "../core/text.js";
import { build } from "../ui/dom.js";
import { describeOrigin, drawClass, listClasses } from "../ui/ledger_rows.js";
import { SMALL, drawKey, drawLineChart } from "../ui/line_chart.js";
import { buildPicture, drawPicture } from "../ui/picture.js";
import { courseOf, pathKey } from "./view.js";

const findColumn = (root, side) => root.querySelector(`.compare-column[data-side="${side}"]`);

// `mine` are the cells that a visitor chose, in their order, or null where the policy is another.
export function buildColumn(root, side, pair, mine) {
  const scene = pair[side];
  const own = mine && { role: "group", "aria-label": "Your own cells; arrow keys move between them" };
  const frame = build(
    "div",
    { class: "tn-frame" },
    build("img", { class: "tn-photo", alt: "" }),
    build("div", { class: mine ? "tn-tint compare-mine" : "tn-tint", ...own }),
    build("div", { class: "tn-boxes", role: "img" }),
  );
  const column = findColumn(root, side);
  column.replaceChildren(
    build("h2", {}, build("b", {}, side.toUpperCase()), ` ${scene.called}`),
    build("figure", { class: "tn-picture" }, frame, build("figcaption")),
  );
  buildPicture(column, scene, (_, grid, index) => buildCell(scene, grid, index, mine));
  for (const box of column.querySelectorAll(".tn-box")) {
    box.dataset.path = pathKey(scene.looks[Number(box.dataset.look)]);
  }
}

function buildCell(scene, grid, index, mine) {
  const place = `row ${Math.floor(index / scene.grid) + 1}, column ${(index % scene.grid) + 1}`;
  const rank = ordinal(grid.rank[index]);
  const worth = `${rank} choice of the network, ${times(grid.lift[index])} as likely as by chance.`;
  const title = `${place[0].toUpperCase()}${place.slice(1)}: ${worth}`;
  if (!mine) return build("div", { title });
  const order = mine.indexOf(index);
  return build("button", {
    type: "button",
    title: `${title} Click to add or remove this look.`,
    tabindex: index === (mine.at(-1) ?? 0) ? 0 : -1, // arrow keys move between cells
    "aria-pressed": String(order >= 0),
    "aria-label": `${place}, ${order >= 0 ? `look ${order + 1}` : "not looked at"}`,
  });
}

// Arrow keys among the cells of a picture; whether the key was meant for them.
export function moveBetweenCells(event, n) {
  const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
  const cell = event.target.closest?.(".compare-mine [data-cell]");
  if (!step || !cell || event.altKey || event.ctrlKey || event.metaKey) return false;
  const at = Number(cell.dataset.cell);
  const row = Math.floor(at / n) + step[0];
  const column = (at % n) + step[1];
  const next =
    row < 0 || row >= n || column < 0 || column >= n
      ? null
      : cell.parentElement.querySelector(`[data-cell="${row * n + column}"]`);
  if (next) {
    cell.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }
  return true;
}

export function drawColumn(root, side, view) {
  drawPicture(findColumn(root, side), { ...view[side], state: view.state });
}

export function drawSideDecision(root, side, view) {
  const { scene, looks, share } = view[side];
  const cls = view.cls[side];
  const name = side.toUpperCase();
  const from = `${describeOrigin(looks)}. ${sayCalibrated(scene)}`;
  const bars = listClasses(view[side]).map(other => drawClass(scene, other, view[side]));
  const probability = build("b", { "data-probability": share[cls] }, percent(share[cls]));
  root
    .querySelector(`.compare-decision[data-side="${side}"]`)
    .replaceChildren(
      build("div", { class: "tn-head" }, build("h2", {}, `Decision of ${name}`), build("p", {}, from)),
      build("ol", { class: "tn-classes" }, bars),
      build("h3", {}, `${scene.classes[cls]} over looks `, probability),
      build("div", { class: "tn-plot" }, drawCourses(side, view)),
    );
}

// The class after each look, of this side and, where both know it, of the other.
function drawCourses(side, view) {
  const other = side === "a" ? "b" : "a";
  const line = (whose, kind) => {
    const values = courseOf(view.pair[whose], view.budget, view.cls[whose]);
    const data = { "data-line": whose, "data-values": values.join(" ") };
    return { values, kind, data, text: whose.toUpperCase() };
  };
  const own = line(side, "tn-lead");
  const lines = view.comparable ? [line(other, "compare-other"), own] : [own];
  const label = `Probability of ${view[side].scene.classes[view.cls[side]]} after each look, for ${own.text}`;
  const chart = { width: view.state.width, last: view.pair.most[0], at: view.budget[0], lines, label };
  return [drawLineChart(SMALL, chart), drawKey(lines.toReversed())];
}
