import { card, el, remark, table } from "../dom.js";
import { text, whole } from "../format.js";
import { classColour } from "../theme.js";

const SHOWN_CLASSES = 30;

/**
 * Precision, recall and F1 of each class, from the confusion matrix; of many classes the worst.
 * @param {import("../types").Report} report
 */
export function perClass({ confusion: counts, classes }) {
  if (!counts || classes.length < 2) return null;
  const sum = (/** @type {number[]} */ list) => list.reduce((a, b) => a + b, 0);
  const all = classes.map((name, c) => {
    const [hit, real, called] = [counts[c][c], sum(counts[c]), sum(counts.map((row) => row[c]))];
    return { name, c, real, called, precision: hit / called, recall: hit / real, f1: (2 * hit) / (real + called) };
  });
  const seen = all.filter(({ real, called }) => real + called > 0);
  if (classes.length > SHOWN_CLASSES) seen.sort((a, b) => a.f1 - b.f1);
  const dot = (/** @type {number} */ c) => el("i", { class: "dot", style: `background: ${classColour(c)}` });
  const share = (/** @type {number} */ value) => el("td", { class: "n" }, Number.isFinite(value) ? text(value) : "–");
  const rows = seen.slice(0, SHOWN_CLASSES).map((found) => el("tr", {},
    el("td", {}, el("span", { class: "flag" }, dot(found.c), el("span", {}, found.name))),
    el("td", { class: "n" }, whole(found.real)), el("td", { class: "n wide" }, whole(found.called)),
    share(found.precision), share(found.recall), share(found.f1)));
  const head = [
    { name: "class" }, { name: "rows", n: true }, { name: "predicted", n: true, wide: true },
    { name: "precision", n: true }, { name: "recall", n: true }, { name: "F1", n: true },
  ];
  const more = seen.length - SHOWN_CLASSES;
  return card("Each class, test rows", table(head, rows),
    more > 0 ? remark(`The ${SHOWN_CLASSES} classes with the lowest F1 of ${whole(seen.length)}.`) : null);
}
