//! Files to tables. The two properties at the heart: a table written in any legal way reads back as itself, and any
//! bytes at all give the same table or the same error whatever the pieces and threads, whole or streamed.

use std::{collections::BTreeMap, io::Write, path::PathBuf, sync::Arc};

use ::parquet::{
    basic::Compression,
    data_type::{
        BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray, FixedLenByteArrayType, FloatType,
        Int32Type, Int64Type, Int96, Int96Type,
    },
    file::{
        properties::{EnabledStatistics, WriterProperties, WriterVersion},
        writer::{SerializedColumnWriter, SerializedFileWriter},
    },
    schema::parser::parse_message_type,
};
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
        "t.csv:300002: column 'b': 'caf\u{fffd}' is not valid UTF-8\nhint: name its encoding, such as --encoding windows-1252"
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

// ---------------------------------------------------------------------------------------------------------------------
// Properties

/// How a field is written, as far as there is a choice.
#[derive(Debug, Clone)]
struct Manner {
    delimiter: char,
    line_end: &'static str,
    last_line_end: bool,
    quote_all: bool,
    blank_lines: bool,
    bom: bool,
}

fn manner() -> impl Strategy<Value = Manner> {
    let delimiters = prop_oneof![Just(','), Just(';'), Just('\t'), Just('|')];
    (delimiters, any::<(bool, bool, bool, bool, bool)>()).prop_map(|(delimiter, flags)| Manner {
        delimiter,
        line_end: if flags.0 { "\r\n" } else { "\n" },
        last_line_end: flags.1,
        quote_all: flags.2,
        blank_lines: flags.3,
        bom: flags.4,
    })
}

/// A name or level: begins with a letter, so that it is neither missing nor a number, and may hold anything after that.
fn word() -> impl Strategy<Value = String> {
    let tail = prop::collection::vec(prop::sample::select(" \",;\t|\n\r'éβ漢🦦x1".chars().collect::<Vec<_>>()), 0..8);
    (prop::sample::select(vec![" s", "s", "st", "ü"]), tail).prop_map(|(start, tail)| {
        let tail: String = tail.into_iter().collect();
        format!("{start}{tail}")
    })
}

fn column(rows: usize) -> impl Strategy<Value = Column> {
    let flag = move || prop::collection::vec(prop::option::of(any::<bool>()), rows);
    let days = prop::collection::vec(prop::option::of(-100_000..100_000_i32), rows);
    prop_oneof![
        prop::collection::vec(prop::option::of(any::<f64>().prop_filter("finite", |x| x.is_finite())), rows)
            .prop_map(|values| Column::Number(values.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect())),
        prop::collection::vec(prop::option::of(-1000..1000_i32), rows).prop_map(|values| Column::Number(
            values.into_iter().map(|value| value.map_or(f64::NAN, |value| f64::from(value) / 8.0)).collect()
        )),
        flag().prop_map(|mut values| {
            values[0] = Some(true);
            Column::Boolean(values)
        }),
        days.prop_map(|mut values| {
            values[0] = Some(1);
            Column::Date(values.into_iter().map(|value| value.map_or(f64::NAN, f64::from)).collect())
        }),
        (prop::collection::vec(word(), 1..5), prop::collection::vec(any::<prop::sample::Index>(), rows), flag())
            .prop_map(|(words, places, missing)| {
                let values = places.iter().zip(missing).enumerate().map(|(row, (place, missing))| {
                    if missing.is_none() && row > 0 { "" } else { place.get(&words).as_str() }
                });
                Column::categories(values)
            }),
    ]
}

fn tables() -> impl Strategy<Value = Table> {
    (1..60_usize, 1..6_usize).prop_flat_map(|(rows, width)| {
        prop::collection::vec(column(rows), width).prop_map(|columns| {
            let names = ["first", "second column", "third", "fourth, with comma", "fifth"];
            let named = names.iter().map(|name| name.to_string()).zip(columns).collect();
            Table::new(named).expect("table")
        })
    })
}

fn written(table: &Table, manner: &Manner) -> Vec<u8> {
    let mut out = String::from(if manner.bom { "\u{feff}" } else { "" });
    let quoted = |value: &str| {
        let must = value.trim() != value
            || value.contains([manner.delimiter, '\n', '\r'])
            || (table.names().len() == 1 && value.is_empty());
        if must || manner.quote_all { format!("\"{}\"", value.replace('"', "\"\"")) } else { value.to_string() }
    };
    let delimiter = manner.delimiter.to_string();
    let mut lines = vec![table.names().iter().map(|name| quoted(name)).collect::<Vec<_>>().join(&delimiter)];
    for row in 0..table.rows() {
        let fields: Vec<String> = table.columns().map(|(_, column)| quoted(&column.value_text(row))).collect();
        lines.push(fields.join(&delimiter));
        if manner.blank_lines && row % 3 == 0 {
            lines.push(String::new());
        }
    }
    out += &lines.join(manner.line_end);
    if manner.last_line_end {
        out += manner.line_end;
    }
    out.into_bytes()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read(table in tables(), manner in manner(), chunk_bytes in 1..200_usize) {
        let data = written(&table, &manner);
        let folder = Folder::new();
        let path = folder.file("t.csv", &data);
        let delimiter = Some(manner.delimiter as u8);
        let schema = table.schema();
        // Levels and kinds stay as they are even when a category looks like free text.
        let kinds = schema.columns.iter().map(|field| (field.name.clone(), field.kind));
        let kinds: BTreeMap<String, Kind> = kinds.filter(|(_, kind)| *kind == Kind::Category).collect();
        for threads in [1, 2, 3, 7] {
            let options = ReadOptions { chunk_bytes, delimiter, kinds: kinds.clone(), ..Default::default() };
            let read = on_threads(threads, || read::read(&path, &options));
            prop_assert_eq!(read.as_ref(), Ok(&table), "{}", String::from_utf8_lossy(&data));
            let parts = on_threads(threads, || streamed(&path, &options, &schema, chunk_bytes));
            prop_assert_eq!(parts.as_ref(), Ok(&table));
        }
        let options = ReadOptions { delimiter, kinds, ..Default::default() };
        let scan = read::scan(&path, &options).expect("scan");
        prop_assert_eq!(scan.schema, schema);
        prop_assert_eq!(scan.summary, table.summary());
    }

    #[test]
    fn our_own_writing_reads_back(table in tables()) {
        let mut out = Vec::new();
        csv::write(&table, &mut out).expect("written");
        let kinds = table.columns().filter(|(_, column)| column.kind() == Kind::Category);
        let kinds = kinds.map(|(name, column)| (name.to_string(), column.kind())).collect();
        let options = ReadOptions { kinds, delimiter: Some(b','), ..Default::default() };
        let read = csv::read_bytes("t.csv", out.clone(), &options);
        prop_assert_eq!(read.as_ref(), Ok(&table), "{}", String::from_utf8_lossy(&out));
    }

    #[test]
    fn any_fields_give_one_table(
        fields in prop::collection::vec(
            (prop::sample::select(vec![0_usize, 0, 3, 6, 9, 11, 14]), prop::sample::select(vec![0_usize, 1, 2])),
            1..80,
        ),
        misleading in prop::bool::weighted(0.2),
        chunks in prop::collection::vec(1..64_usize, 3),
    ) {
        // Mostly numbers, so that kinds change within a column; a long head of numbers makes every guess a number.
        let spellings = [
            "1", "-2.5", "", "NA", "\"3\"", "1e5", "2024-01-01", "\"2024-01-02T03:04:05Z\"", "?", "true", "False",
            "\"x\ny\"", "\"\"\"\"", "5\" pipe", " \"q\" ", "\"a,b\"",
        ];
        let head = String::from("a,b\n") + &"7,8\n".repeat(if misleading { 10_000 } else { 0 });
        let text = fields.iter().fold(head, |text, (first, second)| {
            text + spellings[*first] + "," + spellings[(first + second) % spellings.len()] + "\n"
        });
        let folder = Folder::new();
        let path = folder.file("t.csv", &text);
        let expected = on_threads(1, || read::read(&path, &ReadOptions::default())).expect("a legal file");
        prop_assert_eq!(expected.rows(), fields.len() + if misleading { 10_000 } else { 0 });
        for (chunk_bytes, threads) in chunks.into_iter().zip([2, 3, 7]) {
            let chunk_bytes = if misleading { 50 * chunk_bytes } else { chunk_bytes };
            let options = ReadOptions { chunk_bytes, ..Default::default() };
            let found = on_threads(threads, || read::read(&path, &options));
            prop_assert_eq!(found.as_ref(), Ok(&expected));
            let scan = on_threads(threads, || read::scan(&path, &options)).expect("scan");
            prop_assert_eq!(&scan.schema, &expected.schema());
            prop_assert_eq!(&scan.summary, &expected.summary());
            let parts = streamed(&path, &options, &scan.schema, chunk_bytes);
            prop_assert_eq!(parts.as_ref(), Ok(&expected));
        }
    }

    #[test]
    fn any_bytes_give_one_answer(
        soup in prop::collection::vec(prop::sample::select(b"\"\"\"\n\n\n,,,,; \t\r1a-2.Nx\xe9".to_vec()), 0..160),
        header in any::<bool>(),
        chunks in prop::collection::vec(1..64_usize, 3),
    ) {
        let one = ReadOptions { header: header.then_some(true), delimiter: Some(b','), ..Default::default() };
        let expected = on_threads(1, || csv::read_bytes("t.csv", soup.clone(), &one));
        for (chunk_bytes, threads) in chunks.into_iter().zip([2, 3, 7]) {
            let options = ReadOptions { chunk_bytes, ..one.clone() };
            let found = on_threads(threads, || csv::read_bytes("t.csv", soup.clone(), &options));
            prop_assert_eq!(&found, &expected);
            if let Ok(table) = &expected {
                let folder = Folder::new();
                let path = folder.file("t.csv", &soup);
                let scan = read::scan(&path, &options).expect("scan");
                prop_assert_eq!(&scan.schema, &table.schema());
                prop_assert_eq!(&scan.summary, &table.summary());
                let parts = streamed(&path, &options, &scan.schema, chunk_bytes);
                prop_assert_eq!(parts.as_ref(), Ok(table));
            }
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// Parquet

/// The cells of a column, by the type that stores them.
enum Stored {
    Bool(Vec<Option<bool>>),
    Int32(Vec<Option<i32>>),
    Int64(Vec<Option<i64>>),
    Int96(Vec<Option<Int96>>),
    Float(Vec<Option<f32>>),
    Double(Vec<Option<f64>>),
    Bytes(Vec<Option<ByteArray>>),
    Fixed(Vec<Option<FixedLenByteArray>>),
    /// A list of numbers a row, or none.
    Lists(Vec<Option<Vec<i64>>>),
}

impl Stored {
    fn strings<'a>(cells: impl IntoIterator<Item = Option<&'a str>>) -> Stored {
        Stored::Bytes(cells.into_iter().map(|cell| cell.map(ByteArray::from)).collect())
    }

    fn write(&self, column: &mut SerializedColumnWriter, rows: std::ops::Range<usize>) {
        fn write<T: DataType>(column: &mut SerializedColumnWriter, cells: &[Option<T::T>]) {
            let levels: Vec<i16> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
            let values: Vec<T::T> = cells.iter().flatten().cloned().collect();
            column.typed::<T>().write_batch(&values, Some(&levels), None).expect("written");
        }
        match self {
            Stored::Bool(cells) => write::<BoolType>(column, &cells[rows]),
            Stored::Int32(cells) => write::<Int32Type>(column, &cells[rows]),
            Stored::Int64(cells) => write::<Int64Type>(column, &cells[rows]),
            Stored::Int96(cells) => write::<Int96Type>(column, &cells[rows]),
            Stored::Float(cells) => write::<FloatType>(column, &cells[rows]),
            Stored::Double(cells) => write::<DoubleType>(column, &cells[rows]),
            Stored::Bytes(cells) => write::<ByteArrayType>(column, &cells[rows]),
            Stored::Fixed(cells) => write::<FixedLenByteArrayType>(column, &cells[rows]),
            Stored::Lists(cells) => {
                let (mut values, mut defined, mut repeated) = (vec![], vec![], vec![]);
                for cell in &cells[rows] {
                    let list = cell.as_deref().unwrap_or_default();
                    values.extend(list);
                    repeated.extend((0..list.len().max(1)).map(|place| i16::from(place > 0)));
                    defined.extend(vec![if list.is_empty() { 0 } else { 2 }; list.len().max(1)]);
                }
                column.typed::<Int64Type>().write_batch(&values, Some(&defined), Some(&repeated)).expect("written");
            }
        }
    }
}

fn parquet_file_with(
    folder: &Folder,
    properties: WriterProperties,
    columns: &[(&str, Stored)],
    rows: usize,
    rows_a_group: usize,
) -> PathBuf {
    let fields: Vec<&str> = columns.iter().map(|(field, _)| *field).collect();
    let schema = parse_message_type(&format!("message table {{ {} }}", fields.join(" "))).expect("schema");
    let path = folder.0.path().join("t.parquet");
    let file = std::fs::File::create(&path).expect("file");
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties)).expect("writer");
    for start in (0..rows).step_by(rows_a_group) {
        let mut group = writer.next_row_group().expect("group");
        for (_, stored) in columns {
            let mut column = group.next_column().expect("column").expect("column");
            stored.write(&mut column, start..rows.min(start + rows_a_group));
            column.close().expect("written");
        }
        group.close().expect("written");
    }
    writer.close().expect("written");
    path
}

/// Columns as fields of a Parquet schema with their cells.
fn parquet_file(folder: &Folder, columns: &[(&str, Stored)], rows: usize, rows_a_group: usize) -> PathBuf {
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    parquet_file_with(folder, properties, columns, rows, rows_a_group)
}

fn int96(days: u32, nanoseconds: u64) -> Int96 {
    let mut value = Int96::new();
    value.set_data(nanoseconds as u32, (nanoseconds >> 32) as u32, 2_440_588 + days);
    value
}

#[test]
fn parquet_has_every_type() {
    let folder = Folder::new();
    let numbers32 = |cells: [i32; 3]| Stored::Int32(cells.map(Some).to_vec());
    let numbers64 = |cells: [i64; 3]| Stored::Int64(cells.map(Some).to_vec());
    let fixed = |cells: [&[u8]; 3]| Stored::Fixed(cells.map(|cell| Some(cell.to_vec().into())).to_vec());
    let wide = |value: i128, shift: usize| {
        let mut bytes = vec![if value < 0 { 255 } else { 0 }; 4];
        bytes.extend(value.to_be_bytes());
        bytes.rotate_left(shift);
        bytes
    };
    let columns: Vec<(&str, Stored)> = vec![
        ("optional int64 i;", Stored::Int64(vec![Some(1), None, Some(-3)])),
        ("required int32 u (INTEGER(8,false));", numbers32([1, 2, 255])),
        ("optional float f;", Stored::Float(vec![Some(0.5), Some(f32::NAN), None])),
        ("optional boolean b;", Stored::Bool(vec![Some(true), None, Some(false)])),
        ("optional binary s (STRING);", Stored::strings([Some("x"), Some(""), Some("y")])),
        ("optional binary l (UTF8);", Stored::strings([Some("x"), None, Some("x")])),
        ("required binary v;", Stored::strings([Some("a string longer than twelve"), Some("b"), Some("b")])),
        ("optional binary d (ENUM);", Stored::strings([Some("q"), Some("p"), Some("q")])),
        ("optional int32 day (DATE);", Stored::Int32(vec![Some(0), None, Some(19_783)])),
        ("required int64 ms (TIMESTAMP(MILLIS,false));", numbers64([1500, 0, -1])),
        ("required int64 ns (TIMESTAMP(NANOS,true));", numbers64([1_709_287_200_123_000_000, 0, 1])),
        ("required fixed_len_byte_array(5) m (DECIMAL(10,2));", {
            fixed([&[0, 0, 0, 4, 210], &[255, 255, 255, 255, 255], &[0; 5]])
        }),
        ("required double r;", Stored::Double(vec![Some(0.1), Some(-1e300), Some(2.0)])),
        ("required int32 u32 (UINT_32);", numbers32([-1, 0, 7])),
        ("optional int64 u64 (INTEGER(64,false));", numbers64([-1, 0, 7])),
        ("optional int32 i8 (INT_8);", numbers32([-128, 0, 7])),
        ("required int64 us (TIMESTAMP_MICROS);", numbers64([1, -1_000_000, 0])),
        ("optional int96 old;", Stored::Int96(vec![Some(int96(1, 500_000_000)), None, Some(int96(0, 1000))])),
        ("required int32 m32 (DECIMAL(9,3));", numbers32([1234, -1, 0])),
        ("required int64 m64 (DECIMAL(18,1));", numbers64([1234, -1, 0])),
        ("required binary mb (DECIMAL(9,2));", {
            Stored::Bytes([&[4, 210][..], &[255], &[0, 128]].map(|cell| Some(cell.to_vec().into())).to_vec())
        }),
        ("required fixed_len_byte_array(20) big (DECIMAL(40,0));", {
            fixed([&wide(i128::MAX, 0), &wide(-1 << 100, 4)[..], &wide(-5, 0)])
        }),
        ("required fixed_len_byte_array(2) half (FLOAT16);", fixed([&[0, 0x3c], &[1, 0x80], &[0, 0xfc]])),
        ("optional int32 nothing (UNKNOWN);", Stored::Int32(vec![None; 3])),
    ];
    let plain = || WriterProperties::builder().set_dictionary_enabled(false);
    let second = || WriterProperties::builder().set_writer_version(WriterVersion::PARQUET_2_0);
    let manners = [
        (1, WriterProperties::builder().set_compression(Compression::SNAPPY)),
        (2, plain()),
        (3, plain().set_compression(Compression::GZIP(Default::default()))),
        (2, second().set_compression(Compression::ZSTD(Default::default()))),
        (3, second().set_dictionary_enabled(false).set_compression(Compression::LZ4_RAW)),
    ];
    for (rows_a_group, properties) in manners {
        let path = parquet_file_with(&folder, properties.build(), &columns, 3, rows_a_group);
        let table = on_threads(rows_a_group, || read::read(&path, &ReadOptions::default())).expect("table");
        use Kind::*;
        let expected =
            [Number, Number, Number, Boolean, Category, Category, Category, Category, Date, DateTime, DateTime, Number];
        assert_eq!(kinds(&table)[..12], expected);
        let expected =
            [Number, Number, Number, Number, DateTime, DateTime, Number, Number, Number, Number, Number, Number];
        assert_eq!(kinds(&table)[12..], expected);
        assert_eq!(numbers(&table, "i")[2], -3.0);
        assert_eq!(numbers(&table, "u"), [1.0, 2.0, 255.0]);
        assert_eq!(
            table.summary().iter().map(|column| column.missing).collect::<Vec<_>>(),
            [1, 0, 2, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 3]
        );
        assert_eq!(category(&table, "s").codes, [0, MISSING, 1]);
        assert_eq!(*category(&table, "v").levels, ["a string longer than twelve", "b"]);
        assert_eq!(category(&table, "d").codes, [0, 1, 0]);
        assert_eq!(*category(&table, "d").levels, ["q", "p"]);
        assert_eq!(numbers(&table, "day")[2], 19_783.0);
        assert_eq!(numbers(&table, "ms"), [1.5, 0.0, -0.001]);
        assert_eq!(numbers(&table, "ns")[0], 1_709_287_200.123);
        assert_eq!(numbers(&table, "m"), [12.34, -0.01, 0.0]);
        assert_eq!(numbers(&table, "r"), [0.1, -1e300, 2.0]);
        assert_eq!(numbers(&table, "u32"), [4_294_967_295.0, 0.0, 7.0]);
        assert_eq!(numbers(&table, "u64"), [18_446_744_073_709_551_615.0, 0.0, 7.0]);
        assert_eq!(numbers(&table, "i8"), [-128.0, 0.0, 7.0]);
        assert_eq!(numbers(&table, "us"), [1e-6, -1.0, 0.0]);
        assert_eq!([numbers(&table, "old")[0], numbers(&table, "old")[2]], [86_400.5, 1e-6]);
        assert_eq!(numbers(&table, "m32"), [1.234, -0.001, 0.0]);
        assert_eq!(numbers(&table, "m64"), [123.4, -0.1, 0.0]);
        assert_eq!(numbers(&table, "mb"), [12.34, -0.01, 1.28]);
        assert_eq!(numbers(&table, "big"), [2_f64.powi(127), -(2_f64.powi(132)), -5.0]);
        assert_eq!(numbers(&table, "half"), [1.0, -(2_f64.powi(-24)), f64::NEG_INFINITY]);
        for chunk_bytes in [1, 200, 1 << 20] {
            assert_eq!(streamed(&path, &ReadOptions::default(), &table.schema(), chunk_bytes).as_ref(), Ok(&table));
        }
        let scan = read::scan(&path, &ReadOptions::default()).expect("scan");
        assert_eq!((scan.rows, scan.schema, scan.summary), (3, table.schema(), table.summary()));
        let bytes = std::fs::read(&path).expect("bytes");
        assert_eq!(parquet::read_bytes("-", &bytes, &ReadOptions::default()).as_ref(), Ok(&table));
    }
}

#[test]
fn parquet_against_a_schema_from_csv() {
    let folder = Folder::new();
    let path = parquet_file(
        &folder,
        &[
            ("required int64 other;", Stored::Int64(vec![Some(1), Some(2)])),
            ("optional binary city (STRING);", Stored::strings([Some("Chur"), Some("Basel")])),
            ("optional int64 zone;", Stored::Int64(vec![Some(2), Some(1)])),
            ("optional binary age (STRING);", Stored::strings([Some("30"), Some("forty")])),
            ("optional int64 when (TIMESTAMP(MILLIS,true));", Stored::Int64(vec![Some(86_400_000), Some(0)])),
        ],
        2,
        10,
    );
    let kinds = BTreeMap::from([("zone".to_string(), Kind::Category)]);
    let options = ReadOptions { kinds, ..Default::default() };
    let train = csv::read_bytes("t.csv", b"age,city,zone,when\n30,Bern,1,2024-01-01\n4,Basel,2,\n".to_vec(), &options);
    let schema = train.expect("table").schema();
    let with = |columns: &[&str]| ReadOptions {
        schema: Some(schema.clone()),
        columns: Some(columns.iter().map(|name| name.to_string()).collect()),
        ..Default::default()
    };
    let table = read::read(&path, &with(&["city", "zone", "when"])).expect("table");
    assert_eq!(category(&table, "city").codes, [UNSEEN, 1]);
    assert_eq!(category(&table, "zone").codes, [1, 0]);
    assert_eq!(table.column("when"), Ok(&Column::Date(vec![1.0, 0.0])));
    let error = read::read(&path, &with(&["age"])).expect_err("not a number").to_string();
    assert_eq!(error, format!("{}: column 'age', row 2: 'forty' is not a number", path.display()));
    let unknown = ReadOptions { columns: Some(vec!["citi".into()]), ..Default::default() };
    let error = read::read(&path, &unknown).expect_err("no column").to_string();
    assert_eq!(error, "there is no column 'citi'; did you mean 'city'?");
}

#[test]
fn parquet_refuses_nested_columns_by_name() {
    let folder = Folder::new();
    let columns = [
        (
            "optional group tags (LIST) { repeated group list { required int64 element; } }",
            Stored::Lists(vec![Some(vec![1, 2, 3]), None]),
        ),
        ("optional int64 x;", Stored::Int64(vec![Some(1), None])),
        ("optional int32 hour (TIME(MILLIS,false));", Stored::Int32(vec![Some(1), None])),
    ];
    let path = parquet_file(&folder, &columns, 2, 10);
    let error = read::read(&path, &ReadOptions::default()).expect_err("nested").to_string();
    assert!(error.contains("column 'tags' has type List"), "{error}");
    assert!(error.contains("hint: leave the column out"), "{error}");
    let options = ReadOptions { columns: Some(vec!["hour".into()]), ..Default::default() };
    let error = read::read(&path, &options).expect_err("time of day").to_string();
    assert!(error.contains("column 'hour' has type Time"), "{error}");
    let options = ReadOptions { columns: Some(vec!["x".into()]), ..Default::default() };
    let table = read::read(&path, &options).expect("table");
    assert_eq!((table.rows(), numbers(&table, "x")[0]), (2, 1.0));
    let broken = folder.file("broken.parquet", b"PAR1 and nothing else");
    let error = read::read(&broken, &ReadOptions::default()).expect_err("broken").to_string();
    assert!(error.contains("not a readable Parquet file"), "{error}");
}

#[test]
fn parquet_and_csv_agree() {
    let folder = Folder::new();
    let rows = 30_000;
    let words: Vec<String> = (0..rows).map(|row| format!("w{}", row * row % 1013)).collect();
    let messages: Vec<String> = (0..rows).map(|row| format!("free text of row {row} here")).collect();
    let values: Vec<i64> = (0..rows as i64).map(|row| row * 7 % 1000).collect();
    let mut text = String::from("word,message,value\n");
    for row in 0..rows {
        text += &format!("{},{},{}\n", words[row], messages[row], values[row]);
    }
    let columns = [
        ("optional binary word (STRING);", Stored::strings(words.iter().map(|word| Some(word.as_str())))),
        ("required binary message (STRING);", Stored::strings(messages.iter().map(|text| Some(text.as_str())))),
        ("optional int64 value;", Stored::Int64(values.into_iter().map(Some).collect())),
    ];
    let path = parquet_file(&folder, &columns, rows, 4000);
    let expected = read(&text).expect("table");
    assert_eq!(kinds(&expected), [Kind::Category, Kind::Text, Kind::Number]);
    for threads in [1, 2, 7] {
        let options = ReadOptions::default();
        assert_eq!(on_threads(threads, || read::read(&path, &options)).as_ref(), Ok(&expected));
        let parts = on_threads(threads, || streamed(&path, &options, &expected.schema(), 50_000));
        assert_eq!(parts.as_ref(), Ok(&expected));
        let scan = on_threads(threads, || read::scan(&path, &options)).expect("scan");
        assert_eq!((scan.schema, scan.summary), (expected.schema(), expected.summary()));
    }
}

#[test]
fn parquet_nulls_stay_in_their_rows_across_batches_pages_and_groups() {
    let folder = Folder::new();
    let rows = 23_457;
    let cell = |row: usize, every: usize| (!row.is_multiple_of(every)).then_some(row);
    let columns = [
        ("optional double x;", Stored::Double((0..rows).map(|row| cell(row, 3).map(|row| row as f64)).collect())),
        ("optional boolean b;", Stored::Bool((0..rows).map(|row| cell(row, 5).map(|row| row % 2 == 0)).collect())),
        (
            "optional binary s (STRING);",
            Stored::Bytes(
                (0..rows).map(|row| cell(row, 7).map(|row| format!("s{}", row % 11).as_str().into())).collect(),
            ),
        ),
    ];
    for dictionary in [true, false] {
        let properties = WriterProperties::builder()
            .set_dictionary_enabled(dictionary)
            .set_data_page_row_count_limit(777)
            .set_write_batch_size(100);
        let path = parquet_file_with(&folder, properties.build(), &columns, rows, 10_001);
        let table = read::read(&path, &ReadOptions::default()).expect("table");
        let (x, s) = (numbers(&table, "x"), category(&table, "s"));
        let Ok(Column::Boolean(b)) = table.column("b") else { panic!("b is boolean") };
        for row in 0..rows {
            assert!(if row % 3 == 0 { x[row].is_nan() } else { x[row] == row as f64 });
            assert_eq!(b[row], (row % 5 != 0).then_some(row % 2 == 0));
            match s.codes[row] {
                MISSING => assert_eq!(row % 7, 0),
                code => assert_eq!(s.levels[code as usize], format!("s{}", row % 11)),
            }
        }
        for chunk_bytes in [1000, 77_777, 1 << 20] {
            assert_eq!(streamed(&path, &ReadOptions::default(), &table.schema(), chunk_bytes).as_ref(), Ok(&table));
        }
    }
}

#[test]
fn damaged_parquet_is_refused_or_read() {
    let folder = Folder::new();
    let columns = [
        ("optional int64 i;", Stored::Int64((0..20).map(|row| (row % 3 > 0).then_some(row)).collect())),
        ("optional binary s (STRING);", Stored::strings((0..20).map(|row| ["a", "b", "c"].get(row % 4).copied()))),
        ("required double x;", Stored::Double((0..20).map(|row| Some(f64::from(row))).collect())),
    ];
    for dictionary in [true, false] {
        let properties = WriterProperties::builder()
            .set_dictionary_enabled(dictionary)
            .set_statistics_enabled(EnabledStatistics::None)
            .set_compression(Compression::SNAPPY);
        let path = parquet_file_with(&folder, properties.build(), &columns, 20, 20);
        let bytes = std::fs::read(&path).expect("bytes");
        let read = |bytes: &[u8]| parquet::read_bytes("-", bytes, &ReadOptions::default());
        assert!(read(&bytes).is_ok());
        for place in 0..bytes.len() {
            assert!(read(&bytes[..place]).is_err());
            for change in [0x01, 0x80, 0xff] {
                let mut bytes = bytes.clone();
                bytes[place] ^= change;
                // Any answer will do; a panic would end the test.
                let _ = read(&bytes);
            }
        }
    }
}
