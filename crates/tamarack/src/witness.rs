//! Which column a matrix that is not positive definite is refused for, where a GPU refused it.
//!
//! Cholesky fails at the first pivot that is not positive. Which column that is depends on the elimination order, and for a
//! matrix that is singular to working precision on every rounding: no rule that looks at one engine's pivots makes another
//! engine with its own order and its own bits name the same. So the host is asked: it analyzes as it would have without a
//! device, factorizes until it fails, and what it says is reported. That costs what a failing factorization costs there, so it
//! is asked only where that is predicted to be a matter of seconds; otherwise the device's own column stands, which is
//! as true.

use std::sync::Arc;

use tamarack_numeric::{Control, OnNotSpd};
use tamarack_plan::FactorPlan;
use tamarack_sparse::{Pattern, SymmetricCsc};

use crate::device::Device;
use crate::options::Options;
use crate::{Analysis, Error};

/// Predicted seconds of a factorization on the host up to which it is asked.
const WORTH_ASKING_SECS: f64 = 10.0;

/// The host, as it would have been used instead of a device.
#[derive(Debug)]
pub(crate) struct Witness {
    pattern: Arc<Pattern>,
    /// As the caller gave them, the device aside.
    options: Options,
    /// Of the structure that the device has.
    plan: Arc<FactorPlan>,
    /// Whether the host would have that structure too, since it was saved; otherwise it orders and analyzes by itself.
    same_structure: bool,
}

impl Witness {
    /// For what `options` were given for; `plan` is the host's for the device's structure.
    pub fn new(
        pattern: &Arc<Pattern>,
        options: &Options,
        plan: &Arc<FactorPlan>,
        same_structure: bool,
    ) -> Self {
        let mut options = options.clone();
        options.device = Device::Cpu;
        options.profile = false;
        Self {
            pattern: pattern.clone(),
            options,
            plan: plan.clone(),
            same_structure,
        }
    }

    /// What the host says of `a`, where `error` says that it is not positive definite and the host can soon tell;
    /// `error` otherwise, and where the host finds nothing wrong or is stopped.
    pub fn confirm(&self, a: &SymmetricCsc<f64>, control: &Control<'_>, error: Error) -> Error {
        let soon = self.plan.predicted_secs() <= WORTH_ASKING_SECS;
        let refused = error.not_positive_definite().is_some();
        // A shift has been tried as often as that makes sense.
        if !refused || !soon || self.options.on_not_spd != OnNotSpd::Fail {
            return error;
        }
        let quiet = Control {
            progress: None,
            ..*control
        };
        let host = self
            .analysis()
            .and_then(|analysis| analysis.factorize_with(a, &quiet));
        match host {
            Err(own) if own.not_positive_definite().is_some() => own,
            _ => error,
        }
    }

    fn analysis(&self) -> Result<Analysis, Error> {
        if self.same_structure {
            return Analysis::with_plan(&self.pattern, &self.plan, &self.options);
        }
        Analysis::new(&self.pattern, &self.options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::for_device;
    use tamarack_ordering::{Method, NdOptions};
    use tamarack_sparse::io::{ReadOptions, read_matrix};
    use tamarack_sparse::models::Model;

    /// The host with a device's order and supernodes in the device's place.
    fn stand_in(a: &SymmetricCsc<f64>) -> Analysis {
        ordered(a, Method::NestedDissection(NdOptions::default()))
    }

    /// The host with a device's supernodes and some order.
    fn ordered(a: &SymmetricCsc<f64>, method: Method) -> Analysis {
        let mut options = for_device(&Options::default());
        options.ordering = method.into();
        Analysis::new(a.pattern(), &options).unwrap()
    }

    /// Columns that `stand_in` names, the witness, and the host.
    fn columns(a: &SymmetricCsc<f64>, stand_in: &Analysis) -> [u32; 3] {
        let options = Options::default();
        let column = |error: &Error| error.not_positive_definite().unwrap().column.0;
        let host = Analysis::new(a.pattern(), &options).unwrap();
        let host = host.factorize(a).unwrap_err();
        let own = stand_in.factorize(a).unwrap_err();
        let own_column = column(&own);
        let witness = Witness::new(a.pattern(), &options, stand_in.plan(), false);
        let confirmed = witness.confirm(a, &Control::default(), own);
        assert_eq!(confirmed.to_string(), host.to_string());
        [own_column, column(&confirmed), column(&host)]
    }

    #[test]
    fn the_host_s_column_is_named() {
        let mut a: SymmetricCsc<f64> = "p2d9_30".parse::<Model>().unwrap().generate().unwrap();
        let starts = a.pattern().col_ptr().to_vec();
        // on a diagonal of the grid, the last corner of which minimum degree begins with
        for j in (0..a.n()).step_by(31) {
            a.values_mut()[starts[j] as usize] = -1.0;
        }
        let [device, confirmed, host] = columns(&a, &ordered(&a, Method::Natural));
        assert_ne!(device, host, "the test shows nothing");
        assert_eq!(confirmed, host);
    }

    #[test]
    fn real_matrices_are_refused_for_the_host_s_column() {
        let Some(files) = tamarack_testkit::shared_not_spd() else {
            eprintln!("skipped: ../shared/matrices is not here");
            return;
        };
        let mut differed = false;
        for path in files {
            let a = read_matrix(&path, &ReadOptions::default()).unwrap();
            let [device, confirmed, host] = columns(&a, &stand_in(&a));
            differed |= device != host;
            assert_eq!(confirmed, host, "{}", path.display());
        }
        assert!(differed, "the test shows nothing");
    }

    #[test]
    fn what_it_cannot_say_better_stands() {
        let a: SymmetricCsc<f64> = "p2d5_20".parse::<Model>().unwrap().generate().unwrap();
        let mut bad = a.clone();
        bad.values_mut()[0] = -1.0;
        let analysis = stand_in(&a);
        let witness = |options: &Options| Witness::new(a.pattern(), options, analysis.plan(), true);
        let refusal = || analysis.factorize(&bad).unwrap_err();
        let before = refusal().to_string();
        let control = Control::default();
        // definite for the host
        let said = witness(&Options::default()).confirm(&a, &control, refusal());
        assert_eq!(said.to_string(), before);
        // stopped
        let stop = std::sync::atomic::AtomicBool::new(true);
        let stopped = Control {
            cancel: Some(&stop),
            ..control
        };
        let said = witness(&Options::default()).confirm(&bad, &stopped, refusal());
        assert_eq!(said.to_string(), before);
        // another error
        let options = Options {
            memory_bytes: Some(1),
            ..Options::default()
        };
        let other = Analysis::new(a.pattern(), &options).unwrap_err();
        let text = other.to_string();
        let said = witness(&Options::default()).confirm(&bad, &control, other);
        assert_eq!(said.to_string(), text);
    }
}
