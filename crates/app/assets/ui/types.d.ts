// The report as `ermine fit --json` prints it; see crates/app/src/report/mod.rs.

export type Scores = [name: string, value: number][];

export interface Interval { metric: string; low: number; high: number }

export interface Column {
  name: string; kind: string; rows: number; missing: number; distinct: number | null;
  min: number | null; mean: number | null; max: number | null;
}

export interface Standing {
  model: string; params: Record<string, string>; rows: number; scores: number[]; mean: number | null; margin: number | null;
  seconds: number; tuned: boolean; as_good: boolean; note: string | null;
}

export interface Comparison {
  metric: string; greater_is_better: boolean; folds: number; repeats: number; rows: number;
  standings: Standing[];
  left_out: [model: string, why: string][]; searched: number; cuts: string[];
}

export interface Curve { class: string; area: number; points: number[][] }

/** The mean of a column, or its most frequent level with its share. */
export interface Middle { column: string; mean: number | null; level: [name: string, share: number] | null }

export interface Insight {
  importance: { name: string; fall: number; error: number }[];
  dependence: {
    name: string; category: boolean; dated: boolean; of: "prediction" | "probability" | "score"; others: number;
    labels: string[]; at: number[]; means: number[][];
  }[];
  roc: Curve[];
  precision_recall: Curve[];
  /** Mean probability, share of the class, rows. */
  calibration: number[][];
  /** True and predicted value. */
  predicted: number[][];
  curve: { rows: number[]; train: number[]; test: number[]; error: number[]; verdict: string } | null;
  /** Of two classes: what each threshold comes to. */
  thresholds: { at: number; hits: number; misses: number; alarms: number; rest: number }[];
  worst: { truth: string; said: string; off: number; values: [column: string, value: string][] }[];
  tree: string | null;
  cluster_curve: {
    criterion: string; points: { k: number; value: number | null }[]; chosen: number; verdict: string;
  } | null;
  groups: { middle: Middle[] }[];
  look: Look | null;
}

export type Picture =
  | { histogram: { low: number; high: number; low_text: string; high_text: string; counts: number[][] } }
  | { levels: { names: string[]; others: number; counts: number[][] } }
  | { text: { examples: string[] } } | "empty";

export interface LookColumn extends Column {
  picture: Picture; association: { of: string; value: number } | null; outliers: number;
}

export interface Look {
  rows: number; sampled: number; duplicates: number; incomplete: number; task: string | null; target: string | null;
  /** Those that distributions are split by, and the place of each among all classes. */
  classes: string[]; places: number[];
  columns: LookColumn[]; correlations: { names: string[]; values: (number | null)[][] };
  left_out: { column: string; reason: string }[]; worries: string[]; assumed: string[]; first: string[][];
}

export interface Report {
  data: {
    path: string; rows: number; rows_used: number; columns: Column[]; features: number; prepared: number;
    dropped: { column: string; reason: string }[]; assumed: string[]; train_rows: number; test_rows: number;
  };
  model: string;
  params: Record<string, string>;
  choice: string | null;
  task: string;
  target: string | null;
  classes: string[];
  /** What it costs to miss each class; empty if all cost the same. */
  costs: number[];
  main_metric: string | null;
  test: Scores | null;
  folds: { folds: number; scores: [name: string, mean: number, deviation: number][] } | null;
  intervals: Interval[];
  baseline: Scores | null;
  confusion: number[][] | null;
  comparison: Comparison | null;
  insight: Insight;
  drivers: { name: string; weights: number[]; standardised: number[] }[];
  intercept: number[];
  components: { variance: number; share: number; loadings: [name: string, weight: number][] }[];
  preparation: { column: string; what: string; filled: string | null }[];
  clusters: number[];
  log: { objective: number[]; notes: string[] };
  notes: string[];
  version: string;
  seed: number;
  fingerprint: string;
  seconds: number;
  /** Added for the page. */
  certificate: string;
  command: string;
}

declare global {
  const echarts: any;
}
