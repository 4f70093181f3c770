//! Tables from databases. PostgreSQL is asked where `ERMINE_POSTGRES` names a server, such as
//! `postgresql://user:password@localhost/test`.
#![cfg(feature = "sql")]

use ermine::{Ctx, Spec};
use ermine_app::{
    Job,
    read::{self, ReadOptions},
    table::Table,
};
use rusqlite::Connection;
use std::path::{Path, PathBuf};

/// The same rows for every database: keys and numbers, texts that look like numbers, quotes, days, nulls.
const ROWS: &str = "
    create table visits (id integer, code text, cost double precision, day text, seen integer, note text);
    insert into visits values
        (1, '007', 12.5, '2024-03-01', 1, 'said \"no\"'), (2, '010', 1e300, '2024-03-02', 0, null),
        (3, null, -0.1, null, null, 'a, b'), (9007199254740992, '7', null, '1999-12-31', 1, '');
    create table other (x integer);";

const LINES: &str = r#"{"id":1,"code":"007","cost":12.5,"day":"2024-03-01","seen":1,"note":"said \"no\""}
{"id":2,"code":"010","cost":1e300,"day":"2024-03-02","seen":0,"note":null}
{"id":3,"code":null,"cost":-0.1,"day":null,"seen":null,"note":"a, b"}
{"id":9007199254740992,"code":"7","cost":null,"day":"1999-12-31","seen":1,"note":""}
"#;

struct Place(tempfile::TempDir);

impl Place {
    fn new(sql: &str) -> Place {
        let folder = tempfile::tempdir().unwrap();
        Connection::open(folder.path().join("shop.db")).unwrap().execute_batch(sql).unwrap();
        Place(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn ask(&self, rest: &str) -> PathBuf {
        format!("sqlite:{}{rest}", self.path("shop.db").display()).into()
    }
}

fn table(path: impl AsRef<Path>) -> Table {
    read::read(path, &ReadOptions::default()).unwrap()
}

fn refusal(path: impl AsRef<Path>) -> String {
    read::read(path, &ReadOptions::default()).unwrap_err().to_string()
}

fn same(found: &Table, expected: &Table) {
    assert_eq!(format!("{:?}", found.schema()), format!("{:?}", expected.schema()));
    for ((name, found), (_, expected)) in found.columns().zip(expected.columns()) {
        assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{name}");
    }
}

#[test]
fn rows_of_sqlite_are_those_of_a_file() {
    let place = Place::new(ROWS);
    std::fs::write(place.path("visits.json"), LINES).unwrap();
    let expected = table(place.path("visits.json"));
    same(&table(place.ask("?table=visits")), &expected);
    same(&table(place.ask("?query=select * from visits where note is null or note not like '%&query=%';")), &expected);
}

/// From memory and from disk, a query gives the model that its rows give as a file.
#[test]
fn a_query_can_be_learnt_from() {
    let mut sql = String::from("create table t (a real, b text, y real);");
    let mut lines = String::from("a,b,y\n");
    for i in 0..400 {
        let (a, b, y) = (i % 37, ["u", "v", "w"][i % 3], i % 37 * 2 + i % 3);
        sql += &format!("insert into t values ({a}.5, '{b}', {y}.25);");
        lines += &format!("{a}.5,{b},{y}.25\n");
    }
    let place = Place::new(&sql);
    std::fs::write(place.path("t.csv"), lines).unwrap();
    let fit = |data: PathBuf, memory: Option<u64>| {
        let mut job = Job::new(data);
        (job.target, job.model) = (Some("y".into()), Spec::parse("Ridge"));
        job.limits.memory = memory.unwrap_or(job.limits.memory);
        let (fitted, report) = job.run(&Ctx::new(0)).unwrap();
        (fitted.model.to_bytes(), report)
    };
    let (expected, _) = fit(place.path("t.csv"), None);
    for memory in [None, Some(20_000)] {
        let (found, report) = fit(place.ask("?query=select a, b, y from t"), memory);
        assert_eq!(found, expected);
        assert!(report.data.path.ends_with("shop.db?query=select a, b, y from t"), "{}", report.data.path);
    }
}

#[test]
fn what_cannot_be_read_is_named() {
    let place = Place::new(&format!("{ROWS} create table bytes (picture blob); insert into bytes values (x'00ff');"));
    let message = refusal(place.ask(""));
    assert!(message.contains("3 tables: bytes, other, visits") && message.contains("?table=NAME"), "{message}");
    assert!(refusal(place.ask("?table=visit")).contains("no such table: visit"));
    assert!(refusal(place.ask("?table=other")).contains("no rows"));
    assert!(refusal(place.ask("?table=bytes")).contains("'picture' holds bytes"));
    let message = refusal(place.ask("?query=select id, cost as id from visits"));
    assert!(message.contains("two columns named 'id'"), "{message}");
    assert!(refusal(place.ask("?query=select 1e999 as x")).contains("row 1, column 'x': inf"));
    assert!(refusal("sqlite:nowhere.db").contains("nowhere.db"));
    // Nothing is changed by asking.
    assert!(refusal(place.ask("?query=delete from visits returning id")).contains("readonly"));
    assert_eq!(table(place.ask("?table=visits")).rows(), 4);
}

#[test]
fn rows_of_postgresql_are_those_of_a_file() {
    let Ok(server) = std::env::var("ERMINE_POSTGRES") else { return };
    let schema = format!("ermine_test_{}", std::process::id());
    let mut client = postgres::Client::connect(&server, postgres::NoTls).unwrap();
    let sql = ROWS.replace("id integer", "id bigint").replace("day text", "day date");
    client.batch_execute(&format!("create schema {schema}; set search_path to {schema}; {sql}")).unwrap();
    let place = Place::new("");
    std::fs::write(place.path("visits.json"), LINES).unwrap();
    let mark = if server.contains('?') { '&' } else { '?' };
    let ask = |sql: &str| PathBuf::from(format!("{server}{mark}query={sql}"));
    same(&table(ask(&format!("select * from {schema}.visits"))), &table(place.path("visits.json")));
    assert!(refusal(ask("select * from nowhere")).contains("\"nowhere\" does not exist"));
    refusal(ask(&format!("delete from {schema}.visits returning id")));
    assert_eq!(table(ask(&format!("select * from {schema}.visits"))).rows(), 4);
    client.batch_execute(&format!("drop schema {schema} cascade")).unwrap();
}
