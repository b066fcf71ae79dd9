//! The numbers that the kernels move and compute with, and how kernels are chosen by them.

use crate::{Arg, Element};

/// A type of 4 or 8 bytes that the kernels move.
pub trait Word: Element {
    /// Index into the kernels by element: f64, f32, u32.
    #[doc(hidden)]
    const KIND: usize;
    /// The value's bytes, little-endian, repeated to eight.
    #[doc(hidden)]
    fn pattern(self) -> u64;
}

impl Word for f64 {
    const KIND: usize = 0;
    fn pattern(self) -> u64 {
        self.to_bits()
    }
}

impl Word for f32 {
    const KIND: usize = 1;
    fn pattern(self) -> u64 {
        self.to_bits().pattern()
    }
}

impl Word for u32 {
    const KIND: usize = 2;
    fn pattern(self) -> u64 {
        u64::from(self) << 32 | u64::from(self)
    }
}

impl Word for u64 {
    // Same width as f64, and only moved.
    const KIND: usize = 0;
    fn pattern(self) -> u64 {
        self
    }
}

/// A floating-point type of the kernels.
pub trait Real: Element + Arg + Word + PartialOrd + Default {
    /// Its name in the kernels' names.
    #[doc(hidden)]
    const NAME: &'static str;
    /// From a double, rounded.
    fn from_f64(value: f64) -> Self;
    /// To a double, exactly.
    fn to_f64(self) -> f64;
}

impl Real for f64 {
    const NAME: &'static str = "f64";
    fn from_f64(value: f64) -> Self {
        value
    }
    fn to_f64(self) -> f64 {
        self
    }
}

impl Real for f32 {
    const NAME: &'static str = "f32";
    #[allow(clippy::cast_possible_truncation)]
    fn from_f64(value: f64) -> Self {
        value as f32
    }
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
}
