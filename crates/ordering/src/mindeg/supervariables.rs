//! Indistinguishable variables: same list, hence the same neighbors for the rest of the
//! elimination; they are merged into one supervariable (hashing: Ashcraft 1995; Amestoy, Davis,
//! Duff 1996).
//!
//! Only variables of the element just formed can have become indistinguishable. The table is as
//! small as that element, so that it stays in cache.

use crate::error::OrderingError;
use crate::mindeg::lists::NONE;
use crate::mindeg::quotient::{Element, QuotientGraph};

/// Bits of a slot number beyond those that the variables need: with 2 to 4 slots for each, often no
/// two variables share one, and then there is nothing to compare.
const SPARE_BITS: u32 = 1;

/// Chains of variables with equal hash, valid within one step.
#[derive(Clone, Debug, Default)]
pub(crate) struct HashTable {
    /// First of the chain, a power of two of them in use.
    heads: Vec<u32>,
    /// Next in the chain: by position in the element's list.
    next: Vec<u32>,
    /// Binary logarithm of the slots in use.
    bits: u32,
    /// Whether any two variables share a slot.
    chained: bool,
}

impl HashTable {
    /// Room for elements of up to `n` variables.
    pub(crate) fn reset(&mut self, n: usize) -> Result<(), OrderingError> {
        let slots = n.next_power_of_two() << SPARE_BITS;
        if self.next.len() < n {
            crate::error::refill(&mut self.next, n, NONE)?;
        }
        if self.heads.len() < slots {
            crate::error::refill(&mut self.heads, slots, NONE)?;
        }
        Ok(())
    }

    /// Empties the table for an element of `len` variables.
    #[inline]
    pub(crate) fn begin(&mut self, len: usize) {
        self.bits = usize::BITS - len.saturating_sub(1).leading_zeros() + SPARE_BITS;
        self.heads[..1 << self.bits].fill(NONE);
        self.chained = false;
    }

    /// Adds the variable at position `k` of the element's list by the hash of its own list.
    #[inline]
    pub(crate) fn add(&mut self, k: usize, hash: u32) {
        let slot = slot_of(hash, self.bits);
        let before = std::mem::replace(&mut self.heads[slot], k as u32);
        self.next[k] = before;
        self.chained |= before != NONE;
    }
}

/// Merges the indistinguishable variables of `element`: their hashes are in the table, by position
/// in its list, and their weights are negated. Variables are told apart as well by `class`: only
/// equal ones merge.
pub(crate) fn merge(
    q: &mut QuotientGraph,
    table: &mut HashTable,
    element: &Element,
    class: impl Fn(u32) -> bool,
) {
    if !table.chained {
        return;
    }
    let bits = table.bits;
    let heads = &mut table.heads[..1 << bits];
    for k in 0..element.end - element.start {
        let i = q.store[element.start + k];
        if q.nodes[i as usize].weight >= 0 {
            continue;
        }
        let slot = slot_of(q.nodes[i as usize].hash, bits);
        let mut head = std::mem::replace(&mut heads[slot], NONE);
        while head != NONE && table.next[head as usize] != NONE {
            merge_into(q, &mut table.next, element.start, head, &class);
            head = table.next[head as usize];
        }
    }
}

#[inline]
fn slot_of(hash: u32, bits: u32) -> usize {
    // Multiplicative hashing: the high bits of the product mix all of them.
    (u64::from(hash.wrapping_mul(0x9E37_79B1)) << bits >> 32) as usize
}

/// Merges into the variable at position `head` those after it in its chain that equal it.
fn merge_into(
    q: &mut QuotientGraph,
    next: &mut [u32],
    base: usize,
    head: u32,
    class: &impl Fn(u32) -> bool,
) {
    let i = q.store[base + head as usize];
    let a = q.nodes[i as usize];
    let mut marked = false;
    let (mut last, mut k) = (head, next[head as usize]);
    while k != NONE {
        let following = next[k as usize];
        let j = q.store[base + k as usize];
        let b = q.nodes[j as usize];
        let mut equal =
            a.hash == b.hash && a.len == b.len && a.elements == b.elements && class(i) == class(j);
        if equal {
            if !marked {
                q.new_stamp(1);
                mark_list(q, i);
                marked = true;
            }
            // The first entry is the new element for both.
            equal = q.list(j)[1..]
                .iter()
                .all(|&x| q.nodes[x as usize].mark == q.stamp);
        }
        if equal {
            q.nodes[i as usize].weight += b.weight;
            q.nodes[j as usize].weight = 0;
            QuotientGraph::absorb(&mut q.nodes, j, i);
            next[last as usize] = following;
        } else {
            last = k;
        }
        k = following;
    }
    if marked {
        q.stamp += 1;
    }
}

fn mark_list(q: &mut QuotientGraph, i: u32) {
    let node = q.nodes[i as usize];
    for p in node.start as usize + 1..node.start as usize + node.len as usize {
        let x = q.store[p];
        q.nodes[x as usize].mark = q.stamp;
    }
}
