import { el, remark, table } from "../dom.js";
import { text, whole } from "../format.js";

/**
 * A slider over the probability from which on the second class is called, with what each kind of error costs.
 * @param {import("../types").Report} report
 */
export function threshold({ insight, classes, costs }) {
  const all = insight.thresholds;
  if (!all || !all.length || classes.length !== 2) return null;
  const positive = classes[1];
  const [first, second] = costs.length ? costs : [1, 1];
  const slider = /** @type {HTMLInputElement} */ (el("input", {
    type: "range", min: 0, max: all.length - 1, value: Math.round(((all.length - 1) * first) / (first + second)), id: "threshold", class: "slide",
  }));
  /** @param {string} id @param {number} value */
  const cost = (id, value) =>
    /** @type {HTMLInputElement} */ (el("input", { type: "number", min: 0, step: "any", value, id }));
  const [alarm, miss] = [cost("cost-alarm", first), cost("cost-miss", second)];
  const shown = el("div", { "aria-live": "polite" });
  const price = (/** @type {typeof all[0]} */ at) => at.alarms * Number(alarm.value) + at.misses * Number(miss.value);
  const show = () => {
    const at = all[Number(slider.value)];
    const { hits, misses, alarms, rest } = at;
    const total = hits + misses + alarms + rest;
    const ratio = (/** @type {number} */ a, /** @type {number} */ b) => (b > 0 ? text(a / b) : "–");
    const row = (/** @type {string} */ name, /** @type {number[]} */ cells) =>
      el("tr", {}, el("th", { scope: "row", class: "row" }, name), cells.map((cell, j) =>
        el("td", { style: `background: rgba(var(--shade), ${(0.08 + (0.5 * cell) / total).toFixed(3)})`,
          class: (name === positive) === (j === 1) ? "hit" : "" }, whole(cell))));
    const counts = table([{ name: "true \\ predicted" }, ...classes.map((name) => ({ name }))],
      [row(classes[0], [rest, alarms]), row(positive, [misses, hits])], "matrix");
    const best = all.reduce((a, b) => (price(b) < price(a) ? b : a));
    const numbers = [
      ["precision", ratio(hits, hits + alarms)], ["recall", ratio(hits, hits + misses)],
      ["accuracy", ratio(hits + rest, total)], ["cost", text(price(at))],
      ["cheapest threshold", `${text(best.at)} (cost ${text(price(best))})`],
    ];
    const facts = numbers.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)));
    shown.replaceChildren(
      el("p", {}, `${positive} is predicted from a probability of `, el("strong", {}, at.at.toFixed(2)), " on."),
      counts, el("dl", { class: "facts" }, facts));
  };
  for (const input of [slider, alarm, miss]) input.addEventListener("input", show);
  show();
  return el("div", { class: "card" },
    el("label", { for: "threshold" }, `Threshold for ${positive}`), slider,
    el("div", { class: "inline" },
      el("label", { for: "cost-alarm" }, "cost of a false alarm ", alarm),
      el("label", { for: "cost-miss" }, "cost of a miss ", miss)),
    shown, remark("Counted on the test rows."));
}
