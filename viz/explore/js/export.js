// Take it with you: files of the page as it stands. Only the trace, the picture's own file and the sha256 of a large one
// are asked of the server.

const FIGURES = { picture: ".tn-picture", decision: ".tn-decision", ledger: ".tn-ledger", looks: ".tn-crops", levels: ".tn-levels", prediction: ".tn-course" };
const CALLED = { picture: "Picture with looks", decision: "Decision", ledger: "How the score adds up", looks: "Looks", levels: "Levels", prediction: "Prediction over looks" };

let waiting = null, asks = 0; // who waits for a file of the server, and questions so far

// The component that the server's files arrive in.
function receiveFiles(host) {
  host.watch("value", () => {
    const answer = JSON.parse(host.value() || "{}");
    if (waiting && answer.number === waiting.number) waiting.hear(answer);
  });
}

async function askForFile(host, what, scene) {
  const number = ++asks;
  const answer = await new Promise((hear, failed) => {
    waiting = { number, hear };
    setTimeout(() => failed(new Error("The server did not answer for a minute: try again, or reload the page.")), ANSWER_MS);
    host.take({ what, scene: scene.scene, number });
  });
  if (answer.kind !== "file") throw new Error(answer.sentence);
  return answer;
}

// A large file is hashed when a report is to name it, not before its looks are shown.
async function identified(scene, host) {
  const { image } = scene.evidence;
  image.sha256 ??= (await askForFile(host, "sha256", scene)).text;
}

const bytes = text => Uint8Array.from(atob(text), c => c.charCodeAt(0));

async function madeFile(what, stage, view, host) {
  const { scene } = view, named = (name, extension) => fileName(scene, name, extension);
  const [kind, format] = what.split(".");
  if (kind in FIGURES) {
    const panel = stage.querySelector(FIGURES[kind]), drawing = figureOf(panel, `${CALLED[kind]}: ${scene.title}, ${scene.evidence.title || scene.evidence.source}, ${counted(view.looks.length, "look", "looks")}`);
    return format === "svg" ? [new Blob([drawing.text], { type: "image/svg+xml" }), named(kind, "svg")] : [await pngOf(drawing), named(kind, "png")];
  }
  if (kind === "csv") return [new Blob([ledgerCsv(view)], { type: "text/csv" }), named("ledger", "csv")];
  if (kind === "report") {
    await identified(scene, host);
    return [await reportOf(view), named("report", "html")];
  }
  const answer = await askForFile(host, kind, scene);
  return kind === "trace" ? [new Blob([answer.text], { type: "application/json" }), named("trace", "json")]
    : [new Blob([bytes(answer.base64)], { type: answer.type }), named("original", answer.extension)];
}

// How the trace that can be saved is checked; where its picture's name would need quotes, FILE stands for it.
function drawExport(stage, view) {
  const { scene } = view, place = stage.querySelector(".tn-export code");
  if (place.dataset.scene === String(scene.scene)) return;
  place.dataset.scene = scene.scene;
  place.textContent = replayCommand(scene);
}

function replayCommand(scene) {
  const { weights } = scene.evidence;
  return `python -m tnet_core replay ${fileName(scene, "trace", "json")} --image FILE${weights ? ` ${weights}` : ""}`;
}

// `look` gives what is on the page; `host` may be able to `take` files from the server.
function mountExport(stage, look, host) {
  const panel = stage.querySelector(".tn-export"), line = panel.querySelector("[role=status]");
  panel.querySelectorAll("[data-asks]").forEach(element => { element.hidden = !host.take; });
  panel.addEventListener("click", async event => {
    const button = event.target.closest("[data-file]"), view = button && look();
    if (!view || panel.hasAttribute("aria-busy")) return;
    panel.setAttribute("aria-busy", "true");
    line.textContent = "";
    try {
      const [blob, name] = await madeFile(button.dataset.file, stage, view, host);
      save(blob, name);
      line.textContent = `Saved ${name}, ${blob.size < 1e6 ? `${short(blob.size / 1e3)} kB` : `${short(blob.size / 1e6)} MB`}.`;
    } catch (problem) {
      line.textContent = problem.message;
    }
    panel.removeAttribute("aria-busy");
  });
}

// The chart of another tab: a button names the element that holds it, the format and the file.
document.addEventListener("click", async event => {
  const button = event.target.closest?.("[data-chart]"), chart = button && document.querySelector(button.dataset.chart);
  if (!chart) return;
  const drawing = figureOf(chart, button.dataset.name), name = `${part(button.dataset.name, 90)}.${button.dataset.format}`;
  save(button.dataset.format === "svg" ? new Blob([drawing.text], { type: "image/svg+xml" }) : await pngOf(drawing), name);
});
