import { card, el, remark, table } from "../dom.js";
import { text, whole } from "../format.js";

const SHOWN = 200;

/**
 * Every column of the file with what is known of it.
 * @param {import("../types").Report} report
 */
export function columns({ data, target }) {
  const left = new Set(data.dropped.map((drop) => drop.column));
  /** @param {string} name */
  const tag = (name) => el("span", { class: "tag" }, name);
  /** @param {string} name */
  const tags = (name) => [name === target ? tag("target") : null, left.has(name) ? tag("left out") : null];
  const rows = data.columns.slice(0, SHOWN).map((column) => {
    const number = column.kind === "number";
    const missing = `${whole(column.missing)} (${((100 * column.missing) / column.rows).toFixed(1)} %)`;
    return el("tr", {},
      el("td", {}, column.name, tags(column.name)),
      el("td", {}, column.kind), el("td", { class: "n" }, column.missing ? missing : ""),
      el("td", { class: "n" }, column.distinct === null ? "many" : whole(column.distinct)),
      el("td", { class: "n wide" }, number ? text(column.min) : ""),
      el("td", { class: "n wide" }, number || column.kind === "boolean" ? text(column.mean) : ""),
      el("td", { class: "n wide" }, number ? text(column.max) : ""));
  });
  const head = [
    { name: "column" }, { name: "kind" }, { name: "missing", n: true }, { name: "distinct", n: true },
    { name: "min", n: true, wide: true }, { name: "mean", n: true, wide: true }, { name: "max", n: true, wide: true },
  ];
  const more = data.columns.length - SHOWN;
  return el("div", { class: "card" },
    el("p", {}, `${whole(data.rows)} rows, ${data.columns.length} columns; ${whole(data.train_rows)} training rows, `
      + `${whole(data.test_rows)} test rows; ${whole(data.prepared)} columns after preparation.`),
    table(head, rows), more > 0 ? remark(`and ${whole(more)} more columns`) : null,
    data.assumed.map((line) => remark(line)));
}

/** @param {import("../types").Report} report */
export function preparation(report) {
  if (!report.preparation.length) return null;
  const rows = report.preparation.slice(0, SHOWN).map((step) =>
    el("tr", {}, el("td", {}, step.column), el("td", {}, step.what), el("td", {}, step.filled)));
  const head = [{ name: "column" }, { name: "what the model sees" }, { name: "missing becomes" }];
  return card("Preparation", table(head, rows));
}
