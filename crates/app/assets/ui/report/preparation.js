import { card, el, remark, table } from "../dom.js";

/**
 * What was done to each column before the model saw it.
 * @param {import("../types").Report} report
 */
export function preparation({ preparation: steps }) {
  if (!steps.length) return null;
  const head = [{ name: "column" }, { name: "what the model sees" }, { name: "missing becomes" }];
  const rows = steps.slice(0, 200).map((step) =>
    el("tr", {}, el("td", {}, step.column), el("td", {}, step.what), el("td", {}, step.filled || "")));
  return card("Preparation", table(head, rows));
}

/**
 * What was taken for granted when the file was read.
 * @param {import("../types").Report} report
 */
export function assumed({ data }) {
  return data.assumed.length ? card("Taken for granted", data.assumed.map((line) => remark(line))) : null;
}
