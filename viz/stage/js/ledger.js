// The ledger: exact signed shares of one logit, or of the lead of one class over another.

const FIRST_CHOICES = {
  cls: '<option value="">the predicted class</option>',
  versus: '<option value="">no other class</option><option value="second">the runner-up</option>',
};

function buildLedger(stage) {
  for (const select of stage.querySelectorAll("[data-choose]")) select.innerHTML = FIRST_CHOICES[select.dataset.choose];
}

// The lists show what is chosen, whoever chose it.
function drawChoices(stage, view) {
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

function drawLedger(stage, view) {
  const { scene, looks, weights, shares, cls, versus } = view, place = focusedPlace(stage);
  drawChoices(stage, view);
  const reach = Math.max(1e-6, ...shares.values.map(Math.abs));
  const rows = [0, ...looks.map(look => look + 1)];
  stage.querySelector(".tn-ledger tbody").innerHTML = rows.map((row, i) => {
    const value = shares.values[i], width = (50 * Math.abs(value) / reach).toFixed(3);
    const side = value >= 0 ? "tn-for" : "tn-against";
    const pointer = row ? ` data-look="${row - 1}" tabindex="0"` : "";
    const newest = row && row - 1 === view.newest ? ' class="tn-newest"' : "";
    return `<tr${pointer}${newest} title="share ${value.toFixed(5)}, weight ${weights[i].toFixed(5)}"><th scope="row">${escaped(calledRow(scene, row))}</th>` +
      `<td><div class="tn-balance"><div class="${side}" style="width:${width}%"></div></div></td>` +
      `<td class="${side}" data-value="${value}">${signed(value)}</td><td data-weight="${weights[i]}">${short(weights[i])}</td></tr>`;
  }).join("");
  refocus(stage, place);
  const written = addingUp(shares.bias, shares.total), bias = `${written.term < 0 ? MINUS : "+"} bias ${fixed(Math.abs(written.term))}`;
  const what = versus === null ? "logit" : "lead";
  stage.querySelector(".tn-ledger tfoot").innerHTML =
    `<tr><th scope="row">sum</th><td colspan="3" data-total="${shares.total}">${fixed(written.sum)} ${bias} = ${what} <b>${fixed(written.total)}</b></td></tr>`;
  const target = versus === null ? `the logit of ${scene.classes[cls]}` : `the lead of ${scene.classes[cls]} over ${scene.classes[versus]}, in logits`;
  stage.querySelector(".tn-ledger .tn-caption").textContent =
    `Exact shares of ${target}; nothing is estimated. A weight is not a share: a heavy look can argue against the class.`;
}
