//! Which kind a column has: what the head suggests, and the kinds that are left as fields do not fit.

use super::{
    HEAD_BYTES, HEAD_FIELDS,
    fields::{Fault, trim},
    layout::Layout,
    parse::{Block, Plan, Raw, Want, parse},
    records::walk_quotes,
};
use crate::read::ReadOptions;
use crate::table::{self, Form, FormSet, Kind, Na, Places, SAMPLE_ROWS};
use ermine_core::error::{Error, Result};
use memchr::memchr_iter;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// What a file says of its columns.
pub(super) struct Inference {
    /// What was taken for granted before kinds were known.
    assumed: Vec<String>,
    pub(super) columns: Vec<InferredColumn>,
    /// Columns of the file in the order wanted.
    pub(super) order: Vec<usize>,
    pub(super) na: Na,
    pub(super) markers: Vec<String>,
    pub(super) delimiter: u8,
    pub(super) names: Vec<String>,
}

pub(super) struct InferredColumn {
    /// The user's word.
    pub(super) declared: Option<Kind>,
    pub(super) possible: FormSet,
    /// The forms that the user's word allows.
    required: Option<FormSet>,
    /// What a string column becomes.
    pub(super) is_text: bool,
    pub(super) state: State,
}

#[derive(PartialEq)]
pub(super) enum State {
    Unwanted,
    /// To be parsed in the next pass, or parsed without trouble in this one.
    Parsing,
    /// A field did not fit: one more pass.
    Failed,
    Done,
}

pub(super) enum Wanted {
    Form(Form),
    Text,
    /// A category if it does not have too many levels.
    Strings,
}

impl InferredColumn {
    pub(super) fn want(&self) -> Wanted {
        match (self.declared, self.form()) {
            (Some(Kind::Category), _) => Wanted::Strings,
            (Some(Kind::Text), _) => Wanted::Text,
            (_, Some(form)) => Wanted::Form(form),
            (_, None) if self.is_text => Wanted::Text,
            (_, None) => Wanted::Strings,
        }
    }

    /// `None` for strings.
    pub(super) fn form(&self) -> Option<Form> {
        match self.declared {
            Some(Kind::Category | Kind::Text) => None,
            _ => self.possible.first().or(self.required.and_then(FormSet::first)),
        }
    }

    /// A field that does not fit is a mistake: there is no other way to read what the user asked for.
    fn must(&self) -> bool {
        self.required.is_some() && self.possible.is_single()
    }
}

impl Inference {
    pub(super) fn start(
        layout: &Layout,
        body: &[u8],
        options: &ReadOptions,
        locate: impl Fn(Box<Fault>) -> Error,
    ) -> Result<Inference> {
        let names = &layout.names;
        let places = Places::of_names(names);
        let order: Vec<usize> = match &options.columns {
            Some(wanted) => wanted.iter().map(|name| places.of(name)).collect::<Result<_>>()?,
            None => (0..names.len()).collect(),
        };
        let mut declared = vec![None; names.len()];
        for (name, kind) in &options.kinds {
            declared[places.of(name)?] = Some(*kind);
        }
        let markers = options.all_na(None);
        let na = options.missing(&markers);
        let mut columns = Vec::with_capacity(names.len());
        for (name, declared) in names.iter().zip(declared) {
            let forms = options.forms_of(name, layout.delimiter);
            let required = match declared {
                Some(Kind::Category | Kind::Text) => None,
                Some(kind) => Some(forms.of_kind(kind)),
                None => options.date_formats.contains_key(name).then_some(forms),
            };
            let possible = required.unwrap_or(forms);
            columns.push(InferredColumn { declared, possible, required, is_text: false, state: State::Unwanted });
        }
        for &index in &order {
            columns[index].state = State::Parsing;
        }
        let (delimiter, names) = (layout.delimiter, names.clone());
        let assumed = options.assumed.iter().chain(&layout.assumed).cloned().collect();
        let mut inference = Inference { assumed, columns, order, na, markers, delimiter, names };
        let head = head_of(body, delimiter, (HEAD_FIELDS / inference.names.len().max(1)).clamp(200, SAMPLE_ROWS));
        let mut plan = inference.plan();
        plan.wants.iter_mut().filter(|want| !matches!(want, Want::Skip)).for_each(|want| *want = Want::Strings);
        let block = parse(head, &plan, options.chunk_bytes).map_err(locate)?;
        let na = &inference.na;
        inference.columns.par_iter_mut().zip(&block.columns).for_each(|(column, raw)| {
            if let Raw::Strings(strings) = raw {
                let levels = strings.parts.iter().flat_map(|(_, part)| part.iter());
                let fields = levels.map(|level| trim(level.as_bytes()));
                let is_missing_number =
                    |field: &[u8]| table::number(field).is_some_and(|value| na.is_missing_number(value));
                // What is a level among strings may be a missing number.
                let mut known = fields.filter(|field| !na.is_missing(field) && !is_missing_number(field));
                // The first word ends it.
                while let (Some(_), Some(field)) = (column.possible.first(), known.next()) {
                    column.possible = column.possible.and(FormSet::of(field));
                }
                column.is_text = strings.evidence(block.rows).is_text();
            }
        });
        Ok(inference)
    }

    pub(super) fn plan(&self) -> Plan {
        let wants = self.columns.iter().map(|column| match (&column.state, column.want()) {
            (State::Unwanted | State::Done, _) => Want::Skip,
            (_, Wanted::Form(form)) => Want::Value { form, must: column.must() },
            (_, Wanted::Text) => Want::Text,
            (_, Wanted::Strings) => Want::Strings,
        });
        Plan {
            delimiter: self.delimiter,
            wants: wants.collect(),
            na: self.na.clone(),
            names: self.names.clone(),
            lenient: false,
        }
    }

    pub(super) fn learn(&mut self, block: &Block) {
        for (column, raw) in self.columns.iter_mut().zip(&block.columns) {
            if let Raw::Failed(possible) = raw {
                column.possible = column.possible.and(*possible);
                column.state = State::Failed;
            }
        }
    }

    /// How columns are spelt where that needs a word, and all that was taken for granted.
    pub(super) fn spelling(&self) -> (BTreeMap<String, Form>, Vec<String>) {
        let mut forms = BTreeMap::new();
        let mut assumed = self.assumed.clone();
        let mut alike: Vec<(Form, Vec<&str>)> = Vec::new();
        for &index in &self.order {
            let (column, name) = (&self.columns[index], &self.names[index]);
            let Some(form) = column.form().filter(|form| !form.is_usual()) else { continue };
            forms.insert(name.clone(), form);
            if form.kind() == Kind::Boolean {
                continue;
            }
            match alike.iter_mut().find(|(other, _)| *other == form) {
                Some((_, names)) => names.push(name),
                None => alike.push((form, vec![name])),
            }
            if let Some(rival) = column.possible.rival() {
                let settle = match form.kind() {
                    Kind::Number => "--decimal comma or --decimal point".into(),
                    _ => format!("--date-format {name}={}", rival.to_string().split(' ').next().unwrap_or_default()),
                };
                assumed.push(format!("'{name}' could as well be {rival}, no value tells: {settle} settles it"));
            }
        }
        for (form, names) in alike {
            let list = names.iter().take(5).map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
            let more = if names.len() > 5 { format!(" and {} more", names.len() - 5) } else { String::new() };
            let what = match form {
                Form::Time => "times, in hours, written".into(),
                form => format!("{}s written", form.kind()),
            };
            let unit = if form.to_string().ends_with('%') { "; 12.5% is 12.5" } else { "" };
            assumed.push(format!("{list}{more}: {what} {form}{unit}"));
        }
        (forms, assumed)
    }

    /// After a pass: whether it was the last one.
    pub(super) fn settle(&mut self) -> bool {
        let mut done = true;
        for column in &mut self.columns {
            match column.state {
                State::Parsing => column.state = State::Done,
                State::Failed => {
                    column.state = State::Parsing;
                    done = false;
                }
                State::Unwanted | State::Done => {}
            }
        }
        done
    }
}

/// The first `rows` records, as far as they lie in the first few megabytes; one record at least.
fn head_of(body: &[u8], delimiter: u8, rows: usize) -> &[u8] {
    let limit = body.len().min(HEAD_BYTES);
    let (mut count, mut end) = (0, 0);
    walk_quotes(body, 0, body.len(), false, delimiter, |from, to| {
        for newline in memchr_iter(b'\n', &body[from..to]) {
            let next = from + newline + 1;
            if count > 0 && (count >= rows || next > limit) {
                return true;
            }
            (count, end) = (count + 1, next);
        }
        count >= rows
    });
    if end == 0 || (count < rows && body.len() <= limit) { body } else { &body[..end] }
}
