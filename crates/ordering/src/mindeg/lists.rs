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
///
/// Every list has a link of its own before its first variable, and all end in the same one, so that
/// whoever comes or goes has neighbors on both sides: no branch on where it stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct DegreeLists {
    /// Neighbors in the list, by variable; then those of the heads by degree, then the end's.
    links: Vec<Link>,
    /// Number of variables.
    n: usize,
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
        refill(&mut self.links, n + degrees as usize + 1, detached)?;
        self.n = n;
        let end = self.end();
        for head in &mut self.links[n..] {
            head.next = end;
        }
        self.min = 0;
        Ok(())
    }

    /// The link behind the last variable of every list.
    #[inline]
    fn end(&self) -> u32 {
        self.links.len() as u32 - 1
    }

    /// Puts `i` at the front of the list of `degree`.
    #[inline]
    pub(crate) fn insert(&mut self, i: u32, degree: u32) {
        let prev = self.n as u32 + degree;
        let next = std::mem::replace(&mut self.links[prev as usize].next, i);
        self.links[next as usize].prev = i;
        self.links[i as usize] = Link { next, prev };
        self.min = self.min.min(degree);
    }

    /// Takes `i` out of its list; nothing happens where it is in none.
    #[inline]
    pub(crate) fn remove(&mut self, i: u32) {
        let Link { next, prev } = self.links[i as usize];
        if prev == DETACHED {
            return;
        }
        self.links[i as usize].prev = DETACHED;
        self.links[next as usize].prev = prev;
        self.links[prev as usize].next = next;
    }

    /// Whether `i` is in a list.
    pub(crate) fn contains(&self, i: u32) -> bool {
        self.links[i as usize].prev != DETACHED
    }

    /// Where the last variable that was taken stood.
    #[cfg(test)]
    pub(crate) fn key_of_last(&self) -> u32 {
        self.min
    }

    /// Takes the most recent variable of least degree, if that degree is at most `limit`.
    #[inline]
    pub(crate) fn pop_at_most(&mut self, limit: u32) -> Option<u32> {
        let i = self.peek_at_most(limit)?;
        self.remove(i);
        Some(i)
    }

    /// Least degree with a member.
    pub(crate) fn min_degree(&mut self) -> Option<u32> {
        self.peek_at_most(NONE).map(|_| self.min)
    }

    #[inline]
    fn peek_at_most(&mut self, limit: u32) -> Option<u32> {
        let (end, heads) = (self.end(), &self.links[self.n..]);
        while (self.min as usize) + 1 < heads.len() && self.min <= limit {
            let i = heads[self.min as usize].next;
            if i != end {
                return Some(i);
            }
            self.min += 1;
        }
        None
    }
}
