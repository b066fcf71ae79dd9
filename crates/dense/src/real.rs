//! The number types, and the choice of an instruction set.

use std::fmt::Debug;
use std::ops::{Add, Div, Mul, Neg, Sub};
use std::sync::OnceLock;

use crate::Floor;
use crate::simd::{Portable, Simd};

/// Instructions that kernels are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InstructionSet {
    /// AVX-512F (x86-64).
    Avx512,
    /// AVX2 and FMA (x86-64).
    Avx2,
    /// What the compiler's target has.
    Portable,
}

/// A set of kernels, made of instructions that this machine has: there is no other way to get one.
///
/// One set gives the same bits whatever the cut into tiles; two sets may differ in rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Isa(InstructionSet);

impl Isa {
    /// The best set of this machine; found once.
    pub fn detect() -> Self {
        static BEST: OnceLock<Isa> = OnceLock::new();
        *BEST.get_or_init(|| Self::available()[0])
    }

    /// The sets that this machine has, the best first; the last is always `Portable`.
    pub fn available() -> Vec<Self> {
        #[cfg(target_arch = "x86_64")]
        let (avx2, avx512) = {
            let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            (avx2, avx2 && is_x86_feature_detected!("avx512f"))
        };
        #[cfg(not(target_arch = "x86_64"))]
        let (avx2, avx512) = (false, false);
        [
            (InstructionSet::Avx512, avx512),
            (InstructionSet::Avx2, avx2),
            (InstructionSet::Portable, true),
        ]
        .into_iter()
        .filter_map(|(set, has)| has.then_some(Self(set)))
        .collect()
    }

    /// Its instructions.
    #[inline(always)]
    pub fn set(self) -> InstructionSet {
        self.0
    }
}

/// A real number type that has kernels: `f64` or `f32`.
pub trait Real:
    kernels::Kernels
    + Copy
    + Debug
    + Default
    + PartialEq
    + PartialOrd
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// Square root; NaN for negative numbers.
    fn sqrt(self) -> Self;
    /// `self·b + c`, rounded once.
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// Whether the number is neither NaN nor infinite.
    fn is_finite(self) -> bool;
    /// See [`Floor::NONE`]: positive numbers that are subnormal are no pivots, since their reciprocals would overflow.
    const NO_FLOOR: Floor<Self>;
    /// See [`Floor::SQUARES`].
    const FLOOR_OF_SQUARES: Floor<Self>;
    /// The number if it has any of the bits of `bits`, else zero.
    fn keep(self, bits: Self) -> Self;
    /// The number in double precision, exactly.
    fn to_f64(self) -> f64;
    /// Nearest number of this type.
    fn from_f64(x: f64) -> Self;
}

pub(crate) mod kernels {
    use super::Simd;

    /// The instruction sets of a number type; seals [`Real`](super::Real).
    pub trait Kernels: Sized {
        /// With AVX-512F.
        type Avx512: Simd<T = Self>;
        /// With AVX2 and FMA.
        type Avx2: Simd<T = Self>;
        /// With nothing in particular.
        type Portable: Simd<T = Self>;
    }
}

/// `2^exponent`, a normal number.
const fn power_of_two(exponent: i64) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

macro_rules! real {
    ($t:ident, $pivot:expr) => {
        impl kernels::Kernels for $t {
            #[cfg(target_arch = "x86_64")]
            type Avx512 = crate::simd::Avx512<$t>;
            #[cfg(target_arch = "x86_64")]
            type Avx2 = crate::simd::Avx2<$t>;
            #[cfg(not(target_arch = "x86_64"))]
            type Avx512 = Portable<$t>;
            #[cfg(not(target_arch = "x86_64"))]
            type Avx2 = Portable<$t>;
            type Portable = Portable<$t>;
        }

        impl Real for $t {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            #[inline(always)]
            fn sqrt(self) -> Self {
                $t::sqrt(self)
            }
            #[inline(always)]
            fn mul_add(self, b: Self, c: Self) -> Self {
                $t::mul_add(self, b, c)
            }
            #[inline(always)]
            fn is_finite(self) -> bool {
                $t::is_finite(self)
            }
            const NO_FLOOR: Floor<Self> = Floor {
                bits: $t::from_bits(!0),
                pivot: $t::MIN_POSITIVE,
            };
            // Every exponent in the upper three quarters has one of the two upper bits of an exponent.
            const FLOOR_OF_SQUARES: Floor<Self> = Floor {
                bits: $t::from_bits(0b11 << (8 * size_of::<$t>() - 3)),
                pivot: $pivot,
            };
            #[inline(always)]
            fn keep(self, bits: Self) -> Self {
                match self.to_bits() & bits.to_bits() {
                    0 => 0.0,
                    _ => self,
                }
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn from_f64(x: f64) -> Self {
                x as $t
            }
        }
    };
}
real!(f64, power_of_two(-896));
real!(f32, power_of_two(-58) as f32);

/// Calls a function generic over [`Simd`] for an instruction set found at run time.
macro_rules! with_isa {
    ($isa:expr, $t:ty, $f:ident($($arg:expr),* $(,)?)) => {
        match $isa.set() {
            crate::InstructionSet::Avx512 => $f::<<$t as crate::real::kernels::Kernels>::Avx512>($($arg),*),
            crate::InstructionSet::Avx2 => $f::<<$t as crate::real::kernels::Kernels>::Avx2>($($arg),*),
            crate::InstructionSet::Portable => $f::<<$t as crate::real::kernels::Kernels>::Portable>($($arg),*),
        }
    };
}
pub(crate) use with_isa;
