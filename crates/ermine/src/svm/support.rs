//! What SVC and NuSVC share: one machine for each pair of classes, votes, probabilities, the model.

use super::{Expansion, expansion::offset};
use crate::{
    Array, Bound, Certificate, Ctx, Error, Fit, FitLog, Halt, Matrix, Model, Output, OwnedX, Result, Shape, Source, X,
    core::{Batch, choice, rng::key, simd::sigmoid},
    engine::{
        gram::Gram,
        kernel::{Defaults, Gamma, Kernel, resolve_gamma},
        smo,
    },
};
use serde::{Deserialize, Serialize};

choice! {
    /// Shape of the decision function for more than two classes.
    pub enum DecisionShape {
        /// A column for each class: its votes, and how clear they were as the fraction.
        Ovr = "ovr",
        /// A column for each pair of classes.
        Ovo = "ovo",
    }
}

/// Parameters that all kernel machines have.
pub struct Common<'a> {
    pub name: &'static str,
    pub kernel: &'a Kernel,
    pub gamma: Gamma,
    pub degree: usize,
    pub coef0: f64,
    pub tol: f64,
    /// Megabytes.
    pub cache_size: f64,
    /// -1 for no limit.
    pub max_iter: i64,
}

/// Holds to any number of digits with a smaller `tol`, which the tests check.
pub const AS_FAR_AS_TOL: &str =
    "the optimum is reached within tol, 1e-3 by default, along a path that depends on the rows";

pub const WHY_MEMORY: &str = "the solver revisits arbitrary pairs of rows";

impl Common<'_> {
    pub fn batch<'d>(&self, data: &'d dyn Source, ctx: &Ctx) -> Result<Batch<'d>> {
        let batch = data.in_memory(self.name, WHY_MEMORY)?;
        ctx.check()?;
        batch.x.check_finite(batch.first)?;
        Ok(batch)
    }

    /// The kernel with its numbers, and a note if it is not positive semi-definite.
    pub fn resolve(&self, batch: &Batch) -> Result<(Kernel, Vec<String>)> {
        let kernel = resolve(self.kernel, self.gamma, self.degree, self.coef0, batch)?;
        let notes = kernel.definiteness(&batch.x).into_iter().collect();
        Ok((kernel, notes))
    }

    /// Without a limit of the user's own, one that only problems meet whose numbers do not let them converge.
    pub fn max_steps(&self, rows: usize) -> usize {
        usize::try_from(self.max_iter).unwrap_or(10_000_000.max(100 * rows))
    }

    pub fn bytes(&self) -> f64 {
        self.cache_size * 1e6
    }
}

/// The kernel that a model's parameters describe for these rows.
pub fn resolve(kernel: &Kernel, gamma: Gamma, degree: usize, coef0: f64, batch: &Batch) -> Result<Kernel> {
    if kernel.is_precomputed() && batch.x.rows() != batch.x.cols() {
        let found = format!("{} x {}", batch.x.rows(), batch.x.cols());
        return Err(Error::shape("a precomputed kernel", "a square matrix", found));
    }
    if let (true, X::Dense(k)) = (kernel.is_precomputed(), batch.x) {
        let n = k.cols;
        let largest = k.values.iter().fold(0.0f64, |most, value| most.max(value.abs()));
        let differ = |i: usize, j: usize| (k.values[i * n + j] - k.values[j * n + i]).abs() > 1e-6 * largest;
        if let Some((i, j)) = (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).find(|&(i, j)| differ(i, j)) {
            return Err(Error::Data(format!(
                "a precomputed kernel must be symmetric, but row {i}, column {j} has {:e} and row {j}, column {i} has \
                 {:e}",
                k.values[i * n + j],
                k.values[j * n + i]
            )));
        }
    }
    let gamma = if kernel.is_precomputed() { 1.0 } else { resolve_gamma(gamma, &batch.x, batch.weights) };
    let kernel = kernel.resolve(&Defaults { gamma, degree: degree as f64, coef0 });
    kernel.check(batch.x.cols())?;
    Ok(kernel)
}

/// One machine for rows `rows` of two classes, the first `positive` of them of the class that scores above zero.
pub struct Task<'a> {
    pub common: &'a Common<'a>,
    pub kernel: &'a Kernel,
    pub batch: &'a Batch<'a>,
    pub rows: Vec<usize>,
    pub positive: usize,
    pub bytes: f64,
    /// What rows are taken about; nothing for zero.
    pub centre: &'a [f64],
}

impl Task<'_> {
    pub fn weight(&self, at: usize) -> f64 {
        self.batch.weight(self.rows[at])
    }

    /// Solves a problem on these rows.
    pub fn solve(&self, ctx: &Ctx, problem: smo::Problem, tol: f64) -> Result<smo::Solution> {
        let ids: &[usize] = if self.kernel.is_precomputed() { &self.rows } else { &[] };
        let points = self.kernel.points_about(&self.batch.x, self.rows.iter().copied(), self.centre);
        let mut gram = Gram::new(self.kernel, &points, ids, self.bytes).about(self.centre).numbered(&self.rows);
        smo::solve(ctx, self.common.name, &mut gram, problem, tol, self.common.max_steps(self.rows.len()))
    }

    /// The intercept of a machine for rows as they are.
    fn intercept(&self, machine: &Machine) -> f64 {
        machine.intercept - offset(&self.batch.x, &self.rows, &machine.coef, self.centre)
    }
}

/// A solved machine: coefficients of its rows and the intercept about the centre.
pub struct Machine {
    pub coef: Vec<f64>,
    pub intercept: f64,
    pub solution: smo::Solution,
}

/// Fits one machine for each pair of classes and puts them together.
pub fn fit_pairs(
    common: &Common,
    data: &dyn Source,
    ctx: &Ctx,
    shape: DecisionShape,
    break_ties: bool,
    probability: bool,
    solve: impl Fn(&Ctx, &Task) -> Result<Machine> + Sync,
) -> Result<Fit<SupportClassifier>> {
    let batch = common.batch(data, ctx)?;
    let crate::core::TargetKind::Class(classes) = batch.y.kind() else {
        return Err(Error::Data(format!("{} needs a target of classes", common.name)));
    };
    let codes = batch.y.codes();
    let mut members = vec![Vec::new(); classes];
    for i in (0..batch.rows()).filter(|&i| batch.weight(i) > 0.0) {
        members[codes[i] as usize].push(i);
    }
    if let Some(class) = members.iter().position(Vec::is_empty) {
        return Err(Error::Data(format!("{}: class {class} has no rows with a weight above zero", common.name)));
    }
    let (kernel, mut notes) = common.resolve(&batch)?;
    let centre = kernel.centre(&batch.x, &members.concat());
    let pairs: Vec<(usize, usize)> = (0..classes).flat_map(|i| (i + 1..classes).map(move |j| (i, j))).collect();
    // A share that does not depend on the threads, so that neither does the result.
    let bytes = common.bytes() / pairs.len().min(4) as f64;
    let task = |&(i, j): &(usize, usize)| Task {
        common,
        kernel: &kernel,
        batch: &batch,
        rows: members[i].iter().chain(&members[j]).copied().collect(),
        positive: members[i].len(),
        bytes,
        centre: &centre,
    };
    let machines: Vec<Machine> = ctx.map(pairs.len(), |i| solve(ctx, &task(&pairs[i])))?;
    let platt = match probability {
        true => Some(ctx.map(pairs.len(), |i| platt(ctx, &task(&pairs[i]), &solve))?),
        false => None,
    };

    // Support vectors of all machines, class by class, each once.
    let mut place = vec![usize::MAX; batch.rows()];
    let mut used = vec![false; batch.rows()];
    for (machine, pair) in machines.iter().zip(&pairs) {
        for (coef, row) in machine.coef.iter().zip(task(pair).rows) {
            used[row] |= *coef != 0.0;
        }
    }
    let ids: Vec<usize> = members.iter().flatten().copied().filter(|&row| used[row]).collect();
    let n_support: Vec<usize> = members.iter().map(|rows| rows.iter().filter(|&&row| used[row]).count()).collect();
    ids.iter().enumerate().for_each(|(at, &row)| place[row] = at);
    let mut coef = Matrix::zeros(ids.len(), pairs.len());
    for (p, (machine, pair)) in machines.iter().zip(&pairs).enumerate() {
        for (value, row) in machine.coef.iter().zip(task(pair).rows).filter(|(value, _)| **value != 0.0) {
            coef[(place[row], p)] = *value;
        }
    }
    let intercept = machines.iter().zip(&pairs).map(|(machine, pair)| task(pair).intercept(machine)).collect();
    let solutions: Vec<&smo::Solution> = machines.iter().map(|machine| &machine.solution).collect();
    let mut log = story(&solutions, common.tol, notes.is_empty());
    notes.push(format!("{} support vectors of {} rows", ids.len(), batch.rows()));
    if let [machine] = &machines[..] {
        // ||w||^2 = sum_ij c_i c_j K_ij; c is b, scaled by NuSVC, and f = K b.
        let own = machine.coef.iter().zip(&machine.solution.b).zip(&machine.solution.f);
        let norm2: f64 = own.filter(|((_, b), _)| **b != 0.0).map(|((c, b), f)| c * c / b * f).sum();
        if norm2 > 0.0 {
            notes.push(format!("margin {:.4e} on either side", norm2.sqrt().recip()));
        }
    }
    log.notes.extend(notes);
    let expansion = Expansion::new(kernel, &batch.x, ids, coef, intercept);
    Ok(Fit::new(SupportClassifier { expansion, n_support, shape, break_ties, platt }, log))
}

/// The log of one or several solved problems. Where the kernel is not positive semi-definite they are not convex, and
/// nothing is proven but that the conditions of optimality hold.
pub fn story(solutions: &[&smo::Solution], tol: f64, convex: bool) -> FitLog {
    let worst = solutions.iter().map(|s| s.violation).fold(0.0, f64::max);
    let objective = match solutions {
        [one] => one.path.clone(),
        many => vec![many.iter().map(|s| s.objective()).sum()],
    };
    let passes = solutions.iter().map(|s| s.steps).sum();
    let open = solutions.iter().find(|s| !s.bound.holds());
    let halt = open.map_or(Halt::Rounding, |s| s.halt);
    let log = if convex {
        FitLog::proven(passes, objective, Bound::sum(solutions.iter().map(|s| s.bound)), halt)
    } else {
        let halt = if worst <= tol { Halt::Stationary } else { halt };
        FitLog::ended(passes, objective, halt, Certificate::Gradient { norm: worst, tolerance: tol })
    };
    log.with_notes(vec![format!("largest violation of the optimality conditions {worst:.1e} (tolerance {tol:.1e})")])
}

const FOLDS: u64 = 5;

/// Slope and offset of the sigmoid that turns scores into probabilities (Platt 1999, as corrected by Lin, Lin and Weng
/// 2007), from scores of machines that did not see the row.
fn platt(ctx: &Ctx, task: &Task, solve: &(impl Fn(&Ctx, &Task) -> Result<Machine> + Sync)) -> Result<(f64, f64)> {
    let positive = |at: usize| at < task.positive;
    let fold_of = |at: usize| key(ctx.seed, "platt fold", task.rows[at] as u64) % FOLDS;
    let mut scores = vec![0.0; task.rows.len()];
    for fold in 0..FOLDS {
        let inside: Vec<usize> = (0..task.rows.len()).filter(|&at| fold_of(at) != fold).collect();
        let outside: Vec<usize> = (0..task.rows.len()).filter(|&at| fold_of(at) == fold).collect();
        let count = inside.iter().filter(|&&at| positive(at)).count();
        if outside.is_empty() {
            continue;
        }
        if count == 0 || count == inside.len() {
            let score = if count == 0 { -1.0 } else { 1.0 };
            outside.iter().for_each(|&at| scores[at] = score);
            continue;
        }
        let part = Task { rows: inside.iter().map(|&at| task.rows[at]).collect(), positive: count, ..*task };
        let machine = solve(&ctx.child("platt", fold), &part)?;
        let used: Vec<usize> = (0..part.rows.len()).filter(|&at| machine.coef[at] != 0.0).collect();
        let coef = Matrix::new(used.iter().map(|&at| machine.coef[at]).collect(), used.len(), 1);
        let ids = used.iter().map(|&at| part.rows[at]).collect();
        let expansion = Expansion::new(task.kernel.clone(), &task.batch.x, ids, coef, vec![part.intercept(&machine)]);
        let held = OwnedX::take(&task.batch.x, outside.iter().map(|&at| task.rows[at]));
        let mut out = vec![0.0; outside.len()];
        expansion.scores(&held.x(), &mut out);
        outside.iter().zip(out).for_each(|(&at, score)| scores[at] = score);
    }
    let weights: Vec<f64> = (0..task.rows.len()).map(|at| task.weight(at)).collect();
    Ok(fit_sigmoid(&scores, &weights, positive))
}

/// `max_{a,b} sum_i w_i (t_i log p_i + (1 - t_i) log (1 - p_i))` with p = 1 / (1 + e^(a s + b)), by Newton's method
/// with halving.
fn fit_sigmoid(scores: &[f64], weights: &[f64], positive: impl Fn(usize) -> bool) -> (f64, f64) {
    use crate::core::simd::softplus;
    let total = |side: bool| -> f64 { (0..scores.len()).filter(|&i| positive(i) == side).map(|i| weights[i]).sum() };
    let (yes, no) = (total(true), total(false));
    let target = |i: usize| if positive(i) { (yes + 1.0) / (yes + 2.0) } else { 1.0 / (no + 2.0) };
    let loss = |a: f64, b: f64| -> f64 {
        let each = |i: usize| {
            let z = a * scores[i] + b;
            weights[i] * (target(i) * z + softplus(-z))
        };
        (0..scores.len()).map(each).sum()
    };
    let (mut a, mut b) = (0.0, ((no + 1.0) / (yes + 1.0)).ln());
    let mut here = loss(a, b);
    for _ in 0..100 {
        let (mut ga, mut gb, mut haa, mut hab, mut hbb) = (0.0, 0.0, 1e-12, 0.0, 1e-12);
        for (i, &s) in scores.iter().enumerate() {
            let p = sigmoid(-(a * s + b));
            let (g, h) = (weights[i] * (target(i) - p), weights[i] * p * (1.0 - p));
            ga += s * g;
            gb += g;
            haa += s * s * h;
            hab += s * h;
            hbb += h;
        }
        if ga.abs().max(gb.abs()) < 1e-7 * (yes + no) {
            break;
        }
        let determinant = haa * hbb - hab * hab;
        let (da, db) = (-(hbb * ga - hab * gb) / determinant, -(haa * gb - hab * ga) / determinant);
        let mut length = 1.0;
        loop {
            let there = loss(a + length * da, b + length * db);
            if there < here {
                (a, b, here) = (a + length * da, b + length * db, there);
                break;
            }
            length *= 0.5;
            if length < 1e-10 || !length.is_finite() {
                return (a, b);
            }
        }
    }
    (a, b)
}

/// A machine for each pair of classes (i, j), i < j, whose score is above zero for class i.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SupportClassifier {
    pub expansion: Expansion,
    pub n_support: Vec<usize>,
    pub shape: DecisionShape,
    pub break_ties: bool,
    /// Slope and offset for each pair.
    pub platt: Option<Vec<(f64, f64)>>,
}

impl SupportClassifier {
    pub fn classes(&self) -> usize {
        self.n_support.len()
    }

    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let k = self.classes();
        (0..k).flat_map(move |i| (i + 1..k).map(move |j| (i, j)))
    }

    /// The class with most votes, the first of equals, as LIBSVM decides.
    fn winner(&self, scores: &[f64], votes: &mut [f64]) -> usize {
        if self.break_ties && self.classes() > 2 {
            self.ovr(scores, votes);
        } else {
            votes.fill(0.0);
            for (score, (i, j)) in scores.iter().zip(self.pairs()) {
                votes[if *score > 0.0 { i } else { j }] += 1.0;
            }
        }
        first_largest(votes)
    }

    /// Votes, plus a fraction below a third that says how clear they were: ties fall to the clearer class.
    fn ovr(&self, scores: &[f64], out: &mut [f64]) {
        let k = self.classes();
        let mut clear = vec![0.0; k];
        out.fill(0.0);
        for (score, (i, j)) in scores.iter().zip(self.pairs()) {
            clear[i] += score;
            clear[j] -= score;
            out[if *score < 0.0 { j } else { i }] += 1.0;
        }
        out.iter_mut().zip(clear).for_each(|(out, clear)| *out += clear / (3.0 * (clear.abs() + 1.0)));
    }

    /// Probabilities of the classes from those of the pairs (Wu, Lin and Weng 2004, second method), then moved as
    /// little as makes the predicted class the most probable one.
    fn probabilities(&self, scores: &[f64], winner: usize, out: &mut [f64]) {
        let k = self.classes();
        let platt = self.platt.as_deref().unwrap_or(&[]);
        let mut r = Matrix::zeros(k, k);
        for ((score, (i, j)), (a, b)) in scores.iter().zip(self.pairs()).zip(platt) {
            let p = sigmoid(-(a * score + b)).clamp(1e-7, 1.0 - 1e-7);
            r[(i, j)] = p;
            r[(j, i)] = 1.0 - p;
        }
        if k == 2 {
            out.copy_from_slice(&[r[(0, 1)], r[(1, 0)]]);
        } else {
            couple(&r, out);
        }
        // The projection onto p_winner >= p_j: the winner meets those above it at their common mean.
        let mut order: Vec<usize> = (0..k).filter(|&c| c != winner && out[c] > out[winner]).collect();
        order.sort_by(|&a, &b| out[b].total_cmp(&out[a]));
        let (mut sum, mut count) = (out[winner], 1.0);
        let mut level = out[winner];
        let mut met = 0;
        for &c in &order {
            if out[c] <= level {
                break;
            }
            sum += out[c];
            count += 1.0;
            level = sum / count;
            met += 1;
        }
        out[winner] = level;
        order[..met].iter().for_each(|&c| out[c] = level);
    }
}

/// `min_p sum_ij (r_ji p_i - r_ij p_j)^2` over probabilities p, by the fixed point of the paper.
fn couple(r: &Matrix, p: &mut [f64]) {
    let k = p.len();
    let q = Matrix::from_fn(k, k, |t, j| match t == j {
        true => (0..k).filter(|&s| s != t).map(|s| r[(s, t)] * r[(s, t)]).sum(),
        false => -r[(j, t)] * r[(t, j)],
    });
    p.fill(1.0 / k as f64);
    for _ in 0..100.max(k) {
        let qp: Vec<f64> = (0..k).map(|t| (0..k).map(|j| q[(t, j)] * p[j]).sum()).collect();
        let pqp: f64 = p.iter().zip(&qp).map(|(p, qp)| p * qp).sum();
        if qp.iter().all(|qp| (qp - pqp).abs() < 1e-9 / k as f64) {
            break;
        }
        for t in 0..k {
            let qp: f64 = (0..k).map(|j| q[(t, j)] * p[j]).sum();
            let pqp: f64 = (0..k).map(|a| (0..k).map(|b| p[a] * q[(a, b)] * p[b]).sum::<f64>()).sum();
            p[t] += (pqp - qp) / q[(t, t)];
            let sum: f64 = p.iter().sum();
            p.iter_mut().for_each(|p| *p /= sum);
        }
    }
    p.iter_mut().for_each(|p| *p = p.clamp(0.0, 1.0));
    let sum: f64 = p.iter().sum();
    p.iter_mut().for_each(|p| *p /= sum);
}

fn first_largest(values: &[f64]) -> usize {
    (0..values.len()).fold(0, |best, i| if values[i] > values[best] { i } else { best })
}

impl Model for SupportClassifier {
    fn cols(&self) -> usize {
        self.expansion.cols
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        let k = self.classes();
        let decision = match (k, self.shape) {
            (2, _) => 1,
            (k, DecisionShape::Ovr) => k,
            (k, DecisionShape::Ovo) => k * (k - 1) / 2,
        };
        let mut outputs = vec![(Output::Class, 1), (Output::Decision, decision)];
        if self.platt.is_some() {
            outputs.push((Output::Probability, k));
        }
        outputs
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        let (k, pairs) = (self.classes(), self.expansion.outputs());
        let mut scores = vec![0.0; x.rows() * pairs];
        self.expansion.scores(x, &mut scores);
        let mut votes = vec![0.0; k];
        for (i, scores) in scores.chunks_exact(pairs).enumerate() {
            match output {
                Output::Class => out[i] = self.winner(scores, &mut votes) as f64,
                Output::Probability => {
                    let winner = self.winner(scores, &mut votes);
                    self.probabilities(scores, winner, &mut out[i * k..(i + 1) * k]);
                }
                // Of the second class, as everywhere.
                _ if k == 2 => out[i] = -scores[0],
                _ if self.shape == DecisionShape::Ovo => {
                    out[i * pairs..(i + 1) * pairs].copy_from_slice(scores);
                }
                _ => self.ovr(scores, &mut out[i * k..(i + 1) * k]),
            }
        }
        Ok(())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        let (k, n) = (self.classes(), self.expansion.ids.len());
        let sign = if k == 2 { -1.0 } else { 1.0 };
        // Row m of a support vector's coefficients belongs to the m-th of the other classes.
        let mut dual = Matrix::zeros(k - 1, n);
        let mut class = Vec::with_capacity(n);
        self.n_support.iter().enumerate().for_each(|(c, count)| class.extend(std::iter::repeat_n(c, *count)));
        for (p, (i, j)) in self.pairs().enumerate() {
            for (at, &c) in class.iter().enumerate() {
                if c == i {
                    dual[(j - 1, at)] = sign * self.expansion.coef[(at, p)];
                } else if c == j {
                    dual[(i, at)] = sign * self.expansion.coef[(at, p)];
                }
            }
        }
        let intercept: Vec<f64> = self.expansion.intercept.iter().map(|b| sign * b).collect();
        let counts: Vec<i64> = self.n_support.iter().map(|&count| count as i64).collect();
        let mut attributes = self.expansion.support();
        attributes.push(("n_support_", counts.into()));
        attributes.push(("dual_coef_", (&dual).into()));
        attributes.push(("intercept_", (&intercept).into()));
        if let Some(mut w) = self.expansion.linear() {
            w.values.iter_mut().for_each(|w| *w *= sign);
            attributes.push(("coef_", (&w).into()));
        }
        if let Some(platt) = &self.platt {
            attributes.push(("probA_", (&platt.iter().map(|(a, _)| *a).collect::<Vec<_>>()).into()));
            attributes.push(("probB_", (&platt.iter().map(|(_, b)| *b).collect::<Vec<_>>()).into()));
        }
        attributes
    }

    fn check(&self) -> Result<()> {
        self.expansion.check()?;
        let k = self.classes();
        let pairs = if (2..=65_536).contains(&k) { k * (k - 1) / 2 } else { 0 };
        let total = self.n_support.iter().try_fold(0usize, |sum, &count| sum.checked_add(count));
        let fits = pairs == self.expansion.outputs()
            && total == Some(self.expansion.ids.len())
            && self.platt.as_ref().is_none_or(|platt| platt.len() == pairs);
        if fits { Ok(()) } else { Err(Error::Data("the stored machines do not fit the classes".into())) }
    }
}

/// Nanoseconds of machines on these rows: about as many rows of the kernel matrix as there are support vectors, a share
/// of all. `factor` says how much more a machine takes than one for two classes.
pub fn cost(shape: &Shape, factor: f64) -> f64 {
    let (n, p, classes) = shape.sizes();
    // A machine for each pair of classes sees the rows of the two.
    let machines = if classes > 2.0 { 2.0 * (classes - 1.0) / classes } else { 1.0 };
    3e5 + machines * factor * n * n * (8.0 + 0.16 * p)
}
