//! A spam filter: words to multinomial naive Bayes, cross-validated, with the most telling words of each class.
//!
//!     cargo run --release --example spam -- sms_spam.csv
//!
//! The file has a header and two columns: the label (ham or spam) and the text, quoted where it holds commas or quotes.

use ermine::{
    Ctx, Data, Estimator, Output, Result, X,
    bayes::MultinomialNB,
    core::data::{Batch, Target},
    predict,
    split::Folds,
    text::Counts,
};

const CLASSES: [&str; 2] = ["ham", "spam"];

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("which file? give the path of a CSV with a label and a text")?;
    let mut records = records(&std::fs::read_to_string(&path)?);
    let header = records.remove(0);
    let column = |name: &str| header.iter().position(|found| found == name);
    let (label, text) = (column("label").unwrap_or(0), column("text").unwrap_or(1));
    records.retain(|record| record.len() == header.len());
    let codes: Vec<u32> = records.iter().map(|record| u32::from(record[label] == CLASSES[1])).collect();
    let texts: Vec<&str> = records.iter().map(|record| record[text].as_str()).collect();
    run(&texts, &codes)?;
    Ok(())
}

fn run(texts: &[&str], codes: &[u32]) -> Result<()> {
    let ctx = Ctx::new(0);
    let (words, model) = (Counts::default(), MultinomialNB::default());
    // Folds look at the target alone.
    let nothing = vec![0.0; codes.len()];
    let y = Target::Class { codes, classes: 2 };
    let batch = Batch { x: X::dense(&nothing, 1)?, y, weights: None, first: 0 };
    let folds = Folds::Stratified { n_splits: 10, shuffle: true }.split(&batch, None, ctx.seed)?;
    let mut table = [[0usize; 2]; 2];
    for fold in &folds {
        let pick = |rows: &[usize]| -> (Vec<&str>, Vec<u32>) { rows.iter().map(|&i| (texts[i], codes[i])).unzip() };
        let ((train, train_codes), (test, test_codes)) = (pick(&fold.train), pick(&fold.test));
        // The vocabulary is part of what is learned: words of the held-out texts are not known.
        let (vocabulary, x) = words.fit_transform(&train, &ctx)?;
        let fit = model.fit(&Data::new(x.x()).classes(&train_codes, 2)?, &ctx)?;
        let x = vocabulary.transform(&test, &ctx)?;
        let found = predict(&ctx, &fit.model, &x.x(), Output::Class, false)?;
        for (&truth, &found) in test_codes.iter().zip(&found.values) {
            table[truth as usize][found as usize] += 1;
        }
    }
    let [[kept, lost], [missed, caught]] = table.map(|row| row.map(|count| count as f64));
    let (precision, recall) = (caught / (caught + lost), caught / (caught + missed));
    println!("{} texts, {} spam, 10 folds", codes.len(), codes.iter().sum::<u32>());
    println!("accuracy           {:.4}", (kept + caught) / codes.len() as f64);
    println!("spam: precision    {precision:.4}");
    println!("spam: recall       {recall:.4}");
    println!("spam: F1           {:.4}", 2.0 * precision * recall / (precision + recall));
    println!("ham kept {kept}, ham lost {lost}, spam missed {missed}, spam caught {caught}\n");

    let (vocabulary, x) = words.fit_transform(texts, &ctx)?;
    let fit = model.fit(&Data::new(x.x()).classes(codes, 2)?, &ctx)?;
    for (class, name) in CLASSES.iter().enumerate() {
        println!("most telling words of {name} (log-odds of one occurrence)");
        for (column, odds) in fit.model.most_telling(class, 10) {
            println!("  {:<12} {odds:+.2}", vocabulary.vocabulary()[column]);
        }
    }
    Ok(())
}

/// Records of a CSV text with quoted fields.
fn records(text: &str) -> Vec<Vec<String>> {
    let (mut records, mut record, mut field, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => field.extend(chars.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => record.push(std::mem::take(&mut field)),
            '\n' if !quoted => {
                record.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut record));
            }
            c => field.push(c),
        }
    }
    if !field.is_empty() {
        record.push(field);
        records.push(record);
    }
    records
}
