// The page's address: the link of Explore's picture, the open tab and its settings. Opening another tab is a step of
// the browser's history, a setting changes the step that is shown. Parameters that nobody here knows stay as they
// are.

// As pages/explore/links.py reads them.
export const LINKED = [
  "checkpoint",
  "example",
  "picture",
  "sampling",
  "levels",
  "looks",
  "class",
  "against",
  "cells",
  "step",
];
// Tabs by their ids, and the parameters of each: those of a tab that is not shown are not in the address.
const SETTINGS = {
  explore: [],
  compare: ["compare", "a", "b", "compare-looks", "compare-class"],
  audit: ["audit", "audit-class", "audit-looks"],
  "what-if": ["change", "right", "down", "size", "copy", "onto", "what-if-looks"],
  accuracy: ["data", "x", "y"],
  "your-data": [],
};
const ABOUT_PICTURE = ["compare", "what-if"]; // their links name the picture in any case
const OWN = ["tab", ...LINKED, ...Object.values(SETTINGS).flat()];
const WRITE_MS = 400; // browsers refuse an address that changes too often
const ASK_MS = 50;

const query = () => new URLSearchParams(location.search);
const encode = pairs => pairs.map(([name, value]) => `${name}=${encodeURIComponent(value).replace(/%2C/g, ",")}`);

function readTab() {
  const named = query().get("tab");
  return Object.hasOwn(SETTINGS, named ?? "") ? named : "explore";
}

const readSettings = tab => [...query()].filter(([name]) => SETTINGS[tab].includes(name));

let current = readTab();
let opening = current === "explore" ? null : current; // a tab that was called for and is not shown yet
const linked = { [current]: Object.fromEntries(readSettings(current)) };
const settings = { [current]: readSettings(current) };
let explored = { short: [...query()].some(([name]) => LINKED.includes(name)) ? null : "", full: "" };
let timer = null;

// This page's address with other parameters of ours; `drop` are others to leave out.
function compose(parts, drop = []) {
  const others = query();
  for (const name of [...OWN, ...drop]) others.delete(name);
  const text = [others.toString(), ...parts].filter(Boolean).join("&");
  return location.pathname + (text ? `?${text}` : "") + location.hash;
}

export const addressWith = (link, drop = []) => compose([link], drop);

function currentAddress() {
  const link = ABOUT_PICTURE.includes(current) ? explored.full : explored.short;
  if (current === "explore") return compose([link]);
  return compose([link, `tab=${current}`, ...encode(settings[current] ?? [])]);
}

function write() {
  clearTimeout(timer);
  timer = null;
  // Until the picture of a link is there, the address is the only one that names it.
  if (explored.short === null || opening) return;
  const address = currentAddress();
  if (address !== location.pathname + location.search + location.hash) history.replaceState(history.state, "", address);
}

const writeSoon = () => {
  timer ??= setTimeout(write, WRITE_MS);
};

// Explore's link; `short` is empty where the page is as everybody finds it.
export function noteLink(full, short) {
  explored = { full, short };
  writeSoon();
}

// What a tab shows now, as pairs of a name and a value.
export function noteSettings(tab, pairs) {
  settings[tab] = pairs.filter(([name]) => SETTINGS[tab].includes(name));
  if (tab === current) writeSoon();
}

// The settings that the page was opened with, once; null for a tab that its address does not show.
export function takeLinked(tab) {
  const found = linked[tab] ?? null;
  delete linked[tab];
  return found;
}

// A tab is shown, because it was clicked or because the address names it.
export function noteTab(tab) {
  const button = document.querySelector(`#tabs [role=tab][data-tab-id="${tab}"]`);
  button?.scrollIntoView({ block: "nearest", inline: "nearest" }); // a row of tabs may be wider than the screen
  if (opening !== null) {
    if (tab !== opening) return; // Gradio shows the first tab on arrival
    opening = null;
    current = tab;
    writeSoon();
  } else if (tab !== current) {
    write(); // the step that is left keeps what it showed
    current = tab;
    history.pushState(null, "", currentAddress());
  }
}

async function openTab(tab) {
  opening = tab;
  for (let attempts = 0; opening === tab && attempts < 400; attempts++) {
    const button = document.querySelector(`#tabs [role=tab][data-tab-id="${tab}"]`);
    if (button?.getAttribute("aria-selected") === "true") noteTab(tab);
    else button?.click();
    await new Promise(resolve => setTimeout(resolve, ASK_MS));
  }
}

// Shows the tab of the address, now and whenever the visitor goes back or forward.
export function followAddress() {
  if (opening) openTab(opening);
  addEventListener("popstate", () => {
    const tab = readTab();
    if (tab === current && opening === null) writeSoon();
    else openTab(tab);
  });
}
