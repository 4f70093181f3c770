import { el } from "../dom.js";
import { text, whole, words } from "../format.js";

/**
 * The score of one metric, or null.
 * @param {import("../types").Scores | null} scores
 * @param {string | null} name
 */
export const scoreOf = (scores, name) => {
  const found = (scores || []).find((pair) => pair[0] === name);
  return found ? found[1] : null;
};

/**
 * Title and theme button.
 * @param {import("../types").Report} report
 * @param {HTMLElement} toggle
 */
export function head(report, toggle) {
  const file = report.data.path.split(/[\\/]/).pop();
  const title = report.target ? `${report.target} from ${file}` : String(file);
  document.title = `${title} – Ermine`;
  const classes = report.classes.length ? ` into ${report.classes.length} classes` : "";
  return el("header", {},
    el("div", {}, el("h1", {}, title),
      el("div", { class: "soft" }, `${report.model}, ${report.task}${classes}`),
      report.choice ? el("div", { class: "soft small" }, report.choice) : null),
    toggle);
}

/**
 * The few numbers to see first.
 * @param {import("../types").Report} report
 */
export function tiles(report) {
  /** @param {string} value @param {string} label */
  const tile = (value, label) =>
    el("div", { class: "card tile" }, el("div", { class: "value" }, value), el("div", { class: "label" }, label));
  const metric = report.main_metric;
  const [test, baseline] = [scoreOf(report.test, metric), scoreOf(report.baseline, metric)];
  const shown = [];
  if (metric && test !== null) {
    const interval = report.intervals.find((found) => found.metric === metric);
    const range = interval ? `, 95 % interval ${text(interval.low)} to ${text(interval.high)}` : "";
    shown.push(tile(text(test), `${words(metric)} on ${whole(report.data.test_rows)} test rows${range}`));
  }
  if (baseline !== null) shown.push(tile(text(baseline), "baseline, which ignores the columns"));
  shown.push(tile(whole(report.data.rows_used), `rows, ${report.data.features} features`));
  const steps = ["read", report.comparison ? "compare" : null, "fit", report.test ? "test" : null].filter(Boolean);
  const work = `to ${steps.slice(0, -1).join(", ")} and ${steps[steps.length - 1]}`;
  shown.push(tile(`${report.seconds.toFixed(1)} s`, work));
  return el("div", { class: "tiles" }, shown);
}
