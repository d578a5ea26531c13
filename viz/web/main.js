// The entry of the page: what its components call (build_mount_script in viz/web/modules.py), and what all tabs share.
// Explore is loaded at once, what belongs to another tab or to a click when it is needed.

import { followAddress } from "./ui/address.js";
import { call } from "./core/rpc.js";
import { safePart, save } from "./explore/link.js";
import { mountStage } from "./explore/stage.js";

export { noteTab } from "./ui/address.js";
export { connect } from "./core/rpc.js";
export { mountGallery, mountUploads } from "./explore/uploads.js";

export function mountExplore(element, host) {
  const look = mountStage(element, { ...host, call });
  const stage = element.querySelector(".tn-stage");
  document.addEventListener("click", event => {
    const button = event.target.closest?.("[data-opens]");
    if (button && stage.isConnected) window.TNet("openPart", button.dataset.opens, stage, look, button);
  });
  openLinked(stage, look);
  followAddress();
}

// What can be taken along stands below the last panel of the tab, which is a component of its own.
export function mountEnd(element) {
  const end = element.querySelector(".tn-end");
  const move = () => {
    const files = document.querySelector(".tn-stage[data-state=shown] > .tn-export");
    if (files) end.append(files);
    return Boolean(files);
  };
  if (move()) return;
  const watcher = new MutationObserver(() => move() && watcher.disconnect());
  watcher.observe(document.body, { subtree: true, attributes: true, attributeFilter: ["data-state"] });
}

// Parts of Explore that a click opens, from wherever on the page. Called by way of `TNet`, which says it on the page
// where their code cannot be loaded; so are the functions below that load code.
export async function openPart(name, stage, look, button) {
  if (stage.offsetParent === null) showExplore();
  if (name === "tour") (await import("./explore/tour.js")).openTour(stage, look, 1, button);
  const share = async () => {
    const { score, scoreOf } = stage.dataset;
    const isOfThis = scoreOf === String(look()?.scene.scene);
    (await import("./explore/share.js")).openShare(stage, look, call, isOfThis ? score : "");
  };
  if (name === "share") await share();
  if (name === "dive") (await import("./explore/dive.js")).openDive(stage, look, call, button);
  if (name === "game") (await import("./explore/game.js")).openGame(stage, look, button, share);
}

// "?tour=3" opens that step as soon as a picture is shown, "?game" the game.
function openLinked(stage, look) {
  const parameters = new URLSearchParams(location.search);
  if (!parameters.has("tour") && !parameters.has("game")) return;
  const watcher = new MutationObserver(() => {
    if (stage.dataset.state !== "shown") return;
    watcher.disconnect();
    if (parameters.has("game")) window.TNet("openPart", "game", stage, look, null);
    window.TNet("openLinkedStep", stage, look);
  });
  watcher.observe(stage, { attributes: true, attributeFilter: ["data-state"] });
}

export async function openLinkedStep(stage, look) {
  const { linkedStep, openTour } = await import("./explore/tour.js");
  if (linkedStep()) openTour(stage, look, linkedStep());
}

// Explore is the first tab.
export const showExplore = () => document.querySelector("#tabs [role=tab]")?.click();

export const mountCompare = async (...given) => (await import("./compare/compare.js")).mountCompare(...given);
export const mountAudit = async (...given) => (await import("./audit/audit.js")).mountAudit(...given);
export const mountFaithfulness = async (...given) =>
  (await import("./audit/faithfulness.js")).mountFaithfulness(...given);
export const mountWhatIf = async (...given) => (await import("./what_if/what_if.js")).mountWhatIf(...given);
export const mountFailures = async (...given) => (await import("./your_data/your_data.js")).mountFailures(...given);
// Loaded when the tab is opened, so that the slider asks nothing of the server.
export const mountAccuracy = async (...given) => (await import("./accuracy/accuracy.js")).mountAccuracy(...given);
export const mountAccuracyChart = async (...given) => (await import("./accuracy/accuracy.js")).mountChart(...given);
export const showLooks = async looks => (await import("./accuracy/accuracy.js")).showLooks(looks);

// Brings another part of the page into view. A link with only a fragment would not do: under the document's <base>
// it means another address than the one with the visitor's query, so the browser would load the app anew.
document.addEventListener("click", event => {
  const target = document.getElementById(event.target.closest?.("[data-scroll-to]")?.dataset.scrollTo ?? "");
  if (!target) return;
  target.tabIndex = -1; // the keyboard goes on from there
  target.focus({ preventScroll: true });
  target.scrollIntoView({ block: "start" });
});

// Saves a chart: a button names the element that holds it, the format and the file.
document.addEventListener("click", event => {
  const button = event.target.closest?.("[data-chart]");
  const chart = button && document.querySelector(button.dataset.chart);
  if (chart) window.TNet("saveChart", chart, button);
});

export async function saveChart(chart, button) {
  const { figureOf, pngOf } = await import("./ui/figure.js");
  const { format, name } = button.dataset;
  const drawing = figureOf(chart, name);
  const file = format === "svg" ? new Blob([drawing.text], { type: "image/svg+xml" }) : await pngOf(drawing);
  save(file, `${safePart(name, 90)}.${format}`);
}
