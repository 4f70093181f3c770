//! The whole preparation of raw rows: numbers and categories as [`Preparation`] learns them, free text as TF-IDF.
//!
//! A text column of raw rows holds the number of the document in its [`Texts`], so rows are taken, shuffled and folded
//! like any others while the documents stay where they are. Everything is learnt from the rows it is given and from
//! nothing else.

use crate::table::{Field, Schema, Text};
use ermine::{
    AnyModel, Array, Ctx, Data, Error, Feature, Output, OwnedCsr, OwnedX, Result, Source, X,
    prepare::{Origin, Preparation, Wants},
    text::{Counts, TextModel, Tfidf},
};
use serde::{Deserialize, Serialize};
use std::{any::Any, sync::Arc};

/// Models that take sparse rows get this many terms at most.
const TERMS: usize = 50_000;
/// Models that do not, and those that look at every column by itself, get the most frequent few.
const FEW_TERMS: usize = 300;

/// How many terms of a text a model gets at most.
pub fn most_terms(wants: &Wants) -> usize {
    if wants.takes_sparse && !wants.takes_categories { TERMS } else { FEW_TERMS }
}

/// The documents behind the text columns of raw rows: the column and its documents.
#[derive(Clone, Default)]
pub struct Texts(pub Vec<(usize, Arc<Text>)>);

impl Texts {
    fn of(&self, column: usize) -> Result<&Text> {
        let found = self.0.iter().find(|(known, _)| *known == column);
        found.map(|(_, text)| &**text).ok_or_else(|| Error::Data(format!("column {column} needs its documents")))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The document that a cell stands for, if its column is text.
    pub fn document(&self, column: usize, cell: f64) -> Option<&str> {
        let (_, text) = self.0.iter().find(|(known, _)| *known == column)?;
        Some(if cell >= 0.0 && (cell as usize) < text.len() { text.get(cell as usize) } else { "" })
    }
}

/// A learnt preparation: plain data.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// Raw columns that are numbers or categories, and what becomes of them.
    numbers: Vec<usize>,
    preparation: Option<Preparation>,
    texts: Vec<(usize, TextModel)>,
}

/// As it stands in a model file; a vocabulary checks itself when it is read.
#[derive(Serialize, Deserialize)]
pub struct Stored {
    numbers: Vec<usize>,
    preparation: Option<Preparation>,
    texts: Vec<(usize, Vec<u8>)>,
}

impl Recipe {
    /// Learns from raw rows. Text needs all of them in the memory of this process.
    pub fn fit(raw: &dyn Source, texts: &Texts, ctx: &Ctx, wants: &Wants) -> Result<Recipe> {
        if texts.is_empty() {
            let preparation = Preparation::fit(raw, ctx, wants)?;
            let numbers = (0..preparation.inputs()).collect();
            return Ok(Recipe { numbers, preparation: Some(preparation), texts: Vec::new() });
        }
        let batch = raw.in_memory("a column of text", "its terms are counted over all rows")?;
        let is_text = |column: &usize| texts.0.iter().any(|(known, _)| known == column);
        let numbers: Vec<usize> = (0..batch.x.cols()).filter(|column| !is_text(column)).collect();
        let mut recipe = Recipe { numbers, preparation: None, texts: Vec::new() };
        if !recipe.numbers.is_empty() {
            let picked = OwnedX::of_columns(&batch.x, &recipe.numbers);
            let kinds: Vec<Feature> = recipe.numbers.iter().map(|&column| raw.features()[column]).collect();
            let mut data = Data::new(picked.x()).features(kinds)?;
            if let Some(weights) = batch.weights {
                data = data.weights(weights)?;
            }
            recipe.preparation = Some(Preparation::fit(&data, ctx, wants)?);
        }
        for (column, text) in &texts.0 {
            let documents = documents(&batch.x, *column, text)?;
            let counts = Counts { max_features: Some(most_terms(wants)), ..Counts::default() };
            // A term of a single document cannot be checked against another; a few rows cannot spare any.
            let counts = Counts { min_df: if documents.len() >= 100 { 2.0 } else { 1.0 }, ..counts };
            let plan = Tfidf { counts, sublinear_tf: true, ..Tfidf::default() };
            let (model, _) = plan.fit_transform(&documents, ctx)?;
            recipe.texts.push((*column, model));
        }
        Ok(recipe)
    }

    /// What becomes of columns that are no text, where there are any.
    pub fn numbers(&self) -> Option<&Preparation> {
        self.preparation.as_ref()
    }

    /// Raw columns.
    pub fn inputs(&self) -> usize {
        self.numbers.len() + self.texts.len()
    }

    /// Prepared columns.
    pub fn outputs(&self) -> usize {
        let terms: usize = self.texts.iter().map(|(_, model)| model.vocabulary().len()).sum();
        self.preparation.as_ref().map_or(0, Preparation::outputs) + terms
    }

    /// What each prepared column means.
    pub fn features(&self) -> Vec<Feature> {
        let mut features = self.preparation.as_ref().map_or(Vec::new(), Preparation::features);
        features.resize(self.outputs(), Feature::Number);
        features
    }

    /// The raw column that each prepared column comes from.
    pub fn origins(&self) -> Vec<usize> {
        let numbers = self.preparation.iter().flat_map(Preparation::origins).map(|origin| self.numbers[origin.column]);
        let terms = self.texts.iter().flat_map(|(column, model)| model.vocabulary().iter().map(|_| *column));
        numbers.chain(terms).collect()
    }

    /// Names of prepared columns: a column's own, `column=level`, `column:term`.
    pub fn names(&self, schema: &Schema) -> Vec<String> {
        let of_numbers = self.preparation.iter().flat_map(Preparation::origins).map(|origin| {
            let Field { name, levels, .. } = &schema.columns[self.numbers[origin.column]];
            match origin.level {
                Some(Origin::OTHER) => format!("{name}=other"),
                Some(level) => format!("{name}={}", levels.get(level as usize).map_or("?", String::as_str)),
                None => name.clone(),
            }
        });
        let of_terms = self.texts.iter().flat_map(|(column, model)| {
            let name = &schema.columns[*column].name;
            model.vocabulary().iter().map(move |term| format!("{name}:{term}"))
        });
        of_numbers.chain(of_terms).collect()
    }

    /// Centre and scale of each prepared column, where it has them.
    pub fn scalings(&self) -> Vec<Option<(f64, f64)>> {
        self.origins().into_iter().map(|column| self.scaling(column)).collect()
    }

    /// Where a raw column is in the preparation of numbers and categories.
    fn place(&self, column: usize) -> Option<(&Preparation, usize)> {
        Some((self.preparation.as_ref()?, self.numbers.iter().position(|other| *other == column)?))
    }

    /// Centre and scale of a raw column of numbers.
    pub fn scaling(&self, column: usize) -> Option<(f64, f64)> {
        self.place(column).and_then(|(preparation, place)| preparation.scaling(place))
    }

    /// What stands for a missing number.
    pub fn fill(&self, column: usize) -> Option<f64> {
        self.place(column).and_then(|(preparation, place)| preparation.filling(place))
    }

    /// The level of a category that has no column of its own.
    pub fn reference(&self, column: usize) -> Option<u32> {
        self.place(column).and_then(|(preparation, place)| preparation.reference(place))
    }

    /// Whether the model takes the levels of a category as they are.
    pub fn is_kept(&self, column: usize) -> bool {
        let of = |(preparation, place): (&Preparation, usize)| {
            let mut origins = preparation.origins().into_iter();
            origins.any(|origin| origin.column == place && origin.level.is_none())
        };
        self.place(column).is_some_and(of)
    }

    /// Levels of prepared columns that are still categories.
    pub fn levels(&self, schema: &Schema) -> Vec<Vec<String>> {
        let level = |(feature, column): (Feature, usize)| match feature {
            Feature::Category { .. } => schema.columns[column].levels.to_vec(),
            Feature::Number => Vec::new(),
        };
        self.features().into_iter().zip(self.origins()).map(level).collect()
    }

    /// Prepared rows.
    pub fn apply(&self, x: &X, texts: &Texts, ctx: &Ctx) -> Result<OwnedX> {
        if x.cols() != self.inputs() {
            return Err(Error::shape("rows", format!("{} columns", self.inputs()), x.cols()));
        }
        if self.texts.is_empty() {
            return match &self.preparation {
                Some(preparation) => preparation.apply(x),
                None => Ok(OwnedX::Dense(x.to_matrix())),
            };
        }
        let mut pieces = Vec::new();
        if let Some(preparation) = &self.preparation {
            pieces.push(preparation.apply(&OwnedX::of_columns(x, &self.numbers).x())?);
        }
        for (column, model) in &self.texts {
            pieces.push(OwnedX::Sparse(model.transform(&documents(x, *column, texts.of(*column)?)?, ctx)?));
        }
        // The vocabulary is short wherever the model takes dense rows only.
        let short = self.texts.iter().all(|(_, model)| model.vocabulary().len() <= FEW_TERMS);
        Ok(OwnedX::hstack(&pieces, !short))
    }

    pub fn store(&self) -> Stored {
        Stored {
            numbers: self.numbers.clone(),
            preparation: self.preparation.clone(),
            texts: self.texts.iter().map(|(column, model)| (*column, model.to_bytes())).collect(),
        }
    }

    /// Whether what a file says fits together.
    pub fn load(stored: Stored) -> Result<Recipe> {
        let Stored { numbers, preparation, texts } = stored;
        let mut columns: Vec<usize> = numbers.iter().copied().chain(texts.iter().map(|(column, _)| *column)).collect();
        columns.sort_unstable();
        let whole = columns.iter().copied().eq(0..columns.len()) && numbers.is_sorted();
        if !whole || preparation.as_ref().map_or(0, Preparation::inputs) != numbers.len() {
            return Err(Error::Data("the stored preparation is damaged".into()));
        }
        if let Some(preparation) = &preparation {
            preparation.check()?;
        }
        let texts = texts.into_iter().map(|(column, bytes)| Ok((column, TextModel::from_bytes(&bytes)?)));
        Ok(Recipe { numbers, preparation, texts: texts.collect::<Result<_>>()? })
    }
}

/// The documents of some raw rows; a row without one has the empty document.
fn documents<'a>(x: &X, column: usize, text: &'a Text) -> Result<Vec<&'a str>> {
    let mut row = vec![0.0; x.cols()];
    let mut documents = Vec::with_capacity(x.rows());
    for i in 0..x.rows() {
        row.fill(0.0);
        x.row(i).for_each(|j, value| row[j] = value);
        let number = row[column];
        documents.push(if number >= 0.0 && (number as usize) < text.len() { text.get(number as usize) } else { "" });
    }
    Ok(documents)
}

/// A model with its preparation in front, as one model of raw rows: what inspection asks.
pub struct Whole<'a> {
    pub recipe: &'a Recipe,
    pub model: &'a dyn AnyModel,
    pub texts: &'a Texts,
    pub ctx: Ctx,
}

impl AnyModel for Whole<'_> {
    fn cols(&self) -> usize {
        self.recipe.inputs()
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        self.model.outputs()
    }

    fn predict_block(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        let prepared = self.recipe.apply(x, self.texts, &self.ctx)?;
        self.model.predict_block(&prepared.x(), output, out)
    }

    fn rows_at_once(&self) -> usize {
        self.model.rows_at_once()
    }

    fn transform_sparse(&self, _: &X) -> Result<Option<OwnedCsr>> {
        Ok(None)
    }

    fn feature_names(&self, _: &[String]) -> Option<Vec<String>> {
        None
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        self.model.attributes()
    }

    fn to_bytes(&self) -> Vec<u8> {
        self.model.to_bytes()
    }

    /// Borrowed parts have no type that outlives them; nobody looks inside.
    fn as_any(&self) -> &dyn Any {
        &()
    }
}
