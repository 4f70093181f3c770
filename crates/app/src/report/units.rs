//! What a model has learnt in the units of the file: internal scaling is undone before anything is shown.

use super::{Component, Driver, Prepared};
use crate::{
    store::Fitted,
    table::{Kind, date_text, number_text},
};
use ermine::{Array, Numbers};

/// Four significant digits, without an exponent where none is needed.
pub fn digits(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    if !value.is_finite() {
        return value.to_string();
    }
    let size = value.abs().log10().floor();
    if !(-4.0..7.0).contains(&size) {
        return format!("{value:.2e}");
    }
    format!("{value:.*}", (3.0 - size).clamp(0.0, 8.0) as usize)
}

/// What was done to each column before the model saw it.
pub fn preparation(fitted: &Fitted) -> Vec<Prepared> {
    let Some(recipe) = &fitted.preparation else { return Vec::new() };
    let (schema, origins) = (fitted.features(), recipe.origins());
    let of = |(column, field): (usize, &crate::table::Field)| {
        let columns = origins.iter().filter(|origin| **origin == column).count();
        let scaling = recipe.scaling(column).filter(|scaling| *scaling != (0.0, 1.0));
        let value = |value: f64| match field.kind {
            Kind::Date | Kind::DateTime => date_text(value.floor()),
            _ => number_text(round(value)),
        };
        let filled = recipe.fill(column).map(value);
        let reference = recipe.reference(column).and_then(|level| field.levels.get(level as usize)).cloned();
        let what = match (field.kind, columns) {
            (Kind::Text, _) => format!("TF-IDF of {columns} words"),
            (Kind::Category, _) if recipe.is_kept(column) => "as levels".into(),
            (Kind::Category, _) => match &reference {
                Some(level) => format!("{columns} columns of 0 and 1, compared with '{level}'"),
                None => format!("{columns} columns of 0 and 1, one a level"),
            },
            _ => match scaling {
                Some((centre, scale)) => format!("(x - {}) / {}", value(centre), number_text(round(scale))),
                None => "as it is".into(),
            },
        };
        Prepared { column: field.name.clone(), what, filled, reference, columns, scaled: scaling.is_some() }
    };
    schema.columns.iter().enumerate().map(of).collect()
}

/// Five digits are enough to read.
fn round(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}

fn floats<'a>(attributes: &'a [(&'static str, Array)], name: &str) -> Option<&'a [f64]> {
    match &attributes.iter().find(|(known, _)| *known == name)?.1.values {
        Numbers::Float(values) => Some(values),
        _ => None,
    }
}

/// The coefficients of a linear model, the largest for standardised columns first, and its intercepts.
pub fn weights(fitted: &Fitted) -> (Vec<Driver>, Vec<f64>) {
    let attributes = fitted.model.attributes();
    let (Some(coef), names) = (floats(&attributes, "coef_"), fitted.prepared_names()) else {
        return Default::default();
    };
    if names.is_empty() || !coef.len().is_multiple_of(names.len()) {
        return Default::default();
    }
    let scalings = fitted.preparation.as_ref().map_or(Vec::new(), |recipe| recipe.scalings());
    let scaling = |j: usize| scalings.get(j).copied().flatten().unwrap_or((0.0, 1.0));
    let rows = coef.chunks_exact(names.len());
    let targets = rows.len();
    let intercepts = floats(&attributes, "intercept_").filter(|intercepts| intercepts.len() == targets);
    let intercepts = intercepts.map_or(Vec::new(), |intercepts| {
        let moved = |(row, intercept): (&[f64], &f64)| {
            intercept - row.iter().enumerate().map(|(j, w)| w * scaling(j).0 / scaling(j).1).sum::<f64>()
        };
        rows.clone().zip(intercepts).map(moved).collect()
    });
    let scaled = scalings.iter().flatten().any(|scaling| *scaling != (0.0, 1.0));
    let mut drivers: Vec<Driver> = (0..names.len())
        .map(|j| Driver {
            name: names[j].clone(),
            weights: rows.clone().map(|row| row[j] / scaling(j).1).collect(),
            standardised: if scaled { rows.clone().map(|row| row[j]).collect() } else { Vec::new() },
        })
        .collect();
    let size = |driver: &Driver| {
        let weights = if scaled { &driver.standardised } else { &driver.weights };
        weights.iter().fold(0.0f64, |most, w| most.max(w.abs()))
    };
    drivers.sort_by(|a, b| size(b).total_cmp(&size(a)));
    (drivers, intercepts)
}

/// The components of a decomposition: how much of the variance each explains, and what it is made of.
pub fn components(fitted: &Fitted) -> Vec<Component> {
    let attributes = fitted.model.attributes();
    let found =
        ["components_", "explained_variance_", "explained_variance_ratio_"].map(|name| floats(&attributes, name));
    let ([Some(parts), Some(variance), Some(share)], names) = (found, fitted.prepared_names()) else {
        return Vec::new();
    };
    if names.is_empty() || parts.len() != names.len() * variance.len() || share.len() != variance.len() {
        return Vec::new();
    }
    let component = |(i, row): (usize, &[f64])| {
        let mut loadings: Vec<(String, f64)> = names.iter().cloned().zip(row.iter().copied()).collect();
        loadings.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        Component { variance: variance[i], share: share[i], loadings }
    };
    parts.chunks_exact(names.len()).enumerate().map(component).collect()
}
