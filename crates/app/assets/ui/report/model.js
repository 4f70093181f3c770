import { chart, legend, tooltip } from "../chart.js";
import { card, el, remark } from "../dom.js";
import { names } from "./importance.js";

/**
 * What was fitted, and how far it can be from its optimum.
 * @param {import("../types").Report} report
 */
export function fit(report) {
  const given = Object.entries(report.params).map(([name, value]) => `${name}=${value}`).join(", ");
  const model = given ? `${report.model}(${given})` : `${report.model} with its default parameters`;
  const { notes } = report.log;
  return card("Fit", el("p", {}, model), remark(report.certificate), notes.length ? remark(notes.join("; ")) : null);
}

/** @param {import("../types").Report} report */
export function objective({ log }) {
  if (log.objective.length < 3) return null;
  const data = log.objective.map((value, i) => [i + 1, value]);
  return chart("Objective after each pass", null, (axis) => ({
    legend: { show: false }, tooltip: tooltip("axis"),
    xAxis: axis({ type: "value", name: "pass", nameGap: 24, minInterval: 1 }),
    yAxis: axis({ type: "value", scale: true }),
    series: [{ type: "line", name: "objective", data, showSymbol: data.length < 40, symbolSize: 4 }],
  }), { low: true });
}

/** @param {import("../types").Report} report */
export function coefficients({ drivers, classes }) {
  if (!drivers.length) return null;
  const top = drivers.slice(0, 20).reverse();
  const shown = top[0].weights.slice(0, 6);
  const many = top[0].weights.length > 1;
  const note = "Of standardised columns, for models that need scaling.";
  return chart("Coefficients, the largest first", note, (axis) => ({
    legend: many ? legend() : { show: false },
    grid: { left: 8, right: 24, top: many ? 30 : 8, bottom: 8, containLabel: true },
    tooltip: tooltip("axis", null, { axisPointer: { type: "shadow" } }),
    xAxis: axis({ type: "value" }), yAxis: axis(names(top.map((driver) => driver.name))),
    series: shown.map((_, c) => ({
      type: "bar", name: many ? classes[c] || String(c) : "coefficient", barMaxWidth: 14,
      data: top.map((driver) => driver.weights[c]),
    })),
  }), { height: Math.max(160, 40 + (many ? 12 * shown.length + 14 : 24) * top.length) });
}

/**
 * The picture is drawn by the program, which escapes every name in it.
 * @param {import("../types").Report} report
 */
export function tree({ insight }) {
  if (!insight.tree) return null;
  const holder = el("div", { class: "tree scroll" });
  holder.innerHTML = insight.tree;
  return card("The tree, top levels", holder);
}
