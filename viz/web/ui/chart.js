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

// Heights of names from top to bottom, each as near to its line's end as the others let it be; null where not all
// have room.
export function spreadNames(heights, top, bottom, line) {
  if (heights.length * line > bottom - top) return null;
  const order = heights.map((_, i) => i).sort((a, b) => heights[a] - heights[b]);
  const places = order.map(i => heights[i]);
  for (let i = 0; i < places.length; i += 1) places[i] = Math.max(places[i], i ? places[i - 1] + line : top);
  for (let i = places.length - 1; i >= 0; i -= 1)
    places[i] = Math.min(places[i], i + 1 < places.length ? places[i + 1] - line : bottom);
  const found = [];
  for (const [rank, i] of order.entries()) found[i] = places[rank];
  return found;
}
