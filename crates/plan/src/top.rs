//! The order in which the fronts above the subtrees are begun.
//!
//! Two threads work on one front after the other, in postorder, so that few update matrices wait. More threads find too little to do in
//! one front: they work on several, which should not be above each other. Fronts are then begun in the order of the times at which they
//! might be, if there were threads for all, and each may be in work together with those up to a *window* of places before it.
//! Update matrices wait longer for it: the wider the window, the more memory. It is as wide as it may be for a quarter more, or for a
//! few megabytes, which small systems have for each thread anyway; sixteen
//! threads take 0.67 to 0.83 of the time with one place, with seven 0.60 to 0.75 on four of six matrices (run `threads-3`).

use tamarack_symbolic::SymbolicFactor;

use crate::cut::secs_together;
use crate::room::Room;

/// Windows that are tried.
const WINDOWS: [usize; 4] = [15, 7, 3, 1];

/// One part in so many of the memory that one front after the other takes may be added for a window.
const MORE: u64 = 4;

/// Numbers that may be added in any case: 32 MiB in double precision.
const LITTLE: u64 = 1 << 22;

/// The fronts above the subtrees.
#[derive(Clone, Debug, Default)]
pub(crate) struct TopOrder {
    /// In the order in which they are begun, children before parents.
    pub fronts: Vec<u32>,
    /// A front may be begun when all are done that are more than so many places before it.
    pub window: usize,
}

/// Where each front of the top has room for its packed rows, in numbers, and how many those are together.
#[derive(Clone, Debug, Default)]
pub(crate) struct PackedPlaces {
    pub at: Vec<u64>,
    pub len: u64,
}

impl TopOrder {
    /// One front after the other, in postorder.
    pub fn in_turn(fronts: Vec<u32>) -> Self {
        Self { fronts, window: 0 }
    }

    /// In the order in which so many threads might begin them, given the fronts in postorder and the predicted seconds of all; no window
    /// yet.
    pub fn by_time(
        symbolic: &SymbolicFactor,
        fronts: &[u32],
        front_secs: &[f64],
        threads: usize,
    ) -> Self {
        let place = |s: usize| fronts.binary_search(&(s as u32));
        let mut begins = vec![0.0f64; fronts.len()];
        for (k, &s) in fronts.iter().enumerate() {
            let end = begins[k] + secs_together(front_secs[s as usize], threads);
            let above = symbolic.parent(s as usize).map(place);
            if let Some(Ok(above)) = above {
                begins[above] = begins[above].max(end);
            }
        }
        let mut order: Vec<usize> = (0..fronts.len()).collect();
        // Stable: of those that begin together children come first.
        order.sort_by(|&a, &b| begins[a].total_cmp(&begins[b]));
        let fronts = order.into_iter().map(|k| fronts[k]).collect();
        Self { fronts, window: 0 }
    }

    /// With the widest window for so many threads that does not take more memory than it may, beside `in_turn`; none, if there is none.
    pub fn widened(
        mut self,
        threads: usize,
        in_turn: u64,
        limit: u64,
        len: impl Fn(&Self) -> u64,
    ) -> Option<Self> {
        let most = limit.min(in_turn.saturating_add(LITTLE.max(in_turn / MORE)));
        for window in WINDOWS.into_iter().filter(|&window| window < threads) {
            self.window = window;
            if len(&self) <= most {
                return Some(self);
            }
        }
        None
    }

    /// Places for packed rows, of a length for each supernode: those of fronts in work at the same time are apart.
    pub fn packed_places(&self, len: impl Fn(usize) -> u64) -> PackedPlaces {
        let lens: Vec<u64> = self.fronts.iter().map(|&s| len(s as usize)).collect();
        let (mut room, mut places) = (Room::default(), PackedPlaces::default());
        for (k, &len) in lens.iter().enumerate() {
            if let Some(done) = k.checked_sub(self.window + 1) {
                room.release(places.at[done], lens[done]);
            }
            let at = room.allocate(len);
            places.at.push(at);
            places.len = places.len.max(at + len);
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_rows_of_fronts_in_work_together_are_apart() {
        for window in [0, 1, 3, 15] {
            let top = TopOrder {
                fronts: (0..60).collect(),
                window,
            };
            let len = |s: usize| (s * 7 % 11 + s / 5) as u64;
            let places = top.packed_places(len);
            for k in 0..60 {
                let range = |k: usize| places.at[k]..places.at[k] + len(k);
                assert!(range(k).end <= places.len);
                for other in k.saturating_sub(window)..k {
                    let (a, b) = (range(k), range(other));
                    assert!(a.is_empty() || b.is_empty() || a.end <= b.start || b.end <= a.start);
                }
            }
            let one: u64 = (0..60).map(len).max().unwrap_or(0);
            assert!(window > 0 || places.len == one);
        }
    }
}
