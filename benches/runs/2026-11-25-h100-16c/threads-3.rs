//! Refactorizations and solves of one matrix by so many threads, repeated in one process: least and median, in microseconds.
//!
//! `threads-3 FILE|model:NAME THREADS REPETITIONS`; the order is nested dissection's, or what `auto` takes where the environment has AUTO.

use std::time::Instant;

use tamarack::{Analysis, Method, Options, SymmetricCsc};

fn load(name: &str) -> Result<SymmetricCsc<f64>, Box<dyn std::error::Error>> {
    Ok(match name.strip_prefix("model:") {
        Some(model) => model.parse::<tamarack::models::Model>()?.generate()?,
        None => tamarack::io::read_matrix(name, &Default::default())?,
    })
}

fn least_and_median(count: usize, mut work: impl FnMut()) -> String {
    let one = |_| {
        let start = Instant::now();
        work();
        1e6 * start.elapsed().as_secs_f64()
    };
    let mut secs: Vec<f64> = (0..count).map(one).collect();
    secs.sort_by(f64::total_cmp);
    format!("{:.1}/{:.1} us", secs[0], secs[count / 2])
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let (a, count) = (load(&args[1])?, args[3].parse()?);
    let mut options = Options::default();
    options.threads = Some(args[2].parse()?);
    if std::env::var("AUTO").is_err() { options.ordering = Method::NestedDissection(Default::default()).into(); }
    let analysis = Analysis::new(a.pattern(), &options)?;
    let mut factor = analysis.factorize(&a)?;
    for _ in 0..5 {
        factor.refactorize(&a)?;
    }
    let refactor = least_and_median(count, || factor.refactorize(&a).unwrap_or(()));
    let plan = analysis.plan();
    print!("refactor {refactor}, subtrees {} top {}", plan.subtrees().len(), plan.top().len());
    let mut x = vec![1.0; a.n()];
    let solve = least_and_median(5 * count, || {
        x.fill(1.0);
        factor.solve(&mut x).unwrap_or(());
    });
    let mut y = vec![1.0; 16 * a.n()];
    let many = least_and_median(count, || {
        y.fill(1.0);
        factor.solve(&mut y).unwrap_or(());
    });
    println!(" solve {solve} 16: {many}");
    Ok(())
}
