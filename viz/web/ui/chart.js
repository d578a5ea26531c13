// What every chart needs: scales, round values for its axes, lines and bands, names that do not cover one another.

import { buildSvg } from "./dom.js";

// From values between two ends to pixels between two others; a range without extent is taken as one of 1.
export function makeScale([low, high], from, to) {
  const extent = high - low || 1;
  return value => from + ((value - low) / extent) * (to - from);
}

// About so many round values in a range.
export function listRoundValues([low, high], about) {
  const rough = (high - low) / about;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * ([1, 2, 5].find(times => times * unit >= rough) ?? 10);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-6);
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

const joinPoints = points => points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ");

export function drawLine(points, attributes) {
  return buildSvg("polyline", { ...attributes, points: joinPoints(points) });
}

export function drawArea(points, attributes) {
  return buildSvg("polygon", { ...attributes, points: joinPoints(points) });
}

// The area between a lower and an upper line.
export const drawBand = (lower, upper, attributes) => drawArea([...lower, ...upper.toReversed()], attributes);

export function addTitle(drawing, words) {
  drawing.append(buildSvg("title", {}, words));
  return drawing;
}

// Where a few words beside a point lie on no line and on no other words (`taken`, boxes as left, top, right, bottom):
// above it or below it, nearer first; directly above where neither is free. The place is taken then.
export function placeWords([x, y], size, lines, { top, bottom }, taken) {
  const boxes = [-9, 9 + size.height, -9 - size.height, 9 + 2 * size.height].map(shift => {
    const floor = y + shift;
    return [x + 9, floor - size.height, x + 9 + size.width, floor + 3];
  });
  const isFree = box =>
    box[1] >= top &&
    box[3] <= bottom &&
    !lines.some(points => crosses(points, box)) &&
    !taken.some(other => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3]);
  const found = boxes.find(isFree) ?? boxes[0];
  taken.push(found);
  return [found[0], found[3] - 3];
}

// Whether a line passes through a box.
function crosses(points, [left, top, right, bottom]) {
  return points.slice(1).some(([x1, y1], i) => {
    const [x0, y0] = points[i];
    const [from, to] = [Math.max(Math.min(x0, x1), left), Math.min(Math.max(x0, x1), right)];
    if (from > to) return false;
    const at = x => (x1 === x0 ? y0 : y0 + ((x - x0) / (x1 - x0)) * (y1 - y0));
    const ends = x1 === x0 ? [y0, y1] : [at(from), at(to)];
    return Math.max(...ends) >= top && Math.min(...ends) <= bottom;
  });
}

// Places of names from top to bottom, each as near to its line's end as the others let it be; null where not all have
// room. `heights` is that of every name, or one for all.
export function spreadNames(ends, top, bottom, heights) {
  const heightOf = i => (Array.isArray(heights) ? heights[i] : heights);
  const all = ends.map((_, i) => heightOf(i));
  const needed = all.reduce((sum, height) => sum + height, 0);
  if (needed > bottom - top) return null;
  const least = Math.min(...all);
  const order = ends.map((_, i) => i).sort((a, b) => ends[a] - ends[b]);
  const sizes = order.map(heightOf);
  const gap = i => (sizes[i - 1] + sizes[i]) / 2;
  const edge = i => (sizes[i] - least) / 2;
  const places = order.map(i => ends[i]);
  const last = places.length - 1;
  for (let i = 0; i <= last; i += 1) places[i] = Math.max(places[i], i ? places[i - 1] + gap(i) : top + edge(i));
  for (let i = last; i >= 0; i -= 1)
    places[i] = Math.min(places[i], i < last ? places[i + 1] - gap(i + 1) : bottom - edge(i));
  const found = [];
  for (const [rank, i] of order.entries()) found[i] = places[rank];
  return found;
}
