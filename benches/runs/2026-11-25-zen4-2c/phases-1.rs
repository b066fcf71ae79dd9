//! Seconds of the phases of one matrix, one thread, repeated in one process: least and median, in microseconds.
//!
//! `phases-1 FILE REPETITIONS [nd]`

use std::time::Instant;

use tamarack::{Analysis, Options, SymmetricCsc};

fn least_and_median(mut secs: Vec<f64>) -> String {
    secs.sort_by(f64::total_cmp);
    format!("{:.1}/{:.1}", 1e6 * secs[0], 1e6 * secs[secs.len() / 2])
}

fn times(count: usize, mut work: impl FnMut()) -> String {
    let one = |_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    least_and_median((0..count).map(one).collect())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let a: SymmetricCsc<f64> = tamarack::io::read_matrix(&args[1], &Default::default())?;
    let count: usize = args[2].parse()?;
    let mut options = Options::default();
    options.threads = Some(1);
    if args.get(3).is_some_and(|name| name == "nd") {
        options.ordering = tamarack::Method::NestedDissection(Default::default()).into();
    }
    let b = vec![1.0; a.n()];
    let mut x = b.clone();
    let mut parts = [(); 3].map(|()| Vec::new());
    for _ in 0..count {
        let secs = Analysis::new(a.pattern(), &options)?.seconds();
        for (part, secs) in parts.iter_mut().zip([secs.order_secs, secs.symbolic_secs, secs.plan_secs]) {
            part.push(secs);
        }
    }
    let [order, symbolic, plan] = parts.map(least_and_median);
    let analysis = Analysis::new(a.pattern(), &options)?;
    let first = times(count, || drop(analysis.factorize(&a)));
    let mut factor = analysis.factorize(&a)?;
    let again = times(count, || factor.refactorize(&a).unwrap_or(()));
    factor.solve(&mut x)?;
    let solve = times(count, || {
        x.copy_from_slice(&b);
        factor.solve(&mut x).unwrap_or(());
    });
    let whole = times(count, || {
        let factor = Analysis::new(a.pattern(), &options).and_then(|analysis| analysis.factorize(&a));
        x.copy_from_slice(&b);
        factor.and_then(|mut factor| factor.solve(&mut x)).unwrap_or(());
    });
    println!("order {order} symbolic {symbolic} plan {plan} first {first} again {again} solve {solve} whole {whole}");
    Ok(())
}
