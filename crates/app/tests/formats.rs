//! What files really look like: one table as pandas, pyarrow and Excel write it reads as the same table, whole, in
//! pieces, and shared by workers; what cannot be read is refused with what can.

use ermine_app::{
    read::{self, Format, ReadOptions, csv},
    table::{Column, DateFormat, Kind, Table},
};
use std::path::PathBuf;

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/formats").join(name)
}

/// `None` is a town here.
fn options() -> ReadOptions {
    ReadOptions { levels: vec!["None".into()], ..ReadOptions::default() }
}

fn text(text: &str, options: &ReadOptions) -> Table {
    csv::read_bytes("t", text.into(), options).expect("a table")
}

fn values(table: &Table, name: &str) -> Vec<String> {
    let column = table.column(name).expect("the column");
    (0..table.rows()).map(|row| column.value_text(row)).collect()
}

/// The values of a table, dates without the time that some formats add.
fn cells(table: &Table) -> Vec<Vec<String>> {
    let short = |value: String| value.trim_end_matches("T00:00:00").to_string();
    table.names().iter().map(|name| values(table, name).into_iter().map(short).collect()).collect()
}

const FILES: [&str; 11] = [
    "european.cp1252.csv",
    "european.utf16.csv",
    "european.csv.xz",
    "european.csv.bz2",
    "american.csv",
    "named.csv",
    "table.jsonl",
    "table.json",
    "table.xlsx",
    "table.feather",
    "table.arrows",
];

#[test]
fn one_table_however_it_is_written() {
    let expected = read::read(file("expected.csv"), &options()).expect("plain CSV");
    assert_eq!(expected.rows(), 60);
    for name in FILES {
        let table = read::read(file(name), &options()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(table.names(), expected.names(), "{name}");
        assert_eq!(cells(&table), cells(&expected), "{name}");
        assert!(matches!(table.column("when"), Ok(Column::Date(_) | Column::DateTime(_))), "{name}");
        assert_eq!(table.column("price").unwrap().kind(), Kind::Number, "{name}");
    }
}

#[test]
fn whole_in_pieces_and_shared_they_are_the_same() {
    for name in FILES {
        let whole = read::read(file(name), &options()).expect("a table");
        let scan = read::scan(file(name), &options()).expect("a scan");
        assert_eq!(scan.schema, whole.schema(), "{name}");
        assert_eq!(scan.assumed, whole.assumed(), "{name}");
        let mut parts: Option<Table> = None;
        read::stream(file(name), &options(), &scan.schema, 200, |part| match &mut parts {
            Some(all) => all.append(&part),
            None => {
                parts = Some(part);
                Ok(())
            }
        })
        .expect("streamed");
        assert_eq!(cells(&parts.expect("some")), cells(&whole), "{name}");
        // The same file twice is one table of two files.
        let twice =
            read::shares::read(&[file(name), file(name)], &options(), &ermine_core::ctx::Alone).expect("shared");
        assert_eq!(twice.total, 120, "{name}");
        assert_eq!(cells(&twice.table.take(&(60..120).collect::<Vec<_>>())), cells(&whole), "{name}");
    }
}

#[test]
fn a_file_that_needs_another_form_settles_it_for_all() {
    let folder = tempfile::tempdir().expect("a folder");
    let (first, second) = (folder.path().join("a.csv"), folder.path().join("b.csv"));
    std::fs::write(&first, "d,x\n01/02/2024,1\n03/04/2024,2\n").expect("written");
    std::fs::write(&second, "d,x\n25/12/2024,3\n").expect("written");
    let held = read::shares::read(&[first, second], &ReadOptions::default(), &ermine_core::ctx::Alone).expect("read");
    assert_eq!(values(&held.table, "d"), ["2024-02-01", "2024-04-03", "2024-12-25"]);
}

#[test]
fn what_was_assumed_is_said() {
    let plain = ReadOptions::default();
    let said = |table: &Table| table.assumed().join("\n");
    let dates = text("when,y\n01/02/2024,1\n03/04/2024,2\n", &plain);
    assert!(
        said(&dates).contains("'when' could as well be d/m/y, no value tells: --date-format when=d/m/y settles it")
    );
    let mut asked = ReadOptions::default();
    asked.date_formats.insert("when".into(), DateFormat::parse("d/m/y").expect("a format"));
    assert_eq!(values(&text("when,y\n01/02/2024,1\n", &asked), "when"), ["2024-02-01"]);
    asked.date_formats.insert("when".into(), DateFormat::parse("epoch").expect("a format"));
    assert_eq!(values(&text("when,y\n86400,1\n", &asked), "when"), ["1970-01-02T00:00:00"]);
    let refused = csv::read_bytes("t", b"when,y\nsoon,1\n".to_vec(), &asked).expect_err("no epoch").to_string();
    assert!(refused.contains("'soon'"), "{refused}");
    let twice = text("x,x,y\n1,2,3\n", &plain);
    assert_eq!(twice.names(), ["x", "x_2", "y"]);
    assert!(said(&twice).contains("'x' to 'x_2'"));
    let years = text("country,2019,2020,2021\nFrance,3.5,3.25,4\nPeru,1,7,7.5\n", &plain);
    assert_eq!(years.names(), ["country", "2019", "2020", "2021"]);
    assert!(said(&years).contains("--no-header"));
    assert_eq!(text("open,inf\n1,2\n", &plain).names(), ["open", "inf"], "inflation, not infinity");
    assert_eq!(text("1,2,3\n4,5,6\n", &plain).rows(), 2, "rows that all count on are rows");
    assert_eq!(text("a,b\n1,2\n", &plain).assumed(), [] as [String; 0]);
}

#[test]
fn missing_words_can_be_levels() {
    let town = |options: &ReadOptions| values(&text("town,y\nNone,1\nNA,2\nRome,3\n", options), "town");
    assert_eq!(town(&ReadOptions::default()), ["", "", "Rome"]);
    assert_eq!(town(&options()), ["None", "", "Rome"]);
}

#[test]
fn numbers_between_semicolons_have_decimal_commas() {
    let plain = ReadOptions::default();
    assert_eq!(values(&text("x;y\n1,234;1\n2,345;2\n", &plain), "x"), ["1.234", "2.345"]);
    assert_eq!(values(&text("x,y\n\"1,234\",1\n\"2,345\",2\n", &plain), "x"), ["1234", "2345"]);
    let comma = ReadOptions { decimal_comma: Some(true), ..ReadOptions::default() };
    assert_eq!(values(&text("x,y\n\"1,234\",1\n\"2.345\",2\n", &comma), "x"), ["1.234", "2345"]);
}

#[test]
fn columns_between_blanks_and_of_fixed_width() {
    let plain = ReadOptions::default();
    let table = text("18.0   8   307.0\t\"chevrolet chevelle\"\n15.0   8   350.0\t\"buick skylark 320\"\n", &plain);
    assert_eq!(table.rows(), 2);
    assert_eq!(values(&table, "column_4"), ["chevrolet chevelle", "buick skylark 320"]);
    assert!(table.assumed().join("").contains("blanks"));
    let fixed = ReadOptions { format: Some(Format::Fixed), ..ReadOptions::default() };
    let table = text("name        age\nNew York     12\nRome          7\n", &fixed);
    assert_eq!(table.names(), ["name", "age"]);
    assert_eq!(values(&table, "name"), ["New York", "Rome"]);
    assert_eq!(values(&table, "age"), ["12", "7"]);
    // One column of words is no table of two.
    assert_eq!(text("name\nJohn Smith\nJane Doe\n", &plain).names(), ["name"]);
}

#[test]
fn libsvm_is_dense_with_zeros() {
    let table = text("+1 1:0.5 3:2 # note\n-1 2:7\n+1 qid:4 1:1e-3\n", &ReadOptions::default());
    assert_eq!(table.names(), ["label", "qid", "x1", "x2", "x3"]);
    assert_eq!(values(&table, "x1"), ["0.5", "0", "0.001"]);
    assert_eq!(values(&table, "x3"), ["2", "0", "0"]);
    assert_eq!(values(&table, "label"), ["1", "-1", "1"]);
    let from_zero = text("1 0:5 1:6\n0 1:2\n", &ReadOptions::default());
    assert_eq!(from_zero.names(), ["label", "x0", "x1"]);
}

#[test]
fn json_keeps_what_it_says() {
    let rows = "{\"a\": \"12\", \"b\": {\"c\": 1.5}}\n{\"b\": {\"c\": null}, \"a\": \"NA\", \"d\": [1, 2]}\n";
    let table = text(rows, &ReadOptions::default());
    assert_eq!(table.names(), ["a", "b.c", "d"]);
    assert_eq!(table.column("a").unwrap().kind(), Kind::Category, "a string of digits is a string");
    assert_eq!(values(&table, "a"), ["12", "NA"], "the file could have said null");
    assert_eq!(values(&table, "b.c"), ["1.5", ""]);
    assert_eq!(values(&table, "d"), ["", "[1,2]"]);
}

#[test]
fn what_is_not_read_says_what_is() {
    for (bytes, name) in [(&b"\x89HDF\r\n"[..], "HDF5"), (b"\x80\x04\x95abc", "pickle")] {
        let error = csv::read_bytes("t", bytes.to_vec(), &ReadOptions::default()).expect_err("refused").to_string();
        assert!(error.contains(name) && error.contains("JSON lines") && error.contains("Parquet"), "{error}");
    }
    let error = csv::read_bytes("t", b"SQLite format 3\0".to_vec(), &ReadOptions::default()).expect_err("refused");
    assert!(error.to_string().contains("'sqlite:t?table=NAME'"), "{error}");
    let error = csv::read_bytes(
        "t",
        b"a,b\n1,2\n".to_vec(),
        &ReadOptions { encoding: Some("klingon".into()), ..ReadOptions::default() },
    );
    assert!(error.expect_err("refused").to_string().contains("latin-1"));
}

#[test]
fn what_is_not_utf_8_is_read_as_latin_1_and_said() {
    let table = csv::read_bytes("t", b"caf\xe9,b\n1,\xa3x\n".to_vec(), &ReadOptions::default()).expect("a table");
    assert_eq!(table.names(), ["café", "b"]);
    assert_eq!(values(&table, "b"), ["£x"]);
    assert!(table.assumed()[0].contains("windows-1252"));
}
