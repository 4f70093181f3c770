//! Times of kernel models on files of raw f64, for comparison with other libraries: `kernel_times Model rows cols x.bin
//! y.bin queries [parameter=value ...]` prints the seconds of fit and predict and the log. The last `queries` rows are
//! predicted and not fitted; a `csr` in place of cols reads starts, columns and values from x.bin.*.

use ermine::{Ctx, Data, Output, Result, Task, Value, Values, X, predict};
use std::time::Instant;

fn floats(path: &str) -> Vec<f64> {
    let bytes = std::fs::read(path).expect("a readable file");
    bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().expect("eight bytes"))).collect()
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let (rows, queries): (usize, usize) = (args[2].parse().expect("rows"), args[6].parse().expect("queries"));
    let values = floats(&args[4]);
    let (starts, columns);
    let x = if let Some(cols) = args[3].strip_prefix("csr") {
        starts = floats(&format!("{}.starts", args[4])).iter().map(|v| *v as usize).collect::<Vec<_>>();
        columns = floats(&format!("{}.columns", args[4])).iter().map(|v| *v as u32).collect::<Vec<_>>();
        X::csr(&starts, &columns, &values, cols.parse().expect("cols"))?
    } else {
        X::dense(&values, args[3].parse().expect("cols"))?
    };
    let y = floats(&args[5]);
    let codes: Vec<u32> = y.iter().map(|v| *v as u32).collect();
    let entry = ermine::entry(&args[1])?;
    let mut params = Values::new();
    for arg in &args[7..] {
        let (name, value) = arg.split_once('=').expect("parameter=value");
        params.insert(name.into(), Value::parse(value));
    }
    let train = rows - queries;
    let data = Data::new(x.slice(0..train));
    let classes = codes.iter().max().map_or(0, |c| *c as usize + 1);
    let data = match entry.info.task {
        Task::Classification => data.classes(&codes[..train], classes)?,
        Task::Regression => data.real(&y[..train])?,
        _ => data,
    };
    let ctx = Ctx::new(0);
    let start = Instant::now();
    let fit = (entry.make)(&params)?.fit(&data, &ctx)?;
    print!("fit {:.4}", start.elapsed().as_secs_f64());
    if queries > 0 {
        let (output, _) = fit.model.outputs()[0];
        let start = Instant::now();
        let out = predict(&ctx, &*fit.model, &x.slice(train..rows), output, false)?;
        print!(" predict {:.4}", start.elapsed().as_secs_f64());
        if output == Output::Class {
            let right = out.values.iter().zip(&y[train..]).filter(|(a, b)| a == b).count();
            print!(" accuracy {:.5}", right as f64 / queries as f64);
        }
    }
    let objective = fit.log.objective.last().copied().unwrap_or(f64::NAN);
    println!(
        " passes {} objective {objective:.6} {} {:?} {:?}",
        fit.log.passes(),
        fit.log.stop(),
        fit.log.certificate(),
        fit.log.notes
    );
    Ok(())
}
