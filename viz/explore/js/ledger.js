// The ledger: exact signed shares of one logit, or of the lead of one class over another, and what is left without each.

const FIRST_CHOICES = {
  cls: '<option value="">the predicted class</option>',
  versus: '<option value="">no other class</option><option value="second">the runner-up</option>',
};

function buildLedger(stage) {
  for (const select of stage.querySelectorAll("[data-choose]")) select.innerHTML = FIRST_CHOICES[select.dataset.choose];
}

// The lists show what is chosen, whoever chose it.
function drawChoices(stage, view) {
  stage.querySelector("[data-measure]").value = view.state.measure;
  for (const select of stage.querySelectorAll("[data-choose]")) {
    const chosen = String(view.state[select.dataset.choose] ?? "");
    if (select.value === chosen) continue;
    if (![...select.options].some(option => option.value === chosen)) select.add(new Option(view.scene.classes[chosen], chosen));
    select.value = chosen;
  }
}

// Filled when it is about to be opened: a browser lays out a list of a thousand names again whenever one changes.
function fillChoices(select, view) {
  const { classes } = view.scene, kept = select.value;
  const option = cls => `<option value="${cls}">${escaped(classes[cls])}</option>`;
  const sorted = [...classes.keys()].sort((a, b) => classes[a].localeCompare(classes[b]));
  select.innerHTML = FIRST_CHOICES[select.dataset.choose] +
    `<optgroup label="most probable">${view.order.map(option).join("")}</optgroup>` +
    `<optgroup label="all classes">${sorted.map(option).join("")}</optgroup>`;
  select.value = kept;
}

// A class's standing as the ledger writes it; a lead has a sign.
function writtenStanding(value, measure, versus) {
  if (measure === "logit") return versus === null ? fixed(value) : signedFixed(value);
  return versus === null ? percent(value) : `${signed(100 * value)} points`;
}

// Two standings that differ, with as many digits as that takes.
function writtenApart(one, other, measure, versus) {
  const short = [one, other].map(value => writtenStanding(value, measure, versus));
  if (short[0] !== short[1]) return short;
  const [scale, unit] = measure === "logit" ? [1, ""] : [100, versus === null ? " %" : " points"];
  for (let decimals = 2; decimals < 7; decimals++) {
    const longer = [one, other].map(value => (value < 0 ? MINUS : "") + Math.abs(scale * value).toFixed(decimals) + unit);
    if (longer[0] !== longer[1]) return longer;
  }
  return short;
}

const ROUNDING = 1e-6; // smaller shares and effects are none

// Rows whose share has another sign than what they changed, the greatest change first.
function contraryRows(shares, full, without, measure) {
  const effects = without.map(rest => rest === null ? 0 : full[measure] - rest[measure]);
  const differs = i => Math.min(Math.abs(shares.values[i]), Math.abs(effects[i])) > ROUNDING && shares.values[i] > 0 !== effects[i] > 0;
  return [...effects.keys()].filter(differs).sort((a, b) => Math.abs(effects[b]) - Math.abs(effects[a]));
}

// One sentence about the row where share and effect disagree most, and the names of the others.
function contrarySentence(view, rows, found, full, without) {
  const { scene, shares, cls, versus, state: { measure } } = view, [worst, ...others] = found, value = shares.values[worst];
  const [rest, all] = writtenApart(without[worst][measure], full[measure], measure, versus);
  const what = measure === "probability" ? scene.classes[cls] : `the logit of ${scene.classes[cls]}`;
  const subject = versus === null ? what : `the lead of ${scene.classes[cls]} over ${scene.classes[versus]}`;
  const name = calledRow(scene, rows[worst]), named = name === "context" ? "The context" : name[0].toUpperCase() + name.slice(1);
  const also = others.length ? ` Likewise, marked ≠: ${others.map(i => calledRow(scene, rows[i])).join(", ")}.` : "";
  return `${named} has a share of ${signed(value)}, yet it ${value > 0 ? "lowered" : "raised"} ${subject}: ${all} with it, ${rest} without it.${also}`;
}

function drawLedger(stage, view) {
  const { scene, looks, weights, shares, cls, versus } = view, { measure } = view.state, place = focusedPlace(stage);
  drawChoices(stage, view);
  const reach = Math.max(1e-6, ...shares.values.map(Math.abs));
  const rows = rowsOf(looks);
  const full = standingOf(view.logits, view.share, cls, versus), without = leaveOneOut(scene, looks, cls, versus);
  const found = contraryRows(shares, full, without, measure), contrary = new Set(found);
  stage.querySelector(".tn-ledger tbody").innerHTML = rows.map((row, i) => {
    const value = shares.values[i], width = (50 * Math.abs(value) / reach).toFixed(3);
    const side = value >= 0 ? "tn-for" : "tn-against";
    const pointer = row ? ` data-look="${row - 1}" tabindex="0"` : "";
    const newest = row && row - 1 === view.newest ? ' class="tn-newest"' : "";
    const rest = without[i], left = rest === null ? "" : `; without it ${versus === null ? "" : "leads by "}probability ${rest.probability.toFixed(5)}, logit ${rest.logit.toFixed(5)}`;
    const remains = rest === null ? '<td class="tn-without" title="Nothing would remain.">\u2013</td>' :
      `<td class="tn-without${contrary.has(i) ? " tn-contrary" : ""}" data-without="${rest[measure]}">${contrary.has(i) ? "≠ " : ""}${writtenStanding(rest[measure], measure, versus)}</td>`;
    return `<tr${pointer}${newest} title="share ${value.toFixed(5)}, weight ${weights[i].toFixed(5)}${left}"><th scope="row">${escaped(calledRow(scene, row))}</th>` +
      `<td><div class="tn-balance"><div class="${side}" style="width:${width}%"></div></div></td>` +
      `<td class="${side}" data-value="${value}">${signed(value)}</td>${remains}<td data-weight="${weights[i]}">${short(weights[i])}</td></tr>`;
  }).join("");
  refocus(stage, place);
  const written = addingUp(shares.bias, shares.total), bias = `${written.term < 0 ? MINUS : "+"} bias ${fixed(Math.abs(written.term))}`;
  const what = versus === null ? "logit" : "lead";
  stage.querySelector(".tn-ledger tfoot").innerHTML =
    `<tr><th scope="row">sum</th><td colspan="4" data-total="${shares.total}">${fixed(written.sum)} ${bias} = ${what} <b>${fixed(written.total)}</b></td></tr>`;
  const sentence = stage.querySelector(".tn-disagree");
  sentence.hidden = found.length === 0;
  sentence.textContent = found.length ? contrarySentence(view, rows, found, full, without) : "";
  const target = versus === null ? `the logit of ${scene.classes[cls]}` : `the lead of ${scene.classes[cls]} over ${scene.classes[versus]}, in logits`;
  const remaining = versus === null ? `the class's ${measure}` : `this lead in ${measure === "logit" ? "logits" : "probability"}`;
  const inner = scene.levels > 2 ? ", looks inside it included" : "";
  stage.querySelector(".tn-ledger .tn-caption").textContent =
    `Shares are exact and add up to ${target}. “Without it” is ${remaining} from all the others${inner}: they are weighed anew then, so a share is not what a look changed.`;
}
