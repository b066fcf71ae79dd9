//! What can go wrong, and what the library says about it.

use tamarack::{Analysis, Error, ErrorKind, OnNotSpd, Options, SymmetricCsc};

fn main() -> Result<(), Error> {
    // Arrays that are no lower triangle.
    let wrong = SymmetricCsc::lower(2, &[0usize, 1, 3], &[0u32, 0, 1], &[1.0, 2.0, 3.0]);
    if let Err(error) = wrong {
        println!("structure: {error}");
    }

    // A chain of springs that nothing holds.
    let (n, col_ptr, row_idx) = (3, [0usize, 2, 4, 5], [0u32, 1, 1, 2, 2]);
    let loose = SymmetricCsc::lower(n, &col_ptr, &row_idx, &[1.0, -1.0, 2.0, -1.0, 1.0])?;
    let analysis = Analysis::new(loose.pattern(), &Options::default())?;
    match analysis.factorize(&loose) {
        Err(error) if error.kind() == ErrorKind::NotPositiveDefinite => {
            println!("not definite: {error}");
            if let Some(details) = error.not_positive_definite() {
                println!(
                    "  column {} with pivot {:e}",
                    details.column.0, details.pivot
                );
            }
        }
        Err(error) => return Err(error),
        Ok(factor) => {
            // Its answers are meaningless, however small their backward errors.
            let smallest = factor.smallest_pivot(&loose)?;
            let vanished = smallest.filter(|pivot| pivot.has_vanished());
            println!("rounding let the loose chain pass: {vanished:?}");
        }
    }

    // The same, factorized all the same with a small shift of the diagonal.
    let mut options = Options::default();
    options.on_not_spd = OnNotSpd::Shift;
    let analysis = Analysis::new(loose.pattern(), &options)?;
    let mut factor = analysis.factorize(&loose)?;
    println!("shifted by {:?}", factor.shift());

    // A refactorization that fails leaves the factor stale.
    let strict = Analysis::new(loose.pattern(), &Options::default())?;
    let held = loose.with_values(vec![2.0, -1.0, 2.0, -1.0, 2.0])?;
    let mut held_factor = strict.factorize(&held)?;
    let negative = loose.with_values(vec![-1.0, 0.0, -1.0, 0.0, -1.0])?;
    if let Err(error) = held_factor.refactorize(&negative) {
        println!("refactorize: {error}");
    }
    if let Err(error) = held_factor.solve(&mut [1.0, 1.0, 1.0]) {
        println!("solve: {error}");
    }
    held_factor.refactorize(&held)?;

    // A vector of the wrong length.
    if let Err(error) = factor.solve(&mut [1.0, 2.0]) {
        println!("length: {error}");
    }

    // A plan that does not fit.
    let mut small = Options::default();
    small.memory_bytes = Some(100);
    if let Err(error) = Analysis::new(loose.pattern(), &small) {
        println!("memory: {error}");
    }
    Ok(())
}
