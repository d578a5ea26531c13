// Stepping, playing, sliders, keys, and files to take along.

import { formatCount, short } from "../core/text.js";
import { build, loadCode } from "../ui/dom.js";
import { replayCommand, save } from "./link.js";

export function buildTransport(stage, scene, onBudget) {
  const place = stage.querySelector(".tn-budgets");
  const names = level =>
    ["Looks at the picture", "Looks inside each of them", "And inside each of those"][level] ??
    `Inside those of level ${level + 1}`;
  place.hidden = scene.levels < 3;
  place.replaceChildren(
    ...(scene.levels < 3 ? [] : scene.most).map((most, level) => {
      const input = build("input", { type: "range", min: 0, max: most, step: 1, "data-level": level });
      input.addEventListener("input", () => onBudget(level, Number(input.value)));
      return build("label", {}, build("span", {}, names(level)), input, build("output"));
    }),
  );
}

export function drawTransport(stage, view, playing) {
  const { state, scene } = view;
  const scrub = stage.querySelector(".tn-scrub");
  const input = scrub.querySelector("input");
  for (const part of stage.querySelectorAll(".tn-keys, .tn-scrub, .tn-spot, .tn-game-open"))
    part.hidden = scene.looks.length === 0;
  stage.querySelector(".tn-dive-open").hidden = scene.levels < 4;
  input.max = state.plan.length;
  input.value = state.step;
  input.disabled = state.plan.length === 0;
  input.style.setProperty("--at", state.plan.length ? `${(100 * state.step) / state.plan.length}%` : "0%");
  input.setAttribute("aria-valuetext", `${state.step} of ${formatCount(state.plan.length, "look", "looks")}`);
  scrub.querySelector("output").textContent = `${state.step} / ${state.plan.length}`;
  scrub.querySelector("span").textContent = state.manual
    ? "Your looks"
    : scene.levels > 2
      ? "Step"
      : "Looks that count";
  for (const label of stage.querySelectorAll(".tn-budgets label")) {
    const range = label.querySelector("input");
    const level = Number(range.dataset.level);
    range.value = state.budget[level];
    range.style.setProperty("--at", `${(100 * state.budget[level]) / scene.most[level]}%`);
    range.setAttribute(
      "aria-valuetext",
      `${state.budget[level]} of ${formatCount(scene.most[level], "look", "looks")} per grid`,
    );
    label.querySelector("output").textContent = `${state.budget[level]} / ${scene.most[level]}`;
  }
  const at = {
    first: state.step === 0,
    back: state.step === 0,
    forward: state.step === state.plan.length,
    last: state.step === state.plan.length,
  };
  for (const [name, ended] of Object.entries(at))
    stage.querySelector(`[data-go="${name}"]`).setAttribute("aria-disabled", ended);
  const play = stage.querySelector('[data-go="play"]');
  play.setAttribute("aria-label", playing ? "Pause" : "Play");
  play.classList.toggle("tn-playing", playing);
}

const WITHOUT_TEXT = ["range", "checkbox", "radio", "button", "submit", "file"].map(type => `[type=${type}]`).join();
const TEXT_FIELD = `input:not(${WITHOUT_TEXT}), textarea, [contenteditable=true], [role=listbox], [role=option]`;

// What a key asks for, or null where it belongs to what has the focus. A list goes to the option that a key begins.
export function readKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return null;
  if (event.target.closest?.(TEXT_FIELD)) return null;
  const list = event.target.closest?.("select");
  const isListed = [...(list?.options ?? [])].some(option => /^z/i.test(option.label));
  if (event.key.toLowerCase() === "z") return isListed ? null : "zoom";
  if (/^[0-9]$/.test(event.key)) return list ? null : Number(event.key);
  if (event.target.closest?.("input, select")) return null;
  if (event.key === "ArrowLeft") return "back";
  if (event.key === "ArrowRight") return "forward";
  return event.key === " " && !event.target.closest?.("button, summary, a") ? "play" : null;
}

// The keyboard's place on the stage, kept when what has the focus is made anew.

const PLACES = [
  ".tn-ledger tbody tr",
  ".tn-look",
  ".tn-grid [data-cell]",
  ".tn-budgets input",
  ".tn-look [data-zoom]",
  ".tn-cut input",
];

// A selector that finds the focused element again, or null where it is not made anew.
export function focusedPlace(stage) {
  const element = stage.contains(document.activeElement) ? document.activeElement : null;
  const kind = element && PLACES.find(selector => element.matches(selector));
  if (!kind) return null;
  const { look, cell, level, zoom } = element.dataset;
  if (element.name) return `${kind}[name="${element.name}"]:checked`;
  if (cell !== undefined)
    return `.tn-grid[data-parent="${element.closest("[data-parent]").dataset.parent}"] [data-cell="${cell}"]`;
  if (zoom !== undefined) return `${kind}[data-zoom="${zoom}"]`;
  return level !== undefined ? `${kind}[data-level="${level}"]` : `${kind}[data-look="${look}"]`;
}

// The row of a look that was removed is not there any more: then the last one has the focus.
export function refocus(stage, place) {
  if (place === null) return;
  const element = stage.querySelector(place) ?? [...stage.querySelectorAll(`${PLACES[0]}[data-look]`)].pop();
  if (!element || element === document.activeElement) return;
  if (element.dataset.cell !== undefined) takeTabStop(element);
  element.focus({ preventScroll: true });
}

// One cell of a grid is a stop of the tab key.
export function takeTabStop(cell) {
  for (const other of cell.parentElement.querySelectorAll("[data-cell]")) other.tabIndex = other === cell ? 0 : -1;
}

// `panel` may stand outside of the stage.
export function drawExport(panel, { scene }) {
  const place = panel.querySelector("code");
  if (place.dataset.scene === String(scene.scene)) return;
  place.dataset.scene = scene.scene;
  place.textContent = replayCommand(scene);
}

// `look` gives what is on the page; `host` may be able to `take` files from the server.
export function mountExport(stage, look, host) {
  const panel = stage.querySelector(".tn-export");
  const line = panel.querySelector("[role=status]");
  for (const part of panel.querySelectorAll("[data-asks]")) part.hidden = Boolean(host.isAlone);
  panel.addEventListener("click", async event => {
    const button = event.target.closest("[data-file]");
    const view = button && look();
    if (!view || panel.hasAttribute("aria-busy")) return;
    panel.setAttribute("aria-busy", "true");
    line.textContent = "";
    try {
      const { makeFile } = await loadCode(import("./export.js"));
      const [blob, name] = await makeFile(button.dataset.file, stage, view, host);
      save(blob, name);
      const size = blob.size < 1e6 ? `${short(blob.size / 1e3)} kB` : `${short(blob.size / 1e6)} MB`;
      line.textContent = `Saved ${name}, ${size}.`;
    } catch (problem) {
      line.textContent = problem.message;
    }
    panel.removeAttribute("aria-busy");
  });
}
