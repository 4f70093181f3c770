// Without a target: k-means, mixtures, principal components.
import { LOW, HIGH, colour, gridOf } from "./stage.js";

/** @typedef {import("../types").Stop} Stop */
/** @typedef {import("../types").Point} Point */
/** @typedef {import("../types").Seen} Seen */

const rows = (/** @type {Point[]} */ points) => points.map(({ x, y }) => [x, y]);

/** @type {Stop} */
const kmeans = {
  id: "kmeans",
  group: "Groups",
  title: "k-means",
  kind: "cluster",
  objective: "min over centres c₁ … c_k of Σᵢ minⱼ ‖xᵢ − cⱼ‖²",
  look:
    "Every step has two halves: each point takes the colour of its nearest centre, then each centre moves to the " +
    "mean of its points. " +
    "Neither can raise the sum of squares, and there are finitely many ways to colour the points: so it ends. Try " +
    "another seed: it may end elsewhere.",
  questions: [
    [
      "Why does the objective never rise?",
      "With fixed centres the nearest one is the best choice for every point; " +
        "with fixed colours the mean is the point with the least sum of squared distances. Each half solves its " +
        "half of the problem exactly.",
    ],
    [
      "Is the end the best of all ways to choose centres?",
      "Not always. It is a fixed point of both halves. Finding " +
        "the best is NP-hard, so the library tries several starts (n_init) and keeps the best.",
    ],
    [
      "What happens on the long clusters, and why?",
      "They are cut across. The objective measures distance equally in " +
        "all directions, so k-means prefers round clusters of similar size. A mixture with full covariances does " +
        "better.",
    ],
  ],
  sets: ["three", "close", "long", "rings"],
  params: [
    { name: "k", label: "Clusters", values: ["2", "3", "4", "6"], start: "3" },
    { name: "init", label: "Start", values: ["random", "k-means++"], start: "random" },
    { name: "seed", label: "Seed", values: ["0", "1", "2", "3"], start: "0" },
  ],
  requests: (points, { k, init, seed }) => [
    { model: `KMeans(n_clusters=${k}, n_init=1, init=${init}, tol=0)`, points: rows(points), seed: Number(seed) },
  ],
  frames: ([seen], points) => {
    const inertia = seen.steps.map((step) => step.values.inertia[0][0]);
    return seen.steps.map((step, i) => {
      const { centres, labels } = step.values;
      const moved = i
        ? labels.filter((label, at) => label[0] !== seen.steps[i - 1].values.labels[at][0]).length
        : points.length;
      return {
        title: step.what === "chosen" ? "the model that is kept" : "points take their nearest centre",
        facts: [
          ["sum of squares", inertia[i]],
          ["points that changed", moved],
        ],
        charts: [["sum of squared distances", inertia]],
        draw: (stage) => {
          const nearest = (/** @type {number[]} */ [x, y]) => {
            const far = centres.map(([a, b]) => (x - a) ** 2 + (y - b) ** 2);
            return [far.indexOf(Math.min(...far))];
          };
          stage.paintClasses(gridOf(90).map(nearest));
          stage.look = (_, at) => (labels[at] ? { style: `fill: ${colour(labels[at][0])}` } : {});
          for (let back = 1; back <= i; back++) {
            centres.forEach((_, c) =>
              stage.line([seen.steps[back - 1].values.centres[c], seen.steps[back].values.centres[c]], {
                style: `stroke: ${colour(c)}`,
                "stroke-width": 1.5,
                "stroke-dasharray": "3 3",
              }),
            );
          }
          centres.forEach(([x, y], c) => stage.cross(x, y, c));
        },
      };
    });
  },
};

/** @type {Stop} */
const mixture = {
  id: "mixture",
  group: "Groups",
  title: "Gaussian mixture (EM)",
  kind: "cluster",
  objective: "max over π, m, S of Σᵢ ln Σ_k π_k N(xᵢ; m_k, S_k)",
  look:
    "A point has no single colour but a share of every component: its responsibilities. The E step computes them, " +
    "the M step takes weighted means and covariances. " +
    "Ellipses are one and two standard deviations. The log-likelihood climbs in every step, quickly first and then " +
    "slowly.",
  questions: [
    [
      "Why can the likelihood never fall?",
      "The E step makes a lower bound (the ELBO) touch the log-likelihood at the " +
        "present parameters, and the M step raises that bound as far as it goes. What lies above a bound that rose " +
        "has risen too.",
    ],
    [
      "What is k-means in this picture?",
      "The limit of equal round covariances that shrink to zero: then each point " +
        "belongs wholly to its nearest mean.",
    ],
    [
      "How could the likelihood become infinite?",
      "If a component sits on a single point its covariance can shrink to " +
        "nothing. reg_covar adds a little to every variance, so that it cannot.",
    ],
  ],
  sets: ["long", "close", "three", "rings"],
  params: [
    { name: "k", label: "Components", values: ["2", "3", "4"], start: "3" },
    { name: "kind", label: "Covariances", values: ["full", "diag", "spherical", "tied"], start: "full" },
    { name: "seed", label: "Seed", values: ["0", "1", "2"], start: "0" },
  ],
  requests: (points, { k, kind, seed }) => [
    {
      model:
        `GaussianMixture(n_components=${k}, covariance_type=${kind}, init_params=random_from_data, ` +
        "tol=1e-5, max_iter=200)",
      points: rows(points),
      seed: Number(seed),
    },
  ],
  frames: ([seen], _points, { kind }) => {
    const bound = seen.steps.map((step) => step.values.bound[0][0]);
    return seen.steps.map((step, i) => {
      const { means, covariances, weights, responsibilities } = step.values;
      const cov = (/** @type {number} */ c) => {
        const held = covariances[kind === "tied" ? 0 : c];
        return kind === "diag" ? [held[0], 0, 0, held[1]] : kind === "spherical" ? [held[0], 0, 0, held[0]] : held;
      };
      return {
        title: step.what === "chosen" ? "the model that is kept" : "shares, then means and covariances",
        facts: [
          ["mean log-likelihood", bound[i]],
          ...weights.map((w, c) => /** @type {[string, number]} */ ([`weight ${c + 1}`, w[0]])),
        ],
        charts: [["mean log-likelihood", bound]],
        draw: (stage) => {
          stage.look = (_, at) => {
            const share = responsibilities?.[at];
            if (!share) return {};
            const best = share.indexOf(Math.max(...share));
            return { style: `fill: ${colour(best)}`, "fill-opacity": (0.25 + 0.75 * share[best]).toFixed(2) };
          };
          means.forEach((mean, c) => {
            stage.ellipse(mean, cov(c), 1, c);
            stage.ellipse(mean, cov(c), 2, c);
            stage.cross(mean[0], mean[1], c);
          });
        },
      };
    });
  },
};

const ANGLES = 37;

/** @type {Stop} */
const pca = {
  id: "pca",
  group: "Groups",
  title: "Principal components",
  kind: "cluster",
  objective: "max over ‖v‖ = 1 of Var(v·x)  =  min over ‖v‖ = 1 of Σᵢ ‖xᵢ − m − v v·(xᵢ − m)‖²",
  look:
    "A line turns through the mean. Thin lines go from each point to its place on it. Where the spread along the " +
    "line is largest, the thin lines are shortest: " +
    "both add up to the total variance, whatever the direction. The last step is the component that the library " +
    "found.",
  questions: [
    [
      "Why are most variance and least error the same?",
      "Pythagoras: for every point the squared distance to the mean " +
        "is the square along the line plus the square across it. The sum over the points is fixed, so one is large " +
        "where the other is small.",
    ],
    [
      "What is the variance along the first component?",
      "The largest eigenvalue of the covariance matrix; the " + "component is its eigenvector.",
    ],
    [
      "What if one column is measured in grams instead of kilograms?",
      "Its variance grows a million times and it " +
        "becomes the first component. Components depend on units: scale the columns unless they share one.",
    ],
  ],
  sets: ["oval", "long", "three"],
  params: [],
  requests: (points) => [{ model: "PCA(n_components=2)", points: rows(points) }],
  frames: ([seen], points) => {
    const mean = seen.attributes.mean_;
    const [first] = seen.attributes.components_;
    const variances = seen.attributes.explained_variance_;
    const total = variances[0] + variances[1];
    const end = Math.atan2(first[1], first[0]);
    // The variance along v is v'Sv with S from the fitted components.
    const along = (/** @type {number} */ angle) =>
      variances[0] * Math.cos(angle - end) ** 2 + variances[1] * Math.sin(angle - end) ** 2;
    const angles = Array.from({ length: ANGLES }, (_, i) => end - Math.PI * (1 - i / (ANGLES - 1)));
    const spreads = angles.map(along);
    spreads[ANGLES - 1] = variances[0];
    return angles.map((angle, i) => ({
      title:
        i === ANGLES - 1 ? "the first component" : `${Math.round(((angle - end) * 180) / Math.PI)}° from the component`,
      facts: [
        ["variance along", spreads[i]],
        ["variance across", total - spreads[i]],
        ["share along", spreads[i] / total],
      ],
      charts: [
        ["variance along the line", spreads],
        ["mean squared distance to it", spreads.map((v) => total - v)],
      ],
      draw: (stage) => {
        const v = i === ANGLES - 1 ? first : [Math.cos(angle), Math.sin(angle)];
        for (const { x, y } of points) {
          const t = (x - mean[0]) * v[0] + (y - mean[1]) * v[1];
          stage.segment([x, y], [mean[0] + t * v[0], mean[1] + t * v[1]], { style: "stroke: var(--c2)" });
        }
        const far = HIGH - LOW;
        stage.line([
          [mean[0] - far * v[0], mean[1] - far * v[1]],
          [mean[0] + far * v[0], mean[1] + far * v[1]],
        ]);
        stage.cross(mean[0], mean[1], 4);
      },
    }));
  },
};

export const CLUSTER = [kmeans, mixture, pca];
