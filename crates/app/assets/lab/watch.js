// Watch: an algorithm at work, step by step. What is shown are the steps that the engine recorded while it fitted.
import { el, remark } from "../ui/dom.js";
import { text } from "../ui/format.js";
import { post } from "./api.js";
import { button, calm, choice, field, pageHead, select, trouble } from "./parts.js";
import { SETS } from "./watch/sets.js";
import { Stage, colour, spark } from "./watch/stage.js";
import { STOPS } from "./watch/stops.js";

/** @typedef {import("./types").Lab} Lab */
/** @typedef {import("./types").Stop} Stop */
/** @typedef {import("./types").Frame} Frame */

/** @param {Lab} lab @param {string[]} rest @returns {import("./types").Page} */
export function watchPage(lab, [wanted]) {
  const stop = STOPS.find((found) => found.id === wanted) || STOPS[0];
  const groups = [...new Set(STOPS.map((found) => found.group))];
  const list = select(
    STOPS.map((found) => [found.id, `${found.group}: ${found.title}`]),
    stop.id,
    (id) => lab.go("watch", id),
    { "aria-label": "algorithm", class: "narrow-only" },
  );
  const menu = el(
    "nav",
    { class: "stops", "aria-label": "algorithms" },
    groups.map((group) =>
      el(
        "div",
        {},
        el("h3", {}, group),
        STOPS.filter((found) => found.group === group).map((found) =>
          el("a", { href: `#/watch/${found.id}`, ...(found === stop ? { "aria-current": "true" } : {}) }, found.title),
        ),
      ),
    ),
  );
  const show = player(lab, stop);
  const node = el(
    "div",
    { class: "watch" },
    menu,
    el(
      "div",
      { class: "stack", style: "min-width: 0" },
      list,
      pageHead(stop.title, el("p", { class: "problem" }, stop.objective)),
      show.node,
      lesson(stop),
    ),
  );
  return { node, leave: show.leave };
}

/** @param {Stop} stop */
function lesson(stop) {
  return el(
    "div",
    { class: "pair" },
    el("div", { class: "card" }, el("h3", {}, "What to look at"), el("p", {}, stop.look)),
    el(
      "div",
      { class: "card" },
      el("h3", {}, "Three questions"),
      stop.questions.map(([question, answer]) =>
        el("details", {}, el("summary", {}, question), el("p", { class: "small" }, answer)),
      ),
    ),
  );
}

/**
 * The stage with its controls: what is fitted, and which step is shown.
 * @param {Lab} lab
 * @param {Stop} stop
 */
function player(lab, stop) {
  /** @type {Record<string, string>} */
  const params = Object.fromEntries(stop.params.map((param) => [param.name, param.start]));
  /** @type {Frame[]} */
  let frames = [];
  let [at, timer, brush, asked] = [0, 0, 0, 0];
  const facts = el("dl", { class: "facts" });
  const charts = el("div", {});
  const state = el("p", { class: "soft small", "aria-live": "polite", id: "step" });
  const problem = el("div", {});
  const source = el("p", { class: "soft small", id: "source" });
  const slider = /** @type {HTMLInputElement} */ (
    el("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": "step" })
  );
  const stage = new Stage({
    changed: calm(() => fit(true), 90),
    brush: () => brush,
    regress: stop.kind === "regress",
    label: `Points for ${stop.title}`,
  });

  const show = () => {
    const frame = frames[at];
    stage.clear();
    if (!frame) {
      stage.drawPoints();
      return;
    }
    frame.draw(stage);
    stage.drawPoints();
    slider.value = String(at);
    state.textContent = `Step ${at + 1} of ${frames.length}: ${frame.title}`;
    facts.replaceChildren(
      ...frame.facts.map(([name, value]) =>
        el("div", {}, el("dt", {}, name), el("dd", {}, typeof value === "number" ? text(value) : value)),
      ),
    );
    charts.replaceChildren(
      ...(frame.charts || []).map(([name, values]) => spark(name, values, at, seek)).filter((part) => part !== null),
    );
  };
  const seek = (/** @type {number} */ to) => {
    at = Math.max(0, Math.min(frames.length - 1, to));
    show();
  };
  const halt = () => {
    clearInterval(timer);
    timer = 0;
    play.textContent = "Play";
  };
  const play = button(
    "Play",
    () => {
      if (timer) {
        halt();
        return;
      }
      if (at >= frames.length - 1) seek(0);
      play.textContent = "Pause";
      timer = window.setInterval(
        () => {
          if (at >= frames.length - 1) halt();
          else seek(at + 1);
        },
        Math.max(60, Math.min(900, 9000 / frames.length)),
      );
    },
    { class: "main" },
  );

  /** @param {boolean} last Whether the last step stays in sight. */
  async function fit(last) {
    const mine = ++asked;
    halt();
    try {
      const seen = [];
      for (const request of stop.requests(stage.points, params)) {
        seen.push(await post("api/watch", request));
        if (mine !== asked) return;
      }
      frames = stop.frames(seen, stage.points, params);
      problem.replaceChildren();
      source.textContent =
        seen.length === 1
          ? `${seen[0].recorded ? `${seen[0].recorded} steps recorded while fitting; ` : ""}${seen[0].log}.`
          : `${seen.length} fits. The last: ${seen[seen.length - 1].log}.`;
    } catch (error) {
      if (mine !== asked) return;
      frames = [];
      problem.replaceChildren(trouble(error));
      source.textContent = "";
    }
    slider.max = String(Math.max(0, frames.length - 1));
    // Who has pressed Play meanwhile wants to see it from the start.
    at = last && !timer ? frames.length - 1 : 0;
    show();
  }

  /** @param {string} name */
  const load = async (name) => {
    if (name === "table") {
      try {
        stage.points = await fromTable(lab, stop);
      } catch (error) {
        problem.replaceChildren(trouble(error));
        return;
      }
    } else {
      stage.points = SETS[name][1]();
    }
    await fit(false);
  };
  slider.addEventListener("input", () => {
    halt();
    seek(Number(slider.value));
  });
  const sets = stop.sets.map((name) => /** @type {[string, string]} */ ([name, SETS[name][0]]));
  if (lab.settings.table) sets.push(["table", `two columns of ${lab.settings.table}`]);
  const controls = stop.params.map((param) =>
    choice(
      param.label,
      param.values.map((value) => [value, value]),
      param.start,
      (value) => {
        params[param.name] = value;
        fit(false);
      },
    ),
  );
  const brushes =
    stop.kind === "classify"
      ? choice(
          "A click adds",
          [
            ["0", "blue"],
            ["1", "orange"],
          ],
          "0",
          (value) => {
            brush = Number(value);
          },
        )
      : null;
  const steps = el(
    "div",
    { class: "row start player" },
    button(
      "|◀",
      () => {
        halt();
        seek(0);
      },
      { "aria-label": "first step" },
    ),
    button(
      "◀",
      () => {
        halt();
        seek(at - 1);
      },
      { "aria-label": "step back" },
    ),
    play,
    button(
      "▶",
      () => {
        halt();
        seek(at + 1);
      },
      { "aria-label": "step forward" },
    ),
    button(
      "▶|",
      () => {
        halt();
        seek(frames.length - 1);
      },
      { "aria-label": "last step" },
    ),
  );
  const node = el(
    "div",
    { class: "theatre" },
    el(
      "div",
      {},
      stage.node,
      slider,
      steps,
      state,
      remark("Click to add a point, drag to move it, double-click to remove it."),
    ),
    el(
      "div",
      { class: "card stack" },
      field("Points", select(sets, stop.sets[0], load)),
      ...controls,
      brushes,
      facts,
      charts,
      problem,
      source,
    ),
  );
  stage.node.style.setProperty("--brush", colour(0));
  load(stop.sets[0]);
  const redraw = () => show();
  const theme = new MutationObserver(redraw);
  theme.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  return {
    node,
    leave: () => {
      halt();
      theme.disconnect();
      asked += 1;
    },
  };
}

/**
 * Two columns of numbers of the table, brought to mean 0 and deviation 1; the target gives the colour.
 * @param {Lab} lab
 * @param {Stop} stop
 */
async function fromTable(lab, stop) {
  /** @type {{ names: string[], rows: [number, number, number][], classes: string[] }} */
  const found = await post("api/points", lab.settings);
  const scale = (/** @type {number} */ column) => {
    const values = found.rows.map((row) => row[column]);
    const mean = values.reduce((a, b) => a + b, 0) / values.length;
    const spread = Math.sqrt(values.reduce((a, b) => a + (b - mean) ** 2, 0) / values.length) || 1;
    return (/** @type {number} */ value) =>
      Math.max(-2.95, Math.min(2.95, Math.round(((value - mean) / spread) * 1.1 * 1000) / 1000));
  };
  const [x, y] = [scale(0), scale(1)];
  lab.say(
    `${found.names[0]} to the right, ${found.names[1]} upwards, in standard deviations` +
      (found.classes.length ? `; colours are ${found.classes.join(", ")}` : ""),
  );
  setTimeout(() => lab.say(""), 6000);
  const most = stop.kind === "classify" ? 2 : 6;
  return found.rows.filter((row) => row[2] < most).map((row) => ({ x: x(row[0]), y: y(row[1]), c: row[2] }));
}
