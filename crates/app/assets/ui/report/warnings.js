import { el } from "../dom.js";

/** @param {import("../types").Report} report */
export function warnings(report) {
  const dropped = report.data.dropped.map((drop) => `column '${drop.column}' was left out: ${drop.reason}`);
  const all = report.notes.concat(dropped);
  if (!all.length) return null;
  return el("div", { class: "card worries" }, el("ul", {}, all.map((note) => el("li", {}, note))));
}
