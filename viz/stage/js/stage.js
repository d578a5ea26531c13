// Puts the panels together: one scene at a time, redrawn from its state after every change.

function mount(element, host) {
  const stage = element.querySelector(".tn-stage");
  let state = null, timer = null;
  let asked = null, sent = null; // looks wanted by hand that are not shown yet, and those the server is at

  function draw() {
    const view = viewOf(state);
    for (const panel of [drawPicture, drawCost, drawDecision, drawLedger, drawLooks, drawLevels, drawCurve, drawSteered]) panel(stage, view);
    drawTransport(stage, view, timer !== null);
    // For other tabs of the page: the looks chosen by hand, of this scene.
    stage.dataset.byHand = state.manual ? JSON.stringify({ scene: state.scene.scene, plan: view.looks }) : "";
  }

  function show(scene) {
    state = openState(scene, state);
    pause();
    for (const build of [buildPicture, buildLedger, buildLooks, buildLevels]) build(stage, scene);
    buildTransport(stage, scene, (level, looks) => { leave(); change(() => { state.budget[level] = looks; followNetwork(state); }); });
    stage.classList.toggle("tn-deeper", scene.levels > 2);
    stage.dataset.state = "shown";
    state.width = stage.querySelector(".tn-plot").clientWidth || state.width;
    draw();
  }

  function receive() {
    const text = host.value();
    if (!text) return;
    const answer = JSON.parse(text), current = asked === sent;
    // An answer to looks by hand about a picture that is not shown any more.
    if (!sent && (answer.kind !== "scene" || answer.plan)) return;
    sent = null;
    say("");
    if (answer.kind === "steer" && state) {
      learnWeights(state.scene, answer.weights);
      if (!current) { if (asked) want(asked); return; } // something else is wanted by now
      change(() => takePlan(state, answer.plan));
    } else if (answer.kind === "scene") show(openScene(answer));
    else if (answer.kind === "problem") say(answer.sentence);
    forget();
  }

  // Shows looks chosen by hand, or asks for what is missing to show them; one question at a time.
  function want(looks) {
    if (looks.add === null && everyStepKnown(state.scene, looks.plan)) {
      forget();
      change(() => takePlan(state, looks.plan));
      return;
    }
    asked = looks;
    stage.setAttribute("aria-busy", "true");
    if (sent) return;
    sent = asked;
    host.steer({ ...asked, scene: state.scene.scene });
  }

  function forget() {
    asked = null;
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

  function pause() {
    clearInterval(timer);
    timer = null;
  }

  // The page goes elsewhere: what was being played or asked for is not wanted any more.
  function leave() {
    pause();
    forget();
  }

  function play() {
    if (timer !== null) { pause(); draw(); return; }
    if (state.step >= state.plan.length) goTo(state, 0);
    timer = setInterval(() => {
      if (!stage.isConnected) { pause(); return; }
      goTo(state, state.step + 1);
      if (state.step >= state.plan.length) pause();
      draw();
    }, STEP_MS);
    draw();
  }

  function go(where) {
    if (!state) return;
    forget();
    if (where === "play") { play(); return; }
    pause();
    if (typeof where === "number") {
      if (state.scene.levels > 2 && !state.manual) { state.budget[0] = Math.min(where, state.scene.most[0]); followNetwork(state); }
      else goTo(state, where);
    } else goTo(state, { first: 0, back: state.step - 1, forward: state.step + 1, last: state.plan.length }[where]);
    draw();
  }

  function steer(parent, index) {
    pause();
    say("");
    if (asked?.add) return; // a look is being taken
    // A click before the answer to the last one changes what was asked for.
    want(toggled(state.scene, asked?.plan ?? state.plan.slice(0, state.step), parent, index));
  }

  function mark(look) {
    for (const element of stage.querySelectorAll(".tn-focus")) element.classList.remove("tn-focus");
    if (look !== null) for (const element of stage.querySelectorAll(`[data-look="${look}"]`)) element.classList.add("tn-focus");
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
    const shown = cell ? lookAt(state.scene, cell.parent, cell.index) : -1;
    mark(shown >= 0 && state.plan.slice(0, state.step).includes(shown) ? shown : cell ? null : lookOf(target));
  }

  for (const kind of ["pointerover", "focusin"]) stage.addEventListener(kind, event => point(event.target));
  stage.addEventListener("pointerleave", () => point(stage));
  stage.addEventListener("focusout", () => point(stage));
  stage.addEventListener("click", event => {
    const button = event.target.closest("[data-go]"), cell = cellOf(event.target);
    if (button) go(button.dataset.go);
    else if (event.target.closest(".tn-steered button")) { leave(); change(() => { followNetwork(state, state.scene.levels === 2 ? state.budget[0] : null); }); }
    else if (cell && state) steer(cell.parent, cell.index);
    else if (event.target.closest(".tn-plot svg[role]")) { leave(); change(() => goTo(state, stepAt(stage.querySelector(".tn-plot"), state, event.clientX))); }
  });
  stage.querySelector(".tn-scrub input").addEventListener("input", event => { leave(); change(() => goTo(state, Number(event.target.value))); });
  stage.querySelector(".tn-spot input").addEventListener("change", event => change(() => { state.tint = event.target.checked; }));
  stage.querySelector(".tn-threshold select").addEventListener("change", event => change(() => { state.threshold = Number(event.target.value); }));
  for (const select of stage.querySelectorAll("[data-choose]")) {
    select.addEventListener("focus", () => { if (state) fillChoices(select, viewOf(state)); });
    select.addEventListener("change", () => change(() => {
      state[select.dataset.choose] = select.value === "" ? null : select.value === "second" ? "second" : Number(select.value);
    }));
  }
  document.addEventListener("keydown", event => {
    if (!state || !stage.isConnected || stage.offsetParent === null) return;
    if (moveInGrid(event, state.scene.grid)) { event.preventDefault(); return; }
    const wanted = wish(event);
    if (wanted === null) return;
    event.preventDefault();
    go(wanted);
  });
  new ResizeObserver(([plot]) => {
    const width = Math.round(plot.contentRect.width);
    if (!state || width === 0 || width === state.width) return;
    state.width = width;
    drawCurve(stage, viewOf(state));
  }).observe(stage.querySelector(".tn-plot"));
  host.watch("value", receive);
  receive();
}
