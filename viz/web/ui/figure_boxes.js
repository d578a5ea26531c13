// What the browser paints of an element besides its content: ground, borders and rings, as SVG rectangles.

import { escapeHtml } from "../core/text.js";

const colours = new Map();

// A computed colour as SVG knows it: '#rrggbb' and an opacity.
export function colourOf(text) {
  if (colours.has(text)) return colours.get(text);
  const plain = /^rgba?\(([\d.]+), ([\d.]+), ([\d.]+)(?:, ([\d.]+))?\)$/.exec(text);
  const [r, g, b, alpha] = plain ? [plain[1], plain[2], plain[3], plain[4] ?? 1].map(Number) : pixelOf(text);
  const fill = "#" + [r, g, b].map(part => Math.round(part).toString(16).padStart(2, "0")).join("");
  colours.set(text, { fill, alpha });
  return colours.get(text);
}

// Colours in any other notation are looked at.
function pixelOf(text) {
  const pen = new OffscreenCanvas(1, 1).getContext("2d");
  pen.fillStyle = text;
  pen.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
  return [r, g, b, a / 255];
}

export const px = text => Number.parseFloat(text) || 0;
export const round2 = value => Math.round(100 * value) / 100;

export function attributes(values) {
  return Object.entries(values)
    .filter(([, value]) => value !== null && value !== undefined && value !== "")
    .map(([name, value]) => ` ${name}="${escapeHtml(typeof value === "number" ? round2(value) : value)}"`)
    .join("");
}

// A filled rectangle, or with `stroke` a ring whose middle runs along the rectangle's edge.
export function rectangle({ left, top, width, height }, colour, radius = 0, stroke = 0, dash = null) {
  if (width <= 0 || height <= 0 || colour.alpha === 0) return "";
  const shape = { x: left, y: top, width, height, rx: Math.min(radius, width / 2, height / 2) || null };
  const faint = colour.alpha < 1 ? colour.alpha : null;
  const paint = stroke
    ? { fill: "none", stroke: colour.fill, "stroke-width": stroke, "stroke-opacity": faint, "stroke-dasharray": dash }
    : { fill: colour.fill, "fill-opacity": faint };
  return `<rect${attributes({ ...shape, ...paint })}/>`;
}

const grown = ({ left, top, width, height }, by) => ({
  left: left - by,
  top: top - by,
  width: width + 2 * by,
  height: height + 2 * by,
});

// Shadows without blur: rings outside and inside of the box. The first one listed lies on top.
function rings(box, style, radius, inner) {
  if (style.boxShadow === "none") return "";
  return style.boxShadow
    .split(/,(?![^(]*\))/)
    .reverse()
    .map(shadow => {
      const colour = /(?:rgba?|color|oklab|oklch|hsla?)\([^)]*\)|#\w+/.exec(shadow)?.[0];
      const [x, y, blur, spread] = shadow
        .replace(colour, "")
        .match(/-?[\d.]+(?=px)/g)
        .map(Number);
      if (!colour || x || y || blur || spread <= 0 || shadow.includes("inset") !== inner) return "";
      return rectangle(
        grown(box, inner ? -spread / 2 : spread / 2),
        colourOf(colour),
        Math.max(0, radius + (inner ? -spread / 2 : spread / 2)),
        spread,
      );
    })
    .join("");
}

// A ground of one colour that was written as an image, such as the line in the middle of a balance.
function stripe(box, style) {
  const colour = /^linear-gradient\((rgba?\([^)]*\)|color\([^)]*\)), \1\)$/.exec(style.backgroundImage)?.[1];
  if (!colour) return "";
  const [across, down = "auto"] = style.backgroundSize.split(" ");
  const length = (text, whole) => (text === "auto" ? whole : text.endsWith("%") ? (whole * px(text)) / 100 : px(text));
  const width = length(across, box.width);
  const height = length(down, box.height);
  const [x, y] = style.backgroundPosition.split(" ").map(px); // in per cent of what is left over
  return rectangle(
    {
      left: box.left + ((box.width - width) * x) / 100,
      top: box.top + ((box.height - height) * y) / 100,
      width,
      height,
    },
    colourOf(colour),
  );
}

function borders(box, style, radius) {
  const sides = ["Top", "Right", "Bottom", "Left"].map(side => ({
    width: style[`border${side}Style`] === "none" ? 0 : px(style[`border${side}Width`]),
    colour: style[`border${side}Color`],
    style: style[`border${side}Style`],
  }));
  const [top, right, bottom, left] = sides;
  if (sides.every(side => side.width === 0)) return "";
  if (sides.every(side => side.width === top.width && side.colour === top.colour)) {
    return rectangle(
      grown(box, -top.width / 2),
      colourOf(top.colour),
      Math.max(0, radius - top.width / 2),
      top.width,
      top.style === "dashed" ? `${3 * top.width}` : null,
    );
  }
  return [
    rectangle({ ...box, height: top.width }, colourOf(top.colour)),
    rectangle({ ...box, top: box.top + box.height - bottom.width, height: bottom.width }, colourOf(bottom.colour)),
    rectangle({ ...box, width: left.width }, colourOf(left.colour)),
    rectangle({ ...box, left: box.left + box.width - right.width, width: right.width }, colourOf(right.colour)),
  ].join("");
}

export function ground(box, style) {
  const radius = px(style.borderTopLeftRadius);
  return (
    rings(box, style, radius, false) +
    rectangle(box, colourOf(style.backgroundColor), radius) +
    stripe(box, style) +
    rings(box, style, radius, true) +
    borders(box, style, radius)
  );
}
