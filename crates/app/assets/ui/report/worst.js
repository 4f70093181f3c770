import { el, remark, table } from "../dom.js";
import { shortNumber, text } from "../format.js";

// As many as a page of paper is wide.
const COLUMNS = 4;

/**
 * The test rows that the model is most wrong about, with the columns that matter first.
 * @param {import("../types").Report} report
 */
export function worst({ insight, classes, target }) {
  const rows = insight.worst;
  if (!rows || !rows.length) return null;
  const order = insight.importance.map((column) => column.name);
  const rank = (/** @type {string} */ name) => (order.includes(name) ? order.indexOf(name) : order.length);
  const names = rows[0].values.map(([name]) => name).sort((a, b) => rank(a) - rank(b)).slice(0, COLUMNS);
  const isClass = classes.length > 0;
  const head = [
    { name: `true ${target}` }, { name: "predicted" },
    { name: isClass ? "probability of the truth" : "true − predicted", n: true },
    ...names.map((name) => ({ name, wide: true })),
  ];
  const body = rows.map((row) => {
    const values = new Map(row.values);
    return el("tr", {}, el("td", {}, row.truth), el("td", {}, isClass ? row.said : shortNumber(row.said)), el("td", { class: "n" }, text(row.off)),
      names.map((name) => el("td", { class: "wide soft" }, values.get(name) || "")));
  });
  const note = isClass
    ? "Test rows that were misclassified, the most confident mistakes first. Some of them may be errors of the file."
    : "Test rows with the largest errors. Some of them may be errors of the file.";
  return el("div", { class: "card" }, table(head, body), remark(note));
}
