// A look at native pixels: a window onto the picture, moved by dragging, by the wheel or with the keys.

import { calledRow } from "../core/scene.js";
import { openTiles } from "./tiles.js";
import { place } from "../ui/picture.js";

const ENLARGED = [1, 2, 4, 8]; // screen pixels per pixel of the picture
const NUDGE = 64; // screen pixels that an arrow key moves
const OUTSIDE = 8; // pixels of the page beyond the window

// What lies in a window of so many screen pixels around a centre, in pixels of the picture: corners on whole screen
// pixels.
function windowAt(scene, centre, size, scale) {
  return [0, 1].map(axis => {
    const side = [scene.width, scene.height][axis];
    const span = size[axis] / scale;
    const from = side <= span ? (side - span) / 2 : Math.min(Math.max(centre[axis] - span / 2, 0), side - span);
    return Math.round(from * scale) / scale;
  });
}

export function mountZoom(stage, look, host) {
  const dialog = stage.querySelector(".tn-zoom");
  const pane = dialog.querySelector(".tn-window");
  const canvas = pane.querySelector("canvas");
  const part = name => dialog.querySelector(`.tn-zoom-${name}`);
  const choice = dialog.querySelector("select");
  const map = dialog.querySelector(".tn-map");
  let at = null;
  let opener = null; // what is looked at: scene, box of the look, centre, scale, tiles

  // `row` 0 is the thumbnail, that is, the whole picture.
  function open(row, from) {
    const view = look();
    if (!view || host.isAlone) return;
    const { scene } = view;
    const taken = row > 0 ? scene.looks[row - 1] : null;
    const box = taken?.native ?? [0, 0, scene.width, scene.height];
    const centre = [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2];
    at = {
      scene,
      row,
      box,
      centre,
      home: centre,
      scale: 1,
      view: [0, 0, 1, 1],
      tiles: openTiles(scene, centre.map(Math.round), host, draw),
    };
    opener = from;
    const name = calledRow(scene, row);
    part("title").textContent = `${name[0].toUpperCase()}${name.slice(1)} at native pixels`;
    part("saw").textContent =
      `What the network saw: ${scene.base} × ${scene.base} px; ` +
      `the picture has ${box[2] - box[0]} × ${box[3] - box[1]} px here.`;
    part("crop").src = taken?.crop ?? scene.thumbnail;
    part("crop").alt = `What ${name} saw`;
    map.querySelector("img").src = scene.picture;
    place(map.querySelector("i"), taken?.box ?? [0, 0, 1, 1]);
    choice.value = "1";
    dialog.showModal();
    pane.focus();
    draw();
  }

  function close() {
    if (!at) return;
    at.tiles.close();
    at = null;
    if (dialog.open) dialog.close();
    const again = opener?.isConnected ? opener : stage.querySelector(`[data-zoom="${opener?.dataset.zoom}"]`);
    again?.focus({ preventScroll: true });
  }

  function draw() {
    if (!at) return;
    const { scene, scale, tiles } = at;
    const sharp = window.devicePixelRatio || 1;
    const size = [pane.clientWidth, pane.clientHeight].map(side => Math.max(1, Math.round(side * sharp)));
    if (canvas.width !== size[0] || canvas.height !== size[1]) [canvas.width, canvas.height] = size;
    Object.assign(canvas.style, { width: `${size[0] / sharp}px`, height: `${size[1] / sharp}px` }); // never resampled
    const [x, y] = windowAt(scene, at.centre, size, scale);
    const view = [x, y, x + size[0] / scale, y + size[1] / scale];
    at.view = view;
    at.centre = [(view[0] + view[2]) / 2, (view[1] + view[3]) / 2];
    const pen = canvas.getContext("2d");
    const to = ([x0, y0, x1, y1]) => [(x0 - x) * scale, (y0 - y) * scale, (x1 - x0) * scale, (y1 - y0) * scale];
    pen.clearRect(0, 0, ...size);
    if (!tiles.complete(view)) sketch(pen, to);
    pen.imageSmoothingEnabled = false;
    for (const { image, box } of tiles.shown(view)) pen.drawImage(image, ...to(box));
    tell(to, sharp);
    if (!tiles.sentence()) tiles.want(view);
    pane.setAttribute("aria-busy", tiles.busy());
    dialog.dataset.complete = tiles.complete(view);
  }

  // Until its pixels come: the picture as the page has it, blurred.
  function sketch(pen, to) {
    const photo = stage.querySelector(".tn-photo");
    const { scene, view } = at;
    if (!photo.naturalWidth) return;
    const [x0, y0, x1, y1] = [
      Math.max(0, view[0]),
      Math.max(0, view[1]),
      Math.min(scene.width, view[2]),
      Math.min(scene.height, view[3]),
    ];
    const across = photo.naturalWidth / scene.width;
    const down = photo.naturalHeight / scene.height;
    pen.imageSmoothingEnabled = true;
    pen.drawImage(photo, x0 * across, y0 * down, (x1 - x0) * across, (y1 - y0) * down, ...to([x0, y0, x1, y1]));
  }

  // Where the window is, in words and in the small picture.
  function tell(to, sharp) {
    const { scene, scale, row, box, view, tiles } = at;
    const [x0, y0, x1, y1] = [
      Math.max(0, Math.floor(view[0])),
      Math.max(0, Math.floor(view[1])),
      Math.min(scene.width, Math.ceil(view[2])),
      Math.min(scene.height, Math.ceil(view[3])),
    ];
    Object.assign(pane.dataset, { x0, y0, x1, y1 });
    part("where").textContent =
      `Shown: x ${x0} to ${x1 - 1}, y ${y0} to ${y1 - 1} of ${scene.width} × ${scene.height} px. ` +
      `${row ? "The look" : "The picture"}: x ${box[0]} to ${box[2] - 1}, y ${box[1]} to ${box[3] - 1}.`;
    part("scale").textContent =
      scale === 1
        ? "One pixel of the picture is one pixel of the screen."
        : `One pixel of the picture is ${scale} × ${scale} pixels of the screen.`;
    const frame = pane.querySelector("i");
    const [left, top, width, height] = to(box).map(side => side / sharp);
    // Sides far away need not be drawn.
    const near = (side, whole) => Math.min(Math.max(side, -OUTSIDE), whole + OUTSIDE);
    const [first, last] = [near(left, pane.clientWidth), near(left + width, pane.clientWidth)];
    const [upper, lower] = [near(top, pane.clientHeight), near(top + height, pane.clientHeight)];
    frame.hidden = !row;
    Object.assign(frame.style, {
      left: `${first}px`,
      top: `${upper}px`,
      width: `${last - first}px`,
      height: `${lower - upper}px`,
    });
    place(map.querySelector("u"), [x0 / scene.width, y0 / scene.height, x1 / scene.width, y1 / scene.height]);
    const line = part("sentence");
    line.textContent = tiles.sentence();
    line.hidden = !tiles.sentence();
  }

  function moveTo(centre) {
    at.centre = centre;
    draw();
    at.tiles.want(at.view); // also after a question that failed
    pane.setAttribute("aria-busy", at.tiles.busy());
  }

  const moveBy = (x, y) => moveTo([at.centre[0] + x / at.scale, at.centre[1] + y / at.scale]); // screen pixels

  function enlarge(scale) {
    at.scale = scale;
    choice.value = String(scale);
    moveTo(at.centre);
  }

  function key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target === choice) return;
    const far = event.shiftKey ? 0.9 : 0;
    const [across, down] = [canvas.width * far || NUDGE, canvas.height * far || NUDGE];
    const step = { ArrowLeft: [-across, 0], ArrowRight: [across, 0], ArrowUp: [0, -down], ArrowDown: [0, down] }[
      event.key
    ];
    const next = ENLARGED[ENLARGED.indexOf(at.scale) + ({ "+": 1, "=": 1, "-": -1 }[event.key] ?? NaN)];
    if (step) moveBy(...step);
    else if (event.key === "Home") moveTo(at.home);
    else if (next) enlarge(next);
    else return;
    event.preventDefault();
  }

  let grip = null; // where the pointer holds the picture: its place and the centre then
  pane.addEventListener("pointerdown", event => {
    if (at) grip = { x: event.clientX, y: event.clientY, centre: at.centre };
    pane.setPointerCapture(event.pointerId);
  });
  pane.addEventListener("pointermove", event => {
    if (!grip || !at) return;
    const step = (window.devicePixelRatio || 1) / at.scale;
    moveTo([grip.centre[0] + (grip.x - event.clientX) * step, grip.centre[1] + (grip.y - event.clientY) * step]);
  });
  for (const kind of ["pointerup", "pointercancel"])
    pane.addEventListener(kind, () => {
      grip = null;
    });
  pane.addEventListener(
    "wheel",
    event => {
      event.preventDefault();
      if (at) moveBy(event.deltaX, event.deltaY);
    },
    { passive: false },
  );
  map.addEventListener("click", event => {
    const area = map.getBoundingClientRect();
    if (at)
      moveTo([
        ((event.clientX - area.left) / area.width) * at.scene.width,
        ((event.clientY - area.top) / area.height) * at.scene.height,
      ]);
  });
  choice.addEventListener("change", () => {
    if (at) enlarge(Number(choice.value));
  });
  dialog.addEventListener("keydown", event => {
    if (at) key(event);
  });
  dialog.addEventListener("close", close); // Escape
  dialog.addEventListener("click", event => {
    if (event.target === dialog || event.target.closest("[data-close]")) close();
  });
  new ResizeObserver(draw).observe(pane);
  return { open, close, isOpen: () => at !== null };
}
