//! Parquet files, written by their own library.

use super::*;
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
