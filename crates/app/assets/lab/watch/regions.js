// Margins, neighbours, densities, networks.
import { gridOf } from "./stage.js";
import { classes, rows } from "./linear.js";

/** @typedef {import("../types").Stop} Stop */
/** @typedef {import("../types").Point} Point */
/** @typedef {import("../types").Step} Step */

/**
 * The line of a set of multipliers, and the intercept that its free rows agree on.
 * @param {Step} step
 * @param {Point[]} points
 * @param {number} C
 */
function lineOf(step, points, C) {
  const { multipliers, rows: where } = step.values;
  const alpha = points.map(() => 0);
  where.forEach(([row], at) => {
    alpha[row] = Math.abs(multipliers[at][0]);
  });
  const sign = (/** @type {Point} */ point) => (point.c ? 1 : -1);
  const w = [0, 0];
  points.forEach((point, i) => {
    w[0] += alpha[i] * sign(point) * point.x;
    w[1] += alpha[i] * sign(point) * point.y;
  });
  const score = (/** @type {Point} */ { x, y }) => w[0] * x + w[1] * y;
  const free = points.map((point, i) => ({ point, i })).filter(({ i }) => alpha[i] > 1e-9 && alpha[i] < C * (1 - 1e-9));
  const held = free.length ? free : points.map((point, i) => ({ point, i })).filter(({ i }) => alpha[i] > 1e-9);
  const b = held.length ? held.reduce((sum, { point }) => sum + sign(point) - score(point), 0) / held.length : 0;
  return { alpha, w, b };
}

/** @type {Stop} */
const svm = {
  id: "svm",
  group: "Regions",
  title: "Support vector machine",
  kind: "classify",
  objective: "max over α of Σ αᵢ − ½ Σᵢⱼ αᵢ αⱼ yᵢ yⱼ xᵢ·xⱼ,   0 ≤ αᵢ ≤ C,   Σ αᵢ yᵢ = 0",
  look:
    "Each step moves two multipliers so that the sum stays zero. The size of a point is its α. At the end only " +
    "the points at or inside the margin have one; those strictly between 0 and C lie exactly on it and give the " +
    "intercept.",
  questions: [
    [
      "What happens if a point far from the margin is removed?",
      "Nothing: its α is 0, so it is not part of the " + "solution. Try it.",
    ],
    [
      "What does C do?",
      "It is the price of a point on the wrong side of its margin line. A small C makes the margin " +
        "wide and lets points in; a large C makes it narrow.",
    ],
    [
      "How does one know that it is the optimum?",
      "The KKT conditions: α = 0 outside the margin, 0 < α < C on it, α = " +
        "C inside. The duality gap says how far the objective can be from the best.",
    ],
  ],
  sets: ["apart", "mixed"],
  params: [{ name: "C", label: "C", values: ["0.1", "1", "10", "1000"], start: "1" }],
  requests: (points, { C }) => [
    {
      model: `SVC(kernel=linear, C=${C}, tol=1e-5)`,
      points: rows(points),
      target: classes(points),
      outputs: ["decision"],
      grid: gridOf(60),
    },
  ],
  frames: ([seen], points, params) => {
    const C = Number(params.C);
    const lines = seen.steps.map((step) => lineOf(step, points, C));
    const objective = lines.map(({ alpha, w }) => alpha.reduce((a, b) => a + b, 0) - 0.5 * (w[0] ** 2 + w[1] ** 2));
    const biggest = Math.max(1e-12, ...lines.flatMap(({ alpha }) => alpha));
    return seen.steps.map((step, i) => {
      const { alpha, w } = lines[i];
      const last = i === seen.steps.length - 1;
      const b = last ? seen.attributes.intercept_[0] : lines[i].b;
      const support = alpha.filter((a) => a > 1e-9).length;
      return {
        title: last ? "the model that is kept" : "two multipliers move",
        facts: [
          ["dual objective", objective[i]],
          ["support vectors", support],
          ["at C", alpha.filter((a) => a >= C * (1 - 1e-9)).length],
          ["margin width", 2 / Math.hypot(w[0], w[1])],
          ...(last ? [/** @type {[string, number]} */ (["largest KKT violation", step.values.violation[0][0]])] : []),
        ],
        charts: [["dual objective", objective]],
        draw: (stage) => {
          if (last)
            stage.paintShares(
              seen.grid.decision.map(([d]) => {
                const p = 1 / (1 + Math.exp(-3 * d));
                return [1 - p, p];
              }),
            );
          stage.boundary(w, b);
          for (const side of [1, -1]) stage.boundary(w, b + side, { "stroke-width": 1, "stroke-dasharray": "5 4" });
          stage.look = (_, at) =>
            alpha[at] > 1e-9
              ? { r: (5 + 7 * Math.sqrt(alpha[at] / biggest)).toFixed(1), class: "chosen" }
              : { "fill-opacity": 0.55 };
        },
      };
    });
  },
};

const GAMMAS = [0.03, 0.1, 0.3, 1, 3, 10, 30, 100];

/** @type {Stop} */
const kernel = {
  id: "kernel",
  group: "Regions",
  title: "Kernels",
  kind: "classify",
  objective: "f(x) = Σ αᵢ yᵢ exp(−γ ‖x − xᵢ‖²) + b",
  look:
    "The kernel says how alike two points are. With a small γ every point reaches far and the boundary is nearly " +
    "straight; with a large γ each point is an island of its own and the machine has learnt them by heart.",
  questions: [
    [
      "Where is the straight line now?",
      "In the space of features that the kernel stands for, which for this one has " +
        "infinitely many dimensions. Only products of features are ever needed, and those are the kernel.",
    ],
    [
      "What makes a function a kernel?",
      "Its Gram matrix has no negative eigenvalue, whatever the points: then it is " +
        "a product in some space (Mercer).",
    ],
    [
      "Why are nearly all points support vectors at large γ?",
      "No point says anything about any other, so each has to " + "hold its own place.",
    ],
  ],
  sets: ["rings", "moons", "xor", "mixed"],
  params: [{ name: "C", label: "C", values: ["0.3", "3", "100"], start: "3" }],
  requests: (points, { C }) =>
    GAMMAS.map((gamma) => ({
      model: `SVC(kernel=rbf, gamma=${gamma}, C=${C})`,
      points: rows(points),
      target: classes(points),
      outputs: ["decision", "class"],
      grid: gridOf(50),
    })),
  frames: (all, points) => {
    const support = all.map((seen) => seen.attributes.support_.length);
    return all.map((seen, i) => ({
      title: `γ = ${GAMMAS[i]}`,
      facts: [
        ["support vectors", `${support[i]} of ${points.length}`],
        ["training errors", seen.said.class.filter(([c], at) => c !== points[at].c).length],
      ],
      charts: [["support vectors", support]],
      draw: (stage) => {
        stage.paintShares(
          seen.grid.decision.map(([d]) => {
            const p = 1 / (1 + Math.exp(-3 * d));
            return [1 - p, p];
          }),
        );
        const held = new Set(seen.attributes.support_);
        stage.look = (_, at) => (held.has(at) ? { class: "chosen" } : {});
      },
    }));
  },
};

const NEIGHBOURS = [1, 2, 3, 5, 7, 11, 15, 21, 31, 45];

/** @type {Stop} */
const knn = {
  id: "knn",
  group: "Regions",
  title: "Nearest neighbours",
  kind: "classify",
  objective: "p_c(x) = share of class c among the k nearest points",
  look:
    "With k = 1 every point owns the region around it and no point is ever wrong about itself. With larger k the " +
    "regions become smooth, and in the end everything is the larger class.",
  questions: [
    [
      "What is the training error of k = 1?",
      "Zero, and it says nothing. The error of leaving each point out in turn " + "does: it is shown beside.",
    ],
    [
      "How good can 1 nearest neighbour become with very many points?",
      "Its error is at most twice that of the best " + "possible rule (Cover and Hart 1967).",
    ],
    [
      "Why is it bad with many columns?",
      "In many dimensions all points are about equally far, and the nearest are " +
        "not near. Columns that mean nothing add to the distance all the same.",
    ],
  ],
  sets: ["moons", "mixed", "rings", "xor"],
  params: [{ name: "weights", label: "Votes", values: ["uniform", "distance"], start: "uniform" }],
  requests: (points, { weights }) =>
    NEIGHBOURS.filter((k) => k < points.length).map((k) => ({
      model: `KNeighborsClassifier(n_neighbors=${k}, weights=${weights})`,
      points: rows(points),
      target: classes(points),
      outputs: ["probability"],
      grid: gridOf(60),
    })),
  frames: (all, points) => {
    const wrong = all.map(
      (seen) => seen.said.probability.filter((p, i) => (p[1] > 0.5 ? 1 : 0) !== points[i].c).length / points.length,
    );
    // Leaving a point out: one more neighbour, and not itself.
    const left = all.map((_, at) => {
      const k = NEIGHBOURS[at];
      return (
        points.filter((point, i) => {
          const near = points
            .map((other, j) => ({ far: (other.x - point.x) ** 2 + (other.y - point.y) ** 2, j }))
            .filter(({ j }) => j !== i)
            .sort((a, b) => a.far - b.far)
            .slice(0, k);
          return (near.filter(({ j }) => points[j].c === 1).length * 2 > k ? 1 : 0) !== point.c;
        }).length / points.length
      );
    });
    return all.map((seen, i) => ({
      title: `k = ${NEIGHBOURS[i]}`,
      facts: [
        ["training error", wrong[i]],
        ["leave-one-out error (one vote each)", left[i]],
      ],
      charts: [
        ["training error", wrong],
        ["leave-one-out error", left],
      ],
      draw: (stage) => stage.paintShares(seen.grid.probability),
    }));
  },
};

const DENSITIES = /** @type {[string, string][]} */ ([
  ["GaussianNB", "naive Bayes: columns independent within a class"],
  ["LinearDiscriminantAnalysis", "LDA: one covariance for all classes"],
  ["QuadraticDiscriminantAnalysis", "QDA: a covariance for each class"],
]);

/** @type {Stop} */
const densities = {
  id: "densities",
  group: "Regions",
  title: "Naive Bayes, LDA, QDA",
  kind: "classify",
  objective: "p(c | x) ∝ π_c N(x; m_c, S_c),   with S_c diagonal (naive Bayes), shared (LDA) or free (QDA)",
  look:
    "Three models of the same points. Each draws a normal distribution for every class and asks which one a point " +
    "more likely came from. Ellipses are one and two standard deviations.",
  questions: [
    [
      "Why is the boundary of LDA straight?",
      "With one covariance the quadratic terms of both log densities are equal " + "and cancel.",
    ],
    [
      "When does naive Bayes win although its assumption is wrong?",
      "With few rows: it has fewer numbers to estimate. " +
        "And a wrong density can still put the boundary in the right place.",
    ],
    [
      "What is the difference to logistic regression?",
      "Logistic regression fits p(c | x) only; these fit the points " +
        "as well. If the normal assumption holds they need fewer rows; if not, they can be misled.",
    ],
  ],
  sets: ["mixed", "apart", "moons", "rings"],
  params: [],
  requests: (points) =>
    DENSITIES.map(([model]) => ({
      model,
      points: rows(points),
      target: classes(points),
      outputs: ["probability"],
      grid: gridOf(60),
    })),
  frames: (all, points) =>
    all.map((seen, i) => {
      const { attributes } = seen;
      /** @type {number[][]} */
      const means = i === 0 ? attributes.theta_ : attributes.means_;
      const cov = (/** @type {number} */ c) => {
        if (i === 0) return [attributes.var_[c][0], 0, 0, attributes.var_[c][1]];
        const found = i === 1 ? attributes.covariance_ : attributes.covariance_?.[c];
        return found ? found.flat() : null;
      };
      const wrong = seen.said.probability.filter((p, at) => (p[1] > 0.5 ? 1 : 0) !== points[at].c).length;
      return {
        title: DENSITIES[i][1],
        facts: [
          ["training errors", wrong],
          ...means.map(
            (mean, c) =>
              /** @type {[string, string]} */ ([`mean of class ${c + 1}`, mean.map((v) => v.toFixed(2)).join(", ")]),
          ),
        ],
        draw: (stage) => {
          stage.paintShares(seen.grid.probability);
          means.forEach((mean, c) => {
            const matrix = cov(c);
            if (matrix) {
              stage.ellipse(mean, matrix, 1, c);
              stage.ellipse(mean, matrix, 2, c);
            }
            stage.cross(mean[0], mean[1], c);
          });
        },
      };
    }),
};

/**
 * What recorded weights say of a row.
 * @param {number[]} sizes
 * @param {number[]} weights
 * @param {number[]} row
 * @param {string} activation
 */
function forward(sizes, weights, row, activation) {
  let [now, at] = [row, 0];
  for (let l = 0; l + 1 < sizes.length; l++) {
    const [inputs, outputs] = [sizes[l], sizes[l + 1]];
    const next = weights.slice(at + inputs * outputs, at + inputs * outputs + outputs);
    for (let i = 0; i < inputs; i++)
      for (let j = 0; j < outputs; j++) next[j] += now[i] * weights[at + i * outputs + j];
    at += inputs * outputs + outputs;
    const last = l + 2 === sizes.length;
    now = next.map((z) =>
      last ? z : activation === "relu" ? Math.max(0, z) : activation === "tanh" ? Math.tanh(z) : 1 / (1 + Math.exp(-z)),
    );
  }
  return now[0];
}

/** @type {Stop} */
const network = {
  id: "network",
  group: "Regions",
  title: "Neural network",
  kind: "classify",
  objective: "min over W of mean −ln p_y(x),   a_l = f(a_{l−1} W_l + b_l),   δ_{l−1} = (δ_l W_l′) ∘ f′(z_{l−1})",
  look:
    "Each step is an epoch. The background is what the weights of that epoch say. Hidden units are bends (relu) " +
    "or soft steps (tanh); the network moves and weighs them until the classes are apart. " +
    "The second curve shows how far the weights went in the epoch.",
  questions: [
    [
      "Why do the weights not start at zero?",
      "All hidden units would then get the same gradient and stay the same " +
        "for ever. Random weights tell them apart.",
    ],
    [
      "Is the end the best network?",
      "Nobody knows: the loss is not convex. Other seeds end elsewhere, mostly about " + "equally good.",
    ],
    [
      "How many units does exclusive or need?",
      "Two hidden units can do it, but training finds it more easily with " + "more. Try 2 and 8 with several seeds.",
    ],
  ],
  sets: ["moons", "xor", "rings", "mixed"],
  params: [
    { name: "hidden", label: "Hidden units", values: ["[2]", "[8]", "[8,8]"], start: "[8]" },
    { name: "activation", label: "Activation", values: ["tanh", "relu"], start: "tanh" },
    { name: "seed", label: "Seed", values: ["0", "1", "2"], start: "0" },
  ],
  requests: (points, { hidden, activation, seed }) => [
    {
      model:
        `MLPClassifier(hidden_layer_sizes=${hidden}, activation=${activation}, solver=adam, learning_rate_init=0.03, ` +
        "max_iter=150, n_iter_no_change=150, batch_size=32)",
      points: rows(points),
      target: classes(points),
      outputs: ["probability"],
      grid: gridOf(40),
      seed: Number(seed),
    },
  ],
  frames: ([seen], _points, { activation }) => {
    const grid = gridOf(40);
    const losses = seen.steps.map((step) => step.values.loss[0][0]);
    const flat = seen.steps.map((step) => step.values.weights.map(([w]) => w));
    const moved = flat.map((weights, i) => (i ? Math.hypot(...weights.map((w, k) => w - flat[i - 1][k])) : null));
    moved[moved.length - 1] = null;
    return seen.steps.map((step, i) => {
      const sizes = step.values.sizes.map(([n]) => n);
      const last = i === seen.steps.length - 1;
      return {
        title: last ? "the model that is kept" : `after epoch ${step.step + 1}`,
        facts: [
          ["loss", losses[i]],
          ["layers", sizes.join(" → ")],
          ["weights", flat[i].length],
        ],
        charts: [
          ["loss by epoch", losses],
          ["distance that the weights went", moved],
        ],
        draw: (stage) =>
          stage.paintShares(
            last
              ? seen.grid.probability
              : grid.map((row) => {
                  const p = 1 / (1 + Math.exp(-forward(sizes, flat[i], row, activation)));
                  return [1 - p, p];
                }),
          ),
      };
    });
  },
};

export const REGIONS = [knn, densities, svm, kernel, network];
