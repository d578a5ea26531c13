// Elements made of data: text stays text, so that no name or number of a scene can become markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter(child => child !== null && child !== undefined && child !== ""));
  return made;
}

// Attributes that are null, undefined or false are left out, and so are children that are null or empty.
export function build(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function buildSvg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

export const buildOption = (value, text, disabled = false) => build("option", { value, disabled }, text);

export function buildGroup(label, options) {
  return build("optgroup", { label }, options);
}

const NOT_LOADED = "The code for this could not be loaded: check the connection and reload the page.";

// What an import gives, or a sentence.
export const loadCode = code => code.catch(() => Promise.reject(new Error(NOT_LOADED)));
