//! The least entries of L that are kept.
//!
//! Far from the diagonal of a matrix that is dominated by it, as the mass in a time step dominates, the entries of L decay like powers of a
//! small number. Products of two of them are subnormal in the end, and each of those takes an Intel core more than a hundred cycles: a plane of
//! a million unknowns five times as long. So an entry whose square would be subnormal becomes zero where it is computed. That is `2^-511` in
//! `f64` and `2^-63` in `f32`: no more than the rounding unit times a small number, against the root of the diagonal entry of A in its row, if that entry is not
//! tiny itself. Pivots are smaller than these (Schur complements of positive definite matrices), so that the pivots tell.

use crate::Real;

/// Which entries of L become zero, and which numbers may be pivots.
#[derive(Clone, Copy, Debug)]
pub struct Floor<T> {
    /// Entries without any of this number's bits become zero.
    pub(crate) bits: T,
    /// The least pivot.
    pub(crate) pivot: T,
}

impl<T: Real> Floor<T> {
    /// Every entry is kept, and every positive normal number may be a pivot.
    pub const NONE: Self = T::NO_FLOOR;

    /// Entries whose squares would be subnormal become zero: `2^-511` in `f64`, `2^-63` in `f32`. A pivot that is so small, `2^-896` and `2^-58`, that
    /// these might matter fails; then the same front is to be eliminated with [`NONE`](Self::NONE).
    pub const SQUARES: Self = T::FLOOR_OF_SQUARES;

    /// Whether a number may be a pivot.
    #[inline(always)]
    pub(crate) fn allows(&self, pivot: T) -> bool {
        pivot >= self.pivot && pivot.is_finite()
    }

    /// Whether a pivot failed for the floor alone.
    pub fn is_too_high(&self, pivot: f64) -> bool {
        (f64::MIN_POSITIVE..self.pivot.to_f64()).contains(&pivot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::real::with_isa;
    use crate::simd::Simd;
    use crate::tests::everywhere;

    /// The first number of a vector of them, by an instruction set.
    unsafe fn kept<S: Simd>(x: S::T, floor: Floor<S::T>) -> S::T {
        struct Keep<S: Simd>(S::T, Floor<S::T>);
        impl<S: Simd> crate::simd::Op for Keep<S> {
            type Out = S::T;
            #[inline(always)]
            unsafe fn run(self) -> S::T {
                // SAFETY: the machine has the instruction set.
                unsafe { S::get(S::keep(S::splat(self.0), S::splat(self.1.bits)), 0) }
            }
        }
        // SAFETY: as above.
        unsafe { S::vectorize(Keep::<S>(x, floor)) }
    }

    #[test]
    fn entries_are_kept_from_the_floor_on() {
        fn body<T: Real>(isa: crate::Isa) {
            let exponent = if size_of::<T>() == 8 { -511 } else { -63 };
            let least = 2f64.powi(exponent);
            let below = T::from_f64(least * (1.0 - 2f64.powi(-20)));
            // SAFETY: the machine has the instruction set.
            let of = |x: T, floor| unsafe { with_isa!(isa, T, kept(x, floor)) };
            for sign in [T::ONE, -T::ONE] {
                for x in [least, 1.5 * least, 1.0, 1e30, f64::INFINITY] {
                    let x = T::from_f64(x) * sign;
                    assert_eq!(of(x, Floor::SQUARES), x);
                }
                for x in [below, T::from_f64(least * least), T::ZERO] {
                    assert_eq!(of(x * sign, Floor::SQUARES), T::ZERO);
                    assert_eq!(of(x * sign, Floor::NONE), x * sign);
                }
            }
            let nan = of(T::from_f64(f64::NAN), Floor::SQUARES);
            assert!(!(nan.is_finite() || nan.to_f64().is_infinite()));
        }
        everywhere!(body);
    }

    #[test]
    fn small_pivots_are_told_from_bad_ones() {
        for (floor, small) in [
            (Floor::<f64>::SQUARES, 1e-280),
            (
                Floor {
                    bits: 0.0,
                    pivot: f64::from(Floor::<f32>::SQUARES.pivot),
                },
                1e-20,
            ),
        ] {
            assert!(floor.is_too_high(small));
            for pivot in [1.0, 0.0, -1e-300, f64::NAN, f64::INFINITY] {
                assert!(!floor.is_too_high(pivot), "{pivot}");
            }
        }
        assert!(!Floor::<f64>::NONE.is_too_high(f64::MIN_POSITIVE));
    }
}
