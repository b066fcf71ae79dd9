//! Priority queue of vertices by gain, with updates in place.

use crate::mindeg::NONE;

/// Binary heap of `(gain, vertex)`, largest gain first. Among equals the history of the heap decides,
/// which is as deterministic as any rule; going by vertex number instead would sweep the separator
/// along the numbering and costs a few percent of flops on grids.
#[derive(Clone, Debug, Default)]
pub(crate) struct GainHeap {
    items: Vec<(i64, u32)>,
    /// Position of each vertex in `items` or `NONE`.
    position: Vec<u32>,
}

impl GainHeap {
    /// An empty heap for vertices below `n`.
    pub(crate) fn reset(&mut self, n: usize) {
        self.clear();
        if self.position.len() < n {
            self.position.resize(n, NONE);
        }
    }

    /// Removes all vertices, in time linear in their number.
    pub(crate) fn clear(&mut self) {
        for &(_, v) in &self.items {
            self.position[v as usize] = NONE;
        }
        self.items.clear();
    }

    /// The vertex of largest gain.
    pub(crate) fn peek(&self) -> Option<(i64, u32)> {
        self.items.first().copied()
    }

    /// Adds `v`, which is not in the heap.
    pub(crate) fn push(&mut self, v: u32, gain: i64) {
        self.items.push((gain, v));
        self.up(self.items.len() - 1);
    }

    /// Takes `v` out, if it is in.
    pub(crate) fn remove(&mut self, v: u32) {
        let at = std::mem::replace(&mut self.position[v as usize], NONE) as usize;
        if at == NONE as usize {
            return;
        }
        let last = self.items.len() - 1;
        self.items.swap(at, last);
        self.items.pop();
        if at < last {
            let at = self.up(at);
            self.down(at);
        }
    }

    /// Adds `delta` to the gain of `v`, if it is in.
    pub(crate) fn add(&mut self, v: u32, delta: i64) {
        let at = self.position[v as usize];
        if at != NONE {
            self.items[at as usize].0 += delta;
            if delta > 0 {
                self.up(at as usize);
            } else {
                self.down(at as usize);
            }
        }
    }

    fn before(a: (i64, u32), b: (i64, u32)) -> bool {
        a.0 > b.0
    }

    fn up(&mut self, mut at: usize) -> usize {
        let item = self.items[at];
        while at > 0 {
            let parent = (at - 1) / 2;
            if !Self::before(item, self.items[parent]) {
                break;
            }
            self.put(at, self.items[parent]);
            at = parent;
        }
        self.put(at, item);
        at
    }

    fn down(&mut self, mut at: usize) {
        let item = self.items[at];
        loop {
            let mut child = 2 * at + 1;
            if child >= self.items.len() {
                break;
            }
            let right = child + 1;
            if right < self.items.len() && Self::before(self.items[right], self.items[child]) {
                child = right;
            }
            if !Self::before(self.items[child], item) {
                break;
            }
            self.put(at, self.items[child]);
            at = child;
        }
        self.put(at, item);
    }

    fn put(&mut self, at: usize, item: (i64, u32)) {
        self.items[at] = item;
        self.position[item.1 as usize] = at as u32;
    }
}
