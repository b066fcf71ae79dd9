//! Packing buffers, one set per thread, allocated once.

use std::mem::MaybeUninit;

use crate::real::with_isa;
use crate::simd::Simd;
use crate::{Floor, Isa, Real};

/// Inner dimension summed in registers before C is touched: 2 kB of a column strip of B (8 wide:
/// 16 kB in `f64`) stays in a 32 kB first-level cache.
pub(crate) const KC: usize = 256;
/// Numbers between packed micropanels: without them the same rows of all micropanels would fall
/// into one set of the first-level cache.
pub(crate) const PACK_PAD: usize = 16;
/// Rows of A packed at a time: `MC × KC` numbers stay in a second-level cache of 1 MB.
const MC: usize = 192;
/// Columns of C per packed block of B.
const NC: usize = 384;
/// Least width of the block that a panel solve keeps packed.
pub(crate) const SOLVE_COLUMNS: usize = 128;
/// The largest width of a block, in columns, that there is room for as a whole: wider ones are solved in parts, and sizes stay small beside what
/// numbers hold.
pub const WIDEST: usize = 1 << 16;

/// Room for `len` numbers, none of which is there: many factors need little of it, and a team's workspaces would be cleared one after
/// another by the thread that makes them. Where debug assertions are on, and in this crate's tests, it holds NaN, which shows in all that is
/// read before it is written.
pub fn unwritten<T: Real>(len: usize) -> Box<[MaybeUninit<T>]> {
    let mut room = Box::new_uninit_slice(len);
    if cfg!(any(test, debug_assertions)) {
        room.fill(MaybeUninit::new(T::from_f64(f64::NAN)));
    }
    room
}

/// Room of 64-byte alignment; kernels write before they read.
struct Aligned<T> {
    /// The numbers, and room to align them.
    memory: Box<[MaybeUninit<T>]>,
    from: usize,
}

impl<T: Real> Aligned<T> {
    fn new(len: usize) -> Self {
        let spare = 64 / size_of::<T>();
        let memory = unwritten(len + spare);
        let from = memory.as_ptr().align_offset(64).min(spare);
        Self { memory, from }
    }

    fn as_mut_ptr(&mut self) -> *mut T {
        self.memory[self.from..].as_mut_ptr().cast()
    }
}

/// Scratch memory of the kernels and their instruction set. One per thread; never grows.
pub struct Workspace<T> {
    isa: Isa,
    memory: Aligned<T>,
    sizes: Sizes,
}

/// How the scratch memory is divided, in numbers.
#[derive(Clone, Copy)]
struct Sizes {
    mc: usize,
    nc: usize,
    kc: usize,
    a: usize,
    b: usize,
    solve_columns: usize,
    solve: usize,
}

impl Sizes {
    /// For products in which no dimension exceeds `order`; larger ones are cut into more parts.
    fn new<S: Simd>(block: usize, order: usize) -> Self {
        let order = order.max(1);
        let mc = MC.min(order).next_multiple_of(S::MR);
        let (nc, kc) = (NC.min(order).next_multiple_of(S::NR), KC.min(order));
        let solve_columns = block.clamp(SOLVE_COLUMNS, WIDEST).next_multiple_of(16);
        Self {
            mc,
            nc,
            kc,
            a: mc * kc + mc / S::MR * PACK_PAD,
            b: nc * kc + nc / S::NR * PACK_PAD,
            solve_columns,
            solve: S::MR * solve_columns,
        }
    }

    fn total(&self) -> usize {
        self.a + self.b + self.solve + self.solve_columns
    }
}

/// The buffers as the kernels use them; valid while the workspace is borrowed.
#[derive(Clone, Copy)]
pub(crate) struct Buffers<T> {
    /// Packed A: `mc × kc`.
    pub a: *mut T,
    /// Packed B: `nc × kc`.
    pub b: *mut T,
    /// Rows of a microtile of the panel being solved: `MR × solve_columns`.
    pub x: *mut T,
    /// Reciprocals of a diagonal: `solve_columns`.
    pub inverse: *mut T,
    pub mc: usize,
    pub nc: usize,
    pub kc: usize,
    pub solve_columns: usize,
    /// What becomes zero of what is solved.
    pub floor: Floor<T>,
}

impl<T: Real> Workspace<T> {
    /// For fronts of block width `block` (and for all free-standing kernels), with the best
    /// instruction set of the machine.
    pub fn new(block: usize) -> Self {
        Self::with_isa(block, usize::MAX, Isa::detect())
    }

    /// For fronts of block width `block` and at most `order` rows: no larger than they need. Larger
    /// fronts get the right result, though their sums are cut elsewhere than with [`new`](Self::new).
    pub fn for_fronts(block: usize, order: usize) -> Self {
        Self::with_isa(block, order, Isa::detect())
    }

    /// The same with a given instruction set.
    pub fn with_isa(block: usize, order: usize, isa: Isa) -> Self {
        let sizes = with_isa!(isa, T, sizes(block, order));
        Self {
            isa,
            memory: Aligned::new(sizes.total()),
            sizes,
        }
    }

    /// The instruction set in use.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Size of the scratch memory.
    pub fn bytes(&self) -> usize {
        self.memory.memory.len() * size_of::<T>()
    }

    pub(crate) fn buffers(&mut self, floor: Floor<T>) -> Buffers<T> {
        let Sizes {
            mc,
            nc,
            kc,
            a,
            b,
            solve_columns,
            solve,
        } = self.sizes;
        let p = self.memory.as_mut_ptr();
        // SAFETY: the parts follow one another within the allocation.
        unsafe {
            Buffers {
                a: p,
                b: p.add(a),
                x: p.add(a + b),
                inverse: p.add(a + b + solve),
                mc,
                nc,
                kc,
                solve_columns,
                floor,
            }
        }
    }
}

fn sizes<S: Simd>(block: usize, order: usize) -> Sizes {
    Sizes::new::<S>(block, order)
}

/// Bytes that [`Workspace::for_fronts`] will allocate on this machine.
pub fn workspace_bytes<T: Real>(block: usize, order: usize) -> usize {
    with_isa!(Isa::detect(), T, sizes(block, order)).total() * size_of::<T>() + 64
}
