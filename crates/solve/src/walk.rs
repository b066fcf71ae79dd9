//! The fronts of a grove in the order of a substitution with one right-hand side.
//!
//! Thin fronts are handed out one after another to the kernel that goes through them
//! ([`forward_thin`](tamarack_dense::forward_thin)); the others are done on the way from one to the
//! next. Cost of a front: a few numbers from arrays that are read in order, as the panels are.

use tamarack_dense::{THIN, ThinFront};
use tamarack_numeric::Value;

use crate::plan::Grove;
use crate::substitution::Sweep;

/// Fronts of a grove from the first to the last root.
pub(crate) struct Upward<'a, T> {
    sweep: &'a Sweep<'a, T>,
    targets: &'a [u32],
    root: usize,
    member: usize,
    /// The supernode to come.
    next: usize,
}

/// The same from the last root to the first.
pub(crate) struct Downward<'a, T> {
    sweep: &'a Sweep<'a, T>,
    first: usize,
    member: usize,
    /// One past the supernode to come.
    next: usize,
}

impl<'a, T: Value> Upward<'a, T> {
    /// # Safety
    /// While fronts are handed out, nobody else works on this grove, and the member's space is this
    /// walk's alone.
    pub unsafe fn new(sweep: &'a Sweep<'a, T>, grove: &Grove, member: usize) -> Self {
        Self {
            sweep,
            targets: sweep.plan.targets(),
            root: grove.root as usize,
            member,
            next: grove.first as usize,
        }
    }
}

impl<'a, T: Value> Iterator for Upward<'a, T> {
    type Item = ThinFront<'a, T>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let sweep = self.sweep;
        while self.next <= self.root {
            let s = self.next;
            self.next += 1;
            let columns = sweep.symbolic.columns(s);
            if columns.len() > THIN {
                // SAFETY: the promise of whoever made this walk.
                unsafe { sweep.forward_front(s, self.member) };
            } else if !columns.is_empty() {
                return Some(ThinFront {
                    l: sweep.panel_at(s),
                    pivots: columns.len(),
                    x: sweep.row(columns.start),
                    at: sweep.x,
                    rows: &self.targets[sweep.symbolic.row_range(s)],
                });
            }
            // A sum front has no part in L.
        }
        None
    }
}

impl<'a, T: Value> Downward<'a, T> {
    /// # Safety
    /// As [`Upward::new`]; and the rows above the grove are final.
    pub unsafe fn new(sweep: &'a Sweep<'a, T>, grove: &Grove, member: usize) -> Self {
        Self {
            sweep,
            first: grove.first as usize,
            member,
            next: grove.root as usize + 1,
        }
    }
}

impl<'a, T: Value> Iterator for Downward<'a, T> {
    type Item = ThinFront<'a, T>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let sweep = self.sweep;
        while self.next > self.first {
            self.next -= 1;
            let s = self.next;
            let columns = sweep.symbolic.columns(s);
            if columns.len() > THIN {
                // SAFETY: the promise of whoever made this walk.
                unsafe { sweep.backward_front(s, self.member) };
            } else if !columns.is_empty() {
                return Some(ThinFront {
                    l: sweep.panel_at(s),
                    pivots: columns.len(),
                    x: sweep.row(columns.start),
                    at: sweep.x,
                    rows: sweep.symbolic.rows(s),
                });
            }
        }
        None
    }
}
