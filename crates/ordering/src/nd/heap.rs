//! Priority queue of vertices by gain, with updates in place.

use crate::mindeg::NONE;
use crate::nd::board::Board;

/// Binary heap of `(gain, vertex)`, largest gain first; the board keeps each vertex's position, `NONE`
/// for those that are not in. Among equals the history of the heap decides, which is as deterministic
/// as any rule; going by vertex number instead would sweep the separator along the numbering and
/// costs a few percent of flops on grids.
#[derive(Clone, Debug, Default)]
pub(crate) struct GainHeap {
    items: Vec<(i32, u32)>,
}

impl GainHeap {
    /// Removes all vertices, in time linear in their number.
    pub(crate) fn clear(&mut self, board: &mut impl Board) {
        for &(_, v) in &self.items {
            board.set_slot(v, NONE);
        }
        self.items.clear();
    }

    /// A vertex of largest gain.
    pub(crate) fn peek(&self) -> Option<u32> {
        self.items.first().map(|item| item.1)
    }

    /// Adds `v`, which is not in the heap.
    #[inline]
    pub(crate) fn push(&mut self, board: &mut impl Board, v: u32, gain: i32) {
        self.items.push((gain, v));
        self.up(board, self.items.len() - 1);
    }

    /// Takes `v` out, if it is in.
    #[inline]
    pub(crate) fn remove(&mut self, board: &mut impl Board, v: u32) {
        let at = board.slot(v) as usize;
        if at == NONE as usize {
            return;
        }
        board.set_slot(v, NONE);
        let last = self.items.len() - 1;
        self.items.swap(at, last);
        self.items.pop();
        if at < last {
            let at = self.up(board, at);
            self.down(board, at);
        }
    }

    /// Adds `delta` to the gain of `v`, if it is in.
    #[inline]
    pub(crate) fn add(&mut self, board: &mut impl Board, v: u32, delta: i32) {
        let at = board.slot(v);
        if at != NONE {
            self.items[at as usize].0 += delta;
            if delta > 0 {
                self.up(board, at as usize);
            } else {
                self.down(board, at as usize);
            }
        }
    }

    #[inline]
    fn up(&mut self, board: &mut impl Board, mut at: usize) -> usize {
        let item = self.items[at];
        while at > 0 {
            let parent = (at - 1) / 2;
            if item.0 <= self.items[parent].0 {
                break;
            }
            self.put(board, at, self.items[parent]);
            at = parent;
        }
        self.put(board, at, item);
        at
    }

    #[inline]
    fn down(&mut self, board: &mut impl Board, mut at: usize) {
        let item = self.items[at];
        loop {
            let mut child = 2 * at + 1;
            if child >= self.items.len() {
                break;
            }
            let right = child + 1;
            if right < self.items.len() && self.items[right].0 > self.items[child].0 {
                child = right;
            }
            if self.items[child].0 <= item.0 {
                break;
            }
            self.put(board, at, self.items[child]);
            at = child;
        }
        self.put(board, at, item);
    }

    #[inline]
    fn put(&mut self, board: &mut impl Board, at: usize, item: (i32, u32)) {
        self.items[at] = item;
        board.set_slot(item.1, at as u32);
    }
}
