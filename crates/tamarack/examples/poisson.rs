//! Poisson's equation on a square: assemble, solve, look at the accuracy.

use tamarack::{Analysis, Duplicates, Error, Options, Triplets};

fn main() -> Result<(), Error> {
    // −Δu = 1 on the unit square, u = 0 on its border, 5-point differences on m × m inner points.
    let m = 200u32;
    let h = 1.0 / f64::from(m + 1);
    let mut entries = Triplets::new((m * m) as usize)?;
    for i in 0..m * m {
        entries.push(i, i, 4.0)?;
        if i % m + 1 < m {
            entries.push(i + 1, i, -1.0)?;
        }
        if i + m < m * m {
            entries.push(i + m, i, -1.0)?;
        }
    }
    let a = entries.into_symmetric(Duplicates::Sum)?;

    let analysis = Analysis::new(a.pattern(), &Options::default())?;
    println!("{}\n", analysis.plan());
    let mut factor = analysis.factorize(&a)?;
    let mut u = vec![h * h; a.n()];
    let report = factor.solve_refined(&a, &mut u)?;

    let middle = (m / 2 * m + m / 2) as usize;
    println!("u in the middle: {:.5} (exact: 0.07367)", u[middle]);
    println!(
        "componentwise backward error: {:.1e}",
        report.componentwise_backward_error()
    );
    Ok(())
}
