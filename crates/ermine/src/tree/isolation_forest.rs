//! Isolation forest: how few random cuts set a row apart from a sample of the others.
//!
//! A tree takes a sample of psi rows and cuts a random column at a random place between the smallest and the largest
//! value, again and again, to a depth of log2(psi). Rows that are unlike the others end early. The depth of a row in a
//! tree is that of its leaf plus c(rows in the leaf), the mean depth to which a search tree of as many rows would go:
//! c(n) = 2 (ln(n - 1) + 0.5772) - 2 (n - 1) / n. The score of a row is `-2^(-mean depth / c(psi))`: near -1 for rows
//! that stand alone, about -0.5 where nothing stands out (Liu, Ting and Zhou 2008). Rows whose score is below the
//! offset are outliers: -0.5, or what a given share of the rows of the fit is below.
//!
//! Only the rows that some tree has drawn are kept: one pass collects them, wherever they are, and another one scores
//! all rows if the offset is a share of them. Cost O(n p) for the passes and O(trees psi log psi) for the trees.
//!
//! Rows of weight 0 are not drawn; a row is drawn in proportion to its weight. A row that was drawn twice counts once,
//! as no cut can part it from itself. A missing value goes to a random side of a cut, the same for all rows of a tree.

use super::common::Amount;
use crate::{
    Array, Ctx, Error, Estimator, Fit, FitLog, Flexibility, Info, Model, Numbers, Output, Params, Passes, Result,
    Shape, Source, Task, X,
    core::{
        Batch, Reduce, choice,
        ctx::{Progress, all_gather},
        memory,
        model::Property,
        param::{any, at_least},
        params, reduce,
        rng::Stream,
    },
    engine::{
        drawn::{Drawn, value_at, without_replacement},
        outliers::Contamination,
        quantile,
        tree::{Block, GrownNode, GrownTree, Split, Test, Tree, check_trees},
    },
};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

choice! {
    /// Rows of each tree; auto for 256, or all if there are fewer.
    pub enum SampleSize: Amount where any() => { Auto = "auto" }
}

params! {
    /// Outlier detection by random cuts: rows that few of them set apart from the others. For many rows and columns.
    pub struct IsolationForest {
        /// Number of trees.
        n_estimators: usize = 100, at_least(1.0);
        /// Rows that each tree draws: auto for 256 or all if there are fewer, a count or a fraction.
        max_samples: SampleSize = SampleSize::Auto;
        /// Fraction of the rows that are outliers; auto for those whose score is below -0.5.
        contamination: Contamination = Contamination::Auto;
        /// Columns that each tree looks at: a count or a fraction.
        max_features: Amount = Amount::Share(1.0);
        /// Whether rows are drawn with replacement.
        bootstrap: bool = false;
    }
}

impl Estimator for IsolationForest {
    type Model = IsolationModel;

    const INFO: Info = Info {
        missing: true,
        random: true,
        exceptions: &[(
            Property::WeightIsRepetition,
            "rows are drawn at random, and a row that is there twice is drawn more often than a heavy one",
        )],
        flexibility: Flexibility::Ensemble,
        ..Info::new(
            "ensemble",
            Task::Density,
            "s(x) = -2^(-1/T sum_t depth_t(x) / c(psi)), c(psi) the mean depth of a search tree of psi rows",
            Passes::Many,
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        let (n, p, _) = shape.sizes();
        let sample = self.sample(shape.rows) as f64;
        let depth = sample.log2().max(1.0);
        let tree = 60.0 * sample * depth + 3.0 * n * depth;
        1e-9 * (2e4 + 3.0 * n * p + self.n_estimators as f64 * tree)
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<IsolationModel>> {
        let (name, shape) = (Self::NAME, data.shape());
        let features = match self.max_features {
            Amount::Count(count) if count > shape.cols => {
                return Err(Error::Parameter {
                    model: name.into(),
                    name: "max_features".into(),
                    value: count.to_string(),
                    allowed: format!("a fraction, or at most {} columns", shape.cols),
                });
            }
            Amount::Count(count) => count,
            Amount::Share(share) => ((share * shape.cols as f64) as usize).max(1),
        };
        let mut draws = Draws { rows: shape.rows, size: self.sample(shape.rows), replace: self.bootstrap, upto: None };
        if shape.weighted {
            let weights = reduce(ctx, data, &Weights)?;
            let heavy = weights.iter().filter(|weight| **weight > 0.0).count();
            let most = weights.iter().fold(0.0, |most: f64, weight| most.max(*weight));
            if heavy == 0 {
                return Err(Error::Data(format!("{name}: no row has a weight above 0")));
            }
            draws.size = draws.size.min(heavy);
            draws.upto = Some(running_sums(weights.iter().map(|weight| weight / most)));
        }
        let asked = format!("n_estimators={}", self.n_estimators);
        memory::check(name, &asked, &[self.n_estimators, draws.size], size_of::<u64>())?;
        memory::check(name, &asked, &[self.n_estimators], size_of::<Tree>())?;

        let kept = Drawn::new(data, ctx, (name, &format!("max_samples={}", draws.size)), || {
            let mut wanted = vec![false; shape.rows];
            for tree in 0..self.n_estimators {
                ctx.check()?;
                draws.of(tree, ctx).into_iter().for_each(|row| wanted[row as usize] = true);
            }
            Ok((0..shape.rows as u32).filter(|&row| wanted[row as usize]).collect())
        })?;
        let x = kept.x();
        let grow = |number: usize| {
            ctx.check()?;
            let mut stream = ctx.rng("isolation columns", number as u64);
            let mut looked_at: Vec<u32> = match features == shape.cols {
                true => (0..shape.cols as u32).collect(),
                false => without_replacement(&mut stream, shape.cols, features),
            };
            looked_at.sort_unstable();
            let columns = if features == shape.cols { Vec::new() } else { looked_at.clone() };
            let mut rows: Vec<u32> = draws.of(number, ctx).into_iter().map(|row| kept.place(row)).collect();
            let mut grower = Grower {
                x: &x,
                features: looked_at,
                stream: ctx.rng("isolation cuts", number as u64),
                limit: (draws.size.max(2) as f64).log2().ceil() as usize,
                whole: path_length(draws.size),
                tree: GrownTree { outputs: 1, ..GrownTree::default() },
            };
            grower.grow(&mut rows, 0, 0);
            Ok((grower.tree.finish(shape.cols, false), columns))
        };
        let (trees, features) = all_trees(ctx, self.n_estimators, &grow)?.into_iter().unzip();
        let mut model = IsolationModel { cols: shape.cols, trees, features, samples: draws.size, offset: OFFSET };
        if let Contamination::Number(share) = self.contamination {
            let mut scores = reduce(ctx, data, &Scores { model: &model })?;
            model.offset = quantile::selected(&mut scores, share);
        }
        Ok(Fit::new(model, FitLog::members(self.n_estimators)))
    }
}

/// The score above which a row belongs, if no share is given.
const OFFSET: f64 = -0.5;

impl IsolationForest {
    /// Rows of each tree.
    fn sample(&self, rows: usize) -> usize {
        let size = match self.max_samples {
            SampleSize::Auto => 256,
            SampleSize::Number(Amount::Count(count)) => count,
            SampleSize::Number(Amount::Share(share)) => (share * rows as f64) as usize,
        };
        size.min(rows).max(1)
    }
}

/// Trees by their number, each worker growing its share of them.
fn all_trees<T: Send + Serialize + serde::de::DeserializeOwned>(
    ctx: &Ctx,
    count: usize,
    grow: &(dyn Fn(usize) -> Result<T> + Sync),
) -> Result<Vec<T>> {
    let exchange = ctx.exchange();
    let (rank, size) = (exchange.rank(), exchange.size());
    let mine = ctx.map((count + size - 1 - rank) / size, |i| grow(i * size + rank));
    let mut everyones: Vec<_> = all_gather(exchange, mine)?.into_iter().map(Vec::into_iter).collect();
    let trees: Vec<T> = (0..count).filter_map(|number| everyones[number % size].next()).collect();
    ctx.progress(Progress { what: "trees", step: trees.len(), of: Some(count), value: None });
    Ok(trees)
}

/// Mean depth at which a search tree of `n` rows ends (Liu, Ting and Zhou 2008, equation 1).
fn path_length(n: usize) -> f64 {
    const EULER: f64 = 0.577_215_664_901_532_9;
    match n {
        0 | 1 => 0.0,
        2 => 1.0,
        _ => 2.0 * ((n as f64 - 1.0).ln() + EULER) - 2.0 * (n as f64 - 1.0) / n as f64,
    }
}

/// Which rows a tree draws, by the number of the tree.
struct Draws {
    rows: usize,
    size: usize,
    replace: bool,
    /// Running sums of the weights.
    upto: Option<Vec<f64>>,
}

impl Draws {
    /// Distinct rows in increasing order.
    fn of(&self, tree: usize, ctx: &Ctx) -> Vec<u32> {
        let mut stream = ctx.rng("isolation rows", tree as u64);
        let mut rows: Vec<u32> = match &self.upto {
            None if self.replace => (0..self.size).map(|_| stream.below(self.rows) as u32).collect(),
            None if self.size == self.rows => (0..self.rows as u32).collect(),
            None => without_replacement(&mut stream, self.rows, self.size),
            Some(upto) if self.replace => (0..self.size).map(|_| heavy(&mut stream, upto)).collect(),
            Some(upto) => heavy_without_replacement(&mut stream, upto, self.size),
        };
        rows.sort_unstable();
        rows.dedup();
        rows
    }
}

fn running_sums(weights: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut sum = 0.0;
    weights
        .map(|weight| {
            sum += weight;
            sum
        })
        .collect()
}

/// A row in proportion to its weight.
fn heavy(stream: &mut Stream, upto: &[f64]) -> u32 {
    let total = upto[upto.len() - 1];
    let place = stream.uniform() * total;
    // The last row of any weight, if rounding leads beyond it.
    let last = upto.partition_point(|&sum| sum < total);
    upto.partition_point(|&sum| sum <= place).min(last) as u32
}

/// One row after the other in proportion to the weights of those that are left.
fn heavy_without_replacement(stream: &mut Stream, upto: &[f64], size: usize) -> Vec<u32> {
    let mut drawn: FxHashSet<u32> = FxHashSet::default();
    for _ in 0..4 * size {
        if drawn.len() < size {
            drawn.insert(heavy(stream, upto));
        }
    }
    // Where few rows have most of the weight the others take too many draws. A race gives the same distribution: the
    // waiting time of a row has its weight as rate.
    if drawn.len() < size {
        let weight = |row: usize| if row == 0 { upto[0] } else { upto[row] - upto[row - 1] };
        let mut race: Vec<(f64, u32)> = (0..upto.len())
            .filter(|&row| !drawn.contains(&(row as u32)))
            .map(|row| (-(1.0 - stream.uniform()).ln() / weight(row), row as u32))
            .filter(|(time, _)| time.is_finite())
            .collect();
        race.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        drawn.extend(race.into_iter().take(size - drawn.len()).map(|(_, row)| row));
    }
    drawn.into_iter().collect()
}

/// The weight of every row of all workers.
struct Weights;

impl Reduce for Weights {
    type Stat = Vec<f64>;

    fn zero(&self) -> Vec<f64> {
        Vec::new()
    }

    fn add(&self, stat: &mut Vec<f64>, batch: &Batch) -> Result<()> {
        stat.extend((0..batch.rows()).map(|i| batch.weight(i)));
        Ok(())
    }

    fn merge(&self, left: &mut Vec<f64>, right: Vec<f64>) {
        left.extend(right);
    }
}

/// The scores of all rows that have weight.
struct Scores<'a> {
    model: &'a IsolationModel,
}

impl Reduce for Scores<'_> {
    type Stat = Vec<f64>;

    fn zero(&self) -> Vec<f64> {
        Vec::new()
    }

    fn add(&self, stat: &mut Vec<f64>, batch: &Batch) -> Result<()> {
        let mut scores = vec![0.0; batch.rows()];
        self.model.scores(&batch.x, &mut scores);
        stat.extend((0..batch.rows()).filter(|&i| batch.weight(i) > 0.0).map(|i| scores[i]));
        Ok(())
    }

    fn merge(&self, left: &mut Vec<f64>, right: Vec<f64>) {
        left.extend(right);
    }
}

/// A tree under way.
struct Grower<'a> {
    x: &'a X<'a>,
    /// The columns that the tree looks at; at a node those come first that are known to be constant there.
    features: Vec<u32>,
    stream: Stream,
    limit: usize,
    /// Depths are counted in this: c(psi).
    whole: f64,
    tree: GrownTree,
}

impl Grower<'_> {
    /// Grows the node over `rows`, in which the first `constant` columns are constant, and returns its number.
    fn grow(&mut self, rows: &mut [u32], depth: usize, constant: usize) -> usize {
        let node = self.tree.nodes.len();
        let weight = rows.len() as f64;
        self.tree.nodes.push(GrownNode { split: None, left: 0, right: 0, weight, rows: rows.len(), impurity: 0.0 });
        // Of a single row there is no depth to compare with.
        let value = (depth as f64 + path_length(rows.len())) / self.whole;
        self.tree.values.push(if self.whole > 0.0 { value } else { 1.0 });
        if depth < self.limit
            && rows.len() > 1
            && let Some((split, constant)) = self.cut(rows, constant)
        {
            let mut left = 0;
            for i in 0..rows.len() {
                if split.goes_left(value_at(self.x, rows[i], split.feature)) {
                    rows.swap(i, left);
                    left += 1;
                }
            }
            let (on_left, on_right) = rows.split_at_mut(left);
            let left = self.grow(on_left, depth + 1, constant);
            let right = self.grow(on_right, depth + 1, constant);
            let node = &mut self.tree.nodes[node];
            (node.split, node.left, node.right) = (Some(split), left, right);
        }
        node
    }

    /// A random cut of a random column that is not constant, and how many columns are now known to be.
    fn cut(&mut self, rows: &[u32], mut constant: usize) -> Option<(Split, usize)> {
        while constant < self.features.len() {
            let drawn = constant + self.stream.below(self.features.len() - constant);
            let feature = self.features[drawn] as usize;
            let (mut low, mut high, mut missing) = (f64::INFINITY, f64::NEG_INFINITY, 0);
            for &row in rows {
                let value = value_at(self.x, row, feature);
                (low, high) = (low.min(value), high.max(value));
                missing += usize::from(value.is_nan());
            }
            if low < high {
                let share = self.stream.uniform();
                let between = low * (1.0 - share) + high * share;
                // Something is left on either side whatever the rounding.
                let threshold = if between < high { between.max(low) } else { low };
                let left = rows.iter().filter(|&&row| value_at(self.x, row, feature) <= threshold).count();
                let missing_left = match missing {
                    // Where new rows without a value go: with most of the others.
                    0 => 2 * left > rows.len(),
                    _ => self.stream.uniform() < 0.5,
                };
                return Some((Split { feature, test: Test::AtMost(threshold), missing_left }, constant));
            }
            if 0 < missing && missing < rows.len() {
                return Some((Split { feature, test: Test::AtMost(low), missing_left: false }, constant));
            }
            self.features.swap(drawn, constant);
            constant += 1;
        }
        None
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IsolationModel {
    pub cols: usize,
    /// Leaves hold the depth of their rows, counted in c(psi).
    pub trees: Vec<Tree>,
    /// The columns that each tree looks at; empty for all.
    pub features: Vec<Vec<u32>>,
    /// psi: rows that each tree drew.
    pub samples: usize,
    /// Scores below this are outliers.
    pub offset: f64,
}

impl IsolationModel {
    fn scores(&self, x: &X, out: &mut [f64]) {
        let block = Block::new(x);
        out.fill(0.0);
        self.trees.iter().for_each(|tree| tree.add_to(&block, 1.0, out));
        let count = self.trees.len() as f64;
        out.iter_mut().for_each(|depth| *depth = -(-*depth / count).exp2());
    }
}

impl Model for IsolationModel {
    fn cols(&self) -> usize {
        self.cols
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        vec![(Output::Cluster, 1), (Output::Decision, 1), (Output::Density, 1)]
    }

    fn rows_at_once(&self) -> usize {
        ((1 << 22) / self.cols.max(1)).clamp(1, 1 << 14)
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        self.scores(x, out);
        match output {
            Output::Cluster => out.iter_mut().for_each(|v| *v = if *v < self.offset { -1.0 } else { 1.0 }),
            Output::Decision => out.iter_mut().for_each(|v| *v -= self.offset),
            _ => {}
        }
        Ok(())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        let mut attributes: Vec<(&'static str, Array)> =
            vec![("offset_", self.offset.into()), ("max_samples_", self.samples.into())];
        if self.features.iter().any(|columns| !columns.is_empty()) {
            let columns = |columns: &Vec<u32>| Array::from(columns.iter().map(|&j| i64::from(j)).collect::<Vec<_>>());
            let lists = self.features.iter().map(columns).collect();
            attributes.push((
                "estimators_features_",
                Array { shape: vec![self.features.len()], values: Numbers::List(lists) },
            ));
        }
        attributes
    }

    fn check(&self) -> Result<()> {
        let known = |columns: &Vec<u32>| columns.iter().all(|&j| (j as usize) < self.cols);
        if self.trees.is_empty() || self.features.len() != self.trees.len() || !self.features.iter().all(known) {
            return Err(Error::Data("the stored forest has no trees, or columns that do not exist".into()));
        }
        if !self.offset.is_finite() {
            return Err(Error::Data("the stored forest has no finite offset".into()));
        }
        check_trees(&self.trees, self.cols, 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Data, Matrix, predict};

    /// The depth of a row is what the path through the cuts says, and no leaf but the deepest holds rows that differ.
    #[test]
    fn depths_are_those_of_the_paths() {
        let mut stream = Stream::new(3, "rows", 0);
        let x = Matrix::from_fn(200, 3, |_, _| stream.normal());
        let data = Data::new(X::dense(&x.values, 3).unwrap());
        let forest = IsolationForest {
            n_estimators: 7,
            max_samples: SampleSize::Number(Amount::Count(64)),
            ..Default::default()
        };
        let model = forest.fit(&data, &Ctx::new(1)).unwrap().model;
        let scores = predict(&Ctx::new(0), &model, &data.batch().x, Output::Density, false).unwrap();
        let mut rows = 0.0;
        for i in 0..x.rows {
            let mut depths = 0.0;
            for tree in &model.trees {
                let path = tree.path(x.row(i));
                let leaf = path[path.len() - 1];
                let held = tree.summary().0[leaf];
                assert!(held == 1.0 || path.len() - 1 == 6, "{held} rows at depth {}", path.len() - 1);
                depths += (path.len() - 1) as f64 + path_length(held as usize);
                rows = tree.summary().0[0];
            }
            let expected = -(-depths / 7.0 / path_length(64)).exp2();
            assert!((scores[(i, 0)] - expected).abs() < 1e-12);
        }
        assert_eq!(rows, 64.0);
    }

    /// Every row is as likely as its weight says to be the first, with and without replacement.
    #[test]
    fn rows_are_drawn_by_weight() {
        let upto = running_sums([1.0, 0.0, 2.0, 5.0].into_iter());
        let mut counts = [[0.0f64; 4]; 2];
        for trial in 0..20_000 {
            let mut stream = Stream::new(trial, "draw", 0);
            counts[0][heavy(&mut stream, &upto) as usize] += 1.0 / 20_000.0;
            let pair = heavy_without_replacement(&mut stream, &upto, 2);
            assert!(pair.len() == 2 && pair[0] != pair[1]);
            pair.iter().for_each(|&row| counts[1][row as usize] += 1.0 / 20_000.0);
        }
        // One after the other: 1/8 + 2/8 1/6 + 5/8 1/3 and so on.
        let pairs = [1.0 / 8.0 + 2.0 / 48.0 + 5.0 / 24.0, 0.0, 2.0 / 8.0 + 2.0 / 56.0 + 10.0 / 24.0];
        let last = 2.0 - pairs[0] - pairs[2];
        let expected = [[0.125, 0.0, 0.25, 0.625], [pairs[0], 0.0, pairs[2], last]];
        for (found, expected) in counts.iter().zip(&expected) {
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.015), "{found:?} and {expected:?}");
        }
    }

    #[test]
    fn rows_that_are_all_the_same_belong() {
        let data = Data::from_rows(&[[1.0, 2.0]; 30]).unwrap();
        let fit = IsolationForest::default().fit(&data, &Ctx::new(1)).unwrap();
        assert_eq!(fit.predict(&[[1.0, 2.0], [7.0, -3.0]]).unwrap(), [1.0, 1.0]);
    }

    /// As many rows as asked for are outliers, those that stand apart first; a missing value is no reason.
    #[test]
    fn a_share_of_the_rows_is_outside() {
        let mut stream = Stream::new(5, "rows", 0);
        let x = Matrix::from_fn(400, 2, |i, j| match (i, j) {
            (0..4, _) => 9.0 + i as f64,
            (7, 1) => f64::NAN,
            _ => stream.normal(),
        });
        let data = Data::new(X::dense(&x.values, 2).unwrap());
        let forest = IsolationForest { contamination: Contamination::Number(0.05), ..Default::default() };
        let fit = forest.fit(&data, &Ctx::new(2)).unwrap();
        let sides = predict(&Ctx::new(0), &fit.model, &data.batch().x, Output::Cluster, true).unwrap();
        assert_eq!(sides.values.iter().filter(|&&side| side < 0.0).count(), 20);
        assert!(sides.values[..4].iter().all(|&side| side < 0.0) && sides.values[7] > 0.0);
    }
}
