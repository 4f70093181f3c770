//! Text against scikit-learn's vectorizers (recorded by reference/text.py).

use ermine::{
    Ctx, OwnedCsr,
    text::{Analyzer, Counts, Hashed, Norm, TextModel, Tfidf, simple_features},
};
use serde_json::Value;

fn options(case: &Value) -> Counts {
    let mut counts = Counts::default();
    for (name, value) in case.as_object().unwrap() {
        match name.as_str() {
            "ngram_range" => counts.ngram_range = serde_json::from_value(value.clone()).unwrap(),
            "min_df" => counts.min_df = value.as_f64().unwrap(),
            "max_df" => counts.max_df = value.as_f64().unwrap(),
            "binary" => counts.binary = value.as_bool().unwrap(),
            "lowercase" => counts.lowercase = value.as_bool().unwrap(),
            "stop_words" => counts.stop_words = serde_json::from_value(value.clone()).unwrap(),
            "analyzer" if value == "char" => counts.analyzer = Analyzer::Char,
            "analyzer" => counts.analyzer = Analyzer::CharWb,
            other => panic!("{other}"),
        }
    }
    counts
}

fn assert_rows(what: &str, ours: &OwnedCsr, theirs: &Value) {
    ours.check().unwrap();
    let theirs = theirs.as_array().unwrap();
    assert_eq!(ours.rows(), theirs.len());
    for (i, theirs) in theirs.iter().enumerate() {
        let cells = ours.starts[i]..ours.starts[i + 1];
        let theirs = theirs.as_array().unwrap();
        assert_eq!(cells.len(), theirs.len(), "{what}, document {i}");
        for (at, cell) in cells.zip(theirs) {
            assert_eq!(u64::from(ours.columns[at]), cell[0].as_u64().unwrap(), "{what}, document {i}");
            let value = cell[1].as_f64().unwrap();
            assert!((ours.values[at] - value).abs() < 1e-12, "{what}, document {i}: {} {value}", ours.values[at]);
        }
    }
}

#[test]
fn vectorizers_equal_scikit_learn() {
    let reference: Value = serde_json::from_str(include_str!("reference/text.json")).unwrap();
    let documents: Vec<&str> = reference["documents"].as_array().unwrap().iter().map(|d| d.as_str().unwrap()).collect();
    let ctx = Ctx::new(0);
    for case in reference["cases"].as_array().unwrap() {
        let (what, counts) = (case["options"].to_string(), options(&case["options"]));
        let (model, x) = counts.fit_transform(&documents, &ctx).unwrap();
        let vocabulary: Vec<String> = serde_json::from_value(case["vocabulary"].clone()).unwrap();
        assert_eq!(model.vocabulary(), vocabulary, "{what}");
        assert_rows(&what, &x, &case["counts"]);
        assert_eq!(model.transform(&documents, &ctx).unwrap(), x, "{what}");
        let tfidf = Tfidf { counts: counts.clone(), ..Tfidf::default() };
        let (model, x) = tfidf.fit_transform(&documents, &ctx).unwrap();
        assert_rows(&what, &x, &case["tfidf"]);
        let loaded = TextModel::from_bytes(&model.to_bytes()).unwrap();
        assert_eq!(loaded.transform(&documents, &ctx).unwrap(), x, "{what}");
        assert!(loaded == model, "{what}: a model that was used and one that was not");
        let sublinear = Tfidf { sublinear_tf: true, smooth_idf: false, norm: Norm::L1, ..tfidf };
        assert_rows(&what, &sublinear.fit_transform(&documents, &ctx).unwrap().1, &case["sublinear"]);
        let hashed = Hashed { counts, n_features: 50, ..Hashed::default() };
        assert_rows(&what, &hashed.transform(&documents, &ctx).unwrap(), &case["hashed"]);
    }
}

#[test]
fn the_result_does_not_depend_on_threads() {
    let mut rng = Ctx::new(2).rng("words", 0);
    let documents: Vec<String> = (0..900)
        .map(|_| (0..rng.below(40)).map(|_| format!("w{} ", (rng.uniform().powi(3) * 500.0) as usize)).collect())
        .collect();
    let documents: Vec<&str> = documents.iter().map(String::as_str).collect();
    let tfidf = Tfidf { counts: Counts { max_features: Some(200), ..Counts::default() }, ..Tfidf::default() };
    let one = tfidf.fit_transform(&documents, &Ctx::new(0).with_threads(1)).unwrap();
    for threads in [2, 7] {
        assert!(one == tfidf.fit_transform(&documents, &Ctx::new(0).with_threads(threads)).unwrap());
    }
    assert_eq!(one.0.vocabulary().len(), 200);
    let error = Counts { min_df: 1000.0, ..Counts::default() }.fit_transform(&documents, &Ctx::new(0));
    assert!(error.unwrap_err().to_string().contains("min_df"));
    assert!(Counts::default().fit_transform(&["", "!"], &Ctx::new(0)).is_err());
    assert_eq!(simple_features("Two words. And three more!"), [5.0, 4.0, 2.0, 2.5]);
}
