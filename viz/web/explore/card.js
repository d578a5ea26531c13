// A picture of what is shown, to send to somebody: 1200 × 630 pixels, drawn on a canvas.

import { calledRow, logitsOf, probabilitiesOf, rowsOf, topClasses } from "../core/scene.js";
import { formatCount, formatSigned, percent } from "../core/text.js";

export const CARD = { width: 1200, height: 630 };
const MAX_ROWS = 6; // of the ledger; the others are one row
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, Arial, sans-serif";
const COLOURS = { ink: "#1f2937", grey: "#5b6676", for: "#2f66d0", against: "#b8530c", accent: "#dc267f" };
const LEFT = [30, 30, 560, 540]; // where the picture may be: x, y, and the most it may be wide and high
const GAP = 40; // between the picture and the text, which has the rest of the width
const NAME_SIZES = [46, 40, 34, 28];
const LEDGER = [288, 540]; // y of its rows, from and to
const ROW_HEIGHTS = [29, 70]; // few rows are drawn larger
const ROW_LETTERS = [17, 27]; // pixels

// What the card says, as strings; `score` is a line of the visitor's own, or nothing.
export function describeCard(view, address, score = "") {
  const { scene, looks, share, order, shares, cls, versus } = view;
  const first = probabilitiesOf(scene, logitsOf(scene, []));
  const [before] = topClasses(first, 1);
  const rows = rowsOf(looks).map((row, i) => [calledRow(scene, row), shares.values[i]]);
  const rest = rows.length > MAX_ROWS + 1 ? rows.splice(MAX_ROWS) : [];
  if (rest.length)
    rows.push([formatCount(rest.length, "look more", "looks more"), rest.reduce((sum, [, value]) => sum + value, 0)]);
  return {
    name: scene.classes[order[0]],
    before: `From the thumbnail: ${scene.classes[before]} ${percent(first[before])}`,
    after: looks.length
      ? `After ${formatCount(looks.length, "look", "looks")}: ${scene.classes[order[0]]} ${percent(share[order[0]])}`
      : "No look was taken",
    ledger:
      versus === null
        ? `How the score of ${scene.classes[cls]} adds up, in logits`
        : `How ${scene.classes[cls]} against ${scene.classes[versus]} adds up, in logits`,
    rows,
    score,
    checkpoint: scene.evidence.title || scene.evidence.source,
    credit: [scene.title, scene.credit].filter(Boolean).join(", "),
    address: address.replace(/^https?:\/\//, ""),
  };
}

// The same in one line, for who cannot see it.
export function readAloud(text) {
  const ledger = text.rows.map(([name, value]) => `${name} ${formatSigned(value)}`).join(", ");
  return `${[text.before, text.after, text.score].filter(Boolean).join(". ")}. ${text.ledger}: ${ledger}.`;
}

function shorten(pen, text, width) {
  if (pen.measureText(text).width <= width) return text;
  let kept = text;
  while (kept && pen.measureText(`${kept}…`).width > width) kept = kept.slice(0, -1);
  return `${kept}…`;
}

const loadPicture = address =>
  new Promise((resolve, reject) => {
    const image = new Image();
    image.onload = () => resolve(image);
    image.onerror = () => reject(new Error("The picture could not be drawn."));
    image.src = address;
  });

function drawLooks(pen, { scene, looks }, [x, y, width, height]) {
  for (const [order, at] of looks.entries()) {
    const isNewest = order === looks.length - 1;
    const [x0, y0, x1, y1] = scene.looks[at].box;
    const box = [x + x0 * width, y + y0 * height, (x1 - x0) * width, (y1 - y0) * height];
    pen.lineWidth = isNewest ? 6 : 4;
    pen.strokeStyle = "rgba(0, 0, 0, 0.5)";
    pen.strokeRect(...box);
    pen.lineWidth = isNewest ? 4 : 2;
    pen.strokeStyle = isNewest ? COLOURS.accent : "#ffffff";
    pen.strokeRect(...box);
    if (box[2] < 26 || box[3] < 26) continue; // no room for its name
    pen.font = `600 17px ${FONT}`;
    const { name } = scene.looks[at];
    pen.fillStyle = isNewest ? COLOURS.accent : "#ffffff";
    pen.fillRect(box[0] + 4, box[1] + 4, pen.measureText(name).width + 12, 22);
    pen.fillStyle = isNewest ? "#ffffff" : "#16181d";
    pen.fillText(name, box[0] + 10, box[1] + 21);
  }
}

function drawRows(pen, rows, [left, width]) {
  const [top, end] = LEDGER;
  const height = Math.min(ROW_HEIGHTS[1], Math.max(ROW_HEIGHTS[0], (end - top) / rows.length));
  const size = Math.min(ROW_LETTERS[1], ROW_LETTERS[0] + 0.42 * (height - ROW_HEIGHTS[0])); // of the letters
  pen.font = `600 ${size}px ${FONT}`;
  const widest = texts => Math.max(...texts.map(text => pen.measureText(text).width));
  const [names, values] = [widest(rows.map(([name]) => name)), widest(rows.map(([, value]) => formatSigned(value)))];
  const most = (width - names - values - 36) / 2; // of a bar
  const middle = left + names + 18 + most;
  const reach = Math.max(1e-6, ...rows.map(([, value]) => Math.abs(value)));
  for (const [i, [name, value]] of rows.entries()) {
    const y = top + height * (i + 0.5) + 0.35 * size;
    pen.font = `${size}px ${FONT}`;
    pen.fillStyle = COLOURS.ink;
    pen.fillText(name, left, y);
    pen.fillStyle = value >= 0 ? COLOURS.for : COLOURS.against;
    const length = (most * Math.abs(value)) / reach;
    pen.fillRect(value >= 0 ? middle : middle - length, y - 0.86 * size, length, size);
    pen.font = `600 ${size}px ${FONT}`;
    pen.textAlign = "right";
    pen.fillText(formatSigned(value), left + width, y);
    pen.textAlign = "left";
  }
  pen.fillStyle = "#c3c9d3";
  pen.fillRect(middle - 0.5, top, 1, height * rows.length);
}

// A canvas with the card; its label says the same.
export async function drawCard(view, address, score) {
  const text = describeCard(view, address, score);
  const canvas = document.createElement("canvas");
  Object.assign(canvas, CARD);
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", readAloud(text));
  const pen = canvas.getContext("2d");
  pen.fillStyle = "#ffffff";
  pen.fillRect(0, 0, CARD.width, CARD.height);
  const photo = await loadPicture(view.scene.picture);
  const [x, y, most, highest] = LEFT;
  const scale = Math.min(most / photo.naturalWidth, highest / photo.naturalHeight);
  const [width, height] = [photo.naturalWidth * scale, photo.naturalHeight * scale];
  const place = [x, y + (highest - height) / 2, width, height];
  const right = [x + width + GAP, CARD.width - x - (x + width + GAP)]; // x of the text, and its width
  pen.drawImage(photo, ...place);
  drawLooks(pen, view, place);
  const write = (words, at, font, colour, limit = right[1], from = right[0]) => {
    pen.font = `${font} ${FONT}`;
    pen.fillStyle = colour;
    pen.fillText(shorten(pen, words, limit), from, at);
  };
  write(text.credit, 598, "14px", COLOURS.grey, Math.max(width, 300), x);
  write("TNet Explorer: where a classifier looked", 56, "17px", COLOURS.grey);
  const fits = size => {
    pen.font = `650 ${size}px ${FONT}`;
    return pen.measureText(text.name).width <= right[1];
  };
  write(text.name, 116, `650 ${NAME_SIZES.find(fits) ?? NAME_SIZES.at(-1)}px`, COLOURS.ink);
  write(text.before, 164, "22px", COLOURS.grey);
  write(text.after, 198, "600 22px", COLOURS.ink);
  write(text.score, 232, "600 20px", COLOURS.accent);
  write(text.ledger, 276, "600 17px", COLOURS.ink);
  drawRows(pen, text.rows, right);
  write(text.checkpoint, 570, "16px", COLOURS.grey);
  pen.font = `16px ${FONT}`;
  const isLong = pen.measureText(text.address).width > right[1]; // a part of an address leads nowhere
  write(isLong ? text.address.split("?")[0] : text.address, 598, "16px", COLOURS.accent);
  return canvas;
}
