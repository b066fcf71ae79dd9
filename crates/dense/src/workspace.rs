//! Packing buffers, one set per thread, allocated once.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use crate::real::with_isa;
use crate::simd::Simd;
use crate::{Isa, Real};

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

/// Memory of 64-byte alignment, zeroed when made.
struct Aligned<T> {
    ptr: NonNull<T>,
    layout: Layout,
}

// SAFETY: the memory is owned and T is plain data.
unsafe impl<T: Send> Send for Aligned<T> {}

impl<T: Real> Aligned<T> {
    fn new(len: usize) -> Self {
        let bytes = len.max(1) * size_of::<T>();
        let layout = Layout::from_size_align(bytes, 64).expect("a few megabytes");
        // SAFETY: the size is not zero.
        let ptr = unsafe { alloc_zeroed(layout) }.cast();
        let ptr = NonNull::new(ptr).unwrap_or_else(|| handle_alloc_error(layout));
        Self { ptr, layout }
    }
}

impl<T> Drop for Aligned<T> {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout in `new`.
        unsafe { dealloc(self.ptr.as_ptr().cast(), self.layout) }
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
    a: usize,
    b: usize,
    solve_columns: usize,
    solve: usize,
}

impl Sizes {
    fn new<S: Simd>(block: usize) -> Self {
        let mc = MC.next_multiple_of(S::MR);
        let solve_columns = block.max(SOLVE_COLUMNS).next_multiple_of(16);
        Self {
            mc,
            a: mc * KC + mc / S::MR * PACK_PAD,
            b: NC * KC + NC / S::NR * PACK_PAD,
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
    /// Packed A: `mc × KC`.
    pub a: *mut T,
    /// Packed B: `nc × KC`.
    pub b: *mut T,
    /// Rows of a microtile of the panel being solved: `MR × solve_columns`.
    pub x: *mut T,
    /// Reciprocals of a diagonal: `solve_columns`.
    pub inverse: *mut T,
    pub mc: usize,
    pub nc: usize,
    pub solve_columns: usize,
}

impl<T: Real> Workspace<T> {
    /// For fronts of block width `block` (and for all free-standing kernels), with the best
    /// instruction set of the machine.
    pub fn new(block: usize) -> Self {
        Self::with_isa(block, Isa::detect())
    }

    /// The same with a given instruction set; with `Portable` if the machine does not have it.
    pub fn with_isa(block: usize, isa: Isa) -> Self {
        let isa = if isa.is_available() {
            isa
        } else {
            Isa::Portable
        };
        let sizes = with_isa!(isa, T, sizes(block));
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
        self.memory.layout.size()
    }

    pub(crate) fn buffers(&mut self) -> Buffers<T> {
        let Sizes {
            mc,
            a,
            b,
            solve_columns,
            solve,
        } = self.sizes;
        let p = self.memory.ptr.as_ptr();
        // SAFETY: the parts follow one another within the allocation.
        unsafe {
            Buffers {
                a: p,
                b: p.add(a),
                x: p.add(a + b),
                inverse: p.add(a + b + solve),
                mc,
                nc: NC,
                solve_columns,
            }
        }
    }
}

fn sizes<S: Simd>(block: usize) -> Sizes {
    Sizes::new::<S>(block)
}

/// Bytes that [`Workspace::new`] will allocate on this machine.
pub fn workspace_bytes<T: Real>(block: usize) -> usize {
    with_isa!(Isa::detect(), T, sizes(block)).total() * size_of::<T>()
}
