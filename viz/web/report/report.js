// The report: this stage and its numbers in one file that needs nothing else. Its fixed parts (elements, styles, and
// the code as one script) come from the server.

import { escapeHtml, formatCount, percent } from "../core/text.js";
import { addressWith } from "../ui/address.js";
import { linkOf } from "../explore/link.js";

const LARGEST_REPORT = 7.5e6; // bytes
// Pictures are compressed more and more strongly until the file is small enough.
const SQUEEZES = [
  null,
  { scale: 1, quality: 0.75 },
  { scale: 0.75, quality: 0.6 },
  { scale: 0.5, quality: 0.5 },
  { scale: 0.3, quality: 0.4 },
  { scale: 0.15, quality: 0.4 },
];
const SQUEEZED = "Pictures in this file are compressed more strongly than on the page; numbers are the same.";

function base64Of(values) {
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}

function joinArrays(parts) {
  const values = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    values.set(part, at);
    at += part.length;
  }
  return values;
}

// The scene as the server could have sent it, with all weights that are known by now, and how the page shows it.
function sceneAgain(view) {
  const { scene, state } = view;
  const { known, knownWithout, link, answers, ...sent } = scene;
  const sets = [...known.keys()].map(key => (key === "" ? [] : key.split(",").map(Number)));
  const without = [...known.keys()].map(key => knownWithout.get(key));
  const weights = { sets, values: base64Of(joinArrays([...known.values()])), without: base64Of(joinArrays(without)) };
  return {
    ...sent,
    projections: base64Of(scene.projections),
    bias: base64Of(scene.bias),
    weights,
    plan: null,
    restore: restoreOf(state),
  };
}

function restoreOf(state) {
  const { budget, manual, plan, step, cls, versus, measure, threshold, tint } = state;
  return {
    budget,
    cls,
    versus,
    measure,
    threshold,
    tint,
    step,
    steer: manual ? { plan, weights: { sets: [], values: "" } } : null,
  };
}

async function shrinkPicture(source, { scale, quality }) {
  const image = new Image();
  const canvas = document.createElement("canvas");
  image.src = source;
  await image.decode();
  [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight].map(side =>
    Math.max(1, Math.round(scale * side)),
  );
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  const smaller = canvas.toDataURL("image/webp", quality);
  return smaller.length < source.length ? smaller : source;
}

async function squeezeScene(scene, squeeze) {
  if (!squeeze) return scene;
  const smaller = source => shrinkPicture(source, squeeze);
  const looks = [];
  for (const look of scene.looks) looks.push({ ...look, crop: await smaller(look.crop) });
  return { ...scene, looks, picture: await smaller(scene.picture), thumbnail: await smaller(scene.thumbnail) };
}

export async function reportOf(view, parts, replay) {
  const scene = sceneAgain(view);
  const about = facts(view, replay);
  for (const squeeze of SQUEEZES) {
    const text = reportText(await squeezeScene(scene, squeeze), about, parts, squeeze !== null);
    const file = new Blob([text], { type: "text/html" });
    if (file.size <= LARGEST_REPORT) return file;
  }
  throw new Error("The report would be larger than 8 MB: take the trace and the figures instead.");
}

// How to come back to the page; a picture that was brought has no address.
const returnTo = view =>
  view.scene.link?.example ? location.origin + addressWith(linkOf(view.state), ["__sign", "__theme"]) : "";

function facts(view, replay) {
  const { scene } = view;
  const about = scene.evidence;
  const count = view.looks.length;
  const names = view.looks.map(look => scene.looks[look].name).join(", ");
  const chosen = view.state.manual ? ", chosen by hand" : "";
  const looks = count
    ? `the thumbnail and ${formatCount(count, "look", "looks")} (${names})${chosen}`
    : "the thumbnail alone";
  return {
    Picture: `${scene.title}, ${scene.width} × ${scene.height} px${scene.credit ? `, ${scene.credit}` : ""}`,
    [`sha256 of its ${about.image.hashed}`]: about.image.sha256,
    Decision: `${scene.classes[view.order[0]]}, ${percent(view.share[view.order[0]])}`,
    "Decided from": looks,
    Checkpoint: about.title ? `${about.title} (${about.source})` : about.source,
    Model: about.model,
    Files: about.origin,
    "sha256 of its weights": about.sha256 || "not known",
    Licence: about.licence || "not stated",
    Sampling: about.sampling,
    Made: `${new Date().toISOString().slice(0, 16).replace("T", " ")} UTC with ${about.versions}`,
    Link: returnTo(view),
    "To check a trace of it": replay,
  };
}

// Any text of a script or style element that holds data: nothing in it can end the element.
const inlineJson = value =>
  JSON.stringify(value).replaceAll("<", "\\u003c").replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");

function reportText(scene, about, parts, smaller) {
  const nonce = base64Of(crypto.getRandomValues(new Uint8Array(18)));
  const policy =
    `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'unsafe-inline'; img-src data: blob:; ` +
    "base-uri 'none'; form-action 'none'";
  const rows = Object.entries(about)
    .filter(([, text]) => text)
    .map(([name, text]) => `<dt>${escapeHtml(name)}</dt><dd>${escapeHtml(text)}</dd>`)
    .join("");
  const end = "</" + "script>";
  return [
    `<!doctype html>\n<html lang="en"><head><meta charset="utf-8">`,
    `<meta http-equiv="Content-Security-Policy" content="${escapeHtml(policy)}">`,
    `<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" content="no-referrer">`,
    `<title>${escapeHtml(scene.title)}: TNet Explorer report</title>`,
    `<style>${parts.style}</style></head>`,
    `<body><header class="tn-report"><small>TNet Explorer report</small><h1>${escapeHtml(scene.title)}</h1>`,
    `<p>${escapeHtml(parts.exact)}${smaller ? ` ${escapeHtml(SQUEEZED)}` : ""}</p>`,
    `<dl>${rows}</dl></header>`,
    `<main>${parts.template}</main>`,
    `<script type="application/json" id="tn-scene">${inlineJson(scene)}${end}`,
    `<script nonce="${nonce}">${parts.code}${end}</body></html>\n`,
  ].join("\n");
}
