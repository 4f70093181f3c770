use super::{
    network::{Activation, Dropout, Head, Init, Network, Rows, Space, TAIL},
    optimiser::{Schedule, Solver},
    train::{BatchSize, State},
    *,
};
use crate::{
    Ctx, Data, Error, Estimator, Halt, Model, Output, Result, Source, X,
    core::{
        ctx::{Checkpoint, workers},
        reduce::shares,
        rng::Stream,
        source::Shard,
    },
    engine::loss::Loss,
    predict,
};
use std::sync::{Arc, Mutex};

const ACTIVATIONS: [Activation; 7] = [
    Activation::Relu,
    Activation::LeakyRelu,
    Activation::Logistic,
    Activation::Tanh,
    Activation::Softplus,
    Activation::Gelu,
    Activation::Identity,
];

fn random_rows(head: Head, k: usize, sparse: bool) -> Rows {
    let mut rng = Stream::new(3, "rows", 0);
    let mut rows = Rows::new(4);
    for i in 0..9 {
        let values: Vec<f64> = (0..4).map(|_| rng.normal()).collect();
        let y: Vec<f64> = match head {
            Head::Softmax => vec![(i % k) as f64],
            Head::Each(Loss::Logistic) => vec![(i % 2) as f64],
            Head::Labels => (0..k).map(|j| ((i >> j) % 2) as f64).collect(),
            Head::Each(Loss::PoissonLog) => (0..k).map(|_| rng.below(5) as f64).collect(),
            _ => (0..k).map(|_| 2.0 * rng.normal()).collect(),
        };
        let weight = 0.5 + rng.uniform();
        match sparse {
            true => {
                rows.push(crate::core::Row::Sparse { columns: &[1, 3], values: &[values[1], values[3]] }, y, weight)
            }
            false => rows.push(crate::core::Row::Dense(&[0.0, values[1], 0.0, values[3]]), y, weight),
        }
    }
    rows
}

/// Every activation with every loss, plain, normalised and with units left out: the gradient is what differences say.
#[test]
fn gradients_match_finite_differences() {
    let heads = [
        (Head::Softmax, 3),
        (Head::Each(Loss::Logistic), 1),
        (Head::Each(Loss::Squared), 2),
        (Head::Each(Loss::Huber { delta: 0.8 }), 2),
        (Head::Each(Loss::PoissonLog), 1),
        (Head::Labels, 3),
    ];
    let dropout = Dropout { share: 0.3, seed: 5, step: 2, first: 0 };
    for activation in ACTIVATIONS {
        for (head, k) in heads {
            for (norm, dropout) in [(false, None), (true, None), (false, Some(&dropout))] {
                let network = Network { sizes: vec![4, 6, 5, k], activation, head, norm };
                let mut weights = network.start(Init::He, |layer| Stream::new(1, "weights", layer as u64));
                let mut space = Space::default();
                let rows = random_rows(head, k, false);
                let mut learn = |weights: &[f64], rows: &Rows| {
                    network.learn(weights, rows, dropout, &mut space).unwrap();
                    space.stat.clone()
                };
                let stat = learn(&weights, &rows);
                let sparse = learn(&weights, &random_rows(head, k, true));
                assert!(stat.iter().zip(&sparse).all(|(a, b)| (a - b).abs() < 1e-12), "sparse rows");
                let loss = stat.len() - TAIL;
                for at in 0..weights.len() {
                    let (here, h) = (weights[at], 1e-6);
                    let mut side = |to: f64| {
                        weights[at] = to;
                        learn(&weights, &rows)[loss]
                    };
                    let difference = (side(here + h) - side(here - h)) / (2.0 * h);
                    weights[at] = here;
                    let close = (difference - stat[at]).abs() <= 2e-7 * (1.0 + difference.abs().max(stat[at].abs()));
                    assert!(close, "{activation:?} {head:?} norm {norm}: weight {at}: {} and {difference}", stat[at]);
                }
            }
        }
    }
}

/// Two rings: what no straight line separates.
fn rings(rows: usize) -> (Vec<f64>, Vec<u32>) {
    let mut rng = Stream::new(7, "rings", 0);
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for i in 0..rows {
        let (radius, angle) = (1.0 + (i % 2) as f64 + 0.15 * rng.normal(), std::f64::consts::TAU * rng.uniform());
        x.extend([radius * angle.cos(), radius * angle.sin()]);
        y.push((i % 2) as u32);
    }
    (x, y)
}

fn accuracy(model: &NeuralModel, x: &[f64], y: &[u32]) -> f64 {
    let out = predict(&Ctx::new(0), model, &X::dense(x, 2).unwrap(), Output::Class, false).unwrap();
    out.values.iter().zip(y).filter(|(p, y)| **p == f64::from(**y)).count() as f64 / y.len() as f64
}

#[test]
fn every_solver_and_addition_learns_the_rings() {
    let (x, y) = rings(600);
    let data = Data::new(X::dense(&x, 2).unwrap()).classes(&y, 2).unwrap();
    let plain = || MLPClassifier { hidden_layer_sizes: vec![16, 8], max_iter: 60, ..Default::default() };
    let fast = || MLPClassifier { learning_rate_init: 0.02, batch_size: BatchSize::Number(50), ..plain() };
    let cases = [
        ("adam", fast()),
        ("adamw", MLPClassifier { solver: Solver::Adamw, ..fast() }),
        ("sgd", MLPClassifier { solver: Solver::Sgd, learning_rate_init: 0.1, ..fast() }),
        ("cosine", MLPClassifier { learning_rate: Schedule::Cosine, ..fast() }),
        (
            "adaptive",
            MLPClassifier { solver: Solver::Sgd, learning_rate: Schedule::Adaptive, learning_rate_init: 0.1, ..fast() },
        ),
        ("batch_norm", MLPClassifier { batch_norm: true, ..fast() }),
        ("dropout", MLPClassifier { dropout: 0.1, hidden_layer_sizes: vec![32], ..fast() }),
        ("clip_norm", MLPClassifier { clip_norm: Some(0.5), ..fast() }),
        ("lbfgs", MLPClassifier { solver: Solver::Lbfgs, activation: Activation::Tanh, ..plain() }),
    ];
    for (what, network) in cases {
        let fit = network.fit(&data, &Ctx::new(2).with_threads(2)).unwrap();
        let right = accuracy(&fit.model, &x, &y);
        assert!(right > 0.97, "{what}: {right}, loss {:?}", fit.log.objective.last());
        assert!(fit.log.objective.last() < fit.log.objective.first());
        assert_eq!(fit.log.passes(), fit.model.state.epochs);
    }
}

/// Keeps every state; can stop the run after some of them, as a kill would.
#[derive(Clone, Default)]
struct Kept {
    states: Arc<Mutex<Vec<Vec<u8>>>>,
    dies_after: Option<usize>,
}

impl Checkpoint for Kept {
    fn load(&self) -> Result<Option<Vec<u8>>> {
        Ok(self.states.lock().unwrap().last().cloned())
    }

    fn save(&self, state: &[u8]) -> Result<()> {
        let mut states = self.states.lock().unwrap();
        states.push(state.to_vec());
        if self.dies_after == Some(states.len()) { Err(Error::Cancelled) } else { Ok(()) }
    }
}

fn weights_of(states: &[Vec<u8>]) -> Vec<Vec<u64>> {
    let state = |bytes: &Vec<u8>| postcard::from_bytes::<State>(bytes).unwrap();
    states.iter().map(|bytes| state(bytes).weights.iter().map(|w| w.to_bits()).collect()).collect()
}

/// The same steps on any number of workers: the weights agree to the bit after every epoch, with all that is random
/// switched on.
#[test]
fn any_number_of_workers_makes_the_steps_of_one() {
    let (x, y) = rings(17_000);
    let data = Data::new(X::dense(&x, 2).unwrap()).classes(&y, 2).unwrap();
    let network = MLPClassifier {
        hidden_layer_sizes: vec![64, 48],
        batch_size: BatchSize::Number(900),
        max_iter: 3,
        dropout: 0.2,
        batch_norm: true,
        early_stopping: true,
        clip_norm: Some(0.1),
        ..Default::default()
    };
    let alone = Kept::default();
    let ctx = Ctx::new(4).with_threads(2);
    let model = network.fit(&data, &ctx.clone().with_checkpoint(alone.clone())).unwrap().model;
    let expected = weights_of(&alone.states.lock().unwrap());
    assert_eq!(expected.len(), 3);
    for count in [2, 3, 5, 8] {
        let shares = shares(&data.shape(), count);
        workers(count, |exchange| {
            let shard = Shard::window(&data, shares[exchange.rank()].clone());
            let kept = Kept::default();
            let ctx = ctx.clone().with_exchange(exchange).with_checkpoint(kept.clone());
            let found = network.fit(&shard, &ctx).unwrap().model;
            assert!(weights_of(&kept.states.lock().unwrap()) == expected, "{count} workers");
            assert!(found == model, "{count} workers");
        });
    }
}

#[test]
fn a_run_that_died_ends_with_the_same_bits() {
    let (x, y) = rings(500);
    let data = Data::new(X::dense(&x, 2).unwrap()).classes(&y, 2).unwrap();
    let plain = MLPClassifier { hidden_layer_sizes: vec![8], max_iter: 12, dropout: 0.1, ..Default::default() };
    let cases = [
        plain.clone(),
        MLPClassifier {
            early_stopping: true,
            learning_rate_init: 0.05,
            n_iter_no_change: 2,
            max_iter: 40,
            ..plain.clone()
        },
        MLPClassifier {
            solver: Solver::Sgd,
            learning_rate: Schedule::Adaptive,
            n_iter_no_change: 1,
            tol: 0.1,
            ..plain.clone()
        },
        MLPClassifier { learning_rate: Schedule::Cosine, batch_norm: true, ..plain },
    ];
    for network in cases {
        let whole = network.fit(&data, &Ctx::new(1)).unwrap();
        let mut kept = Kept::default();
        loop {
            // Dies again two epochs later, until it gets through.
            kept.dies_after = Some(kept.states.lock().unwrap().len() + 2);
            match network.fit(&data, &Ctx::new(1).with_checkpoint(kept.clone())) {
                Err(error) => assert_eq!(error, Error::Cancelled),
                Ok(fit) => {
                    assert!(fit.model == whole.model && fit.log == whole.log);
                    break;
                }
            }
        }
    }
}

#[test]
fn early_stopping_keeps_the_best_weights() {
    let (mut x, y) = rings(900);
    // Rings that overlap much, so that a wide network learns the noise.
    let mut rng = Stream::new(8, "noise", 0);
    x.iter_mut().for_each(|x| *x += 0.7 * rng.normal());
    let data = Data::new(X::dense(&x, 2).unwrap()).classes(&y, 2).unwrap();
    let network = MLPClassifier {
        hidden_layer_sizes: vec![64],
        early_stopping: true,
        learning_rate_init: 0.02,
        validation_fraction: 0.3,
        ..Default::default()
    };
    let fit = network.fit(&data, &Ctx::new(3)).unwrap();
    assert_eq!(fit.log.stop(), crate::Stop::Halted(Halt::EarlyStopping));
    assert!(fit.log.notes[0].contains("validation score"), "{:?}", fit.log.notes);
    let judges: Vec<usize> = (0..900)
        .filter(|row| crate::core::rng::unit(crate::core::rng::key(3, "validation", *row as u64)) < 0.3)
        .collect();
    let (xs, ys): (Vec<f64>, Vec<u32>) =
        (judges.iter().flat_map(|&i| [x[2 * i], x[2 * i + 1]]).collect(), judges.iter().map(|&i| y[i]).collect());
    let best = fit.model.state.validation_scores.iter().copied().fold(0.0, f64::max);
    assert_eq!(accuracy(&fit.model, &xs, &ys), best);
}

#[test]
fn a_loss_that_explodes_stops_with_advice() {
    let x: Vec<f64> = (0..400).map(|i| (i as f64).sin() * 1e3).collect();
    let y: Vec<f64> = x.chunks(2).map(|x| x[0] - 3.0 * x[1]).collect();
    let data = Data::new(X::dense(&x, 2).unwrap()).real(&y).unwrap();
    let network = MLPRegressor { solver: Solver::Sgd, learning_rate_init: 0.1, ..Default::default() };
    let error = network.fit(&data, &Ctx::new(0)).err().unwrap().to_string();
    assert!(error.starts_with("MLPRegressor: the loss") && error.contains("hint:") && error.contains("0.1"), "{error}");
}

#[test]
fn goes_on_where_it_stood() {
    let (x, y) = rings(300);
    let data = Data::new(X::dense(&x, 2).unwrap()).classes(&y, 2).unwrap();
    let ctx = Ctx::new(9);
    let epochs = |max_iter| MLPClassifier { max_iter, hidden_layer_sizes: vec![10], tol: 0.0, ..Default::default() };
    let whole = epochs(5).fit(&data, &ctx).unwrap().model;
    let mut parts = epochs(2).fit(&data, &ctx).unwrap().model;
    for _ in 0..3 {
        parts = epochs(1).resume(&parts, &data, &ctx).unwrap().model;
    }
    assert_eq!(whole.state.weights, parts.state.weights);
    assert_eq!(whole.state.loss_curve, parts.state.loss_curve);
    let wider = MLPClassifier { hidden_layer_sizes: vec![11], ..epochs(1) };
    let error = wider.resume(&parts, &data, &ctx).err().unwrap().to_string();
    assert!(error.contains("the network to go on from") && error.contains("[2, 11, 1]"), "{error}");
}

/// Labels that hold together with others: inside the outer ring, on the right, both.
#[test]
fn several_labels_a_row() {
    let (x, ring) = rings(600);
    let labels = |i: usize| {
        let (inner, right) = (f64::from(ring[i] == 0), f64::from(x[2 * i] > 0.0));
        [inner, right, inner * right]
    };
    let y: Vec<f64> = (0..600).flat_map(labels).collect();
    let data = Data::new(X::dense(&x, 2).unwrap()).reals(&y, 3).unwrap();
    let network = MLPClassifier {
        hidden_layer_sizes: vec![32],
        learning_rate_init: 0.02,
        early_stopping: true,
        ..Default::default()
    };
    let model = network.fit(&data, &Ctx::new(1)).unwrap().model;
    let predicted = |output| predict(&Ctx::new(0), &model, &X::dense(&x, 2).unwrap(), output, false).unwrap().values;
    let (found, p) = (predicted(Output::Class), predicted(Output::Probability));
    let right = found.iter().zip(&y).filter(|(found, y)| found == y).count();
    assert!(right > 1_700, "{right} of 1800");
    assert!(p.iter().zip(&found).all(|(p, found)| (*p > 0.5) == (*found == 1.0)));
    assert!(model.state.validation_scores.iter().any(|score| *score > 0.9), "{:?}", model.state.validation_scores);

    let wrong = Data::new(X::dense(&x[..4], 2).unwrap()).reals(&[0.0, 1.0, 2.0, 0.0], 2).unwrap();
    let error = network.fit(&wrong, &Ctx::new(1)).err().unwrap().to_string();
    assert!(error.contains("a label is 0 or 1") && error.contains("row 1"), "{error}");
}

#[test]
fn several_targets_and_losses() {
    let mut rng = Stream::new(2, "targets", 0);
    let x: Vec<f64> = (0..600).map(|_| rng.normal()).collect();
    let y: Vec<f64> = x.iter().flat_map(|x| [x.sin(), x * x]).collect();
    let data = Data::new(X::dense(&x, 1).unwrap()).reals(&y, 2).unwrap();
    let network =
        MLPRegressor { solver: Solver::Lbfgs, activation: Activation::Tanh, max_iter: 300, ..Default::default() };
    let model = network.fit(&data, &Ctx::new(1)).unwrap().model;
    let out = predict(&Ctx::new(0), &model, &X::dense(&x, 1).unwrap(), Output::Value, false).unwrap();
    let worst = out.values.iter().zip(&y).map(|(p, y)| (p - y).powi(2)).sum::<f64>() / y.len() as f64;
    assert!(worst < 1e-3, "{worst}");

    // Counts with a rate of e^(x / 2): the prediction is the rate.
    let y: Vec<f64> = x.iter().map(|x| (0.5 * x).exp()).collect();
    let data = Data::new(X::dense(&x, 1).unwrap()).real(&y).unwrap();
    let poisson = MLPRegressor { loss: RegressionLoss::Poisson, ..network.clone() };
    let model = poisson.fit(&data, &Ctx::new(1)).unwrap().model;
    let out = predict(&Ctx::new(0), &model, &X::dense(&x, 1).unwrap(), Output::Value, false).unwrap();
    assert!(out.values.iter().zip(&y).all(|(p, y)| (p / y - 1.0).abs() < 0.1));
    let negative: Vec<f64> = y.iter().map(|y| -y).collect();
    let data = Data::new(X::dense(&x, 1).unwrap()).real(&negative).unwrap();
    assert!(poisson.fit(&data, &Ctx::new(1)).err().unwrap().to_string().contains("Poisson"));
    let refused = MLPRegressor { dropout: 0.5, ..network };
    assert!(refused.fit(&data, &Ctx::new(1)).err().unwrap().to_string().contains("dropout"));
}

/// Losses and weights of scikit-learn after five epochs from the same start, in the same order of rows.
#[test]
fn steps_are_those_of_scikit_learn() {
    let reference: serde_json::Value = serde_json::from_str(include_str!("../../tests/reference/mlp.json")).unwrap();
    let numbers = |value: &serde_json::Value| -> Vec<f64> { serde_json::from_value(value.clone()).unwrap() };
    let (x, y) = (numbers(&reference["x"]), numbers(&reference["y"]));
    let weights = numbers(&reference["weights"]);
    let codes: Vec<u32> = y.iter().map(|y| *y as u32).collect();
    let plain_data = Data::new(X::dense(&x, 3).unwrap()).classes(&codes, 3).unwrap();
    let weighted = plain_data.clone().weights(&weights).unwrap();
    let plain = MLPClassifier {
        hidden_layer_sizes: vec![4],
        activation: Activation::Tanh,
        batch_size: BatchSize::Number(7),
        shuffle: false,
        max_iter: 5,
        alpha: 0.1,
        learning_rate_init: 0.05,
        ..Default::default()
    };
    let cases = [
        ("unweighted", plain.clone()),
        ("adam", plain.clone()),
        ("nesterov", MLPClassifier { solver: Solver::Sgd, ..plain.clone() }),
        ("momentum", MLPClassifier { solver: Solver::Sgd, nesterovs_momentum: false, ..plain.clone() }),
        ("invscaling", MLPClassifier { solver: Solver::Sgd, learning_rate: Schedule::Invscaling, ..plain.clone() }),
    ];
    for (name, network) in cases {
        let data = if name == "unweighted" { &plain_data } else { &weighted };
        let mut start = network.fit(data, &Ctx::new(0)).unwrap().model;
        start.state = State { weights: numbers(&reference["start"]), rate: 0.05, ..State::default() };
        let found = network.resume(&start, data, &Ctx::new(0)).unwrap();
        let expected = &reference["runs"][name];
        let close = |a: &[f64], b: &[f64]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-10);
        // With weights its loss curve is a mean of the minibatches' means; ours is the mean over all rows.
        if name == "unweighted" {
            assert!(close(&found.log.objective, &numbers(&expected["loss"])), "{:?}", found.log.objective);
        }
        assert!(close(&found.model.state.weights, &numbers(&expected["weights"])), "{name}");
        let out = predict(&Ctx::new(0), &found.model, &X::dense(&x, 3).unwrap(), Output::Probability, false).unwrap();
        assert!(close(&out.values, &numbers(&expected["probability"])), "{name}");
    }
}

#[test]
fn a_damaged_network_is_refused() {
    let (x, y) = rings(50);
    let data = Data::new(X::dense(&x, 2).unwrap()).classes(&y, 2).unwrap();
    let model = MLPClassifier { max_iter: 1, ..Default::default() }.fit(&data, &Ctx::new(0)).unwrap().model;
    assert!(model.check().is_ok());
    let broken: [fn(&mut NeuralModel); 5] = [
        |model| model.network.sizes[1] = usize::MAX,
        |model| model.network.sizes.truncate(1),
        |model| model.classes = 3,
        |model| model.network.norm = true,
        |model| model.state.weights.truncate(3),
    ];
    for damage in broken {
        let mut model = model.clone();
        damage(&mut model);
        assert!(model.check().is_err());
    }
}
