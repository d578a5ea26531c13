// The decision after the looks shown: probabilities on a fixed scale, and what the newest look changed.

function drawDecision(stage, view) {
  const { scene, share, order, before, logits } = view;
  const known = scene.label;
  const rows = known === null || order.includes(known) ? order : [...order.slice(0, 4), known];
  stage.querySelector(".tn-classes").innerHTML = rows.map(cls => {
    const gained = before ? 100 * (share[cls] - before[cls]) : 0;
    const change = Math.abs(gained) < 0.5 ? "" : `<i class="${gained > 0 ? "tn-up" : "tn-down"}" title="points gained by the newest look">${gained > 0 ? "▲ +" : "▼ " + MINUS}${Math.abs(gained).toFixed(0)}</i>`;
    const mark = cls === known ? '<em>true label</em>' : "";
    return `<li data-class="${cls}" class="${cls === order[0] ? "tn-first" : ""}" title="logit ${logits[cls].toFixed(5)}">` +
      `<span>${escaped(scene.classes[cls])}${mark}</span><b>${percent(share[cls])}</b><u>${change}</u>` +
      `<div class="tn-bar"><div style="width:${(100 * share[cls]).toFixed(3)}%"></div></div></li>`;
  }).join("");
  const from = view.looks.length ? `From the thumbnail and ${counted(view.looks.length, "look", "looks")}` : "From the thumbnail alone";
  const arrows = before ? "; arrows show what the newest look changed, in points" : "";
  stage.querySelector(".tn-decision .tn-head p").textContent =
    `${from}${arrows}. Probabilities are the network's own and may be too sure of themselves.`;
}
