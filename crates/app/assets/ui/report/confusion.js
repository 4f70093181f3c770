import { card, el, table } from "../dom.js";
import { whole } from "../format.js";

/** @param {import("../types").Report} report */
export function confusion({ confusion: counts, classes }) {
  if (!counts || classes.length > 30) return null;
  const most = Math.max(...counts.flat());
  const sums = counts.map((row) => row.reduce((a, b) => a + b, 0));
  const rows = counts.map((row, i) => {
    const cells = row.map((cell, j) => {
      const shade = cell === 0 ? 0 : (0.12 + (0.55 * cell) / most).toFixed(3);
      const title = `${whole(cell)} of ${whole(sums[i])} rows of ${classes[i]} predicted as ${classes[j]}`;
      const look = { class: i === j ? "hit" : "", style: `background: rgba(var(--shade), ${shade})`, title };
      return el("td", look, cell === 0 ? "·" : whole(cell));
    });
    const recall = sums[i] ? `${Math.round((100 * row[i]) / sums[i])} %` : "";
    const name = el("th", { class: "row", scope: "row" }, classes[i]);
    return el("tr", {}, name, cells, el("td", { class: "soft small" }, recall));
  });
  const columns = [{ name: "true \\ predicted" }, ...classes.map((name) => ({ name })), { name: "recall" }];
  return card("Confusion matrix, test rows", table(columns, rows, "matrix"));
}
