import { GRID, chart, dashed, legend, line, share, tooltip } from "../chart.js";
import { text } from "../format.js";
import { COLOURS, palette } from "../theme.js";

/** @param {import("../types").Report} report */
export const roc = ({ insight, classes }) =>
  curves(insight.roc, classes, "ROC curve (area under it)", "false positive rate", "true positive rate", true);

/** @param {import("../types").Report} report */
export const precisionRecall = ({ insight, classes }) =>
  curves(insight.precision_recall, classes, "Precision-recall curve (average precision)", "recall", "precision", false);

/**
 * A curve for each class, both axes from 0 to 1.
 * @param {import("../types").Curve[]} list
 * @param {string[]} classes
 * @param {string} title
 * @param {string} x
 * @param {string} y
 * @param {boolean} diagonal
 */
function curves(list, classes, title, x, y, diagonal) {
  if (!list.length) return null;
  return chart(title, null, (axis) => ({
    // A few names may take two lines; of more, the reader turns the pages.
    ...(list.length <= 4 ? { legend: legend({ type: "plain", itemGap: 8 }), grid: { ...GRID, top: 42 } } : {}),
    tooltip: tooltip("item", (p) => [p.seriesName, `${x} ${text(p.value[0])}, ${y} ${text(p.value[1])}`]),
    xAxis: axis({ type: "value", name: x, nameGap: 24, ...share }),
    yAxis: axis({ type: "value", name: y, nameGap: 32, ...share }),
    series: [
      ...list.map((curve) => ({
        type: "line", name: `${curve.class} (${text(curve.area)})`, data: curve.points,
        color: palette()[Math.max(0, classes.indexOf(curve.class)) % COLOURS],
        showSymbol: curve.points.length < 60, symbolSize: 4, lineStyle: { width: 2 },
      })),
      ...(diagonal ? [{ type: "line", data: [[0, 0], [1, 1]], ...line, lineStyle: dashed() }] : []),
    ],
  }));
}
