// The ledger of differences: the share of every look in A, in B, and how that moves the logit.

function fillClasses(select, view) {
  const { pair } = view, kept = select.value;
  const order = [...pair.common.keys()];
  const name = at => pair.a.classes[pair.common[at][0]];
  const option = at => `<option value="${at}">${escaped(name(at))}</option>`;
  const top = order.filter(at => view.a.order.includes(pair.common[at][0]) || view.b.order.includes(pair.common[at][1]));
  select.innerHTML = FIRST_CLASSES + `<optgroup label="most probable">${top.map(option).join("")}</optgroup>` +
    `<optgroup label="all classes in common">${order.sort((x, y) => name(x).localeCompare(name(y))).map(option).join("")}</optgroup>`;
  select.value = kept;
}

const FIRST_CLASSES = '<option value="a">the class A predicts</option><option value="b">the class B predicts</option>';

function drawDifference(root, view) {
  const panel = root.querySelector(".compare-difference"), says = view.pair.sentences, none = panel.querySelector(".compare-none");
  none.hidden = view.comparable;
  none.textContent = says.classes;
  panel.querySelector(".compare-table").hidden = !view.comparable;
  if (!view.comparable) return;
  const { rows, bias, logits } = ledgerOf(view), { a, b } = view;
  const reach = Math.max(1e-6, ...rows.map(row => Math.abs(row.difference)));
  const called = row => {
    if (row.key === null) return "context";
    const names = [row.a && `A ${a.scene.looks[row.a.look].name}`, row.b && `B ${b.scene.looks[row.b.look].name}`];
    return names.filter(Boolean).join(", ");
  };
  const cell = (side, entry) => entry ? `<td data-${side}="${entry.value}">${signed(entry.value)}</td>` : "<td>–</td>";
  panel.querySelector("tbody").innerHTML = rows.map(row => {
    const way = row.difference >= 0 ? "tn-for" : "tn-against", width = (50 * Math.abs(row.difference) / reach).toFixed(3);
    const pointer = row.key === null ? "" : ` tabindex="0"${row.a ? ` data-look-a="${row.a.look}"` : ""}${row.b ? ` data-look-b="${row.b.look}"` : ""}`;
    return `<tr${pointer} title="difference ${row.difference.toFixed(5)}"><th scope="row">${escaped(called(row))}</th>${cell("a", row.a)}${cell("b", row.b)}` +
      `<td><div class="tn-balance"><div class="${way}" style="width:${width}%"></div></div></td><td class="${signed(row.difference) === "0" ? "" : way}" data-difference="${row.difference}">${signed(row.difference)}</td></tr>`;
  }).join("");
  const line = (name, [left, right], mark) =>
    `<tr><th scope="row">${name}</th><td>${fixed(left)}</td><td>${fixed(right)}</td><td></td><td ${mark}="${right - left}"><b>${right - left > 0.005 ? "+" : ""}${fixed(right - left)}</b></td></tr>`;
  panel.querySelector("tfoot").innerHTML = line("bias", bias, "data-bias") + line("= logit", logits, "data-total");
  panel.querySelector(".tn-caption").textContent = `${a.scene.classes[view.cls.a]}: ${says.ledger}`;
}

// Hover or focus on a row or a box marks the looks it means on both sides.
function markLooks(root, target) {
  for (const element of root.querySelectorAll(".tn-focus")) element.classList.remove("tn-focus");
  const row = target?.closest?.(".compare-difference tbody tr");
  if (!row) return;
  row.classList.add("tn-focus");
  for (const side of SIDES) {
    const look = row.getAttribute(`data-look-${side}`);
    if (look !== null) root.querySelector(`.compare-column[data-side="${side}"] .tn-box[data-look="${look}"]`)?.classList.add("tn-focus");
  }
}
