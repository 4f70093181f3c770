// Ermine Lab as a person uses it, and as one should not be able to.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { ROOT, newPage, seriousFindings, startBrowser, startLab } from "./open.mjs";

const PENGUINS = join(ROOT, "examples/penguins.csv");
const folder = mkdtempSync(join(tmpdir(), "ermine-lab-test-"));
let browser;
let lab;

before(async () => {
  [browser, lab] = await Promise.all([startBrowser(), startLab("--project", join(folder, "project"))]);
});

after(async () => {
  await browser?.close();
  if (lab) assert.equal(await lab.end(), 0, "Ctrl-C ends it well");
  rmSync(folder, { recursive: true, force: true });
});

/** Drops a file on the page, as a hand does. */
async function drop(page, name, content) {
  const data = await page.evaluateHandle(
    ([name, content]) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([content], name, { type: "text/csv" }));
      return transfer;
    },
    [name, content],
  );
  await page.dispatchEvent("#page", "drop", { dataTransfer: data });
}

const clean = async (page, where) => {
  assert.deepEqual(await seriousFindings(page), [], where);
  assert.deepEqual(page.problems, [], where);
};

test("from a dropped table to a prediction with its reasons", async () => {
  const page = await newPage(browser);
  await page.goto(lab.address);
  await page.waitForSelector("text=Drop a table here");
  assert.ok(!page.url().includes(lab.token), "the token does not stay in the address");
  await clean(page, "welcome");

  await drop(page, "penguins.csv", readFileSync(PENGUINS, "utf8"));
  await page.waitForSelector("text=344 rows");
  assert.equal(await page.locator(".column").count(), 8);
  await page.selectOption("select:below(:text('Column to predict'))", "species");
  await page.waitForSelector(".strength");
  await clean(page, "data");

  await page.click("text=Train a model");
  await page.click("text=Quick");
  await page.click("summary:has-text('Models:')");
  for (const model of ["LogisticRegression", "DecisionTreeClassifier", "GaussianNB"])
    await page.check(`label:text-is(" ${model}") input`);
  await page.click("button:text-is('Train')");
  await page.waitForSelector("[data-state=done]", { timeout: 60000 });
  await page.waitForSelector("text=The same on the command line");
  const command = await page.locator(".copyable pre").first().textContent();
  assert.match(command, /^ermine fit .*penguins\.csv --target species --models .* --effort quick/);
  await clean(page, "train");

  await page.click("[data-state=done] button:text-is('Understand')");
  await page.waitForSelector("h2:text-is('Scores')");
  await page.waitForFunction(() => document.querySelectorAll(".chart svg").length > 3);
  await clean(page, "understand");

  await page.click("button:text-is('Use it')");
  await page.waitForSelector("#prediction");
  await page.waitForSelector(".parts li");
  const field = (name) => page.getByLabel(name, { exact: true });
  await field("flipper_length_mm").fill("230");
  await field("body_mass_g").fill("5500");
  await field("bill_depth_mm").fill("14");
  await field("bill_length_mm").fill("47");
  await field("island").selectOption("Biscoe");
  await page.waitForFunction(() => document.querySelector("#prediction")?.textContent === "Gentoo");
  await page.waitForFunction(() => /probability of Gentoo/.test(document.querySelector(".why")?.textContent || ""));
  await clean(page, "use");

  // What is not a number is said beside the field.
  await field("body_mass_g").fill("heavy");
  await page.waitForSelector("input.wrong");
  page.problems.length = 0;
  await field("body_mass_g").fill("5500");
  await page.waitForSelector("#prediction");

  const download = page.waitForEvent("download");
  await page.setInputFiles("input[aria-label='file to predict']", PENGUINS);
  const saved = readFileSync(await (await download).path(), "utf8")
    .trim()
    .split("\n");
  assert.equal(saved.length, 345);
  assert.match(saved[0], /predicted species.*p\(Adelie\)/);
  await page.context().close();
});

test("a run is seen by every page, also after a reload, and can be stopped", async () => {
  const [page, other] = [await newPage(browser), await newPage(browser)];
  await page.goto(lab.address);
  // Enough rows for a run that does not end by itself while a busy machine draws the pages.
  const rows = Array.from(
    { length: 20000 },
    (_, i) => `${Math.sin(i)},${(i * 7919) % 1000},${Math.cos(3 * i)},${Math.sin(i) + Math.cos(3 * i) > 0 ? "a" : "b"}`,
  );
  await page.waitForSelector("#page h1");
  await drop(page, "large.csv", `x,y,z,label\n${rows.join("\n")}\n`);
  await page.waitForSelector("text=20,000 rows");
  await page.selectOption("select:below(:text('Column to predict'))", "label");
  await page.waitForSelector("text=Train a model");
  await page.goto(`${lab.origin}/#/train`);
  await page.click("text=Thorough");
  await page.click("button:text-is('Train')");
  await page.waitForSelector("[data-state=running] tbody tr", { timeout: 60000 });
  await other.goto(lab.address);
  await other.goto(`${lab.origin}/#/train`);
  await other.waitForSelector("[data-state=running] tbody tr");
  await page.reload();
  await page.waitForSelector("[data-state=running] tbody tr");
  await page.click("[data-state=running] >> text=Cancel");
  await other.waitForSelector("[data-state=cancelled]");
  await page.waitForSelector("[data-state=cancelled]");

  // The next one is ended early, and the best so far is kept.
  await page.click("button:text-is('Train')");
  await page.click("[data-state=running] >> text=Stop and keep the best", { timeout: 60000 });
  await page.waitForSelector("article:first-child[data-state=done]", { timeout: 60000 });
  await page.waitForSelector("text=This run was stopped early");
  assert.deepEqual([...page.problems, ...other.problems], []);
  await Promise.all([page.context().close(), other.context().close()]);
});

test("two models are compared row by row", async () => {
  const post = (path, body) =>
    lab.ask(path, {
      method: "POST",
      body: typeof body === "string" ? body : JSON.stringify(body),
      headers: { "content-type": "application/json" },
    });
  const { table } = await (await post("/api/tables/pair.csv", readFileSync(PENGUINS, "utf8"))).json();
  for (const model of ["GaussianNB", "DecisionTreeClassifier(max_depth=1)"])
    assert.equal((await post("/api/runs", { table, target: "sex", models: [model] })).status, 200);
  const models = async () => {
    const { models, runs } = await (await lab.ask("/api/state")).json();
    const busy = runs.some(({ state }) => state === "waiting" || state === "running");
    return busy ? [] : models.filter((model) => model.target === "sex").map((model) => model.name);
  };
  let names = [];
  for (let wait = 0; names.length < 2 && wait < 300; wait++) {
    await new Promise((done) => setTimeout(done, 200));
    names = await models();
  }
  assert.ok(names.length >= 2, names.join());
  const page = await newPage(browser);
  await page.goto(lab.address);
  await page.waitForSelector("#page h1");
  await page.goto(`${lab.origin}/#/understand/${names[0]}`);
  await page.click("text=Compare with another");
  await page.waitForSelector("#verdict");
  await page.waitForSelector("text=These rows were learnt from");
  // What the page says is what the program says: rows by who is right add up, and so do those that differ.
  const asked = { first: names[0], second: names[1], table };
  const { diff, numbers } = await (await post("/api/diff", asked)).json();
  const { both, first, second, neither } = diff.agreement;
  assert.equal(both + first + second + neither, diff.rows);
  assert.equal(diff.rows, 333);
  assert.ok(diff.differing >= Math.max(first, second) && diff.examples.length === numbers.length);
  const lines = readFileSync(PENGUINS, "utf8").trim().split("\n");
  diff.examples.forEach(({ truth }, place) => assert.ok(lines[numbers[place]].includes(truth), `row ${numbers[place]}`));
  for (const wrong of [
    { ...asked, first: "../x" },
    { ...asked, table: "../../etc/passwd" },
  ])
    assert.equal((await post("/api/diff", wrong)).status, 404);
  assert.equal((await post("/api/diff", { ...asked, more: 1 })).status, 400);
  await clean(page, "compare");
  await page.context().close();
});

test("names and cells are text", async () => {
  const evil = "</script><img src=x onerror=globalThis.hit=1>";
  const rows = Array.from(
    { length: 60 },
    (_, i) => `${i % 7},${i % 2 ? evil : "<b>b</b>"},${i % 2 ? "<svg onload=globalThis.hit=1>" : "no"}`,
  );
  const page = await newPage(browser);
  await page.goto(lab.address);
  await page.waitForSelector("#page h1");
  await drop(page, "<img src=x onerror=hit=1>.csv", `n,"${evil}",y\n${rows.join("\n")}\n`);
  await page.waitForSelector("text=60 rows");
  await page.selectOption("select:below(:text('Column to predict'))", "y");
  await page.waitForSelector(".strength");
  assert.ok((await page.textContent("#page")).includes(evil), "it is shown as it stands");
  await page.goto(`${lab.origin}/#/train`);
  await page.click("summary:has-text('Models:')");
  await page.check("label:text-is(' DecisionTreeClassifier') input");
  await page.click("button:text-is('Train')");
  await page.waitForSelector("article:first-child[data-state=done]", { timeout: 60000 });
  await page.click("article:first-child button:text-is('Understand')");
  await page.waitForSelector("h2:text-is('Scores')");
  await page.click("button:text-is('Use it')");
  await page.waitForSelector("#prediction");
  assert.equal(await page.evaluate(() => globalThis.hit), undefined);
  assert.equal(await page.locator("#page img").count(), 0);
  assert.deepEqual(page.problems, []);
  await page.context().close();
});

test("every algorithm can be watched, and is the library's", async () => {
  const page = await newPage(browser);
  await page.goto(lab.address);
  await page.waitForSelector("#page h1");
  await page.goto(`${lab.origin}/#/watch`);
  await page.waitForSelector(".stops a");
  const stops = await page.$$eval(".stops a", (links) => links.map((link) => link.getAttribute("href")));
  assert.ok(stops.length >= 18, `${stops.length} stops`);
  for (const stop of stops) {
    await page.goto(lab.origin + "/" + stop);
    await page.waitForFunction(
      (stop) =>
        document.querySelector(`.stops a[href="${stop}"]`)?.hasAttribute("aria-current") &&
        /^Step 1 of [0-9]+/.test(document.querySelector("#step")?.textContent || ""),
      stop,
    );
    const count = Number((await page.textContent("#step")).match(/of (\d+)/)[1]);
    assert.ok(count >= 3, `${stop}: ${count} steps`);
    await page.click("[aria-label='last step']");
    assert.match(await page.textContent("#step"), new RegExp(`^Step ${count} of ${count}`));
    assert.equal(await page.locator(".watch .worries").count(), 0, stop);
    assert.equal(await page.locator(".watch details").count(), 3, `${stop}: three questions`);
  }
  // Points can be added, moved and removed by keys; the fit follows.
  await page.goto(`${lab.origin}/#/watch/kmeans`);
  await page.waitForFunction(() => /recorded/.test(document.querySelector("#source")?.textContent || ""));
  const before = await page.locator(".stage circle").count();
  await page.focus(".stage svg");
  await page.keyboard.press("Enter");
  await page.keyboard.press("ArrowLeft");
  await page.waitForFunction((n) => document.querySelectorAll(".stage circle").length === n + 1, before);
  await page.keyboard.press("Delete");
  await page.waitForFunction((n) => document.querySelectorAll(".stage circle").length === n, before);
  await page.mouse.move(0, 0);
  const box = await page.locator(".stage svg").boundingBox();
  await page.mouse.click(box.x + 20, box.y + 20);
  await page.waitForFunction((n) => document.querySelectorAll(".stage circle").length === n + 1, before);
  await page.click("button:text-is('Play')");
  await page.waitForSelector("button:text-is('Pause')");
  await clean(page, "watch");
  await page.context().close();
});

test("pages are usable in the dark and on a phone", async () => {
  for (const options of [{ colorScheme: "dark" }, { viewport: { width: 320, height: 700 } }]) {
    const page = await newPage(browser, options);
    await page.goto(lab.address);
    // Fonts differ in width by this much, and readers may ask for it.
    await page.evaluate(() => {
      const wider = new CSSStyleSheet();
      wider.replaceSync("* { letter-spacing: 0.08em !important; }");
      document.adoptedStyleSheets = [wider];
    });
    for (const name of ["data", "train", "understand", "use", "watch"]) {
      await page.goto(`${lab.origin}/#/${name}`);
      await page.waitForSelector(`#page[data-page=${name}] h1`);
      await page.waitForSelector("body:not([data-asking])");
      const wide = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      assert.ok(wide <= 0, `${name} is ${wide} px too wide`);
      await clean(page, `${name}, ${JSON.stringify(options)}`);
    }
    await page.context().close();
  }
});

/** A request as it stands, without what a browser or fetch would add or forbid. */
const raw = (path, headers, method = "GET", body = "") =>
  new Promise((done, failed) => {
    const { port } = new URL(lab.origin);
    const request = http.request({ host: "127.0.0.1", port, path, method, headers, agent: false }, (answer) => {
      let text = "";
      answer.on("data", (bytes) => {
        text += bytes;
      });
      answer.on("end", () => done({ status: answer.statusCode, headers: answer.headers, text }));
    });
    request.on("error", failed);
    request.end(body);
  });

test("nobody else gets in", async () => {
  const host = new URL(lab.origin).host;
  const bearer = { authorization: `Bearer ${lab.token}` };
  const status = async (...request) => (await raw(...request)).status;
  assert.equal(await status("/api/state", { host, ...bearer }), 200);
  assert.equal(await status("/api/state", { host }), 401, "no token");
  assert.equal(await status("/api/state", { host, authorization: `Bearer ${"0".repeat(48)}` }), 401, "a wrong token");
  assert.equal(await status(`/api/state?token=${lab.token}`, { host }), 401, "a token in the address is not taken");
  assert.equal(await status("/api/state", { host: "evil.example", ...bearer }), 403, "DNS rebinding");
  assert.equal(await status("/", { host: `evil.example:${host.split(":")[1]}` }), 403, "DNS rebinding, the page");
  assert.equal(
    await status("/api/runs", { host, ...bearer, origin: "https://evil.example" }, "POST", "{}"),
    403,
    "another page",
  );
  assert.equal(
    await status("/api/state", { host, ...bearer, "sec-fetch-site": "cross-site" }),
    403,
    "another page, by GET",
  );
  for (const path of ["/api/runs", "/api/settings", "/api/look", "/api/runs/1/cancel", "/api/models/x/remove"]) {
    assert.equal(await status(path, { host, ...bearer }), 405, `${path} by GET`);
  }
  for (const path of [
    "/../Cargo.toml",
    "/ui/../../Cargo.toml",
    "/%2e%2e/Cargo.toml",
    "/etc/passwd",
    "/lab/../../../etc/passwd",
  ]) {
    assert.equal(await status(path, { host }), 404, path);
  }
  for (const table of ["../../../etc/passwd", "/etc/passwd", "..", "lab.json", "../lab.json"]) {
    const answer = await raw("/api/look", { host, ...bearer }, "POST", JSON.stringify({ table }));
    assert.equal(answer.status, 422, table);
    assert.match(answer.text, /there is no table/, table);
  }
  for (const model of ["..%2f..%2fetc%2fpasswd", "..", "%2fetc%2fpasswd"]) {
    assert.ok([404].includes(await status(`/api/models/${model}/file`, { host, ...bearer })), model);
  }
  assert.equal(await status("/api/runs", { host, ...bearer }, "POST", "not json"), 422);
  assert.equal(
    await status("/api/look", { host, ...bearer, "content-length": 1e9 }, "POST"),
    413,
    "a body without end",
  );
  const upload = await raw("/api/tables/..%2f..%2fescaped.csv", { host, ...bearer }, "POST", "a\n1\n");
  assert.equal(JSON.parse(upload.text).table, "escaped.csv", "the name stays in the folder");
  const page = await raw("/", { host });
  const policy = page.headers["content-security-policy"];
  assert.match(policy, /default-src 'none'; script-src 'self';/);
  assert.match(policy, /frame-ancestors 'none'/);
  assert.equal(page.headers["x-content-type-options"], "nosniff");
  assert.equal(page.headers["referrer-policy"], "no-referrer");
  assert.equal(page.headers["set-cookie"], undefined);
});

test("a project is found again, and a table on the command line is read where it is", async () => {
  const table = join(folder, "named.csv");
  writeFileSync(table, "a,b\n1,2\n3,4\n");
  const again = await startLab(table, "--project", join(folder, "project"));
  assert.ok(again.seconds < 5, `${again.seconds} s to the address`);
  const state = await (await again.ask("/api/state")).json();
  assert.deepEqual(
    state.tables.slice(0, 2).map(({ name }) => name),
    ["named.csv", "_img_src_x_onerror_hit_1_.csv"],
  );
  assert.ok(state.models.length >= 1, "models are kept");
  assert.equal(await again.end(), 0);
});
