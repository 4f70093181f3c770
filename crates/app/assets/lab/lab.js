// The lab: which page is shown, and what all pages know.
import { draw } from "../ui/chart.js";
import { el } from "../ui/dom.js";
import { themes } from "../ui/theme.js";
import { get, listen, post, takeToken, upload } from "./api.js";
import { dataPage } from "./data.js";
import { button, field, pageHead, select, trouble } from "./parts.js";
import { trainPage } from "./train.js";
import { understandPage } from "./understand.js";
import { usePage } from "./use.js";
import { watchPage } from "./watch.js";

/** @typedef {import("./types").State} State */
/** @typedef {import("./types").Settings} Settings */
/** @typedef {import("./types").Lab} Lab */

/** @type {Record<string, [title: string, page: (lab: Lab, rest: string[]) => import("./types").Page]>} */
const PAGES = {
  data: ["Data", dataPage],
  train: ["Train", trainPage],
  understand: ["Understand", understandPage],
  use: ["Use", usePage],
  watch: ["Watch", watchPage],
};

const root = /** @type {HTMLElement} */ (document.getElementById("page"));
const bar = /** @type {HTMLElement} */ (document.getElementById("bar"));
const saying = /** @type {HTMLElement} */ (document.getElementById("say"));

/** @type {import("./types").Page | null} */
let page = null;

/** @type {Lab} */
const lab = {
  state: /** @type {State} */ ({}),
  settings: /** @type {Settings} */ ({ table: "" }),
  set(change) {
    Object.assign(lab.settings, change);
    post("api/settings", lab.settings).catch((problem) => lab.say(problem.message));
    showBar();
  },
  open(table) {
    // Choices are about the columns of one table.
    const { effort } = lab.settings;
    lab.settings = { table, ...(effort ? { effort } : {}) };
    lab.set({});
    lab.go("data");
  },
  async take(file) {
    lab.say(`Reading ${file.name} …`);
    try {
      const { table } = await upload(file);
      await refresh();
      lab.say("");
      lab.open(table);
    } catch (problem) {
      lab.say(problem instanceof Error ? problem.message : String(problem));
    }
  },
  go(...parts) {
    const hash = `#/${parts.map(encodeURIComponent).join("/")}`;
    if (location.hash === hash) show();
    else location.hash = hash;
  },
  say(text) {
    saying.textContent = text;
    saying.hidden = !text;
  },
  draw,
};

const toggle = el("button", { type: "button", id: "theme", class: "quiet" }, "Dark");

function showBar() {
  const [now] = where();
  const models = lab.state.models || [];
  const running = (lab.state.runs || []).some((run) => run.state === "running" || run.state === "waiting");
  const links = Object.entries(PAGES).map(([key, [title]]) => {
    const link = el("a", { href: `#/${key}`, ...(key === now ? { "aria-current": "page" } : {}) }, title);
    if (key === "train" && running) link.append(el("span", { class: "pulse", title: "a run is under way" }));
    if ((key === "understand" || key === "use") && !models.length) link.classList.add("soft");
    return link;
  });
  const tables = (lab.state.tables || []).map((table) => /** @type {[string, string]} */ ([table.name, table.name]));
  const chosen = tables.length > 1 ? select(tables, lab.settings.table, lab.open, { "aria-label": "table" }) : null;
  bar.replaceChildren(
    el(
      "div",
      { class: "inside" },
      el(
        "a",
        { href: "#/data", class: "logo" },
        el("img", { src: "lab/icon.svg", alt: "", width: 22, height: 22 }),
        "Ermine Lab",
      ),
      el("nav", { "aria-label": "pages" }, links),
      el("div", { class: "side" }, chosen, toggle),
    ),
  );
}

/** @returns {[string, string[]]} */
function where() {
  const [name, ...rest] = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  return [name in PAGES ? name : "data", rest];
}

function show() {
  page?.leave?.();
  const [name, rest] = where();
  showBar();
  document.title = `${PAGES[name][0]} – Ermine Lab`;
  page = PAGES[name][1](lab, rest);
  root.replaceChildren(page.node);
  root.dataset.page = name;
  window.scrollTo(0, 0);
  draw();
}

async function refresh() {
  lab.state = await get("api/state");
  const known = lab.state.tables.some((table) => table.name === lab.settings.table);
  if (!known) {
    const kept = lab.state.settings;
    const has = lab.state.tables.some((table) => table.name === kept.table);
    lab.settings = has ? kept : { table: lab.state.tables[0]?.name || "" };
  }
  showBar();
}

/** The least time between two drawings of what runs, in milliseconds: a page must stand still to be read and used. */
const STILL = 250;
let drawn = -STILL;
let waiting = false;

/** Shows what is new: at once after a quiet time, together with what follows otherwise. */
function showNews() {
  if (waiting) return;
  waiting = true;
  setTimeout(
    () => {
      waiting = false;
      drawn = performance.now();
      showBar();
      page?.update?.();
    },
    drawn + STILL - performance.now(),
  );
}

/** @param {any} event */
async function hear(event) {
  if (event.event === "run") {
    const place = lab.state.runs.findIndex((run) => run.id === event.run.id);
    if (place < 0) lab.state.runs.push(event.run);
    else lab.state.runs[place] = event.run;
  } else {
    await refresh();
  }
  showNews();
}

/** Whoever comes without the token may bring it. */
function askForToken() {
  const input = el("input", { type: "text", autocomplete: "off", spellcheck: "false" });
  const go = () => {
    const found = /** @type {HTMLInputElement} */ (input).value.match(/[0-9a-f]{48}/);
    if (found) {
      location.hash = `#token=${found[0]}`;
      location.reload();
    }
  };
  input.addEventListener("keydown", (event) => {
    if (/** @type {KeyboardEvent} */ (event).key === "Enter") go();
  });
  root.replaceChildren(
    pageHead("Open the address of the terminal"),
    el(
      "div",
      { class: "card" },
      el(
        "p",
        {},
        "The program answers only to those who have its token. It is in the address that “ermine lab” " +
          "printed when it started.",
      ),
      field("Address or token", input),
      button("Open", go, { class: "main" }),
    ),
  );
}

function dropping() {
  const over = (/** @type {boolean} */ on) => document.body.classList.toggle("dropping", on);
  window.addEventListener("dragover", (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    over(true);
  });
  window.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) over(false);
  });
  window.addEventListener("drop", (event) => {
    over(false);
    const file = event.dataTransfer?.files[0];
    if (!file) return;
    event.preventDefault();
    if (page?.drop) page.drop(file);
    else lab.take(file);
  });
}

async function start() {
  takeToken();
  themes(toggle, draw);
  try {
    await refresh();
  } catch (problem) {
    if (/** @type {any} */ (problem).status === 401) askForToken();
    else root.replaceChildren(trouble(problem));
    return;
  }
  window.addEventListener("hashchange", () => {
    if (location.hash.startsWith("#token=")) {
      location.reload();
      return;
    }
    if (location.hash.startsWith("#/") || location.hash === "") show();
  });
  dropping();
  show();
  let first = true;
  listen(hear, async (here) => {
    lab.say(here ? "" : "The program does not answer. Has it been ended?");
    // What happened in between was missed.
    if (here && !first) await hear({ event: "state" });
    first = first && !here;
  });
}

start();
