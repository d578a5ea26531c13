// A small drawing of shares (0…100 %) over the number of looks.

const CHART = { height: 150, left: 44, right: 12, top: 10, bottom: 26 };

// lines: [{ name, values, from, kind }], values for from, from + 1, …; the vertical line is where the page stands.
function shareChart(lines, last, at, width, label) {
  const { height, left, right, top, bottom } = CHART, wide = Math.max(140, width);
  const x = k => left + (last ? k / last : 0.5) * (wide - left - right), y = share => height - bottom - share * (height - top - bottom);
  const rules = [0, 0.5, 1].map(v => `<line class="tn-rule" x1="${left}" x2="${wide - right}" y1="${y(v)}" y2="${y(v)}"/><text x="${left - 6}" y="${y(v) + 4}" text-anchor="end">${100 * v} %</text>`).join("");
  const every = Math.ceil((last + 1) / Math.max(2, Math.floor((wide - left - right) / 34)));
  const ticks = Array.from({ length: last + 1 }, (_, k) => k % every ? "" : `<text x="${x(k)}" y="${height - 8}" text-anchor="middle">${k}</text>`).join("");
  const drawn = lines.map(({ name, values, from, kind }) => {
    const points = values.map((value, i) => `${x(i + from).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
    const here = values[Math.min(at, values.length - 1 + from) - from];
    const dot = here === undefined || kind === "compare-chance" ? "" : `<circle class="${kind}" cx="${x(Math.min(at, values.length - 1 + from))}" cy="${y(here)}" r="4"/>`;
    return `<polyline class="${kind}" data-line="${name}" data-values="${values.join(" ")}" points="${points}"/>${dot}`;
  }).join("");
  return `<svg viewBox="0 0 ${wide} ${height}" width="${wide}" height="${height}" role="img" aria-label="${escaped(label)}">` +
    `${rules}${ticks}<line class="tn-here" x1="${x(at)}" x2="${x(at)}" y1="${top}" y2="${height - bottom}"/>${drawn}</svg>`;
}

const swatch = kind => `<svg width="26" height="8" aria-hidden="true"><line class="${kind}" x1="0" x2="26" y1="4" y2="4"/></svg>`;
