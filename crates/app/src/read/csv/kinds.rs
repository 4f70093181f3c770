//! Which kind a column has: what the head suggests, and the kinds that are left as fields do not fit.

use super::{
    HEAD_BYTES, HEAD_FIELDS,
    fields::{Fault, trim},
    layout::Layout,
    parse::{Block, Plan, Raw, Want, parse},
    records::walk_quotes,
};
use crate::read::ReadOptions;
use crate::table::{self, Kind, KindSet, Na, Places, SAMPLE_ROWS};
use ermine_core::error::{Error, Result};
use memchr::memchr_iter;
use rayon::prelude::*;

pub(super) struct Inference {
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
    pub(super) possible: KindSet,
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
    Kind(Kind),
    /// A category if it does not have too many levels.
    Strings,
}

impl InferredColumn {
    pub(super) fn want(&self) -> Wanted {
        match self.declared.or(self.possible.first()) {
            Some(Kind::Category) => Wanted::Strings,
            Some(kind) => Wanted::Kind(kind),
            None if self.is_text => Wanted::Kind(Kind::Text),
            None => Wanted::Strings,
        }
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
        let na = Na::new(&markers);
        let mut columns = Vec::with_capacity(names.len());
        for declared in declared {
            let state = State::Unwanted;
            columns.push(InferredColumn { declared, possible: KindSet::ALL, is_text: false, state });
        }
        for &index in &order {
            columns[index].state = State::Parsing;
        }
        let (delimiter, names) = (layout.delimiter, names.clone());
        let mut inference = Inference { columns, order, na, markers, delimiter, names };
        let head = head_of(body, delimiter, (HEAD_FIELDS / inference.names.len().max(1)).clamp(200, SAMPLE_ROWS));
        let mut plan = inference.plan();
        plan.wants.iter_mut().filter(|want| !matches!(want, Want::Skip)).for_each(|want| *want = Want::Strings);
        let block = parse(head, &plan, options.chunk_bytes).map_err(locate)?;
        let na = &inference.na;
        inference.columns.par_iter_mut().zip(&block.columns).for_each(|(column, raw)| {
            if let Raw::Strings(strings) = raw {
                let levels = strings.parts.iter().flat_map(|(_, part)| part.iter());
                let fields = levels.map(|level| trim(level.as_bytes()));
                column.possible = fields
                    .filter(|field| !table::number(field).is_some_and(|value| na.is_missing_number(value)))
                    .fold(KindSet::ALL, |possible, field| possible.and(KindSet::of(field)));
                column.is_text = strings.evidence(block.rows).is_text();
            }
        });
        Ok(inference)
    }

    pub(super) fn plan(&self) -> Plan {
        let wants = self.columns.iter().map(|column| match (&column.state, column.want()) {
            (State::Unwanted | State::Done, _) => Want::Skip,
            (_, Wanted::Kind(kind)) => Want::Kind { kind, must: column.declared.is_some() },
            (_, Wanted::Strings) => Want::Strings,
        });
        Plan { delimiter: self.delimiter, wants: wants.collect(), na: self.na.clone(), names: self.names.clone() }
    }

    pub(super) fn learn(&mut self, block: &Block) {
        for (column, raw) in self.columns.iter_mut().zip(&block.columns) {
            if let Raw::Failed(possible) = raw {
                column.possible = column.possible.and(*possible);
                column.state = State::Failed;
            }
        }
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
