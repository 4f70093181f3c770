// What the pages know; see crates/web/src/lab.
import type { Report } from "../ui/types";

export interface Settings {
  table: string; target?: string | null; ignore?: string[]; keep?: string[]; kinds?: Record<string, string>;
  features?: string | null; task?: string | null; effort?: string | null; models?: string[]; tune?: boolean;
  metric?: string | null; seed?: number;
}

export interface Candidate {
  model: string; params: Record<string, string>; rows: number; mean: number | null; margin: number | null;
  seconds: number; tuned: boolean; note: string | null; metric: string; greater_is_better: boolean;
}

export interface Run {
  id: number; state: "waiting" | "running" | "done" | "cancelled" | "failed"; asked: Settings; what: string;
  step: number; of: number | null; candidates: Candidate[]; seconds: number; model: string | null;
  error: string | null; enough: boolean;
}

export interface ModelLine {
  name: string; model: string; target: string | null; task: string; main_metric: string | null; table: string;
  score: number | null;
}

export interface State {
  version: string; project: string; temporary: boolean; tables: { name: string; bytes: number; path: string }[];
  settings: Settings; runs: Run[]; models: ModelLine[]; known: { name: string; task: string; compared: boolean }[];
  upload: number;
}

export interface About { report: Report; asked: { settings: Settings; command: string; python: string } }

export interface Form {
  fields: { name: string; kind: string; levels: string[]; low: any; high: any; start: any }[];
  target: string | null; classes: string[]; model: string; rows: number; interval: boolean; explains: boolean;
}

/** Where two models differ; see crates/app/src/check/diff.rs. */
export interface Diff {
  models: [string, string]; rows: number; scores: [metric: string, first: number | null, second: number | null][];
  paired: { of: string; difference: number; low: number | null; high: number | null; p: number };
  differing: number;
  examples: { row: number; truth: string; said: [string, string]; values: [column: string, value: string][] }[];
  agreement: { both: number; first: number; second: number; neither: number } | null;
  /** Truth and what each says. */
  points: [number, number, number][];
  drivers: [column: string, first: number, second: number][];
}

export interface Page {
  node: HTMLElement; update?: () => void; leave?: () => void; drop?: (file: File) => void;
}

export interface Lab {
  state: State; settings: Settings; set(change: Partial<Settings>): void; open(table: string): void;
  take(file: File): Promise<void>; go(...parts: string[]): void; say(text: string): void; draw(): void;
}

/** A step of a fit. */
export interface Step { step: number; what: string; values: Record<string, number[][]> }

export interface Seen {
  steps: Step[]; recorded: number; attributes: Record<string, any>; rows: Record<string, any>; objective: number[];
  problem: string; log: string; grid: Record<string, number[][]>; said: Record<string, number[][]>; seconds: number;
}

/** One thing to watch. */
export interface Stop {
  id: string; group: string; title: string;
  /** What points have: nothing, a class, or a height over x. */
  kind: "cluster" | "classify" | "regress";
  objective: string; look: string; questions: [question: string, answer: string][];
  sets: string[];
  params: { name: string; label: string; values: string[]; start: string }[];
  /** What is fitted; several fits where one thing is tried with several values. */
  requests: (points: Point[], params: Record<string, string>) => Watched[];
  frames: (seen: Seen[], points: Point[], params: Record<string, string>) => Frame[];
}

export interface Point { x: number; y: number; c: number }

export interface Watched {
  model: string; points: number[][]; target?: number[]; seed?: number; starts?: Record<string, number[][]>;
  grid?: number[][]; outputs?: string[];
}

export interface Frame {
  title: string; draw: (stage: import("./watch/stage.js").Stage) => void; facts: [name: string, value: string | number][];
  charts?: [name: string, values: (number | null)[]][];
}
