//! A simulated allocator: the free parts of an area that grows as needed.

/// Free parts of an area without an end, first fit; a part is taken or given back in `O(free parts)`, of which there are few.
#[derive(Debug, Default)]
pub(crate) struct Room {
    /// Offset and length of the free parts below `end`, by offset, never adjacent.
    free: Vec<(u64, u64)>,
    /// Everything from here on is free.
    end: u64,
}

impl Room {
    /// Takes `len` numbers and returns where.
    pub fn allocate(&mut self, len: u64) -> u64 {
        if len == 0 {
            return 0;
        }
        let Some(k) = self.free.iter().position(|&(_, free)| free >= len) else {
            let at = self.end;
            self.end += len;
            return at;
        };
        let (at, free) = self.free[k];
        if free == len {
            self.free.remove(k);
        } else {
            self.free[k] = (at + len, free - len);
        }
        at
    }

    /// Gives back what [`allocate`](Self::allocate) returned for `len`.
    pub fn release(&mut self, at: u64, len: u64) {
        if len == 0 {
            return;
        }
        let (mut start, mut stop) = (at, at + len);
        let k = self.free.partition_point(|&(other, _)| other < at);
        let before = k.checked_sub(1).filter(|&k| {
            let (at, len) = self.free[k];
            at + len == start
        });
        if let Some(k) = before {
            start = self.free[k].0;
        }
        let after = self.free.get(k).filter(|&&(at, _)| at == stop);
        let joins_after = after.is_some();
        stop += after.map_or(0, |&(_, len)| len);
        if stop == self.end {
            // No part touches the end: there is none behind.
            self.free.truncate(before.unwrap_or(k));
            self.end = start;
            return;
        }
        let part = (start, stop - start);
        match (before, joins_after) {
            (None, false) => self.free.insert(k, part),
            (None, true) => self.free[k] = part,
            (Some(before), false) => self.free[before] = part,
            (Some(before), true) => {
                self.free[before] = part;
                self.free.remove(k);
            }
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
