//! Vectors of the instruction sets: the few operations that the kernels are written in.
//!
//! A kernel is an [`Op`]: its `run` is generic over a [`Simd`] and always inlined into
//! [`Simd::vectorize`], the only function compiled with the instruction set's features. So the
//! kernels are written once and no flag is needed at build time.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

#[cfg(target_arch = "x86_64")]
pub use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub use avx512::Avx512;
pub use portable::Portable;

use crate::Real;

/// A piece of work to run with an instruction set.
pub trait Op {
    /// What the work returns.
    type Out;
    /// Does the work.
    ///
    /// # Safety
    /// The machine has the instruction set; beyond that what the implementor says.
    unsafe fn run(self) -> Self::Out;
}

/// Lanes of the longest vector.
pub(crate) const MOST_LANES: usize = 16;

/// Lanes `from..to` of a vector that belong to consecutive numbers in memory, lane `i` to the one at `shift + i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// Where lane 0 would belong to.
    pub shift: usize,
    /// First lane.
    pub from: usize,
    /// One past the last.
    pub to: usize,
}

/// One instruction set for one number type.
///
/// # Safety of the functions
/// All of them need a machine that has the instruction set; loads and stores need pointers valid
/// for the lanes they touch, of any alignment.
#[allow(clippy::missing_safety_doc)] // said once above
pub trait Simd: Copy + 'static {
    /// Number type.
    type T: Real;
    /// Vector of [`LANES`](Self::LANES) numbers.
    type V: Copy;
    /// Which of the first lanes take part in a masked load or store.
    type M: Copy;
    /// Numbers of a vector.
    const LANES: usize;
    /// Vectors in the height of the largest microtile.
    const MV: usize;
    /// Columns of the largest microtile, at most `LANES`, and 8.
    const NR: usize;
    /// Rows of the largest microtile.
    const MR: usize = Self::MV * Self::LANES;

    /// Runs `op` with the instruction set's features enabled.
    unsafe fn vectorize<O: Op>(op: O) -> O::Out;
    /// The first `n <= LANES` lanes.
    unsafe fn mask(n: usize) -> Self::M;
    /// Numbers `at + rows[i]` for `i < n`, `1 <= n <= LANES`; in the other lanes some of them again.
    ///
    /// Never a gather instruction: where the processor is protected against leaks through it, it
    /// takes longer than loads one by one.
    unsafe fn collect(at: *const Self::T, rows: *const u32, n: usize) -> Self::V;
    /// Zeros.
    unsafe fn zero() -> Self::V;
    /// `x` in all lanes.
    unsafe fn splat(x: Self::T) -> Self::V;
    /// Lane `i` of `v` in all lanes.
    unsafe fn lane(v: Self::V, i: usize) -> Self::V;
    /// Lane `i` of `v`.
    unsafe fn get(v: Self::V, i: usize) -> Self::T;
    /// All lanes from memory.
    unsafe fn load(p: *const Self::T) -> Self::V;
    /// Lanes of `m` from memory, zeros elsewhere; memory of other lanes is not touched.
    unsafe fn load_mask(p: *const Self::T, m: Self::M) -> Self::V;
    /// All lanes to memory.
    unsafe fn store(p: *mut Self::T, v: Self::V);
    /// Lanes of `m` to memory; memory of other lanes is not touched.
    unsafe fn store_mask(p: *mut Self::T, m: Self::M, v: Self::V);
    /// `v`, before any load that follows: where it would not, the compiler begins with more of them at a time
    /// than there are registers for.
    #[inline(always)]
    unsafe fn hold(v: Self::V) -> Self::V {
        v
    }
    /// `a·b + c`, rounded once where the instruction set can.
    unsafe fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// `c − a·b`, rounded once where the instruction set can.
    unsafe fn fnma(a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// [`fnma`](Self::fnma) of single numbers.
    unsafe fn fnma_one(a: Self::T, b: Self::T, c: Self::T) -> Self::T;
    /// `a + b`.
    unsafe fn add(a: Self::V, b: Self::V) -> Self::V;
    /// `a − b`.
    unsafe fn sub(a: Self::V, b: Self::V) -> Self::V;
    /// `a·b`.
    unsafe fn mul(a: Self::V, b: Self::V) -> Self::V;
    /// `a / b`.
    unsafe fn div(a: Self::V, b: Self::V) -> Self::V;
    /// Square roots.
    unsafe fn sqrt(a: Self::V) -> Self::V;
    /// Lanes of `v` that have any of the bits of the same lane of `bits`; zeros elsewhere.
    unsafe fn keep(v: Self::V, bits: Self::V) -> Self::V;
    /// Sum of the lanes, in an order fixed by the instruction set.
    unsafe fn sum(a: Self::V) -> Self::T;
    /// [`sum`](Self::sum) of each vector, to the bit.
    #[inline(always)]
    unsafe fn sums<const N: usize>(a: &[Self::V; N]) -> [Self::T; N] {
        let mut sums = [Self::T::ZERO; N];
        for (sum, a) in sums.iter_mut().zip(a) {
            // SAFETY: as of all functions. In no closure, which would not be compiled for the instruction set.
            *sum = unsafe { Self::sum(*a) };
        }
        sums
    }
    /// Subtracts from numbers at `at` the lanes of `v` that are in pieces, which do not overlap, but for those before lane `from`.
    #[inline(always)]
    unsafe fn subtract_pieces<const P: usize>(
        at: *mut Self::T,
        pieces: &[Piece; P],
        from: usize,
        v: Self::V,
    ) {
        // SAFETY: as of all functions.
        unsafe {
            if let [whole] = &pieces[..]
                && whole.to == Self::LANES
                && from == 0
            {
                let to = at.wrapping_add(whole.shift);
                return Self::store(to, Self::sub(Self::load(to), v));
            }
            let mut numbers = [Self::T::ZERO; MOST_LANES];
            Self::store(numbers.as_mut_ptr(), v);
            for piece in pieces {
                for (i, &number) in numbers.iter().enumerate().take(piece.to).skip(piece.from) {
                    if i >= from {
                        let to = at.wrapping_add(piece.shift + i);
                        *to = *to - number;
                    }
                }
            }
        }
    }
    /// Asks for a line to come into the first cache; never faults.
    unsafe fn prefetch(p: *const Self::T);
    /// Asks for a line to come into the second cache; never faults.
    unsafe fn prefetch_far(p: *const Self::T);
}
