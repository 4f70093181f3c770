//! Objects of JSON, one after the other or in an array. An object in an object is columns `a.b`; a list is its text.

use super::{Line, Records, Rewritten};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use std::{
    collections::HashMap,
    fmt,
    io::{self, BufRead, BufReader, Read},
};

/// Whether the text is objects, or a list of them.
pub(in crate::read) fn is_json(head: &str) -> bool {
    let text = head.trim_start_matches('\u{feff}').trim_start();
    let object = text.strip_prefix('[').map_or(text, str::trim_start);
    object.strip_prefix('{').is_some_and(|inner| inner.trim_start().starts_with(['"', '}']))
}

/// Names in the order of their first appearance, and whether any value is a string.
pub(in crate::read) struct Columns {
    names: Vec<String>,
    places: HashMap<String, usize>,
    strings: Vec<bool>,
}

impl Columns {
    pub(in crate::read) fn strings(&self) -> Vec<String> {
        self.names.iter().zip(&self.strings).filter(|(_, string)| **string).map(|(name, _)| name.clone()).collect()
    }
}

/// Goes through the whole text for the columns it has.
pub(in crate::read) fn columns(text: impl Read) -> io::Result<Columns> {
    let mut columns = Columns { names: Vec::new(), places: HashMap::new(), strings: Vec::new() };
    let mut objects = Objects::new(text);
    while let Some(object) = objects.next()? {
        object.flat("", &mut |name, value| {
            let place = *columns.places.entry(name.to_string()).or_insert_with(|| {
                columns.names.push(name.to_string());
                columns.strings.push(false);
                columns.names.len() - 1
            });
            columns.strings[place] |= value.is_string();
        });
    }
    Ok(columns)
}

pub(in crate::read) fn rows(text: impl Read, columns: Columns) -> impl Read {
    Rewritten::new(Rows { objects: Objects::new(text), columns, named: false })
}

struct Rows<R> {
    objects: Objects<R>,
    columns: Columns,
    named: bool,
}

impl<R: Read> Records for Rows<R> {
    fn next(&mut self, line: &mut Line) -> io::Result<bool> {
        if !self.named {
            self.named = true;
            self.columns.names.iter().for_each(|name| line.push(name));
            return Ok(!self.columns.names.is_empty());
        }
        let Some(object) = self.objects.next()? else { return Ok(false) };
        let mut fields = vec![String::new(); self.columns.names.len()];
        object.flat("", &mut |name, value| {
            if let Some(&place) = self.columns.places.get(name) {
                fields[place] = match value {
                    Value::Null => String::new(),
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
            }
        });
        fields.iter().for_each(|field| line.push(field));
        Ok(true)
    }
}

/// The members of an object in their order.
struct Object(Vec<(String, Value)>);

impl Object {
    fn flat(&self, before: &str, each: &mut impl FnMut(&str, &Value)) {
        for (name, value) in &self.0 {
            let name = if before.is_empty() { name.clone() } else { format!("{before}.{name}") };
            flat(&name, value, each);
        }
    }
}

fn flat(name: &str, value: &Value, each: &mut impl FnMut(&str, &Value)) {
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(inner, value)| flat(&format!("{name}.{inner}"), value, each));
        }
        value => each(name, value),
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Object, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Object;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Object(members))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// Cuts a text into its outermost objects.
struct Objects<R> {
    text: BufReader<R>,
    bytes: Vec<u8>,
    line: u64,
}

impl<R: Read> Objects<R> {
    fn new(text: R) -> Objects<R> {
        Objects { text: BufReader::with_capacity(1 << 16, text), bytes: Vec::new(), line: 1 }
    }

    fn next(&mut self) -> io::Result<Option<Object>> {
        self.bytes.clear();
        let (mut depth, mut inside, mut escaped) = (0usize, false, false);
        loop {
            let buffer = self.text.fill_buf()?;
            if buffer.is_empty() {
                return match depth {
                    0 => Ok(None),
                    _ => Err(super::wrong(self.line, "the last object is never closed")),
                };
            }
            let (mut used, mut whole) = (0, false);
            for &byte in buffer {
                used += 1;
                self.line += u64::from(byte == b'\n');
                match byte {
                    _ if depth == 0 => match byte {
                        b'{' => (depth, whole) = (1, false),
                        b'[' | b']' | b',' | b' ' | b'\t' | b'\r' | b'\n' | 0xef | 0xbb | 0xbf => continue,
                        _ => return Err(super::wrong(self.line, "expected an object: '{', names and values, '}'")),
                    },
                    _ if escaped => escaped = false,
                    b'\\' if inside => escaped = true,
                    b'"' => inside = !inside,
                    b'{' | b'[' if !inside => depth += 1,
                    b'}' | b']' if !inside => depth -= 1,
                    _ => {}
                }
                self.bytes.push(byte);
                if depth == 0 {
                    whole = true;
                    break;
                }
            }
            self.text.consume(used);
            if whole {
                return serde_json::from_slice(&self.bytes).map(Some).map_err(|error| super::wrong(self.line, error));
            }
        }
    }
}
