// Requests to the program. The token comes behind # in the address and is kept for reloads and further tabs.

const KEY = "ermine-lab-token";

/** Takes the token out of the address, where it would be seen. */
export function takeToken() {
  const found = location.hash.match(/^#token=([0-9a-f]+)$/);
  if (!found) return;
  localStorage.setItem(KEY, found[1]);
  history.replaceState(null, "", location.pathname + "#/data");
}

const headers = () => ({ Authorization: `Bearer ${localStorage.getItem(KEY) || ""}` });

/** What the program refused, in its words. */
export class Refused extends Error {
  /** @param {number} status @param {any} answer */
  constructor(status, answer) {
    super(answer.error || `the program answered ${status}`);
    this.status = status;
    this.cells = answer.cells || [];
  }
}

let asking = 0;

/**
 * Says on the page that an answer is awaited.
 * @template T
 * @param {Promise<T>} answer
 */
function awaited(answer) {
  const change = (/** @type {number} */ by) => {
    asking += by;
    document.body.toggleAttribute("data-asking", asking > 0);
  };
  change(1);
  // What was awaited may ask for more or draw first.
  return answer.finally(() => setTimeout(() => change(-1)));
}

/**
 * @param {string} path
 * @param {RequestInit} [options]
 */
async function ask(path, options = {}) {
  let answer;
  try {
    answer = await fetch(path, { ...options, headers: { ...headers(), ...options.headers } });
  } catch (problem) {
    if (problem instanceof DOMException && problem.name === "AbortError") throw problem;
    throw new Refused(0, { error: "The program does not answer. Has it been ended?" });
  }
  if (!answer.ok) throw new Refused(answer.status, await answer.json().catch(() => ({})));
  return answer;
}

/** @param {string} path @returns {Promise<any>} */
export const get = (path) => awaited(ask(path).then((answer) => answer.json()));

/** @param {string} path @param {any} [body] @param {AbortSignal} [signal] @returns {Promise<any>} */
export const post = (path, body, signal) =>
  awaited(
    ask(path, {
      method: "POST",
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
      headers: { "content-type": "application/json" },
    }).then((answer) => answer.json()),
  );

/** @param {File} file @returns {Promise<{ table: string }>} */
export const upload = (file) =>
  awaited(
    ask(`api/tables/${encodeURIComponent(file.name)}`, { method: "POST", body: file }).then((answer) => answer.json()),
  );

/**
 * Saves what an address answers as a file.
 * @param {string} path
 * @param {string} name
 * @param {RequestInit} [options]
 */
export async function save(path, name, options) {
  const blob = await (await ask(path, options)).blob();
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/**
 * Listens for ever; after a break it begins again, and whoever listens asks for everything.
 * @param {(event: any) => void} hear
 * @param {(here: boolean) => void} connected
 */
export async function listen(hear, connected) {
  for (let wait = 300; ; wait = Math.min(2 * wait, 5000)) {
    try {
      const answer = await ask("api/events");
      connected(true);
      wait = 300;
      const reader = /** @type {ReadableStream<Uint8Array>} */ (answer.body).getReader();
      const decoder = new TextDecoder();
      let rest = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        rest += decoder.decode(value, { stream: true });
        const lines = rest.split("\n\n");
        rest = lines.pop() || "";
        for (const line of lines) if (line.startsWith("data: ")) hear(JSON.parse(line.slice(6)));
      }
    } catch (problem) {
      if (problem instanceof Refused && problem.status === 401) {
        connected(false);
        return;
      }
    }
    connected(false);
    await new Promise((done) => setTimeout(done, wait));
  }
}
