//! Files to tables. The two properties at the heart: a table written in any legal way reads back as itself, and any
//! bytes at all give the same table or the same error whatever the pieces and threads, whole or streamed.

mod parquet_files;
mod properties;

use std::{collections::BTreeMap, io::Write, path::PathBuf, sync::Arc};

use ermine_app::{
    read::{self, ReadOptions, csv, parquet},
    table::{Category, Column, Kind, MAX_LEVELS, MISSING, Schema, Table, UNSEEN},
};
use ermine_core::error::Result;
use proptest::prelude::*;

fn read(text: impl AsRef<[u8]>) -> Result<Table> {
    csv::read_bytes("t.csv", text.as_ref().to_vec(), &ReadOptions::default())
}

fn problem(text: impl AsRef<[u8]>) -> String {
    read(text).expect_err("should be refused").to_string()
}

fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool").install(work)
}

fn numbers(table: &Table, name: &str) -> Vec<f64> {
    match table.column(name) {
        Ok(Column::Number(values) | Column::Date(values) | Column::DateTime(values)) => values.clone(),
        other => panic!("{name} has no numbers: {other:?}"),
    }
}

fn category<'a>(table: &'a Table, name: &str) -> &'a Category {
    match table.column(name) {
        Ok(Column::Category(category)) => category,
        other => panic!("{name} is no category: {other:?}"),
    }
}

fn kinds(table: &Table) -> Vec<Kind> {
    table.columns().map(|(_, column)| column.kind()).collect()
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a folder"))
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, content).expect("written");
        path
    }
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(data).expect("packed");
    encoder.finish().expect("packed")
}

/// A file read in pieces, put together again.
fn streamed(path: &PathBuf, options: &ReadOptions, schema: &Schema, chunk_bytes: usize) -> Result<Table> {
    let mut whole: Option<Table> = None;
    let rows = read::stream(path, options, schema, chunk_bytes, |part| match &mut whole {
        Some(whole) => whole.append(&part),
        None => {
            whole = Some(part);
            Ok(())
        }
    })?;
    let whole = whole.expect("a part");
    assert_eq!(whole.rows(), rows);
    Ok(whole)
}

// ---------------------------------------------------------------------------------------------------------------------
// What fields mean

#[test]
fn every_kind_is_recognised() {
    let table = read(
        "n,b,c,d,t,e\n\
         1,true,red,2024-03-01,2024-03-01T10:00:00Z,\n\
         -2.5e3,FALSE,blue,1970-01-02,1970-01-01 00:00:01.5,\n\
         ?,NA,red,null,N/A,\n",
    )
    .expect("table");
    use Kind::*;
    assert_eq!(kinds(&table), [Number, Boolean, Category, Date, DateTime, Number]);
    assert_eq!(table.rows(), 3);
    assert_eq!(numbers(&table, "n")[..2], [1.0, -2500.0]);
    assert!(numbers(&table, "n")[2].is_nan());
    assert_eq!(table.column("b"), Ok(&Column::Boolean(vec![Some(true), Some(false), None])));
    assert_eq!(category(&table, "c").codes, [0, 1, 0]);
    assert_eq!(*category(&table, "c").levels, ["red", "blue"]);
    assert_eq!(numbers(&table, "d")[..2], [19_783.0, 1.0]);
    assert_eq!(numbers(&table, "t")[..2], [1_709_287_200.0, 1.5]);
    assert!(numbers(&table, "e").iter().all(|value| value.is_nan()));
}

#[test]
fn yes_and_no_are_categories_and_dates_join_times() {
    let table = read("a,b,c\nyes,2024-01-01,1\nno,2024-01-01T12:00:00,true\n").expect("table");
    assert_eq!(kinds(&table), [Kind::Category, Kind::DateTime, Kind::Category]);
    assert_eq!(numbers(&table, "b")[1] - numbers(&table, "b")[0], 43_200.0);
}

#[test]
fn missing_markers() {
    let table =
        read("a\n1\nNA\nna\nNaN\nnan\nnull\nNULL\nNone\nn/a\n#N/A\n<NA>\n?\n\"\"\n\"NA\"\n-nan\n").expect("table");
    assert_eq!(kinds(&table), [Kind::Number]);
    assert_eq!(table.summary()[0].missing, 14);
    let options = ReadOptions { na: vec!["-999".into(), "missing".into()], ..Default::default() };
    let text = "a,b\n-999,missing\n-999.0,x\n3,-999\n";
    let table = csv::read_bytes("t.csv", text.into(), &options).expect("table");
    assert_eq!(table.summary().iter().map(|column| column.missing).collect::<Vec<_>>(), [2, 2]);
    assert_eq!(table.schema().na, options.na, "a model must remember them");
}

#[test]
fn blanks_around_fields_do_not_count_but_those_in_quotes_do() {
    let table = read("a, b ,c\n 1 ,  x, \"y, \"\n2\t, z ,\" 3 \" \n").expect("table");
    assert_eq!(table.names(), ["a", "b", "c"]);
    assert_eq!(numbers(&table, "a"), [1.0, 2.0]);
    assert_eq!(*category(&table, "b").levels, ["x", "z"]);
    assert_eq!(*category(&table, "c").levels, ["y, ", " 3 "]);
}

#[test]
fn free_text_and_categories() {
    let mut text = String::from("message,name,id\n");
    for row in 0..200 {
        text += &format!("this is message number {row},Person {row},ID-{row:030}\n");
    }
    let table = read(&text).expect("table");
    assert_eq!(kinds(&table), [Kind::Text, Kind::Category, Kind::Category]);
    let repeated = "message\n".to_string() + &"the same words each time\n".repeat(200);
    assert_eq!(kinds(&read(repeated).expect("table")), [Kind::Category]);
}

#[test]
fn too_many_levels_are_text_unless_asked_for() {
    let folder = Folder::new();
    let mut text = String::from("id,x\n");
    for row in 0..=MAX_LEVELS {
        text += &format!("id{row},{row}\n");
    }
    let path = folder.file("ids.csv", &text);
    let table = read::read(&path, &ReadOptions::default()).expect("table");
    assert_eq!(kinds(&table), [Kind::Text, Kind::Number]);
    let Ok(Column::Text(ids)) = table.column("id") else { panic!("text") };
    assert!(ids.iter().enumerate().all(|(row, id)| id == format!("id{row}")));
    let scan = read::scan(&path, &ReadOptions::default()).expect("scan");
    assert_eq!((scan.schema, scan.summary), (table.schema(), table.summary()));
    let options = ReadOptions { kinds: [("id".into(), Kind::Category)].into(), ..Default::default() };
    let table = read::read(&path, &options).expect("table");
    assert_eq!(category(&table, "id").levels.len(), MAX_LEVELS + 1);
    assert_eq!(read::scan(&path, &options).expect("scan").schema, table.schema());
}

#[test]
fn overrides() {
    let with = |kinds: &[(&str, Kind)], text: &str| {
        let kinds: BTreeMap<String, Kind> = kinds.iter().map(|(name, kind)| (name.to_string(), *kind)).collect();
        csv::read_bytes("t.csv", text.into(), &ReadOptions { kinds, ..Default::default() })
    };
    let table = with(&[("a", Kind::Category), ("b", Kind::Text), ("c", Kind::Boolean)], "a,b,c\n1,x,1\n2,y,no\n1,z,\n");
    let table = table.expect("table");
    assert_eq!(category(&table, "a").codes, [0, 1, 0]);
    assert_eq!(table.column("b"), Ok(&Column::Text(["x", "y", "z"].into_iter().collect())));
    assert_eq!(table.column("c"), Ok(&Column::Boolean(vec![Some(true), Some(false), None])));
    let error = with(&[("a", Kind::Number)], "a\n1\n2\nx\n").expect_err("not a number");
    assert_eq!(error.to_string(), "t.csv:4: column 'a': 'x' is not a number");
    let error = with(&[("d", Kind::Date)], "d\n2024-02-30\n").expect_err("no such day");
    assert_eq!(error.to_string(), "t.csv:2: column 'd': '2024-02-30' is not a date like 2024-03-01");
    let error = with(&[("colour", Kind::Text)], "color\nx\n").expect_err("no such column");
    assert_eq!(error.to_string(), "there is no column 'colour'; did you mean 'color'?");
}

#[test]
fn a_wrong_first_impression_is_put_right() {
    // The head of the file says number, date and nothing at all; the tail says otherwise.
    let mut text = String::from("a,b,c,d\n");
    for _ in 0..12_000 {
        text += "1,2024-01-01,,true\n";
    }
    text += "x,2024-01-01T06:00:00,2024-05-05,0\n";
    for threads in [1, 2] {
        let table = on_threads(threads, || read(&text)).expect("table");
        assert_eq!(kinds(&table), [Kind::Category, Kind::DateTime, Kind::Date, Kind::Category]);
        assert_eq!(*category(&table, "a").levels, ["1", "x"]);
        assert_eq!(category(&table, "a").codes[12_000], 1);
        assert_eq!(numbers(&table, "b")[12_000] - numbers(&table, "b")[0], 21_600.0);
        assert_eq!(table.summary()[2].missing, 12_000);
    }
    let folder = Folder::new();
    let path = folder.file("t.csv", &text);
    let table = read(&text).expect("table");
    let scan = read::scan(&path, &ReadOptions::default()).expect("scan");
    assert_eq!((scan.rows, scan.schema, scan.summary), (12_001, table.schema(), table.summary()));
}

// ---------------------------------------------------------------------------------------------------------------------
// The form of the file

#[test]
fn delimiters_are_found() {
    for delimiter in [',', ';', '\t', '|'] {
        let text = "a,b,c\n1,x y,\"2,3;4|5\t6\"\n7,z,w\n".replace(',', &delimiter.to_string());
        let table = read(&text).expect("table");
        assert_eq!(table.names(), ["a", "b", "c"], "{delimiter:?}");
        assert_eq!(numbers(&table, "a"), [1.0, 7.0]);
    }
    let one_column = read("a\nx;y\nz\n").expect("table");
    assert_eq!(one_column.names(), ["a"]);
    let options = ReadOptions { delimiter: Some(b':'), ..Default::default() };
    let table = csv::read_bytes("t.csv", b"a:b,c\n1:2,3\n".to_vec(), &options).expect("table");
    assert_eq!(table.names(), ["a", "b,c"]);
}

#[test]
fn headers_are_found() {
    let table = read("1,x\n2,y\n").expect("table");
    assert_eq!(table.names(), ["column_1", "column_2"]);
    assert_eq!(table.rows(), 2);
    let table = read("a,b\nx,y\n").expect("table");
    assert_eq!((table.names(), table.rows()), (["a".to_string(), "b".into()].as_slice(), 1));
    let table = read("x,,x,x_2\n1,2,3,4\n").expect("table");
    assert_eq!(table.names(), ["x", "column_2", "x_3", "x_2"]);
    let forced = |header| ReadOptions { header: Some(header), ..Default::default() };
    let table = csv::read_bytes("t.csv", b"2019,2020\n1,2\n".to_vec(), &forced(true)).expect("table");
    assert_eq!(table.names(), ["2019", "2020"]);
    let table = csv::read_bytes("t.csv", b"a,b\nx,y\n".to_vec(), &forced(false)).expect("table");
    assert_eq!((table.names()[1].as_str(), table.rows()), ("column_2", 2));
}

#[test]
fn none_is_a_level_among_strings() {
    let table = read("job,pay\nnone,1\nfulltime,none\n,3\nNone,4\nnone,5\n").expect("table");
    assert_eq!(*category(&table, "job").levels, ["none", "fulltime"]);
    assert_eq!(category(&table, "job").codes, [0, 1, MISSING, MISSING, 0]);
    // Among numbers it is a missing one.
    assert!(matches!(table.column("pay"), Ok(Column::Number(values)) if values[1].is_nan() && values[4] == 5.0));
    let options = ReadOptions { na: vec!["none".into()], ..Default::default() };
    let table = csv::read_bytes("t.csv", b"job\nnone\nfulltime\nnone\n".to_vec(), &options).expect("table");
    assert_eq!(category(&table, "job").codes, [MISSING, 0, MISSING]);
}

#[test]
fn numbers_may_be_names() {
    let headed = |text: &str| read(text).expect("table").names()[0] != "column_1";
    // Years with gaps, numbered columns; values below that do not go up.
    assert!(headed("1850,1860,1870,1900\n0.1,0.5,0.2,0.3\n0.3,0.1,0.2,0.9\n"));
    assert!(headed("country,1990,1995,2000\nA,4,3,5\nB,1,7,2\n"));
    assert!(headed("1,2,3,4\n5,1,7,2\n9,3,3,1\n"));
    assert!(headed("1,3,4,7,9,20\n5,1,7,2,1,1\n9,3,3,1,4,2\n"));
    // Rows that go up as the first does, and a few numbers that do so by chance.
    assert!(!headed("1850,1860,1870\n1851,1852,1990\n1700,1800,1900\n"));
    assert!(!headed("2,7,31\n5,1,7\n9,3,3\n"));
    // Who names a column of the first line has said what it is.
    let options = ReadOptions { named: vec!["31".into()], ..Default::default() };
    let table = csv::read_bytes("t.csv", b"2,7,31\n5,1,7\n9,3,3\n".to_vec(), &options).expect("table");
    assert_eq!(table.names(), ["2", "7", "31"]);
}

#[test]
fn line_ends_and_blank_lines() {
    let plain = read("a,b\n1,x\n2,\"y\"\n").expect("table");
    for text in [
        "a,b\r\n1,x\r\n2,\"y\"\r\n",
        "\u{feff}a,b\n1,x\n2,y",
        "a,b\n1,x\n2,\"y\"",
        "a,b\n1,x\n2,\"y\"\r",
        "\n\na,b\n\n1,x\n  \n2,y\n\n\n",
        "a,b\r\n1,x\r\n\r\n2,y\r\n\r\n  \r\n",
        "\"a\",\"b\"\n\"1\",\"x\"\n\"2\",\"y\"\n",
    ] {
        assert_eq!(read(text).as_ref(), Ok(&plain), "{text:?}");
    }
}

#[test]
fn quotes() {
    let table = read("a,b\n\"1,\"\"2\"\"\n3\",\"\"\n5\" pipe,x\"y\"\n\"\"\"\",z\n").expect("table");
    assert_eq!(*category(&table, "a").levels, ["1,\"2\"\n3", "5\" pipe", "\""]);
    assert_eq!(*category(&table, "b").levels, ["x\"y\"", "z"]);
    assert_eq!(category(&table, "b").codes, [MISSING, 0, 1]);
}

#[test]
fn bad_files_are_refused_with_their_line() {
    assert_eq!(problem(""), "t.csv: the file is empty");
    assert_eq!(problem("\n \r\n\n"), "t.csv: the file is empty");
    assert_eq!(problem("\u{feff}"), "t.csv: the file is empty");
    assert_eq!(
        problem("a,b\n"),
        "t.csv: there is a header but no row below it\nhint: if the first line is data, say that there is no header"
    );
    assert_eq!(problem("a,b\n1,2\n3\n"), "t.csv:3: expected 2 fields, found 1");
    assert_eq!(
        problem("a,b\n1,2\n\n\"x\ny\",3\n4,5,6,7\n"),
        "t.csv:6: expected 2 fields, found 4\nhint: a field that contains the delimiter must be in quotes"
    );
    assert_eq!(problem("a,b\n1,x\n2,\"y\n3,z\n"), "t.csv:3: a quote opens a field here and is never closed");
    assert_eq!(
        problem("a,b\n1,x\n2,\"y\"z\n3,w\n"),
        "t.csv:3: the quoted field that starts here is followed by 'z' instead of a delimiter or the end of the line\n\
         hint: a quote inside a quoted field must be doubled"
    );
    // Beyond the head that an encoding is found by, what is not UTF-8 is a mistake.
    let long = [b"a,b\n".as_slice(), &b"1,x\n".repeat(300_000), b"2,caf\xe9\n"].concat();
    assert_eq!(
        problem(long),
        "t.csv:300002: column 'b': 'caf\u{fffd}' is not valid UTF-8\nhint: name its encoding, such as --encoding \
         windows-1252"
    );
    assert_eq!(
        problem(b"\xff\xfea\0"),
        "t.csv: there is a header but no row below it\nhint: if the first line is data, say that there is no header"
    );
    assert_eq!(
        problem("a,b\r1,2\r3,4\r"),
        "t.csv: lines end with carriage returns only\nhint: save the file with line ends of Unix or Windows"
    );
    assert_eq!(
        problem("PK\x03\x04..."),
        "t.csv: not a readable spreadsheet: Cannot detect file format\n\
         hint: a zip archive of other files has to be unpacked first"
    );
    let error = read::read("no/such/file.csv", &ReadOptions::default()).expect_err("no file").to_string();
    assert!(error.starts_with("cannot open no/such/file.csv: "), "{error}");
    let broken = gzip(b"a,b\n1,2\n");
    let error = csv::read_bytes("t.csv.gz", broken[..broken.len() - 6].to_vec(), &ReadOptions::default());
    assert!(error.expect_err("cut short").to_string().starts_with("cannot unpack t.csv.gz: "));
}

#[test]
fn a_late_bad_line_is_counted_right_for_any_piece() {
    let mut text = String::from("a,b\n");
    for row in 0..5000 {
        text += &format!("{row},\"x\ny\"\n");
    }
    text += "1,2,3\n7\n";
    let folder = Folder::new();
    let path = folder.file("t.csv", &text);
    let expected = format!("{}:10002: expected 2 fields, found 3", path.display());
    for chunk_bytes in [16, 100, 4096, 1 << 20] {
        let options = ReadOptions { chunk_bytes, ..Default::default() };
        let error = read::read(&path, &options).expect_err("ragged").to_string();
        assert_eq!(error.lines().next(), Some(expected.as_str()));
        let schema = read("a,b\n1,x\n").expect("table").schema();
        let error = read::stream(&path, &options, &schema, chunk_bytes, |_| Ok(())).expect_err("ragged").to_string();
        assert_eq!(error.lines().next(), Some(expected.as_str()));
        let error = read::scan(&path, &options).expect_err("ragged").to_string();
        assert_eq!(error.lines().next(), Some(expected.as_str()));
    }
}

#[test]
fn columns_are_selected_in_the_order_asked_for() {
    let options = ReadOptions { columns: Some(vec!["c".into(), "a".into()]), ..Default::default() };
    let table = csv::read_bytes("t.csv", b"a,b,c\n1,2,3\n4,5,6\n".to_vec(), &options).expect("table");
    assert_eq!(table.names(), ["c", "a"]);
    assert_eq!(numbers(&table, "a"), [1.0, 4.0]);
    let options = ReadOptions { columns: Some(vec!["d".into()]), ..Default::default() };
    let error = csv::read_bytes("t.csv", b"a,b,c\n1,2,3\n".to_vec(), &options).expect_err("no d");
    assert_eq!(error.to_string(), "there is no column 'd'; did you mean 'a'?");
}

#[test]
fn gzip_is_the_same_as_plain() {
    let folder = Folder::new();
    let mut text = String::from("a,b\n");
    for row in 0..20_000 {
        text += &format!("{row},level {}\n", row % 7);
    }
    let plain = folder.file("t.csv", &text);
    let mut members = gzip(&text.as_bytes()[..100]);
    members.extend(gzip(&text.as_bytes()[100..]));
    let packed = folder.file("t.csv.gz", members);
    let options = ReadOptions::default();
    let table = read::read(&plain, &options).expect("table");
    assert_eq!(read::read(&packed, &options).as_ref(), Ok(&table));
    assert_eq!(read::scan(&packed, &options), read::scan(&plain, &options));
    assert_eq!(streamed(&packed, &options, &table.schema(), 3000).as_ref(), Ok(&table));
}

// ---------------------------------------------------------------------------------------------------------------------
// Reading against a schema

#[test]
fn a_schema_gives_the_same_codes() {
    let train = read("age,city,when,ok\n30,Bern,2024-01-01,true\n40,Basel,2024-01-02,false\n").expect("table");
    let schema = train.schema();
    let options = ReadOptions { schema: Some(schema.clone()), ..Default::default() };
    let text = "extra,ok,city,age,when\nzzz,1,Basel,,2024-02-01\n7,FALSE,Chur,50,NA\n8,,?,60,\n";
    let test = csv::read_bytes("new.csv", text.into(), &options).expect("table");
    assert_eq!(test.names(), ["age", "city", "when", "ok"]);
    assert_eq!(category(&test, "city").codes, [1, UNSEEN, MISSING]);
    assert_eq!(category(&test, "city").unseen(), 1);
    assert_eq!(*category(&test, "city").levels, ["Bern", "Basel"]);
    assert_eq!(test.schema(), schema);
    assert_eq!(test.summary()[1].unseen, 1);
    assert_eq!(test.summary()[1].missing, 1);

    let refused = |text: &str| csv::read_bytes("new.csv", text.into(), &options).expect_err("refused").to_string();
    assert_eq!(
        refused("age,town,when,ok\n1,a,,\n"),
        "there is no column 'city'; expected one of: age, town, when, ok\nhint: new.csv needs all columns of the schema"
    );
    assert_eq!(refused("age,city,when,ok\n1,Bern,,\nold,Bern,,\n"), "new.csv:3: column 'age': 'old' is not a number");
    assert_eq!(refused("age,city,when,ok\n1,Bern,,maybe\n"), "new.csv:2: column 'ok': 'maybe' is not true or false");
    // The target need not be there.
    let some = ReadOptions { columns: Some(vec!["city".into()]), ..options };
    assert_eq!(csv::read_bytes("new.csv", b"city\nBern\n".to_vec(), &some).map(|table| table.rows()), Ok(1));
}

#[test]
fn a_schema_survives_json_and_bytes() {
    let schema = read("a,b\n1,x\n2,y\n").expect("table").schema();
    let json = serde_json::to_string(&schema).expect("json");
    assert_eq!(
        json,
        r#"{"columns":[{"name":"a","kind":"number","levels":[],"form":null},{"name":"b","kind":"category","levels":["x","y"],"form":null}],"na":[]}"#
    );
    assert_eq!(serde_json::from_str::<Schema>(&json).expect("schema"), schema);
    let bytes = postcard::to_stdvec(&schema).expect("bytes");
    assert_eq!(postcard::from_bytes::<Schema>(&bytes).expect("schema"), schema);
}

// ---------------------------------------------------------------------------------------------------------------------
// The table itself

#[test]
fn table_operations() {
    let table = read("a,b,c\n1,x,true\n2,y,\n3,x,false\n,z,true\n").expect("table");
    let taken = table.take(&[3, 0, 0]);
    assert_eq!(category(&taken, "b").codes, [2, 0, 0]);
    assert_eq!(taken.column("c"), Ok(&Column::Boolean(vec![Some(true); 3])));
    assert_eq!(table.select(&["b"]).expect("column").names(), ["b"]);
    let error = table.column("aa").expect_err("no column");
    assert_eq!(error.to_string(), "there is no column 'aa'; did you mean 'a'?");
    let summary = table.summary();
    assert_eq!((summary[0].min, summary[0].max, summary[0].mean), (Some(1.0), Some(3.0), Some(2.0)));
    assert_eq!(summary.iter().map(|column| column.distinct).collect::<Vec<_>>(), [Some(3), Some(3), Some(2)]);
    assert_eq!((summary[1].mean, summary[2].mean), (None, Some(2.0 / 3.0)));
    let uneven = Table::new(vec![("a".into(), Column::Number(vec![1.0])), ("b".into(), Column::Number(vec![]))]);
    assert_eq!(uneven.expect_err("uneven").to_string(), "rows of column 'b': expected 1, found 0");
}

#[test]
fn writing() {
    let table = Table::new(vec![
        ("n,1".into(), Column::Number(vec![0.1, 1e300, -0.0, f64::NAN, 1e-7])),
        ("c".into(), Column::categories(["a\"b", "", "x,y", " z", "line\nend"])),
        ("d".into(), Column::Date(vec![0.0, -1.0, f64::NAN, 19_783.0, 1.0])),
        ("t".into(), Column::DateTime(vec![0.5, f64::NAN, 1.0, 2.0, 3.000001])),
        ("b".into(), Column::Boolean(vec![Some(true), None, Some(false), None, None])),
    ])
    .expect("table");
    let mut out = Vec::new();
    csv::write(&table, &mut out).expect("written");
    assert_eq!(
        String::from_utf8(out).expect("text"),
        "\"n,1\",c,d,t,b\n\
         0.1,\"a\"\"b\",1970-01-01,1970-01-01T00:00:00.500,true\n\
         1e300,,1969-12-31,,\n\
         -0,\"x,y\",,1970-01-01T00:00:01,false\n\
         ,\" z\",2024-03-01,1970-01-01T00:00:02,\n\
         1e-7,\"line\nend\",1970-01-02,1970-01-01T00:00:03.000001,\n"
    );
}
