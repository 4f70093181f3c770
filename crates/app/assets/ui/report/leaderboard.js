import { el, remark, svg, table } from "../dom.js";
import { text, whole, words } from "../format.js";

/**
 * Every model with its score as a point on a common scale.
 * @param {import("../types").Report} report
 */
export function leaderboard(report) {
  const comparison = report.comparison;
  if (!comparison) return null;
  const scored = comparison.standings.filter((standing) => standing.mean !== null);
  const span = scale(scored);
  const most = Math.max(...scored.map((standing) => standing.scores.length));
  const rows = scored.map((standing, place) => {
    const tags = [
      standing.tuned ? "tuned" : null,
      place > 0 && standing.as_good ? "tied" : null,
      standing.scores.length < most ? `${standing.scores.length} folds` : null,
      standing.rows < comparison.rows ? `on ${whole(standing.rows)} rows` : null,
    ].filter(Boolean);
    return el("tr", { class: place === 0 ? "first" : "" },
      el("td", {}, standing.model, tags.map((tag) => el("span", { class: "tag" }, tag))),
      el("td", { class: "n" }, text(standing.mean)), el("td", { class: "n" }, `± ${text(standing.margin)}`),
      el("td", { class: "wide" }, span(standing, place === 0)),
      el("td", { class: "n wide" }, standing.seconds.toFixed(2)),
      el("td", { class: "params wide" }, parameters(standing)));
  });
  const columns = [
    { name: "model" }, { name: words(comparison.metric), n: true }, { name: "95 %", n: true }, { name: "", wide: true },
    { name: "seconds", n: true, wide: true }, { name: "parameters changed", wide: true },
  ];
  const failed = comparison.standings.filter((standing) => standing.mean === null)
    .map((standing) => `${standing.model}: ${standing.note || "no score"}`);
  const searched = comparison.searched
    ? `${comparison.searched} of the candidates come from a parameter search, whose best score is slightly optimistic; `
      + "the test score is not. "
    : "";
  const times = comparison.repeats > 1 ? `${comparison.repeats} × ` : "";
  return el("div", { class: "card" }, table(columns, rows),
    remark(`${times}${comparison.folds}-fold cross-validation on ${whole(comparison.rows)} rows; the preparation is `
      + `learned inside each fold. ${searched}“Tied” means that the difference on the same folds is within its error.`),
    failed.length ? remark(`Without a score: ${failed.join("; ")}`) : null,
    comparison.left_out.length
      ? el("details", { class: "soft small" }, el("summary", {}, `${comparison.left_out.length} models were not tried`),
        el("ul", {}, comparison.left_out.map(([name, why]) => el("li", {}, `${name}: ${why}`))))
      : null);
}

/** @param {import("../types").Standing} standing */
function parameters(standing) {
  const shown = (/** @type {string} */ value) => (/^-?\d*\.\d+(e-?\d+)?$/.test(value) ? text(Number(value)) : value);
  return Object.entries(standing.params).map(([name, value]) => `${name}=${shown(value)}`).join(", ");
}

/**
 * A model far off would squeeze the others: the scale follows the better half.
 * @param {import("../types").Standing[]} scored
 */
function scale(scored) {
  const mean = (/** @type {import("../types").Standing} */ s) => s.mean || 0;
  const margin = (/** @type {import("../types").Standing} */ s) => s.margin || 0;
  const inner = scored.slice(0, Math.max(3, Math.ceil(scored.length * 0.6)));
  let low = Math.min(...inner.map((s) => mean(s) - margin(s)));
  let high = Math.max(...inner.map((s) => mean(s) + margin(s)));
  if (!(high > low)) { low -= 0.5; high += 0.5; }
  const x = (/** @type {number} */ value) => 4 + 182 * Math.min(1, Math.max(0, (value - low) / (high - low)));
  return (/** @type {import("../types").Standing} */ s, /** @type {boolean} */ first) => {
    const [from, to] = [mean(s) - margin(s), mean(s) + margin(s)];
    const place = { class: "span", viewBox: "0 0 190 22", "aria-hidden": "true" };
    if (to < low || from > high) {
      const look = { x: to < low ? 0 : 176, y: 15, style: "fill: var(--soft)", "font-size": 11 };
      return svg("svg", place, svg("text", look, to < low ? "‹" : "›"));
    }
    const colour = first ? "var(--good)" : "var(--c1)";
    const look = { style: `stroke: ${colour}`, "stroke-width": 2, opacity: 0.55 };
    const bar = svg("line", { x1: x(from), x2: x(to), y1: 11, y2: 11, ...look });
    return svg("svg", place, bar, svg("circle", { cx: x(mean(s)), cy: 11, r: 4.5, style: `fill: ${colour}` }));
  };
}
