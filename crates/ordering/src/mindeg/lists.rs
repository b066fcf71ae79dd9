//! Degree lists: the variables of each degree, doubly linked, last in first out.

use crate::error::{OrderingError, refill};

/// No vertex.
pub(crate) const NONE: u32 = u32::MAX;
/// In `Link::prev`: the variable is in no list.
const DETACHED: u32 = u32::MAX - 1;

#[derive(Clone, Copy, Debug)]
struct Link {
    next: u32,
    prev: u32,
}

/// Buckets of variables by degree, with the smallest degree found by a cursor.
#[derive(Clone, Debug, Default)]
pub(crate) struct DegreeLists {
    /// First variable of each degree.
    heads: Vec<u32>,
    /// Neighbors in the list, length n.
    links: Vec<Link>,
    /// No list of smaller degree has a member.
    min: u32,
}

impl DegreeLists {
    /// Empty lists for `n` variables and degrees below `degrees`.
    pub(crate) fn reset(&mut self, n: usize, degrees: u32) -> Result<(), OrderingError> {
        let detached = Link {
            next: NONE,
            prev: DETACHED,
        };
        refill(&mut self.heads, degrees as usize, NONE)?;
        refill(&mut self.links, n, detached)?;
        self.min = 0;
        Ok(())
    }

    /// Puts `i` at the front of the list of `degree`.
    #[inline]
    pub(crate) fn insert(&mut self, i: u32, degree: u32) {
        let head = std::mem::replace(&mut self.heads[degree as usize], i);
        if head != NONE {
            self.links[head as usize].prev = i;
        }
        self.links[i as usize] = Link {
            next: head,
            prev: NONE,
        };
        self.min = self.min.min(degree);
    }

    /// Takes `i` out of the list of `degree`; nothing happens where it is in none.
    #[inline]
    pub(crate) fn remove(&mut self, i: u32, degree: u32) {
        let Link { next, prev } = self.links[i as usize];
        if prev == DETACHED {
            return;
        }
        self.links[i as usize].prev = DETACHED;
        if next != NONE {
            self.links[next as usize].prev = prev;
        }
        if prev != NONE {
            self.links[prev as usize].next = next;
        } else {
            self.heads[degree as usize] = next;
        }
    }

    /// Whether `i` is in a list.
    pub(crate) fn contains(&self, i: u32) -> bool {
        self.links[i as usize].prev != DETACHED
    }

    /// Takes the most recent variable of least degree, if that degree is at most `limit`.
    #[inline]
    pub(crate) fn pop_at_most(&mut self, limit: u32) -> Option<u32> {
        let i = self.peek_at_most(limit)?;
        self.remove(i, self.min);
        Some(i)
    }

    /// Least degree with a member.
    pub(crate) fn min_degree(&mut self) -> Option<u32> {
        self.peek_at_most(NONE).map(|_| self.min)
    }

    fn peek_at_most(&mut self, limit: u32) -> Option<u32> {
        while (self.min as usize) < self.heads.len() && self.min <= limit {
            let i = self.heads[self.min as usize];
            if i != NONE {
                return Some(i);
            }
            self.min += 1;
        }
        None
    }
}
