//! Numbers of a few of a graph's vertices, counted in the order in which they come.
//!
//! A hash table with linear probing: an array as long as the graph for every thread would be what a small graph's ordering
//! takes most of its memory for, and would be read at scattered places. Where the few are most of the vertices it is that
//! array. Time constant for each vertex on average.

use crate::mindeg::NONE;

/// 2³² over the golden ratio: consecutive numbers are spread evenly (Knuth 1973, 6.4).
const SPREAD: u32 = 0x9E37_79B1;

/// Vertices with their numbers.
#[derive(Default)]
pub(crate) struct Numbers {
    /// Vertex and number, or [`NONE`].
    slots: Vec<(u32, u32)>,
    /// The first place of vertex `v` is `v * factor >> shift`.
    factor: u32,
    shift: u32,
    /// So many vertices there is room for.
    most: usize,
}

impl Numbers {
    /// Forgets all; makes room for `few` of the vertices `0..n` and as many more.
    pub(crate) fn clear(&mut self, few: usize, n: usize) {
        if 4 * few < n {
            return self.hash(few.max(1).next_power_of_two().ilog2() + 2);
        }
        (self.factor, self.shift, self.most) = (1, 0, n);
        self.empty(n);
    }

    /// A hash table of `2^bits` places, at most half in use.
    fn hash(&mut self, bits: u32) {
        (self.factor, self.shift, self.most) = (SPREAD, 32 - bits, 1 << (bits - 1));
        self.empty(1 << bits);
    }

    fn empty(&mut self, slots: usize) {
        self.slots.clear();
        self.slots.resize(slots, (NONE, NONE));
    }

    /// Where `v` stands, or is to stand.
    #[inline]
    fn slot(&self, v: u32) -> usize {
        let mut at = (v.wrapping_mul(self.factor) >> self.shift) as usize;
        while self.slots[at].0 != v && self.slots[at].0 != NONE {
            at = if at + 1 < self.slots.len() { at + 1 } else { 0 };
        }
        at
    }

    /// The number of `v`, which becomes the last of `vertices` if it has none yet.
    #[inline]
    pub(crate) fn find(&mut self, v: u32, vertices: &mut Vec<u32>) -> u32 {
        let at = self.slot(v);
        if self.slots[at].0 == v {
            return self.slots[at].1;
        }
        let number = vertices.len() as u32;
        vertices.push(v);
        self.slots[at] = (v, number);
        if vertices.len() > self.most {
            self.hash(33 - self.shift);
            for (number, &v) in (0..).zip(&*vertices) {
                let at = self.slot(v);
                self.slots[at] = (v, number);
            }
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vertices_are_numbered_as_they_come() {
        for (few, n) in [(1, 1 << 20), (100, 1 << 20), (3000, 4000)] {
            let mut numbers = Numbers::default();
            for salt in [7u32, 11] {
                numbers.clear(few, n);
                let vertex =
                    |k: u32| (k.wrapping_mul(salt).wrapping_mul(0x85EB_CA6B) >> 7) % n as u32;
                let (mut vertices, mut expected) = (Vec::new(), Vec::new());
                // Many more than there is room for at first; some come again.
                for v in (0..3000).map(vertex) {
                    let found = numbers.find(v, &mut vertices);
                    if !expected.contains(&v) {
                        expected.push(v);
                    }
                    assert_eq!(expected[found as usize], v);
                }
                assert_eq!(vertices, expected);
            }
        }
    }
}
