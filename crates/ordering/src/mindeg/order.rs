//! The elimination order that a quotient graph holds when all pivots are eliminated.

use crate::error::{OrderingError, refill, reserve};
use crate::mindeg::lists::NONE;
use crate::mindeg::quotient::{IS_ELEMENT, QuotientGraph};

/// Variables up to which all of a graph is near: its order need not bring it together.
pub(super) const SMALL: usize = 1 << 12;

impl QuotientGraph {
    /// The [`elimination_order`](Self::elimination_order), but for small graphs: these are left in the order in which pivots were
    /// eliminated, which is found in half the time.
    pub(crate) fn any_elimination_order(
        &self,
        order: &mut [u32],
        scratch: &mut [Vec<u32>; 3],
    ) -> Result<(), OrderingError> {
        if self.n() <= SMALL {
            self.pivots_in_order(order, scratch)
        } else {
            self.elimination_order(order, scratch)
        }
    }

    /// Writes the pivots in the order in which they were eliminated, each followed by the variables it stands for; those set aside
    /// come last.
    fn pivots_in_order(
        &self,
        order: &mut [u32],
        [first, next, _]: &mut [Vec<u32>; 3],
    ) -> Result<(), OrderingError> {
        let n = self.n();
        // Lists of the variables that are no pivots; that of place n has those that none stands for.
        refill(first, n + 1, NONE)?;
        refill(next, n, NONE)?;
        for i in (0..n as u32).rev() {
            let mut root = i;
            while root != NONE && self.nodes[root as usize].elements != IS_ELEMENT {
                root = match self.is_absorbed(root) {
                    true => self.nodes[root as usize].start as u32,
                    false => NONE,
                };
            }
            if root != i {
                let first = &mut first[(root as usize).min(n)];
                next[i as usize] = std::mem::replace(first, i);
            }
        }
        let mut to = order.iter_mut();
        let mut write = |i: u32| to.next().into_iter().for_each(|to| *to = i);
        for &me in &self.pivots {
            write(me);
            list(next, first[me as usize]).for_each(&mut write);
        }
        list(next, first[n]).for_each(write);
        Ok(())
    }

    /// Writes the elimination order, in postorder of the tree of elements: each pivot comes after the elements that it
    /// absorbed and is followed by the variables it stands for; variables set aside or not eliminated
    /// come last. In postorder neighbors are near each other, which all that follows gains from. `order` has length n.
    pub(crate) fn elimination_order(
        &self,
        order: &mut [u32],
        [first, owner, end]: &mut [Vec<u32>; 3],
    ) -> Result<(), OrderingError> {
        let n = self.n();
        refill(owner, n, NONE)?;
        refill(first, n + 1, 0)?;
        refill(end, self.pivots.len(), 0)?;
        // Until it is written, the order has room for the tree, parents and, in `end`, variables of subtrees, and behind it
        // for the variables that are no pivots.
        let (parent, others) = order.split_at_mut(self.pivots.len());
        self.find_owners(owner, first, others);
        for rank in 0..parent.len() {
            parent[rank] = self.absorber(self.pivots[rank], owner);
            end[rank] += first[rank];
            if parent[rank] != NONE {
                end[parent[rank] as usize] += end[rank];
            }
        }
        // From now on `first` is where variables go, and `end` where what is left for children ends.
        let mut roots_end = n as u32 - first[n];
        first[n] = roots_end;
        for rank in (0..parent.len()).rev() {
            let size = end[rank];
            let free = match parent[rank] {
                NONE => &mut roots_end,
                above => &mut end[above as usize],
            };
            first[rank] = *free - first[rank];
            *free -= size;
            end[rank] = first[rank];
        }
        let others = end;
        refill(others, 0, 0)?;
        reserve(others, n - self.pivots.len())?;
        others.extend_from_slice(&order[self.pivots.len()..]);
        for (&me, first) in self.pivots.iter().zip(first.iter_mut()) {
            order[*first as usize] = me;
            *first += 1;
        }
        for &i in others.iter() {
            let first = &mut first[owner[i as usize] as usize];
            order[*first as usize] = i;
            *first += 1;
        }
        Ok(())
    }

    /// Operations of a factor with these pivots: over its columns, entries squared.
    pub(crate) fn operations(&self) -> f64 {
        let pivots = self.pivots.iter().map(|&me| &self.nodes[me as usize]);
        let columns =
            pivots.flat_map(|node| (1..=node.weight.unsigned_abs()).map(|k| node.degree + k));
        columns.map(|entries| f64::from(entries).powi(2)).sum()
    }

    /// Finds for each variable the rank of the pivot that stands for it in the end, `n` if there is none, and for each rank how
    /// many variables have it; lists the `others`, which are no pivots.
    fn find_owners(&self, owner: &mut [u32], count: &mut [u32], others: &mut [u32]) {
        let n = self.n();
        for (rank, &me) in self.pivots.iter().enumerate() {
            owner[me as usize] = rank as u32;
        }
        count[..self.pivots.len()].fill(1);
        let mut others = others.iter_mut();
        for i in 0..n as u32 {
            // An other one before it may have found its way.
            let found = owner[i as usize];
            if self.pivots.get(found as usize) == Some(&i) {
                continue;
            }
            if let Some(other) = others.next() {
                *other = i;
            }
            let mut root = i;
            while root != NONE && owner[root as usize] == NONE && self.is_absorbed(root) {
                root = self.nodes[root as usize].start as u32;
            }
            let found = match root {
                NONE => n as u32,
                root => owner[root as usize].min(n as u32),
            };
            // Shorten the way for those that come later.
            let mut x = i;
            while x != root {
                owner[x as usize] = found;
                x = self.nodes[x as usize].start as u32;
            }
            owner[i as usize] = found;
            count[found as usize] += 1;
        }
    }

    /// The rank of the pivot whose element absorbed the one of pivot `me`, or `NONE`. Elements of one or two variables that were in no list
    /// are absorbed by that of their first.
    fn absorber(&self, me: u32, owner: &[u32]) -> u32 {
        let node = self.nodes[me as usize];
        let rank = match node.len {
            0 if node.degree > 0 => owner.get(node.start as usize).copied(),
            1 | 2 => self.list(me).iter().map(|&j| owner[j as usize]).min(),
            _ => None, // no variables, or only such as are not eliminated
        };
        rank.filter(|&rank| (rank as usize) < self.n())
            .unwrap_or(NONE)
    }
}

/// The members of a list, given the one after each.
fn list(next: &[u32], first: u32) -> impl Iterator<Item = u32> + '_ {
    let there = |i: u32| (i != NONE).then_some(i);
    std::iter::successors(there(first), move |&i| there(next[i as usize]))
}
