//! Where every panel and every update matrix stands, found by walking the tree without numbers.
//!
//! There is one arena. Panels stand at its left in the order in which they are begun, so at any
//! moment those in use end at a *level* that only rises. Update matrices live to the right of it,
//! in the room of panels that are not begun yet, and die before those are.
//!
//! An update matrix lives from its own front to its parent's, so the parent's level is what it
//! must stay clear of. The walk is simulated backwards, from the last front to the first: a front
//! takes room for its children's matrices, counted from the arena's right end, and gives back the
//! room of its own. That is first fit over intervals of time (the storage allocation problem of
//! Gergov 1999), with those that stand against the highest level served first and rightmost; the
//! arena's end is the largest sum of a level and what stands right of it.
//!
//! Five fronts by one thread, as the walk comes to them; 5 is the parent of 3 and 4, and 3 that of 1 and 2:
//!
//! ```text
//!            panels, to the level   |                update matrices, from the right end
//!  front 5   [P1][P2][P3][P4][P5]   |                       [U4][U3]   reads U4 and U3: right of P5
//!  front 4   [P1][P2][P3][P4]       |                       [U4][U3]   writes U4, whose room is free before
//!  front 3   [P1][P2][P3]           |               [U2][U1]    [U3]   reads U2 and U1, in what is free; writes U3
//!  front 2   [P1][P2]               |               [U2][U1]           writes U2
//!  front 1   [P1]                   |                   [U1]           writes U1
//! ```
//!
//! Small subtrees, and with several threads the subtrees that are tasks, are not simulated front
//! by front: their matrices stand on a stack with two ends, which takes room as a whole. Fronts at
//! even depth push on the left end, fronts at odd depth on the right. The children of a front are
//! then together on top of one end while the front's own matrix is made on the other, so nothing
//! is ever moved and the stack is as long as the largest sum of live matrices (Duff and Reid 1983,
//! without compaction). Each end is a stack: what lies below a front's matrix belongs to earlier
//! siblings of it and of its ancestors of the same parity, all of which are needed later than it.
//!
//! Cost: linear in the supernodes, but for the few that are simulated, `O(free parts)` each.

use std::ops::Range;

use tamarack_dense::{BlockColumns, PanelLayout};
use tamarack_symbolic::SymbolicFactor;

use crate::error::PlanError;
use crate::leaves::Leaves;
use crate::packing::Packing;
use crate::plan::UpdatePlace;
use crate::top::TopOrder;

/// A subtree whose stack is at most this part of the factor is walked on a stack as a whole: the
/// slack that this costs is of that order.
const SMALL_STACK: u64 = 256;

/// Numbers of a stack that is small whatever the factor is: less than a cache holds.
const LEAST_STACK: u64 = if cfg!(test) { 1 } else { 1 << 11 };

/// What is laid out.
pub(crate) struct Tree<'a> {
    symbolic: &'a SymbolicFactor,
    /// First supernode of every subtree.
    first: &'a [u32],
    /// Length of every final panel.
    panel_len: Vec<u64>,
    /// Length of every update matrix.
    update_len: Vec<u64>,
    /// Length of the update matrices of the children of every front, together.
    children_len: Vec<u64>,
    /// Whether the number of supernodes on the way to a root is odd.
    odd: Vec<bool>,
}

/// Places of all panels and update matrices, in numbers from the beginning of the arena.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// Where the panel of each supernode begins.
    pub panel: Vec<u64>,
    /// One for each supernode.
    pub update: Vec<UpdatePlace>,
    /// Where each thread's stack begins; none if there is one thread.
    pub stacks: Vec<u64>,
    /// Length of one thread's stack.
    pub stack_len: u64,
    /// Length of all panels.
    pub factor_len: u64,
    /// Length of the arena.
    pub arena_len: u64,
    /// No update matrix ever stands left of this.
    pub panels_only: u64,
}

/// Where the panel of each supernode begins, and the length of all.
#[derive(Clone, Debug)]
pub(crate) struct Panels {
    at: Vec<u64>,
    len: u64,
}

impl Places {
    /// Of panels and some update matrices; nothing else has a place yet.
    fn new(panels: Panels, update: Vec<UpdatePlace>) -> Self {
        Self {
            update,
            panel: panels.at,
            stacks: Vec::new(),
            stack_len: 0,
            factor_len: panels.len,
            arena_len: 0,
            panels_only: 0,
        }
    }
}

impl<'a> Tree<'a> {
    /// A tree with block columns of `block` columns of numbers of so many bytes; `first` has one for each supernode.
    pub fn new(
        symbolic: &'a SymbolicFactor,
        leaves: &Leaves,
        block: usize,
        value_bytes: usize,
        first: &'a [u32],
    ) -> Self {
        let panel_len = |(npiv, nupd)| PanelLayout::new(npiv, nupd, block, value_bytes).len();
        let update_len = |s| match leaves.contain(s) {
            true => 0,
            false => BlockColumns::update(symbolic.nupd(s), block).len() as u64,
        };
        let update_len: Vec<u64> = (0..symbolic.supernodes()).map(update_len).collect();
        let mut children_len = vec![0; update_len.len()];
        for (s, len) in update_len.iter().enumerate() {
            if let Some(parent) = symbolic.parent(s) {
                children_len[parent] += len;
            }
        }
        let mut odd = vec![false; update_len.len()];
        for s in (0..odd.len()).rev() {
            odd[s] = symbolic.parent(s).is_some_and(|parent| !odd[parent]);
        }
        Self {
            symbolic,
            first,
            panel_len: symbolic
                .front_sizes()
                .map(|size| panel_len(size) as u64)
                .collect(),
            update_len,
            children_len,
            odd,
        }
    }

    /// Length of the update matrix of `s`.
    pub fn update_len(&self, s: usize) -> u64 {
        self.update_len[s]
    }

    /// Children of `s` and the lengths of their update matrices.
    pub fn children(&self, s: usize) -> impl Iterator<Item = (usize, u64)> + '_ {
        let children = self.symbolic.children(s).iter();
        children.map(|&c| (c as usize, self.update_len[c as usize]))
    }

    /// Finds all places for one thread.
    ///
    /// # Errors
    /// [`PlanError::TooLarge`] where the factor's length does not fit into 64 bits.
    pub fn lay_out_alone(&self) -> Result<Places, PlanError> {
        let update = vec![UpdatePlace::None; self.symbolic.supernodes()];
        let mut places = Places::new(self.panels(&[])?, update);
        let packing = self.walk_alone(&mut places);
        Ok(self.placed(places, &packing))
    }

    /// Places the matrices of the subtrees with these roots on a stack of each thread that walks them, and finds how long those have to
    /// be: one place for each supernode, none yet for the roots and what is above.
    pub fn stacks(&self, subtrees: &[u32]) -> (Vec<UpdatePlace>, u64) {
        let mut update = vec![UpdatePlace::None; self.symbolic.supernodes()];
        let roots = subtrees.iter().map(|&root| root as usize);
        let longest = roots.map(|root| self.stack(root, &mut update)).max();
        (update, longest.unwrap_or(0))
    }

    /// Finds all places for several threads, given the panels and stacks.
    pub fn lay_out(
        &self,
        panels: Panels,
        (update, stack_len): (Vec<UpdatePlace>, u64),
        top: &TopOrder,
        threads: usize,
    ) -> Places {
        let (packing, stacks) = self.pack(&panels, stack_len, top, threads);
        let mut places = Places::new(panels, update);
        let from_end = stacks.iter().map(|at| packing.arena_len - at - stack_len);
        places.stacks.extend(from_end);
        places.stack_len = stack_len;
        self.placed(places, &packing)
    }

    /// Length of the arena that this takes.
    pub fn arena_len(
        &self,
        panels: &Panels,
        stack_len: u64,
        top: &TopOrder,
        threads: usize,
    ) -> u64 {
        self.pack(panels, stack_len, top, threads).0.arena_len
    }

    /// Places of a walk, with those of the matrices that room was taken for.
    fn placed(&self, mut places: Places, packing: &Packing) -> Places {
        places.arena_len = packing.arena_len;
        places.panels_only = packing.arena_len - packing.deepest;
        for (s, place) in places.update.iter_mut().enumerate() {
            let len = self.update_len[s];
            if len > 0 && *place == UpdatePlace::None {
                *place = UpdatePlace::Shared(packing.arena_len - packing.from_end[s] - len);
            }
        }
        places
    }

    /// Where panels begin, and the end: those of the subtrees first, in postorder.
    ///
    /// # Errors
    /// [`PlanError::TooLarge`] where that does not fit into 64 bits.
    pub fn panels(&self, top: &[u32]) -> Result<Panels, PlanError> {
        let mut panel = vec![0; self.symbolic.supernodes()];
        let mut next = 0u64;
        let mut above = top.to_vec();
        above.sort_unstable();
        let mut above = above.into_iter().peekable();
        let below = (0..panel.len() as u32).filter(|&s| above.next_if_eq(&s).is_none());
        for s in below.chain(top.iter().copied()) {
            let s = s as usize;
            panel[s] = next;
            next = next
                .checked_add(self.panel_len[s])
                .ok_or(PlanError::TooLarge)?;
        }
        Ok(Panels {
            at: panel,
            len: next,
        })
    }

    /// One thread: every place is absolute, and only small subtrees have a stack.
    fn walk_alone(&self, places: &mut Places) -> Packing {
        let peaks = self.stack_peaks();
        let small = LEAST_STACK.max(places.factor_len / SMALL_STACK);
        let (mut packing, mut stacks) = self.pack_alone(places, &peaks, small);
        // First fit may leave gaps; one stack beside the factor has none.
        let most = peaks.iter().copied().max().unwrap_or(0);
        if packing.arena_len > places.factor_len + most {
            (packing, stacks) = self.pack_alone(places, &peaks, u64::MAX);
        }
        for (subtree, from_end, len) in stacks {
            let begin = packing.arena_len - from_end - len;
            for place in &mut places.update[subtree] {
                *place = match *place {
                    UpdatePlace::Left(at) => UpdatePlace::Shared(begin + at),
                    UpdatePlace::Right(back) => UpdatePlace::Shared(begin + len - back),
                    other => other,
                };
            }
        }
        packing
    }

    /// The walk of one thread backwards, with a stack for each subtree that needs at most `small`:
    /// supernodes below its root, distance of the stack from the arena's end, length.
    fn pack_alone(
        &self,
        places: &mut Places,
        peaks: &[u64],
        small: u64,
    ) -> (Packing, Vec<(Range<usize>, u64, u64)>) {
        let mut packing = Packing::new(self.update_len.len(), places.factor_len);
        let mut stacks = Vec::new();
        let mut end = self.symbolic.supernodes();
        while let Some(s) = end.checked_sub(1) {
            let level = places.panel[s] + self.panel_len[s];
            if self.first[s] as usize == s {
                // A leaf has no stack.
                packing.release(self, s);
                end = s;
            } else if peaks[s] > small {
                packing.front(self, s, level);
                end = s;
            } else {
                end = self.first[s] as usize;
                let len = self.stack(s, &mut places.update);
                let from_end = packing.take(len, level);
                packing.room.release(from_end, len);
                packing.release(self, s);
                stacks.push((end..s, from_end, len));
            }
        }
        (packing, stacks)
    }

    /// Several threads: the top front by front, and a stack for each thread before that, when all
    /// panels of the subtrees are in use and none of the top.
    ///
    /// With a window, a front of the top may be in work together with those up to so many places before it: what a front reads is kept
    /// for as many places behind it. As many fronts may be in work together with the subtrees. Also returned: distances of the stacks
    /// from the arena's right end.
    fn pack(
        &self,
        panels: &Panels,
        stack_len: u64,
        top: &TopOrder,
        threads: usize,
    ) -> (Packing, Vec<u64>) {
        let mut packing = Packing::new(self.update_len.len(), panels.len);
        let mut stacks = Vec::with_capacity(threads);
        let (top, window) = (&top.fronts[..], top.window);
        let end = |s: u32| panels.at[s as usize] + self.panel_len[s as usize];
        // Fronts of the top that are begun while there are stacks.
        let early = match window {
            0 => 0,
            _ => top.len().min(window + 1),
        };
        for (k, &s) in top.iter().enumerate().rev() {
            // What fronts read that may be in work together with this one and with none behind it.
            let first = k.checked_sub(window);
            let until_now = match k + 1 == top.len() {
                true => first.unwrap_or(0)..k + 1,
                false => first.map_or(0..0, |first| first..first + 1),
            };
            for &read in top[until_now].iter().rev() {
                packing.take_children(self, read as usize, end(s));
            }
            if k + 1 == early {
                // What this front and those before it write to is there together with the stacks.
                stacks.extend((0..threads).map(|_| packing.take(stack_len, end(s))));
            }
            packing.release(self, s as usize);
        }
        if early == 0 {
            let first = top.first().map(|&s| panels.at[s as usize]);
            let level = first.unwrap_or(panels.len);
            stacks.extend((0..threads).map(|_| packing.take(stack_len, level)));
        }
        (packing, stacks)
    }

    /// Largest sum of update matrices that live together in the postorder walk of each subtree.
    fn stack_peaks(&self) -> Vec<u64> {
        // Of what was there so far of each front's children: update matrices that wait for it, and the peak.
        let mut waiting = vec![0; self.update_len.len()];
        let mut peaks = vec![0; self.update_len.len()];
        for (s, &len) in self.update_len.iter().enumerate() {
            let peak = self.children_len[s] + len;
            peaks[s] = peak.max(peaks[s]);
            if let Some(parent) = self.symbolic.parent(s) {
                peaks[parent] = peaks[parent].max(waiting[parent] + peaks[s]);
                waiting[parent] += len;
            }
        }
        peaks
    }

    /// Places the matrices of one subtree, its root's excepted, and returns the stack they need.
    fn stack(&self, root: usize, update: &mut [UpdatePlace]) -> u64 {
        let first = self.first[root] as usize;
        let mut used = [0u64; 2];
        let mut peak = 0;
        let odd = &self.odd[first..=root];
        let sides = odd.iter().map(|&odd| usize::from(odd != self.odd[root]));
        for (s, side) in (first..).zip(sides) {
            if s != root {
                let len = self.update_len[s];
                update[s] = match len {
                    0 => UpdatePlace::None,
                    _ if side == 0 => UpdatePlace::Left(used[0]),
                    own => UpdatePlace::Right(used[1] + own),
                };
                used[side] += len;
            }
            peak = peak.max(used[0] + used[1]);
            used[1 - side] -= self.children_len[s];
        }
        peak
    }
}
