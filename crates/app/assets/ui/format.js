// Numbers and names as people write them.

/**
 * Three decimals, fewer of large numbers, three digits of small ones.
 * @param {number | null | undefined} value
 */
export function text(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "";
  if (value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(value)));
  if (size < -4 || size > 8) return value.toExponential(2);
  const most = size > 0 ? Math.max(0, 3 - size) : size < -2 ? 2 - size : 3;
  const least = size < 0 ? 3 : 0;
  // Four digits need no comma, and years must have none.
  const useGrouping = Math.abs(value) >= 10000;
  return value.toLocaleString("en", { useGrouping, maximumFractionDigits: most, minimumFractionDigits: least });
}

/**
 * A number that was written with all its digits.
 * @param {string} said
 */
export const shortNumber = (said) => (said.trim() && Number.isFinite(Number(said)) ? text(Number(said)) : said);

/**
 * A number beside an axis.
 * @param {number} value
 */
export function tick(value) {
  const size = Math.abs(value);
  if (size && (size < 1e-4 || size >= 1e9)) return value.toExponential();
  return value.toLocaleString("en", { useGrouping: size >= 10000, maximumFractionDigits: 6 });
}

/**
 * A date, counted in days since 1970.
 * @param {number} days
 */
export function dateText(days) {
  const time = Math.floor(days) * 86400000;
  return Math.abs(time) <= 8.64e15 ? new Date(time).toISOString().slice(0, 10) : String(days);
}

/** @param {number} value */
export const whole = (value) => Math.round(value).toLocaleString("en");

/**
 * The name of a metric in words.
 * @param {string} name
 */
export const words = (name) => name.replace(/_/g, " ").replace(/\broc auc\b/, "ROC AUC").replace(/^r2$/, "R²").replace(/ ovr$/, ", one against the rest");
