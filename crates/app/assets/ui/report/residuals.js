import { chart, dashed, line, tooltip } from "../chart.js";
import { text } from "../format.js";

const zoom = [{ type: "inside", filterMode: "none" }, { type: "inside", yAxisIndex: 0, filterMode: "none" }];

/** @param {number[][]} data */
const points = (data) => {
  const many = data.length > 400;
  return { type: "scatter", data, symbolSize: many ? 4 : 6, itemStyle: { opacity: many ? 0.4 : 0.65 } };
};

/** @param {import("../types").Report} report */
export function predicted({ insight, target }) {
  if (!insight.predicted.length) return null;
  const all = insight.predicted.flat();
  const [low, high] = [Math.min(...all), Math.max(...all)];
  return chart("Predicted and true values, test rows", "On the dashed line the prediction is exact.", (axis) => ({
    legend: { show: false }, dataZoom: zoom,
    tooltip: tooltip("item", (p) => [`true ${text(p.value[0])}`, `predicted ${text(p.value[1])}`]),
    xAxis: axis({ type: "value", name: `true ${target}`, nameGap: 24, scale: true }),
    yAxis: axis({ type: "value", name: "predicted", nameGap: 44, scale: true }),
    series: [
      points(insight.predicted),
      { type: "line", data: [[low, low], [high, high]], ...line, lineStyle: dashed() },
    ],
  }));
}

/** @param {import("../types").Report} report */
export function residuals({ insight }) {
  if (!insight.predicted.length) return null;
  const note = "True minus predicted value. A trend or a funnel shows what the model misses.";
  return chart("Residuals", note, (axis) => ({
    legend: { show: false }, dataZoom: zoom,
    tooltip: tooltip("item", (p) => [`predicted ${text(p.value[0])}`, `residual ${text(p.value[1])}`]),
    xAxis: axis({ type: "value", name: "predicted", nameGap: 24, scale: true }),
    yAxis: axis({ type: "value", name: "true − predicted", nameGap: 44 }),
    series: [points(insight.predicted.map(([truth, guess]) => [guess, truth - guess]))],
  }));
}
