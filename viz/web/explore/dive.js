// The way from the whole picture to its pixels: the view closes in on one look after the other, each inside the last.

import { calledRow, rowsOf } from "../core/scene.js";
import { percent } from "../core/text.js";
import { build } from "../ui/dom.js";

const STEP_MS = 1300;
const REST_MS = 700;
const WHOLE = [0, 0, 1, 1];
const MAP_SIDE = 150; // pixels of the longer side of the whole picture, which stays in a corner
const LEAST = 9; // pixels: what is seen of it is marked at least so large

// Looks from the outermost to the deepest, those that lead to the deepest look that speaks most for the class.
export function findWay({ scene, looks, shares }) {
  const rows = rowsOf(looks);
  const deepest = Math.max(0, ...looks.map(look => scene.looks[look].level));
  let best = null;
  for (const [i, row] of rows.entries()) {
    if (row === 0 || scene.looks[row - 1].level !== deepest) continue;
    if (best === null || shares.values[i] > best.value) best = { look: row - 1, value: shares.values[i] };
  }
  const way = [];
  for (let look = best?.look ?? null; look !== null; look = scene.looks[look].parent) way.unshift(look);
  return way;
}

// A square part of the picture, in shares of its sides, around a box.
function frameOf([x0, y0, x1, y1]) {
  const side = Math.max(x1 - x0, y1 - y0);
  const [x, y] = [(x0 + x1) / 2, (y0 + y1) / 2];
  return [x - side / 2, y - side / 2, x + side / 2, y + side / 2];
}

// What is seen a share of the way from one frame to another: it closes in evenly, and straight towards its end.
export function frameBetween(from, to, share) {
  const [a, b] = [from[2] - from[0], to[2] - to[0]];
  const side = a * (b / a) ** share;
  const moved = a === b ? share : (a - side) / (a - b);
  const at = axis => from[axis] + (to[axis] - from[axis]) * moved;
  return [at(0), at(1), at(0) + side, at(1) + side];
}

const loadImage = address =>
  new Promise(resolve => {
    const image = new Image();
    image.onload = () => resolve(image);
    image.onerror = () => resolve(null);
    image.src = address;
  });

function buildPanel() {
  const button = (act, text) => build("button", { type: "button", "data-dive": act }, text);
  return build(
    "div",
    { class: "tn-dive", role: "group", "aria-label": "Dive into the picture" },
    build("canvas", { "aria-hidden": "true" }),
    build("canvas", { class: "tn-dive-map", "aria-hidden": "true" }),
    build("p", { role: "status" }),
    build("div", {}, button("out", "Out"), button("in", "Deeper"), button("close", "Close")),
  );
}

let dive = null; // the one that is open

export async function openDive(stage, look, call, opener = null) {
  const view = look();
  const way = view ? findWay(view) : [];
  if (dive || way.length < 2) return;
  const { scene } = view;
  const panel = buildPanel();
  const canvas = panel.querySelector("canvas");
  const map = panel.querySelector(".tn-dive-map");
  const status = panel.querySelector("[role=status]");
  const frames = [WHOLE, ...way.map(at => frameOf(scene.looks[at].box))];
  const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const layers = []; // pictures and where they lie, those that are closer above the others
  let at = 0;
  let current = WHOLE;
  let timer = 0;

  // Where in the whole picture the window is.
  function drawMap(frame, sharp) {
    const { image } = layers[0] ?? {};
    map.hidden = !image || frame[2] - frame[0] > 0.9;
    if (map.hidden) return;
    const scale = (MAP_SIDE * sharp) / Math.max(scene.width, scene.height);
    [map.width, map.height] = [scene.width, scene.height].map(side => Math.round(side * scale));
    Object.assign(map.style, { width: `${map.width / sharp}px`, height: `${map.height / sharp}px` });
    const pen = map.getContext("2d");
    pen.drawImage(image, 0, 0, map.width, map.height);
    const [width, height] = [0, 1].map(axis =>
      Math.max(LEAST * sharp, (frame[axis + 2] - frame[axis]) * (axis ? map.height : map.width)),
    );
    const [x, y] = [(map.width * (frame[0] + frame[2])) / 2, (map.height * (frame[1] + frame[3])) / 2];
    pen.lineWidth = 2 * sharp;
    pen.strokeStyle = getComputedStyle(stage).getPropertyValue("--tn-accent");
    pen.strokeRect(x - width / 2, y - height / 2, width, height);
  }

  function draw(frame) {
    current = frame;
    const sharp = window.devicePixelRatio || 1;
    const size = [panel.clientWidth, panel.clientHeight].map(side => Math.max(1, Math.round(side * sharp)));
    if (canvas.width !== size[0] || canvas.height !== size[1]) [canvas.width, canvas.height] = size;
    const pen = canvas.getContext("2d");
    pen.fillStyle = "#16181d";
    pen.fillRect(0, 0, ...size);
    const scale = [0, 1].map(axis => size[axis] / (frame[axis + 2] - frame[axis]));
    for (const { image, box } of layers.filter(Boolean)) {
      pen.imageSmoothingEnabled = (image.naturalWidth * (frame[2] - frame[0])) / (box[2] - box[0]) > size[0] / 6;
      const [x, y] = [0, 1].map(axis => (box[axis] - frame[axis]) * scale[axis]);
      pen.drawImage(image, x, y, (box[2] - box[0]) * scale[0], (box[3] - box[1]) * scale[1]);
    }
    drawMap(frame, sharp);
    const next = way[at];
    if (next === undefined) return;
    const [x0, y0, x1, y1] = scene.looks[next].box;
    pen.lineWidth = 3 * sharp;
    pen.strokeStyle = getComputedStyle(stage).getPropertyValue("--tn-accent");
    pen.strokeRect((x0 - frame[0]) * scale[0], (y0 - frame[1]) * scale[1], (x1 - x0) * scale[0], (y1 - y0) * scale[1]);
  }

  function tell() {
    const isEnd = at === way.length;
    const [out, deeper, shut] = panel.querySelectorAll("button");
    const isLeft = (isEnd ? deeper : at === 0 ? out : null) === document.activeElement;
    deeper.disabled = isEnd;
    out.disabled = at === 0;
    if (isLeft) shut.focus({ preventScroll: true }); // a button that can do nothing has no focus
    if (at === 0) {
      const size = `${scene.width} × ${scene.height} px`;
      status.textContent = `The whole picture, ${size}: the network first sees ${scene.base}.`;
      return;
    }
    const { native } = scene.looks[way[at - 1]];
    const name = calledRow(scene, way[at - 1] + 1);
    const answer = isEnd ? ` ${scene.classes[view.order[0]]} ${percent(view.share[view.order[0]])}.` : "";
    status.textContent = `Level ${at + 1}, ${name}: ${native[2] - native[0]} px across.${answer}`;
  }

  function go(to, then = null) {
    cancelAnimationFrame(timer);
    const [from, began] = [current, performance.now()];
    at = to;
    tell();
    if (isStill) {
      draw(frames[to]);
      return;
    }
    const move = now => {
      if (dive !== panel) return;
      const share = Math.min(1, Math.max(0, (now - began) / STEP_MS));
      draw(frameBetween(from, frames[to], share * share * (3 - 2 * share)));
      if (share < 1) timer = requestAnimationFrame(move);
      else if (then) setTimeout(then, REST_MS);
    };
    timer = requestAnimationFrame(move);
  }

  // By itself from the top to the bottom, until somebody takes over.
  let isFree = !isStill;
  const fall = () => {
    if (dive === panel && isFree && at < way.length) go(at + 1, fall);
  };

  // The picture's own pixels of the deepest look, without loss; where they cannot be had, what the network saw stays.
  async function sharpen() {
    const last = scene.looks[way.at(-1)];
    try {
      const part = await call("zoom", { scene: scene.scene, box: last.native });
      const [x0, y0, x1, y1] = part.box;
      const box = [x0 / scene.width, y0 / scene.height, x1 / scene.width, y1 / scene.height];
      const image = await loadImage(part.image);
      if (image && dive === panel) {
        layers[way.length + 1] = { image, box };
        draw(current);
      }
    } catch {
      // the crop is there
    }
  }

  function close() {
    if (dive !== panel) return;
    dive = null;
    cancelAnimationFrame(timer);
    watcher.disconnect();
    panel.remove();
    if (opener?.isConnected) opener.focus({ preventScroll: true });
  }

  const watcher = new MutationObserver(() => {
    if (look()?.scene !== scene) close(); // another picture
  });
  panel.addEventListener("click", event => {
    const act = event.target.closest("[data-dive]")?.dataset.dive;
    isFree = false;
    if (act === "close") close();
    if (act === "in" && at < way.length) go(at + 1);
    if (act === "out" && at > 0) go(at - 1);
  });
  panel.addEventListener("keydown", event => {
    if (event.key === "Escape") close();
    event.stopPropagation(); // the stage's own keys would step through the looks below
  });
  dive = panel;
  stage.querySelector(".tn-frame").append(panel);
  panel.scrollIntoView({ block: "nearest" });
  watcher.observe(stage.querySelector(".tn-photo"), { attributes: true, attributeFilter: ["src"] });
  const sources = [[scene.picture, WHOLE], ...way.map(index => [scene.looks[index].crop, scene.looks[index].box])];
  await Promise.all(
    sources.map(async ([address, box], i) => {
      const image = await loadImage(address);
      if (image) layers[i] = { image, box };
    }),
  );
  if (dive !== panel) return;
  draw(WHOLE);
  tell();
  panel.querySelector('[data-dive="in"]').focus({ preventScroll: true });
  sharpen();
  setTimeout(fall, REST_MS);
}
