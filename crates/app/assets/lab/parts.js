// Small parts that the pages share.
import { el } from "../ui/dom.js";

/** @typedef {import("../ui/dom.js").Child} Child */

/**
 * @param {Child} content
 * @param {() => void} act
 * @param {Record<string, string>} [attributes]
 */
export function button(content, act, attributes = {}) {
  const node = el("button", { type: "button", ...attributes }, content);
  node.addEventListener("click", act);
  return /** @type {HTMLButtonElement} */ (node);
}

let ids = 0;
/** An id that nothing else has. */
export const freshId = () => `part-${++ids}`;

/**
 * A control with its label above.
 * @param {string} label
 * @param {HTMLElement} control
 * @param {string} [hint]
 */
export function field(label, control, hint) {
  const id = control.id || freshId();
  control.id = id;
  return el(
    "div",
    { class: "field" },
    el("label", { for: id }, label),
    control,
    hint ? el("p", { class: "soft small" }, hint) : null,
  );
}

/**
 * @param {[value: string, text: string][]} options
 * @param {string} value
 * @param {(value: string) => void} change
 * @param {Record<string, string>} [attributes]
 */
export function select(options, value, change, attributes = {}) {
  const node = /** @type {HTMLSelectElement} */ (
    el(
      "select",
      attributes,
      options.map(([key, text]) => el("option", { value: key }, text)),
    )
  );
  node.value = value;
  node.addEventListener("change", () => change(node.value));
  return node;
}

/**
 * One of a few, as buttons side by side.
 * @param {string} label
 * @param {[value: string, text: string, hint?: string][]} options
 * @param {string} value
 * @param {(value: string) => void} change
 */
export function choice(label, options, value, change) {
  const name = freshId();
  return el(
    "fieldset",
    { class: "choice" },
    el("legend", {}, label),
    el(
      "div",
      { class: "options" },
      options.map(([key, text, hint]) => {
        const input = /** @type {HTMLInputElement} */ (el("input", { type: "radio", name, value: key }));
        input.checked = key === value;
        input.addEventListener("change", () => change(key));
        return el("label", hint ? { title: hint } : {}, input, el("span", {}, text));
      }),
    ),
  );
}

/**
 * Text to copy.
 * @param {string} title
 * @param {string} text
 */
export function copyable(title, text) {
  const copy = button(
    "Copy",
    async () => {
      try {
        await navigator.clipboard.writeText(text);
        copy.textContent = "Copied";
      } catch {
        copy.textContent = "Select it by hand";
      }
      setTimeout(() => {
        copy.textContent = "Copy";
      }, 1500);
    },
    { class: "quiet", "aria-label": `Copy ${title}` },
  );
  return el(
    "div",
    { class: "copyable" },
    el("div", { class: "row" }, el("h3", {}, title), copy),
    el("pre", { tabindex: "0", role: "region", "aria-label": title }, text),
  );
}

/** @param {Child} title @param {...(Child | Child[])} more */
export const pageHead = (title, ...more) => el("div", { class: "head" }, el("h1", {}, title), ...more);

/** @param {unknown} problem */
export const trouble = (problem) =>
  el("div", { class: "card worries", role: "alert" }, problem instanceof Error ? problem.message : String(problem));

/** @param {number} bytes */
export const size = (bytes) => {
  const units = ["bytes", "kB", "MB", "GB"];
  const place = Math.min(3, Math.floor(Math.log10(Math.max(bytes, 1)) / 3));
  return `${(bytes / 1000 ** place).toFixed(place && bytes / 1000 ** place < 10 ? 1 : 0)} ${units[place]}`;
};

/**
 * Calls at most so often, the last time always.
 * @template {any[]} A
 * @param {(...args: A) => void} act
 * @param {number} wait
 */
export function calm(act, wait) {
  let timer = 0;
  return (/** @type {A} */ ...args) => {
    clearTimeout(timer);
    timer = window.setTimeout(() => act(...args), wait);
  };
}
