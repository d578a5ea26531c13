// Probability of the leading classes after every look, as a small drawing.

const CURVE = { height: 210, left: 44, right: 14, top: 12, bottom: 30 };
const STROKES = ["", "7 4", "2 3", "10 3 2 3", "1 5"];

// The classes that lead at the end, at the start and where the page stands; a handful, the true one always among them.
function drawnClasses(view) {
  const course = courseOf(view.state), wanted = [...view.order.slice(0, 2)];
  for (const step of [course[course.length - 1], course[0]]) wanted.push(...step.top);
  const drawn = [...new Set(wanted)].slice(0, STROKES.length), { label } = view.scene;
  return label === null || drawn.includes(label) ? drawn : [...drawn.slice(0, STROKES.length - 1), label];
}

function drawCurve(stage, view) {
  const plot = stage.querySelector(".tn-plot"), { state, scene } = view;
  const course = courseOf(state), last = course.length - 1, stop = stopAt(state);
  const width = Math.max(280, state.width), { height, left, right, top, bottom } = CURVE;
  const x = k => left + (last ? k / last : 0.5) * (width - left - right), y = share => height - bottom - share * (height - top - bottom);
  const classes = drawnClasses(view);
  const rules = [0, 0.5, 1].map(v => `<line class="tn-rule" x1="${left}" x2="${width - right}" y1="${y(v)}" y2="${y(v)}"/><text x="${left - 6}" y="${y(v) + 4}" text-anchor="end">${100 * v} %</text>`).join("");
  const every = Math.ceil((last + 1) / Math.max(2, Math.floor((width - left - right) / 34)));
  const ticks = course.map((_, k) => k % every ? "" : `<text x="${x(k)}" y="${height - 10}" text-anchor="middle">${k}</text>`).join("");
  const lines = classes.map((cls, i) => {
    const points = course.map((step, k) => `${x(k).toFixed(1)},${y(step.share[cls]).toFixed(1)}`).join(" ");
    return `<polyline class="${i ? "" : "tn-lead"}" data-class="${cls}" points="${points}" stroke-dasharray="${STROKES[i]}"/>` +
      `<circle class="${i ? "" : "tn-lead"}" cx="${x(state.step)}" cy="${y(course[state.step].share[cls])}" r="4"/>`;
  }).join("");
  const stopping = stop === null ? "" : `<line class="tn-stop" x1="${x(stop)}" x2="${x(stop)}" y1="${top}" y2="${height - bottom}"/>`;
  plot.innerHTML = `<svg viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="Probability of the leading classes after each look">` +
    `${rules}${ticks}${stopping}<line class="tn-here" x1="${x(state.step)}" x2="${x(state.step)}" y1="${top}" y2="${height - bottom}"/>${lines}</svg>` +
    `<ul class="tn-key">${classes.map((cls, i) => `<li><svg width="26" height="8" aria-hidden="true"><line class="${i ? "" : "tn-lead"}" x1="0" x2="26" y1="4" y2="4" stroke-dasharray="${STROKES[i]}"/></svg>${escaped(scene.classes[cls])} <b>${percent(view.share[cls])}</b></li>`).join("")}` +
    `<li><svg width="26" height="8" aria-hidden="true"><line class="tn-stop" x1="0" x2="26" y1="4" y2="4"/></svg>would stop here</li></ul>`;
  plot.dataset.stop = stop ?? "";
  const points = Math.round(100 * state.threshold);
  const where = last === 0 ? "" : stop === null ? `The lead never exceeds ${points} points: all looks would be taken.`
    : `With that rule the network would stop ${stop ? `after ${counted(stop, "look", "looks")}` : "at the thumbnail"}.`;
  stage.querySelector(".tn-threshold").hidden = last === 0;
  stage.querySelector(".tn-course .tn-head p").textContent = last === 0 ? "Probability of the leading classes from the thumbnail alone: no look is taken, so there is no course to follow."
    : `Probability of the leading classes after each look, thumbnail first; the vertical line is where the page stands. ${where} More looks do not always help.`;
}

// Which step a place on the drawing means.
function stepAt(plot, state, clientX) {
  const { left, width } = plot.querySelector("svg").getBoundingClientRect();
  const share = (clientX - left - CURVE.left) / (width - CURVE.left - CURVE.right);
  return Math.round(Math.min(1, Math.max(0, share)) * state.plan.length);
}
