//! What a driver prints about one solver on one matrix.

use serde::{Deserialize, Deserializer, Serialize};

/// One process: one solver, one matrix, one number of threads. Times in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Name of the solver, with its variant.
    pub solver: String,
    /// Name of the matrix.
    pub matrix: String,
    /// Threads.
    pub threads: usize,
    /// Unknowns.
    pub n: usize,
    /// Ordering, or all of the analysis where a solver does not tell them apart; 0 if given.
    pub order_secs: f64,
    /// Symbolic analysis.
    pub symbolic_secs: f64,
    /// First factorization, memory included.
    pub first_secs: f64,
    /// First factorizations again, each in memory that was touched and given back right before: new to the process, but not to the
    /// virtual machine that it may run in. Tamarack's only.
    #[serde(default)]
    pub first_again_secs: Vec<f64>,
    /// Later factorizations of the same pattern.
    pub refactor_secs: Vec<f64>,
    /// Solves with 1 right-hand side, without refinement.
    pub solve_1_secs: Vec<f64>,
    /// Solves with 16 right-hand sides.
    pub solve_16_secs: Vec<f64>,
    /// Entries of L without amalgamation's zeros, in millions; 0 if unknown.
    #[serde(default)]
    pub nnz_l_millions: f64,
    /// Sum over the columns of L of (entries)², in units of 10⁹; 0 if unknown.
    #[serde(default)]
    pub gflop: f64,
    /// Analyze, factorize and solve from nothing, for systems that take little time.
    #[serde(default)]
    pub whole_secs: Vec<f64>,
    /// Refactorize and solve, for systems that take little time.
    #[serde(default)]
    pub again_secs: Vec<f64>,
    /// Entries of the factor as stored, in millions, if known.
    pub stored_millions: f64,
    /// Peak of the process over what it held after reading, in bytes.
    pub peak_bytes: f64,
    /// `‖Ax − b‖∞ / (‖A‖∞‖x‖∞ + ‖b‖∞)` of the solution with 1 right-hand side.
    #[serde(deserialize_with = "or_nan")]
    pub backward_error: f64,
    /// The same for 16 right-hand sides, the larger of the first and the last column's.
    #[serde(deserialize_with = "or_nan")]
    pub backward_error_16: f64,
    /// The order that the solver had, in words; `compare` knows it, a driver does not.
    #[serde(default)]
    pub order: String,
}

/// The largest backward error of an answer. Systems that are badly conditioned stay below: the
/// error of a Cholesky factorization does not depend on the condition.
const MOST_ERROR: f64 = 1e-10;

impl Record {
    /// What is wrong with the answers, if anything is.
    pub fn wrong(&self) -> Option<String> {
        let (one, many) = (self.backward_error, self.backward_error_16);
        let right = one <= MOST_ERROR && many <= MOST_ERROR; // false for NaN
        (!right).then(|| {
            format!("wrong answers, backward error {one:.1e}; {many:.1e} with 16 right-hand sides")
        })
    }
}

/// JSON has no NaN; it is written as `null`.
fn or_nan<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
}

/// The largest of some numbers, NaN if one of them is; 0 of none.
pub fn largest(values: impl IntoIterator<Item = f64>) -> f64 {
    let larger = |m: f64, v: f64| if v <= m || m.is_nan() { m } else { v };
    values.into_iter().fold(0.0, larger)
}

/// Median of some numbers; NaN of none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]),
    }
}

/// `exp` of the mean of the logarithms; NaN of none.
pub fn geometric_mean(values: &[f64]) -> f64 {
    let logs: f64 = values.iter().map(|v| v.ln()).sum();
    (logs / values.len() as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_means() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0]), 2.5);
        assert!(median(&[]).is_nan());
        assert!((geometric_mean(&[1.0, 4.0]) - 2.0).abs() < 1e-15);
        assert_eq!(largest([1.0, 3.0, 2.0]), 3.0);
        assert!(largest([1.0, f64::NAN, 2.0]).is_nan());
    }

    #[test]
    fn a_line_of_a_c_driver_is_read() {
        let line = r#"{"solver":"pardiso","matrix":"a","threads":2,"n":3,"order_secs":0.5,"symbolic_secs":0,"first_secs":1,"refactor_secs":[1,2],"solve_1_secs":[0.1],"solve_16_secs":[],"stored_millions":1.5,"peak_bytes":1e6,"backward_error":1e-16,"backward_error_16":null}"#;
        let record: Record = serde_json::from_str(line).unwrap();
        assert_eq!((record.threads, record.refactor_secs.len()), (2, 2));
        assert_eq!((record.gflop, record.whole_secs.len()), (0.0, 0));
        assert!(record.backward_error_16.is_nan() && record.wrong().is_some());
        let unchecked = line.replace(r#","backward_error_16":null"#, "");
        assert!(serde_json::from_str::<Record>(&unchecked).is_err());
    }
}
