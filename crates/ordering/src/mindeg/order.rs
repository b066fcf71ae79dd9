//! The elimination order that a quotient graph holds when all pivots are eliminated.

use crate::error::{OrderingError, refill};
use crate::mindeg::lists::NONE;
use crate::mindeg::quotient::QuotientGraph;

impl QuotientGraph {
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
        self.find_owners(owner, first);
        // Until it is written, the order has room for the tree: parents and, in `end`, variables of subtrees.
        let parent = &mut order[..self.pivots.len()];
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
        for &me in &self.pivots {
            let slot = &mut first[owner[me as usize] as usize];
            order[*slot as usize] = me;
            *slot += 1;
        }
        for i in 0..n as u32 {
            let rank = owner[i as usize] as usize;
            if self.pivots.get(rank) != Some(&i) {
                order[first[rank] as usize] = i;
                first[rank] += 1;
            }
        }
        Ok(())
    }

    /// Finds for each variable the rank of the pivot that stands for it in the end, `n` if there is none, and for each rank how
    /// many variables have it.
    fn find_owners(&self, owner: &mut [u32], count: &mut [u32]) {
        let n = self.n();
        for (rank, &me) in self.pivots.iter().enumerate() {
            owner[me as usize] = rank as u32;
        }
        for i in 0..n as u32 {
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
