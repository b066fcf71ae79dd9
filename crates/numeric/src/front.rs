//! A front while it is worked on: its panel and its update matrix, both in one arena.

use tamarack_dense::{BlockColumns, FrontMut, Leaf, PanelLayout};
use tamarack_plan::{FactorPlan, UpdatePlace};
use tamarack_store::Fresh;

use crate::value::Value;

/// A symmetric or trapezoidal matrix in packed block columns, somewhere in shared memory.
#[derive(Clone, Copy)]
pub(crate) struct Packed<T> {
    pub data: *mut T,
    pub layout: BlockColumns,
}

// SAFETY: a `Packed` only names memory; everything that touches it is unsafe and says who may when.
unsafe impl<T: Value> Send for Packed<T> {}
// SAFETY: as above.
unsafe impl<T: Value> Sync for Packed<T> {}

impl<T: Value> Packed<T> {
    /// Where row 0 of column `j` would stand; rows from `j`'s block downwards really do.
    #[inline(always)]
    pub fn column(&self, j: usize) -> *mut T {
        // The first block column is all there is of most fronts: no division for them.
        if j < self.layout.block {
            return self.data.wrapping_add(j * self.layout.rows);
        }
        let top = self.layout.block_of(j) * self.layout.block;
        self.data
            .wrapping_add(self.layout.index(top, j))
            .wrapping_sub(top)
    }

    /// Sets columns to zero, one stretch of memory, and returns how many numbers that were.
    ///
    /// # Safety
    /// Nobody else may use these columns meanwhile.
    pub unsafe fn clear(&self, columns: std::ops::Range<usize>) -> usize {
        let Some(last) = columns.clone().last() else {
            return 0;
        };
        let top = |j: usize| self.layout.block_of(j) * self.layout.block;
        let from = self.layout.index(top(columns.start), columns.start);
        let to = self.layout.index(top(last), last) + self.layout.rows - top(last);
        // SAFETY: the range lies in the matrix, and zero bytes are the number zero.
        unsafe { std::ptr::write_bytes(self.data.add(from), 0, to - from) };
        to - from
    }
}

/// The two parts of a front.
#[derive(Clone, Copy)]
pub(crate) struct Front<T> {
    /// `(npiv + nupd) × npiv`: pivot columns.
    pub panel: Packed<T>,
    /// `nupd × nupd`: the Schur complement, the update matrix.
    pub update: Packed<T>,
}

impl<T: Value> Front<T> {
    pub fn npiv(&self) -> usize {
        self.panel.layout.cols
    }

    /// The front for the kernels.
    pub fn view(&self) -> FrontMut<T> {
        let (nupd, block) = (self.update.layout.rows, self.panel.layout.block);
        FrontMut::new(self.panel.data, self.update.data, self.npiv(), nupd, block)
    }
}

/// Base addresses of the arena and of the packed rows, shared by all members of a team.
#[derive(Clone, Copy)]
pub(crate) struct Memory<'a, T> {
    pub plan: &'a FactorPlan,
    /// Panels, and update matrices in the room of later panels and beyond.
    pub arena: *mut T,
    /// Packed rows of the fronts in work: a part for each member that walks a subtree, and the
    /// whole for a front that all work on.
    pub packed: *mut T,
}

// SAFETY: the plan gives every live matrix a place of its own, and the executor lets one member at
// a time write to any part of it.
unsafe impl<T: Value> Sync for Memory<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Value> Send for Memory<'_, T> {}

impl<T: Value> Memory<'_, T> {
    /// Where the final panel of supernode `s` stands.
    pub fn panel(&self, s: usize) -> *mut T {
        self.arena.wrapping_add(self.plan.panel_start(s) as usize)
    }

    /// The front of supernode `s`; `member` is who walks the subtree that it is in. Its pivot columns are worked on in
    /// `room`, if they are going to be in another layout.
    pub fn front(&self, s: usize, member: usize, room: *mut T) -> Front<T> {
        let layout = self.plan.front_layout(s);
        let data = match self.plan.panel_layout(s) {
            PanelLayout::Strips(_) => room,
            PanelLayout::Blocks(_) => self.panel(s),
        };
        let panel = Packed { data, layout };
        Front {
            panel,
            update: self.update(s, member),
        }
    }

    /// Touches the pages that the final panel and the update matrix of supernode `s` are going to stand in.
    #[inline(always)]
    pub fn touch(&self, fresh: &Fresh<'_>, s: usize, update: &Packed<T>) {
        self.touch_numbers(fresh, self.panel(s), self.plan.panel_layout(s).len());
        if !self.plan.update_is_implicit(s) {
            self.touch_numbers(fresh, update.data, update.layout.len());
        }
    }

    /// Touches the pages of a block column, those of the panel counted first.
    pub fn touch_block(&self, fresh: &Fresh<'_>, front: &Front<T>, b: usize) {
        let (part, b) = match b.checked_sub(front.panel.layout.blocks()) {
            None => (&front.panel, b),
            Some(b) => (&front.update, b),
        };
        let (from, layout) = (part.data.wrapping_add(part.layout.offset(b)), part.layout);
        self.touch_numbers(fresh, from, layout.width(b) * layout.height(b));
    }

    /// Touches the pages that so many numbers are in, if they are in the arena.
    #[inline(always)]
    fn touch_numbers(&self, fresh: &Fresh<'_>, at: *const T, len: usize) {
        let from = at.addr().wrapping_sub(self.arena.addr());
        fresh.touch(from..from.saturating_add(len * size_of::<T>()));
    }

    /// The member's own part of `packed`.
    pub fn packed_part(&self, member: usize) -> *mut T {
        self.packed
            .wrapping_add(member * self.plan.packed_part() as usize)
    }

    /// Supernode `s`, a leaf of which the update is implicit, for its parent.
    #[inline(always)]
    pub fn leaf<'b>(&self, s: usize, relative: &'b [u32]) -> Leaf<'b, T> {
        Leaf {
            panel: self.panel(s),
            npiv: self.plan.symbolic().npiv(s),
            relative,
        }
    }

    /// The update matrix of supernode `s`, in the stack of `member` or anywhere in the arena; nowhere if it is implicit.
    pub fn update(&self, s: usize, member: usize) -> Packed<T> {
        let at = match self.plan.update_place(s) {
            UpdatePlace::None => 0,
            UpdatePlace::Left(at) => self.plan.stack(member).start + at,
            UpdatePlace::Right(back) => self.plan.stack(member).end - back,
            UpdatePlace::Shared(at) => at,
        };
        let data = self.arena.wrapping_add(at as usize);
        Packed {
            data,
            layout: self.plan.update_layout(s),
        }
    }
}
