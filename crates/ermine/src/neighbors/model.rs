//! What all nearest-neighbour models fit: the rows, what is known of them, and how far to look.

use crate::{
    Array, Ctx, Error, Fit, FitLog, Matrix, Model, Output, OwnedX, Result, Source, X,
    core::{Target, choice},
    engine::neighbours::{Metric, Search},
};
use serde::{Deserialize, Serialize};

choice! {
    /// How neighbours are weighted.
    pub enum Weighting {
        /// All neighbours alike.
        Uniform = "uniform",
        /// By the inverse of their distance; at distance zero nothing else counts.
        Distance = "distance",
    }
}

choice! {
    /// Accepted for scikit-learn compatibility; ignored, because the fastest exact search is chosen automatically.
    pub enum Algorithm {
        Auto = "auto",
        BallTree = "ball_tree",
        KdTree = "kd_tree",
        Brute = "brute",
    }
}

/// How far to look.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reach {
    Count(usize),
    Radius(f64),
}

/// What is known of the training rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Known {
    Nothing,
    Real(Matrix),
    /// Codes, how many classes, and what a row without neighbours gets.
    Class {
        codes: Vec<u32>,
        classes: usize,
        outlier: Option<u32>,
    },
}

#[derive(Serialize, Deserialize)]
pub struct NeighborsModel {
    pub search: Search,
    pub reach: Reach,
    pub weighting: Weighting,
    pub known: Known,
}

/// What the estimators of this family have in common.
pub struct Settings<'a> {
    pub metric: &'a Metric,
    /// The power of a Minkowski metric.
    pub p: f64,
    pub reach: Reach,
    pub weighting: Weighting,
    /// Whether a row without neighbours gets the most frequent class.
    pub most_frequent: bool,
}

/// Keeps the rows; the work is done when neighbours are asked for.
pub fn fit(name: &'static str, data: &dyn Source, ctx: &Ctx, settings: Settings) -> Result<Fit<NeighborsModel>> {
    let Settings { metric, p, reach, weighting, most_frequent } = settings;
    let batch = data.in_memory(name, WHY_MEMORY)?;
    ctx.check()?;
    batch.x.check_finite(batch.first)?;
    if let Reach::Count(k) = reach
        && k > batch.rows()
    {
        return Err(Error::Data(format!(
            "{name}: n_neighbors={k}, but there are only {} rows (n_samples)",
            batch.rows()
        )));
    }
    let known = match batch.y {
        Target::None => Known::Nothing,
        Target::Real { values, cols } => Known::Real(Matrix::new(values.to_vec(), values.len() / cols, cols)),
        Target::Class { codes, classes } => {
            let mut counts = vec![0; classes];
            codes.iter().for_each(|&code| counts[code as usize] += 1);
            let largest = (0..classes).fold(0, |best, c| if counts[c] > counts[best] { c } else { best });
            Known::Class { codes: codes.to_vec(), classes, outlier: most_frequent.then_some(largest as u32) }
        }
    };
    let metric = metric.resolve(p, batch.x.cols())?;
    let mut log = FitLog::default();
    if let Metric::Kernel(kernel) = &metric {
        log.notes.extend(kernel.definiteness(&batch.x));
    }
    let search = Search::new(OwnedX::all(&batch.x), metric);
    ctx.install(|| search.prepare());
    Ok(Fit::new(NeighborsModel { search, reach, weighting, known }, log))
}

pub const WHY_MEMORY: &str = "every prediction uses all training rows";

impl NeighborsModel {
    /// Neighbours of every row, the nearest first for a count, in the order of rows for a radius.
    pub fn neighbours(&self, x: &X) -> Vec<Vec<(f64, u32)>> {
        match self.reach {
            Reach::Radius(radius) => self.search.within(x, radius),
            Reach::Count(k) => {
                let k = k.min(self.search.points.rows()).max(1);
                self.search.nearest(x, k).chunks(k).map(<[_]>::to_vec).collect()
            }
        }
    }

    /// Calls `f(row, weight)` for each neighbour of one query.
    fn each(&self, neighbours: &[(f64, u32)], mut f: impl FnMut(usize, f64)) {
        let here = neighbours.iter().any(|(distance, _)| *distance == 0.0);
        for &(distance, row) in neighbours {
            let weight = match self.weighting {
                Weighting::Uniform => 1.0,
                Weighting::Distance if here => f64::from(distance == 0.0),
                Weighting::Distance => distance.recip(),
            };
            f(row as usize, weight);
        }
    }
}

impl Model for NeighborsModel {
    fn cols(&self) -> usize {
        self.search.points.cols()
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        let mut outputs = match &self.known {
            Known::Nothing => vec![],
            Known::Real(values) => vec![(Output::Value, values.cols)],
            Known::Class { classes, .. } => vec![(Output::Class, 1), (Output::Probability, *classes)],
        };
        if let Reach::Count(k) = self.reach {
            outputs.push((Output::Neighbours, 2 * k));
        }
        outputs
    }

    fn rows_at_once(&self) -> usize {
        self.search.rows_at_once()
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        let all = self.neighbours(x);
        if output == Output::Neighbours {
            for (out, near) in out.chunks_exact_mut(2 * all.first().map_or(1, Vec::len)).zip(&all) {
                let (rows, distances) = out.split_at_mut(near.len());
                for (i, &(distance, row)) in near.iter().enumerate() {
                    (rows[i], distances[i]) = (f64::from(row), distance);
                }
            }
            return Ok(());
        }
        match &self.known {
            Known::Nothing => {}
            Known::Real(values) => {
                for (out, near) in out.chunks_exact_mut(values.cols).zip(&all) {
                    let mut total = 0.0;
                    out.fill(0.0);
                    self.each(near, |row, weight| {
                        total += weight;
                        out.iter_mut().zip(values.row(row)).for_each(|(out, y)| *out += weight * y);
                    });
                    // 0 / 0 is NaN: nothing is known where nothing is near.
                    out.iter_mut().for_each(|out| *out /= total);
                }
            }
            Known::Class { codes, classes, outlier } => {
                let mut votes = vec![0.0; *classes];
                for (i, near) in all.iter().enumerate() {
                    votes.fill(0.0);
                    self.each(near, |row, weight| votes[codes[row] as usize] += weight);
                    let total: f64 = votes.iter().sum();
                    if near.is_empty() {
                        let Some(class) = outlier else {
                            return Err(Error::Data(format!(
                                "no neighbours within the radius for {} of these rows",
                                all.iter().filter(|near| near.is_empty()).count()
                            ))
                            .hint("enlarge the radius, or set outlier_label=most_frequent"));
                        };
                        votes[*class as usize] = 1.0;
                    }
                    match output {
                        Output::Class => {
                            let best = (0..*classes).fold(0, |best, c| if votes[c] > votes[best] { c } else { best });
                            out[i] = best as f64;
                        }
                        _ => {
                            let total = if near.is_empty() { 1.0 } else { total };
                            let to = &mut out[i * classes..(i + 1) * classes];
                            to.iter_mut().zip(&votes).for_each(|(to, vote)| *to = vote / total);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        vec![("n_samples_fit_", self.search.points.rows().into())]
    }

    fn check(&self) -> Result<()> {
        self.search.check()?;
        let n = self.search.points.rows();
        let known = match &self.known {
            Known::Nothing => true,
            Known::Real(values) => values.is_consistent() && values.rows == n && values.cols > 0,
            Known::Class { codes, classes, outlier } => {
                codes.len() == n
                    && *classes <= 1 << 24
                    && codes.iter().chain(outlier).all(|&code| (code as usize) < *classes)
            }
        };
        let reach = match self.reach {
            Reach::Count(k) => (1..=n).contains(&k),
            Reach::Radius(radius) => radius >= 0.0,
        };
        if known && reach && n <= u32::MAX as usize {
            Ok(())
        } else {
            Err(Error::Data("the stored neighbours are inconsistent".into()))
        }
    }
}
