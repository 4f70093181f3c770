//! Numbers of 32 digits for the reference solver: the arithmetic of [`Dd`] with operators, roots, exponentials and
//! logarithms.

use ermine::engine::double_double::Dd;
use std::ops::{Add, Div, Mul, Neg, Sub};

#[derive(Clone, Copy, Debug)]
pub struct Q(pub Dd);

impl Q {
    pub const ZERO: Q = Q(Dd { hi: 0.0, lo: 0.0 });

    pub fn new(value: f64) -> Q {
        Q(Dd::new(value))
    }

    pub fn value(self) -> f64 {
        self.0.value()
    }

    pub fn is_finite(self) -> bool {
        self.0.hi.is_finite() && self.0.lo.is_finite()
    }

    pub fn square(self) -> Q {
        self * self
    }

    pub fn abs(self) -> Q {
        if self.value() < 0.0 { -self } else { self }
    }

    pub fn max(self, other: Q) -> Q {
        if (self - other).value() >= 0.0 { self } else { other }
    }

    pub fn sqrt(self) -> Q {
        let start = self.value().max(0.0).sqrt();
        if start == 0.0 {
            return Q::ZERO;
        }
        // One step of Newton's doubles the digits.
        let start = Q::new(start);
        start + (self - start * start) / (start + start)
    }

    pub fn exp(self) -> Q {
        if self.value() < -700.0 {
            return Q::ZERO;
        }
        if self.value() > 700.0 {
            return Q::new(f64::INFINITY);
        }
        let ln2 = Q(Dd { hi: std::f64::consts::LN_2, lo: 2.319_046_813_846_299_6e-17 });
        let halvings = (self.value() / std::f64::consts::LN_2).round();
        let r = (self - ln2 * Q::new(halvings)) * Q::new(1.0 / 512.0);
        // exp(r) - 1, so that squaring keeps the digits of small arguments.
        let (mut term, mut sum) = (r, r);
        for k in 2..14 {
            term = term * r / Q::new(f64::from(k));
            sum = sum + term;
        }
        for _ in 0..9 {
            sum = sum + sum + sum * sum;
        }
        (sum + Q::new(1.0)) * Q::new(halvings.exp2())
    }

    pub fn ln(self) -> Q {
        let start = Q::new(self.value().ln());
        let ratio = self * (-start).exp();
        start + Q::new(2.0) * (ratio - Q::new(1.0)) / (ratio + Q::new(1.0))
    }
}

impl Add for Q {
    type Output = Q;
    fn add(self, other: Q) -> Q {
        Q(self.0.add(other.0))
    }
}

impl Sub for Q {
    type Output = Q;
    fn sub(self, other: Q) -> Q {
        Q(self.0.subtract(other.0))
    }
}

impl Mul for Q {
    type Output = Q;
    fn mul(self, other: Q) -> Q {
        Q(self.0.times(other.0))
    }
}

impl Div for Q {
    type Output = Q;
    fn div(self, other: Q) -> Q {
        Q(self.0.over(other.0))
    }
}

impl Neg for Q {
    type Output = Q;
    fn neg(self) -> Q {
        Q(self.0.negative())
    }
}

#[test]
fn digits() {
    let close = |a: Q, b: Q, tol: f64| assert!(((a - b) / b).value().abs() < tol, "{a:?} {b:?}");
    for x in [-30.0, -1.5, -1e-9, 1e-20, 0.3, 2.0, 55.5] {
        let x = Q::new(x) / Q::new(3.0);
        let e = x.exp();
        close(e * (-x).exp(), Q::new(1.0), 1e-30);
        close(e * e, (x + x).exp(), 1e-30);
        if x.value().abs() > 1e-3 {
            close(e.ln(), x, 1e-28);
        }
        close(e.sqrt().square(), e, 1e-30);
    }
    // e to 32 digits.
    let e = Q(Dd { hi: std::f64::consts::E, lo: 1.445_646_891_729_250_2e-16 });
    close(Q::new(1.0).exp(), e, 1e-31);
}
