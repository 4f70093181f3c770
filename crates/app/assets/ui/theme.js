// Light and dark. Colours come from the style sheet, so both share all code.

/** @param {string} name */
export const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Colours of the style sheet, for as many classes as a chart can show apart. */
export const COLOURS = 10;

/**
 * The colour of a class by its place among all classes, wherever it is drawn.
 * @param {number} place
 */
export const classColour = (place) => `var(--c${(place % COLOURS) + 1})`;

export const palette = () => Array.from({ length: COLOURS }, (_, place) => css(`--c${place + 1}`));

export const narrow = () => window.innerWidth < 640;

/**
 * Follows the system until the button is pressed; paper is light.
 * @param {HTMLElement} toggle
 * @param {() => void} redraw
 */
export function themes(toggle, redraw) {
  const page = document.documentElement;
  /** @param {string} name */
  const show = (name) => {
    page.dataset.theme = name;
    toggle.textContent = name === "dark" ? "Light" : "Dark";
    redraw();
  };
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  toggle.addEventListener("click", () => show(page.dataset.theme === "dark" ? "light" : "dark"));
  dark.addEventListener("change", (event) => show(event.matches ? "dark" : "light"));
  /** @type {string | undefined} */
  let before;
  /** @param {boolean} on */
  const printing = (on) => {
    page.classList.toggle("printing", on);
    document.querySelectorAll("details").forEach((details) => { details.open = on; });
  };
  window.addEventListener("beforeprint", () => { before = page.dataset.theme; printing(true); show("light"); });
  window.addEventListener("afterprint", () => { printing(false); if (before) show(before); });
  show(dark.matches ? "dark" : "light");
}
