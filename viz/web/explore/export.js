// Files of the page as it stands. Only the trace, the picture's own file, the sha256 of a large one and the fixed parts
// of a report are asked of the server. What draws a figure or a report is loaded when one is made.

import { formatCount } from "../core/text.js";
import { loadCode } from "../ui/dom.js";
import { fileName, replayCommand } from "./link.js";

const FIGURES = {
  picture: ".tn-picture",
  decision: ".tn-decision",
  ledger: ".tn-ledger",
  looks: ".tn-crops",
  levels: ".tn-levels",
  prediction: ".tn-course",
};
const CALLED = {
  picture: "Picture with looks",
  decision: "Decision",
  ledger: "How the score adds up",
  looks: "Looks",
  levels: "Levels",
  prediction: "Prediction over looks",
};

const askForFile = (host, what, scene) => host.call("take", { what, scene: scene.scene });

// A large file is hashed when a report is to name it, not before its looks are shown.
async function addPictureHash(scene, host) {
  const { image } = scene.evidence;
  image.sha256 ??= (await askForFile(host, "sha256", scene)).text;
}

const bytes = text => Uint8Array.from(atob(text), c => c.charCodeAt(0));

// The file that a button names, as [blob, name].
export async function makeFile(what, stage, view, host) {
  const { scene } = view;
  const named = (name, extension) => fileName(scene, name, extension);
  const [kind, format] = what.split(".");
  if (kind in FIGURES) {
    const { figureOf, pngOf } = await loadCode(import("../ui/figure.js"));
    const panel = stage.querySelector(FIGURES[kind]);
    const checkpoint = scene.evidence.title || scene.evidence.source;
    const looks = formatCount(view.looks.length, "look", "looks");
    const drawing = figureOf(panel, `${CALLED[kind]}: ${scene.title}, ${checkpoint}, ${looks}`);
    return format === "svg"
      ? [new Blob([drawing.text], { type: "image/svg+xml" }), named(kind, "svg")]
      : [await pngOf(drawing), named(kind, "png")];
  }
  if (kind === "csv") {
    const { ledgerCsv } = await loadCode(import("./ledger_csv.js"));
    return [new Blob([ledgerCsv(view)], { type: "text/csv" }), named("ledger", "csv")];
  }
  if (kind === "report") {
    await addPictureHash(scene, host);
    const { reportOf } = await loadCode(import("../report/report.js"));
    const parts = await askForFile(host, "report", scene);
    return [await reportOf(view, parts, replayCommand(scene)), named("report", "html")];
  }
  const answer = await askForFile(host, kind, scene);
  return kind === "trace"
    ? [new Blob([answer.text], { type: "application/json" }), named("trace", "json")]
    : [new Blob([bytes(answer.base64)], { type: answer.type }), named("original", answer.extension)];
}
