//! The machine, as the numbers a plan needs.

use serde::{Deserialize, Serialize};

use crate::Precision;

/// A machine: threads, memory and rates. A value like any other: measured by whoever runs on the
/// machine, or the built-in [`Machine::default`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Threads that may work at the same time, at least 1.
    pub threads: usize,
    /// Memory that may be used, or `None` where it is unknown.
    pub memory_bytes: Option<u64>,
    /// Rates of one thread in double precision.
    pub f64: FrontRates,
    /// Rates of one thread in single precision.
    pub f32: FrontRates,
}

/// What one thread needs for a front: a sum of terms, linear in what the front consists of.
///
/// `secs = overhead + pivots·per_pivot + panel_bytes·per_panel_byte +
/// assembly_bytes·per_assembly_byte + flops·per_flop`. The terms that are linear in bytes say how small fronts lose against the
/// product's rate; a least-squares fit to measured fronts gives them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FrontRates {
    /// Seconds for a front, however small.
    pub overhead_secs: f64,
    /// Seconds for a pivot column.
    pub per_pivot_secs: f64,
    /// Seconds for a byte of the factor panel.
    pub per_panel_byte_secs: f64,
    /// Seconds for a byte written, added or read in assembly.
    pub per_assembly_byte_secs: f64,
    /// Seconds for a floating-point operation of large products.
    pub per_flop_secs: f64,
}

impl Machine {
    /// A machine of so many threads on which everything takes `factor` times as long as on the default one: threads are called where they
    /// are predicted to save enough, which they do in the smallest matrix of a test if `factor` is large.
    pub fn slow(threads: usize, factor: f64) -> Self {
        let Self { f64, f32, .. } = Self::default();
        Self {
            threads,
            f64: f64.times(factor),
            f32: f32.times(factor),
            ..Self::default()
        }
    }

    /// Rates for a precision.
    pub fn rates(&self, precision: Precision) -> &FrontRates {
        match precision {
            Precision::F64 => &self.f64,
            Precision::F32 => &self.f32,
        }
    }
}

impl FrontRates {
    /// Rates of a thread that takes `factor` times as long.
    fn times(self, factor: f64) -> Self {
        Self {
            overhead_secs: self.overhead_secs * factor,
            per_pivot_secs: self.per_pivot_secs * factor,
            per_panel_byte_secs: self.per_panel_byte_secs * factor,
            per_assembly_byte_secs: self.per_assembly_byte_secs * factor,
            per_flop_secs: self.per_flop_secs * factor,
        }
    }
}

/// A core of a server of about 2020 (2.5 GHz, AVX-512), as measured on one: a default for plans
/// that are made before anything was measured.
impl Default for Machine {
    fn default() -> Self {
        let f64 = FrontRates {
            overhead_secs: 3.0e-7,
            per_pivot_secs: 2.0e-8,
            per_panel_byte_secs: 2.0e-10,
            per_assembly_byte_secs: 1.5e-10,
            per_flop_secs: 1.0 / 55e9,
        };
        let f32 = FrontRates {
            per_flop_secs: 1.0 / 110e9,
            ..f64
        };
        Self {
            threads: 1,
            memory_bytes: None,
            f64,
            f32,
        }
    }
}
