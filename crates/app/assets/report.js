"use strict";
// Draws the report from the data that stands beside it. Colours come from the style sheet, so both themes share all code.
(function () {
  const R = JSON.parse(document.getElementById("data").textContent);
  const root = document.getElementById("report");
  const charts = [];

  // ---- small helpers -----------------------------------------------------------------------------------------------
  function el(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
    for (const child of children.flat()) if (child !== null && child !== undefined) node.append(child);
    return node;
  }
  function text(value) {
    if (value === null || value === undefined || Number.isNaN(value)) return "";
    if (value === 0) return "0";
    const size = Math.floor(Math.log10(Math.abs(value)));
    if (size < -4 || size > 8) return value.toExponential(2);
    // Three decimals, fewer of large numbers, three digits of small ones.
    const places = size > 0 ? Math.max(0, 3 - size) : size < -2 ? 2 - size : 3;
    // Four digits need no comma, and years must have none.
    return value.toLocaleString("en", { useGrouping: Math.abs(value) >= 10000, maximumFractionDigits: places, minimumFractionDigits: size < 0 ? 3 : 0 });
  }
  const whole = (value) => Math.round(value).toLocaleString("en");
  const words = (name) => name.replace(/_/g, " ").replace(/\broc auc\b/, "ROC AUC").replace(/^r2$/, "R²");
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const palette = () => ["--c1", "--c2", "--c3", "--c4", "--c5", "--c6"].map(css);
  // Charts measure text before it is drawn, so they need the family by name.
  const FONT = getComputedStyle(document.body).fontFamily;
  const narrow = () => window.innerWidth < 640;

  function section(title, ...children) {
    root.append(el("h2", {}, title), ...children.flat().filter(Boolean));
  }
  function card(title, ...children) {
    return el("div", { class: "card" }, title ? el("h3", {}, title) : null, ...children);
  }
  function chart(title, note, option, low) {
    const place = el("div", { class: low ? "chart low" : "chart", role: "img", "aria-label": title });
    charts.push({ place, option });
    return card(title, place, note ? el("p", { class: "soft small" }, note) : null);
  }
  function table(head, rows, kind) {
    return el("div", { class: "scroll" }, el("table", { class: kind || "" },
      el("thead", {}, el("tr", {}, head.map((cell) => el("th", { class: cell.n ? "n" : "" }, cell.name)))),
      el("tbody", {}, rows)));
  }

  // ---- what charts share -------------------------------------------------------------------------------------------
  function base(more) {
    const ink = css("--ink"), soft = css("--soft"), line = css("--line");
    const axis = (own) => Object.assign({
      axisLine: { lineStyle: { color: line } }, axisTick: { show: false },
      axisLabel: { color: soft, fontSize: 11, hideOverlap: true },
      splitLine: { lineStyle: { color: line, opacity: 0.6 } },
      nameTextStyle: { color: soft, fontSize: 11 }, nameLocation: "middle",
    }, own);
    return Object.assign({
      animation: false, color: palette(), textStyle: { fontFamily: FONT, color: ink },
      // Room for the names of the axes beside their labels.
      grid: { left: 26, right: 18, top: 30, bottom: 28, containLabel: true },
      tooltip: {
        backgroundColor: css("--card"), borderColor: line, textStyle: { color: ink, fontSize: 12 }, confine: true,
        valueFormatter: (value) => typeof value === "number" ? text(value) : value,
      },
      legend: { top: 0, left: 0, type: "scroll", textStyle: { color: soft, fontSize: 11 }, itemWidth: 14, itemHeight: 8, pageTextStyle: { color: soft } },
    }, more(axis));
  }
  const share = { min: 0, max: 1 };
  // What a tooltip says, line by line. Lines are text nodes: a name from the data is never markup.
  function tooltip(trigger, lines, more) {
    const shown = lines ? { formatter: (found) => el("div", {}, lines(found).map((line) => el("div", {}, line))) } : {};
    return Object.assign(base(() => ({})).tooltip, { trigger }, shown, more);
  }

  // ---- the head ----------------------------------------------------------------------------------------------------
  const file = R.data.path.split(/[\\/]/).pop();
  document.title = (R.target ? R.target + " from " : "") + file + " – Ermine";
  const toggle = el("button", { type: "button", id: "theme" }, "Dark");
  root.append(el("header", {},
    el("div", {}, el("h1", {}, R.target ? R.target + " from " + file : file),
      el("div", { class: "soft" }, `${R.model}, ${R.task}` + (R.classes.length ? ` into ${R.classes.length} classes` : "")),
      R.choice ? el("div", { class: "soft small" }, R.choice) : null),
    toggle));

  const metric = R.main_metric;
  const of = (scores, name) => { const found = (scores || []).find((pair) => pair[0] === name); return found ? found[1] : null; };
  function tile(value, label) {
    return el("div", { class: "card tile" }, el("div", { class: "value" }, value), el("div", { class: "label" }, label));
  }
  const tiles = [];
  if (R.test && of(R.test, metric) !== null) {
    const interval = R.intervals.find((found) => found.metric === metric);
    tiles.push(tile(text(of(R.test, metric)), `${words(metric)} on ${whole(R.data.test_rows)} test rows` + (interval ? `, 95 % interval ${text(interval.low)} to ${text(interval.high)}` : "")));
  }
  if (R.baseline && of(R.baseline, metric) !== null) tiles.push(tile(text(of(R.baseline, metric)), "baseline, which ignores the columns"));
  tiles.push(tile(whole(R.data.rows_used), `rows, ${R.data.features} features`));
  tiles.push(tile(R.seconds.toFixed(1) + " s", "to read, compare, fit and test"));
  root.append(el("div", { class: "tiles" }, tiles));

  // ---- warnings ----------------------------------------------------------------------------------------------------
  const worries = R.notes.concat(R.data.dropped.map((drop) => `column '${drop.column}' was left out: ${drop.reason}`));
  if (worries.length) section("Warnings", el("div", { class: "card worries" }, el("ul", {}, worries.map((note) => el("li", {}, note)))));

  // ---- scores ------------------------------------------------------------------------------------------------------
  if (R.test) {
    const rows = R.test.map(([name, value]) => {
      const interval = R.intervals.find((found) => found.metric === name);
      const guess = of(R.baseline, name);
      const fold = R.folds ? R.folds.scores.find((found) => found[0] === name) : null;
      return el("tr", { class: name === metric ? "first" : "" }, el("td", {}, words(name)), el("td", { class: "n" }, text(value)),
        el("td", { class: "n" }, interval ? `${text(interval.low)} to ${text(interval.high)}` : ""),
        R.folds ? el("td", { class: "n" }, fold ? `${text(fold[1])} ± ${text(fold[2])}` : "") : null,
        el("td", { class: "n soft" }, guess === null ? "" : text(guess)));
    });
    const head = [{ name: "" }, { name: "test", n: 1 }, { name: "95 % interval", n: 1 }];
    if (R.folds) head.push({ name: `${R.folds.folds}-fold mean ± sd`, n: 1 });
    head.push({ name: "baseline", n: 1 });
    section("Scores", el("div", { class: "card" }, table(head, rows),
      el("p", { class: "soft small" }, `Measured once on ${whole(R.data.test_rows)} held-out rows; ${whole(R.data.train_rows)} training rows.`)));
  }

  // ---- leaderboard -------------------------------------------------------------------------------------------------
  if (R.comparison) {
    const C = R.comparison;
    const judged = C.standings.filter((standing) => standing.mean !== null);
    // A model far off would squeeze the others: the scale follows the better half.
    const inner = judged.slice(0, Math.max(3, Math.ceil(judged.length * 0.6)));
    let low = Math.min(...inner.map((s) => s.mean - s.margin)), high = Math.max(...inner.map((s) => s.mean + s.margin));
    if (!(high > low)) { low -= 0.5; high += 0.5; }
    const x = (value) => 4 + 182 * Math.min(1, Math.max(0, (value - low) / (high - low)));
    const span = (s, first) => {
      const ns = "http://www.w3.org/2000/svg";
      const svg = document.createElementNS(ns, "svg");
      svg.setAttribute("class", "span"); svg.setAttribute("viewBox", "0 0 190 22"); svg.setAttribute("aria-hidden", "true");
      const add = (tag, attributes) => { const node = document.createElementNS(ns, tag); for (const [k, v] of Object.entries(attributes)) node.setAttribute(k, v); svg.append(node); };
      if (s.mean + s.margin < low || s.mean - s.margin > high) {
        add("text", { x: s.mean < low ? 0 : 176, y: 15, style: "fill: var(--soft)", "font-size": 11 });
        svg.lastChild.textContent = s.mean < low ? "‹" : "›";
      } else {
        const colour = first ? "var(--good)" : "var(--c1)";
        add("line", { x1: x(s.mean - s.margin), x2: x(s.mean + s.margin), y1: 11, y2: 11, style: `stroke: ${colour}`, "stroke-width": 2, opacity: 0.55 });
        add("circle", { cx: x(s.mean), cy: 11, r: 4.5, style: `fill: ${colour}` });
      }
      return svg;
    };
    const rows = judged.map((s, place) => {
      const params = Object.entries(s.params).map(([name, value]) => `${name}=${/^-?\d*\.\d+(e-?\d+)?$/.test(value) ? text(Number(value)) : value}`).join(", ");
      const tags = [s.tuned ? "tuned" : null, place > 0 && s.as_good ? "tied" : null, s.rows < C.rows ? `on ${whole(s.rows)} rows` : null].filter(Boolean);
      return el("tr", { class: place === 0 ? "first" : "" }, el("td", {}, s.model, tags.map((tag) => el("span", { class: "tag" }, tag))),
        el("td", { class: "n" }, text(s.mean)), el("td", { class: "n" }, "± " + text(s.margin)),
        el("td", { class: "wide" }, span(s, place === 0)), el("td", { class: "n wide" }, s.seconds.toFixed(2)), el("td", { class: "params wide" }, params));
    });
    const failed = C.standings.filter((s) => s.mean === null).map((s) => `${s.model}: ${s.note || "no score"}`);
    const head = [{ name: "model" }, { name: words(C.metric), n: 1 }, { name: "95 %", n: 1 }, { name: "" }, { name: "seconds", n: 1 }, { name: "parameters changed" }];
    const made = table(head, rows);
    made.querySelectorAll("th").forEach((cell, i) => { if (i > 2) cell.classList.add("wide"); });
    section("Models compared", el("div", { class: "card" }, made,
      el("p", { class: "soft small" }, `${C.folds}-fold cross-validation on ${whole(C.rows)} rows; the preparation is learned inside each fold. ${C.searched ? C.searched + " of the candidates come from a parameter search, whose best score is slightly optimistic; the test score is not. " : ""}“Tied” means that the difference on the same folds is within its standard error.`),
      failed.length ? el("p", { class: "soft small" }, "Without a score: " + failed.join("; ")) : null,
      C.left_out.length ? el("details", { class: "soft small" }, el("summary", {}, `${C.left_out.length} models were not tried`), el("ul", {}, C.left_out.map(([name, why]) => el("li", {}, `${name}: ${why}`)))) : null));
  }

  // ---- errors on the test rows -------------------------------------------------------------------------------------
  const errs = [];
  if (R.confusion && R.classes.length <= 30) {
    const most = Math.max(...R.confusion.flat());
    const sums = R.confusion.map((row) => row.reduce((a, b) => a + b, 0));
    const rows = R.confusion.map((row, i) => el("tr", {}, el("th", { class: "row" }, R.classes[i]),
      row.map((cell, j) => el("td", {
        class: i === j ? "hit" : "", style: `background: rgba(var(--shade), ${cell === 0 ? 0 : (0.12 + 0.55 * cell / most).toFixed(3)})`,
        title: `${whole(cell)} of ${whole(sums[i])} rows of ${R.classes[i]} predicted as ${R.classes[j]}`,
      }, cell === 0 ? "·" : whole(cell))), el("td", { class: "soft small" }, sums[i] ? Math.round(100 * row[i] / sums[i]) + " %" : "")));
    const head = [{ name: "true \\ predicted" }, ...R.classes.map((name) => ({ name })), { name: "recall" }];
    errs.push(card("Confusion matrix, test rows", table(head, rows, "matrix")));
  }
  const I = R.insight;
  const areas = (list, name, x, y, diagonal) => chart(name, null, () => base((axis) => ({
    // A few names may take two lines; of more, the reader turns the pages.
    ...(list.length <= 4 ? { legend: Object.assign(base(() => ({})).legend, { type: "plain", itemGap: 8 }), grid: Object.assign(base(() => ({})).grid, { top: 42 }) } : {}),
    tooltip: tooltip("item", (p) => [p.seriesName, `${x} ${text(p.value[0])}, ${y} ${text(p.value[1])}`]),
    xAxis: axis(Object.assign({ type: "value", name: x, nameGap: 24 }, share)), yAxis: axis(Object.assign({ type: "value", name: y, nameGap: 32 }, share)),
    series: list.map((curve) => ({ type: "line", name: `${curve.class} (${text(curve.area)})`, data: curve.points, showSymbol: curve.points.length < 60, symbolSize: 4, lineStyle: { width: 2 } }))
      .concat(diagonal ? [{ type: "line", data: [[0, 0], [1, 1]], showSymbol: false, silent: true, lineStyle: { color: css("--soft"), type: "dashed", width: 1 }, tooltip: { show: false } }] : []),
  })));
  if (I.roc.length) errs.push(areas(I.roc, "ROC curve (area under it)", "false positive rate", "true positive rate", true));
  if (I.precision_recall.length) errs.push(areas(I.precision_recall, "Precision-recall curve (average precision)", "recall", "precision", false));
  if (I.calibration.length > 1) {
    const said = R.classes.length === 2 ? `of ${R.classes[1]}` : "of the predicted class";
    errs.push(chart("Calibration of the probabilities", `Probability ${said}. On the dashed line, 80 % of the rows with a predicted probability of 0.8 belong to the class. Marker size: number of rows.`, () => base((axis) => ({
      legend: { show: false },
      tooltip: tooltip("item", (p) => [`predicted ${text(p.value[0])}, observed ${text(p.value[1])}`, `${whole(p.value[2])} rows`]),
      xAxis: axis(Object.assign({ type: "value", name: "predicted probability", nameGap: 24 }, share)), yAxis: axis(Object.assign({ type: "value", name: "observed frequency", nameGap: 32 }, share)),
      series: [
        { type: "line", data: [[0, 0], [1, 1]], showSymbol: false, silent: true, lineStyle: { color: css("--soft"), type: "dashed", width: 1 } },
        { type: "line", data: I.calibration, symbol: "circle", symbolSize: (v) => 5 + 12 * Math.sqrt(v[2] / Math.max(...I.calibration.map((bin) => bin[2]))), lineStyle: { width: 1.5 }, itemStyle: { opacity: 0.85 }, color: css("--c1") },
      ],
    }))));
  }
  if (I.predicted.length) {
    const all = I.predicted.flat();
    const low = Math.min(...all), high = Math.max(...all);
    errs.push(chart("Predicted and true values, test rows", "On the dashed line the prediction is exact.", () => base((axis) => ({
      legend: { show: false },
      tooltip: tooltip("item", (p) => [`true ${text(p.value[0])}`, `predicted ${text(p.value[1])}`]),
      xAxis: axis({ type: "value", name: "true " + R.target, nameGap: 24, scale: true }), yAxis: axis({ type: "value", name: "predicted", nameGap: 44, scale: true }),
      dataZoom: [{ type: "inside", filterMode: "none" }, { type: "inside", yAxisIndex: 0, filterMode: "none" }],
      series: [{ type: "scatter", data: I.predicted, symbolSize: I.predicted.length > 400 ? 4 : 6, itemStyle: { opacity: I.predicted.length > 400 ? 0.4 : 0.65 } },
        { type: "line", data: [[low, low], [high, high]], showSymbol: false, silent: true, lineStyle: { color: css("--soft"), type: "dashed", width: 1 } }],
    }))));
    errs.push(chart("Residuals", "True minus predicted value. A trend or a funnel shows what the model misses.", () => base((axis) => ({
      legend: { show: false },
      tooltip: tooltip("item", (p) => [`predicted ${text(p.value[0])}`, `residual ${text(p.value[1])}`]),
      xAxis: axis({ type: "value", name: "predicted", nameGap: 24, scale: true }), yAxis: axis({ type: "value", name: "true − predicted", nameGap: 44 }),
      dataZoom: [{ type: "inside", filterMode: "none" }, { type: "inside", yAxisIndex: 0, filterMode: "none" }],
      series: [{ type: "scatter", data: I.predicted.map(([truth, said]) => [said, truth - said]), symbolSize: I.predicted.length > 400 ? 4 : 6, itemStyle: { opacity: I.predicted.length > 400 ? 0.4 : 0.65 } }],
    }))));
  }
  if (errs.length) section("Errors on the test rows", el("div", { class: "pair two" }, errs));

  // ---- what drives it ----------------------------------------------------------------------------------------------
  const drives = [];
  if (I.importance.length) {
    const top = I.importance.slice(0, 15).reverse();
    const made = chart(`Drop in ${words(metric)} when a column is shuffled`, "On test rows. Correlated columns share their importance or mask each other.", () => base((axis) => ({
      legend: { show: false }, grid: { left: 8, right: 24, top: 8, bottom: 8, containLabel: true },
      tooltip: tooltip("axis", (p) => { const w = top[p[0].dataIndex]; return [w.name, `${text(w.fall)} ± ${text(2 * w.error)}`]; }, { axisPointer: { type: "shadow" } }),
      xAxis: axis({ type: "value" }), yAxis: axis({ type: "category", data: top.map((w) => w.name), axisLabel: { color: css("--ink"), fontSize: 11, width: narrow() ? 110 : 180, overflow: "truncate" }, splitLine: { show: false } }),
      series: [{ type: "bar", data: top.map((w) => Math.max(w.fall, 0)), barMaxWidth: 16, itemStyle: { borderRadius: [0, 3, 3, 0] } }],
    })));
    made.querySelector(".chart").style.height = Math.max(120, 40 + 24 * top.length) + "px";
    drives.push(made);
  }
  if (drives.length) section("What drives the predictions", drives);
  if (I.dependence.length) {
    root.append(el("div", { style: "height: 14px" }), el("div", { class: "pair" }, I.dependence.map((curve) => chart(`Effect of ${curve.name}`, null, () => base((axis) => ({
      legend: curve.means.length > 1 ? base(() => ({})).legend : { show: false },
      tooltip: tooltip("axis"),
      grid: { left: 8, right: 18, top: curve.means.length > 1 ? 30 : 12, bottom: 8, containLabel: true },
      xAxis: curve.category ? axis({ type: "category", data: curve.labels }) : axis({ type: "value", scale: true, min: curve.at[0], max: curve.at[curve.at.length - 1] }),
      yAxis: axis({ type: "value", scale: curve.means.length === 1 }),
      series: curve.means.map((means, c) => ({
        type: !curve.category ? "line" : curve.means.length > 1 ? "bar" : "scatter", symbolSize: 12, name: curve.means.length > 1 ? (R.classes[c] || "") : (R.target || ""), barMaxWidth: 26,
        data: curve.category ? means : means.map((mean, g) => [curve.at[g], mean]), showSymbol: false, lineStyle: { width: 2 },
      })),
    })), true))), el("p", { class: "soft small" }, "The mean " + (R.classes.length ? "probability" : "prediction") + " as one column varies and all others stay as they are (partial dependence)."));
  }

  // ---- more rows? --------------------------------------------------------------------------------------------------
  if (I.curve) {
    section("Would more rows help?", el("div", { class: "card" }, el("p", {}, I.curve.verdict)), el("div", { style: "height: 14px" }), chart(`Learning curve: ${words(metric)} by number of training rows`, null, () => base((axis) => ({
      tooltip: tooltip("axis"),
      xAxis: axis({ type: "value", name: "training rows", nameGap: 24, min: 0 }), yAxis: axis({ type: "value", scale: true, max: R.comparison && R.comparison.greater_is_better && Math.max(...I.curve.train) <= 1 ? 1 : null }),
      series: [
        { type: "line", name: "training rows", data: I.curve.rows.map((n, i) => [n, I.curve.train[i]]), symbolSize: 6 },
        { type: "line", name: "new rows", data: I.curve.rows.map((n, i) => [n, I.curve.test[i]]), symbolSize: 6 },
        ...[1, -1].map((side) => ({ type: "line", name: side > 0 ? "plus one standard error" : "minus one standard error", data: I.curve.rows.map((n, i) => [n, I.curve.test[i] + side * I.curve.error[i]]), showSymbol: false, lineStyle: { type: "dotted", width: 1, color: palette()[1] }, itemStyle: { color: palette()[1] } })),
      ],
      legend: Object.assign(base(() => ({})).legend, { data: ["training rows", "new rows"] }),
    }))));
  }

  // ---- the model ---------------------------------------------------------------------------------------------------
  const inside = [];
  const params = Object.entries(R.params);
  inside.push(card("Fit", el("p", {}, `${R.model}` + (params.length ? "(" + params.map(([name, value]) => `${name}=${value}`).join(", ") + ")" : " with its default parameters")),
    el("p", { class: "soft small" }, R.certificate), R.log.notes.length ? el("p", { class: "soft small" }, R.log.notes.join("; ")) : null));
  if (R.log.objective.length > 2) {
    inside.push(chart("Objective after each pass", null, () => base((axis) => ({
      legend: { show: false }, tooltip: tooltip("axis"),
      xAxis: axis({ type: "value", name: "pass", nameGap: 24, minInterval: 1 }), yAxis: axis({ type: "value", scale: true }),
      series: [{ type: "line", name: "objective", data: R.log.objective.map((value, i) => [i + 1, value]), showSymbol: R.log.objective.length < 40, symbolSize: 4 }],
    })), true));
  }
  section("The model", el("div", { class: "pair" }, inside));
  if (R.drivers.length) {
    const top = R.drivers.slice(0, 20).reverse();
    const many = top[0].weights.length > 1;
    const made = chart("Coefficients, the largest first", "Of standardised columns, for models that need scaling.", () => base((axis) => ({
      legend: many ? base(() => ({})).legend : { show: false },
      grid: { left: 8, right: 24, top: many ? 30 : 8, bottom: 8, containLabel: true },
      tooltip: tooltip("axis", null, { axisPointer: { type: "shadow" } }),
      xAxis: axis({ type: "value" }), yAxis: axis({ type: "category", data: top.map((driver) => driver.name), axisLabel: { color: css("--ink"), fontSize: 11, width: narrow() ? 110 : 180, overflow: "truncate" }, splitLine: { show: false } }),
      series: top[0].weights.slice(0, 6).map((_, c) => ({ type: "bar", name: many ? (R.classes[c] || String(c)) : "coefficient", data: top.map((driver) => driver.weights[c]), barMaxWidth: 14 })),
    })));
    made.querySelector(".chart").style.height = Math.max(160, 40 + (many ? 12 * Math.min(6, top[0].weights.length) + 14 : 24) * top.length) + "px";
    root.append(el("div", { style: "height: 14px" }), made);
  }
  if (I.tree) {
    const holder = el("div", { class: "tree scroll" });
    holder.innerHTML = I.tree;
    root.append(el("div", { style: "height: 14px" }), card("The tree, top levels", holder));
  }

  // ---- the data ----------------------------------------------------------------------------------------------------
  const left = new Map(R.data.dropped.map((drop) => [drop.column, drop.reason]));
  const columns = R.data.columns.slice(0, 200).map((c) => el("tr", {}, el("td", {}, c.name, c.name === R.target ? el("span", { class: "tag" }, "target") : null, left.has(c.name) ? el("span", { class: "tag" }, "left out") : null),
    el("td", {}, c.kind), el("td", { class: "n" }, c.missing ? `${whole(c.missing)} (${(100 * c.missing / c.rows).toFixed(1)} %)` : ""),
    el("td", { class: "n" }, c.distinct === null ? "many" : whole(c.distinct)), el("td", { class: "n wide" }, c.kind === "number" && c.min !== null ? text(c.min) : ""),
    el("td", { class: "n wide" }, c.mean !== null && (c.kind === "number" || c.kind === "boolean") ? text(c.mean) : ""), el("td", { class: "n wide" }, c.kind === "number" && c.max !== null ? text(c.max) : "")));
  const about = table([{ name: "column" }, { name: "kind" }, { name: "missing", n: 1 }, { name: "distinct", n: 1 }, { name: "min", n: 1 }, { name: "mean", n: 1 }, { name: "max", n: 1 }], columns);
  about.querySelectorAll("th").forEach((cell, i) => { if (i > 3) cell.classList.add("wide"); });
  section("The data", el("div", { class: "card" }, el("p", {}, `${whole(R.data.rows)} rows, ${R.data.columns.length} columns; ${whole(R.data.train_rows)} training rows, ${whole(R.data.test_rows)} test rows; ${whole(R.data.prepared)} columns after preparation.`), about,
    R.data.columns.length > 200 ? el("p", { class: "soft small" }, `and ${whole(R.data.columns.length - 200)} more columns`) : null));

  // ---- again -------------------------------------------------------------------------------------------------------
  section("Reproduce", el("div", { class: "card" }, el("pre", {}, R.command),
    el("p", { class: "soft small" }, `ermine ${R.version}, seed ${R.seed}, data fingerprint ${R.fingerprint}. The same file and command give the same numbers, for any number of threads` + (R.comparison && R.comparison.cuts.length ? "; but the time limit stopped this run early, so a faster machine may choose another model." : "."))));

  // ---- themes and sizes --------------------------------------------------------------------------------------------
  function draw() {
    for (const item of charts) {
      if (item.drawn) item.drawn.dispose();
      item.drawn = echarts.init(item.place, null, { renderer: "svg" });
      item.drawn.setOption(item.option());
    }
    document.documentElement.dataset.drawn = String(charts.length);
  }
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  function theme(name) {
    document.documentElement.dataset.theme = name;
    toggle.textContent = name === "dark" ? "Light" : "Dark";
    draw();
  }
  toggle.addEventListener("click", () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  dark.addEventListener("change", (event) => theme(event.matches ? "dark" : "light"));
  let before = null;
  function printing(on) {
    document.documentElement.classList.toggle("printing", on);
    document.querySelectorAll("details").forEach((details) => { details.open = on; });
  }
  window.addEventListener("beforeprint", () => { before = document.documentElement.dataset.theme; printing(true); theme("light"); });
  window.addEventListener("afterprint", () => { printing(false); if (before) theme(before); });
  let waiting = 0;
  window.addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(() => charts.forEach((item) => item.drawn && item.drawn.resize()), 120); });
  theme(dark.matches ? "dark" : "light");
})();
