import { chart, legend, tooltip } from "../chart.js";
import { card, el, remark, table } from "../dom.js";
import { text } from "../format.js";
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
    xAxis: axis({ type: "value", name: "pass", nameGap: 24, minInterval: 1, min: 1 }),
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
  const scaled = top[0].standardised.length > 0;
  const note = scaled ? "For a change of one standard deviation, so that columns can be compared." : "In the units of the file.";
  return chart("Coefficients, the largest first", note, (axis) => ({
    legend: many ? legend() : { show: false },
    grid: { left: 8, right: 24, top: many ? 30 : 8, bottom: 8, containLabel: true },
    tooltip: tooltip("axis", null, { axisPointer: { type: "shadow" } }),
    xAxis: axis({ type: "value" }), yAxis: axis(names(top.map((driver) => driver.name))),
    series: shown.map((_, c) => ({
      type: "bar", name: many ? classes[c] || String(c) : "coefficient", barMaxWidth: 14,
      data: top.map((driver) => (scaled ? driver.standardised : driver.weights)[c]),
    })),
  }), { height: Math.max(160, 40 + (many ? 12 * shown.length + 14 : 24) * top.length) });
}

/** @param {import("../types").Report} report */
export function coefficientTable({ drivers, intercept, classes }) {
  if (!drivers.length) return null;
  const shown = drivers[0].weights.slice(0, 6);
  const heads = shown.length > 1 ? shown.map((_, c) => classes[c] || String(c)) : ["coefficient"];
  const row = (/** @type {string} */ name, /** @type {number[]} */ values) =>
    el("tr", {}, el("td", {}, name), values.slice(0, 6).map((value) => el("td", { class: "n" }, text(value))));
  const rows = drivers.slice(0, 50).map((driver) => row(driver.name, driver.weights));
  if (intercept.length) rows.unshift(row("(intercept)", intercept));
  const columns = [{ name: "column" }, ...heads.map((name) => ({ name, n: true }))];
  return card("Coefficients in the units of the file", table(columns, rows));
}

/** @param {import("../types").Report} report */
export function components(report) {
  if (!report.components.length) return null;
  const rows = report.components.slice(0, 30).map((part, i) => el("tr", {},
    el("td", {}, String(i + 1)), el("td", { class: "n" }, text(part.variance)),
    el("td", { class: "n" }, `${(100 * part.share).toFixed(1)} %`),
    el("td", {}, part.loadings.slice(0, 5).map(([name, weight]) => `${text(weight)} ${name}`).join(", "))));
  const columns = [
    { name: "component" }, { name: "variance", n: true }, { name: "share", n: true }, { name: "made of" },
  ];
  return el("div", { class: "card" }, table(columns, rows));
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
