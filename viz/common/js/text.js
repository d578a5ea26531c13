// Numbers and names as the page writes them: the rules of viz/common/text.py.

const MINUS = "\u2212";
const MOST_DECIMALS = 4;

function escaped(text) {
  return String(text).replace(/[&<>"']/g, c => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" })[c]);
}

function short(value) {
  if (!Number.isFinite(value)) return "n/a";
  const size = Math.abs(value);
  if (size < 0.5 * 10 ** -MOST_DECIMALS) return "0";
  const decimals = Math.min(MOST_DECIMALS, Math.max(0, 1 - Math.floor(Math.log10(size))));
  let text = size.toFixed(decimals);
  if (decimals && text.replace(".", "").replace(/^0+/, "").length > 2) text = size.toFixed(decimals - 1); // 9.96 became 10.0
  return value < 0 ? MINUS + text : text;
}

function signed(value) {
  const text = short(value);
  return text === "0" || text === "n/a" || value < 0 ? text : "+" + text;
}

const percent = share => short(100 * share) + " %";
const times = factor => short(factor) + "×";

// Two decimals: for terms of a sum, which must add up as written.
function fixed(value) {
  const text = Math.abs(value).toFixed(2);
  return value < 0 && Number(text) ? MINUS + text : text;
}

const signedFixed = value => (value > 0 && Number(fixed(value)) ? "+" : "") + fixed(value);

// A sum, its last term and its total as written, so that the reader's arithmetic comes out: term and total are rounded,
// the sum is what lies between them and may differ from its own rounding by 0.01.
function addingUp(term, total) {
  const hundredths = value => Math.round(100 * Number(value.toFixed(2)));
  return { sum: (hundredths(total) - hundredths(term)) / 100, term: hundredths(term) / 100, total: hundredths(total) / 100 };
}

function gigaflops(flops) {
  return flops > 0 && flops < 1e8 ? short(flops / 1e6) + " MFLOPs" : short(flops / 1e9) + " GFLOPs";
}

function counted(count, one, many) {
  return count === 0 ? `no ${many}` : count === 1 ? `1 ${one}` : `${count} ${many}`;
}
