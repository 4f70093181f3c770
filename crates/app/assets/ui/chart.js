// What charts share: axes, tooltips, colours, and drawing again when the theme or the width changes.
import { card, el, remark } from "./dom.js";
import { text, tick } from "./format.js";
import { css, palette } from "./theme.js";

/** @typedef {(own: object) => object} Axis */
/** @type {{ place: HTMLElement, option: () => object, drawn?: any }[]} */
let charts = [];

/** An axis from 0 to 1. */
export const share = { min: 0, max: 1 };

/** Room for the names of the axes beside their labels. */
export const GRID = { left: 26, right: 18, top: 30, bottom: 28, containLabel: true };

export const line = { showSymbol: false, silent: true, tooltip: { show: false } };

/** The line on which all is well. */
export const dashed = () => ({ color: css("--soft"), type: "dashed", width: 1 });

/**
 * @param {string} title
 * @param {string | null} note
 * @param {(axis: Axis) => object} option What is drawn, asked for anew whenever colours change.
 * @param {{ low?: boolean, height?: number }} [look]
 */
export function chart(title, note, option, look = {}) {
  const place = el("div", { class: look.low ? "chart low" : "chart", role: "img", "aria-label": title });
  if (look.height) place.style.height = `${look.height}px`;
  charts.push({ place, option: () => base(option) });
  return card(title, place, note ? remark(note) : null);
}

/** @param {(axis: Axis) => object} more */
function base(more) {
  const [soft, rule] = [css("--soft"), css("--line")];
  /** @type {Axis} */
  const axis = (own) => ({
    axisLine: { lineStyle: { color: rule } }, axisTick: { show: false },
    splitLine: { lineStyle: { color: rule, opacity: 0.6 } },
    nameTextStyle: { color: soft, fontSize: 11 }, nameLocation: "middle",
    ...own,
    axisLabel: {
      color: soft, fontSize: 11, hideOverlap: true,
      .../** @type {any} */ (own).type === "value" ? { formatter: tick } : {}, .../** @type {any} */ (own).axisLabel,
    },
  });
  return {
    // Charts measure text before it is drawn, so they need the family by name.
    animation: false, color: palette(),
    textStyle: { fontFamily: getComputedStyle(document.body).fontFamily, color: css("--ink") },
    grid: GRID, tooltip: tooltip("item"), legend: legend(),
    ...more(axis),
  };
}

/** @param {object} [more] */
export function legend(more) {
  const soft = css("--soft");
  const text = { textStyle: { color: soft, fontSize: 11 }, pageTextStyle: { color: soft } };
  return { top: 0, left: 0, type: "scroll", itemWidth: 14, itemHeight: 8, ...text, ...more };
}

/**
 * What a tooltip says, line by line. Lines are text nodes: a name from the data is never markup.
 * @param {"item" | "axis"} trigger
 * @param {((found: any) => string[]) | null} [lines]
 * @param {object} [more]
 */
export function tooltip(trigger, lines, more) {
  /** @param {any} found */
  const formatter = (found) => el("div", {}, (lines ? lines(found) : []).map((said) => el("div", {}, said)));
  return {
    trigger, confine: true, backgroundColor: css("--card"), borderColor: css("--line"),
    textStyle: { color: css("--ink"), fontSize: 12 },
    valueFormatter: (/** @type {unknown} */ value) => (typeof value === "number" ? text(value) : value),
    ...(lines ? { formatter } : {}), ...more,
  };
}

/** Draws all charts of the page, in the colours of now. */
export function draw() {
  for (const item of charts) if (item.drawn) item.drawn.dispose();
  charts = charts.filter((item) => item.place.isConnected);
  for (const item of charts) {
    item.drawn = echarts.init(item.place, null, { renderer: "svg" });
    item.drawn.setOption(item.option());
  }
  document.documentElement.dataset.drawn = String(charts.length);
}

let waiting = 0;
window.addEventListener("resize", () => {
  clearTimeout(waiting);
  waiting = window.setTimeout(() => charts.forEach((item) => item.drawn && item.drawn.resize()), 120);
});
