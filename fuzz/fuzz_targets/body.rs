//! Any body of a request is rows or an error in words, and every row gets its answer. The first byte is the media type.
#![no_main]

use ermine::{Ctx, X};
use ermine_app::{
    Fitted, file,
    wire::{Answer, Form, Media, Reader},
};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

/// A model of columns of every kind.
static MODEL: LazyLock<(Fitted, Reader)> = LazyLock::new(|| {
    let fitted = file::from_bytes(include_bytes!("../seeds/model/every_kind.ermine"), "model".as_ref()).unwrap();
    let reader = Reader::new(&fitted);
    (fitted, reader)
});

fuzz_target!(|bytes: &[u8]| {
    let Some((media, body)) = bytes.split_first() else { return };
    let media = [Media::Json, Media::Csv, Media::Arrow][usize::from(*media) % 3];
    let (fitted, reader) = &*MODEL;
    let Ok((table, form)) = reader.read(body, media, 1000) else { return };
    let Ok(frame) = fitted.frame(&table) else { return };
    let x = X::dense(&frame.x.values, frame.x.cols).unwrap();
    let ctx = Ctx::new(0).with_threads(1);
    let Ok(said) = fitted.outputs_of(&ctx, &x, &frame.texts, &fitted.natural_outputs()) else { return };
    let answer = Answer { fitted, said: &said, rows: 0..table.rows(), interval: None, explained: &[] };
    match form {
        Form::Csv => assert_eq!(answer.csv().unwrap().split(|byte| *byte == b'\n').count(), table.rows() + 2),
        Form::Arrow => assert!(!answer.arrow().unwrap().is_empty()),
        form => assert!(std::str::from_utf8(&answer.json(form, &[])).is_ok()),
    }
});
