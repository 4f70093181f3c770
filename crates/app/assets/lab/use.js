// Use: a form made from the columns of the model, with the prediction as one types; or a whole file.
import { el, remark } from "../ui/dom.js";
import { text } from "../ui/format.js";
import { get, post, save, upload } from "./api.js";
import { button, calm, pageHead, trouble } from "./parts.js";
import { chosenModel, noModel } from "./understand.js";

/** @typedef {import("./types").Lab} Lab @typedef {import("./types").Form} Form */

/** @param {Lab} lab @param {string[]} rest @returns {import("./types").Page} */
export function usePage(lab, [wanted]) {
  const node = el("div", { class: "stack" });
  const { name, list } = chosenModel(lab, "use", wanted);
  if (!name) {
    node.append(pageHead("Use"), noModel());
    return { node };
  }
  const path = `api/models/${encodeURIComponent(name)}`;
  node.append(el("p", { class: "soft" }, "Loading …"));
  const file = (/** @type {File} */ chosen) => predictFile(lab, path, chosen);
  get(`${path}/form`)
    .then((/** @type {Form} */ form) => {
      const fields = el("form", { class: "card", "aria-label": "values" });
      const answer = el("div", { class: "card answer first", "aria-live": "polite" });
      node.replaceChildren(
        pageHead(
          form.target ? `Predict ${form.target}` : "Predict",
          el(
            "p",
            { class: "soft" },
            `${form.model}, fitted on ${form.rows} rows. Change a value and see what it does.`,
          ),
          el("div", { class: "row" }, list, fileButton(file)),
        ),
        el("div", { class: "columns use" }, fields, answer),
      );
      fill(form, fields, answer, path);
    })
    .catch((problem) => node.replaceChildren(trouble(problem)));
  return { node, drop: file };
}

/** @param {(file: File) => void} take */
function fileButton(take) {
  const input = /** @type {HTMLInputElement} */ (
    el("input", { type: "file", hidden: "", "aria-label": "file to predict" })
  );
  input.addEventListener("change", () => {
    if (input.files?.[0]) take(input.files[0]);
    input.value = "";
  });
  return el(
    "div",
    {},
    input,
    button("Predict a file", () => input.click()),
  );
}

/** @param {Lab} lab @param {string} path @param {File} file */
async function predictFile(lab, path, file) {
  lab.say(`Predicting ${file.name} …`);
  try {
    const { table } = await upload(file);
    const name = file.name.replace(/\.[^.]*$/, "");
    await save(`${path}/predict-file/${encodeURIComponent(table)}`, `${name}-predicted.csv`, { method: "POST" });
    lab.say("");
  } catch (problem) {
    lab.say(problem instanceof Error ? problem.message : String(problem));
  }
}

/**
 * @param {Form} form
 * @param {HTMLElement} fields
 * @param {HTMLElement} answer
 * @param {string} path
 */
function fill(form, fields, answer, path) {
  /** @type {Map<string, HTMLInputElement | HTMLSelectElement>} */
  const inputs = new Map();
  let waiting = new AbortController();
  const ask = async () => {
    waiting.abort();
    waiting = new AbortController();
    const row = Object.fromEntries([...inputs].map(([name, input]) => [name, input.value === "" ? null : input.value]));
    inputs.forEach((input) => {
      input.classList.remove("wrong");
      input.removeAttribute("aria-invalid");
    });
    try {
      const mine = waiting.signal;
      const said = await post(`${path}/predict`, [row], mine);
      show(answer, form, said, null);
      if (!form.explains) return;
      show(answer, form, said, await post(`${path}/predict?explain=true`, [row], mine));
    } catch (problem) {
      if (problem instanceof DOMException) return;
      for (const cell of /** @type {any} */ (problem).cells || []) {
        inputs.get(cell.column)?.classList.add("wrong");
        inputs.get(cell.column)?.setAttribute("aria-invalid", "true");
      }
      answer.replaceChildren(trouble(problem));
    }
  };
  const soon = calm(ask, 120);
  fields.addEventListener("submit", (event) => event.preventDefault());
  fields.append(
    ...form.fields.map((field, place) => {
      const id = `value-${place}`;
      const label = el("label", { for: id }, field.name);
      if ((field.kind === "category" && field.levels.length <= 100) || field.kind === "boolean") {
        const levels = field.kind === "boolean" ? ["true", "false"] : field.levels;
        const input = /** @type {HTMLSelectElement} */ (
          el(
            "select",
            { id },
            el("option", { value: "" }, "missing"),
            levels.map((level) => el("option", { value: level }, level)),
          )
        );
        input.value = String(field.start ?? "");
        input.addEventListener("change", soon);
        inputs.set(field.name, input);
        return el("div", { class: "cell" }, label, input);
      }
      const input = /** @type {HTMLInputElement} */ (
        el("input", { id, type: "text", autocomplete: "off", spellcheck: "false" })
      );
      input.value =
        typeof field.start === "number" ? String(Number(field.start.toPrecision(6))) : String(field.start ?? "");
      inputs.set(field.name, input);
      const cell = el("div", { class: field.kind === "number" ? "cell" : "cell wide-input" }, label, input);
      if (field.kind === "number" && typeof field.low === "number" && field.high > field.low) {
        const step = 10 ** Math.floor(Math.log10((field.high - field.low) / 100));
        const slide = /** @type {HTMLInputElement} */ (
          el("input", {
            type: "range",
            min: field.low,
            max: field.high,
            step,
            "aria-label": `${field.name}, slider`,
          })
        );
        slide.value = input.value;
        slide.addEventListener("input", () => {
          input.value = String(Number(Number(slide.value).toPrecision(6)));
          soon();
        });
        input.addEventListener("input", () => {
          slide.value = input.value;
        });
        cell.append(slide);
      }
      input.addEventListener("input", soon);
      return cell;
    }),
  );
  ask();
}

/**
 * @param {HTMLElement} answer
 * @param {Form} form
 * @param {any} said
 * @param {any} why
 */
function show(answer, form, said, why) {
  const row = said.said.predictions[0];
  const value = row.prediction;
  const shares = Object.entries(row.probability || {});
  shares.sort((a, b) => Number(b[1]) - Number(a[1]));
  const explanation = why && why.explanations[0];
  const before = answer.querySelector(".why");
  answer.replaceChildren(
    el("p", { class: "soft small" }, form.target ? `Predicted ${form.target}` : "Prediction"),
    el("p", { class: "big", id: "prediction" }, typeof value === "number" ? text(value) : String(value)),
    row.interval
      ? el("p", { class: "soft" }, `90 % interval ${text(row.interval[0])} to ${text(row.interval[1])}`)
      : "",
    shares.length
      ? el(
          "ul",
          { class: "levels", "aria-label": "probabilities" },
          shares
            .slice(0, 8)
            .map(([name, p]) =>
              el(
                "li",
                {},
                el("span", { class: "name" }, String(name)),
                el(
                  "span",
                  { class: "track" },
                  el("span", { style: `width: ${(100 * Number(p)).toFixed(1)}%; background: var(--accent)` }),
                ),
                el("span", { class: "count" }, `${(100 * Number(p)).toFixed(1)} %`),
              ),
            ),
        )
      : "",
    explanation ? reasons(explanation) : before || "",
  );
}

/** @param {{ of: string, base: number, prediction: number, parts: [string, string, number][] }} explanation */
function reasons({ of, base, prediction, parts }) {
  const most = Math.max(1e-12, ...parts.map(([, , part]) => Math.abs(part)));
  const shown = parts.slice(0, 12);
  return el(
    "div",
    { class: "why" },
    el("h3", { style: "margin-top: 16px" }, `Why? Parts of the ${of}`),
    el(
      "ul",
      { class: "parts" },
      shown.map(([name, value, part]) => {
        const wide = (48 * Math.abs(part)) / most;
        const side = part >= 0 ? `left: 50%; background: var(--c1)` : `right: 50%; background: var(--c2)`;
        return el(
          "li",
          {},
          el(
            "span",
            { class: "what", title: `${name} = ${value}` },
            name,
            el("span", { class: "soft" }, ` = ${value || "missing"}`),
          ),
          el(
            "span",
            { class: "axis", "aria-hidden": "true" },
            el("i", { style: `width: ${wide.toFixed(1)}%; ${side}` }),
          ),
          el("span", { class: "n" }, `${part >= 0 ? "+" : "−"}${text(Math.abs(part)) || 0}`),
        );
      }),
    ),
    remark(`Shapley values: from the mean ${text(base)} to ${text(prediction)}.`),
  );
}
