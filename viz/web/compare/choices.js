// What to compare: kept in the browser, checked on the server.

import { SIDES } from "./view.js";
import { safePart } from "../explore/link.js";
import { buildOption } from "../ui/dom.js";

const POLICIES = {
  learned: "the network's own looks",
  centre: "from the middle outwards",
  raster: "row by row",
  random: "at random",
  own: "your own cells",
  hand: "your looks in Explore",
};

// Looks at random stand beside the network's own: those from the middle outwards are often the same cells.
const FIRST_POLICY = { a: "learned", b: "random" };

export function openChoices() {
  return {
    mode: "policies",
    policies: Object.fromEntries(SIDES.map(side => [side, { policy: FIRST_POLICY[side], seed: 0, cells: [] }])),
    checkpoints: { a: null, b: null },
    pictures: { a: "current", b: null },
  };
}

// The looks chosen by hand in Explore, if they are of the picture on offer.
export function readOwnPlan(offer) {
  try {
    const byHand = JSON.parse(document.querySelector("#explore-stage .tn-stage")?.dataset.byHand || "null");
    return byHand?.scene === offer.scene && byHand.plan.length ? byHand.plan : null;
  } catch {
    return null;
  }
}

// Another picture or checkpoint is open in Explore: what was chosen about the last one is not meant any more.
export function follow(choices, offer) {
  choices.checkpoints = { a: offer.checkpoint, b: offer.other };
  choices.pictures = { a: "current", b: offer.pictures.findIndex((_, at) => at !== offer.where) };
  if (choices.pictures.b < 0) choices.pictures.b = "current";
  for (const side of SIDES) {
    const chosen = choices.policies[side];
    chosen.cells = [];
    if (chosen.policy === "hand" || (chosen.policy === "own" && offer.levels > 2)) chosen.policy = FIRST_POLICY[side];
  }
  if (choices.mode === "checkpoints" && !offer.other) choices.mode = "policies";
}

function optionsOf(mode, offer) {
  if (mode === "checkpoints") return offer.checkpoints.map(([spec, title]) => ({ value: spec, text: title }));
  if (mode === "pictures") {
    const brought = offer.brought ? [{ value: "brought", text: `${offer.brought} (uploaded here)` }] : [];
    return [
      { value: "current", text: `${offer.title} (open in Explore)` },
      ...brought,
      ...offer.pictures
        .map((text, at) => ({ value: String(at), text }))
        .filter(option => option.value !== String(offer.where)),
    ];
  }
  const hand = readOwnPlan(offer) !== null;
  return Object.entries(POLICIES)
    .filter(([name]) => name !== "own" || offer.levels === 2)
    .map(([value, text]) => ({
      value,
      text: value === "hand" && !hand ? `${text} (choose some there first)` : text,
      disabled: value === "hand" && !hand,
    }));
}

export function drawChoices(root, choices, offer) {
  const { mode } = choices;
  for (const radio of root.querySelectorAll("[name=compare-mode]")) {
    radio.checked = radio.value === mode;
    radio.disabled = radio.value === "checkpoints" && !offer.other;
    radio.parentElement.title = radio.disabled ? "There is only one checkpoint here." : "";
  }
  for (const side of SIDES) {
    const place = root.querySelector(`.compare-side[data-side="${side}"]`);
    const select = place.querySelector("select");
    const options = optionsOf(mode, offer);
    select.replaceChildren(...options.map(({ value, text, disabled }) => buildOption(value, text, disabled)));
    const chosen = choices[mode][side];
    select.value = mode === "policies" ? chosen.policy : String(chosen);
    place.querySelector(".compare-seed").hidden = mode !== "policies" || chosen.policy !== "random";
    const seed = place.querySelector(".compare-seed input");
    if (seed !== document.activeElement) seed.value = choices.policies[side].seed ?? "";
    place.querySelector(".compare-clear").hidden =
      mode !== "policies" || chosen.policy !== "own" || !chosen.cells.length;
  }
  root.querySelector(".compare-upload").hidden = mode !== "pictures";
  const mine =
    mode === "policies" &&
    SIDES.filter(side => choices.policies[side].policy === "own").map(side => side.toUpperCase());
  const hint = root.querySelector(".compare-hint");
  hint.hidden = !mine || !mine.length;
  const where = `Click cells of picture ${mine ? mine.join(" or ") : ""} to look there`;
  if (!hint.hidden) hint.textContent = `${where}, in the order you want; click again to remove a look.`;
}

// A side as the server takes it.
export function describeSide(choices, offer, side) {
  const chosen = choices[choices.mode][side];
  if (choices.mode === "checkpoints") return { checkpoint: chosen };
  if (choices.mode === "pictures") return { picture: chosen };
  if (chosen.policy === "random") return { policy: "random", seed: chosen.seed };
  if (chosen.policy === "own") return { policy: "own", cells: chosen.cells };
  if (chosen.policy === "hand") return { policy: "hand", plan: readOwnPlan(offer) };
  return { policy: chosen.policy };
}

export function choose(choices, side, value) {
  const { mode } = choices;
  if (mode === "policies") choices.policies[side].policy = value;
  else choices[mode][side] = mode === "pictures" && /^\d+$/.test(value) ? Number(value) : value;
}

const ID = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

// Pictures as links name them: by their titles, numbered where several are the same.
function slugsOf(titles) {
  const found = [];
  for (const title of titles) {
    const base = safePart(title, 100).toLowerCase() || "picture";
    let name = base;
    for (let count = 2; found.includes(name); count++) name = `${base}-${count}`;
    found.push(name);
  }
  return found;
}

// A side as a link names it; nothing for a folder of this machine.
export function writeSide(choices, offer, side) {
  const chosen = choices[choices.mode][side];
  if (choices.mode === "checkpoints") return ID.test(chosen) ? chosen : "";
  if (choices.mode === "pictures") {
    if (chosen === "brought") return "uploaded";
    return typeof chosen === "number" ? slugsOf(offer.pictures)[chosen] : chosen;
  }
  if (chosen.policy === "random") return `random-${chosen.seed ?? 0}`;
  return chosen.policy === "own" ? ["own", ...chosen.cells].join(".") : chosen.policy;
}

// Takes over what a link names, as far as it is on offer, and returns a sentence about the rest.
export function restore(choices, offer, linked) {
  const { compare: mode } = linked;
  if (!["policies", "checkpoints", "pictures"].includes(mode)) return "";
  if (mode === "checkpoints" && !offer.other) return "There is only one checkpoint here: the link names two.";
  choices.mode = mode;
  const absent = SIDES.filter(side => !restoreSide(choices, offer, side, String(linked[side] ?? "")));
  if (absent.some(side => linked[side] === "uploaded"))
    return "The link was made with an uploaded picture, which is not in it: upload it to see the same.";
  const named = absent.map(side => side.toUpperCase()).join(" and ");
  return absent.length ? `What the link shows at ${named} is not on offer here.` : "";
}

function restoreSide(choices, offer, side, text) {
  const { mode } = choices;
  if (mode === "checkpoints") {
    if (!offer.checkpoints.some(([spec]) => spec === text)) return false;
    choices.checkpoints[side] = text;
    return true;
  }
  if (mode === "pictures") {
    const at = slugsOf(offer.pictures).indexOf(text);
    if (text !== "current" && at < 0) return false;
    choices.pictures[side] = at < 0 || at === offer.where ? "current" : at;
    return true;
  }
  const chosen = choices.policies[side];
  const seed = /^random-(\d{1,9})$/.exec(text);
  const cells = /^own((?:\.\d{1,4})*)$/.exec(text);
  if (seed) Object.assign(chosen, { policy: "random", seed: Number(seed[1]) });
  else if (cells && offer.levels === 2)
    Object.assign(chosen, { policy: "own", cells: cells[1].split(".").slice(1).map(Number) });
  else if (["learned", "centre", "raster"].includes(text) || (text === "hand" && readOwnPlan(offer)))
    chosen.policy = text;
  else return false;
  return true;
}

export const ownCells = (choices, side) =>
  choices.mode === "policies" && choices.policies[side].policy === "own" ? choices.policies[side].cells : null;
