//! What is to be learnt from what: task, target, features. Decided once, from the columns and a sample of the rows, and
//! never changed.

pub mod expression;
pub mod terms;

use crate::{
    inspect::{self, Findings},
    read::{Opened, Place, ReadOptions, idx},
    rows::{Division, Encoded, Frame, Labels, Rows, feature_kinds},
    run::Job,
    store::{DerivedColumns, TargetColumn},
    table::{Column, Field, Form, Kind, Schema, Summary, Table, number_text},
};
use ermine::{Ctx, Entry, Error, Result, Task, core::rng};
use serde::{Deserialize, Serialize};

/// Supervised or not, in one place.
pub trait Supervised {
    fn is_supervised(&self) -> bool;
    fn name(&self) -> &'static str;
}

impl Supervised for Task {
    fn is_supervised(&self) -> bool {
        matches!(self, Task::Regression | Task::Classification)
    }

    fn name(&self) -> &'static str {
        match self {
            Task::Regression => "regression",
            Task::Classification => "classification",
            Task::Clustering => "clustering",
            Task::Transformation => "transformation",
            Task::Density => "density",
        }
    }
}

/// A column that is not used, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dropped {
    pub column: String,
    pub reason: String,
}

/// How rows are divided into those that are learnt from and those that are held out.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Split {
    /// Each row by itself.
    #[default]
    Random,
    /// Rows with one value in this column stay together.
    Group(String),
    /// The latest rows by this column are held out.
    Time(String),
}

impl Split {
    pub fn column(&self) -> Option<&String> {
        match self {
            Split::Random => None,
            Split::Group(column) | Split::Time(column) => Some(column),
        }
    }
}

impl std::str::FromStr for Split {
    type Err = Error;

    /// `random`, `group:COLUMN` or `time:COLUMN`.
    fn from_str(text: &str) -> Result<Split> {
        match text.split_once(':') {
            None if text == "random" => Ok(Split::Random),
            Some(("group", column)) if !column.is_empty() => Ok(Split::Group(column.into())),
            Some(("time", column)) if !column.is_empty() => Ok(Split::Time(column.into())),
            _ => Err(Error::Data(format!("a split is random, group:COLUMN or time:COLUMN, not '{text}'"))),
        }
    }
}

pub struct Plan {
    pub task: Task,
    /// The columns to read: raw features, target, weights.
    pub columns: Schema,
    /// The raw columns that features come from.
    pub raw: Schema,
    /// Features: raw columns, or what is derived from them.
    pub features: Schema,
    pub derived: Option<DerivedColumns>,
    pub target: Option<TargetColumn>,
    /// Column of row weights.
    pub weights: Option<String>,
    pub split: Split,
    pub summary: Vec<Summary>,
    pub dropped: Vec<Dropped>,
    pub notes: Vec<String>,
    /// What was taken for granted when the file was read.
    pub assumed: Vec<String>,
    /// All columns are measured in one unit, as pixels are: each by itself must not be brought to unit spread.
    pub one_unit: bool,
    pub read: ReadOptions,
}

impl Plan {
    pub fn new(job: &Job, opened: &Opened, ctx: &Ctx) -> Result<Plan> {
        let schema = &opened.schema;
        for name in job.ignore.iter().chain(&job.weights).chain(&job.target).chain(&job.keep).chain(job.split.column())
        {
            schema.field(name)?;
        }
        let named = job.model.as_ref().map(|spec| ermine::entry(&spec.name)).transpose()?;
        let task = task(job, named, opened)?;
        let mut notes: Vec<String> = assumed(task, job, opened).into_iter().collect();
        notes.extend(match &job.split {
            Split::Random => None,
            Split::Group(column) => {
                Some(format!("rows of one '{column}' stay together: scores are of groups not seen before"))
            }
            Split::Time(column) => Some(format!("tested on the latest rows by '{column}', learnt from earlier ones")),
        });
        let target = target(job, named, task, opened, &mut notes)?;
        notes.extend(target.as_ref().and_then(decided_by));
        let whole = matches!(opened.place, Place::Memory(_)) && ctx.exchange().size() == 1;
        let (mut features, mut dropped) = usable_columns(job, opened, whole);
        // With a formula only the columns that it names are read.
        if job.features.is_none() {
            check_finite(&features, opened, whole)?;
        }
        if let (Some(target), true) = (&target, task.is_supervised()) {
            let Findings { dropped: misleading, worries } =
                inspect::inspect(&opened.sample, &opened.summary, &features, target, &job.keep, ctx)?;
            if job.split == Split::Random {
                notes.extend(inspect::structure(&opened.sample.table, &features)?);
            }
            if job.is_open(task) {
                features.columns.retain(|field| misleading.iter().all(|drop| drop.column != field.name));
                dropped.extend(misleading);
                notes.extend(worries);
            } else {
                // Who names the model is told, and decides.
                let leaks = misleading.into_iter().filter(|drop| drop.reason.starts_with("leaks"));
                notes.extend(leaks.map(|Dropped { column, reason }| {
                    format!("'{column}' {reason}; --ignore '{column}' leaves it out")
                }));
            }
        }
        if features.columns.is_empty() {
            let why: Vec<String> = dropped.iter().map(|drop| format!("'{}': {}", drop.column, drop.reason)).collect();
            let why = if why.is_empty() { "the file has no other column".into() } else { why.join("; ") };
            return Err(Error::Data(format!("there are no features ({why})")));
        }
        let is_date = |kind: Kind| matches!(kind, Kind::Date | Kind::DateTime);
        let terms = match &job.features {
            Some(formula) => Some(terms::learn(terms::parse(formula, &features)?, &opened.sample.table)?),
            None if features.columns.iter().any(|field| is_date(field.kind)) => {
                Some(terms::usual(&features, &opened.sample.table)?)
            }
            None => None,
        };
        let (mut raw, mut derived) = (features.clone(), None);
        if let Some(terms) = terms {
            raw = terms::used(&terms, &features);
            check_finite(&raw, opened, whole)?;
            notes.extend(terms::made_missing(&terms, &opened.sample.table, opened.rows)?);
            features = terms::derive(&terms, &opened.sample.table)?.schema();
            derived = Some(DerivedColumns { terms, schema: features.clone() });
        }
        let mut columns = raw.clone();
        for name in target.iter().map(|target| target.name.as_str()).chain(job.weights.as_deref()) {
            columns.columns.push(schema.field(name)?.clone());
        }
        if let Some(name) = job.split.column()
            && columns.field(name).is_err()
        {
            columns.columns.push(schema.field(name)?.clone());
        }
        Ok(Plan {
            task,
            columns,
            raw,
            features,
            derived,
            target,
            weights: job.weights.clone(),
            split: job.split.clone(),
            summary: opened.summary.clone(),
            dropped,
            notes,
            assumed: opened.assumed.clone(),
            one_unit: job.no_scale || idx::is_idx(&job.files()?[0])?,
            read: job.read.clone(),
        })
    }

    /// Rows of a table with these columns as numbers.
    pub fn encode(&self, table: &Table) -> Result<Rows> {
        let frame = match &self.derived {
            Some(derived) => Frame::of(&terms::derive(&derived.terms, table)?, &self.features)?,
            None => Frame::of(table, &self.features)?,
        };
        let target = match &self.target {
            None => None,
            Some(target) if !target.classes.is_empty() => {
                Some(Encoded::with_names(table.column(&target.name)?, &target.classes))
            }
            Some(target) => Some(Encoded::real(&target.name, table.column(&target.name)?)?),
        };
        let weights = match &self.weights {
            None => None,
            Some(name) => match table.column(name)? {
                Column::Number(values) => Some(values.clone()),
                other => {
                    return Err(Error::Data(format!("the weight column '{name}' holds {}, not numbers", other.kind())));
                }
            },
        };
        let features = feature_kinds(&self.features);
        let labels = Labels { target, weights, division: self.division(table)? };
        Ok(Rows { x: frame.x, features, labels, texts: frame.texts, one_unit: self.one_unit })
    }

    /// What keeps these rows together where they are split.
    fn division(&self, table: &Table) -> Result<Option<Division>> {
        Ok(match &self.split {
            Split::Random => None,
            Split::Group(name) => {
                let column = table.column(name)?;
                let group = |row: usize| rng::key(0, &column.value_text(row), 0);
                Some(Division::Groups((0..column.len()).map(group).collect()))
            }
            Split::Time(name) => {
                let times = match table.column(name)? {
                    Column::Number(times) | Column::Date(times) | Column::DateTime(times) => times,
                    other => {
                        let problem = format!("rows cannot be put in order by '{name}': it holds {}", other.kind());
                        return Err(Error::Data(problem).hint("--split time:COLUMN takes a date or a number"));
                    }
                };
                if let Some(row) = times.iter().position(|time| time.is_nan()) {
                    return Err(Error::Data(format!("'{name}' has no value in row {} to split by", row + 1)));
                }
                Some(Division::Times(times.clone()))
            }
        })
    }

    /// What it costs to miss each class; empty if all cost the same.
    pub fn costs(&self) -> &[f64] {
        self.target.as_ref().map_or(&[], |target| &target.costs)
    }

    /// Names of the classes, none for a number.
    pub fn classes(&self) -> &[String] {
        self.target.as_ref().map_or(&[], |target| &target.classes)
    }
}

fn task(job: &Job, named: Option<&Entry>, opened: &Opened) -> Result<Task> {
    Ok(match (named, job.task, &job.target) {
        (Some(entry), _, _) => entry.info.task,
        (None, Some(task), _) => task,
        (None, None, None) => Task::Clustering,
        (None, None, Some(target)) => task_of(target, opened)?,
    })
}

/// An infinite value has no place in a mean. Refused here, where its row is still known by its number in the table.
fn check_finite(features: &Schema, opened: &Opened, whole: bool) -> Result<()> {
    let infinite = |field: &&Field| {
        let summary = opened.summary.iter().find(|summary| summary.name == field.name);
        summary.is_some_and(|found| [found.min, found.max].into_iter().flatten().any(f64::is_infinite))
    };
    let Some(field) = features.columns.iter().find(infinite) else { return Ok(()) };
    let row = match &opened.place {
        Place::Memory(table) if whole => match table.column(&field.name)? {
            Column::Number(values) => values.iter().position(|value| value.is_infinite()).map(|row| row + 1),
            _ => None,
        },
        _ => None,
    };
    let name = &field.name;
    let column = Some(ermine::core::error::Column::Name(name.clone()));
    Err(Error::Value { row, column, problem: "the value is infinity".into() }
        .hint(format!("--na inf treats it as missing, --ignore '{name}' leaves the column out")))
}

/// What a number of few values was taken for, and how to change it.
fn assumed(task: Task, job: &Job, opened: &Opened) -> Option<String> {
    let (None, None, Some(name)) = (&job.model, job.task, &job.target) else { return None };
    let summary = opened.summary.iter().find(|summary| summary.name == *name)?;
    let is_number = matches!(summary.kind, Kind::Number | Kind::Date | Kind::DateTime);
    let distinct = summary.distinct.filter(|distinct| *distinct <= 10 && is_number)?;
    match task {
        Task::Classification if distinct > 2 => Some(format!(
            "the {distinct} values of '{name}' are taken for classes; --task regression predicts a number instead"
        )),
        Task::Regression => Some(format!(
            "'{name}' has only {distinct} different values and is predicted as a number; --task classification takes \
             them \
             for classes"
        )),
        _ => None,
    }
}

/// Classification for a target that is not a number, or one of few values, each in many rows: 7.5, 9, 12 are as much
/// settings of a dial as 7, 9, 12 are, and three dates are three occasions.
fn task_of(target: &str, opened: &Opened) -> Result<Task> {
    let place = opened.schema.columns.iter().position(|field| field.name == target);
    let summary = &opened.summary[place.unwrap_or(0)];
    let is_class = match summary.kind {
        Kind::Number | Kind::Date | Kind::DateTime => {
            summary.distinct.is_some_and(|distinct| distinct <= 10 && distinct * 10 <= summary.rows)
        }
        _ => true,
    };
    Ok(if is_class { Task::Classification } else { Task::Regression })
}

/// What is predicted; `None` if nothing is.
fn target(
    job: &Job,
    named: Option<&Entry>,
    task: Task,
    opened: &Opened,
    notes: &mut Vec<String>,
) -> Result<Option<TargetColumn>> {
    // Some transformers learn from a target too.
    let wanted = task.is_supervised() || named.is_some_and(|entry| entry.info.supervised);
    let Some(name) = &job.target else {
        if !wanted {
            return Ok(None);
        }
        let columns = opened.schema.names().join(", ");
        return Err(Error::Data("no target: which column should be predicted?".into())
            .hint(format!("give one with --target; the columns are {columns}")));
    };
    if !wanted {
        let model = named.map_or("clustering", |entry| entry.name);
        notes.push(format!("{model} uses no target: '{name}' is left out"));
        return Ok(None);
    }
    let task = if task.is_supervised() { task } else { task_of(name, opened)? };
    let mut classes = match (task, &opened.target) {
        (Task::Classification, Some(values)) => match Encoded::classes(values) {
            Encoded::Class { names, .. } => names,
            Encoded::Real(_) => Vec::new(),
        },
        _ => Vec::new(),
    };
    if classes.len() > 1000 {
        let problem = format!("the target '{name}' has more than 1,000 different values: too many for classes");
        return Err(Error::Data(problem).hint("--task regression predicts it as a number"));
    }
    let field = opened.schema.field(name)?;
    if let Some(Form::Boolean(letters)) = field.form {
        classes.iter_mut().for_each(|class| *class = letters.spell(class == "true").into());
    }
    if let Some(positive) = &job.positive {
        put_last(&mut classes, positive, name)?;
    }
    let costs = match &job.costs {
        None => Vec::new(),
        Some(_) if classes.is_empty() => {
            return Err(Error::Unsupported(format!("costs are of classes, and '{name}' is predicted as a number")));
        }
        Some(costs) => costs.of(&classes, &counts(&classes, opened))?,
    };
    Ok(Some(TargetColumn { name: name.clone(), kind: field.kind, classes, costs, form: field.form }))
}

/// How classes are named where that is not by the likeliest.
fn decided_by(target: &TargetColumn) -> Option<String> {
    let costs: Vec<String> = target.costs.iter().map(|cost| number_text((cost * 1e3).round() / 1e3)).collect();
    match (&costs[..], &target.classes[..]) {
        ([], _) => None,
        ([_, _], [_, positive]) => {
            let at = target.costs[0] / (target.costs[0] + target.costs[1]);
            Some(format!("'{positive}' is predicted from a probability of {at:.3} on, for the least expected cost"))
        }
        (_, classes) => {
            let all: Vec<String> = classes.iter().zip(&costs).map(|(class, cost)| format!("{class} {cost}")).collect();
            Some(format!("classes are predicted for the least expected cost: to miss {}", all.join(", ")))
        }
    }
}

/// The class that is asked about becomes the last.
fn put_last(classes: &mut Vec<String>, positive: &str, target: &str) -> Result<()> {
    let Some(place) = classes.iter().position(|class| class == positive) else {
        return match classes.is_empty() {
            true => Err(Error::Unsupported(format!("'{target}' is predicted as a number and has no positive class"))),
            false => Err(Error::Unknown { what: "class", name: positive.into(), known: classes.clone() }),
        };
    };
    let positive = classes.remove(place);
    classes.push(positive);
    Ok(())
}

/// Rows of each class.
fn counts(classes: &[String], opened: &Opened) -> Vec<usize> {
    let mut counts = vec![0; classes.len()];
    if let Some(values) = &opened.target
        && let Encoded::Class { codes, .. } = Encoded::with_names(values, classes)
    {
        for code in codes {
            if let Some(count) = counts.get_mut(code as usize) {
                *count += 1;
            }
        }
    }
    counts
}

/// The columns that can be learnt from, and those left out with the reason. Text needs the whole table in this process.
fn usable_columns(job: &Job, opened: &Opened, whole: bool) -> (Schema, Vec<Dropped>) {
    let mut others: Vec<&String> = job.target.iter().chain(&job.weights).chain(&job.ignore).collect();
    // What tells groups apart says nothing of a new group.
    if let Split::Group(column) = &job.split {
        others.push(column);
    }
    let (mut columns, mut dropped) = (Vec::new(), Vec::new());
    for (field, summary) in opened.schema.columns.iter().zip(&opened.summary) {
        if others.contains(&&field.name) {
            continue;
        }
        let reason = match field.kind {
            _ if summary.missing == summary.rows => Some("all values are missing"),
            Kind::Text if !whole => Some("free text is used only when one process holds all rows in memory"),
            _ if summary.distinct == Some(1) && summary.missing == 0 => Some("it has a single value"),
            _ => None,
        };
        match reason {
            Some(reason) => dropped.push(Dropped { column: field.name.clone(), reason: reason.into() }),
            None => columns.push(field.clone()),
        }
    }
    (Schema { columns, na: opened.schema.na.clone() }, dropped)
}
