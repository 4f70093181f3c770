//! How a file spells its values: decimal comma, currency and percent; the order of day, month and year; times and
//! epochs.
//!
//! A field may be read in several ways (`1,234`; `01/02/2024`). A column has the first form, in the order of [`FORMS`],
//! that all its values agree with: a single `25/12/2024` says that the day comes first. That does not depend on which
//! thread or worker saw it.

use super::{
    Kind,
    meaning::{boolean, date, datetime, days_of, moment, number},
};
use ermine_core::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;

/// One way to spell the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Form {
    Number(Style, Mark),
    Boolean(Letters),
    /// A time of day or a duration, in hours.
    Time,
    Date(Order),
    DateTime(Order),
    /// A number of seconds, or of this part of one, since 1970.
    Epoch(Unit),
}

/// How `true` and `false` are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Letters {
    /// `true`
    Small,
    /// `True`
    Title,
    /// `TRUE`
    Capital,
    /// Now so, now so.
    Mixed,
}

impl Letters {
    pub fn spell(self, value: bool) -> &'static str {
        match (self, value) {
            (Letters::Small | Letters::Mixed, false) => "false",
            (Letters::Small | Letters::Mixed, true) => "true",
            (Letters::Title, false) => "False",
            (Letters::Title, true) => "True",
            (Letters::Capital, false) => "FALSE",
            (Letters::Capital, true) => "TRUE",
        }
    }
}

/// What separates decimals and thousands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// `1234.5`
    Point,
    /// `1,234.5`
    Grouped,
    /// `1.234,5`
    Comma,
}

/// What stands beside every number of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    None,
    Percent,
    Dollar,
    Euro,
    Pound,
    Yen,
    Rupee,
    Franc,
    Krona,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// `2024-03-01`, as ISO 8601 has it.
    Iso,
    /// `2024/3/1`
    YearFirst,
    MonthFirst,
    DayFirst,
    /// `1 March 2024`
    Named,
    /// `2024-03`, `Mar 2024`
    YearMonth,
    /// `20240301`; only if it is asked for, because it is a number as well.
    Compact,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Seconds,
    Milli,
    Micro,
    Nano,
}

const MARKS: [(Mark, &[&str]); 8] = [
    (Mark::Percent, &["%"]),
    (Mark::Dollar, &["$", "US$", "USD"]),
    (Mark::Euro, &["€", "EUR"]),
    (Mark::Pound, &["£", "GBP"]),
    (Mark::Yen, &["¥", "JPY"]),
    (Mark::Rupee, &["₹", "INR", "Rs"]),
    (Mark::Franc, &["CHF"]),
    (Mark::Krona, &["kr", "SEK", "NOK", "DKK"]),
];

const fn numbers(mark: Mark) -> [Form; 3] {
    [Form::Number(Style::Point, mark), Form::Number(Style::Grouped, mark), Form::Number(Style::Comma, mark)]
}

/// Every form, the one that is preferred first; the place is the bit in a [`FormSet`].
const FORMS: [Form; COUNT] = {
    let mut all = [Form::Time; COUNT];
    let plain = numbers(Mark::None);
    let mut place = 0;
    while place < 3 {
        all[place] = plain[place];
        place += 1;
    }
    let mut mark = 0;
    while mark < MARKS.len() {
        let forms = numbers(MARKS[mark].0);
        let mut style = 0;
        while style < 3 {
            all[place] = forms[style];
            (place, style) = (place + 1, style + 1);
        }
        mark += 1;
    }
    let mut rest = 0;
    while rest < OTHERS.len() {
        all[place] = OTHERS[rest];
        (place, rest) = (place + 1, rest + 1);
    }
    all
};
const COUNT: usize = 3 + 3 * MARKS.len() + OTHERS.len();
const OTHERS: [Form; 21] = [
    Form::Boolean(Letters::Small),
    Form::Boolean(Letters::Title),
    Form::Boolean(Letters::Capital),
    Form::Boolean(Letters::Mixed),
    Form::Time,
    Form::Date(Order::Iso),
    Form::Date(Order::YearFirst),
    Form::Date(Order::MonthFirst),
    Form::Date(Order::DayFirst),
    Form::Date(Order::Named),
    Form::Date(Order::YearMonth),
    Form::DateTime(Order::Iso),
    Form::DateTime(Order::YearFirst),
    Form::DateTime(Order::MonthFirst),
    Form::DateTime(Order::DayFirst),
    Form::DateTime(Order::Named),
    // From here on only if asked for.
    Form::Date(Order::Compact),
    Form::Epoch(Unit::Seconds),
    Form::Epoch(Unit::Milli),
    Form::Epoch(Unit::Micro),
    Form::Epoch(Unit::Nano),
];
const ASKED: usize = 5;

impl Form {
    pub fn kind(self) -> Kind {
        match self {
            Form::Number(..) | Form::Time => Kind::Number,
            Form::Boolean(_) => Kind::Boolean,
            Form::Date(_) => Kind::Date,
            Form::DateTime(_) | Form::Epoch(_) => Kind::DateTime,
        }
    }

    /// What needs no word: plain numbers and dates as in ISO 8601.
    pub fn usual(kind: Kind) -> Form {
        match kind {
            Kind::Date => Form::Date(Order::Iso),
            Kind::DateTime => Form::DateTime(Order::Iso),
            Kind::Boolean => Form::Boolean(Letters::Small),
            _ => Form::Number(Style::Point, Mark::None),
        }
    }

    pub fn is_usual(self) -> bool {
        self == Form::usual(self.kind())
    }

    /// A field without blanks around it: a number, hours, days or seconds since 1970.
    pub(crate) fn read(self, field: &[u8]) -> Option<f64> {
        match self {
            Form::Number(Style::Point, Mark::None) => number(field),
            Form::Number(style, mark) => marked(field, style, mark),
            Form::Boolean(_) => boolean(field).map(|value| f64::from(u8::from(value))),
            Form::Time => time(std::str::from_utf8(field).ok()?, false).map(|time| (time.seconds + time.part) / 3600.0),
            Form::Date(Order::Iso) => date(field),
            Form::Date(order) => day(std::str::from_utf8(field).ok()?, order),
            Form::DateTime(Order::Iso) => datetime(field),
            Form::DateTime(order) => day_and_time(std::str::from_utf8(field).ok()?, order),
            Form::Epoch(unit) => {
                let seconds = match unit {
                    Unit::Seconds => 1.0,
                    Unit::Milli => 1e3,
                    Unit::Micro => 1e6,
                    Unit::Nano => 1e9,
                };
                number(field).map(|value| value / seconds)
            }
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = |order: Order| match order {
            Order::Iso => "y-m-d",
            Order::YearFirst => "y/m/d",
            Order::MonthFirst => "m/d/y",
            Order::DayFirst => "d/m/y",
            Order::Named => "d month y",
            Order::YearMonth => "y-m",
            Order::Compact => "yyyymmdd",
        };
        match self {
            Form::Number(style, mark) => {
                let digits = match style {
                    Style::Point => "1234.5",
                    Style::Grouped => "1,234.5",
                    Style::Comma => "1.234,5",
                };
                match MARKS.iter().find(|(other, _)| other == mark) {
                    None => f.write_str(digits),
                    Some((Mark::Percent, _)) => write!(f, "{digits}%"),
                    Some((_, spelt)) => write!(f, "{}{digits}", spelt[0]),
                }
            }
            Form::Boolean(Letters::Mixed) => f.write_str("true or TRUE"),
            Form::Boolean(letters) => f.write_str(letters.spell(true)),
            Form::Time => f.write_str("h:m:s"),
            Form::Date(by) => f.write_str(order(*by)),
            Form::DateTime(by) => write!(f, "{} h:m:s", order(*by)),
            Form::Epoch(unit) => f.write_str(match unit {
                Unit::Seconds => "epoch",
                Unit::Milli => "epoch_ms",
                Unit::Micro => "epoch_us",
                Unit::Nano => "epoch_ns",
            }),
        }
    }
}

impl From<Form> for String {
    fn from(form: Form) -> String {
        form.to_string()
    }
}

impl TryFrom<String> for Form {
    type Error = String;

    fn try_from(name: String) -> Result<Form, String> {
        FORMS.into_iter().find(|form| form.to_string() == name).ok_or_else(|| format!("no form is called '{name}'"))
    }
}

/// The forms that all values seen so far could have. A column gets the first one; that does not depend on the order in
/// which values are looked at. A string is always possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FormSet(u64);

impl FormSet {
    /// What is not asked for by name.
    pub(crate) const ALL: FormSet = FormSet(((1 << (COUNT - ASKED)) - 1) | FormSet::COMMA_FIRST);
    /// No number, as the strings of a file that could have said number.
    pub(crate) const NOT_NUMBERS: FormSet = FormSet(FormSet::ALL.0 & !((1 << (3 + 3 * MARKS.len())) - 1));
    pub(crate) const STRING: FormSet = FormSet(0);
    /// Of `1,234` as 1.234 and as 1234 the first is meant: so it is where columns are separated by semicolons.
    const COMMA_FIRST: u64 = 1 << 63;

    /// Forms of a field that is not missing.
    pub(crate) fn of(field: &[u8]) -> FormSet {
        let plain = number(field).is_some();
        let fits = |form: Form| match form {
            Form::Number(Style::Point, Mark::None) => plain,
            Form::Epoch(_) => plain,
            form => form.read(field).is_some(),
        };
        // Most strings are words.
        if !plain && !field.iter().any(u8::is_ascii_digit) {
            return match boolean(field) {
                Some(value) => FormSet::of_boolean(field, value),
                None => FormSet::STRING.with(None),
            };
        }
        let bits = FORMS.into_iter().enumerate().filter(|(_, form)| fits(*form));
        FormSet(bits.fold(FormSet::COMMA_FIRST, |bits, (place, _)| bits | 1 << place))
    }

    fn of_boolean(field: &[u8], value: bool) -> FormSet {
        let own = [Letters::Small, Letters::Title, Letters::Capital];
        let own = own.into_iter().find(|letters| letters.spell(value).as_bytes() == field);
        FormSet::STRING.with(own.map(Form::Boolean)).with(Some(Form::Boolean(Letters::Mixed)))
    }

    pub(crate) fn and(self, other: FormSet) -> FormSet {
        FormSet(self.0 & other.0)
    }

    pub(crate) fn has(self, form: Form) -> bool {
        FORMS.iter().position(|other| *other == form).is_some_and(|place| self.0 >> place & 1 == 1)
    }

    fn with(self, form: Option<Form>) -> FormSet {
        let place = FORMS.iter().position(|other| Some(*other) == form);
        FormSet(self.0 | FormSet::COMMA_FIRST | place.map_or(0, |place| 1 << place))
    }

    fn keep(self, keep: impl Fn(Form) -> bool) -> FormSet {
        let bits = FORMS.into_iter().enumerate().filter(|(_, form)| keep(*form));
        FormSet(self.0 & bits.fold(FormSet::COMMA_FIRST, |bits, (place, _)| bits | 1 << place))
    }

    /// Those of one kind.
    pub(crate) fn of_kind(self, kind: Kind) -> FormSet {
        self.keep(|form| form.kind() == kind)
    }

    /// Only dates and times.
    pub(crate) fn of_dates(self) -> FormSet {
        self.keep(|form| matches!(form.kind(), Kind::Date | Kind::DateTime))
    }

    /// Whether no more than one is left.
    pub(crate) fn is_single(self) -> bool {
        (self.0 & !FormSet::COMMA_FIRST).count_ones() <= 1
    }

    /// Prefers decimal points.
    pub(crate) fn points_first(self) -> FormSet {
        FormSet(self.0 & !FormSet::COMMA_FIRST)
    }

    /// Numbers with this decimal mark only.
    pub(crate) fn decimal(self, comma: bool) -> FormSet {
        self.keep(|form| match form {
            Form::Number(style, _) => (style == Style::Comma) == comma,
            _ => true,
        })
    }

    /// Dates of this format only, also where nobody would have thought of a date.
    pub(crate) fn dates(self, format: DateFormat) -> FormSet {
        let kept = self.keep(|form| match form {
            Form::Date(order) | Form::DateTime(order) => format.allows(order),
            _ => true,
        });
        let asked = FORMS.iter().enumerate().filter(|(_, form)| match (format, form) {
            (DateFormat::Order(Order::Compact), Form::Date(Order::Compact)) => true,
            (DateFormat::Epoch(unit), Form::Epoch(other)) => unit == *other,
            _ => false,
        });
        asked.fold(kept, |set, (place, _)| FormSet(set.0 | 1 << place))
    }

    /// `None` is a string: category or text.
    pub(crate) fn first(self) -> Option<Form> {
        let first = *FORMS.get((self.0 & !FormSet::COMMA_FIRST).trailing_zeros() as usize)?;
        match first {
            Form::Number(Style::Grouped, mark)
                if self.0 & FormSet::COMMA_FIRST != 0 && self.has(Form::Number(Style::Comma, mark)) =>
            {
                Some(Form::Number(Style::Comma, mark))
            }
            first => Some(first),
        }
    }

    /// Another form that all values agree with as well as with the first, and that would give other values.
    pub(crate) fn rival(self) -> Option<Form> {
        let rival = match self.first()? {
            Form::Date(Order::MonthFirst) => Form::Date(Order::DayFirst),
            Form::DateTime(Order::MonthFirst) => Form::DateTime(Order::DayFirst),
            Form::Number(Style::Grouped, mark) => Form::Number(Style::Comma, mark),
            Form::Number(Style::Comma, mark) => Form::Number(Style::Grouped, mark),
            _ => return None,
        };
        self.has(rival).then_some(rival)
    }
}

/// What `--date-format` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DateFormat {
    Order(Order),
    Epoch(Unit),
}

impl DateFormat {
    fn allows(self, order: Order) -> bool {
        match self {
            DateFormat::Order(Order::YearFirst | Order::Iso) => matches!(order, Order::Iso | Order::YearFirst),
            DateFormat::Order(wanted) => wanted == order,
            DateFormat::Epoch(_) => false,
        }
    }

    /// `d/m/y`, `%d.%m.%Y %H:%M`, `month d y`, `yyyymmdd`, `epoch_ms`: the order is what counts.
    pub fn parse(text: &str) -> Result<DateFormat> {
        let units = [Unit::Seconds, Unit::Milli, Unit::Micro, Unit::Nano];
        if let Some(unit) = units.into_iter().find(|unit| Form::Epoch(*unit).to_string() == text) {
            return Ok(DateFormat::Epoch(unit));
        }
        // The date comes before the time, and upper case M is minutes.
        let plain = text.replace("%B", "b").replace("%b", "b").replace('%', "").replace("month", "b");
        let date =
            plain.split([' ', 'T']).take_while(|part| !part.contains(['H', 'h', ':'])).collect::<Vec<_>>().join(" ");
        let mut order: Vec<char> = date.to_ascii_lowercase().chars().filter(|c| "dmyb".contains(*c)).collect();
        order.dedup();
        let separated = date.chars().any(|c| !c.is_ascii_alphabetic());
        let order = match order.iter().collect::<String>().as_str() {
            "ymd" if !separated => Order::Compact,
            "ymd" => Order::YearFirst,
            "dmy" => Order::DayFirst,
            "mdy" => Order::MonthFirst,
            "ym" | "my" | "by" | "yb" => Order::YearMonth,
            "dby" | "bdy" | "ybd" => Order::Named,
            _ => {
                let problem = format!("'{text}' is not a format of dates");
                return Err(Error::Data(problem)
                    .hint("write d/m/y, m/d/y, y/m/d, y-m, 'd month y', yyyymmdd, epoch or epoch_ms"));
            }
        };
        Ok(DateFormat::Order(order))
    }
}

/// A number with its mark on either side, `-$5`, `(5 €)`, in some style.
fn marked(field: &[u8], style: Style, mark: Mark) -> Option<f64> {
    let mut text = std::str::from_utf8(field).ok()?;
    let mut negative = false;
    if let Some(inner) = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')) {
        (text, negative) = (inner.trim(), true);
    }
    if let Some((_, spelt)) = MARKS.iter().find(|(other, _)| *other == mark) {
        let sign = text.strip_prefix(['-', '+', '−']);
        let bare = sign.unwrap_or(text);
        let inner = spelt.iter().rev().find_map(|mark| {
            let before = if *mark == "%" { None } else { bare.strip_prefix(mark) };
            before.or_else(|| bare.strip_suffix(mark))
        });
        let inner = inner?.trim_matches([' ', '\u{a0}', '\u{202f}', '.']);
        match sign {
            Some(_) if negative || inner.starts_with(['-', '+', '−']) => return None,
            Some(_) => (text, negative) = (inner, !text.starts_with('+')),
            None => text = inner,
        }
    }
    let value = digits(text, style)?;
    if negative && value < 0.0 { None } else { Some(if negative { -value } else { value }) }
}

/// Digits in groups of three, and decimals.
fn digits(text: &str, style: Style) -> Option<f64> {
    let (point, separators): (char, &[char]) = match style {
        Style::Point => return number(text.as_bytes()),
        Style::Grouped => ('.', &[',', '\'', '’', ' ', '\u{a0}', '\u{202f}']),
        Style::Comma => (',', &['.', '\'', '’', ' ', '\u{a0}', '\u{202f}']),
    };
    let (negative, text) = match text.strip_prefix(['-', '−']) {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, decimals) = text.split_once(point).map_or((text, None), |(whole, decimals)| (whole, Some(decimals)));
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !decimals.is_none_or(all_digits) || (whole.is_empty() && decimals.is_none_or(str::is_empty)) {
        return None;
    }
    let mut plain = String::with_capacity(text.len() + 1);
    match whole.chars().find(|c| separators.contains(c)) {
        None if all_digits(whole) => plain.push_str(whole),
        None => return None,
        Some(separator) => {
            for (place, group) in whole.split(separator).enumerate() {
                let length = if place == 0 { 1..=3 } else { 3..=3 };
                if !length.contains(&group.len()) || !all_digits(group) || (place == 0 && group.starts_with('0')) {
                    return None;
                }
                plain.push_str(group);
            }
        }
    }
    if let Some(decimals) = decimals {
        plain.push('.');
        plain.push_str(decimals);
    }
    let value = number(plain.as_bytes())?;
    Some(if negative { -value } else { value })
}

/// A date with `T`, a blank or a comma and a time behind it; a date alone is its midnight.
fn day_and_time(text: &str, order: Order) -> Option<f64> {
    let Some(colon) = text.find(':') else { return day(text, order).map(|day| day * 86_400.0) };
    let hour = text[..colon].trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let before = text[..hour].strip_suffix(['T', 't', ' '])?;
    let day = day(before.trim_end_matches([' ', ',']), order)?;
    let time = time(&text[hour..], true)?;
    (time.seconds < 86_401.0).then(|| moment(day * 86_400.0 + time.seconds - time.zone, time.part))
}

/// Whole seconds, the part of one behind them, and how far the zone is ahead.
struct Time {
    seconds: f64,
    part: f64,
    zone: f64,
}

/// `10:30`, `2:05:30.5`, `1:05 PM`, with a zone behind it where there may be one.
fn time(text: &str, zoned: bool) -> Option<Time> {
    let end = text.find(|c: char| !c.is_ascii_digit() && !matches!(c, ':' | '.' | ',')).unwrap_or(text.len());
    let (clock, rest) = text.split_at(end);
    let mut parts = clock.split(':');
    let digits = |text: &str, most: usize| {
        (1..=most).contains(&text.len()).then(|| text.parse::<u32>().ok()).flatten().map(f64::from)
    };
    let (mut hours, minutes) = (digits(parts.next()?, if zoned { 2 } else { 3 })?, parts.next()?);
    if minutes.len() != 2 {
        return None;
    }
    let minutes = digits(minutes, 2)?;
    let (mut seconds, mut fraction) = (0.0, 0.0);
    if let Some(text) = parts.next() {
        let (whole, part) = text.split_once(['.', ',']).map_or((text, None), |(whole, part)| (whole, Some(part)));
        if whole.len() != 2 || part.is_some_and(|part| part.is_empty() || part.len() > 9) {
            return None;
        }
        seconds = digits(whole, 2)?;
        if let Some(part) = part {
            fraction = format!("0.{part}").parse::<f64>().ok()?;
        }
    }
    if parts.next().is_some() || minutes > 59.0 || seconds > 60.0 {
        return None;
    }
    let mut rest = rest.trim_start();
    let half = rest.get(..2).map(str::to_ascii_lowercase);
    if let Some(afternoon) = half.as_deref().and_then(|half| ["am", "pm"].iter().position(|name| *name == half)) {
        if !(1.0..=12.0).contains(&hours) {
            return None;
        }
        hours = hours % 12.0 + 12.0 * afternoon as f64;
        rest = rest[2..].trim_start();
    }
    if zoned && hours > 23.0 {
        return None;
    }
    let zone = match rest {
        "" => 0.0,
        "Z" | "z" | "UTC" | "GMT" if zoned => 0.0,
        _ if zoned => {
            let sign = if rest.starts_with('-') { -1.0 } else { 1.0 };
            let digits: String = rest.strip_prefix(['+', '-'])?.replacen(':', "", 1);
            let all = digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
            let (hours, minutes) = if all { digits.split_at(2) } else { return None };
            sign * (hours.parse::<f64>().ok()? * 3600.0 + minutes.parse::<f64>().ok()? * 60.0)
        }
        _ => return None,
    };
    Some(Time { seconds: hours * 3600.0 + minutes * 60.0 + seconds, part: fraction, zone })
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// The place of a word in a list of names that may be cut to three or four letters.
fn named(word: &str, names: &[&str]) -> Option<u32> {
    let word = word.to_ascii_lowercase();
    let fits = |name: &&str| **name == word || (matches!(word.len(), 3 | 4) && name.starts_with(&word));
    names.iter().position(fits).map(|place| place as u32 + 1)
}

/// A year of two digits is between 1969 and 2068, as POSIX has it.
fn year_of(text: &str) -> Option<u32> {
    let year = text.parse::<u32>().ok()?;
    match text.len() {
        4 => Some(year),
        2 => Some(if year < 69 { 2000 + year } else { 1900 + year }),
        _ => None,
    }
}

/// Days since 1970.
fn day(text: &str, order: Order) -> Option<f64> {
    if text.len() > 40 || !text.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let short = |text: &str| (1..=2).contains(&text.len()).then(|| text.parse::<u32>().ok()).flatten();
    let (year, month, day) = match order {
        Order::Named | Order::YearMonth if text.bytes().any(|byte| byte.is_ascii_alphabetic()) => {
            return by_words(text, order);
        }
        Order::Named => return None,
        Order::Compact => {
            let all = text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit());
            let (year, rest) = if all { text.split_at(4) } else { return None };
            (year_of(year)?, short(&rest[..2])?, short(&rest[2..])?)
        }
        Order::YearMonth => {
            let (a, b) = text.split_once(['-', '/'])?;
            let (year, month) = if a.len() == 4 { (a, b) } else { (b, a) };
            (if year.len() == 4 { year_of(year)? } else { return None }, short(month)?, 1)
        }
        _ => {
            let separator = text.chars().find(|c| matches!(c, '/' | '-' | '.'))?;
            let mut parts = text.split(separator);
            let (a, b, c) = (parts.next()?, parts.next()?, parts.next()?);
            if parts.next().is_some() {
                return None;
            }
            let (year, month, day) = match order {
                Order::YearFirst if a.len() == 4 => (a, b, c),
                Order::YearFirst => return None,
                Order::MonthFirst if separator == '.' => return None,
                Order::MonthFirst => (c, a, b),
                _ => (c, b, a),
            };
            // 1.2.30 is a version rather than a day.
            if separator == '.' && year.len() == 2 && (day.len() < 2 || month.len() < 2) {
                return None;
            }
            (year_of(year)?, short(month)?, short(day)?)
        }
    };
    days_of(year, month, day)
}

/// `Friday, 1st March 2024`, `Mar 1, 2024`, `01-Mar-24`; without a day `March 2024`.
fn by_words(text: &str, order: Order) -> Option<f64> {
    let parts: Vec<&str> = text.split([' ', ',', '-', '.', '/']).filter(|part| !part.is_empty()).collect();
    let parts = match parts.as_slice() {
        [first, rest @ ..] if rest.len() >= 2 && named(first, &WEEKDAYS).is_some() => rest,
        all => all,
    };
    let place = parts.iter().position(|part| named(part, &MONTHS).is_some())?;
    let month = named(parts[place], &MONTHS)?;
    let others: Vec<&str> =
        parts.iter().enumerate().filter(|(other, _)| *other != place).map(|(_, part)| *part).collect();
    let day = |text: &str| {
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let ending = text[digits.len()..].to_ascii_lowercase();
        let fits = matches!(ending.as_str(), "" | "st" | "nd" | "rd" | "th") && (1..=2).contains(&digits.len());
        fits.then(|| digits.parse::<u32>().ok()).flatten()
    };
    match (order, others.as_slice()) {
        (Order::YearMonth, [year]) if year.len() == 4 => days_of(year_of(year)?, month, 1),
        (Order::Named, [year, last]) if year.len() == 4 && year.parse::<u32>().is_ok() => {
            days_of(year_of(year)?, month, day(last)?)
        }
        (Order::Named, [first, year]) => days_of(year_of(year.trim_start_matches('\''))?, month, day(first)?),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{date_text, datetime_text};

    fn column(fields: &[&str]) -> FormSet {
        fields.iter().fold(FormSet::ALL.points_first(), |all, field| all.and(FormSet::of(field.as_bytes())))
    }

    fn form(fields: &[&str]) -> String {
        column(fields).first().map_or("string".into(), String::from)
    }

    fn values(fields: &[&str]) -> Vec<String> {
        let form = column(fields).first().unwrap_or_else(|| panic!("no form for {fields:?}"));
        let value = |field: &&str| {
            let value = form.read(field.as_bytes()).expect("it fits");
            match form.kind() {
                Kind::Date => date_text(value),
                Kind::DateTime => datetime_text(value),
                _ => format!("{value}"),
            }
        };
        fields.iter().map(value).collect()
    }

    #[test]
    fn every_form_has_a_name_of_its_own() {
        for form in FORMS {
            assert_eq!(Form::try_from(String::from(form)), Ok(form));
        }
        const { assert!(COUNT < 63) };
    }

    #[test]
    fn one_value_decides_the_order_of_a_column() {
        assert_eq!(form(&["01/02/2024", "03/04/2024"]), "m/d/y");
        assert_eq!(column(&["01/02/2024", "03/04/2024"]).rival(), Some(Form::Date(Order::DayFirst)));
        assert_eq!(form(&["01/02/2024", "25/12/2024"]), "d/m/y");
        assert_eq!(values(&["01/02/2024", "25/12/2024"]), ["2024-02-01", "2024-12-25"]);
        assert_eq!(form(&["12/25/2024", "25/12/2024"]), "string");
        assert_eq!(values(&["1.2.2024", "31.12.1999"]), ["2024-02-01", "1999-12-31"]);
        assert_eq!(values(&["2024/2/1", "2024-12-31"]), ["2024-02-01", "2024-12-31"]);
        assert_eq!(values(&["2/1/24", "12/31/68", "1/1/69"]), ["2024-02-01", "2068-12-31", "1969-01-01"]);
        assert_eq!(values(&["2024-02", "12/2023", "Mar 2024"]), ["2024-02-01", "2023-12-01", "2024-03-01"]);
        let named = ["1 Feb 2024", "Mar 3, 2023", "Sunday, 31st December 2023", "05-Sept-99"];
        assert_eq!(values(&named), ["2024-02-01", "2023-03-03", "2023-12-31", "1999-09-05"]);
        assert_eq!(form(&["1.10.12", "2.4.11"]), "string", "versions");
        assert_eq!(form(&["31/02/2024"]), "string");
    }

    #[test]
    fn times() {
        assert_eq!(values(&["25/12/2024 10:30", "01/02/2024"]), ["2024-12-25T10:30:00", "2024-02-01T00:00:00"]);
        assert_eq!(
            values(&["1/2/2024 1:05 PM", "12/31/2024 12:00:30 am"]),
            ["2024-01-02T13:05:00", "2024-12-31T00:00:30"]
        );
        assert_eq!(values(&["3 Mar 2024 08:00:00 +01:00"]), ["2024-03-03T07:00:00"]);
        assert_eq!(values(&["10:30", "1:15:00", "9:45"]), ["10.5", "1.25", "9.75"]);
        assert_eq!(values(&["1:05 PM", "12:30 AM"]).len(), 2);
        for text in ["10:3", "10:61", "1:2:3:4", "13:00 PM", "a:10"] {
            assert_eq!(form(&[text]), "string", "{text}");
        }
    }

    #[test]
    fn numbers_as_people_write_them() {
        assert_eq!(values(&["1,234.5", "12", "-1,000,000"]), ["1234.5", "12", "-1000000"]);
        assert_eq!(values(&["1.234,5", "12", "0,25", "-3,"]), ["1234.5", "12", "0.25", "-3"]);
        assert_eq!(values(&["1,5", "2"]), ["1.5", "2"]);
        assert_eq!(values(&["1 234,5", "1\u{a0}000"]), ["1234.5", "1000"]);
        assert_eq!(values(&["$1,234.50", "-$5", "($7)"]), ["1234.5", "-5", "-7"]);
        assert_eq!(values(&["1.234,50 €", "€ 5"]), ["1234.5", "5"]);
        assert_eq!(values(&["12.5%", "3 %"]), ["12.5", "3"]);
        assert_eq!(values(&["1,234", "5,678"]), ["1234", "5678"]);
        assert!(column(&["1,234", "5,678"]).rival().is_some() && column(&["1,234", "5,67"]).rival().is_none());
        // Semicolons between columns speak for decimal commas.
        let commas = FormSet::ALL.and(FormSet::of(b"1,234")).first();
        assert_eq!(commas, Some(Form::Number(Style::Comma, Mark::None)));
        assert_eq!(form(&["1.5", "2"]), "1234.5", "plain numbers stay plain");
        for mixed in [&["$5", "€5"], &["12%", "0.5"], &["1,23,4", "5"], &["0,123.5", "1"], &["12-34", "5"]] {
            assert_eq!(form(mixed), "string", "{mixed:?}");
        }
    }

    #[test]
    fn formats_by_name() {
        let order = |text: &str| DateFormat::parse(text).ok();
        for (text, wanted) in [
            ("d/m/y", Order::DayFirst),
            ("%d.%m.%Y %H:%M", Order::DayFirst),
            ("MM/DD/YYYY", Order::MonthFirst),
            ("%Y-%m-%dT%H:%M:%S", Order::YearFirst),
            ("%b %d, %Y", Order::Named),
            ("yyyymmdd", Order::Compact),
            ("y-m", Order::YearMonth),
        ] {
            assert_eq!(order(text), Some(DateFormat::Order(wanted)), "{text}");
        }
        assert_eq!(order("epoch_ms"), Some(DateFormat::Epoch(Unit::Milli)));
        assert_eq!(order("d/y"), None);
        let asked = FormSet::ALL.dates(DateFormat::Epoch(Unit::Seconds)).of_kind(Kind::DateTime);
        let form = asked.and(FormSet::of(b"1709287200")).first().expect("an epoch");
        assert_eq!(datetime_text(form.read(b"1709287200").unwrap()), "2024-03-01T10:00:00");
    }
}
