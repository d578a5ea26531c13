// Numbers and names as the page writes them: the rules of viz/common/text.py.

export const MINUS = "\u2212";
const MAX_DECIMALS = 4;

export function escapeHtml(text) {
  return String(text).replace(
    /[&<>"']/g,
    c => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" })[c],
  );
}

// The browser's own way writes numbers from 1e21 on with an exponent.
function withDecimals(size, decimals) {
  if (size < 1e21) return size.toFixed(decimals);
  return BigInt(size) + (decimals ? "." + "0".repeat(decimals) : "");
}

export function short(value) {
  if (!Number.isFinite(value)) return "n/a";
  const size = Math.abs(value);
  if (size < 0.5 * 10 ** -MAX_DECIMALS) return "0";
  const decimals = Math.min(MAX_DECIMALS, Math.max(0, 1 - Math.floor(Math.log10(size))));
  let text = withDecimals(size, decimals);
  // 9.96 became 10.0
  if (decimals && text.replace(".", "").replace(/^0+/, "").length > 2) text = withDecimals(size, decimals - 1);
  return value < 0 ? MINUS + text : text;
}

export function formatSigned(value) {
  const text = short(value);
  return text === "0" || text === "n/a" || value < 0 ? text : "+" + text;
}

export const percent = share => short(100 * share) + "\u00a0%"; // stays on one line
export const times = factor => short(factor) + "×";

// Two decimals: for terms of a sum, which must add up as written.
export function formatFixed(value) {
  const text = withDecimals(Math.abs(value), 2);
  return value < 0 && Number(text) ? MINUS + text : text;
}

export const formatSignedFixed = value => (value > 0 && Number(formatFixed(value)) ? "+" : "") + formatFixed(value);

// A sum, its last term and its total as written, so that the reader's arithmetic comes out: term and total are rounded,
// the sum is what lies between them and may differ from its own rounding by 0.01.
export function roundSum(term, total) {
  const hundredths = value => Math.round(100 * Number(value.toFixed(2)));
  return {
    sum: (hundredths(total) - hundredths(term)) / 100,
    term: hundredths(term) / 100,
    total: hundredths(total) / 100,
  };
}

export function gigaflops(flops) {
  return flops > 0 && flops < 1e8 ? short(flops / 1e6) + " MFLOPs" : short(flops / 1e9) + " GFLOPs";
}

export function formatCount(count, one, many) {
  return count === 0 ? `no ${many}` : count === 1 ? `1 ${one}` : `${count} ${many}`;
}

export function ordinal(n) {
  const tail = n % 100 > 10 && n % 100 < 14 ? "th" : ({ 1: "st", 2: "nd", 3: "rd" }[n % 10] ?? "th");
  return n === 1 ? "first" : n + tail;
}
