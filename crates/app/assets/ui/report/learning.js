import { chart, legend, tooltip } from "../chart.js";
import { words } from "../format.js";
import { palette } from "../theme.js";

/** @param {import("../types").Report} report */
export function learning({ insight, main_metric: metric }) {
  const curve = insight.curve;
  if (!curve || !metric) return null;
  const bounded = !/^neg_|loss|error|deviance/.test(metric) && Math.max(...curve.train) <= 1;
  const spread = curve.test.flatMap((score, i) => [score - curve.error[i], score + curve.error[i]]);
  const ends = underOne([...curve.train, ...spread]);
  const at = (/** @type {number[]} */ scores) => curve.rows.map((rows, i) => [rows, scores[i]]);
  return chart(`Learning curve: ${words(metric)} by number of training rows`, null, (axis) => ({
    tooltip: tooltip("axis"),
    legend: legend({ data: ["training rows", "new rows"] }),
    xAxis: axis({ type: "value", name: "training rows", nameGap: 24, min: 0 }),
    yAxis: axis({ type: "value", scale: true, ...(bounded ? ends : {}) }),
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

/**
 * An axis that ends at 1, its labels a round step apart, if values come near; a share cannot be more.
 * @param {number[]} values
 */
function underOne(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (high < 0.95 || low < -1) return {};
  const step = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2].find((step) => (1 - low) / step <= 6) || 0.5;
  return { min: Number((1 - step * Math.ceil((1 - low) / step)).toFixed(3)), max: 1, interval: step };
}
