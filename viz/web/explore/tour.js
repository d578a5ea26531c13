// How it works, in six steps on the picture that is shown: a panel below the stage tells, the stage marks.

import { build } from "../ui/dom.js";
import { STEPS, WORDS, writeStep } from "./tour_steps.js";

const PAPER = "https://arxiv.org/abs/2102.10212";
const CODE = "https://github.com/Tpap/TNet";

// The step that this page's address asks for, or null.
export function linkedStep() {
  const step = Number(new URLSearchParams(location.search).get("tour"));
  return Number.isInteger(step) && step >= 1 && step <= STEPS ? step : null;
}

function writeAddress(number) {
  const query = new URLSearchParams(location.search);
  if (number === null) query.delete("tour");
  else query.set("tour", number);
  const text = query.toString();
  history.replaceState(history.state, "", location.pathname + (text ? `?${text}` : "") + location.hash);
}

function buildPanel() {
  const button = (act, text) => build("button", { type: "button", "data-tour-go": act }, text);
  const link = (href, text) => build("a", { href, target: "_blank", rel: "noopener" }, text);
  return build(
    "section",
    { class: "tn-tour", role: "dialog", "aria-labelledby": "tn-tour-title" },
    build("div", { class: "tn-tour-head" }, build("h2", { id: "tn-tour-title" }), button("close", "Close")),
    build("p", { class: "tn-tour-sentence", "aria-live": "polite" }),
    build("details", { class: "tn-tour-formula" }, build("summary", {}, "In numbers"), build("ul")),
    build(
      "div",
      { class: "tn-tour-foot" },
      build("div", {}, button("back", "Back"), button("next", "Next")),
      build(
        "p",
        {},
        link(PAPER, "Paper"),
        link(CODE, "Authors' code"),
        build("button", { type: "button", "data-tour-go": "words", "aria-expanded": "false" }, "Words"),
      ),
    ),
    build(
      "dl",
      { class: "tn-tour-words", hidden: true },
      WORDS.flatMap(([word, meaning]) => [build("dt", {}, word), build("dd", {}, meaning)]),
    ),
  );
}

// What lies over the picture: the thumbnail as the network saw it, lines between cells, or their ranks.
function buildOverlay(kind, stage, { scene }) {
  if (kind === null) return null;
  if (kind === "thumbnail")
    return build("div", { class: "tn-tour-over" }, build("img", { src: scene.thumbnail, alt: "" }));
  const { rank, lift } = scene.grids.find(grid => grid.parent === null);
  const cells = [...stage.querySelectorAll(".tn-tint > [data-cell]")].map((cell, index) => {
    const { left, top, width, height } = cell.style;
    const text =
      kind === "ranks" ? [build("b", {}, rank[index]), build("small", {}, `${lift[index].toFixed(1)}×`)] : [];
    const made = build("div", { class: rank[index] === 1 && text.length ? "tn-tour-best" : null }, text);
    Object.assign(made.style, { left, top, width, height });
    return made;
  });
  return build("div", { class: "tn-tour-over tn-tour-cells", "aria-hidden": "true" }, cells);
}

let tour = null; // the one that is open

export function openTour(stage, look, number = 1, opener = null) {
  if (!look()) return;
  if (tour) {
    tour.go(number);
    return;
  }
  const panel = buildPanel();
  const slider = stage.querySelector(".tn-scrub input");
  const kept = Number(slider.value);
  let at = null;

  function moveTo(step) {
    if (Number(slider.value) === step || slider.disabled) return;
    slider.value = step;
    slider.dispatchEvent(new Event("input", { bubbles: true }));
  }

  function clear() {
    stage.querySelector(".tn-tour-over")?.remove();
    for (const marked of stage.querySelectorAll(".tn-toured")) marked.classList.remove("tn-toured");
  }

  // `isMoving`: the stage is brought to the step's looks and into view.
  function draw(isMoving) {
    const { scene } = look();
    if (isMoving) {
      const own = kept || Math.min(scene.shown[0] ?? 0, Number(slider.max));
      moveTo(writeStep(at, look()).looks === "none" ? 0 : own);
    }
    clear();
    const step = writeStep(at, look());
    panel.dataset.step = at;
    panel.querySelector("h2").textContent = `${at} of ${STEPS}: ${step.title}`;
    panel.querySelector(".tn-tour-sentence").textContent = step.sentence;
    panel.querySelector(".tn-tour-formula").hidden = !step.formula.length;
    panel
      .querySelector("ul")
      .replaceChildren(...step.formula.map(({ text, value }) => build("li", { "data-number": value }, text)));
    panel.querySelector('[data-tour-go="back"]').disabled = at === 1;
    panel.querySelector('[data-tour-go="next"]').textContent = at === STEPS ? "Done" : "Next";
    const marked = stage.querySelector(step.marks);
    marked.classList.add("tn-toured");
    const overlay = buildOverlay(step.overlay, stage, look());
    if (overlay) stage.querySelector(".tn-frame").append(overlay);
    if (isMoving) marked.scrollIntoView({ block: "start", behavior: "instant" });
  }

  function go(wanted) {
    if (wanted > STEPS) {
      close();
      return;
    }
    at = Math.max(wanted, 1);
    writeAddress(at);
    draw(true);
  }

  function close() {
    tour = null;
    watcher.disconnect();
    document.removeEventListener("keydown", key, true);
    clear();
    panel.remove();
    writeAddress(null);
    if (stage.isConnected) moveTo(kept);
    opener?.focus({ preventScroll: true });
  }

  // The visitor moves on, or another picture came: the step is told about that.
  function redraw() {
    if (!stage.isConnected) close();
    else if (look()) draw(false);
  }

  function key(event) {
    if (event.key === "Escape" && !document.querySelector("dialog[open]")) {
      event.preventDefault();
      close();
    } else if (panel.contains(event.target) && ["ArrowLeft", "ArrowRight"].includes(event.key)) {
      event.preventDefault(); // the stage would step through the looks
      if (event.key === "ArrowLeft" || at < STEPS) go(at + (event.key === "ArrowRight" ? 1 : -1));
    }
  }

  panel.addEventListener("click", event => {
    const act = event.target.closest("[data-tour-go]")?.dataset.tourGo;
    if (act === "close") close();
    else if (act === "next") go(at + 1);
    else if (act === "back") go(at - 1);
    else if (act === "words") {
      const words = panel.querySelector(".tn-tour-words");
      words.hidden = !words.hidden;
      event.target.setAttribute("aria-expanded", String(!words.hidden));
    }
  });
  document.addEventListener("keydown", key, true);
  const watcher = new MutationObserver(redraw);
  watcher.observe(stage.querySelector(".tn-photo"), { attributes: true, attributeFilter: ["src"] });
  watcher.observe(stage.querySelector(".tn-ledger tfoot"), { childList: true });
  tour = { go };
  stage.append(panel);
  go(number);
  panel.querySelector('[data-tour-go="next"]').focus({ preventScroll: true });
}
