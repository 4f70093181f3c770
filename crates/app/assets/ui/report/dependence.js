import { chart, legend, tooltip } from "../chart.js";
import { dateText, text, whole } from "../format.js";

/**
 * The mean prediction as one column varies.
 * @param {import("../types").Report} report
 */
export function dependence({ insight, classes, target }) {
  return insight.dependence.map((curve) => {
    const several = curve.means.length > 1;
    const kind = !curve.category ? "line" : several ? "bar" : "scatter";
    const ends = { min: curve.at[0], max: curve.at[curve.at.length - 1] };
    const few = curve.at.every(Number.isInteger) && ends.max - ends.min < 30;
    // The first and the last value are where the curve ends, and seldom round.
    const look = curve.dated
      ? { axisLabel: { formatter: dateText }, splitNumber: 3 }
      : few ? { minInterval: 1 } : { axisLabel: { showMinLabel: false, showMaxLabel: false } };
    const note = curve.others
      ? `The ${curve.at.length} most frequent of ${whole(curve.at.length + curve.others)} levels.`
      : null;
    const lines = (/** @type {any[]} */ found) => [
      curve.category ? curve.labels[found[0].dataIndex] : curve.dated ? dateText(found[0].value[0]) : text(found[0].value[0]),
      ...found.map((p) => `${p.seriesName}: ${text(curve.category ? p.value : p.value[1])}`),
    ];
    return chart(`Effect of ${curve.name}`, note, (axis) => ({
      legend: several ? legend() : { show: false },
      tooltip: tooltip("axis", lines),
      grid: { left: 8, right: 24, top: several ? 30 : 12, bottom: 8, containLabel: true },
      xAxis: axis(curve.category
        ? { type: "category", data: curve.labels, axisLabel: { width: 90, overflow: "truncate" } }
        : { type: "value", scale: true, ...ends, ...look }),
      yAxis: axis({ type: "value", scale: !several }),
      series: curve.means.map((means, c) => ({
        type: kind, symbolSize: 12, barMaxWidth: 26, showSymbol: false, lineStyle: { width: 2 },
        name: several ? classes[c] || "" : target || "",
        data: curve.category ? means : means.map((mean, g) => [curve.at[g], mean]),
      })),
    }), { low: true });
  });
}
