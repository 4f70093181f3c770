// Train: which model, and how good is it? The leaderboard fills while the comparison runs.
import { el, remark, svg, table } from "../ui/dom.js";
import { text, whole, words } from "../ui/format.js";
import { get, post } from "./api.js";
import { rivals } from "./compare.js";
import { button, choice, copyable, field, pageHead, select, trouble } from "./parts.js";

/** @typedef {import("./types").Lab} Lab */
/** @typedef {import("./types").Run} Run */
/** @typedef {import("./types").Candidate} Candidate */

const EFFORTS = /** @type {[string, string, string][]} */ ([
  ["quick", "Quick", "about ten seconds on two cores"],
  ["normal", "Normal", "about a minute"],
  ["thorough", "Thorough", "about ten minutes"],
]);

/** @param {Lab} lab @returns {import("./types").Page} */
export function trainPage(lab) {
  const node = el(
    "div",
    { class: "stack" },
    pageHead(
      "Train",
      el(
        "p",
        { class: "soft" },
        "Models that make sense are compared by cross-validation; the best is tested on rows " +
          "held out and fitted on all.",
      ),
    ),
  );
  if (!lab.settings.table) {
    node.append(el("div", { class: "card" }, "There is no table yet. ", el("a", { href: "#/data" }, "Open one")));
    return { node };
  }
  const side = el("div", { class: "card" });
  const runs = el("div", { class: "stack", "aria-label": "runs" });
  node.append(el("div", { class: "columns" }, side, runs));
  /** @type {Map<number, { card: HTMLElement, run: Run }>} */
  const cards = new Map();
  const update = () => {
    const all = [...lab.state.runs].sort((a, b) => b.id - a.id);
    if (!all.length) runs.replaceChildren(nothing(lab));
    for (const run of all) {
      const known = cards.get(run.id);
      if (known && JSON.stringify(known.run) === JSON.stringify(run)) continue;
      const fresh = runCard(lab, run, run === all[0]);
      const card = known && sameButtons(known.card, fresh) ? refreshed(known.card, fresh) : fresh;
      cards.set(run.id, { card, run: structuredClone(run) });
    }
    if (all.length) {
      const list = all.map((run) => /** @type {HTMLElement} */ (cards.get(run.id)?.card));
      // Only what has changed is touched, so that focus and scrolling stay.
      list.forEach((card, place) => {
        if (runs.children[place] !== card) runs.insertBefore(card, runs.children[place] || null);
      });
      while (runs.children.length > list.length) runs.lastElementChild?.remove();
    }
  };
  form(lab, side);
  update();
  return { node, update };
}

/**
 * Runs are forgotten when the program ends, their models are not.
 * @param {Lab} lab
 */
const nothing = ({ state: { models } }) =>
  models.length
    ? el(
        "div",
        { class: "card soft" },
        `Nothing has been trained since the start. ${models.length === 1 ? "A model" : `${models.length} models`} of ` +
          "earlier runs: ",
        el("a", { href: "#/understand" }, "Understand"),
      )
    : el("div", { class: "card soft" }, "Nothing has been trained yet.");

/** @param {Lab} lab @param {HTMLElement} side */
async function form(lab, side) {
  const { settings } = lab;
  side.replaceChildren(el("p", { class: "soft" }, "Reading the table …"));
  /** @type {import("../ui/types").Look} */
  let look;
  try {
    look = await post("api/look", settings);
  } catch (problem) {
    side.replaceChildren(trouble(problem));
    return;
  }
  const names = look.columns.map((column) => column.name);
  const target = select(
    [["", "none: find clusters"], ...names.map((name) => /** @type {[string, string]} */ ([name, name]))],
    settings.target || "",
    (value) => {
      lab.set({ target: value || null, models: [], task: null, metric: null });
      form(lab, side);
    },
  );
  const task = look.task
    ? select(
        [
          ["", `${look.task} (found)`],
          ["classification", "classification"],
          ["regression", "regression"],
        ],
        settings.task || "",
        (value) => {
          lab.set({ task: value || null, models: [] });
          form(lab, side);
        },
      )
    : null;
  const formula = /** @type {HTMLInputElement} */ (
    el("input", { type: "text", placeholder: "all columns", value: settings.features || "", spellcheck: "false" })
  );
  formula.addEventListener("change", () => lab.set({ features: formula.value.trim() || null }));
  const problem = el("div", {});
  const start = button(
    "Train",
    async () => {
      start.disabled = true;
      problem.replaceChildren();
      try {
        await post("api/runs", lab.settings);
      } catch (error) {
        problem.replaceChildren(trouble(error));
      }
      start.disabled = false;
    },
    { class: "main" },
  );
  side.replaceChildren(
    ...[
      field("Column to predict (target)", target),
      task ? field("Task", task) : null,
      look.task ? choice("Effort", EFFORTS, settings.effort || "normal", (value) => lab.set({ effort: value })) : null,
      look.task ? models(lab, look) : null,
      el(
        "details",
        {},
        el("summary", {}, "Features"),
        field("Formula", formula, "For example: log(body_mass_g) + island * sex"),
      ),
      el("div", { class: "row", style: "margin-top: 16px" }, start),
      problem,
      remark(settings.ignore?.length ? `Without ${settings.ignore.join(", ")}, as chosen on the data page.` : null),
    ].filter((part) => part !== null),
  );
}

/** @param {Lab} lab @param {import("../ui/types").Look} look */
function models(lab, look) {
  const wanted = look.task === "classification" ? "Classification" : "Regression";
  const known = lab.state.known.filter((model) => model.task === wanted);
  const chosen = new Set(lab.settings.models || []);
  const tune = /** @type {HTMLInputElement} */ (el("input", { type: "checkbox" }));
  tune.checked = lab.settings.tune || false;
  tune.addEventListener("change", () => lab.set({ tune: tune.checked }));
  const tuning = el(
    "label",
    { class: "small", style: "display: block; margin-top: 6px" },
    tune,
    " search its parameters",
  );
  const summary = el("summary", {});
  const show = () => {
    summary.textContent = chosen.size ? `Models: ${[...chosen].join(", ")}` : "Models: all that make sense";
    tuning.hidden = chosen.size !== 1;
  };
  const checks = known.map((model) => {
    const box = /** @type {HTMLInputElement} */ (el("input", { type: "checkbox" }));
    box.checked = chosen.has(model.name);
    box.addEventListener("change", () => {
      if (box.checked) chosen.add(model.name);
      else chosen.delete(model.name);
      lab.set({ models: [...chosen] });
      show();
    });
    return el("label", {}, box, ` ${model.name}`);
  });
  show();
  return el(
    "details",
    { style: "margin-top: 10px" },
    summary,
    el("div", { class: "checks", role: "group", "aria-label": "models", tabindex: "0" }, checks),
    tuning,
  );
}

/** @param {HTMLElement} a @param {HTMLElement} b */
function sameButtons(a, b) {
  const buttons = (/** @type {HTMLElement} */ card) =>
    [...card.querySelectorAll(".buttons button")].map((found) => found.textContent).join();
  return buttons(a) === buttons(b);
}

/**
 * The card with all but its buttons taken from a newer one: a button must not move away from under the hand.
 * @param {HTMLElement} card
 * @param {HTMLElement} fresh
 */
function refreshed(card, fresh) {
  card.dataset.state = fresh.dataset.state;
  const [row, ...rest] = [...fresh.children];
  card.children[0].children[0].replaceWith(row.children[0]);
  while (card.children.length > 1) card.lastElementChild?.remove();
  card.append(...rest);
  return card;
}

/** @param {Lab} lab @param {Run} run @param {boolean} newest */
function runCard(lab, run, newest) {
  const busy = run.state === "running" || run.state === "waiting";
  const what = run.asked.target ? `${run.asked.target} from ${run.asked.table}` : `clusters of ${run.asked.table}`;
  const status = run.state === "running" ? (run.enough ? "finishing" : run.what) : run.state;
  const act = (/** @type {string} */ how) => () =>
    post(`api/runs/${run.id}/${how}`).catch((problem) => lab.say(problem.message));
  const canKeep =
    run.candidates.some((found) => found.mean !== null) &&
    !run.enough &&
    ["comparing", "comparing again", "searching", "blending", "calibrating"].includes(run.what);
  const rival = run.model ? rivals(lab, run.model)[0] : null;
  const buttons = busy
    ? [
        run.state === "running" && canKeep ? button("Stop and keep the best", act("enough")) : null,
        button("Cancel", act("cancel")),
      ]
    : run.model
      ? [
          button("Understand", () => lab.go("understand", /** @type {string} */ (run.model)), { class: "main" }),
          button("Use", () => lab.go("use", /** @type {string} */ (run.model))),
          rival ? button("Compare", () => lab.go("understand", /** @type {string} */ (run.model), rival.name)) : null,
        ]
      : [];
  const share = run.of ? Math.min(1, run.step / run.of) : 0;
  const progress = run.of ? `${run.step} of ${run.of}` : "";
  return el(
    "article",
    { class: "card", "data-run": run.id, "data-state": run.state },
    el(
      "div",
      { class: "row" },
      el(
        "div",
        {},
        el("h3", {}, what),
        el("span", { class: `state ${run.state}` }, status),
        el("span", { class: "soft small" }, ` ${run.seconds.toFixed(1)} s ${busy ? progress : ""}`),
      ),
      el("div", { class: "row buttons" }, buttons),
    ),
    run.state === "running"
      ? el("div", { class: "meter", "aria-hidden": "true" }, el("i", { style: `width: ${(100 * share).toFixed(0)}%` }))
      : null,
    run.error ? trouble(run.error) : null,
    board(run),
    newest && run.model ? reproduce(run.model) : null,
  );
}

/**
 * One line a model: its best score on the most rows.
 * @param {Run} run
 */
function board(run) {
  const scored = run.candidates.filter((found) => found.mean !== null);
  if (!scored.length) return null;
  const sign = scored[0].greater_is_better ? 1 : -1;
  const value = (/** @type {Candidate} */ found) => sign * Number(found.mean);
  /** @type {Map<string, Candidate>} */
  const best = new Map();
  for (const found of scored) {
    const known = best.get(found.model);
    if (!known || found.rows > known.rows || (found.rows === known.rows && value(found) > value(known)))
      best.set(found.model, found);
  }
  const list = [...best.values()].sort((a, b) => value(b) - value(a));
  const inner = list.slice(0, Math.max(3, Math.ceil(list.length * 0.6)));
  const low = Math.min(...inner.map((found) => Number(found.mean) - (found.margin || 0)));
  const high = Math.max(...inner.map((found) => Number(found.mean) + (found.margin || 0)));
  const x = (/** @type {number} */ score) => 4 + 132 * Math.min(1, Math.max(0, (score - low) / (high - low || 1)));
  const rows = list.slice(0, 12).map((found, place) => {
    const [mean, margin] = [Number(found.mean), found.margin || 0];
    const colour = place === 0 ? "var(--good)" : "var(--c1)";
    return el(
      "tr",
      { class: place === 0 ? "first" : "" },
      el("td", {}, found.model, found.tuned ? el("span", { class: "tag" }, "tuned") : null),
      el("td", { class: "n" }, text(mean)),
      el("td", { class: "n soft" }, `± ${text(margin)}`),
      el(
        "td",
        { class: "wide" },
        svg(
          "svg",
          { class: "span", style: "width: 140px", viewBox: "0 0 140 22", "aria-hidden": "true" },
          svg("line", {
            x1: x(mean - margin),
            x2: x(mean + margin),
            y1: 11,
            y2: 11,
            style: `stroke: ${colour}`,
            "stroke-width": 2,
            opacity: 0.5,
          }),
          svg("circle", { cx: x(mean), cy: 11, r: 4.5, style: `fill: ${colour}` }),
        ),
      ),
      el("td", { class: "n wide soft" }, whole(found.rows)),
      el("td", { class: "n wide soft" }, found.seconds.toFixed(2)),
    );
  });
  const heads = [
    { name: "model" },
    { name: words(scored[0].metric), n: true },
    { name: "95 %", n: true },
    { name: "", wide: true },
    { name: "rows", n: true, wide: true },
    { name: "seconds", n: true, wide: true },
  ];
  const failed = run.candidates.filter((found) => found.mean === null && found.note !== "stopped early");
  return el(
    "div",
    {},
    table(heads, rows),
    list.length > 12 ? remark(`and ${list.length - 12} more`) : null,
    failed.length
      ? remark(`Without a score: ${failed.map((found) => `${found.model} (${found.note})`).join(", ")}`)
      : null,
  );
}

/** @param {string} name */
function reproduce(name) {
  const place = el("div", { class: "stack", style: "margin-top: 14px" });
  get(`api/models/${encodeURIComponent(name)}`)
    .then((/** @type {import("./types").About} */ about) => {
      place.append(
        el("p", {}, about.report.choice || ""),
        copyable("The same on the command line", about.asked.command),
        copyable("The same from Python", about.asked.python),
      );
      if (about.report.comparison?.cuts.length) {
        place.append(
          remark("This run was stopped early: the command compares to the end and may choose another model."),
        );
      }
    })
    .catch((problem) => place.append(trouble(problem)));
  return place;
}
