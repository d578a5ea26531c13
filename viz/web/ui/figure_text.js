// Text where the browser broke and placed it, as SVG text.

import { escapeHtml } from "../core/text.js";
import { attributes, colourOf, px } from "./figure_boxes.js";

// The lines of a text node: their words, and where they stand.
export function linesOf(node) {
  const range = document.createRange();
  const lines = [];
  const measured = (start, end) => {
    range.setStart(node, start);
    range.setEnd(node, end);
    return range;
  };
  for (const word of node.data.matchAll(/\S+/g)) {
    const end = word.index + word[0].length;
    for (const [from, to] of listPieces(measured, word.index, end)) {
      const { left, right, top, height } = measured(from, to).getBoundingClientRect();
      if (right <= left) continue;
      const last = lines.at(-1);
      const text = node.data.slice(from, to);
      if (last && Math.abs(last.top - top) < 2 && left >= last.right - 1) {
        last.text += (from > last.end ? " " : "") + text;
        Object.assign(last, { right, end: to });
      } else lines.push({ text, left, right, top, height, end: to });
    }
  }
  return lines;
}

// A long word may itself be broken: then every character is asked where it stands.
function listPieces(measured, start, end) {
  if (measured(start, end).getClientRects().length < 2) return [[start, end]];
  return Array.from({ length: end - start }, (_, i) => [start + i, start + i + 1]);
}

const pens = new Map();

// How far a font reaches above and below its baseline.
function reach(font) {
  if (!pens.has(font)) {
    const pen = new OffscreenCanvas(1, 1).getContext("2d");
    pen.font = font;
    const { fontBoundingBoxAscent: above, fontBoundingBoxDescent: below } = pen.measureText("x");
    pens.set(font, { above, below });
  }
  return pens.get(font);
}

const CASES = { uppercase: text => text.toUpperCase(), lowercase: text => text.toLowerCase() };

export function textLine(line, style) {
  const { above, below } = reach(`${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`);
  const { fill, alpha } = colourOf(style.color);
  const text = (CASES[style.textTransform] ?? (same => same))(line.text);
  // Shadows that make text readable on a picture become an outline behind it.
  const outline =
    style.textShadow === "none"
      ? {}
      : {
          stroke: "#000000",
          "stroke-opacity": 0.6,
          "stroke-width": 2,
          "stroke-linejoin": "round",
          "paint-order": "stroke",
        };
  const values = {
    x: line.left,
    y: line.top + (line.height - above - below) / 2 + above,
    fill,
    "fill-opacity": alpha < 1 ? alpha : null,
    "font-family": style.fontFamily,
    "font-size": px(style.fontSize),
    "font-weight": style.fontWeight === "400" ? null : style.fontWeight,
    "font-style": style.fontStyle === "normal" ? null : style.fontStyle,
    "letter-spacing": style.letterSpacing === "normal" ? null : px(style.letterSpacing),
    "font-variant-numeric": style.fontVariantNumeric === "normal" ? null : style.fontVariantNumeric,
    // Where fonts differ the layout stays.
    textLength: text.length > 1 ? line.right - line.left : null,
    lengthAdjust: text.length > 1 ? "spacingAndGlyphs" : null,
    ...outline,
  };
  return `<text${attributes(values)}>${escapeHtml(text)}</text>`;
}

// What a list has chosen; its text is not part of the document.
export function readChosenText(select, style) {
  const box = select.getBoundingClientRect();
  const pen = new OffscreenCanvas(1, 1).getContext("2d");
  pen.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  const text = select.selectedOptions[0]?.textContent ?? "";
  const { above, below } = reach(pen.font);
  const left = box.left + px(style.borderLeftWidth) + px(style.paddingLeft);
  const height = above + below;
  return textLine(
    { text, left, right: left + pen.measureText(text).width, top: box.top + (box.height - height) / 2, height },
    style,
  );
}
