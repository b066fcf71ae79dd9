//! The least entries of L that are kept.
//!
//! Far from the diagonal of a matrix that is dominated by it, as the mass in a time step dominates, the entries of L decay like powers of a
//! small number. Products of two of them are subnormal in the end, and each of those takes some processors more than a hundred cycles. So an
//! entry whose square would be subnormal becomes zero where it is computed: below `2^-511` in `f64`, `2^-63` in `f32`. Against the root of the
//! diagonal entry of A in its row that is less than the rounding unit, unless that is tiny itself; then a pivot is as well, for pivots are no larger than
//! the diagonal of A, and tells. `docs/decisions/0019-floor.md` has what it gains and costs.

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
        (Self::NONE.pivot.to_f64()..self.pivot.to_f64()).contains(&pivot)
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
        fn body<T: Real>(small: f64, subnormal: f64) {
            assert!(Floor::<T>::SQUARES.is_too_high(small));
            for pivot in [1.0, 0.0, subnormal, -small, f64::NAN, f64::INFINITY] {
                assert!(!Floor::<T>::SQUARES.is_too_high(pivot), "{pivot}");
            }
            // Without a floor, nothing is for the floor alone: else a factorization would begin again and again.
            for pivot in [1.0, 0.0, small, subnormal] {
                assert!(!Floor::<T>::NONE.is_too_high(pivot), "{pivot}");
            }
        }
        body::<f64>(1e-280, 1e-310);
        body::<f32>(1e-20, 1e-40);
    }
}
