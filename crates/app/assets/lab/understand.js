// Understand: the report of a model, drawn by the same parts as the file that `--report` writes.
import { el, remark } from "../ui/dom.js";
import { tiles } from "../ui/report/head.js";
import { putSections } from "../ui/sections.js";
import { get, post, save } from "./api.js";
import { comparePage, rivals } from "./compare.js";
import { button, pageHead, select, trouble } from "./parts.js";

/** @typedef {import("./types").Lab} Lab */

/**
 * Which model a page is about, and a list to choose from.
 * @param {Lab} lab
 * @param {string} page
 * @param {string | undefined} wanted
 */
export function chosenModel(lab, page, wanted) {
  const { models } = lab.state;
  const name = models.some((model) => model.name === wanted) ? wanted : models.at(-1)?.name;
  if (!name) return { name: null, list: null };
  const options = [...models].reverse().map((model) => /** @type {[string, string]} */ ([model.name, model.name]));
  return { name, list: select(options, name, (value) => lab.go(page, value), { "aria-label": "model" }) };
}

/** Nothing to show yet. */
export const noModel = () =>
  el("div", { class: "card" }, "There is no model yet. ", el("a", { href: "#/train" }, "Train one"));

/** @param {Lab} lab @param {string[]} rest @returns {import("./types").Page} */
export function understandPage(lab, [wanted, other]) {
  const node = el("div", {});
  const { name, list } = chosenModel(lab, "understand", wanted);
  if (!name) {
    node.append(pageHead("Understand"), noModel());
    return { node };
  }
  if (other && rivals(lab, name).some((model) => model.name === other)) return comparePage(lab, name, other);
  node.append(el("p", { class: "soft" }, "Loading …"));
  const path = `api/models/${encodeURIComponent(name)}`;
  get(path)
    .then((/** @type {import("./types").About} */ { report }) => {
      const classes = report.classes.length ? ` into ${report.classes.length} classes` : "";
      const fail = (/** @type {Error} */ problem) => lab.say(problem.message);
      const remove = button(
        "Remove",
        async () => {
          if (!confirm(`Remove the model ${name}?`)) return;
          await post(`${path}/remove`).catch(fail);
          lab.go("understand");
        },
        { class: "quiet" },
      );
      const [rival] = rivals(lab, name);
      const contents = el("nav", { class: "soft small", "aria-label": "contents" });
      node.replaceChildren(
        pageHead(
          report.target ? `${report.target} from ${report.data.path.split(/[\\/]/).pop()}` : report.model,
          el("p", { class: "soft" }, `${report.model}, ${report.task}${classes}`),
          report.choice ? remark(report.choice) : null,
          el(
            "div",
            { class: "row" },
            el(
              "div",
              { class: "row start" },
              list,
              button("Use it", () => lab.go("use", name), { class: "main" }),
              rival ? button("Compare with another", () => lab.go("understand", name, rival.name)) : null,
            ),
            el(
              "div",
              { class: "row start" },
              button("Save the report", () => save(`${path}/page`, `${name}.html`).catch(fail)),
              button("Save the model", () => save(`${path}/file`, `${name}.ermine`).catch(fail)),
              remove,
            ),
          ),
        ),
        tiles(report),
        contents,
      );
      putSections(report, node, contents);
      lab.draw();
    })
    .catch((problem) => node.replaceChildren(trouble(problem)));
  return { node };
}
