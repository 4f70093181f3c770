import { chart, legend, tooltip } from "../chart.js";

/**
 * The mean prediction as one column varies.
 * @param {import("../types").Report} report
 */
export function dependence({ insight, classes, target }) {
  return insight.dependence.map((curve) => {
    const several = curve.means.length > 1;
    const kind = !curve.category ? "line" : several ? "bar" : "scatter";
    const ends = { min: curve.at[0], max: curve.at[curve.at.length - 1] };
    return chart(`Effect of ${curve.name}`, null, (axis) => ({
      legend: several ? legend() : { show: false },
      tooltip: tooltip("axis"),
      grid: { left: 8, right: 18, top: several ? 30 : 12, bottom: 8, containLabel: true },
      xAxis: axis(curve.category ? { type: "category", data: curve.labels } : { type: "value", scale: true, ...ends }),
      yAxis: axis({ type: "value", scale: !several }),
      series: curve.means.map((means, c) => ({
        type: kind, symbolSize: 12, barMaxWidth: 26, showSymbol: false, lineStyle: { width: 2 },
        name: several ? classes[c] || "" : target || "",
        data: curve.category ? means : means.map((mean, g) => [curve.at[g], mean]),
      })),
    }), { low: true });
  });
}
