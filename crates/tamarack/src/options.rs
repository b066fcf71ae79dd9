//! Choices, as values.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use tamarack_gpu::GpuOptions;
use tamarack_numeric::OnNotSpd;
use tamarack_ordering::{Method, OrderingError};
use tamarack_plan::{Machine, PlanOptions};
use tamarack_solve::RefineOptions;
use tamarack_sparse::Permutation;
use tamarack_symbolic::SymbolicOptions;

use crate::Error;
use crate::device::Device;
use crate::machine::available_threads;
use crate::memory::available_memory_bytes;

/// Everything a caller may choose. The default takes all threads and the memory that is available,
/// orders by itself, and factorizes in double precision.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// How the unknowns are ordered.
    pub ordering: Ordering,
    /// Precision of the factor.
    pub precision: Precision,
    /// Where factorizations and solves run.
    pub device: Device,
    /// Where compiled kernels are kept, and which compiler makes them, for a GPU.
    pub gpu: GpuOptions,
    /// Threads at most, of which 4096 are the most; `None` for as many as the operating system offers. The results have the same bits
    /// for any number.
    ///
    /// `Some(0)` counts as one. Plans are made for so many, or as many as the work is worth, be it on another machine. An analysis takes no more than the
    /// system offers, and is made in the caller's rayon pool where it is called from one. Factors have no more than four for each of
    /// those (sixteen at least); where the system refuses threads, those there are do the work. With 1 nothing but the caller's thread is used. Factors with equally many threads share
    /// them in a process, as long as there are any: of those that are used at the same time one has them and the others work alone;
    /// with [`profile`](Self::profile) an analysis has threads of its own.
    ///
    /// After `fork` the child has none of the threads: factors work alone there. Fork before the first analysis, or while no
    /// other thread uses one.
    pub threads: Option<usize>,
    /// Memory that a factorization may take, in bytes, what it keeps of the analysis included; `None` for what the operating
    /// system says is available ([`available_memory_bytes`]), where it says so (Linux), and no limit elsewhere. On a GPU it is memory of the
    /// device, and `None` is nine tenths of what is free there. Vectors of solves come
    /// on top: some 50 bytes for each unknown, 20 more for each of up to 16 right-hand sides that are solved together, a copy of
    /// the right-hand sides while they are refined, and where the columns of A reach far 16 bytes for each of its entries. So does what the analysis holds while it runs.
    pub memory_bytes: Option<u64>,
    /// How [`Factor::solve_refined`](crate::Factor::solve_refined) refines.
    pub refine: RefineOptions,
    /// What to do where the matrix is not positive definite.
    pub on_not_spd: OnNotSpd,
    /// Rates of the machine, for predicted times and for the cut of the work into tasks: [`calibrate`](crate::calibrate) measures them;
    /// the default is a server core of about 2020. Orderings do not depend on them, nor does any result of a factor on the host.
    pub rates: Rates,
    /// Amalgamation of supernodes. Columns are sorted only in a given order ([`Ordering::Permutation`]): in ours rows stand in long runs as
    /// it is.
    pub symbolic: SymbolicOptions,
    /// Whether to book where the time of factorizations and solves goes:
    /// [`Analysis::take_profile`](crate::Analysis::take_profile) hands it out. Costs a few
    /// readings of the clock for each subtree and large front, and 0.7 MB for each thread.
    pub profile: bool,
}

/// Rates of one thread in both precisions.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Rates {
    /// Double precision.
    pub f64: tamarack_plan::FrontRates,
    /// Single precision.
    pub f32: tamarack_plan::FrontRates,
}

impl Default for Rates {
    fn default() -> Self {
        let Machine { f64, f32, .. } = Machine::default();
        Self { f64, f32 }
    }
}

/// Threads that a plan is made for, at most; no machine has so many.
const MOST_THREADS: usize = 1 << 12;

impl Options {
    /// Threads that work.
    pub(crate) fn thread_count(&self) -> usize {
        let wanted = self.threads.unwrap_or_else(available_threads);
        wanted.clamp(1, MOST_THREADS)
    }

    /// The machine that a plan is made for, its memory aside.
    pub(crate) fn machine(&self) -> Machine {
        Machine {
            threads: self.thread_count(),
            memory_bytes: None,
            f64: self.rates.f64,
            f32: self.rates.f32,
        }
    }

    /// Bytes that may be used where so many are needed. The system is not asked for little: that takes
    /// longer than a small analysis.
    pub(crate) fn budget(&self, needed_bytes: u64) -> Option<u64> {
        let little = needed_bytes < 32 << 20;
        self.memory_bytes.or_else(|| {
            if little {
                None
            } else {
                available_memory_bytes()
            }
        })
    }

    pub(crate) fn plan_options(&self, precision: tamarack_plan::Precision) -> PlanOptions {
        PlanOptions {
            precision,
            ..PlanOptions::default()
        }
    }
}

/// Seconds that [`Ordering::Best`] takes where none are given.
const BEST_SECS: f64 = 10.0;

/// How the unknowns are ordered.
#[derive(Clone, Debug, Default)]
pub enum Ordering {
    /// Chosen by predicted time, for one machine of two cores whichever it is: minimum fill or approximate minimum degree, or nested
    /// dissection where the factorization would take long enough to pay for it. What is long (a beam, a strip) is cut in two; with many
    /// threads [`Method::NestedDissection`] is better there.
    #[default]
    Auto,
    /// The fewest predicted seconds of what is found in about so much time: approximate minimum
    /// degree and minimum fill, unless they take far too long, then nested dissections from one seed after the other, at least one. How many there
    /// are depends on the clock; keep the permutation, or the analysis, where that matters.
    Best(Duration),
    /// A method by name and options.
    Method(Method),
    /// A given elimination order.
    Permutation(Permutation),
}

impl Ordering {
    /// Whether graphs are dissected whatever they are like, which is work for a pool.
    pub(crate) fn dissects(&self) -> bool {
        match self {
            Self::Best(_) => true,
            Self::Method(method) => matches!(
                method,
                Method::NestedDissection(_) | Method::Coordinates(_) | Method::PartitionTree(_)
            ),
            Self::Auto | Self::Permutation(_) => false,
        }
    }
}

impl Ordering {
    /// Names that [`FromStr`] knows, separated by commas.
    pub const NAMES: &'static str = "auto, best, best:SECONDS, natural, rcm, md, mmd, amd, amf, nd";

    /// The name of the method that will be used: `given` for a permutation.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Best(_) => "best",
            Self::Method(method) => method.name(),
            Self::Permutation(_) => "given",
        }
    }
}

impl From<Method> for Ordering {
    fn from(method: Method) -> Self {
        Self::Method(method)
    }
}

impl From<Permutation> for Ordering {
    fn from(permutation: Permutation) -> Self {
        Self::Permutation(permutation)
    }
}

impl FromStr for Ordering {
    type Err = Error;

    /// `auto`, `best` (ten seconds, or `best:SECONDS`), or the name of a [`Method`].
    fn from_str(name: &str) -> Result<Self, Error> {
        let (word, budget) = name.split_once(':').unwrap_or((name, ""));
        let seconds = match budget {
            "" => Some(BEST_SECS),
            text => text.parse().ok(),
        };
        let budget = seconds.and_then(|s| Duration::try_from_secs_f64(s).ok());
        match (word, budget) {
            ("auto", _) if word == name => Ok(Self::Auto),
            ("best", Some(budget)) => Ok(Self::Best(budget)),
            _ => match name.parse() {
                Ok(method) => Ok(Self::Method(method)),
                Err(OrderingError::UnknownMethod { name, .. }) => {
                    let expected = Self::NAMES;
                    Err(OrderingError::UnknownMethod { name, expected }.into())
                }
                Err(error) => Err(error.into()),
            },
        }
    }
}

/// Precision of the factor. Matrices, right-hand sides and solutions are in double precision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Precision {
    /// Double precision.
    #[default]
    F64,
    /// Single precision: half the memory and about twice the speed, and answers of six digits at
    /// best, which refinement may improve.
    F32,
    /// A factor in single precision, and refined answers as accurate as with [`F64`](Self::F64):
    /// refinement in double precision, conjugate gradients preconditioned by the factor where that
    /// stagnates, and a factor in double precision where that fails as well.
    Mixed,
}

impl Precision {
    /// Name as users write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::F64 => "f64",
            Self::F32 => "f32",
            Self::Mixed => "mixed",
        }
    }

    /// Precision of the numbers in the factor.
    pub fn of_factor(self) -> tamarack_plan::Precision {
        match self {
            Self::F64 => tamarack_plan::Precision::F64,
            Self::F32 | Self::Mixed => tamarack_plan::Precision::F32,
        }
    }
}

impl FromStr for Precision {
    type Err = String;

    /// `f64`, `f32` or `mixed`.
    fn from_str(name: &str) -> Result<Self, String> {
        [Self::F64, Self::F32, Self::Mixed]
            .into_iter()
            .find(|precision| precision.name() == name)
            .ok_or_else(|| format!("unknown precision `{name}`: expected f64, f32 or mixed"))
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_a_precision_is_known() {
        for precision in [Precision::F64, Precision::F32, Precision::Mixed] {
            assert_eq!(precision.name().parse(), Ok(precision));
        }
        let error = "half".parse::<Precision>().unwrap_err();
        assert!(error.contains("half") && error.contains("mixed"), "{error}");
    }

    #[test]
    fn every_name_of_an_ordering_is_known_and_told() {
        for name in Ordering::NAMES.split(", ") {
            let name = name.replace("SECONDS", "1.5");
            assert!(name.parse::<Ordering>().is_ok(), "{name}");
        }
        assert!(Ordering::NAMES.ends_with(Method::NAMES));
        let error = "colamd".parse::<Ordering>().unwrap_err().to_string();
        assert!(error.contains("auto, best"), "{error}");
    }
}
