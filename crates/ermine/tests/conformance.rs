//! What holds for every model in the list. A model is tested by being registered; what it cannot keep is declared
//! beside it, with the reason, in `Info::exceptions`. ERMINE_CONFORMANCE_MODEL=name,name asks those alone.

use ermine::{
    AnyEstimator, AnyModel, Ctx, Data, Domain, Entry, Error, Fit, MODELS, Matrix, Output, Passes, Result, Source, Task,
    Value, Values, X,
    core::{
        Batch, Cancel, TargetKind,
        ctx::workers,
        model::Property,
        param::{Form, Params},
        reduce::shares,
        source::{Buffers, Disk, Shape, Shard, Store},
    },
    predict,
};
use std::ops::Range;

const COLS: usize = 6;

/// All models, or those that are asked for.
fn models() -> impl Iterator<Item = &'static Entry> {
    let asked = std::env::var("ERMINE_CONFORMANCE_MODEL").ok();
    let asked =
        move |entry: &&Entry| asked.as_ref().is_none_or(|names| names.split(',').any(|name| name == entry.name));
    MODELS.iter().filter(asked)
}

/// A problem that the model can solve: clusters, with a target that depends on the columns.
#[derive(Clone)]
struct Problem {
    x: Vec<f64>,
    cols: usize,
    real: Vec<f64>,
    codes: Vec<u32>,
    classes: usize,
    weights: Option<Vec<f64>>,
    task: Task,
    supervised: bool,
    /// Some values are zero, so that the sparse form is sparse.
    csr: (Vec<usize>, Vec<u32>, Vec<f64>),
}

impl Problem {
    fn new(entry: &Entry, rows: usize, classes: usize) -> Problem {
        Problem::with_columns(entry, rows, COLS, classes)
    }

    fn with_columns(entry: &Entry, rows: usize, cols: usize, classes: usize) -> Problem {
        let mut rng = Ctx::new(11).rng("conformance", classes as u64);
        let cols = if entry.info.one_column { 1 } else { cols };
        let centres: Vec<f64> = (0..classes * cols).map(|_| 2.0 * rng.normal()).collect();
        let (mut x, mut real, mut codes) = (vec![], vec![], vec![]);
        for i in 0..rows {
            // Every class appears among the first rows, and classes overlap.
            let class = if i < classes { i } else { rng.below(classes) };
            let mut sum = 0.3 * rng.normal();
            for j in 0..cols {
                let mut value = centres[class * cols + j] + rng.normal();
                // Transformers of categories get few levels, as codes.
                if entry.info.non_negative || entry.info.categories && entry.info.task == Task::Transformation {
                    value = (value.abs() * 2.0).round();
                }
                if rng.uniform() < 0.2 {
                    value = 0.0;
                }
                sum += value * [1.0, -2.0, 0.5, 0.0, 3.0, 0.25][j % 6];
                x.push(value);
            }
            real.push(if entry.info.target != Domain::Any { (0.1 * sum).exp() } else { sum });
            codes.push(class as u32);
        }
        let (task, supervised) = (entry.info.task, entry.info.supervised);
        Problem { csr: csr(&x, cols), x, cols, real, codes, classes, weights: None, task, supervised }
    }

    fn rows(&self) -> usize {
        self.real.len()
    }

    fn with_target<'a>(&'a self, data: Data<'a>) -> Data<'a> {
        let data = match self.task {
            Task::Regression => data.real(&self.real),
            Task::Classification => data.classes(&self.codes, self.classes),
            _ if self.supervised => data.classes(&self.codes, self.classes),
            _ => Ok(data),
        };
        let data = data.unwrap();
        match &self.weights {
            Some(weights) => data.weights(weights).unwrap(),
            None => data,
        }
    }

    fn dense(&self) -> Data<'_> {
        self.with_target(Data::new(X::dense(&self.x, self.cols).unwrap()))
    }

    fn sparse(&self) -> Data<'_> {
        self.with_target(Data::new(X::csr(&self.csr.0, &self.csr.1, &self.csr.2, self.cols).unwrap()))
    }

    fn disk(&self) -> Disk {
        struct Cells(Vec<f64>);
        impl Store for Cells {
            fn read_at(&self, offset: u64, values: &mut [f64]) -> Result<()> {
                values.copy_from_slice(&self.0[offset as usize..offset as usize + values.len()]);
                Ok(())
            }
        }
        let shape = Shape { weighted: self.weights.is_some(), ..self.dense().shape() };
        let mut cells = Vec::new();
        for i in 0..self.rows() {
            cells.extend_from_slice(&self.x[i * self.cols..(i + 1) * self.cols]);
            match shape.target {
                TargetKind::None => {}
                TargetKind::Real(_) => cells.push(self.real[i]),
                TargetKind::Class(_) => cells.push(f64::from(self.codes[i])),
            }
            cells.extend(self.weights.as_ref().map(|weights| weights[i]));
        }
        Disk { store: Box::new(Cells(cells)), shape, features: Vec::new() }
    }

    /// As it is, and for every row another weight.
    fn weighted(mut self) -> Problem {
        self.weights = Some((0..self.rows()).map(|i| [1.0, 0.5, 2.0][i % 3]).collect());
        self
    }

    fn take(&self, rows: &[usize]) -> Problem {
        let pick = |values: &[f64]| rows.iter().map(|&i| values[i]).collect::<Vec<_>>();
        let x: Vec<f64> = rows.iter().flat_map(|&i| self.x[i * self.cols..(i + 1) * self.cols].to_vec()).collect();
        Problem {
            csr: csr(&x, self.cols),
            x,
            real: pick(&self.real),
            codes: rows.iter().map(|&i| self.codes[i]).collect(),
            weights: self.weights.as_deref().map(pick),
            ..self.clone()
        }
    }
}

fn csr(x: &[f64], cols: usize) -> (Vec<usize>, Vec<u32>, Vec<f64>) {
    let (mut starts, mut columns, mut values) = (vec![0], vec![], vec![]);
    for row in x.chunks(cols) {
        for (j, &value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
            columns.push(j as u32);
            values.push(value);
        }
        starts.push(values.len());
    }
    (starts, columns, values)
}

/// Four blocks for sums, so that adding them from left to right is another sum; few rows for what compares all with
/// all.
fn rows(entry: &Entry) -> usize {
    if entry.info.passes.needs_one_worker().is_some() { 600 } else { 12_600 }
}

/// Two blocks: the least that two workers can share.
fn two_blocks(entry: &Entry) -> usize {
    if entry.info.passes.needs_one_worker().is_some() { 150 } else { 4_200 }
}

fn problems(entry: &Entry) -> Vec<Problem> {
    let classes: &[usize] = if entry.info.task == Task::Classification { &[2, 3] } else { &[3] };
    classes.iter().map(|&classes| Problem::new(entry, rows(entry), classes)).collect()
}

/// What is known to be expensive is cut short: eight epochs of a network, eight rounds of boosting or five trees show
/// what all would.
fn quick(entry: &Entry) -> Values {
    let quick = entry.info.module == "neural_network" || matches!(entry.info.passes, Passes::Shares(_));
    let fewer = [("max_iter", 8), ("n_estimators", 5)].into_iter().filter(|_| quick);
    let declared = (entry.params)();
    let fewer = fewer.filter(|(name, _)| declared.iter().any(|param| param.name == *name));
    fewer.map(|(name, count)| (name.to_string(), Value::Int(count))).collect()
}

fn fit(entry: &Entry, data: &dyn Source, ctx: &Ctx) -> Result<Fit<Box<dyn AnyModel>>> {
    (entry.make)(&quick(entry))?.fit(data, ctx)
}

fn ctx() -> Ctx {
    Ctx::new(5).with_threads(2)
}

fn all_outputs(entry: &Entry, model: &dyn AnyModel, x: &X) -> Vec<(Output, Matrix)> {
    let outputs = model.outputs().into_iter().filter(|(output, _)| *output != Output::Inverse);
    outputs.map(|(output, _)| (output, predict(&ctx(), model, x, output, entry.info.missing).unwrap())).collect()
}

fn excused(entry: &Entry, property: Property) -> bool {
    entry.info.exceptions.iter().any(|(excused, reason)| {
        assert!(!reason.is_empty(), "{}: an exception needs its reason", entry.name);
        *excused == property
    })
}

/// Outputs agree: classes and clusters but for rare ties, numbers within `tolerance` of their scale.
fn assert_close(entry: &Entry, a: &[(Output, Matrix)], b: &[(Output, Matrix)], tolerance: f64, what: &str) {
    for ((output, a), (_, b)) in a.iter().zip(b) {
        match output {
            Output::Class | Output::Cluster | Output::Leaf => {
                let differ = a.values.iter().zip(&b.values).filter(|(a, b)| a != b).count();
                assert!(
                    differ * 500 <= a.values.len(),
                    "{} {output:?}: {differ} of {} differ: {what}",
                    entry.name,
                    a.rows
                );
            }
            _ => {
                let scale = a.values.iter().fold(1.0, |scale: f64, v| scale.max(v.abs()));
                for (a, b) in a.values.iter().zip(&b.values) {
                    assert!((a - b).abs() <= tolerance * scale, "{} {output:?}: {a} and {b}: {what}", entry.name);
                }
            }
        }
    }
}

#[test]
fn same_bits_for_any_number_of_threads() {
    for entry in models() {
        for problem in problems(entry) {
            let reference = fit(entry, &problem.dense(), &ctx().with_threads(1)).unwrap();
            for threads in [2, 3, 7] {
                let other = fit(entry, &problem.dense(), &ctx().with_threads(threads)).unwrap();
                assert!(reference.model.to_bytes() == other.model.to_bytes(), "{}: {threads} threads", entry.name);
                assert!(reference.log == other.log, "{}: log with {threads} threads", entry.name);
                assert!(reference.rows == other.rows, "{}: rows with {threads} threads", entry.name);
            }
        }
    }
}

/// Rows that nobody may read: what an estimator says of its passes must be enough to refuse them.
struct Unread<'a> {
    source: &'a dyn Source,
    in_memory: bool,
}

impl Source for Unread<'_> {
    fn shape(&self) -> Shape {
        self.source.shape()
    }
    fn held(&self) -> Range<usize> {
        if self.in_memory { 0..self.shape().rows / 2 } else { self.source.held() }
    }
    fn read<'a>(&'a self, _: Range<usize>, _: &'a mut Buffers) -> Result<Batch<'a>> {
        panic!("a row was read")
    }
    fn memory(&self) -> Option<Batch<'_>> {
        self.source.memory().filter(|_| self.in_memory).map(|batch| batch.slice(self.held()))
    }
}

/// One estimator and the rows that it is tried on.
struct Case<'a> {
    entry: &'a Entry,
    what: String,
    values: Values,
    problem: Problem,
    sparse: bool,
    /// Whether these rows or parameters may be too much for the model.
    may_refuse: bool,
}

impl Case<'_> {
    fn name(&self) -> String {
        format!("{}, {}", self.entry.name, self.what)
    }

    fn data(&self) -> Data<'_> {
        if self.sparse { self.problem.sparse() } else { self.problem.dense() }
    }

    fn estimator(&self) -> Box<dyn AnyEstimator> {
        (self.entry.make)(&self.values).unwrap_or_else(|error| panic!("{}: {error}", self.name()))
    }

    /// The same bits for these numbers of threads, from disk, and on these numbers of workers; what cannot be reached
    /// is refused unread.
    fn check(&self, threads: &[usize], counts: &[usize]) {
        let (estimator, data) = (self.estimator(), self.data());
        let passes = estimator.info().passes;
        let bytes = |source: &dyn Source, ctx: &Ctx| estimator.fit(source, ctx).map(|fit| fit.model.to_bytes());
        let expected = match estimator.fit(&data, &ctx().with_threads(1)) {
            Ok(fit) => fit,
            // Parameters that contradict each other or these rows are refused in words, which is as good.
            Err(error) => {
                assert!(self.may_refuse, "{}: {error}", self.name());
                return;
            }
        };
        let (model, name) = (expected.model.to_bytes(), self.name());
        for &threads in threads {
            let other = estimator.fit(&data, &ctx().with_threads(threads)).unwrap();
            assert!(model == other.model.to_bytes(), "{name}: {threads} threads");
            assert!(expected.log == other.log, "{name}: log with {threads} threads");
            // As text, because a row that no tree left out has no prediction: NaN.
            let (rows, others) = (format!("{:?}", expected.rows), format!("{:?}", other.rows));
            assert!(rows == others, "{name}: rows with {threads} threads");
        }
        let disk = self.problem.disk();
        if passes.needs_memory().is_some() {
            let refused = bytes(&Unread { source: &disk, in_memory: false }, &ctx());
            assert!(matches!(refused, Err(Error::NeedsMemory { .. })), "{name}: took rows from disk");
        } else if !self.sparse {
            let disk = bytes(&disk, &ctx()).unwrap_or_else(|error| panic!("{name}: disk: {error}"));
            assert!(model == disk, "{name}: disk");
        }
        if passes.needs_one_worker().is_some() {
            let refused = bytes(&Unread { source: &data, in_memory: true }, &ctx());
            assert!(matches!(refused, Err(Error::NeedsOneWorker { .. })), "{name}: took a part of the rows");
            return;
        }
        for &count in counts {
            let shares = shares(&data.shape(), count);
            let models = workers(count, |exchange| {
                let shard = Shard::window(&data, shares[exchange.rank()].clone());
                let bytes = bytes(&shard, &ctx().with_exchange(exchange));
                bytes.unwrap_or_else(|error| panic!("{name}: {count} workers: {error}"))
            });
            assert!(models.iter().all(|other| *other == model), "{name}: {count} workers");
        }
    }
}

#[test]
fn same_bits_from_memory_disk_and_shards() {
    for entry in models() {
        for problem in problems(entry) {
            let problem = if entry.info.weights { problem.weighted() } else { problem };
            Case { entry, what: "weighted".into(), values: quick(entry), problem, sparse: false, may_refuse: false }
                .check(&[], &[2, 3, 10]);
        }
    }
}

#[test]
fn same_bits_for_sparse_rows() {
    for entry in models().filter(|entry| entry.info.sparse) {
        let problem = Problem::new(entry, two_blocks(entry), 3);
        Case { entry, what: "sparse".into(), values: quick(entry), problem, sparse: true, may_refuse: false }
            .check(&[3], &[2]);
    }
}

#[test]
fn same_bits_with_more_columns_than_rows() {
    for entry in models() {
        let problem = Problem::with_columns(entry, 40, 60, 2);
        Case { entry, what: "wide".into(), values: quick(entry), problem, sparse: false, may_refuse: true }
            .check(&[3], &[2]);
    }
}

/// Other values than the defaults: every choice, the other truth, none where that is allowed and a number where it is
/// the default.
fn alternatives(entry: &Entry) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for param in (entry.params)() {
        let mut add = |value: Value| {
            if value != param.default {
                found.push((param.name.to_string(), value));
            }
        };
        for form in &param.forms {
            match form {
                Form::Choice(names) => names.iter().for_each(|name| add(Value::Text(name.to_string()))),
                Form::Bool => [true, false].into_iter().for_each(|value| add(Value::Bool(value))),
                Form::None => add(Value::None),
                Form::Int(range) if param.default == Value::None => add(Value::Int(range.low.max(3.0) as i64)),
                Form::Float(range) if param.default == Value::None => {
                    add(Value::Float(range.low.max(0.5).min(range.high)))
                }
                _ => {}
            }
        }
    }
    found
}

#[test]
fn same_bits_for_other_parameters() {
    for entry in models() {
        for (name, value) in alternatives(entry) {
            let what = format!("{name}={value}");
            let mut values = quick(entry);
            values.insert(name, value);
            let problem = Problem::new(entry, two_blocks(entry), 2);
            Case { entry, what, values, problem, sparse: false, may_refuse: true }.check(&[3], &[2]);
        }
    }
}

#[test]
fn sparse_rows_give_the_dense_model() {
    for entry in models().filter(|entry| entry.info.sparse && !excused(entry, Property::SparseIsDense)) {
        for problem in problems(entry) {
            // A fit is as close as its tolerance: it must be well below what is compared.
            let mut values = quick(entry);
            if let Some(Value::Float(tol)) = (entry.params)().iter().find(|p| p.name == "tol").map(|p| &p.default)
                && *tol <= 1e-5
            {
                values.insert("tol".into(), Value::Float(tol * 1e-3));
            }
            let fit = |data: &dyn Source| (entry.make)(&values).unwrap().fit(data, &ctx()).unwrap();
            let (dense, sparse) = (fit(&problem.dense()), fit(&problem.sparse()));
            let (rows, sparse_rows) = (problem.dense(), problem.sparse());
            let (x, csr) = (rows.batch().x, sparse_rows.batch().x);
            let expected = all_outputs(entry, &*dense.model, &x);
            let what = format!("fitted on sparse rows ({}; {})", dense.log, sparse.log);
            assert_close(entry, &expected, &all_outputs(entry, &*sparse.model, &x), 1e-6, &what);
            assert_close(entry, &expected, &all_outputs(entry, &*dense.model, &csr), 1e-9, "predicted on sparse rows");
        }
    }
}

#[test]
fn weight_two_is_the_row_twice() {
    for entry in models().filter(|entry| entry.info.weights && !excused(entry, Property::WeightIsRepetition)) {
        for mut problem in problems(entry) {
            let weight = |i: usize| [1usize, 2, 0, 3][i % 4];
            let repeated: Vec<usize> = (0..problem.rows()).flat_map(|i| std::iter::repeat_n(i, weight(i))).collect();
            let repeated = problem.take(&repeated);
            problem.weights = Some((0..problem.rows()).map(|i| weight(i) as f64).collect());
            let weighted = fit(entry, &problem.dense(), &ctx()).unwrap();
            let repeated = fit(entry, &repeated.dense(), &ctx()).unwrap();
            let data = problem.dense();
            let x = data.batch().x;
            let (a, b) = (all_outputs(entry, &*weighted.model, &x), all_outputs(entry, &*repeated.model, &x));
            assert_close(entry, &a, &b, 1e-5, "weights against repetition");
        }
    }
}

#[test]
fn predicting_some_rows_is_some_of_predicting_all() {
    for entry in models() {
        for problem in problems(entry) {
            let fit = fit(entry, &problem.dense(), &ctx()).unwrap();
            let some: Vec<usize> = (0..problem.rows()).step_by(3).collect();
            let all = all_outputs(entry, &*fit.model, &problem.dense().batch().x);
            let part = all_outputs(entry, &*fit.model, &problem.take(&some).dense().batch().x);
            let picked: Vec<_> = all
                .iter()
                .map(|(output, all)| (*output, Matrix::from_fn(some.len(), all.cols, |i, j| all[(some[i], j)])))
                .collect();
            assert_close(entry, &picked, &part, 1e-12, "a subset");
        }
    }
}

#[test]
fn probabilities_add_up_and_agree_with_the_class() {
    for entry in models().filter(|entry| entry.info.task == Task::Classification) {
        for problem in problems(entry) {
            let fit = fit(entry, &problem.dense(), &ctx()).unwrap();
            let outputs = all_outputs(entry, &*fit.model, &problem.dense().batch().x);
            let find = |wanted| outputs.iter().find(|(output, _)| *output == wanted).map(|(_, matrix)| matrix);
            let class = find(Output::Class).unwrap_or_else(|| panic!("{} predicts no class", entry.name));
            let Some(probability) = find(Output::Probability) else { continue };
            for i in 0..problem.rows() {
                let p = probability.row(i);
                assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{}: {p:?}", entry.name);
                assert!(p.iter().all(|p| (0.0..=1.0).contains(p)), "{}: {p:?}", entry.name);
                let chosen = p[class[(i, 0)] as usize];
                assert!(p.iter().all(|p| *p <= chosen), "{}: class {} of {p:?}", entry.name, class[(i, 0)]);
            }
        }
    }
}

#[test]
fn saved_and_loaded_is_the_same_and_damage_is_refused() {
    for entry in models() {
        let problem = &problems(entry)[0];
        let fit = fit(entry, &problem.dense(), &ctx()).unwrap();
        let bytes = fit.model.to_bytes();
        let loaded = (entry.load)(&bytes).unwrap();
        assert!(loaded.to_bytes() == bytes, "{}", entry.name);
        let data = problem.dense();
        let x = data.batch().x;
        assert!(all_outputs(entry, &*fit.model, &x) == all_outputs(entry, &*loaded, &x), "{}", entry.name);
        for length in (0..bytes.len()).step_by(bytes.len() / 50 + 1) {
            assert!((entry.load)(&bytes[..length]).is_err(), "{}: {length} of {} bytes", entry.name, bytes.len());
        }
        // A flipped bit may well be another valid model; it must never be one that panics.
        for at in (0..bytes.len()).step_by(bytes.len() / 200 + 1) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            if let Ok(model) = (entry.load)(&flipped)
                && model.cols() == x.cols()
            {
                for (output, _) in model.outputs().into_iter().filter(|(output, _)| *output != Output::Inverse) {
                    drop(predict(&ctx(), &*model, &x.slice(0..5), output, entry.info.missing));
                }
            }
        }
    }
}

#[test]
fn values_out_of_range_are_refused_by_name() {
    for entry in models() {
        for param in (entry.params)() {
            let mut bad = vec![Value::Text("no such choice".into()), Value::Float(f64::NAN)];
            for form in &param.forms {
                if let Form::Int(range) | Form::Float(range) = form {
                    bad.push(Value::Float(range.low - 1.0));
                    bad.push(Value::Float(range.high + 1.0));
                    if !range.low_included {
                        bad.push(Value::Float(range.low));
                    }
                }
            }
            for value in bad.into_iter().filter(|value| !ermine::core::param::allows(&param.forms, value)) {
                let error = (entry.make)(&[(param.name.to_string(), value.clone())].into()).err();
                let error = error.unwrap_or_else(|| panic!("{}: {} took {value}", entry.name, param.name));
                let message = error.to_string();
                assert!(message.contains(entry.name) && message.contains(param.name), "{message}");
            }
            assert!(!param.doc.is_empty(), "{}: {} has no description", entry.name, param.name);
            let default = [(param.name.to_string(), param.default.clone())].into();
            assert!((entry.make)(&default).is_ok(), "{}: the default of {}", entry.name, param.name);
        }
    }
}

/// Fits, and either refuses in words or predicts finite numbers.
fn handled(entry: &Entry, problem: &Problem, what: &str) -> Option<String> {
    match fit(entry, &problem.dense(), &ctx()) {
        Err(error) => {
            let message = error.to_string();
            assert!(message.len() > 10, "{}, {what}: '{message}'", entry.name);
            Some(message)
        }
        Ok(fit) => {
            for (output, out) in all_outputs(entry, &*fit.model, &problem.dense().batch().x) {
                // A transformer that takes missing values may hand them on.
                let missing = entry.info.missing && output == Output::Transform;
                let allowed = |value: &f64| value.is_finite() || output == Output::Density || missing && value.is_nan();
                let finite = out.values.iter().all(allowed);
                assert!(finite, "{}, {what}: {output:?} is not finite", entry.name);
            }
            None
        }
    }
}

#[test]
fn hard_input_is_handled_or_refused_in_words() {
    for entry in models() {
        let problem = Problem::new(entry, 60, 3);
        let cols = problem.cols;
        for (what, bad) in [("NaN", f64::NAN), ("infinity", f64::INFINITY)] {
            let mut broken = problem.clone();
            broken.x[17 * cols + 2 % cols] = bad;
            match handled(entry, &broken, what) {
                Some(message) => {
                    assert!(message.contains("row 17") && message.contains(what), "{}: {message}", entry.name)
                }
                None => assert!(entry.info.missing, "{} took {what} in silence", entry.name),
            }
        }
        assert!(handled(entry, &problem.take(&[]), "no rows").is_some(), "{} took no rows", entry.name);
        handled(entry, &problem.take(&[0]), "one row");
        handled(entry, &problem.take(&[5; 30]), "the same row thirty times");

        let mut constant = problem.clone();
        (0..60).for_each(|i| constant.x[i * cols + 1 % cols] = 3.0);
        let refused = handled(entry, &constant, "a constant column");
        assert!(refused.is_none() || excused(entry, Property::ConstantColumn), "{}: {refused:?}", entry.name);

        let mut twins = problem.clone();
        (0..60).for_each(|i| twins.x[i * cols + 1 % cols] = twins.x[i * cols]);
        assert_eq!(handled(entry, &twins, "two equal columns"), None, "{}", entry.name);

        let mut scales = problem.clone();
        let factors = [1e-8, 1e8, 1.0, 1e4, 1e-4, 1e2];
        (0..60 * cols).for_each(|at| scales.x[at] *= factors[at % cols]);
        let refused = handled(entry, &scales, "scales from 1e-8 to 1e8");
        assert!(refused.is_none() || excused(entry, Property::AnyScale), "{}: {refused:?}", entry.name);

        if entry.info.task == Task::Classification {
            let one = Problem { codes: vec![0; 60], classes: 1, ..problem.clone() };
            let message = handled(entry, &one, "one class").unwrap_or_else(|| panic!("{} took one class", entry.name));
            assert!(message.contains("class"), "{message}");
        }
    }
}

#[test]
fn cancelling_stops_a_fit() {
    for entry in models() {
        let cancel = Cancel::default();
        cancel.cancel();
        let outcome = fit(entry, &problems(entry)[0].dense(), &ctx().with_cancel(cancel));
        assert!(matches!(outcome, Err(Error::Cancelled)), "{} went on", entry.name);
    }
}

#[test]
fn cost_is_a_number_that_rises_with_rows_and_columns() {
    for entry in models() {
        let estimator = (entry.make)(&Values::new()).unwrap();
        let target = match entry.info.task {
            Task::Classification => TargetKind::Class(3),
            Task::Regression => TargetKind::Real(1),
            _ => TargetKind::None,
        };
        let cost = |rows: usize, cols: usize| {
            let cost =
                estimator.cost(&Shape { rows, cols, target, sparse: false, stored: 0, distinct: 0, weighted: false });
            assert!(cost.is_finite() && cost > 0.0, "{}: {cost} for {rows} x {cols}", entry.name);
            cost
        };
        let sizes = [1, 2, 7, 50, 300, 700, 2_000, 50_000, 1_000_000];
        for &fixed in &sizes {
            for pair in sizes.windows(2) {
                assert!(cost(pair[0], fixed) <= cost(pair[1], fixed), "{}: {pair:?} rows x {fixed}", entry.name);
                assert!(cost(fixed, pair[0]) <= cost(fixed, pair[1]), "{}: {fixed} x {pair:?} columns", entry.name);
            }
        }
        assert!(cost(100_000, 20) > 1.5 * cost(1_000, 20), "{} costs the same for any rows", entry.name);
    }
}

#[test]
fn every_entry_says_what_it_is() {
    for entry in models() {
        assert!(entry.doc.trim().len() > 20 && entry.info.objective.len() > 5, "{}", entry.name);
        let spec = ermine::Spec { name: entry.name.to_lowercase(), params: Values::new() };
        let defaults = ermine::make(&spec).unwrap();
        assert_eq!(defaults.name(), entry.name);
        let kind = |passes: Passes| (passes.needs_memory().is_some(), passes.needs_one_worker().is_some());
        assert_eq!(
            kind(defaults.info().passes),
            kind(entry.info.passes),
            "{}: Info speaks of the defaults",
            entry.name
        );
    }
    assert!(ermine::linear::Ridge::declared().iter().any(|param| param.name == "alpha"));
}
