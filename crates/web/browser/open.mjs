// Starts the program and a browser for the tests.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), "../../..");

/** The newest program that was built. */
function program() {
  if (process.env.ERMINE) return process.env.ERMINE;
  const folder = process.env.CARGO_TARGET_DIR || join(ROOT, "target");
  const built = ["debug", "release"].map((kind) => join(folder, kind, "ermine")).filter(existsSync);
  if (!built.length) {
    execFileSync("cargo", ["build", "--quiet", "-p", "ermine-cli"], { cwd: ROOT });
    return join(folder, "debug/ermine");
  }
  return built.sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)[0];
}

/** `ermine lab` with these arguments: its address, and how to end it. */
export async function startLab(...args) {
  const begin = performance.now();
  const child = spawn(program(), ["lab", "--no-browser", ...args], { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  const address = await new Promise((found, failed) => {
    child.stderr.on("data", (bytes) => {
      said += bytes;
      const match = said.match(/http:\/\/127\.0\.0\.1:\d+\/#token=[0-9a-f]+/);
      if (match) found(match[0]);
    });
    child.on("exit", (code) => failed(new Error(`the lab ended with ${code}: ${said}`)));
  });
  const [origin, token] = [address.split("/#")[0], address.split("token=")[1]];
  return {
    address,
    origin,
    token,
    seconds: (performance.now() - begin) / 1000,
    ask: (path, options = {}) =>
      fetch(origin + path, { ...options, headers: { Authorization: `Bearer ${token}`, ...options.headers } }),
    end: () =>
      new Promise((ended) => {
        child.removeAllListeners("exit");
        child.on("exit", (code) => ended(code));
        child.kill("SIGINT");
      }),
  };
}

export async function startBrowser() {
  const found = ["chromium", "chromium-browser", "google-chrome", "chrome"]
    .map((name) => {
      try {
        return execFileSync("which", [name], { encoding: "utf8" }).trim();
      } catch {
        return "";
      }
    })
    .find(Boolean);
  if (!found) throw new Error("there is no Chromium: 'make setup' installs one");
  const quiet = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ];
  return chromium.launch({ executablePath: found, args: ["--no-sandbox", ...quiet] });
}

/** A page that remembers what went wrong on it and what it asked for elsewhere. */
export async function newPage(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
  const page = await context.newPage();
  page.problems = [];
  page.on("console", (message) => {
    if (message.type() === "error") page.problems.push(message.text());
  });
  page.on("pageerror", (error) => page.problems.push(String(error)));
  page.on("request", (request) => {
    const { hostname, protocol } = new URL(request.url());
    if (hostname !== "127.0.0.1" && protocol.startsWith("http")) page.problems.push(`asked ${request.url()}`);
  });
  page.setDefaultTimeout(60000);
  return page;
}

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

/** What a check of accessibility finds serious. */
export async function seriousFindings(page) {
  const { readFile } = await import("node:fs/promises");
  // Through the tools of the browser: the policy of the page lets no other script in.
  await page.evaluate(await readFile(AXE, "utf8"));
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  return found.violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(
      ({ id, nodes }) =>
        `${id}: ${nodes
          .slice(0, 3)
          .map((node) => node.html.slice(0, 160))
          .join(" | ")}`,
    );
}
