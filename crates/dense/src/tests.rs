//! Kernels against naive references: awkward sizes, poisoned surroundings, every instruction set.

mod assembly;
mod blas;
mod front;
mod leaf;
mod substitution;

use crate::Real;

/// Deterministic numbers in (−1, 1).
pub(crate) struct Numbers(u64);

impl Numbers {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next<T: Real>(&mut self) -> T {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        T::from_f64((self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0)
    }
}

/// Unit roundoff, twice.
pub(crate) fn epsilon<T: Real>() -> f64 {
    if size_of::<T>() == 8 {
        f64::EPSILON
    } else {
        f64::from(f32::EPSILON)
    }
}

/// A column-major matrix in the middle of poison: leading dimension `ld > rows`, NaN around.
#[derive(Clone)]
pub(crate) struct Poisoned<T> {
    pub data: Vec<T>,
    pub rows: usize,
    pub cols: usize,
    pub ld: usize,
}

const MARGIN: usize = 7;

impl<T: Real> Poisoned<T> {
    pub fn new(rows: usize, cols: usize, mut f: impl FnMut(usize, usize) -> T) -> Self {
        let ld = rows + 3;
        let mut data = vec![T::from_f64(f64::NAN); 2 * MARGIN + ld * cols];
        for j in 0..cols {
            for i in 0..rows {
                data[MARGIN + i + j * ld] = f(i, j);
            }
        }
        Self {
            data,
            rows,
            cols,
            ld,
        }
    }

    pub fn arg(&self) -> (*const T, usize) {
        (self.data[MARGIN..].as_ptr(), self.ld)
    }

    pub fn arg_mut(&mut self) -> (*mut T, usize) {
        (self.data[MARGIN..].as_mut_ptr(), self.ld)
    }

    pub fn at(&self, i: usize, j: usize) -> f64 {
        self.data[MARGIN + i + j * self.ld].to_f64()
    }

    /// Whether everything around the matrix is still poison.
    pub fn intact(&self) -> bool {
        self.data.iter().enumerate().all(|(p, x)| {
            let inside = p >= MARGIN && {
                let q = p - MARGIN;
                q % self.ld < self.rows && q / self.ld < self.cols
            };
            inside || x.to_f64().is_nan()
        })
    }
}

/// Runs a test body for both number types and every instruction set of the machine.
macro_rules! everywhere {
    ($body:ident) => {
        for isa in crate::Isa::available() {
            $body::<f64>(isa);
            $body::<f32>(isa);
        }
    };
}
pub(crate) use everywhere;
