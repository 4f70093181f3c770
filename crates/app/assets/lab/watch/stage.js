// The stage: points that can be added, dragged and removed, with layers and painted regions behind them.
import { el, svg } from "../../ui/dom.js";
import { css } from "../../ui/theme.js";

/** @typedef {import("./sets.js").Point} Point */

const SIZE = 480;
export const LOW = -3;
export const HIGH = 3;

export const place = (/** @type {number} */ value) => ((value - LOW) / (HIGH - LOW)) * SIZE;
const flip = (/** @type {number} */ value) => SIZE - place(value);
const back = (/** @type {number} */ pixel) => LOW + (pixel / SIZE) * (HIGH - LOW);

/** @param {number} c */
export const colour = (c) => `var(--c${(((c % 6) + 6) % 6) + 1})`;

/** @param {number} c @returns {[number, number, number]} */
export function rgb(c) {
  const hex = css(`--c${(((c % 6) + 6) % 6) + 1}`).replace("#", "");
  const part = (/** @type {number} */ at) => parseInt(hex.slice(at, at + 2), 16) || 0;
  return [part(0), part(2), part(4)];
}

/** A square grid over the stage, row by row from the top. @param {number} n @returns {number[][]} */
export const gridOf = (n) =>
  Array.from({ length: n * n }, (_, i) => [
    LOW + ((i % n) + 0.5) * ((HIGH - LOW) / n),
    HIGH - (Math.floor(i / n) + 0.5) * ((HIGH - LOW) / n),
  ]);

/** Where points are evenly along the stage. @param {number} n */
export const along = (n) => Array.from({ length: n }, (_, i) => LOW + ((HIGH - LOW) * i) / (n - 1));

export class Stage {
  /** @param {{ changed: () => void, brush: () => number, regress: boolean, label: string }} options */
  constructor(options) {
    this.options = options;
    /** @type {Point[]} */
    this.points = [];
    this.chosen = -1;
    this.canvas = /** @type {HTMLCanvasElement} */ (el("canvas", { "aria-hidden": "true" }));
    this.behind = svg("g", {});
    this.dots = svg("g", {});
    this.above = svg("g", { style: "pointer-events: none" });
    this.picture = svg(
      "svg",
      {
        viewBox: `0 0 ${SIZE} ${SIZE}`,
        tabindex: 0,
        role: "application",
        "aria-label":
          `${options.label}. Press N to choose the next point, arrow keys to move it, ` +
          "Delete to remove it, Enter to add one.",
      },
      this.axes(),
      this.behind,
      this.dots,
      this.above,
    );
    this.node = el("div", { class: "stage" }, this.canvas, this.picture);
    /** How a point looks now. @type {(point: Point, i: number) => Record<string, string | number | undefined>} */
    this.look = () => ({});
    this.listen();
  }

  axes() {
    const look = { style: "stroke: var(--line)", "stroke-width": 1 };
    return svg(
      "g",
      { "aria-hidden": "true" },
      svg("line", { x1: 0, x2: SIZE, y1: flip(0), y2: flip(0), ...look }),
      svg("line", { x1: place(0), x2: place(0), y1: 0, y2: SIZE, ...look }),
    );
  }

  listen() {
    const at = (/** @type {PointerEvent} */ event) => {
      const box = this.picture.getBoundingClientRect();
      const clamp = (/** @type {number} */ v) => Math.max(LOW, Math.min(HIGH, v));
      return [
        clamp(back(((event.clientX - box.left) / box.width) * SIZE)),
        clamp(back(SIZE - ((event.clientY - box.top) / box.height) * SIZE)),
      ].map((v) => Math.round(v * 1000) / 1000);
    };
    let dragged = -1;
    this.picture.addEventListener("pointerdown", (event) => {
      const target = /** @type {SVGElement} */ (event.target);
      const found = target.getAttribute("data-point");
      if (found !== null) {
        dragged = this.chosen = Number(found);
        this.picture.setPointerCapture(event.pointerId);
      } else if (event.button === 0) {
        const [x, y] = at(event);
        this.points.push({ x, y, c: this.options.regress ? 0 : this.options.brush() });
        this.chosen = this.points.length - 1;
        this.change();
      }
    });
    this.picture.addEventListener("pointermove", (event) => {
      if (dragged < 0) return;
      [this.points[dragged].x, this.points[dragged].y] = at(event);
      this.change();
    });
    this.picture.addEventListener("pointerup", () => {
      dragged = -1;
    });
    this.picture.addEventListener("dblclick", (event) => {
      const found = /** @type {SVGElement} */ (event.target).getAttribute("data-point");
      if (found !== null) this.remove(Number(found));
    });
    this.picture.addEventListener("keydown", (event) => this.key(/** @type {KeyboardEvent} */ (event)));
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const steps = /** @type {Record<string, number[]>} */ ({
      ArrowLeft: [-0.1, 0],
      ArrowRight: [0.1, 0],
      ArrowUp: [0, 0.1],
      ArrowDown: [0, -0.1],
    });
    const point = this.points[this.chosen];
    if (event.key === "n" || event.key === "N") {
      this.chosen = (this.chosen + 1) % Math.max(1, this.points.length);
      this.drawPoints();
    } else if (steps[event.key] && point) {
      point.x = Math.round((point.x + steps[event.key][0]) * 1000) / 1000;
      point.y = Math.round((point.y + steps[event.key][1]) * 1000) / 1000;
      this.change();
    } else if ((event.key === "Delete" || event.key === "Backspace") && point) {
      this.remove(this.chosen);
    } else if (event.key === "Enter") {
      this.points.push({ x: 0, y: 0, c: this.options.regress ? 0 : this.options.brush() });
      this.chosen = this.points.length - 1;
      this.change();
    } else {
      return;
    }
    event.preventDefault();
  }

  /** @param {number} i */
  remove(i) {
    this.points.splice(i, 1);
    this.chosen = -1;
    this.change();
  }

  change() {
    this.drawPoints();
    this.options.changed();
  }

  drawPoints() {
    this.dots.replaceChildren(
      ...this.points.map((point, i) => {
        const known = Object.entries(this.look(point, i)).filter(([, value]) => value !== undefined);
        return svg("circle", {
          cx: place(point.x).toFixed(1),
          cy: flip(point.y).toFixed(1),
          r: 5,
          "data-point": i,
          style: `fill: ${colour(point.c)}`,
          class: i === this.chosen ? "chosen" : "",
          ...Object.fromEntries(known),
        });
      }),
    );
  }

  /** Forgets what a step has drawn. */
  clear() {
    this.behind.replaceChildren();
    this.above.replaceChildren();
    this.look = () => ({});
    this.canvas.width = this.canvas.width || 1;
    this.canvas.getContext("2d")?.clearRect(0, 0, this.canvas.width, this.canvas.height);
  }

  /**
   * Paints a square of n times n cells.
   * @param {number} n
   * @param {(i: number) => [r: number, g: number, b: number, opacity: number]} cell
   */
  paint(n, cell) {
    [this.canvas.width, this.canvas.height] = [n, n];
    const context = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    const image = context.createImageData(n, n);
    for (let i = 0; i < n * n; i++) {
      const [r, g, b, opacity] = cell(i);
      image.data.set([r, g, b, 255 * opacity], 4 * i);
    }
    context.putImageData(image, 0, 0);
  }

  /** Classes of a grid by their shares. @param {number[][]} shares */
  paintShares(shares) {
    const n = Math.round(Math.sqrt(shares.length));
    const colours = Array.from({ length: shares[0].length }, (_, c) => rgb(c));
    this.paint(n, (i) => {
      const row = shares[i];
      const best = row.indexOf(Math.max(...row));
      const sure = Math.max(0, (row[best] - 1 / row.length) / (1 - 1 / row.length));
      return [...colours[best], 0.06 + 0.3 * sure];
    });
  }

  /** @param {number[][]} classes */
  paintClasses(classes) {
    const n = Math.round(Math.sqrt(classes.length));
    const colours = Array.from({ length: 6 }, (_, c) => rgb(c));
    this.paint(n, (i) => [...colours[Math.round(classes[i][0]) % 6], 0.2]);
  }

  /** @param {number[][]} points @param {Record<string, string | number>} [look] */
  line(points, look = {}) {
    const inside = points.filter(([x, y]) => Number.isFinite(x) && Number.isFinite(y));
    const path = inside
      .map(([x, y], i) => `${i ? "L" : "M"}${place(x).toFixed(1)} ${flip(Math.max(-40, Math.min(40, y))).toFixed(1)}`)
      .join("");
    this.above.append(svg("path", { d: path, fill: "none", style: "stroke: var(--ink)", "stroke-width": 2, ...look }));
  }

  /**
   * Where w.x + b = level, over the whole stage.
   * @param {number[]} w
   * @param {number} b
   * @param {Record<string, string | number>} [look]
   */
  boundary(w, b, look = {}) {
    const [p, q] = w;
    const length2 = p * p + q * q;
    if (!(length2 > 0)) return;
    const [x, y] = [(-b * p) / length2, (-b * q) / length2];
    const far = 12 / Math.sqrt(length2);
    this.line(
      [
        [x - q * far, y + p * far],
        [x + q * far, y - p * far],
      ],
      look,
    );
  }

  /** @param {number} x @param {number} y @param {number} c */
  cross(x, y, c) {
    const [px, py] = [place(x), flip(y)];
    const d = `M${px - 8} ${py}H${px + 8}M${px} ${py - 8}V${py + 8}`;
    this.above.append(
      svg("path", { d, style: "stroke: var(--card)", "stroke-width": 7, "stroke-linecap": "round" }),
      svg("path", { d, style: `stroke: ${colour(c)}`, "stroke-width": 4, "stroke-linecap": "round" }),
    );
  }

  /**
   * Points at so many standard deviations of a normal distribution.
   * @param {number[]} mean
   * @param {number[]} cov Four numbers, row by row.
   * @param {number} deviations
   * @param {number} c
   */
  ellipse(mean, [a, b, , d], deviations, c) {
    const middle = (a + d) / 2;
    const half = Math.sqrt(Math.max(0, ((a - d) / 2) ** 2 + b * b));
    const angle = 0.5 * Math.atan2(2 * b, a - d);
    const radii = [middle + half, middle - half].map((v) => deviations * Math.sqrt(Math.max(v, 0)));
    const round = Array.from({ length: 61 }, (_, i) => {
      const t = (2 * Math.PI * i) / 60;
      const [u, v] = [radii[0] * Math.cos(t), radii[1] * Math.sin(t)];
      return [mean[0] + u * Math.cos(angle) - v * Math.sin(angle), mean[1] + u * Math.sin(angle) + v * Math.cos(angle)];
    });
    this.line(round, { style: `stroke: ${colour(c)}`, "stroke-width": 2 });
  }

  /** @param {number[]} box From left to right, from bottom to top. @param {number} c @param {number} opacity */
  box([x0, x1, y0, y1], c, opacity) {
    this.behind.append(
      svg("rect", {
        x: place(x0),
        y: flip(y1),
        width: Math.max(0, place(x1) - place(x0)),
        height: Math.max(0, place(y1) - place(y0)),
        style: `fill: ${colour(c)}; stroke: var(--soft)`,
        "fill-opacity": opacity,
        "stroke-width": 0.8,
      }),
    );
  }

  /** @param {number} x @param {number} y @param {string} text */
  note(x, y, text) {
    this.above.append(svg("text", { x: place(x), y: flip(y), style: "fill: var(--soft)", "font-size": 12 }, text));
  }

  /**
   * A line from one point to another.
   * @param {number[]} from
   * @param {number[]} to
   * @param {Record<string, string | number>} [look]
   */
  segment([x0, y0], [x1, y1], look = {}) {
    this.behind.append(
      svg("line", {
        x1: place(x0),
        y1: flip(y0),
        x2: place(x1),
        y2: flip(y1),
        style: "stroke: var(--soft)",
        "stroke-width": 1,
        ...look,
      }),
    );
  }
}

/**
 * How a number goes from step to step, with a mark at the present one.
 * @param {string} name
 * @param {(number | null)[]} values
 * @param {number} at
 * @param {(i: number) => void} seek
 */
export function spark(name, values, at, seek) {
  const [width, height] = [320, 84];
  const known = values.filter((v) => v !== null && Number.isFinite(v)).map(Number);
  if (known.length < 2) return null;
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const x = (/** @type {number} */ i) => 4 + ((width - 8) * i) / Math.max(1, values.length - 1);
  const y = (/** @type {number} */ v) => height - 6 - ((height - 12) * (v - low)) / (high - low || 1);
  let path = "";
  values.forEach((v, i) => {
    if (v !== null && Number.isFinite(v)) path += `${path ? "L" : "M"}${x(i).toFixed(1)} ${y(v).toFixed(1)}`;
  });
  const here = values[at];
  const picture = svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, class: "spark", role: "img", "aria-label": `${name} by step` },
    svg("path", { d: path, fill: "none", style: "stroke: var(--accent)", "stroke-width": 1.8 }),
    here !== null && here !== undefined && Number.isFinite(here)
      ? svg("circle", { cx: x(at), cy: y(here), r: 4, style: "fill: var(--ink)" })
      : null,
  );
  picture.addEventListener("click", (event) => {
    const box = picture.getBoundingClientRect();
    const mouse = /** @type {MouseEvent} */ (event);
    seek(Math.round(((mouse.clientX - box.left) / box.width) * (values.length - 1)));
  });
  return el("div", {}, el("p", { class: "soft small" }, name), picture);
}
