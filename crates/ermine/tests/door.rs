//! The crate as a program uses it: typed estimators check what they are given, predictions have names, a fit is saved
//! and loaded.

use ermine::{MODELS, Value, core::param::Form, prelude::*};

fn rows(count: usize) -> Vec<[f64; 3]> {
    let mut rng = Ctx::new(5).rng("door", 0);
    (0..count).map(|i| [i as f64 / 10.0, rng.uniform(), (i % 4) as f64]).collect()
}

/// Values that no parameter of these forms may have.
fn refused(forms: &[Form]) -> Vec<Value> {
    let mut bad = vec![Value::Float(f64::NAN), Value::List(vec![Value::Float(f64::NAN)])];
    for form in forms {
        let inner = if let Form::List(inner) = form { inner.as_slice() } else { std::slice::from_ref(form) };
        for form in inner {
            if let Form::Int(range) | Form::Float(range) = form {
                for number in [range.low - 1.0, range.high + 1.0, range.low] {
                    bad.push(Value::Float(number));
                    bad.push(Value::List(vec![Value::Float(number)]));
                }
            }
        }
    }
    bad.retain(|value| !ermine::core::param::allows(forms, value));
    bad
}

/// Every parameter of one estimator outside its range, set in the struct as a program does; how many could be set at
/// all.
fn refuses_by_name<E: Estimator>() -> usize {
    let cols = if E::INFO.one_column { 1 } else { 3 };
    let x: Vec<Vec<f64>> = rows(12).iter().map(|row| row[..cols].to_vec()).collect();
    let (classes, numbers) = ([0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2], [1.0, 2.0, 4.0, 3.0].repeat(3));
    let data = Data::from_rows(&x).unwrap();
    let data = match E::INFO.task {
        ermine::Task::Classification => data.labels(&classes).unwrap(),
        _ => data.real(&numbers).unwrap(),
    };
    let mut tried = 0;
    for param in E::declared() {
        for value in refused(&param.forms) {
            let mut params = E::default();
            if params.put(param.name, &value) && Params::values(&params)[param.name] != param.default {
                let error = params.fit(&data, &Ctx::default()).err();
                let error = error.unwrap_or_else(|| panic!("{}: {} took {value}", E::NAME, param.name)).to_string();
                assert!(error.contains(E::NAME) && error.contains(&format!("{} is", param.name)), "{value}: {error}");
                tried += 1;
            }
        }
    }
    tried
}

#[test]
fn a_struct_filled_in_by_hand_is_checked_before_a_fit() {
    let (mut tried, mut models) = (0, 0);
    macro_rules! try_one {
        ($model:ty) => {
            tried += refuses_by_name::<$model>();
            models += 1;
        };
    }
    ermine::for_each_model!(try_one);
    assert_eq!(models, MODELS.len());
    assert!(tried > 500, "only {tried} values were tried");
    let data = rows(9);
    let none = KMeans { n_init: cluster::Starts::Number(0), ..Default::default() };
    let error = none.fit(&Data::from_rows(&data).unwrap(), &Ctx::default()).err().unwrap().to_string();
    assert!(error.starts_with("KMeans: n_init is 0"), "{error}");
}

#[test]
fn data_that_a_model_cannot_take_are_refused_in_words() {
    let x = rows(6);
    let message = |data: Data| Ridge::default().fit(&data, &Ctx::default()).err().unwrap().to_string();
    assert_eq!(message(Data::from_rows(&x).unwrap()), "Ridge needs a target of numbers");
    assert_eq!(message(Data::from_rows(&x).unwrap().labels(&[true; 6]).unwrap()), "Ridge needs a target of numbers");
    let mut holes = x.clone();
    holes[2][1] = f64::NAN;
    let error = message(Data::from_rows(&holes).unwrap().real(vec![1.0; 6]).unwrap());
    assert!(error.contains("column 1, row 2") && error.contains("NaN"), "{error}");
    let error = Data::from_rows(&x).unwrap().labels(&["a", "b"]).err().unwrap().to_string();
    assert!(error.contains("6 class codes"), "{error}");
}

#[test]
fn labels_of_every_kind_come_back() -> Result<()> {
    let x = rows(40);
    let large = |i: usize| i >= 20;
    let text: Vec<String> = (0..40).map(|i| if large(i) { "large".into() } else { "small".into() }).collect();
    let slices: Vec<&str> = text.iter().map(String::as_str).collect();
    let numbers: Vec<i32> = (0..40).map(|i| if large(i) { 7 } else { -3 }).collect();
    let truths: Vec<bool> = (0..40).map(large).collect();
    let all = |data: Data| -> Result<Vec<Label>> {
        let fit = LogisticRegression { C: 100.0, ..Default::default() }.fit(&data, &Ctx::default())?;
        assert_eq!(fit.score(&data)?, 1.0);
        assert_eq!(fit.predict_proba(&data)?.cols, 2);
        fit.predict_labels(&[x[3], x[30]])
    };
    let data = || Data::from_rows(&x);
    assert_eq!(all(data()?.labels(&text)?)?, ["small", "large"]);
    assert_eq!(all(data()?.labels(&slices)?)?, ["small", "large"]);
    assert_eq!(all(data()?.labels(&numbers)?)?, [-3, 7]);
    assert_eq!(all(data()?.labels(&truths)?)?, [false, true]);
    // Without names the classes are their numbers.
    assert_eq!(all(data()?.classes((0..40).map(|i| u32::from(large(i))).collect::<Vec<_>>(), 2)?)?, [0, 1]);
    Ok(())
}

/// Test data may have fewer labels, more of them, and number them in another way.
#[test]
fn scores_compare_labels_and_not_their_numbers() -> Result<()> {
    let x = rows(30);
    let text: Vec<&str> = (0..30).map(|i| ["a", "b", "c"][i / 10]).collect();
    let fit = DecisionTreeClassifier::default().fit(&Data::from_rows(&x)?.labels(&text)?, &Ctx::default())?;
    assert_eq!(fit.labels(), ["a", "b", "c"]);
    assert_eq!(fit.score(&Data::from_rows(&x[20..])?.labels(&text[20..])?)?, 1.0);
    let mut others = text.clone();
    others[29] = "never seen";
    assert_eq!(fit.score(&Data::from_rows(&x[20..])?.labels(&others[20..])?)?, 0.9);
    assert!(fit.score(&Data::from_rows(&x)?).is_err());
    Ok(())
}

#[test]
fn rows_of_every_form_are_the_same_rows() -> Result<()> {
    let x = rows(8);
    let y: Vec<f64> = x.iter().map(|row| row[0] - row[2]).collect();
    let flat = x.as_flattened();
    let nested: Vec<Vec<f64>> = x.iter().map(|row| row.to_vec()).collect();
    let slices: Vec<&[f64]> = x.iter().map(|row| row.as_slice()).collect();
    let matrix = Matrix::new(flat.to_vec(), 8, 3);
    let fit = Ridge::default().fit(&Data::from_rows(&x)?.real(&y)?, &Ctx::default())?;
    let said = fit.predict(&x)?;
    assert_eq!(said, fit.predict(&X::dense(flat, 3)?)?);
    assert_eq!(said, fit.predict(&nested)?);
    assert_eq!(said, fit.predict(&slices[..])?);
    assert_eq!(said, fit.predict(&matrix)?);
    assert_eq!(said[..2], fit.predict(&[x[0], x[1]])?);
    let owned = Data::new(matrix).real(y)?;
    assert_eq!(said, fit.predict(&owned)?);
    assert!(fit.score(&owned)? > 0.9);
    let error = fit.predict(&[[1.0, 2.0]]).err().unwrap().to_string();
    assert!(error.contains("2 features, but the model was fitted with 3"), "{error}");
    Ok(())
}

#[test]
fn transformers_clusters_and_pipelines_have_the_same_methods() -> Result<()> {
    let x = rows(30);
    let data = Data::from_rows(&x)?;
    let scaled = StandardScaler::default().fit(&data, &Ctx::default())?.transform(&x)?;
    assert_eq!((scaled.rows, scaled.cols), (30, 3));
    let clusters = KMeans { n_clusters: 2, ..Default::default() }.fit(&data, &Ctx::new(1))?.predict(&x)?;
    assert!(clusters.contains(&0.0) && clusters.contains(&1.0));
    assert!(StandardScaler::default().fit(&data, &Ctx::default())?.predict(&x).is_err());
    let names: Vec<&str> = (0..30).map(|i| if i < 15 { "low" } else { "high" }).collect();
    let data = data.labels(&names)?;
    let pipeline = Pipeline::new(&[StandardScaler::default().into(), SVC::default().into()])?;
    let fit = pipeline.fit(&data, &Ctx::default())?;
    assert_eq!(fit.predict_labels(&x[..1])?, ["low"]);
    assert!(cross_val_score(&pipeline, &data, 3, &Ctx::new(2))?.iter().all(|&share| share > 0.6));
    let (train, test) = train_test(&data, 0.2, 1)?;
    assert!(pipeline.fit(&train, &Ctx::default())?.score(&test)? > 0.6);
    Ok(())
}

#[test]
fn a_fit_is_saved_whole_and_loaded_by_its_type() -> Result<()> {
    let folder = std::env::temp_dir().join(format!("ermine-door-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (x, path) = (rows(20), folder.join("a model.fit"));
    let names: Vec<&str> = (0..20).map(|i| if i < 10 { "low" } else { "high" }).collect();
    let data = Data::from_rows(&x)?.labels(&names)?;
    let fit = LogisticRegression::default().fit(&data, &Ctx::default())?;
    fit.save(&path)?;
    let loaded = LogisticRegression::load(&path)?;
    assert_eq!(loaded.predict_proba(&x)?, fit.predict_proba(&x)?);
    assert_eq!(loaded.predict_labels(&x)?, fit.predict_labels(&x)?);
    assert_eq!((loaded.log.to_string(), loaded.about), (fit.log.to_string(), fit.about.clone()));
    let error = Ridge::load(&path).err().unwrap().to_string();
    assert!(error.ends_with("a model.fit: this is a fit of LogisticRegression, not of Ridge"), "{error}");
    // Of any type; written over what is there.
    let pipeline =
        Pipeline::new(&[SimpleImputer::default().into(), GaussianNB::default().into()])?.fit(&data, &Ctx::default())?;
    pipeline.save(&path)?;
    let mut holes = x.clone();
    holes[3][1] = f64::NAN;
    assert_eq!(ermine::load(&path)?.predict_labels(&holes)?, pipeline.predict_labels(&holes)?);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "something was left beside the file");
    // Nothing is damaged without being noticed.
    let bytes = fit.to_bytes();
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        assert!(ermine::from_bytes(&flipped).is_err() && ermine::from_bytes(&bytes[..at]).is_err(), "byte {at}");
    }
    assert!(Ridge::load(folder.join("none")).err().unwrap().to_string().contains("cannot read"));
    assert!(fit.save(folder.join("no/where")).is_err());
    std::fs::remove_dir_all(&folder).unwrap();
    Ok(())
}

#[test]
fn specs_are_read_and_made() {
    assert_eq!(Spec::parse("LinearRegression").unwrap(), Spec::new("LinearRegression"));
    assert_eq!("Ridge(alpha=2)".parse::<Spec>().unwrap().to_string(), "Ridge(alpha=2)");
    assert!(Spec::parse("no model, this").is_none() && "".parse::<Spec>().is_err());
    let spec = Spec::from(Ridge { alpha: 2.0, ..Default::default() });
    assert_eq!((spec.name.as_str(), spec.params["alpha"].to_string().as_str()), ("Ridge", "2.0"));
    assert!(ermine::make(&spec).is_ok());
}

/// Fits go from thread to thread, and errors through `?` into whatever a program has.
#[test]
fn fits_and_errors_travel() {
    fn travels<T: Send + Sync + 'static>() {}
    fn is_error<T: std::error::Error + Send + Sync + 'static>() {}
    macro_rules! model_travels {
        ($model:ty) => {
            travels::<$model>();
            travels::<Fit<<$model as Estimator>::Model>>();
        };
    }
    ermine::for_each_model!(model_travels);
    travels::<Fit<Box<dyn ermine::AnyModel>>>();
    travels::<Pipeline>();
    travels::<Data<'static>>();
    travels::<Ctx>();
    is_error::<Error>();
    let boxed = || -> std::result::Result<(), Box<dyn std::error::Error + Send + Sync>> {
        Ridge { alpha: -1.0, ..Default::default() }.fit(&Data::from_rows(&[[1.0]])?.real(&[1.0])?, &Ctx::default())?;
        Ok(())
    };
    assert!(boxed().unwrap_err().to_string().contains("alpha is -1"));
}
