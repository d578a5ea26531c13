// Puts the tab together: the offer of the server, what was chosen from it, and the pair that was answered.

import { build } from "../ui/dom.js";
import { drawAlike } from "./alike.js";
import {
  choose,
  drawChoices,
  follow,
  readOwnPlan,
  openChoices,
  ownCells,
  restore,
  describeSide,
  writeSide,
} from "./choices.js";
import { buildColumn, drawColumn, drawSideDecision, moveBetweenCells } from "./column.js";
import { buildFirstClasses, drawDifference, fillClasses, markLooks } from "./difference.js";
import { SIDES, openPair, viewOf } from "./view.js";
import { noteSettings, takeLinked } from "../ui/address.js";
import { call } from "../core/rpc.js";
import { formatCount } from "../core/text.js";

export function mountCompare(element, host) {
  const root = element.querySelector(".compare");
  const choices = openChoices();
  let offer = null;
  let state = null;
  let asked = "";
  let linked = null; // what the address asks for, until a pair is shown
  let unmet = ""; // a sentence about what of it could not be had

  async function ask() {
    const request = {
      mode: choices.mode,
      scene: offer.scene,
      a: describeSide(choices, offer, "a"),
      b: describeSide(choices, offer, "b"),
    };
    drawChoices(root, choices, offer);
    asked = JSON.stringify(request);
    say("");
    // Two levels have every look already, and a policy is only their order; otherwise Gradio shows how far it is.
    const atOnce = choices.mode === "policies" && offer.levels === 2;
    wait(true, atOnce ? "Putting both sides together…" : "");
    const question = asked;
    try {
      const answer = await call(atOnce ? "pair" : "look_pair", request, { latest: true });
      if (answer === null || question !== asked) return; // something else was chosen meanwhile
      wait(false);
      show(openPair(answer));
      say(unmet);
      unmet = "";
    } catch (problem) {
      if (question !== asked) return;
      wait(false);
      say(problem.message);
    }
  }

  function wait(busy, text = "") {
    const line = root.querySelector(".compare-busy");
    line.hidden = !text;
    line.querySelector("span").textContent = text;
    root.toggleAttribute("aria-busy", busy);
  }

  function say(sentence) {
    const line = root.querySelector(".tn-sentence");
    if (line.textContent !== sentence) line.textContent = sentence; // the same one is not read out again
    line.hidden = !sentence;
  }

  function receive() {
    const text = host.value();
    if (!text) return;
    const answer = JSON.parse(text);
    if (answer.kind === "offer") meet(answer);
    else if (answer.kind === "brought" && offer) {
      offer.brought = answer.title;
      choices.mode = "pictures";
      choices.pictures.b = "brought";
      ask();
    } else if (answer.kind === "problem") {
      wait(false);
      say(answer.sentence);
    }
  }

  // The tab was opened. What is shown stays unless Explore shows something else by now.
  function meet(told) {
    const other = !offer || offer.scene !== told.scene || offer.checkpoint !== told.checkpoint;
    const brought = offer?.brought;
    offer = told;
    if (other) follow(choices, offer);
    linked ??= takeLinked("compare");
    if (linked && other) unmet = restore(choices, offer, linked);
    for (const side of SIDES)
      if (choices.policies[side].policy === "hand" && !readOwnPlan(offer)) choices.policies[side].policy = "learned";
    if (choices.pictures.b === "brought" && brought && !offer.brought) choices.pictures.b = "current";
    drawChoices(root, choices, offer);
    const request = {
      mode: choices.mode,
      scene: offer.scene,
      a: describeSide(choices, offer, "a"),
      b: describeSide(choices, offer, "b"),
    };
    if (JSON.stringify(request) !== asked) ask();
  }

  function show(pair) {
    const before = state;
    const same = before && before.pair.most.length === pair.most.length;
    const budget = pair.most.map((most, level) => Math.min(most, same ? before.budget[level] : pair.shown[level]));
    // Looks chosen by hand all count, and as many of the other side.
    const chosen = SIDES.filter(
      side => pair.mode === "policies" && ["own", "hand"].includes(choices.policies[side].policy),
    ).map(side => pair[side].most[0]);
    if (Math.max(0, ...chosen)) budget[0] = Math.max(...chosen);
    state = {
      pair,
      budget,
      cls: "a",
      tint: before?.tint ?? false,
      width: before?.width ?? 500,
      wide: before?.wide ?? 500,
    };
    if (linked) restoreView();
    const held = document.activeElement?.closest?.(".compare-mine [data-cell]");
    const focus =
      held && root.contains(held) ? [held.closest(".compare-column").dataset.side, held.dataset.cell] : null;
    root.dataset.shown = pair.mode;
    root.querySelector(".compare-constant").textContent = pair.constant;
    for (const side of SIDES) buildColumn(root, side, pair, ownCells(choices, side));
    buildSliders();
    root.querySelector("[data-choose=class]").replaceChildren(...buildFirstClasses());
    measure();
    draw();
    if (focus) root.querySelector(`.compare-column[data-side="${focus[0]}"] [data-cell="${focus[1]}"]`)?.focus();
  }

  // Looks and class of a link, as far as this pair has them.
  function restoreView() {
    const looks = String(linked["compare-looks"] ?? "").split(",");
    const { most } = state.pair;
    if (looks.length === most.length && looks.every((text, level) => /^\d+$/.test(text) && Number(text) <= most[level]))
      state.budget = looks.map(Number);
    const cls = linked["compare-class"];
    if (cls === "b") state.cls = cls;
    else if (/^\d{1,4}$/.test(cls ?? "") && Number(cls) < state.pair.common.length) state.cls = Number(cls);
    linked = null;
  }

  function note() {
    const pairs = [["compare", state.pair.mode]];
    for (const side of SIDES) pairs.push([side, writeSide(choices, offer, side)]);
    pairs.push(["compare-looks", state.budget.join(",")]);
    if (state.cls !== "a") pairs.push(["compare-class", state.cls]);
    if (choices.mode === state.pair.mode) noteSettings("compare", pairs);
  }

  function buildSliders() {
    const names =
      state.pair.most.length > 1
        ? ["Looks at the picture", "Looks inside each of them", "And inside each of those"]
        : ["Looks that count"];
    const sliders = state.pair.most.map((most, level) => {
      const range = { type: "range", min: 0, max: most, step: 1, "data-level": level, disabled: !most };
      return build("label", {}, build("span", {}, names[Math.min(level, 2)]), build("input", range), build("output"));
    });
    const tint = build("input", { type: "checkbox", checked: state.tint });
    const spot = build("label", { class: "tn-spot" }, tint, " tint cells");
    root.querySelector(".compare-sliders").replaceChildren(...sliders, spot);
  }

  function drawSliders() {
    for (const input of root.querySelectorAll(".compare-sliders [data-level]")) {
      const level = Number(input.dataset.level);
      const most = state.pair.most[level];
      input.value = state.budget[level];
      input.style.setProperty("--at", most ? `${(100 * state.budget[level]) / most}%` : "0%");
      input.setAttribute("aria-valuetext", `${state.budget[level]} of ${formatCount(most, "look", "looks")}`);
      input.parentElement.querySelector("output").textContent = `${state.budget[level]} / ${most}`;
    }
  }

  function draw() {
    if (!state) return;
    const view = viewOf(state);
    for (const side of SIDES) {
      drawColumn(root, side, view);
      drawSideDecision(root, side, view);
    }
    drawAlike(root, view);
    drawDifference(root, view);
    drawSliders();
    note();
  }

  // Widths of the drawings, in pixels: asking for them while drawing would lay out the page.
  function measure() {
    state.width = root.querySelector(".compare-decision").clientWidth || state.width;
    state.wide = root.querySelector(".compare-alike").clientWidth || state.wide;
  }

  function toggleCell(side, index) {
    const { cells } = choices.policies[side];
    choices.policies[side].cells = cells.includes(index) ? cells.filter(other => other !== index) : [...cells, index];
    ask();
  }

  root.addEventListener("submit", event => event.preventDefault());
  root.addEventListener("change", event => {
    const { target } = event;
    const side = target.closest(".compare-side")?.dataset.side;
    if (target.name === "compare-mode") {
      choices.mode = target.value;
      ask();
    } else if (side && target.matches("select")) {
      choose(choices, side, target.value);
      ask();
    } else if (side && target.matches(".compare-seed input")) {
      choices.policies[side].seed = target.value === "" ? null : Number(target.value);
      ask();
    } else if (target.matches(".tn-spot input") && state) {
      state.tint = target.checked;
      draw();
    } else if (target.matches("[data-choose=class]") && state) {
      state.cls = /^\d+$/.test(target.value) ? Number(target.value) : target.value;
      draw();
    }
  });
  root.addEventListener("input", event => {
    if (!event.target.matches(".compare-sliders [data-level]") || !state) return;
    state.budget[Number(event.target.dataset.level)] = Number(event.target.value);
    draw();
  });
  root.addEventListener("click", event => {
    const cell = event.target.closest(".compare-mine [data-cell]");
    const clear = event.target.closest(".compare-clear");
    if (cell) toggleCell(cell.closest(".compare-column").dataset.side, Number(cell.dataset.cell));
    else if (clear) {
      choices.policies[clear.closest(".compare-side").dataset.side].cells = [];
      ask();
    } else if (event.target.closest(".compare-upload"))
      document.querySelector("#compare-bring input[type=file]")?.click();
  });
  root.addEventListener("keydown", event => {
    if (state && moveBetweenCells(event, state.pair.a.grid)) event.preventDefault();
  });
  root.addEventListener("focusin", event => {
    markLooks(root, event.target);
    if (event.target.matches("[data-choose=class]") && state) fillClasses(event.target, viewOf(state));
  });
  root.addEventListener("pointerover", event => markLooks(root, event.target));
  for (const kind of ["pointerleave", "focusout"]) root.addEventListener(kind, () => markLooks(root, null));
  new ResizeObserver(() => {
    if (!state || root.offsetParent === null) return;
    const before = [state.width, state.wide].join();
    measure();
    if ([state.width, state.wide].join() !== before) draw();
  }).observe(root);
  host.watch("value", receive);
  receive();
}
