//! What a report says of its table: distributions, dates as dates, many levels as the most frequent ones.

use ermine::Ctx;
use ermine_app::{Job, Report, inspect::Picture};
use std::fmt::Write;

fn report(rows: usize, change: impl FnOnce(&mut Job)) -> Report {
    let mut text = String::from("day,town,size,noise,kind\n");
    for i in 0..rows {
        // 40 towns, the first ones more frequent; the third kind is rare and comes first.
        let town = (i * 13) % 40 * (i % 7).min(1);
        let size = if i % 9 == 0 { String::new() } else { format!("{}", i * 37 % 101) };
        let day = 1 + i * 28 / rows;
        let known = if town < 20 || i * 7919 % 1000 < 100 { "ant" } else { "bee" };
        let kind = if i == 0 { "zebra" } else { known };
        writeln!(text, "2024-02-{day:02},t{town},{size},{},{kind}", i * 7919 % 1000).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    std::fs::write(&path, text).unwrap();
    let mut job = Job::new(path);
    (job.target, job.insight) = (Some("kind".into()), true);
    change(&mut job);
    job.run(&Ctx::new(0).with_threads(2)).unwrap().1
}

#[test]
fn a_report_has_its_columns_and_none_of_its_rows() {
    let tree = |job: &mut Job| job.model = Some(ermine::Spec::new("DecisionTreeClassifier"));
    let found = report(400, tree);
    let look = found.insight.look.as_ref().expect("a look at the table");
    assert_eq!(look.columns[0].summary.name, "kind", "the target first");
    assert_eq!((look.columns.len(), look.rows, look.first.len()), (5, 400, 0));
    assert_eq!(look.incomplete, 400usize.div_ceil(9));
    // A class has one place wherever it is drawn, however frequent it is.
    let places: Vec<&str> = look.places.iter().map(|&place| found.classes[place].as_str()).collect();
    assert_eq!(places, look.classes);
    let strength: Vec<f64> =
        look.columns[1..].iter().map(|c| c.association.as_ref().map_or(-1.0, |a| a.value.abs())).collect();
    assert!(strength.is_sorted_by(|a, b| a >= b), "{strength:?}");
    let day = look.columns.iter().find(|column| column.summary.name == "day").unwrap();
    let Picture::Histogram { low_text, high_text, .. } = &day.picture else { panic!("a date has a histogram") };
    assert_eq!((low_text.as_str(), high_text.as_str()), ("2024-02-01", "2024-02-28"));
    assert!(
        found
            .insight
            .worst
            .iter()
            .flat_map(|row| &row.values)
            .all(|(name, value)| { name != "day" || value.starts_with("2024-02-") })
    );
    // Without a report nobody looks.
    let plain = report(100, |job| {
        tree(job);
        job.insight = false;
    });
    assert!(plain.insight.look.is_none());
}

#[test]
fn pictures_of_one_column_have_dates_and_the_most_frequent_levels() {
    let found = report(600, |job| {
        job.model = Some(ermine::Spec::new("RandomForestClassifier"));
        job.ignore = vec!["noise".into()];
    });
    let along = |name: &str| found.insight.dependence.iter().find(|curve| curve.name == name);
    let towns = along("town").expect("towns matter");
    assert!(towns.category && towns.of == "probability");
    assert_eq!((towns.at.len(), towns.labels.len(), towns.means[0].len()), (12, 12, 12));
    assert!(towns.others > 0);
    assert_eq!(towns.labels[0], "t0", "the most frequent town first");
    if let Some(day) = along("day") {
        assert!(day.dated && day.labels.iter().all(|label| label.starts_with("2024-02-")), "{:?}", day.labels);
    }
}
