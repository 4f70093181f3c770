import { el, remark, table } from "../dom.js";
import { dateText, text, whole } from "../format.js";
import { classLegend, columnFacts, correlations, missingShare, picture, strengthBar } from "../look.js";

const SHOWN = 200;
const MISSING = 20;

/** @typedef {import("../types").Report} Report */

/** @param {string} name */
const tag = (name) => el("span", { class: "tag" }, name);

/**
 * How many rows, columns and what for; what is missing.
 * @param {Report} report
 */
export function extent({ data, insight }) {
  const { look } = insight;
  const tested = data.test_rows
    ? `; ${whole(data.train_rows)} training rows, ${whole(data.test_rows)} test rows`
    : "";
  const more = look && look.sampled < look.rows ? ` Distributions are of ${whole(look.sampled)} rows.` : "";
  const gaps = data.columns.filter((column) => column.missing).sort((a, b) => b.missing / b.rows - a.missing / a.rows);
  const said = el("p", {}, `${whole(data.rows)} rows, ${data.columns.length} columns${tested}; ${whole(data.prepared)} `
    + `columns after preparation.${more}`);
  const assumed = data.assumed.map((line) => remark(line));
  if (!gaps.length) return el("div", { class: "card" }, said, remark("No value is missing."), assumed);
  const shares = gaps.slice(0, MISSING).map((column) => el("li", {},
    el("span", { class: "name", title: column.name }, column.name),
    el("span", { class: "track" }, el("span", {
      style: `width: ${((100 * column.missing) / column.rows).toFixed(1)}%; background: var(--c6)`,
    })),
    el("span", { class: "count" }, missingShare(column))));
  const rest = gaps.length > MISSING ? `And ${whole(gaps.length - MISSING)} more columns. ` : "";
  const rows = look && look.incomplete
    ? `${whole(look.incomplete)} of ${whole(look.sampled)} rows have a missing value.`
    : "";
  return el("div", { class: "card" }, said, assumed, el("h3", {}, "Missing values"),
    el("ul", { class: "levels some" }, shares), rest || rows ? remark(rest + rows) : null);
}

/**
 * Every column with its distribution, the target first, then what goes with it best.
 * @param {Report} report
 */
export function distributions({ data, insight, target }) {
  const { look } = insight;
  if (!look || !look.columns.length) return null;
  const left = new Map(data.dropped.map((drop) => [drop.column, drop.reason]));
  const cards = look.columns.map((column) => el("div", { class: `card column${left.has(column.name) ? " out" : ""}` },
    el("h3", {}, column.name, column.name === target ? tag("target") : null, tag(column.kind)),
    picture(column, look.places), el("p", { class: "soft" }, columnFacts(column)),
    column.association ? strengthBar(column.association) : null,
    left.has(column.name) ? el("p", { class: "soft" }, `Left out: ${left.get(column.name)}`) : null));
  const order = look.target ? "the target first, then what goes with it best" : "in the order of the file";
  const some = data.columns.length > look.columns.length
    ? `${look.columns.length} of ${whole(data.columns.length)} columns, ${order}`
    : `The columns, ${order}`;
  return el("div", {}, el("div", { class: "over" }, remark(`${some}.`), look.classes.length
    ? classLegend(look.classes, look.places)
    : null), el("div", { class: "fields" }, cards));
}

/** @param {Report} report */
export const together = ({ insight }) => (insight.look ? correlations(insight.look) : null);

/**
 * Every column of the file in numbers, and what was done to it.
 * @param {Report} report
 */
export function columnTable({ data, target }) {
  const left = new Set(data.dropped.map((drop) => drop.column));
  /** @param {string} name */
  const tags = (name) => [name === target ? tag("target") : null, left.has(name) ? tag("left out") : null];
  const rows = data.columns.slice(0, SHOWN).map((column) => {
    const missing = `${whole(column.missing)} (${missingShare(column)})`;
    /** @param {number | null} value */
    const shown = (value) => {
      if (value === null) return "";
      if (column.kind === "date" || column.kind === "datetime")
        return dateText(column.kind === "date" ? value : value / 86400);
      return text(value);
    };
    return el("tr", {},
      el("td", {}, column.name, tags(column.name)),
      el("td", {}, column.kind), el("td", { class: "n" }, column.missing ? missing : ""),
      el("td", { class: "n" }, column.distinct === null ? "many" : whole(column.distinct)),
      el("td", { class: "n wide" }, shown(column.min)), el("td", { class: "n wide" }, shown(column.mean)),
      el("td", { class: "n wide" }, shown(column.max)));
  });
  const head = [
    { name: "column" }, { name: "kind" }, { name: "missing", n: true }, { name: "distinct", n: true },
    { name: "min", n: true, wide: true }, { name: "mean", n: true, wide: true }, { name: "max", n: true, wide: true },
  ];
  const more = data.columns.length - SHOWN;
  return el("details", { class: "card" }, el("summary", {}, "All columns in numbers"), table(head, rows),
    more > 0 ? remark(`and ${whole(more)} more columns`) : null);
}

/** @param {Report} report */
export function preparation(report) {
  if (!report.preparation.length) return null;
  const filled = report.preparation.some((step) => step.filled);
  const rows = report.preparation.slice(0, SHOWN).map((step) => el("tr", {},
    el("td", {}, step.column), el("td", {}, step.what), filled ? el("td", {}, step.filled || "") : null));
  const head = [{ name: "column" }, { name: "what the model sees" }];
  if (filled) head.push({ name: "missing becomes" });
  const more = report.preparation.length - SHOWN;
  return el("details", { class: "card" }, el("summary", {}, "Preparation: what the model sees"), table(head, rows),
    more > 0 ? remark(`and ${whole(more)} more columns`) : null);
}
