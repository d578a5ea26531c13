// Puts the panels together: one scene at a time, redrawn from its state after every change.

import { learnLooks, lookAt, openScene } from "../core/scene.js";
import { buildTransport, drawExport, drawTransport, focusedPlace, mountExport, readKey, refocus } from "./controls.js";
import { buildLedger, drawLedger, fillChoices } from "./ledger.js";
import { buildLevels, drawLevels, moveInGrid } from "./levels.js";
import { linkOf, openAddress } from "./link.js";
import { drawMoment } from "./moment.js";
import { buildCut, buildLooks, drawCurve, drawDecision, drawLooks, stepAt } from "./panels.js";
import { createPlayback, mayArrive } from "./playback.js";
import { drawSteered, followNetwork, goTo, openState, takePlan, toggleLook, unknownSteps, viewOf } from "./state.js";
import { loadCode } from "../ui/dom.js";
import { buildPicture, drawCost, drawPicture, previewCell } from "../ui/picture.js";

// `host` has the scene that is to be shown and calls the server; one that `isAlone`, such as a report, has no server.
export function mountStage(element, host) {
  const stage = element.querySelector(".tn-stage");
  const files = stage.querySelector(".tn-export"); // moves to the end of the tab
  let state = null;
  let pending = null; // looks wanted by hand that are not shown yet
  const tellAddress = openAddress(stage);
  let zoom = null; // loaded when it is first opened
  let until = null; // the step that playing ends at
  const playback = createPlayback(stage, advance, draw);
  const pause = playback.pause;
  stage.classList.toggle("tn-zooms", !host.isAlone);

  function draw() {
    const view = viewOf(state);
    for (const panel of [
      drawPicture,
      drawMoment,
      drawCost,
      drawDecision,
      drawLedger,
      drawLooks,
      drawLevels,
      drawCurve,
      drawSteered,
    ])
      panel(stage, view);
    drawExport(files, view);
    drawTransport(stage, view, playback.isPlaying());
    // For other tabs of the page: the looks chosen by hand, of this scene.
    stage.dataset.byHand =
      state.manual && !state.scene.cut?.sampling ? JSON.stringify({ scene: state.scene.scene, plan: view.looks }) : "";
    if (!playback.isArriving()) tellAddress(state);
  }

  // Another scene, or the same picture with further looks.
  function show(scene, same = false) {
    zoom?.close();
    const isFirst = state === null;
    state = openState(scene, state, same);
    pause();
    if (isFirst && state.step > 0 && mayArrive(stage, host)) arrive();
    build();
  }

  // The first picture is played once, from the thumbnail to the looks that it opens with.
  function arrive() {
    tellAddress(state); // as it is in the end
    until = state.step;
    goTo(state, 0);
    playback.arrive();
  }

  function build() {
    const { scene } = state;
    const place = focusedPlace(stage);
    for (const panel of [buildPicture, buildLedger, buildLooks, buildLevels]) panel(stage, scene);
    buildCut(stage, scene, host.isAlone ? null : resample);
    buildTransport(stage, scene, (level, looks) => {
      leave();
      change(() => {
        state.budget[level] = looks;
        followNetwork(state);
      });
    });
    stage.classList.toggle("tn-deeper", scene.levels > 2);
    stage.dataset.state = "shown";
    state.width = stage.querySelector(".tn-plot").clientWidth || state.width;
    draw();
    refocus(stage, place);
  }

  // Every value is another scene: the server sends no other by itself. Answers may overtake one another: one to an
  // earlier request than that which is shown is left out.
  let shown = null; // page and number of the request
  function receive() {
    const text = host.value();
    if (!text) return;
    const sent = JSON.parse(text);
    if (shown && sent.request?.page === shown.page && sent.request.number < shown.number) return;
    shown = sent.request ?? null;
    stage.dataset.shownExample = sent.example ?? "";
    document.dispatchEvent(new Event("tn-shown"));
    forget();
    say("");
    const scene = openScene(sent);
    show(scene);
    if (scene.opens) stage.querySelector(`[data-opens="${scene.opens}"]`)?.click(); // as a visitor would
  }

  // Shows looks chosen by hand, or asks for what is missing to show them. The answer may come when the picture is
  // another one, or when they are not wanted any more; what it says about this picture is known from then on.
  async function want(looks) {
    const { scene } = state;
    const steps = unknownSteps(scene, looks);
    if (looks.add === null && !steps.length) {
      forget();
      change(() => takePlan(state, looks.plan));
      return;
    }
    pending = looks;
    stage.setAttribute("aria-busy", "true");
    const given = { ...looks, steps, scene: scene.scene, known: scene.looks.length };
    try {
      const answer = await host.call("steer", given, { latest: true });
      if (answer === null || scene !== state.scene) return;
      const isNew = learnLooks(scene, answer);
      if (pending === looks) {
        forget();
        takePlan(state, answer.plan);
        if (!isNew) draw();
      }
      if (isNew) build();
    } catch (problem) {
      // Gradio builds the page anew after a connection was lost: what this stage lacked, another one does not want.
      if (scene !== state.scene || !stage.isConnected) return;
      if (problem.kind === "expired") await reopen(linkOf(state, looks));
      else if (pending === looks) giveUp(problem.message);
    }
  }

  // The server has forgotten the page: it finds an example again by its link, and a picture of the visitor's not.
  async function reopen(link) {
    const { scene } = state;
    try {
      const answer = await host.call("reopen", { link });
      if (scene !== state.scene) return;
      forget();
      show(openScene(answer), true);
      say(answer.wrong);
    } catch (problem) {
      if (scene === state.scene) giveUp(problem.message);
    }
  }

  // The same picture, looked at in another way.
  async function resample(choice) {
    const { scene } = state;
    try {
      const answer = await host.call("sample", { ...choice, scene: scene.scene });
      if (scene !== state.scene) return;
      forget();
      say("");
      show(openScene(answer), true);
    } catch (problem) {
      if (scene !== state.scene) return;
      buildCut(stage, scene, resample); // as it was
      say(problem.message);
    }
  }

  function giveUp(sentence) {
    forget();
    say(sentence);
  }

  function forget() {
    pending = null;
    stage.removeAttribute("aria-busy");
  }

  function say(sentence) {
    const line = stage.querySelector(".tn-sentence");
    line.textContent = sentence;
    line.hidden = !sentence;
  }

  function change(act) {
    if (!state) return;
    act();
    draw();
  }

  // The page goes elsewhere: what was being played or asked for is not wanted any more.
  function leave() {
    pause();
    forget();
  }

  function play() {
    if (playback.isPlaying()) pause();
    else {
      if (state.step >= state.plan.length) goTo(state, 0); // from the start
      until = state.plan.length;
      playback.play();
    }
    draw();
  }

  // After the last look, what came of all of them is said.
  function advance() {
    if (state.step < until) goTo(state, state.step + 1);
    else {
      pause();
      state.isStep = false;
    }
    draw();
  }

  function go(where) {
    if (!state) return;
    forget();
    if (where === "play") {
      play();
      return;
    }
    pause();
    if (typeof where === "number") {
      if (state.scene.levels > 2 && !state.manual && where > 0) {
        state.budget[0] = Math.min(where, state.scene.most[0]);
        followNetwork(state);
      } else goTo(state, where);
    } else goTo(state, { first: 0, back: state.step - 1, forward: state.step + 1, last: state.plan.length }[where]);
    draw();
  }

  function steer(parent, index) {
    pause();
    say("");
    if (pending?.add) return; // a look is being taken
    // A click before the answer to the last one changes what was asked for.
    want(toggleLook(state.scene, pending?.plan ?? state.plan.slice(0, state.step), parent, index));
  }

  // Looks at these cells of the picture's grid and at no others; the looks, or null where that failed.
  async function takeCells(cells) {
    leave();
    say("");
    const { scene } = state;
    change(() => takePlan(state, []));
    for (const index of cells) {
      await want(toggleLook(scene, viewOf(state).looks, null, index));
      if (scene !== state.scene) return null;
    }
    const { looks } = viewOf(state);
    const isComplete =
      looks.length === cells.length && cells.every(index => looks.includes(lookAt(scene, null, index)));
    return isComplete ? looks : null;
  }

  // The look of a crop's button, or the last one.
  async function zoomInto(button) {
    if (!state) return;
    pause();
    draw();
    if (!zoom) {
      try {
        const { mountZoom } = await loadCode(import("./zoom.js"));
        zoom ??= mountZoom(stage, () => state && viewOf(state), host);
      } catch (problem) {
        say(problem.message);
        return;
      }
    }
    zoom.open(
      button.dataset.zoom === "newest" ? (viewOf(state).newest ?? -1) + 1 : Number(button.dataset.zoom),
      button,
    );
  }

  function mark(look) {
    for (const marked of stage.querySelectorAll(".tn-focus")) marked.classList.remove("tn-focus");
    if (look === null) return;
    for (const same of stage.querySelectorAll(`[data-look="${look}"]`)) same.classList.add("tn-focus");
  }

  const lookOf = target => target.closest?.("[data-look]")?.dataset.look ?? null;
  const cellOf = target => {
    const cell = target.closest?.("[data-cell]");
    if (!cell) return null;
    const parent = cell.closest("[data-parent]")?.dataset.parent ?? "";
    return { parent: parent === "" ? null : Number(parent), index: Number(cell.dataset.cell) };
  };

  function point(target) {
    if (!state) return;
    const cell = cellOf(target);
    previewCell(stage, state.scene, cell?.parent ?? null, cell?.index ?? null);
    const look = cell ? lookAt(state.scene, cell.parent, cell.index) : -1;
    mark(look >= 0 && state.plan.slice(0, state.step).includes(look) ? look : cell ? null : lookOf(target));
  }

  for (const kind of ["pointerover", "focusin"]) stage.addEventListener(kind, event => point(event.target));
  stage.addEventListener("pointerleave", () => point(stage));
  stage.addEventListener("focusout", () => point(stage));
  stage.addEventListener("click", event => {
    const button = event.target.closest("[data-go]");
    const closer = event.target.closest("[data-zoom]");
    const cell = cellOf(event.target);
    if (button) go(button.dataset.go);
    else if (closer) zoomInto(closer);
    else if (event.target.closest(".tn-steered button")) {
      leave();
      change(() => {
        followNetwork(state, state.scene.levels === 2 ? state.budget[0] : null);
      });
    } else if (cell && state) steer(cell.parent, cell.index);
    else if (event.target.closest(".tn-plot svg[role]")) {
      leave();
      change(() => goTo(state, stepAt(stage.querySelector(".tn-plot"), state, event.clientX)));
    }
  });
  stage.querySelector(".tn-scrub input").addEventListener("input", event => {
    leave();
    change(() => goTo(state, Number(event.target.value)));
  });
  stage.querySelector(".tn-spot input").addEventListener("change", event =>
    change(() => {
      state.tint = event.target.checked;
    }),
  );
  stage.querySelector(".tn-threshold select").addEventListener("change", event =>
    change(() => {
      state.threshold = event.target.value === "rule" ? "rule" : Number(event.target.value);
    }),
  );
  stage.querySelector("[data-measure]").addEventListener("change", event =>
    change(() => {
      state.measure = event.target.value;
    }),
  );
  for (const select of stage.querySelectorAll("[data-choose]")) {
    select.addEventListener("focus", () => {
      if (state) fillChoices(select, viewOf(state));
    });
    select.addEventListener("change", () =>
      change(() => {
        const { choose } = select.dataset;
        if (choose === "cls") state.cls = select.value === "" ? null : Number(select.value);
        else state.versus = /^[0-9]+$/.test(select.value) ? Number(select.value) : select.value;
      }),
    );
  }
  document.addEventListener("keydown", event => {
    if (!state || !stage.isConnected || stage.offsetParent === null || zoom?.isOpen()) return;
    if (stage.classList.contains("tn-game-on")) return;
    if (moveInGrid(event, state.scene.grid)) {
      event.preventDefault();
      return;
    }
    const move = readKey(event);
    if (move === null) return;
    event.preventDefault();
    if (move === "zoom") zoomInto(stage.querySelector('[data-zoom="newest"]'));
    else go(move);
  });
  new ResizeObserver(([plot]) => {
    const width = Math.round(plot.contentRect.width);
    if (!state || width === 0 || width === state.width) return;
    state.width = width;
    drawCurve(stage, viewOf(state));
    tellAddress(state); // the tab may just have been opened
  }).observe(stage.querySelector(".tn-plot"));
  mountExport(stage, () => state && viewOf(state), host);
  host.watch("value", receive);
  receive();
  return Object.assign(() => state && viewOf(state), { takeCells });
}
