// Points to begin with. Drawn by a fixed generator, so that everybody sees the same.

/** @typedef {{ x: number, y: number, c: number }} Point */

/** A small generator of numbers from 0 to 1 (mulberry32). @param {number} seed */
function drawer(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** @param {number} seed */
function normals(seed) {
  const draw = drawer(seed);
  return () => Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw());
}

const round = (/** @type {number} */ value) => Math.round(value * 1000) / 1000;

/** @param {[x: number, y: number, spread: number, count: number][]} centres @param {number} seed */
function blobs(centres, seed) {
  const normal = normals(seed);
  return centres.flatMap(([x, y, spread, count], c) =>
    Array.from({ length: count }, () => ({ x: round(x + spread * normal()), y: round(y + spread * normal()), c })),
  );
}

/** @param {number} noise @param {number} seed */
function moons(noise, seed) {
  const normal = normals(seed);
  return Array.from({ length: 90 }, (_, i) => {
    const [c, t] = [i % 2, (Math.PI * Math.floor(i / 2)) / 44];
    const [x, y] = c ? [1 - Math.cos(t), 0.5 - Math.sin(t)] : [Math.cos(t), Math.sin(t)];
    return { x: round(1.6 * (x - 0.5) + noise * normal()), y: round(1.8 * (y - 0.25) + noise * normal()), c };
  });
}

/** @param {number} seed */
function rings(seed) {
  const [normal, draw] = [normals(seed), drawer(seed + 1)];
  return Array.from({ length: 90 }, (_, i) => {
    const [c, t] = [i % 2, 2 * Math.PI * draw()];
    const r = (c ? 0.8 : 2.1) + 0.18 * normal();
    return { x: round(r * Math.cos(t)), y: round(r * Math.sin(t)), c };
  });
}

/** @param {(x: number) => number} f @param {number} noise @param {number} count @param {number} seed */
function curve(f, noise, count, seed) {
  const [normal, draw] = [normals(seed), drawer(seed + 1)];
  return Array.from({ length: count }, () => {
    const x = -2.6 + 5.2 * draw();
    return { x: round(x), y: round(f(x) + noise * normal()), c: 0 };
  });
}

/** @type {Record<string, [title: string, make: () => Point[]]>} */
export const SETS = {
  three: [
    "three clusters",
    () =>
      blobs(
        [
          [-1.5, -1, 0.5, 30],
          [1.4, -0.8, 0.55, 30],
          [0.1, 1.5, 0.5, 30],
        ],
        7,
      ),
  ],
  close: [
    "overlapping clusters",
    () =>
      blobs(
        [
          [-0.9, -0.4, 0.75, 40],
          [1, -0.2, 0.6, 30],
          [0.2, 1.2, 0.7, 30],
        ],
        3,
      ),
  ],
  long: [
    "long clusters",
    () => {
      const normal = normals(5);
      return Array.from({ length: 90 }, (_, i) => {
        const c = i % 3;
        const [a, b] = [1.1 * normal(), 0.22 * normal()];
        return { x: round(0.8 * a - 0.6 * b), y: round(0.6 * a + 0.8 * b + 1.5 * (c - 1)), c };
      });
    },
  ],
  apart: [
    "two classes apart",
    () =>
      blobs(
        [
          [-1.2, -0.7, 0.5, 30],
          [1.2, 0.8, 0.5, 30],
        ],
        11,
      ),
  ],
  mixed: [
    "two classes that overlap",
    () =>
      blobs(
        [
          [-0.8, -0.5, 0.8, 40],
          [0.9, 0.6, 0.8, 40],
        ],
        4,
      ),
  ],
  moons: ["two moons", () => moons(0.16, 9)],
  rings: ["a ring around a blob", () => rings(2)],
  xor: [
    "four blocks (exclusive or)",
    () =>
      blobs(
        [
          [-1.1, -1.1, 0.4, 22],
          [-1.1, 1.1, 0.4, 22],
          [1.1, 1.1, 0.4, 22],
          [1.1, -1.1, 0.4, 22],
        ],
        6,
      ).map((point) => ({ ...point, c: point.c % 2 })),
  ],
  oval: [
    "a slanted cloud",
    () => {
      const normal = normals(8);
      return Array.from({ length: 80 }, () => {
        const [a, b] = [1.3 * normal(), 0.4 * normal()];
        return { x: round(0.87 * a - 0.5 * b), y: round(0.5 * a + 0.87 * b), c: 0 };
      });
    },
  ],
  wave: ["a wave with noise", () => curve((x) => 1.2 * Math.sin(1.6 * x), 0.35, 40, 12)],
  line: ["a line with noise", () => curve((x) => 0.7 * x - 0.2, 0.45, 40, 13)],
  steps: ["steps", () => curve((x) => (x < -1 ? -1.2 : x < 0.6 ? 1 : -0.2), 0.25, 60, 14)],
};
