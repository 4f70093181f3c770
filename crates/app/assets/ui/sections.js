// The sections of a report in their order; the report and the lab show the same.
import { el, remark } from "./dom.js";
import { calibration } from "./report/calibration.js";
import { perClass } from "./report/classes.js";
import { clusterChoice, clusters } from "./report/clusters.js";
import { columnTable, distributions, extent, preparation, together } from "./report/columns.js";
import { confusion } from "./report/confusion.js";
import { precisionRecall, roc } from "./report/curves.js";
import { dependence } from "./report/dependence.js";
import { importance } from "./report/importance.js";
import { leaderboard } from "./report/leaderboard.js";
import { learning } from "./report/learning.js";
import { coefficientTable, coefficients, components, fit, objective, tree } from "./report/model.js";
import { predicted, residuals } from "./report/residuals.js";
import { scores } from "./report/scores.js";
import { threshold } from "./report/threshold.js";
import { warnings } from "./report/warnings.js";
import { worst } from "./report/worst.js";

/** @typedef {import("./types").Report} Report */

/**
 * Side by side where there is room.
 * @param {(HTMLElement | null)[]} parts
 * @param {string} [kind]
 */
const pair = (parts, kind = "pair") => {
  const shown = parts.filter(Boolean);
  return shown.length ? el("div", { class: kind }, shown) : null;
};

/** @param {Report} report */
function drivers(report) {
  const effects = dependence(report);
  // Reports of earlier versions, kept in a project, do not say it.
  const what = report.insight.dependence[0]?.of || "prediction";
  const score = what === "score" ? " A score is no probability: its sign decides, or the largest of several." : "";
  const note = `The mean ${what} as one column varies and all others stay as they are (partial dependence).${score}`;
  return [importance(report), pair(effects), effects.length ? remark(note) : null];
}

/** @param {Report} report */
function moreRows(report) {
  const { curve } = report.insight;
  return curve ? [el("div", { class: "card" }, el("p", {}, curve.verdict)), learning(report)] : [];
}

/** @param {Report} report */
function reproduce(report) {
  const early = report.comparison && report.comparison.cuts.length
    ? "; but the time limit stopped this run early, so a faster machine may choose another model."
    : ".";
  return el("div", { class: "card" }, el("pre", { tabindex: 0 }, report.command),
    remark(`ermine ${report.version}, seed ${report.seed}, data fingerprint ${report.fingerprint}. The same file and `
      + `command give the same numbers, for any number of threads${early}`));
}

/** @type {[string, (report: Report) => HTMLElement | null | (HTMLElement | null)[]][]} */
export const SECTIONS = [
  ["Warnings", warnings],
  ["Scores", scores],
  ["Models compared", leaderboard],
  ["Errors on the test rows", (report) =>
    pair([confusion, perClass, roc, precisionRecall, calibration, predicted, residuals].map((part) => part(report)),
      "pair two")],
  ["What if the threshold moves?", threshold],
  ["Where it is most wrong", worst],
  ["What drives the predictions", drivers],
  ["Would more rows help?", moreRows],
  ["How many clusters?", clusterChoice],
  ["The clusters", clusters],
  ["The components", components],
  ["The model", (report) =>
    [pair([fit(report), objective(report)]), ...[coefficients, coefficientTable, tree].map((part) => part(report))]],
  ["The data", (report) =>
    [extent(report), distributions(report), ...[together, columnTable, preparation].map((part) => part(report))]],
  ["Reproduce", reproduce],
];

/**
 * Puts all sections that have something to show behind each other, with a table of contents.
 * @param {Report} report
 * @param {HTMLElement} root
 * @param {HTMLElement} contents
 */
export function putSections(report, root, contents) {
  for (const [title, content] of SECTIONS) {
    const parts = [content(report)].flat().filter((part) => part !== null);
    if (!parts.length) continue;
    const id = title.toLowerCase().replace(/[^a-z]+/g, "-").replace(/-$/, "");
    const link = el("a", { href: `#${id}` }, title);
    // The address of the page stays what it is.
    link.addEventListener("click", (event) => {
      event.preventDefault();
      document.getElementById(id)?.scrollIntoView();
    });
    contents.append(link, " ");
    root.append(el("section", { "aria-labelledby": id }, el("h2", { id }, title), parts));
  }
}
