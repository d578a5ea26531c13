// Every grid the network scored: what it saw, what it thought of each cell, and which look led where.

import { gridOf, lookAt } from "../core/scene.js";
import { times } from "../core/text.js";
import { build } from "../ui/dom.js";
import { takeTabStop } from "./controls.js";
import { computeDimness } from "../ui/picture.js";

const MAX_WRITTEN = 7; // cells per side beyond which numbers do not fit

export function buildLevels(stage, scene) {
  const tree = stage.querySelector(".tn-tree");
  const root = gridOf(scene, null);
  tree.replaceChildren(...(root ? [branch(scene, root)] : []));
  const [low, high] = scene.lift;
  const cells = scene.grid ** 2;
  stage.querySelector(".tn-levels .tn-head p").textContent = root
    ? describeGrids(scene)
    : "This model looks at the whole picture once: there is no grid.";
  const why = stage.querySelector(".tn-levels > details");
  why.hidden = !root;
  why.querySelector("p").textContent =
    "Raw probabilities look flat whatever was learned, because location logits are scaled to unit length before the " +
    `softmax: with ${cells} cells the likeliest can never be more than ${times(high)} and the least likely never ` +
    `less than ${times(low)} as likely as by chance. Those bounds are the ends of the scale, so the same tint means ` +
    "the same for every picture.";
}

function describeGrids(scene) {
  const deeper = " Looks that were taken have a grid of their own, to the right of the one they lie in.";
  return (
    `${scene.levels > 2 ? "Each grid" : "The grid"} over the picture as the network saw it. In a cell: its rank, and ` +
    "how much likelier than chance it was (1× is uniform). “tint cells” darkens the less likely, on a fixed scale. " +
    `Click a cell to add or remove that look.${scene.levels > 2 ? deeper : ""}`
  );
}

function branch(scene, grid) {
  const inside = grid.parent === null ? null : scene.looks[grid.parent];
  const title = inside ? `level ${grid.level}: inside ${insideOf(inside.name)}` : "level 1: the thumbnail";
  const label = `${title}; arrow keys move between cells`;
  const cells = build(
    "div",
    { class: "tn-cells", role: "group", "aria-label": label, style: `--n:${scene.grid}` },
    build("img", { src: inside ? inside.crop : scene.thumbnail, alt: "" }),
    grid.lift.map((_, index) => buildCell(scene, grid, index)),
  );
  const own = {
    class: scene.grid <= MAX_WRITTEN ? "tn-grid" : "tn-grid tn-dense",
    "data-parent": grid.parent ?? "",
    "data-look": grid.parent,
  };
  const node = build("div", { class: "tn-node", "data-inside": grid.parent });
  node.append(build("div", own, build("h3", {}, title), cells));
  const below = scene.grids.filter(other => other.parent !== null && scene.looks[other.parent].parent === grid.parent);
  const branches = below.map(other => branch(scene, other));
  if (branches.length) node.append(build("div", { class: "tn-branches" }, branches));
  return node;
}

function buildCell(scene, grid, index) {
  const lift = grid.lift[index];
  const attributes = {
    type: "button",
    "data-cell": index,
    tabindex: index ? -1 : 0,
    style: `--dim:${computeDimness(scene, lift).toFixed(3)}`,
    "data-lift": lift,
  };
  const [rank, written] = [`#${grid.rank[index]}`, times(lift)].map(text => build("small", {}, text));
  return build("button", attributes, build("b"), build("span", {}, rank, written));
}

// A name spells the way to its look and has no room in deep grids, whose own place tells most of it.
const LONG = 5;
const insideOf = name => (name.length > LONG ? name : `look ${name}`);
const nameInGrid = name => (name.length > LONG ? `…${name.slice(name.lastIndexOf(".") + 1)}` : name);

export function drawLevels(stage, view) {
  const { scene } = view;
  stage.querySelector(".tn-tree").classList.toggle("tn-off", !view.state.tint);
  for (const node of stage.querySelectorAll("[data-inside]"))
    node.hidden = !view.shown.has(Number(node.dataset.inside));
  for (const grid of stage.querySelectorAll(".tn-grid")) {
    const parent = grid.dataset.parent === "" ? null : Number(grid.dataset.parent);
    for (const cell of grid.querySelectorAll("[data-cell]")) {
      const look = lookAt(scene, parent, Number(cell.dataset.cell));
      const taken = look >= 0 && view.shown.has(look);
      cell.setAttribute("aria-pressed", taken);
      cell.classList.toggle("tn-newest", taken && look === view.newest);
      cell.querySelector("b").textContent = taken ? nameInGrid(scene.looks[look].name) : "";
      if (taken) cell.dataset.look = look;
      else delete cell.dataset.look;
      const [rank, lift] = [...cell.querySelectorAll("small")].map(small => small.textContent);
      const name = taken ? `, look ${scene.looks[look].name}` : "";
      const label = `cell ${Number(cell.dataset.cell) + 1}, rank ${rank.slice(1)}, ${lift} chance${name}`;
      cell.setAttribute("aria-label", label);
    }
  }
}

// One stop of the tab key per grid; arrows move inside it.
export function moveInGrid(event, n) {
  const move = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -n, ArrowDown: n }[event.key];
  const cell = event.target.closest?.(".tn-cells [data-cell]");
  if (!move || !cell || event.altKey || event.ctrlKey || event.metaKey) return false;
  const at = Number(cell.dataset.cell);
  const to = at + move;
  const sameRow = Math.abs(move) > 1 || Math.floor(at / n) === Math.floor(to / n);
  const next = to >= 0 && sameRow ? cell.parentElement.querySelector(`[data-cell="${to}"]`) : null;
  if (next) {
    takeTabStop(next);
    next.focus();
  }
  return true;
}
