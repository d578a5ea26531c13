// Names of what is on the page: its address (checkpoint, example, looks, classes, never pixels) and those of its files.

import { LINKED, noteLink } from "../ui/address.js";

const pathOf = (scene, look) =>
  look === null ? [] : [...pathOf(scene, scene.looks[look].parent), scene.looks[look].index];

// Names and values, made of letters, digits and ".,-_" alone. Looks by hand belong to a picture that the link can name.
// `looks` are others than those of the page: a plan, and a cell to be added to it.
export function linkOf(state, looks = null) {
  const { scene } = state;
  const plan = looks?.plan ?? state.plan;
  const step = looks ? plan.length : state.step;
  const { checkpoint, example } = scene.link;
  const pairs = [];
  if (checkpoint) pairs.push(["checkpoint", checkpoint]);
  if (example) pairs.push(["example", example]);
  else pairs.push(["picture", "own"]); // which is not in the link: whoever opens it reads so
  for (const name of ["sampling", "levels"]) if (example && scene.cut?.[name]) pairs.push([name, scene.cut[name]]);
  // Another picture may not be as deep.
  if (example || !scene.cut?.levels) pairs.push(["looks", state.budget.join(",")]);
  if (state.cls !== null) pairs.push(["class", state.cls]);
  pairs.push(["against", state.versus]); // always: older links, which leave it out, mean no other class
  const paths = plan.map(look => pathOf(scene, look));
  if (looks?.add) paths.push([...pathOf(scene, looks.add.parent), looks.add.index]);
  if (example && (looks || state.manual)) pairs.push(["cells", paths.map(path => path.join(".")).join(",") || "none"]);
  if (example && step < plan.length && (state.manual || scene.levels > 2)) pairs.push(["step", step]);
  return pairs.map(pair => pair.join("=")).join("&");
}

// Whether this page's address says what is to be shown.
export const namesLink = () => LINKED.some(name => new URLSearchParams(location.search).has(name));

// Keeps the address bar up to date. The page as it is without a link keeps its short address.
export function openAddress(stage) {
  let plain = null;
  return state => {
    if (!state.scene.link || !stage.isConnected) return; // a page of its own, such as a report
    const link = linkOf(state);
    if (plain === null) plain = namesLink() ? "" : link;
    noteLink(link, link === plain ? "" : link);
  };
}

export const safePart = (text, longest) =>
  String(text)
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .replace(/[^A-Za-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, longest)
    .replace(/-+$/, "");

// <picture>-<checkpoint>-<what>.<ext>, safe on every system.
export function fileName(scene, what, extension) {
  const picture = safePart(scene.title.replace(/\.[A-Za-z0-9]{1,5}$/, ""), 60) || "picture";
  const checkpoint = safePart(scene.evidence.source, 60) || "checkpoint";
  // Looks cut otherwise than in training.
  const mode = scene.cut?.sampling ? `-${safePart(scene.cut.sampling, 20)}` : "";
  return `${picture}-${checkpoint}${mode}-${what}.${extension}`;
}

export function save(blob, name) {
  const link = document.createElement("a");
  const address = URL.createObjectURL(blob);
  Object.assign(link, { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60000); // the browser may still be reading it
}

// How the trace that can be saved is checked; where its picture's name would need quotes, FILE stands for it.
export function replayCommand(scene) {
  const { weights } = scene.evidence;
  return `python -m tnet_core replay ${fileName(scene, "trace", "json")} --image FILE${weights ? ` ${weights}` : ""}`;
}
