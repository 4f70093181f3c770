// Straight lines: perceptron, gradients, Newton, penalties, polynomials, thresholds.
import { along, gridOf } from "./stage.js";

/** @typedef {import("../types").Stop} Stop */
/** @typedef {import("../types").Point} Point */
/** @typedef {import("../types").Seen} Seen */
/** @typedef {import("./stage.js").Stage} Stage */

export const rows = (/** @type {Point[]} */ points) => points.map(({ x, y }) => [x, y]);
export const classes = (/** @type {Point[]} */ points) => points.map(({ c }) => c);
const sigmoid = (/** @type {number} */ s) => 1 / (1 + Math.exp(-s));

/** Shares of two classes by a linear score. @param {Stage} stage @param {number[]} w @param {number} b */
function paintLine(stage, w, b) {
  stage.paintShares(
    gridOf(60).map(([x, y]) => {
      const p = sigmoid((3 * (w[0] * x + w[1] * y + b)) / (Math.hypot(w[0], w[1]) || 1));
      return [1 - p, p];
    }),
  );
  stage.boundary(w, b);
}

/** @type {Stop} */
const perceptron = {
  id: "perceptron",
  group: "Lines",
  title: "Perceptron",
  kind: "classify",
  objective: "on a mistake, y (w·x + b) ≤ 0:   w ← w + y x,   b ← b + y",
  look:
    "One point is looked at in each step (ringed). If it is on the right side nothing happens; if not, it is " +
    "added to the weights and the line turns towards it. " +
    "With classes that can be separated it stops; with classes that overlap it never settles.",
  questions: [
    [
      "How many mistakes can it make?",
      "If some line separates the points with margin γ and no point is longer than " +
        "R, at most (R/γ)² (Novikoff 1962), however many points there are and in whatever order they come.",
    ],
    [
      "Does it find the line with the widest margin?",
      "No, it stops at the first line without a mistake. The support " + "vector machine asks for the widest one.",
    ],
    [
      "Does the step length matter?",
      "Not when it starts from zero: all weights are scaled by it and the line is the " + "same.",
    ],
  ],
  sets: ["apart", "mixed", "moons"],
  params: [
    { name: "passes", label: "Passes at most", values: ["3", "10", "50"], start: "10" },
    { name: "seed", label: "Order of the points", values: ["0", "1", "2"], start: "0" },
  ],
  requests: (points, { passes, seed }) => [
    {
      model: `Perceptron(max_iter=${passes}, tol=none)`,
      points: rows(points),
      target: classes(points),
      seed: Number(seed),
    },
  ],
  frames: ([seen]) => {
    let mistakes = 0;
    const counts = seen.steps.map((step) => {
      mistakes += step.values.mistake?.[0][0] || 0;
      return mistakes;
    });
    return seen.steps.map((step, i) => {
      const { coef, intercept, row, mistake } = step.values;
      const wrong = mistake?.[0][0];
      return {
        title: !row
          ? "the model that is kept"
          : wrong
            ? "a mistake: the point is added to the weights"
            : "on the right side: nothing changes",
        facts: [
          ["mistakes so far", counts[i]],
          ["w", `${coef[0].map((v) => v.toFixed(2)).join(", ")}`],
          ["b", intercept[0][0]],
        ],
        charts: [["mistakes so far", counts]],
        draw: (stage) => {
          paintLine(stage, coef[0], intercept[0][0]);
          stage.look = (_, at) => (row && at === row[0][0] ? { r: 9, class: "chosen" } : {});
        },
      };
    });
  },
};

/** @type {Stop} */
const newton = {
  id: "logistic",
  group: "Lines",
  title: "Logistic regression (Newton)",
  kind: "classify",
  objective: "min over w, b of Σᵢ ln(1 + exp(−yᵢ (w·xᵢ + b))) + ‖w‖² / (2 C)",
  look:
    "Newton’s method takes the minimum of the quadratic that touches the loss at the present weights. Near the " +
    "optimum the number of right digits doubles in each step: " +
    "look at how quickly the gradient vanishes. Shades are probabilities; the thin lines are 0.1 and 0.9.",
  questions: [
    [
      "Why so few steps?",
      "The Hessian X′DX + I/C tells how the slope changes, so the step has the right length and " +
        "direction at once. Each step costs more: O(n p²) instead of O(n p).",
    ],
    [
      "What happens to w without a penalty when the classes can be separated?",
      "It grows without end: every scaling " +
        "up of a separating line raises the likelihood. Try a large C on the separated classes and look at ‖w‖.",
    ],
    [
      "What do the probabilities mean?",
      "If the model is right, of the points with predicted probability 0.9 nine in " +
        "ten are of the class. Calibration checks that on new rows.",
    ],
  ],
  sets: ["mixed", "apart", "moons"],
  params: [{ name: "C", label: "C (inverse penalty)", values: ["0.01", "1", "100", "10000"], start: "1" }],
  requests: (points, { C }) => [
    {
      model: `LogisticRegression(C=${C}, tol=1e-10)`,
      points: rows(points),
      target: classes(points),
      outputs: ["probability"],
      grid: gridOf(60),
    },
  ],
  frames: ([seen]) => {
    const objective = seen.steps.map((step) => step.values.objective[0][0]);
    const slopes = seen.steps.map((step) =>
      Math.log10(Math.max(1e-17, ...step.values.gradient.map(([g]) => Math.abs(g)))),
    );
    return seen.steps.map((step, i) => {
      const [w, b] = [step.values.coef[0], step.values.intercept[0][0]];
      const last = i === seen.steps.length - 1;
      return {
        title:
          i === 0 ? "the start: no slope, the odds of the classes" : last ? "the model that is kept" : "a Newton step",
        facts: [
          ["objective", objective[i]],
          ["‖w‖", Math.hypot(w[0], w[1])],
          ["log₁₀ of the largest slope", slopes[i]],
        ],
        charts: [
          ["objective", objective],
          ["log₁₀ of the largest slope", slopes],
        ],
        draw: (stage) => {
          stage.paintShares(
            last
              ? seen.grid.probability
              : gridOf(60).map(([x, y]) => {
                  const p = sigmoid(w[0] * x + w[1] * y + b);
                  return [1 - p, p];
                }),
          );
          stage.boundary(w, b);
          const odds = Math.log(9);
          for (const level of [odds, -odds])
            stage.boundary(w, b + level, { "stroke-width": 1, "stroke-dasharray": "4 4" });
        },
      };
    });
  },
};

/**
 * The loss over (slope, intercept), for the picture of the surface.
 * @param {Point[]} points
 * @param {number} w
 * @param {number} b
 */
const squares = (points, w, b) => points.reduce((sum, { x, y }) => sum + (w * x + b - y) ** 2, 0) / (2 * points.length);

/** @type {Stop} */
const descent = {
  id: "gradient",
  group: "Lines",
  title: "Gradient descent",
  kind: "regress",
  objective: "min over w, b of  ½ mean (w xᵢ + b − yᵢ)²,   (w, b) ← (w, b) − η gradient + momentum",
  look:
    "Left, the line over the points. The small map shows the loss over slope (right) and intercept (up) with the " +
    "way that the weights took. " +
    "A small rate crawls, a large one jumps across the valley; single points make the way noisy; momentum keeps " +
    "going.",
  questions: [
    [
      "Which rates converge?",
      "For a quadratic with largest curvature L those below 2/L. At 1/L the way goes straight " +
        "down the steepest direction; near 2/L it swings from side to side.",
    ],
    [
      "Why is the way with one point at a time so noisy?",
      "Each point has a gradient of its own that is right only on " +
        "average. The noise near the optimum is as large as the rate: let the rate shrink, or average.",
    ],
    [
      "What does momentum buy?",
      "In a long valley plain descent needs about κ steps (the ratio of largest to smallest " +
        "curvature), with momentum about √κ.",
    ],
  ],
  sets: ["line", "wave"],
  params: [
    { name: "eta", label: "Rate η", values: ["0.01", "0.1", "0.5", "1.0"], start: "0.1" },
    { name: "batch", label: "Points a step", values: ["all", "8", "1"], start: "all" },
    { name: "momentum", label: "Momentum", values: ["0", "0.8"], start: "0" },
  ],
  requests: (points, { eta, batch, momentum }) => [
    {
      model:
        `SGDRegressor(penalty=none, learning_rate=constant, eta0=${eta}, momentum=${momentum}, ` +
        `batch_size=${batch === "all" ? points.length : batch}, ` +
        `max_iter=${batch === "all" ? 60 : batch === "8" ? 12 : 3}, tol=none)`,
      points: points.map(({ x }) => [x]),
      target: points.map(({ y }) => y),
      outputs: ["value"],
      grid: along(2).map((x) => [x]),
    },
  ],
  frames: ([seen], points) => {
    const path = seen.steps.map((step) => [step.values.coef[0][0], step.values.intercept[0][0]]);
    const losses = path.map(([w, b]) => squares(points, w, b));
    return seen.steps.map((step, i) => ({
      title: step.what === "done" ? "the model that is kept" : step.values.row ? "one point" : "a step",
      facts: [
        ["loss", losses[i]],
        ["slope w", path[i][0]],
        ["intercept b", path[i][1]],
      ],
      charts: [["loss", losses]],
      draw: (stage) => {
        const [w, b] = path[i];
        const used = new Set((step.values.rows || step.values.row || []).map(([row]) => row));
        stage.look = (_, at) =>
          used.size && used.size < points.length && used.has(at) ? { r: 8, class: "chosen" } : {};
        stage.line(along(2).map((x) => [x, w * x + b]));
        inset(stage, points, path.slice(0, i + 1));
      },
    }));
  },
};

/**
 * A map of the loss in the corner of the stage.
 * @param {Stage} stage
 * @param {Point[]} points
 * @param {number[][]} path
 */
function inset(stage, points, path) {
  // The map is 2 by 2 units wide, from (0.9, -2.9); weights from -1.5 to 1.5.
  const at = (/** @type {number} */ w, /** @type {number} */ b) => [1.9 + w / 1.5, -1.9 + b / 1.5];
  stage.box([0.9, 2.9, -2.9, -0.9], 5, 0.12);
  const n = 120;
  const cells = 60;
  const low = Math.min(
    ...Array.from({ length: 41 * 41 }, (_, k) =>
      squares(points, -1.5 + (3 * (k % 41)) / 40, -1.5 + (3 * Math.floor(k / 41)) / 40),
    ),
  );
  stage.paint(n, (i) => {
    const [x, y] = [-3 + (((i % n) + 0.5) * 6) / n, 3 - ((Math.floor(i / n) + 0.5) * 6) / n];
    if (x < 0.9 || x > 2.9 || y < -2.9 || y > -0.9) return [0, 0, 0, 0];
    const loss = squares(points, (x - 1.9) * 1.5, (y + 1.9) * 1.5) - low;
    const band = Math.floor((cells * Math.sqrt(loss)) / 12) % 2;
    return [90, 130, 170, 0.1 + 0.12 * band];
  });
  const inside = path.map(([w, b]) => at(Math.max(-1.5, Math.min(1.5, w)), Math.max(-1.5, Math.min(1.5, b))));
  if (inside.length > 1) stage.line(inside, { "stroke-width": 1.5, style: "stroke: var(--c2)" });
  const [x, y] = inside[inside.length - 1];
  stage.cross(x, y, 1);
}

/** @type {Stop} */
const degree = {
  id: "polynomial",
  group: "Lines",
  title: "Polynomial degree",
  kind: "regress",
  objective: "min over w of Σᵢ (yᵢ − w₀ − w₁ xᵢ − … − w_d xᵢ^d)²",
  look:
    "Each step raises the degree by one. The error on the filled points, which are learnt from, only falls; the " +
    "error on the hollow ones falls and then rises. " +
    "In between lies the degree that bends enough for the curve and not for the noise.",
  questions: [
    [
      "Why can the training error not rise?",
      "A polynomial of degree d is one of degree d + 1 with a zero: the larger " +
        "set has everything that the smaller has.",
    ],
    [
      "Where do bias and variance show?",
      "At degree 1 every sample gives about the same wrong line: bias. At degree " +
        "12 another sample gives another curve: variance. Drag a point and see how much the curve moves.",
    ],
    [
      "What else than a lower degree would help?",
      "More points, or a penalty on the weights (ridge), which makes a " + "high degree behave like a lower one.",
    ],
  ],
  sets: ["wave", "line", "steps"],
  params: [{ name: "penalty", label: "Ridge penalty", values: ["0", "0.001", "0.1"], start: "0" }],
  requests: (points, { penalty }) =>
    Array.from({ length: 13 }, (_, d) => {
      const learnt = points.filter((_, i) => i % 3 !== 2);
      // Columns of equal range keep the powers apart.
      const power = (/** @type {number} */ x) =>
        Array.from({ length: Math.max(1, d) }, (_, k) => (d === 0 ? 0 : (x / 3) ** (k + 1)));
      const model = penalty === "0" ? "LinearRegression" : `Ridge(alpha=${penalty})`;
      return {
        model,
        points: learnt.map(({ x }) => power(x)),
        target: learnt.map(({ y }) => y),
        outputs: ["value"],
        grid: [...along(160), ...points.map(({ x }) => x)].map(power),
      };
    }),
  frames: (all, points) => {
    const error = (/** @type {Seen} */ seen, /** @type {boolean} */ learnt) => {
      const chosen = points.map((point, i) => ({ point, i })).filter(({ i }) => (i % 3 !== 2) === learnt);
      return (
        chosen.reduce((sum, { point, i }) => sum + (point.y - seen.grid.value[160 + i][0]) ** 2, 0) /
        Math.max(1, chosen.length)
      );
    };
    const [train, test] = [true, false].map((learnt) => all.map((seen) => error(seen, learnt)));
    const log = (/** @type {number[]} */ list) => list.map((value) => Math.log10(Math.max(value, 1e-6)));
    return all.map((seen, d) => ({
      title: `degree ${d}`,
      facts: [
        ["error on learnt points", train[d]],
        ["error on new points", test[d]],
        ["best degree for new points", test.indexOf(Math.min(...test))],
      ],
      charts: [
        ["log₁₀ error, learnt points", log(train)],
        ["log₁₀ error, new points", log(test)],
      ],
      draw: (stage) => {
        stage.look = (_, i) =>
          i % 3 === 2 ? { style: "fill: var(--card); stroke: var(--c1)", "stroke-width": 2 } : {};
        stage.line(along(160).map((x, i) => [x, seen.grid.value[i][0]]));
      },
    }));
  },
};

const ALPHAS = Array.from({ length: 25 }, (_, i) => 10 ** (1.5 - (4.5 * i) / 24));

/** The lasso is per row and its weights vanish sooner. @param {string} kind @param {number} alpha */
const penaltyOf = (kind, alpha) => (kind === "Lasso" ? alpha / 30 : alpha).toPrecision(3);

/** @type {Stop} */
const path = {
  id: "path",
  group: "Lines",
  title: "Ridge and lasso paths",
  kind: "regress",
  objective: "min over w of ½ mean (yᵢ − w·φ(xᵢ))² + α ‖w‖₁   (lasso),   or   Σ (yᵢ − w·φ(xᵢ))² + α ‖w‖²   (ridge)",
  look:
    "Ten bumps along x are the columns. From left to right the penalty falls. The lasso lets bumps in one by one " +
    "and keeps the others at exactly zero; " +
    "ridge has all of them from the start and shrinks them together.",
  questions: [
    [
      "Why are weights of the lasso exactly zero?",
      "The penalty has a kink at zero. As long as the slope of the loss " +
        "there is smaller than α, moving away costs more than it gains.",
    ],
    [
      "What does ridge do to columns that say the same?",
      "It shares the weight between them. The lasso takes one of " + "them, and which one hangs on little.",
    ],
    ["How is α chosen?", "By the error on rows that were not learnt from: cross-validation (LassoCV, RidgeCV)."],
  ],
  sets: ["wave", "steps", "line"],
  params: [{ name: "kind", label: "Penalty", values: ["Lasso", "Ridge"], start: "Lasso" }],
  requests: (points, { kind }) => {
    const bumps = (/** @type {number} */ x) =>
      Array.from({ length: 10 }, (_, k) => Math.exp(-(((x - (-2.7 + 0.6 * k)) / 0.6) ** 2)));
    return ALPHAS.map((alpha) => ({
      model: `${kind}(alpha=${penaltyOf(kind, alpha)})`,
      points: points.map(({ x }) => bumps(x)),
      target: points.map(({ y }) => y),
      outputs: ["value"],
      grid: along(120).map(bumps),
    }));
  },
  frames: (all, _points, { kind }) => {
    const weights = all.map((seen) => /** @type {number[]} */ (seen.attributes.coef_.flat()));
    const norms = weights.map((list) => list.reduce((sum, w) => sum + Math.abs(w), 0));
    return all.map((seen, i) => ({
      title: `α = ${penaltyOf(kind, ALPHAS[i])}`,
      facts: [
        ["weights that are not zero", `${weights[i].filter((w) => w !== 0).length} of 10`],
        ["Σ |w|", norms[i]],
      ],
      charts: [
        ["Σ |w|", norms],
        ...[2, 4, 7].map(
          (k) => /** @type {[string, number[]]} */ ([`weight of bump ${k + 1}`, weights.map((list) => list[k])]),
        ),
      ],
      draw: (stage) => {
        weights[i].forEach((w, k) => {
          const x = -2.7 + 0.6 * k;
          stage.segment([x, -2.9], [x, -2.9 + Math.min(2, 0.5 * Math.abs(w))], {
            style: `stroke: var(--c${w < 0 ? 2 : 3})`,
            "stroke-width": 8,
          });
        });
        stage.line(along(120).map((x, at) => [x, seen.grid.value[at][0]]));
      },
    }));
  },
};

/** @type {Stop} */
const roc = {
  id: "roc",
  group: "Lines",
  title: "ROC and the threshold",
  kind: "classify",
  objective: "predict orange where p(x) ≥ t;   TPR(t) = P(p ≥ t | orange),   FPR(t) = P(p ≥ t | blue)",
  look:
    "The model stays the same; the threshold falls from 1 to 0 and the line moves across the points. Every point " +
    "that it passes takes the curve in the corner one step: up if it is orange, to the right if it is blue.",
  questions: [
    [
      "What does the area under the curve mean?",
      "The probability that an orange point drawn at random has a higher " + "score than a blue one. Half is guessing.",
    ],
    [
      "Does the area change if orange becomes ten times as frequent?",
      "No: both rates are shares of their own class. " +
        "Precision does change, which is why precision and recall are looked at when a class is rare.",
    ],
    [
      "Which threshold is best?",
      "That depends on what errors cost. With costs a of a false alarm and m of a miss, " +
        "calibrated probabilities say: t = a / (a + m).",
    ],
  ],
  sets: ["mixed", "moons", "apart"],
  params: [],
  requests: (points) => [
    { model: "LogisticRegression", points: rows(points), target: classes(points), outputs: ["probability"] },
  ],
  frames: ([seen], points) => {
    const p = seen.said.probability.map((row) => row[1]);
    const [w, b] = [seen.attributes.coef_.flat(), seen.attributes.intercept_[0]];
    const thresholds = [1.001, ...[...new Set(p)].sort((a, c) => c - a)];
    const totals = [0, 1].map((c) => points.filter((point) => point.c === c).length);
    const rates = thresholds.map((t) =>
      [0, 1].map((c) => points.filter((point, i) => point.c === c && p[i] >= t).length / Math.max(1, totals[c])),
    );
    const area = rates.slice(1).reduce((sum, [f, t], i) => sum + ((f - rates[i][0]) * (t + rates[i][1])) / 2, 0);
    return thresholds.map((t, i) => ({
      title: t > 1 ? "nothing is called orange" : `threshold ${t.toFixed(3)}`,
      facts: [
        ["true positive rate", rates[i][1]],
        ["false positive rate", rates[i][0]],
        ["area under the whole curve", area],
      ],
      draw: (stage) => {
        const level = Math.log(Math.min(t, 1 - 1e-12) / (1 - Math.min(t, 1 - 1e-12)));
        if (t <= 1) stage.boundary(w, b - level);
        stage.look = (_, at) => ({ "fill-opacity": p[at] >= t ? 1 : 0.28 });
        stage.box([0.9, 2.9, -2.9, -0.9], 5, 0.12);
        const at = (/** @type {number[]} */ [f, tpr]) => [0.9 + 2 * f, -2.9 + 2 * tpr];
        stage.line([at([0, 0]), at([1, 1])], {
          "stroke-width": 1,
          "stroke-dasharray": "3 4",
          style: "stroke: var(--soft)",
        });
        stage.line(rates.slice(0, i + 1).map(at), { style: "stroke: var(--accent)" });
        const [x, y] = at(rates[i]);
        stage.cross(x, y, 0);
      },
    }));
  },
};

export const LINEAR = [perceptron, newton, descent, degree, path, roc];
