//! What happened, in the text format of Prometheus.

use super::models::Slot;
use std::{
    collections::BTreeMap,
    fmt::Write,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

/// Upper ends of the buckets, in microseconds.
const BUCKETS: [u64; 15] = [
    100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 5_000_000,
    30_000_000,
];

#[derive(Default)]
pub struct Metrics {
    answers: Mutex<BTreeMap<(&'static str, u16), u64>>,
    latency: [AtomicU64; BUCKETS.len() + 1],
    microseconds: AtomicU64,
    pub batches: AtomicU64,
    pub batched: AtomicU64,
}

impl Metrics {
    pub fn answered(&self, route: &'static str, status: u16, time: Duration) {
        *self.answers.lock().unwrap_or_else(PoisonError::into_inner).entry((route, status)).or_default() += 1;
        if route == "predict" {
            let micros = time.as_micros() as u64;
            self.latency[BUCKETS.partition_point(|end| *end < micros)].fetch_add(1, Relaxed);
            self.microseconds.fetch_add(micros, Relaxed);
        }
    }

    pub fn text(&self, slots: &[Slot], waiting: usize) -> String {
        let mut out = String::new();
        let head = |out: &mut String, name: &str, kind: &str, help: &str| {
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
        };
        head(&mut out, "ermine_requests_total", "counter", "Requests by route and status.");
        for ((route, status), count) in self.answers.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let _ = writeln!(out, "ermine_requests_total{{route=\"{route}\",status=\"{status}\"}} {count}");
        }
        let name = "ermine_predict_seconds";
        head(&mut out, name, "histogram", "Time from the head of a prediction request to its answer.");
        let mut below = 0;
        for (end, count) in BUCKETS.iter().zip(&self.latency) {
            below += count.load(Relaxed);
            let _ = writeln!(out, "{name}_bucket{{le=\"{}\"}} {below}", *end as f64 / 1e6);
        }
        below += self.latency[BUCKETS.len()].load(Relaxed);
        let seconds = self.microseconds.load(Relaxed) as f64 / 1e6;
        let _ = writeln!(out, "{name}_bucket{{le=\"+Inf\"}} {below}\n{name}_sum {seconds}\n{name}_count {below}");
        head(&mut out, "ermine_waiting_requests", "gauge", "Requests that wait for a thread.");
        let _ = writeln!(out, "ermine_waiting_requests {waiting}");
        head(&mut out, "ermine_batches_total", "counter", "Batches that were predicted.");
        let _ = writeln!(out, "ermine_batches_total {}", self.batches.load(Relaxed));
        head(&mut out, "ermine_batched_requests_total", "counter", "Requests in those batches.");
        let _ = writeln!(out, "ermine_batched_requests_total {}", self.batched.load(Relaxed));
        let per_model: [(&str, &str, fn(&Slot) -> u64); 3] = [
            ("ermine_rows_total", "Rows that were predicted.", |slot| slot.rows.load(Relaxed)),
            ("ermine_model_swaps_total", "Changed model files that were loaded.", |slot| slot.swaps.load(Relaxed)),
            ("ermine_model_refused_total", "Changed model files that could not be loaded.", |slot| {
                slot.refused.load(Relaxed)
            }),
        ];
        for (name, help, value) in per_model {
            head(&mut out, name, "counter", help);
            for slot in slots {
                let _ = writeln!(out, "{name}{{model=\"{}\"}} {}", label(&slot.name), value(slot));
            }
        }
        head(&mut out, "ermine_model_info", "gauge", "The version of each model.");
        for slot in slots {
            let (name, version) = (label(&slot.name), slot.current().version.clone());
            let _ = writeln!(out, "ermine_model_info{{model=\"{name}\",version=\"{version}\"}} 1");
        }
        let strange: Vec<_> = slots.iter().map(|slot| (label(&slot.name), slot.strange())).collect();
        for (name, help, unseen) in [
            ("ermine_unseen_levels_total", "Categories that the model has not seen.", true),
            ("ermine_out_of_range_total", "Numbers outside the range that the model was fitted on.", false),
        ] {
            head(&mut out, name, "counter", help);
            for (model, columns) in &strange {
                for (column, found) in columns {
                    let count = if unseen { found.unseen } else { found.outside };
                    let _ = writeln!(out, "{name}{{model=\"{model}\",column=\"{}\"}} {count}", label(column));
                }
            }
        }
        out
    }
}

fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
