//! Every model with every declared parameter at its extremes, on data of every bad kind: each fit ends in a sound
//! model or in a refusal
//! by name, never in a panic, an abort, a hang or a NaN that nobody mentions.
//!
//! ERMINE_EXTREMES sets the number of combinations, ERMINE_EXTREMES_SEED their seed, ERMINE_EXTREMES_PATIENCE the
//! seconds after which one hangs (20, more on a busy machine); a failure names the case, and
//! ERMINE_EXTREMES_ONLY=case runs that one alone,
//! ERMINE_EXTREMES_MODEL=name those of one model.

use ermine::{
    Ctx, Data, Entry, Error, MODELS, Output, Spec, Task, Value, Values, X,
    core::{
        param::{Form, Param, Range},
        rng::Stream,
    },
    predict,
};
use std::{
    fmt::Write,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

/// What a fit may take before it is told to stop, and how soon it has to hear of it.
const TIME: Duration = Duration::from_millis(300);
const PATIENCE: Duration = Duration::from_secs(20);

const KINDS: [&str; 22] = [
    "ordinary",
    "one row",
    "two rows",
    "one column",
    "constant columns",
    "all zero",
    "the same row again and again",
    "equal columns",
    "wide",
    "values of 1e300",
    "values of 1e150",
    "values of 1e38",
    "values of 1e-300",
    "subnormal values",
    "scales from 1e-150 to 1e150",
    "a large offset",
    "heavy tails",
    "missing values",
    "a column that is missing",
    "infinity",
    "targets of 1e38",
    "a rare class",
];

struct Table {
    x: Vec<f64>,
    cols: usize,
    real: Vec<f64>,
    codes: Vec<u32>,
    classes: usize,
    weights: Option<Vec<f64>>,
}

fn table(entry: &Entry, kind: &str, rng: &mut Stream) -> Table {
    let rows = match kind {
        "one row" => 1,
        "two rows" => 2,
        "wide" => 6,
        _ => 24,
    };
    let cols = match kind {
        "one column" => 1,
        _ if entry.info.one_column => 1,
        "wide" => 20,
        _ => 4,
    };
    let classes = 2 + rng.below(2);
    let (mut x, mut real, mut codes) = (vec![], vec![], vec![]);
    for i in 0..rows {
        let class = i % classes;
        for j in 0..cols {
            let mut value = rng.normal() + class as f64 * [1.0, -1.0, 0.5, 0.0][j % 4];
            if entry.info.non_negative || entry.info.categories && entry.info.task == Task::Transformation {
                value = (value.abs() * 2.0).round();
            }
            x.push(value);
        }
        let sum = x[i * cols] + 0.1 * rng.normal();
        real.push(if entry.info.target != ermine::Domain::Any { sum.exp() } else { sum });
        codes.push(class as u32);
    }
    let each = |x: &mut Vec<f64>, f: &dyn Fn(usize, usize, f64) -> f64| {
        x.iter_mut().enumerate().for_each(|(at, value)| *value = f(at / cols, at % cols, *value));
    };
    match kind {
        "constant columns" => each(&mut x, &|_, j, value| if j % 2 == 0 { 3.0 } else { value }),
        "all zero" => each(&mut x, &|_, _, _| 0.0),
        "the same row again and again" => {
            let first = x[..cols].to_vec();
            each(&mut x, &|_, j, _| first[j]);
        }
        "equal columns" => {
            let copy = x.clone();
            each(&mut x, &|i, _, _| copy[i * cols]);
        }
        "values of 1e300" => each(&mut x, &|_, _, value| value * 1e300),
        "values of 1e150" => each(&mut x, &|_, _, value| value * 1e150),
        "values of 1e38" => each(&mut x, &|_, _, value| value * 1e38),
        "values of 1e-300" => each(&mut x, &|_, _, value| value * 1e-300),
        "subnormal values" => each(&mut x, &|_, _, value| value * 1e-310),
        "scales from 1e-150 to 1e150" => each(&mut x, &|_, j, value| value * [1e-150, 1e150, 1.0, 1e20][j % 4]),
        "a large offset" => each(&mut x, &|_, _, value| value + 1e9),
        "heavy tails" => each(&mut x, &|_, _, value| value.signum() * (value * value * value * value).exp().min(1e12)),
        "missing values" => each(&mut x, &|i, j, value| if (i + j) % 5 == 0 { f64::NAN } else { value }),
        "a column that is missing" => each(&mut x, &|_, j, value| if j == 0 { f64::NAN } else { value }),
        "infinity" => each(&mut x, &|i, j, value| if i == 1 && j == 0 { f64::INFINITY } else { value }),
        "targets of 1e38" => real.iter_mut().for_each(|value| *value *= 1e38),
        "a rare class" => codes.iter_mut().enumerate().for_each(|(i, code)| *code = u32::from(i == 3)),
        _ => {}
    }
    let weights = match rng.below(6) {
        0 => Some((0..rows).map(|i| [1.0, 0.0, 2.5][i % 3]).collect()),
        1 => Some((0..rows).map(|i| [1.0, 1e20, 1e-20][i % 3]).collect()),
        _ => None,
    };
    Table { x, cols, real, codes, classes, weights: weights.filter(|_| entry.info.weights) }
}

fn number(range: &Range, whole: bool, rng: &mut Stream) -> Value {
    let mut candidates = vec![range.low, range.high];
    if whole {
        for value in [range.low + 1.0, range.high - 1.0, 0.0, 1.0, 2.0, 3.0, 50.0, 1e6, 1e12, 9e15] {
            candidates.push(value);
        }
    } else {
        let above = |low: f64| if low == 0.0 { f64::from_bits(1) } else { low + low.abs() * 1e-15 };
        let values = [above(range.low), range.high * (1.0 - 1e-15), 0.0, 0.5, 1.0, 1e-300, 1e-9, 1e9, 1e300, f64::MAX];
        candidates.extend(values);
        candidates.extend([-1.0, -1e300, f64::INFINITY]);
    }
    candidates.retain(|value| range.contains(*value));
    match candidates.is_empty() {
        true => Value::Int(1),
        false if whole => Value::Int(candidates[rng.below(candidates.len())] as i64),
        false => Value::Float(candidates[rng.below(candidates.len())]),
    }
}

fn extreme(param: &Param, task: Task, rng: &mut Stream) -> Value {
    fn of(forms: &[Form], task: Task, rng: &mut Stream) -> Value {
        match &forms[rng.below(forms.len())] {
            Form::None => Value::None,
            Form::Bool => Value::Bool(rng.below(2) == 1),
            Form::Int(range) => number(range, true, rng),
            Form::Float(range) => number(range, false, rng),
            Form::Choice(names) => ermine::core::param::named(names[rng.below(names.len())]),
            Form::Text => Value::Text(["", "x", "rbf", "RBF(1.0)"][rng.below(4)].into()),
            Form::List(forms) => {
                let count = [0, 1, 3][rng.below(3)];
                Value::List((0..count).map(|_| of(forms, task, rng)).collect())
            }
            Form::Model => {
                let fitting: Vec<&Entry> = MODELS.iter().filter(|entry| entry.info.task == task).collect();
                Value::Model(Box::new(Spec::new(fitting[rng.below(fitting.len())].name)))
            }
        }
    }
    of(&param.forms, task, rng)
}

struct Case {
    entry: &'static Entry,
    values: Values,
    kind: &'static str,
    table: Table,
    said: String,
}

fn case(seed: u64, at: usize) -> Case {
    let entry = &MODELS[at % MODELS.len()];
    let mut rng = Ctx::new(seed).rng("extremes", at as u64);
    let kind = KINDS[rng.below(KINDS.len())];
    let declared = (entry.params)();
    let mut values = Values::new();
    let count = if declared.is_empty() { 0 } else { rng.below(3) };
    for _ in 0..count {
        let param = &declared[rng.below(declared.len())];
        values.insert(param.name.into(), extreme(param, entry.info.task, &mut rng));
    }
    let table = table(entry, kind, &mut rng);
    let mut said = format!("case {at} of seed {seed}: {}", Spec { name: entry.name.into(), params: values.clone() });
    let _ = write!(said, " on {kind}{}", if table.weights.is_some() { ", weighted" } else { "" });
    Case { entry, values, kind, table, said }
}

#[derive(Default, Debug)]
struct Counts {
    sound: usize,
    refused: usize,
    stopped: usize,
}

/// Whether it ended as it should; what is wrong otherwise.
fn run(case: &Case, counts: &mut Counts) -> Result<(), String> {
    let Case { entry, values, kind, table, .. } = case;
    let x = X::dense(&table.x, table.cols).unwrap();
    let data = Data::new(x);
    let data = match entry.info.task {
        Task::Regression => data.real(&table.real),
        Task::Classification => data.classes(&table.codes, table.classes),
        _ if entry.info.supervised => data.classes(&table.codes, table.classes),
        _ => Ok(data),
    };
    let data = data.and_then(|data| match &table.weights {
        Some(weights) => data.weights(weights),
        None => Ok(data),
    });
    let Ok(data) = data else {
        counts.refused += 1;
        return Ok(());
    };
    let estimator = match (entry.make)(values) {
        Ok(estimator) => estimator,
        // Of text not everything has a meaning.
        Err(Error::Parameter { .. }) if values.values().any(|value| matches!(value, Value::Text(_))) => {
            counts.refused += 1;
            return Ok(());
        }
        Err(error) => return Err(format!("a value that is declared was refused: {error}")),
    };
    let begin = Instant::now();
    let ctx = Ctx::new(3).with_threads(1).with_deadline(begin + TIME);
    let fit = match estimator.fit(&data, &ctx) {
        Ok(fit) => fit,
        Err(Error::Cancelled) => {
            counts.stopped += 1;
            return Ok(());
        }
        Err(error) => {
            counts.refused += 1;
            let message = error.to_string();
            let words = message.len() > 10 && !message.contains("NaN of") && !message.contains("unwrap");
            return if words { Ok(()) } else { Err(format!("refused with '{message}'")) };
        }
    };
    counts.sound += 1;
    (entry.load)(&fit.model.to_bytes()).map_err(|error| format!("cannot be loaded again: {error}"))?;
    for (output, _) in fit.model.outputs() {
        if matches!(output, Output::Inverse) {
            continue;
        }
        let ctx = Ctx::new(3).with_threads(1).with_deadline(Instant::now() + TIME);
        let out = match predict(&ctx, &*fit.model, &x, output, entry.info.missing) {
            Ok(out) => out,
            // What a fit takes, its model may still refuse in words.
            Err(error) if !error.to_string().is_empty() => continue,
            Err(error) => return Err(format!("{output:?}: {error}")),
        };
        let missing = |i: usize| table.x[i * table.cols..(i + 1) * table.cols].iter().any(|value| !value.is_finite());
        for i in 0..out.rows {
            for &value in out.row(i) {
                let allowed = value.is_finite()
                    || output == Output::Density && !value.is_nan()
                    || output == Output::Transform && entry.info.missing && missing(i);
                if !allowed {
                    return Err(format!("{output:?} of row {i} is {value} ({kind})"));
                }
            }
            let total: f64 = out.row(i).iter().sum();
            let shares = output == Output::Probability && entry.info.task == Task::Classification;
            if shares && (total - 1.0).abs() > 1e-6 {
                return Err(format!("the probabilities of row {i} add up to {total}"));
            }
        }
    }
    if fit.log.objective.iter().any(|value| value.is_nan()) {
        return Err(format!(
            "the log has an objective of NaN: {:?}",
            fit.log.objective.iter().take(5).collect::<Vec<_>>()
        ));
    }
    Ok(())
}

#[test]
fn every_fit_ends_in_a_sound_model_or_a_refusal() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<usize>().ok());
    let seed = number("ERMINE_EXTREMES_SEED").unwrap_or(1) as u64;
    let only = number("ERMINE_EXTREMES_ONLY");
    let cases = match only {
        Some(at) => at..at + 1,
        None => 0..number("ERMINE_EXTREMES").unwrap_or(2000),
    };
    // A fit that does not hear of its deadline cannot be ended from outside: the watch names it and ends everything.
    let patience = number("ERMINE_EXTREMES_PATIENCE").map_or(PATIENCE, |seconds| Duration::from_secs(seconds as u64));
    let now: Arc<Mutex<[Option<(Instant, String)>; 2]>> = Arc::default();
    std::thread::spawn({
        let now = now.clone();
        move || loop {
            std::thread::sleep(Duration::from_millis(200));
            for (begin, said) in now.lock().unwrap().iter().flatten() {
                if begin.elapsed() > patience {
                    eprintln!("does not end: {said}");
                    std::process::exit(101);
                }
            }
        }
    });
    let log = std::env::var_os("ERMINE_EXTREMES_LOG");
    std::panic::set_hook(Box::new(|_| {}));
    let named = std::env::var("ERMINE_EXTREMES_MODEL").ok();
    let work = |thread: usize| {
        let (mut counts, mut wrong) = (Counts::default(), Vec::new());
        for at in cases.clone().skip(thread).step_by(2) {
            let case = case(seed, at);
            if named.as_ref().is_some_and(|name| case.entry.name != name) {
                continue;
            }
            now.lock().unwrap()[thread] = Some((Instant::now(), case.said.clone()));
            if let Some(log) = &log {
                std::fs::write(format!("{}.{thread}", log.display()), &case.said).unwrap();
            }
            let begin = Instant::now();
            // At once, since what comes later may end everything.
            let mut tell = |problem: String| {
                eprintln!("{}: {problem}", case.said);
                wrong.push(format!("{}: {problem}", case.said));
            };
            match catch_unwind(AssertUnwindSafe(|| run(&case, &mut counts))) {
                Ok(Ok(())) => {}
                Ok(Err(problem)) => tell(problem),
                Err(panic) => {
                    let text = panic.downcast_ref::<String>().map(String::as_str);
                    let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("?");
                    tell(format!("panic: {text}"));
                }
            }
            if begin.elapsed() > patience.mul_f64(0.15) {
                tell(format!("heard of its end after {:.1?}", begin.elapsed()));
            }
            now.lock().unwrap()[thread] = None;
        }
        (counts, wrong)
    };
    let (one, two) = std::thread::scope(|scope| {
        let [one, two] = [0, 1].map(|thread| scope.spawn(move || work(thread)));
        (one.join().unwrap(), two.join().unwrap())
    });
    let _ = std::panic::take_hook();
    let mut wrong = one.1;
    wrong.extend(two.1);
    println!("{:?} and {:?}; {} wrong", one.0, two.0, wrong.len());
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    assert!(
        only.is_some() || named.is_some() || one.0.sound + two.0.sound > cases.len() / 4,
        "too few came to a model"
    );
}

/// Rare classes make the steps of Newton's method long; the training loss falls all the same.
#[test]
fn boosting_never_lets_its_loss_rise() {
    let mut rng = Ctx::new(4).rng("boosting", 0);
    let sizes = [400, 200, 80, 40, 12, 5, 2];
    let codes: Vec<u32> = (0..7).flat_map(|class| std::iter::repeat_n(class as u32, sizes[class])).collect();
    let x: Vec<f64> =
        codes.iter().flat_map(|&class| [f64::from(class) + rng.normal(), rng.normal(), rng.normal()]).collect();
    for rate in [0.1, 0.5, 1.0, 3.0] {
        let values = Values::from([
            ("learning_rate".to_string(), Value::Float(rate)),
            ("max_iter".to_string(), Value::Int(40)),
            ("min_samples_leaf".to_string(), Value::Int(1)),
        ]);
        let data = Data::new(X::dense(&x, 3).unwrap()).classes(&codes, 7).unwrap();
        let estimator = (ermine::entry("HistGradientBoostingClassifier").unwrap().make)(&values).unwrap();
        let log = estimator.fit(&data, &Ctx::new(1).with_threads(2)).unwrap().log;
        let rise = log.objective.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max);
        assert!(rise <= 1e-12 * log.objective[0], "rate {rate}: a rise of {rise}");
        assert!(log.objective.last() < log.objective.first(), "rate {rate}: no fall");
    }
}
