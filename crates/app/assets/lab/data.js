// Data: what is in a table, column by column, and what is odd about it.
import { el, remark, table } from "../ui/dom.js";
import { text, whole } from "../ui/format.js";
import { post } from "./api.js";
import { bars, button, classLegend, field, levelBars, pageHead, select, size, trouble } from "./parts.js";

/** @typedef {import("./types").Lab} Lab */
/** @typedef {import("./types").Look} Look */
/** @typedef {import("./types").LookColumn} LookColumn */

const SHOWN = 60;
const KINDS = ["number", "boolean", "category", "text", "date", "datetime"];

/** @param {Lab} lab @returns {import("./types").Page} */
export function dataPage(lab) {
  const node = el("div", { class: "stack" });
  const now = lab.state.tables.find((found) => found.name === lab.settings.table);
  if (!now) {
    node.append(welcome(lab));
    return { node };
  }
  const body = el("div", { class: "stack", "aria-busy": "true" }, el("p", { class: "soft" }, "Reading the table …"));
  node.append(pageHead(now.name, el("p", { class: "soft" }, size(now.bytes))), body);
  let asked = 0;
  const load = async () => {
    const mine = ++asked;
    body.setAttribute("aria-busy", "true");
    try {
      /** @type {Look} */
      const look = await post("api/look", lab.settings);
      if (mine !== asked) return;
      node.firstElementChild?.replaceWith(head(now, look));
      body.replaceChildren(...shown(lab, look, load));
    } catch (problem) {
      if (mine !== asked) return;
      body.replaceChildren(trouble(problem), undo(lab, load));
    }
    body.removeAttribute("aria-busy");
    lab.draw();
  };
  load();
  return { node };
}

/** @param {Lab} lab @param {() => void} load */
const undo = (lab, load) =>
  button("Read it as it was first", () => {
    lab.set({ kinds: {}, target: null, ignore: [], keep: [] });
    load();
  });

/** @param {{ name: string, bytes: number }} now @param {Look} look */
function head(now, look) {
  const sample = look.sampled < look.rows ? `; distributions from ${whole(look.sampled)} of them` : "";
  return pageHead(
    now.name,
    el("p", { class: "soft" }, `${whole(look.rows)} rows${sample}, ${look.columns.length} columns, ${size(now.bytes)}`),
  );
}

/** @param {Lab} lab */
function chooser(lab) {
  const input = /** @type {HTMLInputElement} */ (el("input", { type: "file", hidden: "", "aria-label": "table file" }));
  input.addEventListener("change", () => {
    if (input.files?.[0]) lab.take(input.files[0]);
  });
  return [input, button("Choose a file", () => input.click(), { class: "main" })];
}

/** @param {Lab} lab */
function welcome(lab) {
  return el(
    "div",
    { class: "drop" },
    el("h1", {}, "Drop a table here"),
    el("p", { class: "soft" }, "CSV, Excel, Parquet, Arrow, JSON; packed or not. It stays on this machine."),
    el("div", { class: "row" }, chooser(lab)),
    remark("Or look at how algorithms work first: ", el("a", { href: "#/watch" }, "Watch")),
  );
}

/**
 * @param {Lab} lab
 * @param {Look} look
 * @param {() => void} load
 */
function shown(lab, look, load) {
  const names = look.columns.map((column) => column.name);
  const { settings } = lab;
  /** @param {Partial<import("./types").Settings>} change */
  const change = (change) => {
    lab.set(change);
    load();
  };
  const target = select(
    [["", "none yet"], ...names.map((name) => /** @type {[string, string]} */ ([name, name]))],
    settings.target || "",
    (value) => change({ target: value || null }),
  );
  const next = button("Train a model", () => lab.go("train"), { class: "main" });
  const add = /** @type {HTMLElement[]} */ (chooser(lab));
  add[1].classList.remove("main");
  add[1].textContent = "Another table";
  const controls = el(
    "div",
    { class: "card row" },
    el(
      "div",
      { class: "field", style: "flex: 1 1 220px; max-width: 340px" },
      ...field("Column to predict (target)", target).childNodes,
    ),
    el("div", { class: "row" }, add, settings.target ? next : null),
  );
  const grid = el("div", { class: "fields" });
  const put = (/** @type {LookColumn[]} */ list) =>
    grid.append(...list.map((column) => columnCard(lab, look, column, change)));
  // What goes with the target first.
  const strength = (/** @type {LookColumn} */ column) =>
    column.name === look.target ? 2 : column.association ? Math.abs(column.association.value) : -1;
  const ordered = look.target ? [...look.columns].sort((a, b) => strength(b) - strength(a)) : look.columns;
  put(ordered.slice(0, SHOWN));
  const rest = ordered.slice(SHOWN);
  const more = rest.length
    ? button(`Show ${whole(rest.length)} more columns`, () => {
        put(rest.splice(0, 200));
        if (!rest.length) more?.remove();
      })
    : null;
  return [
    controls,
    findings(lab, look, change),
    el(
      "section",
      { class: "stack", "aria-label": "columns" },
      el("div", { class: "row" }, el("h2", {}, "Columns"), look.classes.length ? classLegend(look.classes) : null),
      grid,
      more,
    ),
    correlations(look),
    firstRows(look),
  ].filter((part) => part !== null);
}

/**
 * @param {Lab} lab
 * @param {Look} look
 * @param {LookColumn} column
 * @param {(change: Partial<import("./types").Settings>) => void} change
 */
function columnCard(lab, look, column, change) {
  const { settings } = lab;
  const ignored = (settings.ignore || []).includes(column.name);
  const left = look.left_out.find((drop) => drop.column === column.name);
  const isTarget = column.name === look.target;
  const kind = select(
    KINDS.map((name) => [name, name]),
    column.kind,
    (value) => change({ kinds: { ...settings.kinds, [column.name]: value } }),
    { "aria-label": `kind of ${column.name}` },
  );
  const use = /** @type {HTMLInputElement} */ (
    el("input", { type: "checkbox", "aria-label": `learn from ${column.name}` })
  );
  use.checked = !ignored;
  use.addEventListener("change", () => {
    const others = (settings.ignore || []).filter((name) => name !== column.name);
    change({ ignore: use.checked ? others : [...others, column.name] });
  });
  const facts = [
    column.missing ? `${((100 * column.missing) / column.rows).toFixed(1)} % missing` : null,
    column.distinct === null ? "very many values" : `${whole(column.distinct)} values`,
    column.mean !== null && column.kind === "number" ? `mean ${text(column.mean)}` : null,
    column.outliers ? `${whole(column.outliers)} far out` : null,
  ]
    .filter(Boolean)
    .join(" · ");
  return el(
    "div",
    { class: `card column${ignored || left ? " out" : ""}` },
    el(
      "div",
      { class: "row" },
      isTarget ? null : use,
      el("h3", {}, column.name),
      isTarget ? el("span", { class: "tag" }, "target") : null,
      kind,
    ),
    picture(column),
    el("p", { class: "soft" }, facts),
    column.association ? strengthBar(column.association) : null,
    left ? el("p", { class: "soft" }, `Left out: ${left.reason}`) : null,
  );
}

/** @param {LookColumn} column */
function picture(column) {
  const { picture: shape } = column;
  if (shape === "empty") return el("p", { class: "soft" }, "No value is known.");
  if ("histogram" in shape) {
    const { counts, low_text: low, high_text: high } = shape.histogram;
    return el(
      "div",
      {},
      bars(counts, `distribution of ${column.name} from ${low} to ${high}`),
      el("div", { class: "ends" }, el("span", {}, low), el("span", {}, high)),
    );
  }
  if ("levels" in shape) return levelBars(shape.levels.names, shape.levels.others, shape.levels.counts);
  return el(
    "ul",
    { class: "levels" },
    shape.text.examples.map((example) => el("li", { style: "display: block" }, `“${example}”`)),
  );
}

/** @param {{ of: string, value: number }} association */
function strengthBar({ of, value }) {
  const wide = `width: ${(100 * Math.min(1, Math.abs(value))).toFixed(0)}%`;
  return el(
    "div",
    { class: "strength", title: `${of} with the target` },
    el("span", {}, of),
    el("span", { class: "track", "aria-hidden": "true" }, el("i", { style: wide })),
    el("span", {}, text(value)),
  );
}

/**
 * @param {Lab} lab
 * @param {Look} look
 * @param {(change: Partial<import("./types").Settings>) => void} change
 */
function findings(lab, look, change) {
  const keep = lab.settings.keep || [];
  const lines = look.left_out.map(({ column, reason }) =>
    el(
      "li",
      {},
      el("span", {}, el("strong", {}, column), ` is left out: ${reason}`),
      look.target && !/missing|single value|free text/.test(reason)
        ? button("Use it anyway", () => change({ keep: [...keep, column] }))
        : null,
    ),
  );
  lines.push(...look.worries.map((worry) => el("li", {}, worry)));
  if (look.duplicates)
    lines.push(el("li", {}, `${whole(look.duplicates)} of ${whole(look.sampled)} rows are equal to an earlier one`));
  lines.push(...look.assumed.map((line) => el("li", { class: "soft" }, line)));
  if (!lines.length) return null;
  return el("div", { class: "card" }, el("h3", {}, "Worth knowing"), el("ul", { class: "found small" }, lines));
}

/** @param {Look} look */
function correlations({ correlations: { names, values } }) {
  if (names.length < 2) return null;
  const few = names.length <= 14;
  const rows = names.map((name, i) =>
    el(
      "tr",
      {},
      el("th", { scope: "row", class: "row", title: name }, name),
      values[i].map((value, j) => {
        const shade = value === null ? 0 : Math.abs(value) * 0.75;
        const colour = value !== null && value < 0 ? "var(--shade-against)" : "var(--shade)";
        const title = `${name} and ${names[j]}: ${value === null ? "not defined" : text(value)}`;
        const shownText = i === j || value === null ? "" : few ? value.toFixed(2) : "";
        return el("td", { style: `background: rgba(${colour}, ${i === j ? 0 : shade.toFixed(2)})`, title }, shownText);
      }),
    ),
  );
  const head = el(
    "tr",
    {},
    el("td", {}),
    names.map((name) => el("th", { scope: "col", title: name }, name)),
  );
  return el(
    "section",
    {},
    el("h2", {}, "Correlations"),
    el(
      "div",
      { class: "card" },
      el(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "correlations" },
        el("table", { class: "heat", style: "width: auto" }, el("thead", {}, head), el("tbody", {}, rows)),
      ),
      remark("Pearson’s, of pairs of numbers; blue goes together, orange goes apart."),
    ),
  );
}

/** @param {Look} look */
function firstRows(look) {
  const head = look.columns.map((column) => ({ name: column.name }));
  const rows = look.first.map((row) =>
    el(
      "tr",
      {},
      row.map((cell) => el("td", {}, cell)),
    ),
  );
  return el("details", { class: "card" }, el("summary", {}, `The first ${look.first.length} rows`), table(head, rows));
}
