//! One factor, several threads that have right-hand sides of their own.

use std::thread;
use std::time::Instant;

use tamarack::models::Model;
use tamarack::{Analysis, Error, Options, SymmetricCsc};

fn main() -> Result<(), Error> {
    let a: SymmetricCsc<f64> = "p2d5_200".parse::<Model>()?.generate()?;
    let mut options = Options::default();
    options.threads = Some(1); // each solve is its caller's work
    let factor = Analysis::new(a.pattern(), &options)?.factorize(&a)?;
    let callers = thread::available_parallelism().map_or(1, |n| n.get());
    let solves = 50;
    let work = |caller: usize| -> Result<f64, Error> {
        let mut solver = factor.share()?;
        let mut worst = 0.0f64;
        for step in 0..solves {
            let mut x = vec![(caller + step) as f64 + 1.0; a.n()]; // b, and then x
            let report = solver.solve_refined(&a, &mut x)?;
            worst = worst.max(report.componentwise_backward_error());
        }
        Ok(worst)
    };
    let began = Instant::now();
    work(0)?;
    let alone = began.elapsed().as_secs_f64();
    let began = Instant::now();
    let worst = thread::scope(|scope| {
        let threads: Vec<_> = (0..callers).map(|c| scope.spawn(move || work(c))).collect();
        let mut worst = 0.0f64;
        for thread in threads {
            let of_thread = thread
                .join()
                .unwrap_or_else(|p| std::panic::resume_unwind(p))?;
            worst = worst.max(of_thread);
        }
        Ok::<_, Error>(worst)
    })?;
    let together = began.elapsed().as_secs_f64();
    println!(
        "one thread: {:.0} solves a second; {callers} threads: {:.0}, backward error {worst:.1e}",
        solves as f64 / alone,
        (callers * solves) as f64 / together
    );
    Ok(())
}
