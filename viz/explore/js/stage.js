// Puts the panels together: one scene at a time, redrawn from its state after every change.


function mount(element, host) {
  const stage = element.querySelector(".tn-stage");
  let state = null, timer = null;
  let asked = null, sent = null; // looks wanted by hand that are not shown yet, and those the server is at
  let tickets = 0, patience = null; // questions so far, and the timer of the one the server is at
  const tellAddress = openAddress(stage), zoom = mountZoom(stage, () => state && viewOf(state), host);

  function draw() {
    const view = viewOf(state);
    for (const panel of [drawPicture, drawCost, drawDecision, drawLedger, drawLooks, drawLevels, drawCurve, drawSteered, drawLink, drawExport]) panel(stage, view);
    drawTransport(stage, view, timer !== null);
    // For other tabs of the page: the looks chosen by hand, of this scene.
    stage.dataset.byHand = state.manual && !state.scene.cut?.sampling ? JSON.stringify({ scene: state.scene.scene, plan: view.looks }) : "";
    tellAddress(state);
  }

  // Another scene, or the same picture with further looks.
  function show(scene, same = scene.scene === state?.scene.scene) {
    zoom.close();
    state = openState(scene, state, same);
    pause();
    build();
  }

  // The same picture with further looks that nobody waits for any more: what is shown stays.
  function learn(scene) {
    adopt(state, scene);
    build();
  }

  function build() {
    const { scene } = state, place = focusedPlace(stage);
    for (const build of [buildPicture, buildLedger, buildLooks, buildLevels]) build(stage, scene);
    buildCut(stage, scene, host);
    buildTransport(stage, scene, (level, looks) => { leave(); change(() => { state.budget[level] = looks; followNetwork(state); }); });
    stage.classList.toggle("tn-deeper", scene.levels > 2);
    stage.dataset.state = "shown";
    state.width = stage.querySelector(".tn-plot").clientWidth || state.width;
    draw();
    refocus(stage, place);
  }

  function receive() {
    const text = host.value();
    if (!text) return;
    const answer = JSON.parse(text);
    if (answer.answers) hear(answer);
    else if (answer.kind === "scene") {
      stopWaiting();
      forget();
      say("");
      show(openScene(answer), answer.again); // the same picture, looked at in another way
    } else if (answer.kind === "refused" && state) {
      buildCut(stage, state.scene, host); // as it was
      say(answer.sentence);
    }
  }

  // An answer to looks by hand. It may come when the picture is another one, or when they are not wanted any more.
  function hear(answer) {
    const expected = sent !== null && answer.answers.ticket === tickets, wanted = expected && asked === sent;
    if (!state || (!expected && answer.answers.scene !== state.scene.scene)) return;
    if (expected) stopWaiting();
    if (answer.kind === "scene") {
      const scene = openScene({ ...answer, link: state.scene.link });
      if (wanted) show(scene, true);
      else learn(scene);
    } else if (answer.kind === "steer") {
      learnWeights(state.scene, answer.weights);
      if (wanted) change(() => takePlan(state, answer.plan));
    } else if (wanted) say(answer.sentence);
    if (wanted) forget();
    else if (expected && asked) want(asked); // something else is wanted by now
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
    patience = setTimeout(giveUp, ANSWER_MS);
    host.steer({ ...asked, scene: state.scene.scene, ticket: ++tickets });
  }

  function stopWaiting() {
    clearTimeout(patience);
    sent = null;
  }

  function giveUp() {
    stopWaiting();
    forget();
    say("The server did not answer for a minute, so nothing was changed: try again, or reload the page.");
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

  // The look of a crop's button, or the last one.
  function zoomInto(button) {
    if (!state) return;
    pause();
    draw();
    zoom.open(button.dataset.zoom === "newest" ? (viewOf(state).newest ?? -1) + 1 : Number(button.dataset.zoom), button);
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
    const button = event.target.closest("[data-go]"), closer = event.target.closest("[data-zoom]"), cell = cellOf(event.target);
    if (button) go(button.dataset.go);
    else if (closer) zoomInto(closer);
    else if (event.target.closest(".tn-link button")) { if (state) copyLink(stage, state); }
    else if (event.target.closest(".tn-steered button")) { leave(); change(() => { followNetwork(state, state.scene.levels === 2 ? state.budget[0] : null); }); }
    else if (cell && state) steer(cell.parent, cell.index);
    else if (event.target.closest(".tn-plot svg[role]")) { leave(); change(() => goTo(state, stepAt(stage.querySelector(".tn-plot"), state, event.clientX))); }
  });
  stage.querySelector(".tn-scrub input").addEventListener("input", event => { leave(); change(() => goTo(state, Number(event.target.value))); });
  stage.querySelector(".tn-spot input").addEventListener("change", event => change(() => { state.tint = event.target.checked; }));
  stage.querySelector(".tn-threshold select").addEventListener("change", event => change(() => { state.threshold = Number(event.target.value); }));
  stage.querySelector("[data-measure]").addEventListener("change", event => change(() => { state.measure = event.target.value; }));
  for (const select of stage.querySelectorAll("[data-choose]")) {
    select.addEventListener("focus", () => { if (state) fillChoices(select, viewOf(state)); });
    select.addEventListener("change", () => change(() => {
      state[select.dataset.choose] = select.value === "" ? null : select.value === "second" ? "second" : Number(select.value);
    }));
  }
  document.addEventListener("keydown", event => {
    if (!state || !stage.isConnected || stage.offsetParent === null || zoom.isOpen()) return;
    if (moveInGrid(event, state.scene.grid)) { event.preventDefault(); return; }
    const wanted = wish(event);
    if (wanted === null) return;
    event.preventDefault();
    if (wanted === "zoom") zoomInto(stage.querySelector('[data-zoom="newest"]'));
    else go(wanted);
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
}
