// Elements. Text becomes text nodes: nothing that comes from the data is ever markup.

/**
 * @typedef {Node | string | null | undefined} Child
 */

/**
 * @param {string} tag
 * @param {Record<string, string | number> | null} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElement}
 */
export function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, String(value));
  for (const child of children.flat()) if (child !== null && child !== undefined) node.append(child);
  return node;
}

/**
 * @param {string} tag
 * @param {Record<string, string | number>} attributes
 * @param {...Child} children
 * @returns {SVGElement}
 */
export function svg(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  for (const child of children) if (child !== null && child !== undefined) node.append(child);
  return /** @type {SVGElement} */ (node);
}

/**
 * @param {string | null} title
 * @param {...(Child | Child[])} children
 */
export function card(title, ...children) {
  return el("div", { class: "card" }, title ? el("h3", {}, title) : null, ...children);
}

/**
 * A small remark under a table or a chart.
 * @param {...Child} children
 */
export function remark(...children) {
  return el("p", { class: "soft small" }, ...children);
}

/**
 * A table that scrolls by itself when it is wider than the page. Columns that are `wide` go first on a phone.
 * @param {{ name: string, n?: boolean, wide?: boolean }[]} head
 * @param {HTMLElement[]} rows
 * @param {string} [kind]
 */
export function table(head, rows, kind) {
  const cells = head.map(({ name, n, wide }) => {
    const classes = [n ? "n" : "", wide ? "wide" : ""].filter(Boolean).join(" ");
    return el("th", { class: classes, scope: "col" }, name);
  });
  const body = el("table", { class: kind || "" }, el("thead", {}, el("tr", {}, cells)), el("tbody", {}, rows));
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "table" }, body);
}
