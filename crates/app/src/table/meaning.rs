//! What a value means: missing, a number, a boolean, a date, a time or a string; and back to text.

use super::dictionary::hash;
use rustc_hash::FxHashSet;

/// Which fields count as missing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Na {
    texts: Vec<Vec<u8>>,
    /// A marker that is a number is also meant when the file writes that number another way (-999 and -999.0).
    numbers: Vec<f64>,
    /// Usual markers that are levels in this file.
    levels: Vec<Vec<u8>>,
    /// The file could have said that a value is missing, so no text means it.
    typed: bool,
}

impl Na {
    pub(crate) fn new(markers: &[String]) -> Na {
        let texts: Vec<Vec<u8>> = markers.iter().map(|marker| marker.trim().as_bytes().to_vec()).collect();
        let numbers = texts.iter().filter_map(|text| number(text)).filter(|value| !value.is_nan()).collect();
        Na { texts, numbers, ..Na::default() }
    }

    /// These texts are levels, whatever they usually mean.
    pub(crate) fn except(self, levels: &[String]) -> Na {
        Na { levels: levels.iter().map(|level| level.trim().as_bytes().to_vec()).collect(), ..self }
    }

    /// Only an empty field is missing, and what the user says.
    pub(crate) fn typed(self, typed: bool) -> Na {
        Na { typed, ..self }
    }

    /// The user gave no markers, so nothing that is a number, a date or a boolean is missing.
    #[inline]
    pub(crate) fn is_only_usual(&self) -> bool {
        self.texts.is_empty()
    }

    /// `field` without blanks around it.
    #[inline]
    pub(crate) fn is_missing(&self, field: &[u8]) -> bool {
        (field.len() <= 4 && self.is_usual(field)) || (!self.texts.is_empty() && self.is_marker(field))
    }

    /// The same in a column of strings, where the word `none` is a level: no garage, no treatment. Programs that mean a
    /// missing value write `None`.
    #[inline]
    pub(crate) fn is_missing_string(&self, field: &[u8]) -> bool {
        self.is_missing(field) && (field != b"none" || self.is_marker(field))
    }

    #[inline]
    fn is_usual(&self, field: &[u8]) -> bool {
        let usual = if self.typed { field.is_empty() } else { is_usual_marker(field) };
        usual && (self.levels.is_empty() || !self.levels.iter().any(|level| level.eq_ignore_ascii_case(field)))
    }

    /// One of the user's own markers.
    pub(crate) fn is_marker(&self, value: &[u8]) -> bool {
        self.texts.iter().any(|text| text == value)
    }

    #[inline]
    pub(crate) fn is_missing_number(&self, value: f64) -> bool {
        !self.numbers.is_empty() && self.numbers.contains(&value)
    }
}

fn is_usual_marker(field: &[u8]) -> bool {
    match field.len() {
        0 => true,
        1 => field == b"?",
        2 => field.eq_ignore_ascii_case(b"na"),
        3 => field.eq_ignore_ascii_case(b"nan") || field.eq_ignore_ascii_case(b"n/a"),
        4 => [b"null", b"none", b"#n/a", b"<na>"].iter().any(|marker| field.eq_ignore_ascii_case(*marker)),
        _ => false,
    }
}

/// Whether a string column is free text rather than a category. It is when, in the first rows of the file, more than
/// half of the values are different and they have on average at least three words, or at least fifty characters. So
/// names of people, towns and identifiers stay categories; messages, reviews and descriptions are text. Beyond that, a
/// column of more than [`MAX_LEVELS`] different values is text whatever it looks like.
#[derive(Default)]
pub(crate) struct TextEvidence {
    values: usize,
    words: usize,
    characters: usize,
    distinct: FxHashSet<u64>,
}

impl TextEvidence {
    pub(crate) fn add(&mut self, value: &str) {
        self.values += 1;
        self.words += value.split_whitespace().count();
        self.characters += value.chars().count();
        self.distinct.insert(hash(value.as_bytes()));
    }

    pub(crate) fn is_text(&self) -> bool {
        let many = 2 * self.distinct.len() > self.values;
        many && (self.words >= 3 * self.values || self.characters >= 50 * self.values)
    }
}

/// A field without blanks around it as a number. NaN, in any spelling, is a number that is missing.
pub(crate) fn number(field: &[u8]) -> Option<f64> {
    // Words are common, and the parser need not see them.
    if field.iter().any(|byte| byte.is_ascii_digit() || matches!(byte, b'n' | b'N')) {
        fast_float2::parse(field).ok()
    } else {
        None
    }
}

/// `data[start..end]` as a number. The same as [`number`], and faster for decimals of up to 16 characters, which are
/// nearly all there is: sixteen bytes that end where the field ends become sixteen digits without a loop, so that
/// fields of different lengths do not mislead the processor's guess where the loop will stop.
#[inline]
pub(crate) fn number_within(data: &[u8], start: usize, end: usize) -> Option<f64> {
    const ZEROS: u128 = u128::from_le_bytes([b'0'; 16]);
    const POINT: u8 = b'.' ^ b'0';
    let negative = start < end && data[start] == b'-';
    let length = end - start - usize::from(negative);
    if (1..=16).contains(&length)
        && let Some(bytes) = end.checked_sub(16).and_then(|from| data[from..end].first_chunk())
    {
        // What precedes the digits becomes zeros; bytes that are digits are now their values.
        let before = (1 << (8 * (16 - length))) - 1;
        let mut digits = (u128::from_le_bytes(*bytes) ^ ZEROS) & !before;
        let others = not_digits(digits as u64) as u128 | (not_digits((digits >> 64) as u64) as u128) << 64;
        let mut decimals = 0;
        let mut plain = others == 0;
        if !plain {
            // A single point is taken out: what stands before it moves up.
            let place = others.trailing_zeros() / 8;
            plain = others & (others - 1) == 0 && (digits >> (8 * place)) as u8 == POINT && length > 1;
            let behind = u128::MAX.checked_shl(8 * (place + 1)).unwrap_or(0);
            let ahead = (1 << (8 * place)) - 1;
            digits = (digits & behind) | (digits & ahead) << 8;
            decimals = 15 - place as usize;
        }
        let mantissa = eight_digits(digits as u64) * 100_000_000 + eight_digits((digits >> 64) as u64);
        if plain && mantissa <= 1 << 53 {
            // Both are exact, so one division rounds correctly (Clinger 1990).
            let value = if decimals == 0 { mantissa as f64 } else { mantissa as f64 / POWERS_OF_TEN[decimals] };
            return Some(if negative { -value } else { value });
        }
    }
    number(&data[start..end])
}

/// The high bit of every byte that is more than nine.
#[inline]
fn not_digits(bytes: u64) -> u64 {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    (((bytes & !HIGH) + 0x7676_7676_7676_7676) | bytes) & HIGH
}

/// Eight digits, the first in the lowest byte, as their number: pairs, then fours, then all.
#[inline]
fn eight_digits(digits: u64) -> u64 {
    const PAIRS: u64 = 0x0000_00ff_0000_00ff;
    let pairs = digits.wrapping_mul(10) + (digits >> 8);
    let even = (pairs & PAIRS).wrapping_mul(100 + (1_000_000 << 32));
    let odd = ((pairs >> 16) & PAIRS).wrapping_mul(1 + (10_000 << 32));
    even.wrapping_add(odd) >> 32
}

const POWERS_OF_TEN: [f64; 18] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17];

pub(crate) fn boolean(field: &[u8]) -> Option<bool> {
    match field.len() {
        4 if field.eq_ignore_ascii_case(b"true") => Some(true),
        5 if field.eq_ignore_ascii_case(b"false") => Some(false),
        _ => None,
    }
}

/// More spellings, for a column that is known to be a boolean.
pub(crate) fn declared_boolean(field: &[u8]) -> Option<bool> {
    boolean(field).or_else(|| match field.to_ascii_lowercase().as_slice() {
        b"1" | b"1.0" | b"yes" | b"y" | b"t" => Some(true),
        b"0" | b"0.0" | b"no" | b"n" | b"f" => Some(false),
        _ => None,
    })
}

#[inline]
fn two_digits(field: &[u8], at: usize) -> Option<u32> {
    let (tens, ones) = (field.get(at)?.wrapping_sub(b'0'), field.get(at + 1)?.wrapping_sub(b'0'));
    (tens <= 9 && ones <= 9).then(|| 10 * u32::from(tens) + u32::from(ones))
}

/// `2024-03-01` as days since 1970-01-01.
#[inline]
pub(crate) fn date(field: &[u8]) -> Option<f64> {
    const FORM: u64 = u64::from_le_bytes(*b"0000-00-");
    const DASHES: u64 = 0xff00_00ff_0000_0000;
    if field.len() != 10 {
        return None;
    }
    // Digits become their values and dashes zero; anything else is something else.
    let digits = u64::from_le_bytes(*field.first_chunk()?) ^ FORM;
    if not_digits(digits) != 0 || digits & DASHES != 0 {
        return None;
    }
    let digit = |place: u32| (digits >> (8 * place)) as u32 & 0xff;
    let year = 1000 * digit(0) + 100 * digit(1) + 10 * digit(2) + digit(3);
    let month = 10 * digit(5) + digit(6);
    let day = two_digits(field, 8)?;
    days_of(year, month, day)
}

/// Days since 1970-01-01, if there is such a day.
#[inline]
pub(super) fn days_of(year: u32, month: u32, day: u32) -> Option<f64> {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let length = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        _ => return None,
    };
    (1..=length).contains(&day).then(|| f64::from(days_from_civil(year, month, day)))
}

/// A date, optionally with `T` or a blank and `10:00[:00[.123]][Z|+01:00]`, as seconds since 1970-01-01T00:00:00 UTC.
/// Without a zone the time is taken as UTC.
pub(crate) fn datetime(field: &[u8]) -> Option<f64> {
    let day = date(field.get(..10)?)? * 86_400.0;
    if field.len() == 10 {
        return Some(day);
    }
    if !matches!(field[10], b'T' | b't' | b' ') || field.get(13) != Some(&b':') {
        return None;
    }
    let (hour, minute) = (two_digits(field, 11)?, two_digits(field, 14)?);
    let mut rest = &field[16..];
    let mut second = 0;
    let mut fraction = 0.0;
    if rest.first() == Some(&b':') {
        second = two_digits(rest, 1)?;
        rest = &rest[3..];
        if let [b'.' | b',', tail @ ..] = rest {
            let count = tail.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if !(1..=9).contains(&count) {
                return None;
            }
            let parts = tail[..count].iter().fold(0, |parts, digit| parts * 10 + u64::from(digit - b'0'));
            fraction = parts as f64 / POWERS_OF_TEN[count];
            rest = &tail[count..];
        }
    }
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let zone = match rest {
        [] | [b'Z' | b'z'] => 0.0,
        [sign @ (b'+' | b'-'), zone @ ..] => {
            let hours = two_digits(zone, 0)?;
            let minutes = match zone.len() {
                2 => 0,
                4 => two_digits(zone, 2)?,
                5 if zone[2] == b':' => two_digits(zone, 3)?,
                _ => return None,
            };
            let seconds = f64::from(hours * 3600 + minutes * 60);
            if *sign == b'+' { seconds } else { -seconds }
        }
        _ => return None,
    };
    Some(moment(day + f64::from(hour * 3600 + minute * 60 + second) - zone, fraction))
}

/// Whole seconds and a part of one. A double tells microseconds apart until the year 2242 and fewer decimals after it;
/// a time that it cannot hold stays in its own second: 9999-12-31T23:59:59.999999 is not of the year 10000.
#[inline]
pub(super) fn moment(whole: f64, fraction: f64) -> f64 {
    let sum = whole + fraction;
    if fraction < 1.0 && sum >= whole + 1.0 { sum.next_down() } else { sum }
}

/// Days since 1970-01-01 in the proleptic Gregorian calendar. Years begin in March, so that the leap day comes last.
#[inline]
fn days_from_civil(year: u32, month: u32, day: u32) -> i32 {
    // A cycle of 400 years more, so that year 0 does not go below zero.
    let year = year + 400 - u32::from(month <= 2);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    (year * 365 + year / 4 - year / 100 + year / 400 + day_of_year) as i32 - 719_468 - 146_097
}

pub(crate) fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

/// Days since 1970-01-01 as `2024-03-01`; empty if missing.
pub fn date_text(days: f64) -> String {
    if days.is_nan() {
        return String::new();
    }
    let (year, month, day) = civil_from_days(days as i64);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Seconds since 1970-01-01T00:00:00 UTC as `2024-03-01T10:00:00`, with as many decimals as needed; empty if missing.
pub fn datetime_text(seconds: f64) -> String {
    if seconds.is_nan() {
        return String::new();
    }
    let whole = seconds.floor();
    let write = |decimals: usize| {
        let mut whole = whole as i64;
        let scale = 10_f64.powi(decimals as i32);
        let mut fraction = ((seconds - seconds.floor()) * scale).round();
        if fraction >= scale {
            (whole, fraction) = (whole + 1, 0.0);
        }
        let (day, second) = (whole.div_euclid(86_400), whole.rem_euclid(86_400));
        let tail = if decimals == 0 { String::new() } else { format!(".{fraction:0decimals$}") };
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        format!("{}T{hour:02}:{minute:02}:{second:02}{tail}", date_text(day as f64))
    };
    let exact = (0..9).step_by(3).map(write).find(|text| datetime(text.as_bytes()) == Some(seconds));
    exact.unwrap_or_else(|| write(9))
}

/// The shortest text that reads back as the same number; empty if missing.
pub fn number_text(value: f64) -> String {
    if value.is_nan() {
        String::new()
    } else if value == 0.0 || (1e-5..1e16).contains(&value.abs()) || value.is_infinite() {
        format!("{value}")
    } else {
        format!("{value:e}")
    }
}

/// A value in a message: short, on one line.
pub(crate) fn quote(value: &[u8]) -> String {
    let text = String::from_utf8_lossy(value);
    let mut short: String = text.chars().take(40).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(40).is_some() {
        short.push_str("...");
    }
    format!("'{short}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_the_standard_library_reads_them() {
        for text in [
            "0",
            "-0",
            "1",
            "-1.5",
            "0.1",
            "123456789.123",
            "9007199254740993",
            "90071992547409.93",
            "1e3",
            "1E-7",
            ".5",
            "5.",
            "+4",
            "-.25",
            "1234567890123456789",
            "0.00000000000000001",
            "inf",
            "-Infinity",
            "1e400",
            "2.5e-324",
        ] {
            let expected = text.parse().ok().map(f64::to_bits);
            assert_eq!(number(text.as_bytes()).map(f64::to_bits), expected, "{text}");
            for before in ["", "7", "12345678901234567890", "1234567890,", "-1234567890123456789,"] {
                let (start, end) = (before.len(), before.len() + text.len());
                let data = format!("{before}{text},9");
                let found = number_within(data.as_bytes(), start, end);
                assert_eq!(found.map(f64::to_bits), expected, "{text} after {before}");
            }
        }
        for text in ["", "-", ".", "-.", "1.2.3", "1-2", "abc", "e5", "1e", "--1", "1 2", "0x10", "1,5", "٣"] {
            assert_eq!(number(text.as_bytes()), None, "{text}");
            let data = format!("1234567890123456{text}");
            assert_eq!(number_within(data.as_bytes(), 16, data.len()), None, "{text}");
        }
    }

    #[test]
    fn sixteen_digits_at_once_are_the_same_as_one_by_one() {
        let mut state = 7_u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        for _ in 0..200_000 {
            let length = 1 + draw(18) as usize;
            let mut text: Vec<u8> = (0..length).map(|_| b'0' + draw(10) as u8).collect();
            if draw(3) > 0 {
                text[draw(length as u64) as usize] = b'.';
            }
            if draw(4) == 0 {
                text[0] = b'-';
            }
            if draw(50) == 0 {
                text[draw(length as u64) as usize] = draw(256) as u8;
            }
            let data = [b"1234567890123456".as_slice(), &text].concat();
            let found = number_within(&data, 16, data.len()).map(f64::to_bits);
            assert_eq!(found, number(&text).map(f64::to_bits), "{}", String::from_utf8_lossy(&text));
        }
    }

    #[test]
    fn dates_count_from_1970() {
        assert_eq!(date(b"1970-01-01"), Some(0.0));
        assert_eq!(date(b"2000-02-29"), Some(11_016.0));
        assert_eq!(date(b"1900-03-01"), Some(-25_508.0));
        for text in ["1900-02-29", "2024-13-01", "2024-00-01", "2024-01-32", "2024-1-1", "2024/01/01", "20240101ab"] {
            assert_eq!(date(text.as_bytes()), None, "{text}");
        }
        for day in (-700_000..800_000).step_by(97) {
            let text = date_text(f64::from(day));
            if text.len() == 10 {
                assert_eq!(date(text.as_bytes()), Some(f64::from(day)), "{text}");
            }
        }
    }

    #[test]
    fn times_with_zone_and_fraction() {
        assert_eq!(datetime(b"1970-01-02"), Some(86_400.0));
        assert_eq!(datetime(b"1970-01-01T00:01"), Some(60.0));
        assert_eq!(datetime(b"1970-01-01 01:00:00.250Z"), Some(3600.25));
        assert_eq!(datetime(b"1970-01-01T01:00:00+01:00"), Some(0.0));
        assert_eq!(datetime(b"1970-01-01T00:00:00-0130"), Some(5400.0));
        for text in ["1970-01-01T", "1970-01-01T24:00", "1970-01-01T10", "1970-01-01T10:00:0", "1970-01-01T10:00:00."] {
            assert_eq!(datetime(text.as_bytes()), None, "{text}");
        }
        for seconds in [0.0, -1.0, 0.5, 1_709_287_200.123, -86_400.25, 1e9 + 1e-6] {
            assert_eq!(datetime(datetime_text(seconds).as_bytes()), Some(seconds));
        }
    }

    /// Every microsecond from 1700 to 2241 comes back as it was, from text and from a count of microseconds; later
    /// times keep their second.
    #[test]
    fn microseconds_are_kept() {
        let mut state = 11_u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) % below
        };
        let days = |year| days_of(year, 1, 1).unwrap() as i64;
        let (first, last) = (days(1700), days(2242));
        for turn in 0..20_000 {
            let day = if turn < 10 { days(2106) + turn } else { first + draw((last - first) as u64) as i64 };
            let (second, part) = (draw(86_400), [0, 1, 499_999, 999_999, draw(1_000_000)][draw(5) as usize]);
            let (hour, minute) = (second / 3600, second / 60 % 60);
            let text = format!("{}T{hour:02}:{minute:02}:{:02}.{part:06}", date_text(day as f64), second % 60);
            let count = (day * 86_400 + second as i64) * 1_000_000 + part as i64;
            let value = datetime(text.as_bytes()).unwrap();
            assert_eq!(value, count as f64 / 1e6, "{text}");
            let part = ((value - value.floor()) * 1e6).round();
            assert_eq!(value.floor() as i64 * 1_000_000 + part as i64, count, "{text}");
            let back = datetime_text(value);
            let shorter = text.trim_end_matches("000").trim_end_matches('.');
            assert!(back == text || back == shorter, "{text}: {back}");
        }
        for year in [2242, 2300, 3000, 9999] {
            for part in ["999999", "999999999", "000001"] {
                let text = format!("{year}-12-31T23:59:59.{part}");
                let back = datetime_text(datetime(text.as_bytes()).unwrap());
                assert_eq!(back[..19], text[..19], "{text}: {back}");
            }
        }
    }
}
