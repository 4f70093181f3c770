// Trees and many of them.
import { HIGH, LOW, along, gridOf } from "./stage.js";
import { classes, rows } from "./linear.js";

/** @typedef {import("../types").Stop} Stop @typedef {import("../types").Point} Point */

/** @type {Stop} */
const tree = {
  id: "tree",
  group: "Trees",
  title: "Decision tree",
  kind: "classify",
  objective: "split with the largest gain:  impurity(node) − Σ share(child) impurity(child)",
  look:
    "Each step is one question, x ≤ t or y ≤ t, from the root down. The ringed points are those that it asks " +
    "about. Gains are large first and small later: the last splits follow single points.",
  questions: [
    [
      "Why not split until every leaf is pure?",
      "Such a tree has learnt the noise too. Limit depth or leaves, demand " +
        "a significant gain, or cut the tree back by its error on rows held out.",
    ],
    [
      "Would it help to search two levels ahead?",
      "Exclusive or shows when: no single split gains much, but two " +
        "together gain everything. Searching ahead costs too much for what it usually brings.",
    ],
    [
      "What changes if x is replaced by its logarithm?",
      "Nothing but the thresholds: a tree only looks at the order " + "of the values.",
    ],
  ],
  sets: ["moons", "xor", "mixed", "rings"],
  params: [
    { name: "depth", label: "Depth at most", values: ["2", "4", "8"], start: "4" },
    { name: "criterion", label: "Impurity", values: ["gini", "entropy"], start: "gini" },
    { name: "ccp", label: "Pruning α", values: ["0", "0.01", "0.03"], start: "0" },
  ],
  requests: (points, { depth, criterion, ccp }) => [
    {
      model: `DecisionTreeClassifier(max_depth=${depth}, criterion=${criterion}, ccp_alpha=${ccp})`,
      points: rows(points),
      target: classes(points),
      outputs: ["class"],
    },
  ],
  frames: ([seen], points) => {
    /** @type {Map<number, { box: number[], value: number[] }>} */
    let leaves = new Map([[0, { box: [LOW, HIGH, LOW, HIGH], value: seen.steps[0]?.values.value[0] || [1, 0] }]]);
    const within = (/** @type {number[]} */ [x0, x1, y0, y1], /** @type {Point} */ { x, y }) =>
      x > x0 && x <= x1 && y > y0 && y <= y1;
    const gains = seen.steps.map((step) => step.values.gain[0][0]);
    const draw =
      (/** @type {typeof leaves} */ now, /** @type {number[] | null} */ ringed) =>
      (/** @type {import("./stage.js").Stage} */ stage) => {
        for (const { box, value } of now.values()) {
          const total = value.reduce((a, b) => a + b, 0) || 1;
          const best = value.indexOf(Math.max(...value));
          stage.box(box, best, 0.08 + 0.3 * Math.max(0, (2 * value[best]) / total - 1));
        }
        if (ringed) stage.look = (point) => (within(ringed, point) ? { class: "chosen" } : {});
      };
    /** @type {import("../types").Frame[]} */
    const frames = [
      {
        title: "one leaf",
        facts: [
          ["leaves", 1],
          ["points", points.length],
        ],
        draw: draw(leaves, null),
        charts: [["gain of each split", [null, ...gains]]],
      },
    ];
    seen.steps.forEach((step, i) => {
      const { node, children, feature, threshold, gain, impurity, rows: counts, left, right } = step.values;
      const parent = leaves.get(node[0][0]);
      if (!parent) return;
      const t = threshold[0][0];
      const boxes = [[...parent.box], [...parent.box]];
      if (feature[0][0] === 0) {
        boxes[0][1] = t;
        boxes[1][0] = t;
      } else {
        boxes[0][3] = t;
        boxes[1][2] = t;
      }
      leaves = new Map(leaves);
      leaves.delete(node[0][0]);
      leaves.set(children[0][0], { box: boxes[0], value: left[0] });
      leaves.set(children[1][0], { box: boxes[1], value: right[0] });
      frames.push({
        title: `${feature[0][0] === 0 ? "x" : "y"} ≤ ${t.toFixed(3)}?`,
        facts: [
          ["gain", gain[0][0]],
          ["impurity before", impurity[0][0]],
          ["impurity left and right", `${impurity[1][0].toFixed(3)}, ${impurity[2][0].toFixed(3)}`],
          ["points", `${counts[0][0]} = ${counts[1][0]} + ${counts[2][0]}`],
          ["leaves", i + 2],
        ],
        charts: [["gain of each split", [null, ...gains]]],
        draw: draw(leaves, parent.box),
      });
    });
    return frames;
  },
};

/** The class that a recorded tree gives to a row. @param {number[][]} nodes @param {number[]} row */
function classOf(nodes, row) {
  let at = 0;
  while (nodes[at][0] >= 0) at = nodes[at][2] + (row[nodes[at][0]] <= nodes[at][1] ? 0 : 1);
  const value = nodes[at].slice(3);
  return value.indexOf(Math.max(...value));
}

/** @type {Stop} */
const boost = {
  id: "adaboost",
  group: "Trees",
  title: "AdaBoost",
  kind: "classify",
  objective: "min over F = Σ_t α_t f_t of Σᵢ exp(−yᵢ F(xᵢ)),   α_t = ln((1 − ε_t) / ε_t)",
  look:
    "Each round fits a stump (one split) to weighted points. Points that it misses weigh more in the next round: " +
    "look at their size. The background is the vote of all stumps so far. " +
    "The bound ∏ 2√(ε(1−ε)) on the training error falls as long as every stump is better than a coin.",
  questions: [
    [
      "Why these weights?",
      "They are the derivative of the exponential loss: after the update the last stump is " +
        "exactly as good as a coin on the new weights, so the next must find something else.",
    ],
    [
      "What if a stump is wrong about most of the weight?",
      "Then its α would be negative: the library stops there, as " + "boosting needs members better than chance.",
    ],
    [
      "What do mislabelled points do?",
      "Their weights grow exponentially and later rounds bend around them. Drop a " +
        "blue point among the orange ones and watch it swell.",
    ],
  ],
  sets: ["moons", "mixed", "xor", "rings"],
  params: [
    { name: "rounds", label: "Rounds", values: ["10", "30", "80"], start: "30" },
    { name: "depth", label: "Depth of a member", values: ["1", "2"], start: "1" },
  ],
  requests: (points, { rounds, depth }) => [
    {
      model: `AdaBoostClassifier(n_estimators=${rounds}, estimator=DecisionTreeClassifier(max_depth=${depth}))`,
      points: rows(points),
      target: classes(points),
      outputs: ["class"],
    },
  ],
  frames: ([seen], points) => {
    const grid = gridOf(50);
    const votes = grid.map(() => 0);
    const scores = points.map(() => 0);
    /** @type {number[]} */
    const training = [];
    const kept = seen.steps.map((step) => {
      const { nodes, alpha } = step.values;
      const a = alpha[0][0];
      grid.forEach((row, i) => {
        votes[i] += a * (classOf(nodes, row) ? 1 : -1);
      });
      points.forEach(({ x, y }, i) => {
        scores[i] += a * (classOf(nodes, [x, y]) ? 1 : -1);
      });
      training.push(scores.filter((s, i) => (s > 0 ? 1 : 0) !== points[i].c).length / points.length);
      return [...votes];
    });
    const [errors, bounds] = ["error", "bound"].map((name) => seen.steps.map((step) => step.values[name][0][0]));
    let total = 0;
    return seen.steps.map((step, i) => {
      const { weights, wrong, alpha } = step.values;
      total += alpha[0][0];
      const sum = total;
      const mean = weights.reduce((a, [w]) => a + w, 0) / weights.length;
      return {
        title: `round ${i + 1}`,
        facts: [
          ["weighted error ε", errors[i]],
          ["vote α", alpha[0][0]],
          ["training error of all", training[i]],
          ["bound", bounds[i]],
        ],
        charts: [
          ["training error", training],
          ["bound", bounds],
          ["weighted error of the member", errors],
        ],
        draw: (stage) => {
          stage.paintShares(
            kept[i].map((vote) => {
              const p = 0.5 + 0.5 * (vote / (sum || 1));
              return [1 - p, p];
            }),
          );
          stage.look = (_, at) => ({
            r: Math.max(2, Math.min(18, 5 * Math.sqrt(weights[at][0] / mean))).toFixed(1),
            class: wrong[at][0] ? "chosen" : "",
          });
        },
      };
    });
  },
};

const COUNTS = [1, 2, 3, 5, 8, 13, 21, 40, 80];

/** @type {Stop} */
const forest = {
  id: "forest",
  group: "Trees",
  title: "Random forest",
  kind: "classify",
  objective: "p(x) = mean over trees of p_t(x), each tree grown on a bootstrap sample with a random choice of columns",
  look:
    "The first picture is one deep tree: sharp boxes that follow single points. With more trees the edges become " +
    "soft and stop changing: averaging takes away variance and leaves the bias.",
  questions: [
    [
      "How much does averaging help?",
      "The variance of a mean of T trees is ρσ² + (1 − ρ)σ²/T: with many trees only " +
        "the correlation ρ between them is left. Random columns make ρ smaller.",
    ],
    ["Can more trees overfit?", "No. The mean converges; more trees only make it more exact. Deeper trees can."],
    [
      "How can the forest be judged without held-out rows?",
      "A bootstrap sample leaves out about 37 % of the rows; " +
        "each row is judged by the trees that have not seen it (out of bag).",
    ],
  ],
  sets: ["moons", "mixed", "rings", "xor"],
  params: [{ name: "depth", label: "Depth at most", values: ["none", "3"], start: "none" }],
  requests: (points, { depth }) =>
    COUNTS.map((count) => ({
      model: `RandomForestClassifier(n_estimators=${count}, max_depth=${depth}, oob_score=false)`,
      points: rows(points),
      target: classes(points),
      outputs: ["probability"],
      grid: gridOf(50),
    })),
  frames: (all, points) => {
    const errors = all.map(
      (seen) => seen.said.probability.filter((p, i) => (p[1] > 0.5 ? 1 : 0) !== points[i].c).length / points.length,
    );
    return all.map((seen, i) => {
      const before = all[Math.max(0, i - 1)].grid.probability;
      const change =
        seen.grid.probability.reduce((sum, p, at) => sum + Math.abs(p[1] - before[at][1]), 0) / before.length;
      return {
        title: COUNTS[i] === 1 ? "one tree" : `${COUNTS[i]} trees`,
        facts: [
          ["trees", COUNTS[i]],
          ["training error", errors[i]],
          ["mean change of p from before", i ? change : "–"],
        ],
        charts: [["training error", errors]],
        draw: (stage) => stage.paintShares(seen.grid.probability),
      };
    });
  },
};

const ROUNDS = [0, 1, 2, 3, 5, 8, 12, 20, 35, 60, 100];

/** @type {Stop} */
const gradient = {
  id: "boosting",
  group: "Trees",
  title: "Gradient boosting",
  kind: "regress",
  objective: "F_t = F_{t−1} + ν f_t,   f_t a tree fitted to the residuals y − F_{t−1}(x)",
  look:
    "The curve starts at the mean. Each tree learns what is still wrong, and a share ν of it is added. The thin " +
    "lines are the residuals: they shrink, first everywhere and later only at the noise.",
  questions: [
    [
      "Why only a share ν of each tree?",
      "Small steps let many trees correct each other, like a small rate in " +
        "gradient descent. A smaller ν needs more rounds and usually generalises better.",
    ],
    [
      "Why gradient?",
      "For squared error the residual is minus the derivative of the loss by the prediction. For " +
        "other losses the trees are fitted to that derivative.",
    ],
    [
      "When to stop?",
      "When the error on rows held out stops falling: in contrast to a forest, more rounds can " + "overfit.",
    ],
  ],
  sets: ["wave", "steps", "line"],
  params: [
    { name: "rate", label: "Share ν", values: ["0.1", "0.3", "1.0"], start: "0.3" },
    { name: "leaves", label: "Leaves of a tree", values: ["2", "4", "8"], start: "4" },
  ],
  requests: (points, { rate, leaves }) =>
    ROUNDS.slice(1).map((rounds) => ({
      model:
        `HistGradientBoostingRegressor(max_iter=${rounds}, learning_rate=${rate}, max_leaf_nodes=${leaves}, ` +
        "min_samples_leaf=2, early_stopping=false)",
      points: points.map(({ x }) => [x]),
      target: points.map(({ y }) => y),
      outputs: ["value"],
      grid: along(200).map((x) => [x]),
    })),
  frames: (all, points) => {
    const mean = points.reduce((sum, { y }) => sum + y, 0) / Math.max(1, points.length);
    const said = [points.map(() => mean), ...all.map((seen) => seen.said.value.map(([v]) => v))];
    const curves = [along(200).map(() => mean), ...all.map((seen) => seen.grid.value.map(([v]) => v))];
    const errors = said.map((list) => list.reduce((sum, v, i) => sum + (v - points[i].y) ** 2, 0) / points.length);
    return ROUNDS.map((rounds, i) => ({
      title: rounds ? `${rounds} trees` : "the mean",
      facts: [
        ["trees", rounds],
        ["mean squared error", errors[i]],
      ],
      charts: [["mean squared error on these points", errors]],
      draw: (stage) => {
        points.forEach(({ x, y }, at) => stage.segment([x, y], [x, said[i][at]], { style: "stroke: var(--c2)" }));
        stage.line(along(200).map((x, at) => [x, curves[i][at]]));
      },
    }));
  },
};

export const TREES = [tree, boost, forest, gradient];
