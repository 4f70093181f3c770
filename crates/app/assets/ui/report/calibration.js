import { chart, dashed, line, share, tooltip } from "../chart.js";
import { text, whole } from "../format.js";
import { css } from "../theme.js";

/** @param {import("../types").Report} report */
export function calibration({ insight, classes }) {
  const bins = insight.calibration;
  if (bins.length < 2) return null;
  const whose = classes.length === 2 ? `of ${classes[1]}` : "of the predicted class";
  const note = `Probability ${whose}. On the dashed line, 80 % of the rows with a predicted probability of 0.8 belong `
    + "to the class. Marker size: number of rows.";
  const most = Math.max(...bins.map((bin) => bin[2]));
  return chart("Calibration of the probabilities", note, (axis) => ({
    legend: { show: false },
    tooltip: tooltip("item", (p) => [
      `predicted ${text(p.value[0])}, observed ${text(p.value[1])}`, `${whole(p.value[2])} rows`,
    ]),
    xAxis: axis({ type: "value", name: "predicted probability", nameGap: 24, ...share }),
    yAxis: axis({ type: "value", name: "observed frequency", nameGap: 32, ...share }),
    series: [
      { type: "line", data: [[0, 0], [1, 1]], ...line, lineStyle: dashed() },
      {
        type: "line", data: bins, symbol: "circle", color: css(classes.length === 2 ? "--c2" : "--c1"), itemStyle: { opacity: 0.85 },
        symbolSize: (/** @type {number[]} */ bin) => 5 + 12 * Math.sqrt(bin[2] / most), lineStyle: { width: 1.5 },
      },
    ],
  }));
}
