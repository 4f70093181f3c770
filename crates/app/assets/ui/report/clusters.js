import { chart, tooltip } from "../chart.js";
import { el, remark, table } from "../dom.js";
import { dateText, text, whole } from "../format.js";

const MOST_CLUSTERS = 12;

/**
 * Why this number of clusters.
 * @param {import("../types").Report} report
 */
export function clusterChoice({ insight }) {
  const curve = insight.cluster_curve;
  if (!curve) return [];
  const title = curve.criterion === "bic"
    ? "BIC by number of components, smaller is better"
    : "Silhouette by number of clusters, larger is better";
  const points = curve.points.filter((point) => point.value !== null);
  const drawn = chart(title, null, (axis) => ({
    legend: { show: false }, tooltip: tooltip("axis"),
    xAxis: axis({ type: "value", name: "clusters", nameGap: 24, minInterval: 1, scale: true }),
    yAxis: axis({ type: "value", scale: true }),
    series: [{
      type: "line", name: curve.criterion,
      data: points.map(({ k, value }) => ({ value: [k, value], symbolSize: k === curve.chosen ? 12 : 6 })),
    }],
  }), { low: true });
  return [el("div", { class: "card" }, el("p", {}, curve.verdict)), drawn];
}

/**
 * What the rows of each cluster are like.
 * @param {import("../types").Report} report
 */
export function clusters({ data, insight, clusters: sizes }) {
  const groups = insight.groups.slice(0, MOST_CLUSTERS);
  if (!groups.length) return null;
  const isDate = (/** @type {import("../types").Column} */ { kind }) => kind === "date" || kind === "datetime";
  const dated = new Set(data.columns.filter(isDate).map((column) => column.name));
  /** @param {import("../types").Middle} middle */
  const shown = ({ column, mean, level }) => {
    if (mean !== null) return dated.has(column) ? dateText(mean) : text(mean);
    return level ? `${level[0]} (${Math.round(100 * level[1])} %)` : "";
  };
  const rows = groups[0].middle.slice(0, 100).map(({ column }, j) =>
    el("tr", {}, el("td", {}, column), groups.map((group) => el("td", { class: "n" }, shown(group.middle[j])))));
  const heads = groups.map((_, label) => ({ name: `${label}: ${whole(sizes[label])} rows`, n: true }));
  return el("div", { class: "card" }, table([{ name: "column" }, ...heads], rows),
    remark("Means, and the most frequent level, of the rows in each cluster, in the units of the file."));
}
