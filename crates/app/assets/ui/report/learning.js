import { chart, legend, tooltip } from "../chart.js";
import { words } from "../format.js";
import { palette } from "../theme.js";

/** @param {import("../types").Report} report */
export function learning({ insight, comparison, main_metric: metric }) {
  const curve = insight.curve;
  if (!curve || !metric) return null;
  const bounded = comparison && comparison.greater_is_better && Math.max(...curve.train) <= 1;
  const at = (/** @type {number[]} */ scores) => curve.rows.map((rows, i) => [rows, scores[i]]);
  return chart(`Learning curve: ${words(metric)} by number of training rows`, null, (axis) => ({
    tooltip: tooltip("axis"),
    legend: legend({ data: ["training rows", "new rows"] }),
    xAxis: axis({ type: "value", name: "training rows", nameGap: 24, min: 0 }),
    yAxis: axis({ type: "value", scale: true, max: bounded ? 1 : null }),
    series: [
      { type: "line", name: "training rows", data: at(curve.train), symbolSize: 6 },
      { type: "line", name: "new rows", data: at(curve.test), symbolSize: 6 },
      ...[1, -1].map((side) => ({
        type: "line", name: side > 0 ? "plus one standard error" : "minus one standard error", showSymbol: false,
        data: at(curve.test.map((score, i) => score + side * curve.error[i])),
        lineStyle: { type: "dotted", width: 1, color: palette()[1] }, itemStyle: { color: palette()[1] },
      })),
    ],
  }));
}
