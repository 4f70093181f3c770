//! Properties of tables and files of any content.

use super::*;

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
