// Data: what is in a table, column by column, and what is odd about it.
import { el, remark, table } from "../ui/dom.js";
import { whole } from "../ui/format.js";
import { classLegend, columnFacts, correlations, picture, strengthBar } from "../ui/look.js";
import { post } from "./api.js";
import { button, field, pageHead, select, size, trouble } from "./parts.js";

/** @typedef {import("./types").Lab} Lab */
/** @typedef {import("../ui/types").Look} Look */
/** @typedef {import("../ui/types").LookColumn} LookColumn */

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
      el("div", { class: "row" }, el("h2", {}, "Columns"), look.classes.length ? classLegend(look.classes, look.places) : null),
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
    picture(column, look.places),
    el("p", { class: "soft" }, columnFacts(column)),
    column.association ? strengthBar(column.association) : null,
    left ? el("p", { class: "soft" }, `Left out: ${left.reason}`) : null,
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
