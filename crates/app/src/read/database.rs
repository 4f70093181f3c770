//! The rows of a query, as a file: `sqlite:shop.db?query=select ...`, `postgresql://user@host/db?query=select ...`.
//!
//! A query is run once, read-only, and its rows are written to a temporary file of JSON lines, which is then read like
//! any other: from disk if it is large, as often as needed, the same rows each time. What follows `query=` is taken as
//! it is, to the end; `table=NAME` means all of a table. Nothing is encrypted on the way: a server that insists on TLS
//! is reached through a tunnel, or by its own client in front of a pipe.

use crate::store::writer::Staged;
use ermine_core::error::{Error, Result};
use std::{
    borrow::Cow,
    collections::BTreeMap,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

/// What is asked, and whom.
#[derive(Debug, PartialEq)]
struct Query {
    /// `sqlite:` and a path, or what a PostgreSQL client connects to.
    database: String,
    sql: Option<String>,
}

impl Query {
    fn of(address: &Path) -> Option<Query> {
        let address = address.to_str().filter(|text| KINDS.iter().any(|kind| text.starts_with(kind)))?;
        let cut = |word: &str| {
            let found = ['?', '&'].iter().filter_map(|mark| address.find(&format!("{mark}{word}="))).min()?;
            Some((address[..found].to_string(), &address[found + word.len() + 2..]))
        };
        Some(match (cut("query"), cut("table")) {
            (Some((database, sql)), _) => Query { database, sql: Some(sql.trim().trim_end_matches(';').into()) },
            (None, Some((database, table))) => {
                Query { database, sql: Some(format!("select * from \"{}\"", table.replace('"', "\"\""))) }
            }
            (None, None) => Query { database: address.into(), sql: None },
        })
    }
}

const KINDS: [&str; 3] = ["sqlite:", "postgresql://", "postgres://"];

/// Whether a path is the address of a database.
pub fn is_query(path: &Path) -> bool {
    Query::of(path).is_some()
}

/// The file behind a path: the path itself, or what a query of a database gave. It is asked once.
pub(super) fn local(path: &Path) -> Result<Cow<'_, Path>> {
    let Some(query) = Query::of(path) else { return Ok(path.into()) };
    static FETCHED: Mutex<BTreeMap<PathBuf, Staged>> = Mutex::new(BTreeMap::new());
    let mut fetched = FETCHED.lock().unwrap_or_else(PoisonError::into_inner);
    if !fetched.contains_key(path) {
        fetched.insert(path.into(), fetch(&query)?);
    }
    Ok(Cow::Owned(fetched[path].path().into()))
}

/// An address as it may be shown: without a password.
pub fn shown(path: &Path) -> String {
    let text = path.display().to_string();
    let Some((kind, rest)) = KINDS[1..].iter().find_map(|kind| Some((kind, text.strip_prefix(kind)?))) else {
        return text;
    };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    match rest[..end].rfind('@').map(|at| (rest[..at].split_once(':'), &rest[at..])) {
        Some((Some((user, _)), server)) => format!("{kind}{user}{server}"),
        _ => text,
    }
}

fn fetch(query: &Query) -> Result<Staged> {
    let staged = Staged::new(&std::env::temp_dir())?;
    let mut rows = Rows { file: io::BufWriter::new(staged.file()), line: Vec::new(), count: 0 };
    ask(query, &mut rows)?;
    if rows.count == 0 {
        return Err(failed(query, "the query gives no rows"));
    }
    rows.file.flush().map_err(|error| Error::io(staged.path(), "write", &error))?;
    drop(rows);
    Ok(staged)
}

fn failed(query: &Query, problem: impl std::fmt::Display) -> Error {
    Error::format(shown(Path::new(&query.database)), None, problem.to_string())
}

/// JSON lines in the making.
struct Rows<W: Write> {
    file: W,
    line: Vec<u8>,
    count: usize,
}

#[cfg(feature = "sql")]
impl<W: Write> Rows<W> {
    fn end(&mut self) -> io::Result<()> {
        self.count += 1;
        self.line.push(b'\n');
        self.file.write_all(&self.line)?;
        self.line.clear();
        Ok(())
    }
}

#[cfg(not(feature = "sql"))]
fn ask<W: Write>(query: &Query, rows: &mut Rows<W>) -> Result<()> {
    let _ = (&query.sql, &mut rows.line);
    Err(failed(query, "this program was built without databases")
        .hint("build it with --features sql, or read what the client of the database prints: sqlite3, psql --csv"))
}

#[cfg(feature = "sql")]
fn ask<W: Write>(query: &Query, rows: &mut Rows<W>) -> Result<()> {
    match query.database.strip_prefix("sqlite:") {
        Some(file) => sqlite::ask(query, Path::new(file), rows),
        None => postgres::ask(query, rows),
    }
}

/// Two columns of one name would be one in an object.
#[cfg(feature = "sql")]
fn check_names(query: &Query, names: &[&str]) -> Result<()> {
    let twice = names.iter().enumerate().find(|(place, name)| names[..*place].contains(name));
    match twice {
        Some((_, name)) => {
            let problem = format!("the query gives two columns named '{name}'");
            Err(failed(query, problem).hint("name one of them otherwise: select ... as other_name"))
        }
        None => Ok(()),
    }
}

/// The only table there is, or an error that names those that there are.
#[cfg(feature = "sql")]
fn only(query: &Query, mut tables: Vec<String>) -> Result<String> {
    match tables.len() {
        1 => Ok(format!("select * from \"{}\"", tables.swap_remove(0).replace('"', "\"\""))),
        0 => Err(failed(query, "the database has no tables")),
        count => {
            let named = tables.iter().take(20).map(String::as_str).collect::<Vec<_>>().join(", ");
            Err(failed(query, format!("the database has {count} tables: {named}"))
                .hint("add ?table=NAME or ?query=select ..."))
        }
    }
}

#[cfg(feature = "sql")]
mod sqlite {
    use super::{Query, Rows, check_names, failed, only};
    use ermine_core::error::{Error, Result};
    use rusqlite::{Connection, OpenFlags, types::ValueRef};
    use std::{
        io::{self, Write},
        path::Path,
    };

    pub(super) fn ask<W: Write>(query: &Query, file: &Path, rows: &mut Rows<W>) -> Result<()> {
        let wrong = |error: rusqlite::Error| failed(query, error);
        std::fs::metadata(file).map_err(|error| Error::io(file, "open", &error))?;
        let database = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(wrong)?;
        let sql = match &query.sql {
            Some(sql) => sql.clone(),
            None => only(query, tables(&database).map_err(wrong)?)?,
        };
        let mut statement = database.prepare(&sql).map_err(wrong)?;
        let names: Vec<String> = statement.column_names().map(String::from).collect();
        check_names(query, &names.iter().map(String::as_str).collect::<Vec<_>>())?;
        let mut found = statement.query([]).map_err(wrong)?;
        while let Some(row) = found.next().map_err(wrong)? {
            write(&names, row, rows).map_err(|problem| failed(query, problem))?;
        }
        Ok(())
    }

    fn tables(database: &Connection) -> rusqlite::Result<Vec<String>> {
        let sql =
            "select name from sqlite_schema where type in ('table', 'view') and name not like 'sqlite_%' order by 1";
        database.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
    }

    /// One row as an object. SQLite gives each value a type of its own; dates are texts.
    fn write<W: Write>(names: &[String], row: &rusqlite::Row, rows: &mut Rows<W>) -> io::Result<()> {
        for (column, name) in names.iter().enumerate() {
            rows.line.push(if column == 0 { b'{' } else { b',' });
            serde_json::to_writer(&mut rows.line, name)?;
            rows.line.push(b':');
            match row.get_ref(column).map_err(io::Error::other)? {
                ValueRef::Null => rows.line.extend_from_slice(b"null"),
                ValueRef::Integer(value) => write!(rows.line, "{value}")?,
                ValueRef::Real(value) if value.is_finite() => serde_json::to_writer(&mut rows.line, &value)?,
                ValueRef::Real(value) => {
                    return Err(io::Error::other(format!("row {}, column '{name}': {value}", rows.count + 1)));
                }
                ValueRef::Text(text) => serde_json::to_writer(&mut rows.line, &String::from_utf8_lossy(text))?,
                ValueRef::Blob(_) => {
                    let problem = format!("column '{name}' holds bytes (BLOB), which are no value of a table");
                    return Err(io::Error::other(problem));
                }
            }
        }
        rows.line.push(b'}');
        rows.end()
    }
}

#[cfg(feature = "sql")]
mod postgres {
    use super::{Query, Rows, check_names, failed, only};
    use ermine_core::error::Result;
    use postgres::{Config, NoTls, Transaction, fallible_iterator::FallibleIterator};
    use std::io::Write;

    pub(super) fn ask<W: Write>(query: &Query, rows: &mut Rows<W>) -> Result<()> {
        let wrong = |error: postgres::Error| {
            // What the server says is one level down.
            let reason = std::error::Error::source(&error).map(|source| source.to_string());
            failed(query, reason.unwrap_or_else(|| error.to_string()))
        };
        let mut config: Config = query.database.parse().map_err(wrong)?;
        if let (None, Ok(password)) = (config.get_password(), std::env::var("PGPASSWORD")) {
            config.password(password);
        }
        let mut client = config.application_name("ermine").connect(NoTls).map_err(wrong)?;
        let mut transaction = client.build_transaction().read_only(true).start().map_err(wrong)?;
        let sql = match &query.sql {
            Some(sql) => sql.clone(),
            None => only(query, tables(&mut transaction).map_err(wrong)?)?,
        };
        let statement = transaction.prepare(&sql).map_err(wrong)?;
        check_names(query, &statement.columns().iter().map(|column| column.name()).collect::<Vec<_>>())?;
        // The server knows best how its types are spelt.
        let sql = format!("select row_to_json(q)::text from ({sql}) q");
        let mut found = transaction.query_raw(&sql, Vec::<String>::new()).map_err(wrong)?;
        while let Some(row) = found.next().map_err(wrong)? {
            let text: &str = row.try_get(0).map_err(wrong)?;
            rows.line.extend_from_slice(text.as_bytes());
            rows.end().map_err(|problem| failed(query, problem))?;
        }
        Ok(())
    }

    fn tables(transaction: &mut Transaction) -> std::result::Result<Vec<String>, postgres::Error> {
        let sql = "select table_name::text from information_schema.tables \
                   where table_schema = any(current_schemas(false)) order by 1";
        Ok(transaction.query(sql, &[])?.iter().map(|row| row.get(0)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let of = |text: &str| Query::of(Path::new(text)).map(|query| (query.database, query.sql));
        let some = |database: &str, sql: Option<&str>| Some((database.to_string(), sql.map(String::from)));
        assert_eq!(of("data.csv"), None);
        assert_eq!(of("sqlite:shop.db"), some("sqlite:shop.db", None));
        assert_eq!(of("sqlite:shop.db?table=a\"b"), some("sqlite:shop.db", Some("select * from \"a\"\"b\"")));
        let sql = "select * from t where a like '%?query=%' and b = '1&2'";
        assert_eq!(of(&format!("sqlite:shop.db?query={sql};")), some("sqlite:shop.db", Some(sql)));
        let server = "postgresql://ann@db.example/shop?connect_timeout=3";
        assert_eq!(of(&format!("{server}&query=select 1")), some(server, Some("select 1")));
    }

    #[test]
    fn passwords_are_not_shown() {
        let shown = |text: &str| shown(Path::new(text));
        assert_eq!(shown("postgresql://ann:se@cret@db/shop?query=select 1"), "postgresql://ann@db/shop?query=select 1");
        assert_eq!(shown("postgres://ann@db/shop"), "postgres://ann@db/shop");
        assert_eq!(shown("postgres://db/shop?query=select 'a:b@c'"), "postgres://db/shop?query=select 'a:b@c'");
        assert_eq!(shown("a:b@c.csv"), "a:b@c.csv");
    }
}
