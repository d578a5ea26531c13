// A panel of the page as a drawing of its own: true SVG, read from where the browser put every element.

import { escapeHtml } from "../core/text.js";
import { attributes, colourOf, ground, px, rectangle, round2 } from "./figure_boxes.js";
import { readChosenText, linesOf, textLine } from "./figure_text.js";

const MARGIN = 16;
const SHARPNESS = 2; // pixels around a figure, and of a PNG per pixel of the page
const STILL = "tn-figure"; // while a panel is read: no controls, nothing scrolled out of sight

const INLINED = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-opacity",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linecap",
  "stroke-linejoin",
  "opacity",
  "visibility",
  "display",
  "font-family",
  "font-size",
  "font-weight",
  "font-style",
  "text-anchor",
];
const KEPT = new Set(
  (
    "x y x1 x2 y1 y2 cx cy r rx ry d dx dy points width height viewBox transform clip-path id offset " +
    "preserveAspectRatio clipPathUnits xml:space"
  ).split(" "),
);
const DRAWN = /^(svg|g|defs|clipPath|path|rect|circle|ellipse|line|polyline|polygon|text|tspan|title)$/;

// `panel` as { text, width, height }; `title` is for whoever opens the file.
export function figureOf(panel, title) {
  const were = [...panel.classList].includes(STILL);
  panel.classList.add(STILL);
  const captions = [...panel.querySelectorAll("details.tn-why:not([open])")]; // whoever sees a file cannot ask why
  for (const caption of captions) caption.open = true;
  try {
    const sheet = { items: [], clips: [], edges: [] };
    paint(sheet, panel, { opacity: 1, layer: 0, clip: null, root: true });
    return writeFigure(sheet, title, opaqueGround(panel));
  } finally {
    for (const caption of captions) caption.open = false;
    if (!were) panel.classList.remove(STILL);
  }
}

function writeFigure({ items, clips, edges }, title, behind) {
  const left = Math.min(...edges.map(box => box.left)) - MARGIN;
  const top = Math.min(...edges.map(box => box.top)) - MARGIN;
  const width = Math.ceil(Math.max(...edges.map(box => box.left + box.width)) + MARGIN - left);
  const height = Math.ceil(Math.max(...edges.map(box => box.top + box.height)) + MARGIN - top);
  const body = items
    .sort((a, b) => a.layer - b.layer)
    .map(item => item.text)
    .join("\n");
  const size = { width, height };
  const shift = `translate(${round2(-left)} ${round2(-top)})`;
  const text = [
    `<svg${attributes({ xmlns: "http://www.w3.org/2000/svg", ...size, viewBox: `0 0 ${width} ${height}` })}>`,
    `<title>${escapeHtml(title)}</title>`,
    `<rect${attributes({ ...size, fill: behind })}/>`,
    `<g${attributes({ transform: shift })}>`,
    clips.length ? `<defs>${clips.join("")}</defs>\n${body}` : body,
    "</g></svg>\n",
  ].join("\n");
  return { text, width, height };
}

function opaqueGround(element) {
  for (let at = element; at; at = at.parentElement) {
    const { fill, alpha } = colourOf(getComputedStyle(at).backgroundColor);
    if (alpha > 0.99) return fill;
  }
  return "#ffffff";
}

function paint(sheet, element, above) {
  const style = getComputedStyle(element);
  if (style.display === "none" || style.visibility === "collapse") return;
  const layer = style.position !== "static" && style.zIndex !== "auto" ? Number(style.zIndex) : above.layer;
  const here = { layer, opacity: above.opacity * Number(style.opacity), clip: above.clip, root: false };
  const add = (text, box) => {
    if (!text) return;
    const faint = here.opacity < 1 || here.clip !== null;
    sheet.items.push({
      layer,
      text: faint
        ? `<g${attributes({ opacity: here.opacity < 1 ? here.opacity : null, "clip-path": here.clip })}>${text}</g>`
        : text,
    });
    if (box) sheet.edges.push(box);
  };
  const boxes = style.display === "inline" ? [...element.getClientRects()] : [element.getBoundingClientRect()];
  const [box] = boxes;
  if (!box) return;
  const seen = style.visibility === "visible";
  if (element instanceof SVGSVGElement) {
    if (seen && box.width && box.height) add(nestDrawing(element, box), box);
    return;
  }
  // A panel reaches as far as what is in it.
  if (seen) for (const part of boxes) add(ground(plain(part), style), above.root ? null : plain(part));
  if (style.overflow !== "visible" && box.width) here.clip = addClip(sheet, box, px(style.borderTopLeftRadius));
  if (element instanceof HTMLImageElement) {
    if (seen) add(pictureOf(sheet, element, style, box), plain(box));
    return;
  }
  if (element instanceof HTMLSelectElement) {
    if (seen) add(readChosenText(element, style));
    return;
  }
  addMarker(element, box, add);
  for (const child of element.childNodes) {
    if (child.nodeType === Node.TEXT_NODE && seen)
      for (const line of linesOf(child)) add(textLine(line, style), plain(line));
    else if (child.nodeType === Node.ELEMENT_NODE) paint(sheet, child, here);
  }
}

const plain = ({ left, top, right, bottom, width, height }) => ({
  left,
  top,
  width: width ?? right - left,
  height: height ?? bottom - top,
});

// Lines that the style sheet draws before an element.
function addMarker(element, box, add) {
  const style = getComputedStyle(element, "::before");
  if (style.content === "none" || style.position !== "absolute") return;
  const width = px(style.width) + px(style.borderLeftWidth) + px(style.borderRightWidth);
  const height = px(style.height) + px(style.borderTopWidth) + px(style.borderBottomWidth);
  add(ground({ left: box.left + px(style.left), top: box.top + px(style.top), width, height }, style));
}

function addClip(sheet, box, radius) {
  const id = `clip-${sheet.clips.length + 1}`;
  sheet.clips.push(`<clipPath id="${id}">${rectangle(plain(box), { fill: "#000000", alpha: 1 }, radius)}</clipPath>`);
  return `url(#${id})`;
}

// JPEG: programs that open drawings know it, WebP they often do not.
function pictureOf(sheet, image, style, box) {
  if (!image.complete || !image.naturalWidth) return "";
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
  canvas.getContext("2d").drawImage(image, 0, 0);
  const radius = px(style.borderTopLeftRadius);
  const clip = radius ? addClip(sheet, box, radius) : null;
  const { left: x, top: y, width, height } = box;
  const values = { x, y, width, height, preserveAspectRatio: "none", "clip-path": clip };
  return `<image${attributes(values)} href="${canvas.toDataURL("image/jpeg", 0.93)}"/>`;
}

// A drawing inside the panel, with the style it has on the page.
function nestDrawing(drawing, box) {
  const copy = copyElement(drawing);
  const size = drawing.viewBox.baseVal?.width
    ? drawing.getAttribute("viewBox")
    : `0 0 ${round2(box.width)} ${round2(box.height)}`;
  for (const [name, value] of Object.entries({
    x: round2(box.left),
    y: round2(box.top),
    width: round2(box.width),
    height: round2(box.height),
    viewBox: size,
  }))
    copy.setAttribute(name, value);
  return new XMLSerializer().serializeToString(copy);
}

function copyElement(element) {
  const copy = document.createElementNS("http://www.w3.org/2000/svg", element.localName);
  const style = getComputedStyle(element);
  for (const { name, value } of element.attributes) {
    const local = value.replace(/^url\(.*#([\w-]+)['"]?\)$/, "url(#$1)"); // may be written with the page's address
    if (KEPT.has(name) && !/url\((?!#)/.test(local)) copy.setAttribute(name, local);
  }
  for (const name of INLINED) {
    const value = style.getPropertyValue(name);
    if ((name === "fill" || name === "stroke") && /^(rgb|color|hsl|okl)/.test(value)) {
      const { fill, alpha } = colourOf(value);
      copy.setAttribute(name, alpha === 0 ? "none" : fill);
      if (alpha > 0 && alpha < 1)
        copy.setAttribute(`${name}-opacity`, round2(alpha * Number(style.getPropertyValue(`${name}-opacity`))));
    } else if (value && value !== "auto" && value !== "normal" && !copy.hasAttribute(name))
      copy.setAttribute(name, value);
  }
  for (const child of element.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) copy.append(child.data);
    else if (child.nodeType === Node.ELEMENT_NODE && DRAWN.test(child.localName)) copy.append(copyElement(child));
  }
  return copy;
}

// The drawing as pixels.
export async function pngOf({ text, width, height }) {
  const address = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    const canvas = document.createElement("canvas");
    image.src = address;
    await image.decode();
    [canvas.width, canvas.height] = [SHARPNESS * width, SHARPNESS * height];
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((done, failed) =>
      canvas.toBlob(blob => (blob ? done(blob) : failed(new Error("The figure is too large for a PNG."))), "image/png"),
    );
  } finally {
    URL.revokeObjectURL(address);
  }
}
