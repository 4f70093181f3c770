//! Is a message spam? Words to counts, counts to naive Bayes, and the words that tell most.

use ermine::{prelude::*, text::Counts};

pub fn main() -> Result<()> {
    let messages = [
        ("win a free prize now", true),
        ("free entry, claim your prize", true),
        ("urgent: you won cash, call now", true),
        ("cash prize waiting, reply to claim", true),
        ("are you home for dinner", false),
        ("call me when you are home", false),
        ("see you at the station at six", false),
        ("dinner was great, thank you", false),
    ];
    let (texts, spam): (Vec<&str>, Vec<bool>) = messages.into_iter().unzip();
    let ctx = Ctx::default();
    let (words, counts) = Counts::default().fit_transform(&texts, &ctx)?;
    let fit = MultinomialNB::default().fit(&Data::from_rows(&counts)?.labels(&spam)?, &ctx)?;

    let new = ["claim your free cash", "dinner at six"];
    for (text, label) in new.iter().zip(fit.predict_labels(&words.transform(&new, &ctx)?)?) {
        println!("{text}: {}", if label == true { "spam" } else { "not spam" });
    }
    for (column, odds) in fit.model.most_telling(1, 5) {
        println!("{:<8} {odds:+.2}", words.vocabulary()[column]);
    }
    Ok(())
}
