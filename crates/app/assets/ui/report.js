// The report: every section in its order, from the data that stands beside it in the page.
import { draw } from "./chart.js";
import { el } from "./dom.js";
import { head, tiles } from "./report/head.js";
import { putSections } from "./sections.js";
import { themes } from "./theme.js";

/**
 * @param {import("./types").Report} report
 * @param {HTMLElement} root
 */
function show(report, root) {
  const toggle = el("button", { type: "button", id: "theme" }, "Dark");
  const contents = el("nav", { class: "soft small", "aria-label": "contents" });
  root.append(head(report, toggle), tiles(report), contents);
  putSections(report, root, contents);
  themes(toggle, draw);
}

const page = { data: document.getElementById("data"), root: document.getElementById("report") };
if (page.data && page.root) show(JSON.parse(page.data.textContent || "null"), page.root);
