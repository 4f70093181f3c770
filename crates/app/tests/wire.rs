//! Rows over a wire: every form gives the same table, and answers come back in it.

use arrow_array::{Array, ArrayRef, Float64Array, RecordBatch, StringArray, cast::AsArray, types::Float64Type};
use arrow_ipc::{reader::StreamReader, writer::StreamWriter};
use ermine::{Ctx, Output, Spec, X};
use ermine_app::{
    Fitted, Job,
    wire::{Answer, Form, Media, Reader, Refused},
};
use std::{fs, sync::Arc};

fn fitted() -> Fitted {
    let folder = tempfile::tempdir().unwrap();
    let mut text = "size,kind,when,flag,class\n".to_string();
    for i in 0..60 {
        let kind = ["red", "blue", ""][i % 3];
        text += &format!("{},{kind},2024-0{}-11,{},{}\n", i % 17, 1 + i % 9, i % 2 == 0, ["a", "b"][i % 7 / 4]);
    }
    fs::write(folder.path().join("t.csv"), text).unwrap();
    let mut job = Job::new(folder.path().join("t.csv"));
    (job.model, job.target, job.folds, job.test) =
        (Some(Spec::new("LogisticRegression")), Some("class".into()), 0, 0.0);
    job.run(&Ctx::new(0)).unwrap().0
}

#[test]
fn forms_agree() {
    let fitted = fitted();
    let reader = Reader::new(&fitted);
    let records = br#"[{"size": 3, "kind": "red", "when": "2024-03-01", "flag": true},
        {"flag": null, "kind": "green", "size": "NA", "other": [1], "when": "2024-05-01"}]"#;
    let columns = br#"{"columns": {"size": [3.0, null], "kind": ["red", "green"], "flag": ["true", ""],
        "when": ["2024-03-01", "2024-05-01"]}}"#;
    let csv = b"when,flag,size,kind\n2024-03-01,true,3,red\n2024-05-01,,,green\n";
    let strings = |values: Vec<Option<&str>>| Arc::new(StringArray::from(values)) as ArrayRef;
    let batch = RecordBatch::try_from_iter([
        ("kind", strings(vec![Some("red"), Some("green")])),
        ("size", Arc::new(Float64Array::from(vec![Some(3.0), None])) as ArrayRef),
        ("flag", strings(vec![Some("true"), None])),
        ("when", strings(vec![Some("2024-03-01"), Some("2024-05-01")])),
    ])
    .unwrap();
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    let arrow = writer.into_inner().unwrap();
    let (expected, form) = reader.read(records, Media::Json, 10).unwrap();
    assert_eq!((form, expected.rows()), (Form::Records, 2));
    for (bytes, media, wanted) in [
        (&columns[..], Media::Json, Form::Columns),
        (&csv[..], Media::Csv, Form::Csv),
        (&arrow[..], Media::Arrow, Form::Arrow),
    ] {
        let (table, form) = reader.read(bytes, media, 10).unwrap();
        assert_eq!(form, wanted);
        for (name, column) in expected.columns() {
            assert_eq!(column, table.column(name).unwrap(), "{name} as {form:?}");
        }
        assert_eq!(reader.read(bytes, media, 1), Err(Refused::TooMany(1)));
    }

    let frame = fitted.frame(&expected).unwrap();
    let x = X::dense(&frame.x.values, frame.x.cols).unwrap();
    let said = fitted.outputs_of(&Ctx::new(0), &x, &frame.texts, &fitted.natural_outputs()).unwrap();
    let answer = Answer { fitted: &fitted, said: &said, rows: 0..2, interval: None, explained: &[] };
    let bytes = answer.arrow().unwrap();
    let mut back = StreamReader::try_new(&bytes[..], None).unwrap();
    let batch = back.next().unwrap().unwrap();
    let class = batch.column_by_name("class").unwrap().as_string::<i32>();
    let shares = batch.column_by_name("p(a)").unwrap().as_primitive::<Float64Type>();
    let probability = &said.iter().find(|(output, _)| *output == Output::Probability).unwrap().1;
    for row in 0..2 {
        assert_eq!(shares.value(row), probability[(row, 0)]);
        assert_eq!(class.value(row), if probability[(row, 0)] >= 0.5 { "a" } else { "b" });
    }
    assert_eq!(class.len(), 2);
}

#[test]
fn what_is_no_table_is_refused() {
    let fitted = fitted();
    let reader = Reader::new(&fitted);
    for (bytes, media) in [
        (&b"[{]"[..], Media::Json),
        (b"\xff\xfe", Media::Json),
        (b"size\n\xff\n", Media::Csv),
        (b"", Media::Arrow),
        (b"ARROW1 and no more", Media::Arrow),
        (b"PK\x03\x04\xff\xff\xff", Media::Csv),
    ] {
        assert!(matches!(reader.read(bytes, media, 10), Err(Refused::Syntax(_))), "{bytes:?}");
    }
    let Err(Refused::Cells(cells, count)) =
        reader.read(br#"[{"size": "big", "kind": 7, "when": "soon", "flag": 2}]"#, Media::Json, 10)
    else {
        panic!("it was taken")
    };
    let columns: Vec<&str> = cells.iter().filter_map(|cell| cell.column.as_deref()).collect();
    assert_eq!((count, columns), (3, vec!["size", "when", "flag"]));
}
