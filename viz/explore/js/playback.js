// Stepping, playing, sliders and keys.

const STEP_MS = 700;

function buildTransport(stage, scene, onBudget) {
  const place = stage.querySelector(".tn-budgets");
  const names = level => ["Looks at the picture", "Looks inside each of them", "And inside each of those"][level] ?? `Inside those of level ${level + 1}`;
  place.hidden = scene.levels < 3;
  place.replaceChildren(...(scene.levels < 3 ? [] : scene.most).map((most, level) => {
    const label = document.createElement("label");
    label.innerHTML = `<span>${names(level)}</span><input type="range" min="0" max="${most}" step="1" data-level="${level}"><output></output>`;
    label.querySelector("input").addEventListener("input", event => onBudget(level, Number(event.target.value)));
    return label;
  }));
}

function drawTransport(stage, view, playing) {
  const { state, scene } = view, scrub = stage.querySelector(".tn-scrub");
  const input = scrub.querySelector("input");
  for (const part of stage.querySelectorAll(".tn-keys, .tn-scrub, .tn-spot")) part.hidden = scene.looks.length === 0;
  input.max = state.plan.length;
  input.value = state.step;
  input.disabled = state.plan.length === 0;
  input.style.setProperty("--at", state.plan.length ? `${100 * state.step / state.plan.length}%` : "0%");
  scrub.querySelector("output").textContent = `${state.step} / ${state.plan.length}`;
  scrub.querySelector("span").textContent = state.manual ? "Your looks" : scene.levels > 2 ? "Step" : "Looks that count";
  for (const label of stage.querySelectorAll(".tn-budgets label")) {
    const range = label.querySelector("input"), level = Number(range.dataset.level);
    range.value = state.budget[level];
    range.style.setProperty("--at", `${100 * state.budget[level] / scene.most[level]}%`);
    label.querySelector("output").textContent = `${state.budget[level]} / ${scene.most[level]}`;
  }
  const at = { first: state.step === 0, back: state.step === 0, forward: state.step === state.plan.length, last: state.step === state.plan.length };
  for (const [name, ended] of Object.entries(at)) stage.querySelector(`[data-go="${name}"]`).setAttribute("aria-disabled", ended);
  const play = stage.querySelector('[data-go="play"]');
  play.setAttribute("aria-label", playing ? "Pause" : "Play");
  play.classList.toggle("tn-playing", playing);
}

// What a key asks for, or null where it belongs to what has the focus.
function wish(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return null;
  const typing = event.target.closest?.("input, select, textarea, [contenteditable=true], [role=listbox], [role=option]");
  if (typing) return null;
  if (event.key === "ArrowLeft") return "back";
  if (event.key === "ArrowRight") return "forward";
  if (event.key.toLowerCase() === "z") return "zoom";
  if (event.key === " ") return event.target.closest?.("button, summary, a") ? null : "play";
  return /^[0-9]$/.test(event.key) ? Number(event.key) : null;
}
