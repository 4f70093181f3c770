//! A slow solver that shares nothing with the engine: Newton's method in 32 digits on a smoothed problem, the
//! smoothing driven
//! to nothing. Its objective is that of a real point, so it refutes any bound that promises too much.

use crate::quad::Q;

/// A convex problem, smoothed so that no value is wrong by more than `mu` times the number of its kinks.
pub trait Convex {
    fn start(&self) -> Vec<Q>;
    /// The objective itself.
    fn value(&self, theta: &[Q]) -> Q;
    /// Value, gradient and Hessian (whole, row by row); none outside of where it is defined.
    fn smooth(&self, theta: &[Q], mu: f64) -> Option<(Q, Vec<Q>, Vec<Q>)>;
}

/// The least objective that was found.
pub fn minimise(problem: &dyn Convex) -> Q {
    let mut theta = problem.start();
    let mut best = problem.value(&theta);
    let mut mu = best.value().abs().max(1e-290);
    for _ in 0..30 {
        mu *= 0.1;
        let Some(mut here) = problem.smooth(&theta, mu) else { break };
        for _ in 0..60 {
            let Some(step) = newton(&here.1, &here.2) else { break };
            let slope = dot(&step, &here.1);
            let mut length = 1.0;
            let next = loop {
                let moved: Vec<Q> = theta.iter().zip(&step).map(|(w, d)| *w + *d * Q::new(length)).collect();
                let there = problem.smooth(&moved, mu).filter(|there| there.0.is_finite());
                let enough = Q::new(1e-4 * length) * slope;
                if let Some(there) = there.filter(|there| (there.0 - here.0 - enough).value() <= 0.0) {
                    break Some((moved, there));
                }
                length *= 0.5;
                if length < 1e-20 {
                    break None;
                }
            };
            let Some((moved, there)) = next else { break };
            (theta, here) = (moved, there);
            if slope.value().abs() <= 1e-3 * mu.min(1e-20 * here.0.value().abs()) {
                break;
            }
        }
        let value = problem.value(&theta);
        best = if (best - value).value() > 0.0 { value } else { best };
        if mu < 1e-17 * best.value().abs() {
            break;
        }
    }
    best
}

pub fn dot(a: &[Q], b: &[Q]) -> Q {
    a.iter().zip(b).fold(Q::ZERO, |sum, (a, b)| sum + *a * *b)
}

/// Solves H d = -g with the diagonal at one, adding to it only what rounding asks for.
fn newton(gradient: &[Q], hessian: &[Q]) -> Option<Vec<Q>> {
    let n = gradient.len();
    let unit: Vec<Q> = (0..n).map(|i| Q::new(1.0 / hessian[i * n + i].value().max(1e-280).sqrt())).collect();
    for ridge in [0.0, 1e-29, 1e-26, 1e-23, 1e-20, 1e-16, 1e-12, 1e-8, 1e-4] {
        let mut l = vec![Q::ZERO; n * n];
        let mut sound = true;
        'rows: for i in 0..n {
            for j in 0..=i {
                let mut sum = hessian[i * n + j] * unit[i] * unit[j];
                if i == j {
                    sum = sum + Q::new(ridge);
                }
                for k in 0..j {
                    sum = sum - l[i * n + k] * l[j * n + k];
                }
                if i > j {
                    l[i * n + j] = sum / l[j * n + j];
                } else if sum.value() > 1e-30 {
                    l[i * n + i] = sum.sqrt();
                } else {
                    sound = false;
                    break 'rows;
                }
            }
        }
        if !sound {
            continue;
        }
        let mut d: Vec<Q> = gradient.iter().zip(&unit).map(|(g, u)| -(*g * *u)).collect();
        for i in 0..n {
            for k in 0..i {
                d[i] = d[i] - l[i * n + k] * d[k];
            }
            d[i] = d[i] / l[i * n + i];
        }
        for i in (0..n).rev() {
            for k in i + 1..n {
                d[i] = d[i] - l[k * n + i] * d[k];
            }
            d[i] = d[i] / l[i * n + i];
        }
        let d: Vec<Q> = d.iter().zip(&unit).map(|(d, u)| *d * *u).collect();
        if d.iter().all(|d| d.is_finite()) {
            return Some(d);
        }
    }
    None
}

/// Rows, targets and weights of one problem.
#[derive(Clone, Default)]
pub struct Rows {
    pub x: Vec<f64>,
    pub cols: usize,
    pub y: Vec<f64>,
    pub weights: Option<Vec<f64>>,
}

impl Rows {
    pub fn count(&self) -> usize {
        self.y.len()
    }

    pub fn row(&self, i: usize) -> &[f64] {
        &self.x[i * self.cols..(i + 1) * self.cols]
    }

    pub fn weight(&self, i: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[i])
    }

    pub fn total(&self) -> f64 {
        (0..self.count()).map(|i| self.weight(i)).sum()
    }
}

/// A loss of one score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// (y - s)^2 / 2
    Squared,
    /// Of y = -1 or 1.
    Logistic,
    /// exp(s) - y s
    Poisson,
    /// s + y exp(-s)
    Gamma,
    /// Of y = -1 or 1.
    Hinge,
    SquaredHinge,
    /// max(0, |y - s| - width)
    Tube(f64),
    SquaredTube(f64),
}

/// sum_i cost w_i loss(y_i, x_i.w + b) + l2/2 |w|^2 + l1 |w|_1, the intercept free, penalised with the rest or absent.
pub struct Linear<'a> {
    pub rows: &'a Rows,
    pub loss: Loss,
    pub cost: f64,
    pub l1: f64,
    pub l2: f64,
    pub intercept: Intercept,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Intercept {
    Free,
    Penalised,
    None,
}

/// max(0, m) with its first two slopes; a hyperbola that is off by at most mu.
fn ramp(m: Q, mu: f64) -> (Q, Q, Q) {
    let half = Q::new(0.5);
    if mu == 0.0 {
        return (m.max(Q::ZERO), Q::new(f64::from(m.value() > 0.0)), Q::ZERO);
    }
    let root = (m.square() + Q::new(4.0 * mu * mu)).sqrt();
    // What cancels where m is far below zero.
    let value = if m.value() >= 0.0 { half * (m + root) } else { Q::new(2.0 * mu * mu) / (root - m) };
    (value, value / root, Q::new(2.0 * mu * mu) / (root * root * root))
}

impl Loss {
    /// Value, slope and curvature in s; with mu = 0 the loss itself.
    fn at(self, y: f64, s: Q, mu: f64) -> (Q, Q, Q) {
        let (one, target) = (Q::new(1.0), Q::new(y));
        match self {
            Loss::Squared => (Q::new(0.5) * (s - target).square(), s - target, one),
            Loss::Logistic => {
                let m = target * s;
                let e = (-m.abs()).exp();
                let value = (-m).max(Q::ZERO) + (one + e).ln();
                // The probability of the wrong class.
                let wrong = if m.value() > 0.0 { e / (one + e) } else { one / (one + e) };
                (value, -(target * wrong), e / (one + e).square())
            }
            Loss::Poisson => {
                let e = s.exp();
                (e - target * s, e - target, e)
            }
            Loss::Gamma => {
                let e = target * (-s).exp();
                (s + e, one - e, e)
            }
            Loss::Hinge => {
                let (value, slope, bend) = ramp(one - target * s, mu);
                (value, -(target * slope), bend)
            }
            Loss::SquaredHinge => {
                let (value, slope, bend) = squared(one - target * s, mu);
                (value, -(target * slope), bend)
            }
            Loss::Tube(width) | Loss::SquaredTube(width) => {
                let side = if matches!(self, Loss::Tube(_)) { ramp } else { squared };
                let (above, below) = (side(s - target - Q::new(width), mu), side(target - s - Q::new(width), mu));
                (above.0 + below.0, above.1 - below.1, above.2 + below.2)
            }
        }
    }
}

/// max(0, m)^2, its second slope made continuous.
fn squared(m: Q, mu: f64) -> (Q, Q, Q) {
    let (value, slope, bend) = ramp(m, 1e-3 * mu.min(1.0));
    let two = Q::new(2.0);
    let flat = Q::new(if mu == 0.0 { 0.0 } else { 1e-30 });
    (value.square(), two * value * slope, two * (slope.square() + value * bend) + flat)
}

impl Linear<'_> {
    fn score(&self, i: usize, theta: &[Q]) -> Q {
        let sum = self.rows.row(i).iter().zip(theta).fold(Q::ZERO, |sum, (x, w)| sum + Q::new(*x) * *w);
        if self.intercept == Intercept::None { sum } else { sum + theta[self.rows.cols] }
    }
}

impl Convex for Linear<'_> {
    fn start(&self) -> Vec<Q> {
        let mut theta = vec![Q::ZERO; self.rows.cols + 1];
        let mean =
            (0..self.rows.count()).map(|i| self.rows.weight(i) * self.rows.y[i]).sum::<f64>() / self.rows.total();
        if self.intercept == Intercept::Free {
            theta[self.rows.cols] = match self.loss {
                Loss::Poisson | Loss::Gamma => Q::new(mean.max(1e-300).ln()),
                _ => Q::ZERO,
            };
        }
        theta
    }

    fn value(&self, theta: &[Q]) -> Q {
        let mut sum = Q::ZERO;
        for i in 0..self.rows.count() {
            let cost = Q::new(self.cost) * Q::new(self.rows.weight(i));
            sum = sum + cost * self.loss.at(self.rows.y[i], self.score(i, theta), 0.0).0;
        }
        let p = self.rows.cols;
        for (j, w) in theta.iter().enumerate() {
            if j < p || self.intercept == Intercept::Penalised {
                sum = sum + Q::new(0.5 * self.l2) * w.square() + Q::new(self.l1) * w.abs();
            }
        }
        sum
    }

    fn smooth(&self, theta: &[Q], mu: f64) -> Option<(Q, Vec<Q>, Vec<Q>)> {
        let p = self.rows.cols;
        let n = p + 1;
        let mut value = Q::ZERO;
        let (mut gradient, mut hessian) = (vec![Q::ZERO; n], vec![Q::ZERO; n * n]);
        for i in 0..self.rows.count() {
            let weight = self.cost * self.rows.weight(i);
            if weight == 0.0 {
                continue;
            }
            let (loss, slope, bend) = self.loss.at(self.rows.y[i], self.score(i, theta), mu / weight);
            let weight = Q::new(weight);
            value = value + weight * loss;
            let constant = f64::from(u8::from(self.intercept != Intercept::None));
            let z: Vec<Q> = self.rows.row(i).iter().chain([&constant]).map(|x| Q::new(*x)).collect();
            for a in 0..n {
                gradient[a] = gradient[a] + weight * slope * z[a];
                let scaled = weight * bend * z[a];
                for b in 0..=a {
                    hessian[a * n + b] = hessian[a * n + b] + scaled * z[b];
                }
            }
        }
        for j in 0..n {
            let (l1, l2) =
                if j < p || self.intercept == Intercept::Penalised { (self.l1, self.l2) } else { (0.0, 0.0) };
            value = value + Q::new(0.5 * l2) * theta[j].square();
            gradient[j] = gradient[j] + Q::new(l2) * theta[j];
            hessian[j * n + j] = hessian[j * n + j] + Q::new(l2);
            if l1 > 0.0 {
                let small = Q::new(mu / l1);
                let root = (theta[j].square() + small.square()).sqrt();
                value = value + Q::new(l1) * root;
                gradient[j] = gradient[j] + Q::new(l1) * theta[j] / root;
                hessian[j * n + j] = hessian[j * n + j] + Q::new(l1) * (small / root).square() / root;
            }
            if hessian[j * n + j].value() == 0.0 {
                hessian[j * n + j] = Q::new(1.0);
            }
        }
        for a in 0..n {
            (0..a).for_each(|b| hessian[b * n + a] = hessian[a * n + b]);
        }
        value.is_finite().then_some((value, gradient, hessian))
    }
}

/// sum_i w_i (s + s H((y_i - w.x_i - b) / s)) + alpha |w|^2 over theta = (w, b, s), with columns centred: the
/// intercept is that of the centred ones.
pub struct Huber<'a> {
    pub rows: &'a Rows,
    pub epsilon: f64,
    pub alpha: f64,
    pub intercept: bool,
}

impl Huber<'_> {
    fn residual(&self, i: usize, theta: &[Q]) -> Q {
        let p = self.rows.cols;
        let fitted = self.rows.row(i).iter().zip(theta).fold(theta[p], |sum, (x, w)| sum + Q::new(*x) * *w);
        Q::new(self.rows.y[i]) - fitted
    }

    /// The slope v of max_v v r - s v^2/4 + mu ln(1 - v^2 / (4 epsilon^2)).
    fn slope(&self, r: Q, s: Q, mu: Q) -> Q {
        let limit = Q::new(4.0 * self.epsilon * self.epsilon);
        let (size, half, two) = (r.abs(), Q::new(0.5), Q::new(2.0));
        let (mut low, mut high) = (Q::ZERO, Q::new(2.0 * self.epsilon));
        let mut v = half * high;
        for round in 0..200 {
            let room = limit - v.square();
            let off = half * s * v + two * mu * v / room - size;
            if off.value() < 0.0 {
                low = v;
            } else {
                high = v;
            }
            let rise = half * s + two * mu * (limit + v.square()) / room.square();
            let next = v - off / rise;
            let inside = (next - low).value() > 0.0 && (high - next).value() > 0.0;
            let next = if inside && round % 4 != 3 { next } else { half * (low + high) };
            let change = (next - v).value().abs();
            v = next;
            if inside && change < 1e-31 * self.epsilon {
                break;
            }
        }
        if r.value() < 0.0 { -v } else { v }
    }
}

impl Convex for Huber<'_> {
    fn start(&self) -> Vec<Q> {
        let n = self.rows.count() as f64;
        let mean = if self.intercept { self.rows.y.iter().sum::<f64>() / n } else { 0.0 };
        let spread = (self.rows.y.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / n).sqrt();
        let mut theta = vec![Q::ZERO; self.rows.cols];
        theta.extend([Q::new(mean), Q::new(spread.max(1e-200))]);
        theta
    }

    fn value(&self, theta: &[Q]) -> Q {
        let p = self.rows.cols;
        let (s, epsilon) = (theta[p + 1], Q::new(self.epsilon));
        let mut sum = Q::new(self.alpha) * dot(&theta[..p], &theta[..p]);
        for i in 0..self.rows.count() {
            let r = self.residual(i, theta).abs();
            let inside = (r - epsilon * s).value() <= 0.0;
            let part = if inside { r.square() / s } else { Q::new(2.0) * epsilon * r - epsilon.square() * s };
            sum = sum + Q::new(self.rows.weight(i)) * (s + part);
        }
        sum
    }

    fn smooth(&self, theta: &[Q], mu: f64) -> Option<(Q, Vec<Q>, Vec<Q>)> {
        let p = self.rows.cols;
        let n = p + 2;
        let s = theta[p + 1];
        if s.value() <= 0.0 {
            return None;
        }
        let (one, two, quarter) = (Q::new(1.0), Q::new(2.0), Q::new(0.25));
        let limit = Q::new(4.0 * self.epsilon * self.epsilon);
        let mut value = Q::new(self.alpha) * dot(&theta[..p], &theta[..p]) - Q::new(mu) * s.ln();
        let (mut gradient, mut hessian) = (vec![Q::ZERO; n], vec![Q::ZERO; n * n]);
        for i in 0..self.rows.count() {
            let weight = Q::new(self.rows.weight(i));
            if weight.value() == 0.0 {
                continue;
            }
            let small = Q::new(mu) / weight;
            let r = self.residual(i, theta);
            let v = self.slope(r, s, small);
            let room = limit - v.square();
            value = value + weight * (s + v * r - quarter * s * v.square() + small * (room / limit).ln());
            let bend = one / (Q::new(0.5) * s + two * small * (limit + v.square()) / room.square());
            let constant = if self.intercept { one } else { Q::ZERO };
            let mut z: Vec<Q> = self.rows.row(i).iter().map(|x| -Q::new(*x)).collect();
            z.extend([-constant, -(Q::new(0.5) * v)]);
            for a in 0..n {
                gradient[a] = gradient[a] + weight * if a <= p { v * z[a] } else { one - quarter * v.square() };
                for b in 0..n {
                    hessian[a * n + b] = hessian[a * n + b] + weight * bend * z[a] * z[b];
                }
            }
        }
        for j in 0..p {
            gradient[j] = gradient[j] + two * Q::new(self.alpha) * theta[j];
            hessian[j * n + j] = hessian[j * n + j] + two * Q::new(self.alpha);
        }
        if !self.intercept {
            hessian[p * n + p] = one;
        }
        gradient[p + 1] = gradient[p + 1] - Q::new(mu) / s;
        hessian[n * n - 1] = hessian[n * n - 1] + Q::new(mu) / s.square();
        value.is_finite().then_some((value, gradient, hessian))
    }
}
