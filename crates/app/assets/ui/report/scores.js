import { el, remark, table } from "../dom.js";
import { text, whole, words } from "../format.js";
import { scoreOf } from "./head.js";

/** @param {import("../types").Report} report */
export function scores(report) {
  if (!report.test) return null;
  const { folds, data } = report;
  const rows = report.test.map(([name, value]) => {
    const interval = report.intervals.find((found) => found.metric === name);
    const fold = folds && folds.scores.find((found) => found[0] === name);
    return el("tr", { class: name === report.main_metric ? "first" : "" },
      el("td", {}, words(name)), el("td", { class: "n" }, text(value)),
      el("td", { class: "n" }, interval ? `${text(interval.low)} to ${text(interval.high)}` : ""),
      folds ? el("td", { class: "n" }, fold ? `${text(fold[1])} ± ${text(fold[2])}` : "") : null,
      el("td", { class: "n soft" }, text(scoreOf(report.baseline, name))));
  });
  const columns = [{ name: "" }, { name: "test", n: true }, { name: "95 % interval", n: true }];
  if (folds) columns.push({ name: `${folds.folds}-fold mean ± sd`, n: true });
  columns.push({ name: "baseline", n: true });
  const measured = `Measured once on ${whole(data.test_rows)} held-out rows; ${whole(data.train_rows)} training rows.`;
  return el("div", { class: "card" }, table(columns, rows), remark(measured));
}
