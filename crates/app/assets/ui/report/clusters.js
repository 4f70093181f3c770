import { chart, tooltip } from "../chart.js";
import { card, el, remark, table } from "../dom.js";
import { text, whole } from "../format.js";

/** Clusters that a table has room for. */
const SHOWN_CLUSTERS = 12;

/**
 * How well each number of clusters does.
 * @param {import("../types").Report} report
 */
export function clusterCurve({ insight }) {
  const curve = insight.cluster_curve;
  if (!curve) return [];
  const title = curve.criterion === "bic"
    ? "BIC by number of components: smaller is better"
    : "Silhouette by number of clusters: larger is better";
  const data = curve.points.filter((point) => point.value !== null)
    .map((point) => ({ value: [point.k, point.value], symbolSize: point.k === curve.chosen ? 12 : 6 }));
  return [el("div", { class: "card" }, el("p", {}, curve.verdict)), chart(title, null, (axis) => ({
    legend: { show: false }, tooltip: tooltip("axis"),
    xAxis: axis({ type: "value", name: "clusters", nameGap: 24, minInterval: 1, scale: true }),
    yAxis: axis({ type: "value", scale: true }),
    series: [{ type: "line", name: curve.criterion, data }],
  }), { low: true })];
}

/**
 * Where the middle of each cluster lies.
 * @param {import("../types").Report} report
 */
export function clusterTable({ insight, clusters }) {
  const groups = insight.groups.slice(0, SHOWN_CLUSTERS);
  if (!groups.length) return null;
  const head = [{ name: "column" }, ...groups.map((_, i) => ({ name: `${i}: ${whole(clusters[i])} rows`, n: true }))];
  /** @param {import("../types").Middle} middle */
  const cell = ({ mean, level }) =>
    mean !== null ? text(mean) : level ? `${level[0]} (${Math.round(100 * level[1])} %)` : "";
  const rows = groups[0].middle.slice(0, 100).map((first, j) =>
    el("tr", {}, el("td", {}, first.column), groups.map((group) => el("td", { class: "n" }, cell(group.middle[j])))));
  const note = "The mean, or the most frequent level, of the rows in each cluster, in the units of the file.";
  return card(null, table(head, rows), remark(note));
}

/**
 * What each component of a decomposition explains, and what it is made of.
 * @param {import("../types").Report} report
 */
export function componentTable({ components }) {
  if (!components.length) return null;
  const head = [{ name: "component" }, { name: "variance", n: true }, { name: "share", n: true }, { name: "made of" }];
  const rows = components.slice(0, 30).map((part, i) => el("tr", {}, el("td", {}, String(i + 1)),
    el("td", { class: "n" }, text(part.variance)), el("td", { class: "n" }, `${(100 * part.share).toFixed(1)} %`),
    el("td", {}, part.loadings.slice(0, 5).map(([name, weight]) => `${text(weight)} ${name}`).join(", "))));
  return card(null, table(head, rows));
}
