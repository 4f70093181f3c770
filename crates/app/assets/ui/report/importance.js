import { chart, tooltip } from "../chart.js";
import { text, words } from "../format.js";
import { css, narrow } from "../theme.js";

/** @param {string[]} data */
export const names = (data) => {
  const label = { color: css("--ink"), fontSize: 11, width: narrow() ? 110 : 180, overflow: "truncate" };
  return { type: "category", data, axisLabel: label, splitLine: { show: false } };
};

/**
 * What shuffling each column costs, with its standard error twice either way.
 * @param {import("../types").Report} report
 */
export function importance({ insight, main_metric: metric }) {
  if (!insight.importance.length || !metric) return null;
  const top = insight.importance.slice(0, 15).reverse();
  const spans = top.map((column) => [column.fall - 2 * column.error, column.fall + 2 * column.error]);
  const note = "On test rows; lines are 95 % intervals. Correlated columns share their importance or mask each other.";
  return chart(`Drop in ${words(metric)} when a column is shuffled`, note, (axis) => ({
    legend: { show: false }, grid: { left: 8, right: 24, top: 8, bottom: 8, containLabel: true },
    tooltip: tooltip("axis", (p) => {
      const column = top[p[0].dataIndex];
      return [column.name, `${text(column.fall)} ± ${text(2 * column.error)}`];
    }, { axisPointer: { type: "shadow" } }),
    xAxis: axis({ type: "value" }),
    yAxis: axis(names(top.map((column) => column.name))),
    series: [
      {
        type: "bar", data: top.map((column) => Math.max(column.fall, 0)), barMaxWidth: 16,
        itemStyle: { borderRadius: [0, 3, 3, 0] },
        markLine: whiskers(spans),
      },
      // A line that ends outside the axis would not be drawn at all.
      {
        type: "scatter", symbolSize: 0, silent: true, tooltip: { show: false },
        data: spans.flatMap(([low, high], place) => [[low, place], [high, place]]),
      },
    ],
  }), { height: Math.max(120, 40 + 24 * top.length) });
}

/**
 * A line from low to high at each place of the axis.
 * @param {number[][]} spans
 */
function whiskers(spans) {
  const ends = spans.map(([low, high], place) => [{ coord: [low, place] }, { coord: [high, place] }]);
  const lineStyle = { color: css("--ink"), type: "solid", width: 1.2, opacity: 0.7 };
  return { symbol: "none", silent: true, animation: false, label: { show: false }, lineStyle, data: ends };
}
