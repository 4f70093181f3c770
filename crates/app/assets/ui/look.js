// What columns look like: distributions, missing values, how they go with the target and with each other. The report
// and the data page of the lab draw the same.
import { card, el, remark, svg } from "./dom.js";
import { text, whole } from "./format.js";
import { classColour } from "./theme.js";

/** @typedef {import("./types").LookColumn} LookColumn */
/** @typedef {import("./types").Look} Look */

/**
 * Bars of one or several classes on top of each other.
 * @param {number[][]} counts
 * @param {string} label
 * @param {number[]} places Of each class among all, which is its colour.
 */
export function bars(counts, label, places) {
  const [width, height] = [240, 56];
  const bins = counts[0].length;
  const sums = counts[0].map((_, bin) => counts.reduce((sum, list) => sum + list[bin], 0));
  const most = Math.max(1, ...sums);
  const step = width / bins;
  const rects = [];
  for (let bin = 0; bin < bins; bin++) {
    let top = height;
    for (let c = 0; c < counts.length; c++) {
      const tall = (counts[c][bin] / most) * (height - 2);
      if (!tall) continue;
      top -= tall;
      const look = { style: `fill: ${classColour(places[c] ?? c)}`, height: Math.max(tall, 0.8).toFixed(2) };
      const place = { x: (bin * step + 0.5).toFixed(2), y: top.toFixed(2), width: Math.max(step - 1, 0.6).toFixed(2) };
      rects.push(svg("rect", { ...place, ...look }));
    }
  }
  const look = { viewBox: `0 0 ${width} ${height}`, class: "bars", preserveAspectRatio: "none" };
  return svg("svg", { ...look, role: "img", "aria-label": label }, ...rects);
}

/**
 * Levels as rows with a bar.
 * @param {string[]} names
 * @param {number} others
 * @param {number[][]} counts
 * @param {number[]} places
 */
export function levelBars(names, others, counts, places) {
  const all = others ? [...names, others === 1 ? "1 other" : `${whole(others)} others`] : names;
  const sums = all.map((_, place) => counts.reduce((sum, list) => sum + list[place], 0));
  const most = Math.max(1, ...sums);
  /** @param {number[]} list @param {number} c @param {number} place */
  const bar = (list, c, place) => {
    const wide = `width: ${((100 * list[place]) / most).toFixed(1)}%`;
    return el("span", { style: `${wide}; background: ${classColour(places[c] ?? c)}` });
  };
  const lines = all.map((name, place) => el("li", {},
    el("span", { class: "name", title: name }, name),
    el("span", { class: "track" }, counts.map((list, c) => bar(list, c, place))),
    el("span", { class: "count" }, whole(sums[place]))));
  return el("ul", { class: "levels" }, lines);
}

/**
 * @param {string[]} classes
 * @param {number[]} places
 */
export function classLegend(classes, places) {
  const dot = (/** @type {number} */ c) => el("i", { style: `background: ${classColour(places[c] ?? c)}` });
  const names = classes.map((name, c) => el("span", {}, dot(c), name));
  return el("p", { class: "legend small", "aria-hidden": "true" }, names);
}

/**
 * The distribution of a column.
 * @param {LookColumn} column
 * @param {number[]} places
 */
export function picture(column, places) {
  const { picture: shape } = column;
  if (shape === "empty") return el("p", { class: "soft" }, "No value is known.");
  if ("histogram" in shape) {
    const { counts, low_text: low, high_text: high } = shape.histogram;
    return el("div", {},
      bars(counts, `distribution of ${column.name} from ${low} to ${high}`, places),
      el("div", { class: "ends" }, el("span", {}, low), low === high ? null : el("span", {}, high)));
  }
  if ("levels" in shape) return levelBars(shape.levels.names, shape.levels.others, shape.levels.counts, places);
  const examples = shape.text.examples.map((example) => el("li", { style: "display: block" }, `“${example}”`));
  return el("ul", { class: "levels" }, examples);
}

/** @param {LookColumn} column */
export const columnFacts = (column) => [
  column.missing ? `${missingShare(column)} missing` : null,
  column.distinct === null ? "very many values" : column.distinct === 1 ? "1 value" : `${whole(column.distinct)} values`,
  column.mean !== null && column.kind === "number" ? `mean ${text(column.mean)}` : null,
  column.mean !== null && column.kind === "boolean" ? `${(100 * column.mean).toFixed(0)} % true` : null,
  column.outliers ? `${whole(column.outliers)} far out` : null,
].filter(Boolean).join(" · ");

/** @param {{ missing: number, rows: number }} column */
export function missingShare({ missing, rows }) {
  const share = (100 * missing) / Math.max(rows, 1);
  return share > 0 && share < 0.05 ? "under 0.1 %" : `${share.toFixed(1)} %`;
}

/** @param {{ of: string, value: number }} association */
export function strengthBar({ of, value }) {
  const wide = `width: ${(100 * Math.min(1, Math.abs(value))).toFixed(0)}%`;
  return el("div", { class: "strength", title: `${of} with the target` }, el("span", {}, of),
    el("span", { class: "track", "aria-hidden": "true" }, el("i", { style: wide })), el("span", {}, text(value)));
}

/**
 * The correlation of each column of numbers with each, as a table.
 * @param {Look} look
 */
export function correlations({ correlations: { names, values } }) {
  if (names.length < 2) return null;
  const few = names.length <= 14;
  /** @param {number | null} value @param {number} i @param {number} j */
  const cell = (value, i, j) => {
    const shade = value === null || i === j ? "0" : (Math.abs(value) * 0.75).toFixed(2);
    const colour = value !== null && value < 0 ? "var(--shade-against)" : "var(--shade)";
    const title = `${names[i]} and ${names[j]}: ${value === null ? "not defined" : text(value)}`;
    const said = i === j || value === null || !few ? "" : value.toFixed(2);
    return el("td", { style: `background: rgba(${colour}, ${shade})`, title }, said);
  };
  const rows = names.map((name, i) => el("tr", {},
    el("th", { scope: "row", class: "row", title: name }, name), values[i].map((value, j) => cell(value, i, j))));
  const heads = names.map((name) => el("th", { scope: "col", title: name }, el("span", {}, name)));
  const head = el("thead", {}, el("tr", {}, el("td", {}), heads));
  const body = el("table", { class: "heat", style: "width: auto" }, head, el("tbody", {}, rows));
  return card("Correlations",
    el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "correlations" }, body),
    remark("Pearson’s, of pairs of columns of numbers; blue goes together, orange goes apart."));
}
