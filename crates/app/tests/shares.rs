//! A table in any number of files, read by any number of workers, is the table of one file read by one.

use ermine_app::{
    read::{
        self, ReadOptions, csv,
        shares::{self, Held},
    },
    table::{Column, Kind, Table},
};
use ermine_core::{ctx::workers, error::Result};
use proptest::prelude::*;
use std::path::{Path, PathBuf};

/// What all workers have, one behind the other.
fn read(files: &[PathBuf], options: &ReadOptions, count: usize) -> Result<Table> {
    let parts: Vec<Result<Held>> = workers(count, |exchange| shares::read(files, options, &exchange));
    let mut whole: Option<Table> = None;
    for part in parts {
        let part = part?;
        assert_eq!(part.first, whole.as_ref().map_or(0, Table::rows));
        match &mut whole {
            None => whole = Some(part.table),
            Some(whole) => whole.append(&part.table)?,
        }
        assert_eq!(part.summary[0].rows, part.total);
    }
    Ok(whole.expect("one worker at least"))
}

fn write(folder: &Path, name: &str, header: &str, lines: &[String], newline_at_end: bool) -> PathBuf {
    let path = folder.join(name);
    let end = if newline_at_end { "\n" } else { "" };
    std::fs::write(&path, format!("{header}\n{}{end}", lines.join("\n"))).unwrap();
    path
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// Fields of every sort, so that what one part takes for a number, a date or nothing is something else in the next;
    /// line ends and quotes inside fields, so that no worker can tell by itself where a record begins.
    #[test]
    fn cuts_do_not_matter(
        fields in prop::collection::vec(prop::array::uniform3(0usize..12), 1..60),
        cuts in prop::collection::vec(0usize..60, 0..4),
        count in 1usize..8,
    ) {
        let values = [
            "1", "2.5", "", "2024-03-01", "2024-03-01T10:00:00", "true", "town", "\"a,b\"", "\"two\nlines\"", "\"say \"\"x\n\"\"\n\"",
            "\"\n\n\"", "NA",
        ];
        // A column of numbers shows that rows stay in order.
        let line = |(i, row): (usize, &[usize; 3])| format!("{i},{}", row.map(|field| values[field]).join(","));
        let lines: Vec<String> = fields.iter().enumerate().map(line).collect();
        let folder = tempfile::tempdir().unwrap();
        let options = ReadOptions::default();
        let header = "row,a,\"b\nb\",c";
        let whole = write(folder.path(), "whole.csv", header, &lines, true);
        let expected = read::read(&whole, &options).unwrap();
        prop_assert_eq!(&read(&[whole], &options, count).unwrap(), &expected);

        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(lines.len())).chain([0, lines.len()]).collect();
        cuts.sort();
        // Whether strings are text is said by the head of the first file, which may be short here: the next test but
        // one is about that.
        let strings = expected.columns().map(|(name, column)| (name.to_string(), column.kind()));
        let kinds = strings.filter(|(_, kind)| matches!(kind, Kind::Category | Kind::Text)).collect();
        let options = ReadOptions { kinds, ..options };
        let files: Vec<PathBuf> = cuts.windows(2).enumerate()
            .map(|(k, cut)| write(folder.path(), &format!("part-{k}.csv"), header, &lines[cut[0]..cut[1]], k % 2 == 0))
            .collect();
        prop_assert_eq!(&read(&files, &options, count).unwrap(), &expected);
        prop_assert_eq!(&read(&read::files(&folder.path().join("part-*.csv")).unwrap(), &options, count).unwrap(), &expected);
    }
}

#[test]
fn gzip_is_read_whole_by_one_worker() {
    let folder = tempfile::tempdir().unwrap();
    let lines: Vec<String> = (0..500).map(|i| format!("{i},{}", ["x", "y", "z"][i % 3])).collect();
    let whole = write(folder.path(), "whole.csv", "n,c", &lines, true);
    let packed: Vec<PathBuf> = [(0, 200), (200, 500)]
        .iter()
        .map(|&(from, to)| {
            let plain = write(folder.path(), "plain.csv", "n,c", &lines[from..to], true);
            let path = folder.path().join(format!("part-{from:03}.csv.gz"));
            let mut packer =
                flate2::write::GzEncoder::new(std::fs::File::create(&path).unwrap(), flate2::Compression::fast());
            std::io::copy(&mut std::fs::File::open(plain).unwrap(), &mut packer).unwrap();
            packer.finish().unwrap();
            path
        })
        .collect();
    let expected = read::read(&whole, &ReadOptions::default()).unwrap();
    for count in [1, 2, 3, 5] {
        assert_eq!(read(&packed, &ReadOptions::default(), count).unwrap(), expected, "{count} workers");
    }
}

#[test]
fn text_or_category_is_decided_by_the_first_file() {
    let folder = tempfile::tempdir().unwrap();
    let words = |i: usize| format!("{i},some words that differ {i}");
    let first: Vec<String> = (0..300).map(words).collect();
    let second: Vec<String> = (0..300).map(|i| format!("{i},same")).collect();
    let options = ReadOptions::default();
    let kind = |first: &[String], second: &[String], options: &ReadOptions| {
        let files =
            [write(folder.path(), "a.csv", "n,t", first, true), write(folder.path(), "b.csv", "n,t", second, true)];
        read(&files, options, 3).unwrap().column("t").unwrap().kind()
    };
    assert_eq!(kind(&first, &second, &options), Kind::Text);
    assert_eq!(kind(&second, &first, &options), Kind::Category);
    let forced = ReadOptions { kinds: [("t".to_string(), Kind::Category)].into(), ..options };
    assert_eq!(kind(&first, &second, &forced), Kind::Category);
    let _ = csv::read(folder.path().join("a.csv"), &forced)
        .map(|table| assert!(matches!(table.column("t"), Ok(Column::Category(_)))));
}

#[test]
fn files_that_do_not_fit_together_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let lines: Vec<String> = (0..50).map(|i| format!("{i},{i}")).collect();
    let a = write(folder.path(), "a.csv", "x,y", &lines, true);
    let b = write(folder.path(), "b.csv", "x,z", &lines, true);
    let options = ReadOptions::default();
    for count in [1, 2, 4] {
        let errors = workers(count, |exchange| shares::read(&[a.clone(), b.clone()], &options, &exchange).err());
        for error in errors {
            let error = error.expect("every worker stops").to_string();
            assert!(error.contains("b.csv") && error.contains("'y'") && error.contains("a.csv"), "{error}");
        }
    }
    let swapped: Vec<String> = (0..50).map(|i| format!("{},{i}", 100 + i)).collect();
    let c = write(folder.path(), "c.csv", "y,x", &swapped, true);
    let table = read(&[a, c], &options, 2).unwrap();
    assert_eq!(table.column("y").unwrap().value_text(50), "100");
}
