// Two models on the same rows: scores with a paired test, where they differ row by row, what drives each.
import { chart, dashed, line, tooltip } from "../ui/chart.js";
import { card, el, remark, table } from "../ui/dom.js";
import { shortNumber, text, whole, words } from "../ui/format.js";
import { post } from "./api.js";
import { button, field, pageHead, select, trouble } from "./parts.js";

/** @typedef {import("./types").Lab} Lab */
/** @typedef {import("./types").Diff} Diff */

// Columns of a row beside what is said of it.
const COLUMNS = 4;
const DRIVERS = 15;

/**
 * Models that predict the same, the newest first.
 * @param {Lab} lab
 * @param {string} name
 */
export function rivals(lab, name) {
  const own = lab.state.models.find((model) => model.name === name);
  const same = lab.state.models.filter((model) => model.target && model.target === own?.target);
  return same.filter((model) => model.name !== name).reverse();
}

/** @param {Lab} lab @param {string} first @param {string} second @returns {import("./types").Page} */
export function comparePage(lab, first, second) {
  const { models, tables } = lab.state;
  const known = (/** @type {string} */ name) => models.find((model) => model.name === name);
  const trained = [known(first)?.table, known(second)?.table];
  let chosen = tables.some(({ name }) => name === trained[0]) ? trained[0] || "" : tables[0]?.name || "";
  const body = el("div", { class: "stack" });
  const list = (/** @type {string} */ name, /** @type {string} */ other) =>
    [name, ...rivals(lab, name).map((model) => model.name)]
      .filter((found) => found !== other)
      .map((found) => /** @type {[string, string]} */ ([found, found]));
  const a = select(list(first, second), first, (value) => lab.go("understand", value, second));
  const b = select(list(second, first), second, (value) => lab.go("understand", first, value));
  const rows = select(
    tables.map(({ name }) => [name, name]),
    chosen,
    (value) => {
      chosen = value;
      load();
    },
  );
  let asked = 0;
  const load = async () => {
    const mine = ++asked;
    body.replaceChildren(el("p", { class: "soft" }, "Asking both models about every row …"));
    try {
      /** @type {{ diff: Diff, numbers: number[], said: string[] }} */
      const found = await post("api/diff", { first, second, table: chosen });
      if (mine !== asked) return;
      const seen = trained.includes(chosen);
      const warning = el(
        "div",
        { class: "card worries" },
        "These rows were learnt from: a model that remembers them looks better than it is. The scores in the reports " +
          "are of rows that were held out; for a fair comparison drop a table of other rows and choose it above.",
      );
      body.replaceChildren(
        ...[seen ? warning : null, ...shown(found, first, second, seen)].filter((part) => part !== null),
      );
    } catch (problem) {
      if (mine === asked) body.replaceChildren(trouble(problem));
    }
    lab.draw();
  };
  const controls = el(
    "div",
    { class: "card three" },
    field("First model", a),
    field("Second model", b),
    field("Rows of", rows),
  );
  const back = button("Back to the report", () => lab.go("understand", first));
  load();
  return {
    node: el("div", { class: "stack" }, pageHead("Two models, row by row"), controls, body, el("div", {}, back)),
  };
}

/**
 * @param {{ diff: Diff, numbers: number[], said: string[] }} found
 * @param {string} first
 * @param {string} second
 * @param {boolean} seen Whether the rows were learnt from.
 */
function shown({ diff, numbers, said }, first, second, seen) {
  return [
    verdict(diff, first, second, seen),
    el(
      "div",
      { class: "pair" },
      scores(diff),
      diff.agreement ? agreement(diff.agreement) : beside(diff),
    ),
    differing(diff, numbers),
    drivers(diff),
    ...said.map((note) => remark(note)),
  ];
}

/** @param {Diff} diff @param {string} first @param {string} second @param {boolean} seen */
function verdict({ paired, rows, differing }, first, second, seen) {
  const chance = !(paired.p < 0.05);
  const said = chance
    ? "There is no difference that could not be chance."
    : `${paired.difference < 0 ? second : first} ${seen ? "fits" : "predicts"} these rows better.`;
  const range = paired.low === null || paired.high === null ? "" : `, ${text(paired.low)} to ${text(paired.high)}`;
  return el(
    "div",
    { class: "card", id: "verdict" },
    el("p", {}, el("strong", {}, said)),
    remark(
      `${words(paired.of)}, second minus first: ${text(paired.difference)} (95 % interval${range}; paired t test, ` +
        `p = ${paired.p < 0.001 ? "under 0.001" : paired.p.toFixed(3)}). They differ on ${whole(differing)} of ` +
        `${whole(rows)} rows.`,
    ),
  );
}

/** @param {Diff} diff */
function scores(diff) {
  const rows = diff.scores.map(([metric, a, b]) =>
    el(
      "tr",
      {},
      el("td", {}, words(metric)),
      el("td", { class: "n" }, text(a)),
      el("td", { class: "n" }, text(b)),
      el("td", { class: "n wide soft" }, a === null || b === null ? "" : text(b - a)),
    ),
  );
  const head = [
    { name: "" },
    { name: "first", n: true },
    { name: "second", n: true },
    { name: "difference", n: true, wide: true },
  ];
  return card(`Scores on ${whole(diff.rows)} rows`, table(head, rows));
}

/** @param {NonNullable<Diff["agreement"]>} found */
function agreement(found) {
  const most = Math.max(found.both, found.first, found.second, found.neither, 1);
  const row = (/** @type {string} */ name, /** @type {number[]} */ cells) =>
    el(
      "tr",
      {},
      el("th", { class: "row", scope: "row" }, name),
      cells.map((count) =>
        el("td", { style: `background: rgba(var(--shade), ${((0.6 * count) / most).toFixed(3)})` }, whole(count)),
      ),
    );
  return card(
    "Who is right?",
    table(
      [{ name: "" }, { name: "second right" }, { name: "second wrong" }],
      [row("first right", [found.both, found.first]), row("first wrong", [found.second, found.neither])],
      "matrix",
    ),
  );
}

/** @param {Diff} diff */
function beside({ points }) {
  const all = points.flatMap(([, a, b]) => [a, b]);
  const [low, high] = [Math.min(...all), Math.max(...all)];
  return chart("What each predicts", "On the dashed line both say the same.", (axis) => ({
    legend: { show: false },
    tooltip: tooltip("item", (p) => [
      `true ${text(points[p.dataIndex][0])}`,
      `first ${text(p.value[0])}`,
      `second ${text(p.value[1])}`,
    ]),
    xAxis: axis({ type: "value", name: "first model", nameGap: 24, scale: true }),
    yAxis: axis({ type: "value", name: "second model", nameGap: 44, scale: true }),
    series: [
      { type: "scatter", data: points.map(([, a, b]) => [a, b]), symbolSize: 5, itemStyle: { opacity: 0.6 } },
      {
        type: "line",
        data: [
          [low, low],
          [high, high],
        ],
        ...line,
        lineStyle: dashed(),
      },
    ],
  }));
}

/** @param {Diff} diff @param {number[]} numbers */
function differing(diff, numbers) {
  const { examples } = diff;
  if (!examples.length) return card("Rows that differ", el("p", {}, "The models say the same of every row."));
  const weight = new Map(diff.drivers.map(([name, a, b]) => [name, Math.max(a, b)]));
  const names = examples[0].values
    .map(([name]) => name)
    .sort((x, y) => (weight.get(y) || 0) - (weight.get(x) || 0))
    .slice(0, COLUMNS);
  const rows = examples.map((example, place) => {
    const values = new Map(example.values);
    return el(
      "tr",
      {},
      el("td", { class: "n soft" }, whole(numbers[place])),
      el("td", {}, example.truth),
      example.said.map((said) =>
        el("td", said === example.truth ? { class: "right" } : {}, diff.agreement ? said : shortNumber(said)),
      ),
      names.map((name) => el("td", { class: "wide soft" }, values.get(name) || "")),
    );
  });
  const head = [
    { name: "row", n: true },
    { name: "true" },
    { name: "first" },
    { name: "second" },
    ...names.map((name) => ({ name, wide: true })),
  ];
  const some = diff.differing > examples.length ? `The first ${examples.length} of ${whole(diff.differing)}. ` : "";
  const far = diff.agreement ? "" : "Numbers differ if they are a tenth of their deviation apart. ";
  return card("Rows that differ", table(head, rows), remark(`${some}${far}Rows are counted as in the file.`));
}

/** @param {Diff} diff */
function drivers(diff) {
  const rows = diff.drivers.slice(0, DRIVERS).map(([name, a, b]) =>
    el(
      "tr",
      {},
      el("td", {}, name),
      el("td", { class: "n" }, text(a)),
      el("td", { class: "n" }, text(b)),
      el("td", { class: "n wide soft" }, text(b - a)),
    ),
  );
  if (!rows.length) return null;
  const head = [
    { name: "column" },
    { name: "first", n: true },
    { name: "second", n: true },
    { name: "difference", n: true, wide: true },
  ];
  return card(
    "What drives each",
    table(head, rows),
    remark("Fall of the score when the column is shuffled; the largest difference first."),
  );
}
