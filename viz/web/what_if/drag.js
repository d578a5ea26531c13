// A part of the picture is dragged to another place, with a pointer or with the arrow keys. The server is asked when it
// is dropped; of several drops that wait for one another the latest is made.

import { call } from "../core/rpc.js";
import { build } from "../ui/dom.js";

const STEP = 0.04; // of the picture's side, per arrow key; with shift a quarter of it
const PAUSE_MS = 450; // after the last key
const NEAR = 4; // pixels: less is a click
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

const clamp = (value, most) => Math.min(Math.max(value, 0), Math.max(0, most));

// The cell whose centre is nearest to a place.
export function nearestCell(boxes, x, y) {
  const away = boxes.map(([x0, y0, x1, y1]) => Math.hypot((x0 + x1) / 2 - x, (y0 + y1) / 2 - y));
  return away.indexOf(Math.min(...away));
}

// Left and upper edge of a box that was moved, kept inside the picture.
export const movedTo = ([x0, y0, x1, y1], dx, dy) => [clamp(x0 + dx, 1 - (x1 - x0)), clamp(y0 + dy, 1 - (y1 - y0))];

// Returns what is to be done after the server changed what is shown.
export function mountDrag(element) {
  let drag = null;
  let timer = null;
  let isByKeys = false; // the copy keeps the focus when it is drawn anew

  const board = () => element.querySelector(".what-if[data-cells]");
  const boxesOf = () => JSON.parse(board().dataset.cells).boxes;

  function put(piece, left, top) {
    piece.style.left = `${100 * left}%`;
    piece.style.top = `${100 * top}%`;
  }

  // What is dragged: a copy of the pixels of a box, in a frame.
  function buildPiece(frame, [x0, y0, x1, y1]) {
    const photo = frame.querySelector(".tn-photo");
    const [width, height] = [x1 - x0, y1 - y0];
    const image = build("img", { src: photo.src, alt: "" });
    Object.assign(image.style, { width: `${100 / width}%`, height: `${100 / height}%` });
    Object.assign(image.style, { left: `${(-100 * x0) / width}%`, top: `${(-100 * y0) / height}%` });
    const piece = build("div", { class: "what-if-piece", "aria-hidden": true }, image);
    Object.assign(piece.style, { width: `${100 * width}%`, height: `${100 * height}%` });
    put(piece, x0, y0);
    return piece;
  }

  async function drop(source, [left, top], piece = null) {
    const line = element.querySelector(".what-if-sentence");
    const place = [left, top].map(at => Math.round(1000 * at));
    board().setAttribute("aria-busy", "true");
    line.hidden = true;
    try {
      if ((await call("drop", { source, place }, { latest: true })) === null) return; // a later one is made
    } catch (problem) {
      line.textContent = problem.message;
      line.hidden = false;
    }
    board()?.removeAttribute("aria-busy");
    piece?.remove();
  }

  element.addEventListener("pointerdown", event => {
    const frame = event.target.closest(".what-if-columns .tn-frame");
    if (!frame || event.button !== 0 || drag) return;
    const isCopy = Boolean(event.target.closest(".what-if-copy"));
    if (!isCopy && !frame.closest(".what-if-before")) return;
    if (!isCopy && event.pointerType === "touch" && !event.target.closest(".tn-box")) return; // the page scrolls
    const area = frame.getBoundingClientRect();
    const boxes = boxesOf();
    const [x, y] = [(event.clientX - area.left) / area.width, (event.clientY - area.top) / area.height];
    const source = isCopy ? Number(board().dataset.source) : nearestCell(boxes, x, y);
    const [x0, y0, x1, y1] = boxes[source];
    const from = isCopy ? startOf(event.target.closest(".what-if-copy"), boxes[source]) : [x0, y0, x1, y1];
    const before = element.querySelector(".what-if-before .tn-frame");
    const side = isCopy ? ".what-if-after" : ".what-if-before";
    const piece = buildPiece(before, boxes[source]);
    drag = { source, from, area, at: [event.clientX, event.clientY], piece, place: null, side };
    event.preventDefault();
    frame.setPointerCapture?.(event.pointerId);
  });
  // The box of the copy where it is now.
  function startOf(copy, [x0, y0, x1, y1]) {
    const [left, top] = [parseFloat(copy.style.left) / 100, parseFloat(copy.style.top) / 100];
    return [left, top, left + x1 - x0, top + y1 - y0];
  }
  element.addEventListener("pointermove", event => {
    if (!drag) return;
    const [dx, dy] = [event.clientX - drag.at[0], event.clientY - drag.at[1]];
    if (!drag.place && Math.hypot(dx, dy) < NEAR) return;
    // What is shown may have been drawn anew, after an earlier drop.
    if (!drag.piece.isConnected) element.querySelector(`${drag.side} .tn-boxes`).append(drag.piece);
    drag.place = movedTo(drag.from, dx / drag.area.width, dy / drag.area.height);
    put(drag.piece, ...drag.place);
  });
  const release = isDropped => {
    if (!drag) return;
    const { source, place, piece } = drag;
    drag = null;
    if (isDropped && place) drop(source, place, piece);
    else piece.remove();
  };
  element.addEventListener("pointerup", () => release(true));
  element.addEventListener("pointercancel", () => release(false));

  // The same by keyboard: the copy moves at once, and is dropped when the keys rest.
  element.addEventListener("keydown", event => {
    const copy = event.target.closest?.(".what-if-copy");
    const way = copy && ARROWS[event.key];
    if (!way) return;
    event.preventDefault();
    const source = Number(board().dataset.source);
    const by = event.shiftKey ? STEP / 4 : STEP;
    const place = movedTo(startOf(copy, boxesOf()[source]), way[0] * by, way[1] * by);
    put(copy, ...place);
    clearTimeout(timer);
    isByKeys = true;
    timer = setTimeout(() => drop(source, place), PAUSE_MS);
  });

  return () => {
    if (isByKeys) element.querySelector(".what-if-copy")?.focus();
    isByKeys = false;
  };
}
