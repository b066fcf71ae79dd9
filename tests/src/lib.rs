//! What is promised of every matrix, checked on one: used by the tests, and by
//! `cargo run --release -p tamarack-tests --bin acceptance -- FILE…` for any number of files.

use std::path::Path;
use std::time::Instant;

use tamarack::io::{ReadOptions, read_matrix};
use tamarack::{Analysis, Error, Options, Outcome, Precision, SymmetricCsc};

/// What came out for one matrix.
#[derive(Clone, Debug)]
pub struct Row {
    /// Order.
    pub n: usize,
    /// Entries of L.
    pub nnz_l: u64,
    /// Operations of the factorization.
    pub flops: f64,
    /// Seconds of analysis, factorization and refined solve on 1 and on 2 threads.
    pub secs: [f64; 2],
    /// Worst backward errors of the factor in double precision: normwise, componentwise.
    pub errors: [f64; 2],
    /// Whether 1 and 2 threads gave the same bits.
    pub same_bits: bool,
    /// The same errors in mixed precision.
    pub mixed: [f64; 2],
    /// How mixed precision got there.
    pub outcome: Outcome,
}

impl Row {
    /// Whether it keeps what is promised: normwise 1e-15·√n, componentwise 1e-13, equal bits.
    pub fn holds(&self) -> bool {
        let small = |[normwise, componentwise]: [f64; 2]| {
            normwise <= 1e-15 * (self.n as f64).sqrt().max(1.0) && componentwise <= 1e-13
        };
        self.same_bits && small(self.errors) && small(self.mixed)
    }
}

/// Solves with the matrix of a file, for the right-hand side of the all-ones solution.
///
/// # Errors
/// Those of the solver.
pub fn check(path: &Path) -> Result<Row, Error> {
    let a = read_matrix(path, &ReadOptions::default())?;
    let mut b = vec![0.0; a.n()];
    a.matvec(&vec![1.0; a.n()], &mut b);
    let one = answer(&a, &b, 1, Precision::F64)?;
    let two = answer(&a, &b, 2, Precision::F64)?;
    let mixed = answer(&a, &b, 2, Precision::Mixed)?;
    let bits = |x: &[f64]| x.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    Ok(Row {
        n: a.n(),
        nnz_l: one.nnz_l,
        flops: one.flops,
        secs: [one.secs, two.secs],
        errors: one.errors,
        same_bits: bits(&one.x) == bits(&two.x),
        mixed: mixed.errors,
        outcome: mixed.outcome,
    })
}

struct Answer {
    x: Vec<f64>,
    errors: [f64; 2],
    outcome: Outcome,
    secs: f64,
    nnz_l: u64,
    flops: f64,
}

fn answer(
    a: &SymmetricCsc<f64>,
    b: &[f64],
    threads: usize,
    precision: Precision,
) -> Result<Answer, Error> {
    let mut options = Options::default();
    options.threads = Some(threads);
    options.precision = precision;
    let began = Instant::now();
    let analysis = Analysis::new(a.pattern(), &options)?;
    let mut factor = analysis.factorize(a)?;
    let mut x = b.to_vec();
    let report = factor.solve_refined(a, &mut x)?;
    let stats = analysis.symbolic().stats();
    Ok(Answer {
        x,
        errors: [
            report.normwise_backward_error(),
            report.componentwise_backward_error(),
        ],
        outcome: report.outcome,
        secs: began.elapsed().as_secs_f64(),
        nnz_l: stats.nnz_l,
        flops: stats.flops as f64,
    })
}
