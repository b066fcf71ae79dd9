//! A simulated allocator: the free parts of an area that grows as needed.

use std::collections::BTreeMap;

/// Free parts of an area without an end, first fit; a part is taken in `O(free parts)`.
#[derive(Debug, Default)]
pub(crate) struct Room {
    /// Offset to length of the free parts below `end`, never adjacent.
    free: BTreeMap<u64, u64>,
    /// Everything from here on is free.
    end: u64,
}

impl Room {
    /// Takes `len` numbers and returns where.
    pub fn allocate(&mut self, len: u64) -> u64 {
        if len == 0 {
            return 0;
        }
        let fits = |&(_, &free): &(&u64, &u64)| free >= len;
        let found = self.free.iter().find(fits).map(|(&at, &free)| (at, free));
        if let Some((at, free)) = found {
            self.free.remove(&at);
            if free > len {
                self.free.insert(at + len, free - len);
            }
            return at;
        }
        let at = self.end;
        self.end += len;
        at
    }

    /// Gives back what [`allocate`](Self::allocate) returned for `len`.
    pub fn release(&mut self, at: u64, len: u64) {
        if len == 0 {
            return;
        }
        let mut start = at;
        let mut stop = at + len;
        let before = self.free.range(..at).next_back().map(|(&a, &l)| (a, l));
        if let Some((a, l)) = before
            && a + l == at
        {
            self.free.remove(&a);
            start = a;
        }
        if let Some(l) = self.free.remove(&stop) {
            stop += l;
        }
        if stop == self.end {
            self.end = start;
        } else {
            self.free.insert(start, stop - start);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_parts_join_again() {
        let mut room = Room::default();
        let (a, b, c) = (room.allocate(10), room.allocate(20), room.allocate(5));
        assert_eq!((a, b, c, room.end), (0, 10, 30, 35));
        room.release(a, 10);
        room.release(b, 20);
        assert_eq!(room.allocate(30), 0);
        room.release(0, 30);
        assert_eq!(room.free.len(), 1);
        room.release(c, 5);
        assert!(room.free.is_empty());
        assert_eq!((room.allocate(50), room.end), (0, 50));
    }

    #[test]
    fn nothing_takes_no_room() {
        let mut room = Room::default();
        assert_eq!((room.allocate(0), room.end), (0, 0));
        room.release(0, 0);
        assert!(room.free.is_empty());
    }
}
