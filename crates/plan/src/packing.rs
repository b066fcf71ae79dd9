//! Room for update matrices, taken on a walk backwards through time.

use crate::places::Tree;
use crate::room::Room;

/// The walk backwards through time.
pub(crate) struct Packing {
    /// Distances from the arena's right end.
    pub room: Room,
    /// Where in `room` each update matrix is that a front of the walk took room for.
    pub from_end: Vec<u64>,
    /// Length of the arena so far.
    pub arena_len: u64,
    /// Largest distance from the right end of anything that room was taken for.
    pub deepest: u64,
}

impl Packing {
    /// A walk over so many supernodes, whose panels have this length together.
    pub fn new(supernodes: usize, factor_len: u64) -> Self {
        Self {
            room: Room::default(),
            from_end: vec![0; supernodes],
            arena_len: factor_len,
            deepest: 0,
        }
    }

    /// Takes room for `len` numbers that are in use while panels are up to `level`.
    pub fn take(&mut self, len: u64, level: u64) -> u64 {
        let at = self.room.allocate(len);
        self.arena_len = self.arena_len.max(level + at + len);
        self.deepest = self.deepest.max(at + len);
        at
    }

    /// Gives back the room of the update matrix of `s`: it is not there before its front.
    pub fn release(&mut self, tree: &Tree<'_>, s: usize) {
        self.room.release(self.from_end[s], tree.update_len(s));
    }

    /// Goes back over front `s`.
    pub fn front(&mut self, tree: &Tree<'_>, s: usize, level: u64) {
        self.take_children(tree, s, level);
        self.release(tree, s);
    }

    /// Takes room for the children's matrices of front `s`.
    pub fn take_children(&mut self, tree: &Tree<'_>, s: usize, level: u64) {
        for (child, len) in tree.children(s) {
            self.from_end[child] = self.take(len, level);
        }
    }
}
