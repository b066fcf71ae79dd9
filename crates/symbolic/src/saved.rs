//! Saving an analysis, and reading one back without trusting it.
//!
//! Reading checks every invariant that later phases index by: after it no bytes, however made, cause
//! an access out of range. What follows from other fields (children, relative indices, counts of
//! stored entries) is computed again and compared. Linear in the size of the data.

use serde::Deserialize;
use tamarack_sparse::{Pattern, Permutation};

use crate::analyzed::Analyzed;
use crate::entries::EntryMap;
use crate::factor::NONE;
use crate::flops::stored;
use crate::postorder::child_lists;
use crate::structure::owners;
use crate::{Stats, SymbolicError, SymbolicFactor};

/// First bytes of a saved analysis: what it is, and the version of its layout.
const MAGIC: [u8; 8] = *b"tmrksym3";

/// The fields of a symbolic factor, unchecked; the same names and order.
#[derive(Deserialize)]
pub(crate) struct Unchecked {
    permutation: Permutation,
    super_ptr: Vec<u32>,
    parent: Vec<u32>,
    child_ptr: Vec<u32>,
    children: Vec<u32>,
    row_ptr: Vec<u64>,
    rows: Vec<u32>,
    relative: Vec<u32>,
    entries: EntryMap,
    stats: Stats,
    analyzed: Analyzed,
}

impl SymbolicFactor {
    /// The analysis as bytes, for [`from_bytes`](Self::from_bytes) of this version.
    pub fn to_bytes(&self) -> Vec<u8> {
        // Plain arrays written to memory have no way to fail; were there one, the empty
        // result would be refused on reading.
        postcard::to_extend(self, MAGIC.to_vec()).unwrap_or_default()
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote and checks all of it.
    ///
    /// # Errors
    /// [`SymbolicError::Corrupt`] for bytes that are not a whole, consistent analysis.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SymbolicError> {
        let body = bytes
            .strip_prefix(&MAGIC)
            .ok_or_else(|| corrupt("it does not begin as an analysis of this version does"))?;
        let (fields, rest) = postcard::take_from_bytes::<Unchecked>(body)
            .map_err(|e| corrupt(format!("it cannot be decoded ({e})")))?;
        if !rest.is_empty() {
            return Err(corrupt(format!("{} bytes follow its end", rest.len())));
        }
        fields.try_into()
    }
}

fn corrupt(what: impl Into<String>) -> SymbolicError {
    SymbolicError::Corrupt { what: what.into() }
}

/// An error unless the condition holds.
fn ensure(holds: bool, what: &str) -> Result<(), SymbolicError> {
    if holds { Ok(()) } else { Err(corrupt(what)) }
}

/// Offsets from 0 to `end`, one more than there are items, never decreasing.
fn ensure_offsets<T>(ptr: &[T], items: usize, end: usize, what: &str) -> Result<(), SymbolicError>
where
    T: Copy + PartialOrd + Into<u64>,
{
    let ends = ptr.len() == items + 1
        && ptr.first().map(|&p| p.into()) == Some(0)
        && ptr.last().map(|&p| p.into()) == Some(end as u64);
    ensure(ends && ptr.windows(2).all(|w| w[0] <= w[1]), what)
}

impl TryFrom<Unchecked> for SymbolicFactor {
    type Error = SymbolicError;

    fn try_from(u: Unchecked) -> Result<Self, SymbolicError> {
        let factor = Self {
            permutation: u.permutation,
            super_ptr: u.super_ptr,
            parent: u.parent,
            child_ptr: u.child_ptr,
            children: u.children,
            row_ptr: u.row_ptr,
            rows: u.rows,
            relative: u.relative,
            entries: u.entries,
            stats: u.stats,
            analyzed: u.analyzed,
        };
        factor.check_lengths()?;
        let owner = owners(&factor.super_ptr);
        factor.check_rows(&owner)?;
        factor.check_tree(&owner)?;
        factor.check_relative()?;
        factor.check_entries(&owner)?;
        factor.check_sources()?;
        factor.check_stats()?;
        Ok(factor)
    }
}

impl SymbolicFactor {
    /// Offsets begin at 0, never decrease and end at the length of what they point into.
    fn check_lengths(&self) -> Result<(), SymbolicError> {
        let (n, ns) = (self.n(), self.parent.len());
        ensure(
            n as u64 <= Pattern::MAX_ORDER,
            "its order is above the largest supported",
        )?;
        ensure_offsets(&self.super_ptr, ns, n, "offsets of the supernodes")?;
        ensure_offsets(&self.row_ptr, ns, self.rows.len(), "offsets of the rows")?;
        ensure(
            self.relative.len() == self.rows.len(),
            "number of relative indices",
        )?;
        let map = &self.entries;
        let blocks = map.single.len().max(map.shaped.len());
        ensure_offsets(&map.ptr, n, blocks, "offsets of the entry map")?;
        ensure(
            map.single.is_empty() || map.shaped.is_empty(),
            "kinds of the entry map",
        )?;
        let is_wide = self.nnz_a() > u64::from(u32::MAX);
        ensure(
            map.high.len() == if is_wide { blocks } else { 0 },
            "high halves of the entry map",
        )
    }

    /// Rows increase, lie below the supernode, and the nearest ancestor that has columns owns the
    /// first; only sum fronts have none.
    fn check_rows(&self, owner: &[u32]) -> Result<(), SymbolicError> {
        // The nearest ancestor that has columns. Parents come later: theirs is known.
        let mut nearest: Vec<Option<usize>> = vec![None; self.supernodes()];
        for s in (0..self.supernodes()).rev() {
            let rows = self.rows(s);
            let sorted = rows.windows(2).all(|w| w[0] < w[1]);
            let inside = rows
                .first()
                .is_none_or(|&r| r as usize >= self.columns(s).end)
                && rows.last().is_none_or(|&r| (r as usize) < self.n());
            ensure(sorted && inside, "rows of a supernode")?;
            let parent = self.parent[s] as usize;
            let later = parent > s && parent < self.supernodes();
            ensure(later || self.parent[s] == NONE, "parent of a supernode")?;
            nearest[s] = match self.parent(s) {
                Some(sum) if self.columns(sum).is_empty() => nearest[sum],
                above => above,
            };
            let owner = rows.first().map(|&r| owner[r as usize] as usize);
            ensure(nearest[s] == owner, "parent of a supernode")?;
        }
        Ok(())
    }

    /// Children are those of the parents, and subtrees are contiguous (parents come later already).
    fn check_tree(&self, owner: &[u32]) -> Result<(), SymbolicError> {
        ensure(owner.len() == self.n(), "columns without a supernode")?;
        let (ptr, children) = child_lists(&self.parent);
        ensure(
            ptr == self.child_ptr && children == self.children,
            "lists of children",
        )?;
        let first = self.subtree_first();
        for s in 0..self.supernodes() {
            let sums = !self.children(s).is_empty() && self.nupd(s) > 0;
            ensure(sums || self.npiv(s) > 0, "a supernode has no columns")?;
            // The last child's subtree ends just before its parent, the others' before each other.
            let mut end = s as u32;
            for &c in self.children(s).iter().rev() {
                ensure(c + 1 == end, "the tree is not in postorder")?;
                end = first[c as usize];
            }
        }
        Ok(())
    }

    /// Every row stands in the parent's front where its relative index says.
    fn check_relative(&self) -> Result<(), SymbolicError> {
        for s in 0..self.supernodes() {
            let Some(p) = self.parent(s) else { continue };
            let (columns, rows) = (self.columns(p), self.rows(p));
            for (&r, &at) in self.rows(s).iter().zip(self.relative(s)) {
                let there = match (at as usize).checked_sub(columns.len()) {
                    None => columns.start as u32 + at,
                    Some(k) => *rows.get(k).unwrap_or(&NONE),
                };
                ensure(there == r, "relative index of a row")?;
            }
        }
        Ok(())
    }

    /// Blocks are nodes' and stand in their front one below the other; together they have as many entries as A.
    fn check_entries(&self, owner: &[u32]) -> Result<(), SymbolicError> {
        let (mut column, mut entries) = (0, 0);
        while column < self.n() {
            let s = owner[column] as usize;
            let (columns, order) = (self.columns(s), self.npiv(s) + self.nupd(s));
            let ptr = &self.entries.ptr[column..];
            let what = "rows of the entries of a column";
            ensure(ptr[0] < ptr[1], what)?;
            let node = self.node_entries(column);
            let width = node.width;
            ensure((1..=columns.end - column).contains(&width), what)?;
            ensure(ptr[2..=width].iter().all(|&p| p == ptr[1]), what)?;
            let (mut next, mut area) = (column - columns.start, 0);
            for (k, block) in node.blocks().enumerate() {
                let (row, weight) = (block.row as usize, block.weight as usize);
                let is_triangle = row == next && weight == width && block.upright;
                ensure(if k == 0 { is_triangle } else { row >= next }, what)?;
                next = row + weight;
                ensure(weight > 0 && next <= order, what)?;
                area += weight * width;
            }
            entries += area - width * (width - 1) / 2;
            column += width;
        }
        ensure(entries as u64 == self.nnz_a(), "number of entries")
    }

    /// Every entry of A occurs once; what they are taken from was looked at.
    fn check_sources(&self) -> Result<(), SymbolicError> {
        let mut seen = vec![0u64; (self.nnz_a() as usize).div_ceil(64)];
        for (src, _) in (0..self.n()).flat_map(|j| self.entries(j)) {
            let word = usize::try_from(src / 64).ok().and_then(|k| seen.get_mut(k));
            let bit = 1 << (src % 64);
            let fresh = src < self.nnz_a()
                && word.is_some_and(|w| std::mem::replace(w, *w | bit) & bit == 0);
            ensure(fresh, "source of an entry")?;
        }
        Ok(())
    }

    /// Counts are what the structure says, where it says it.
    fn check_stats(&self) -> Result<(), SymbolicError> {
        let (s, kept) = (&self.stats, stored(&self.super_ptr, &self.row_ptr));
        let n = self.n() as u64;
        let with_columns = self.super_ptr.windows(2).filter(|w| w[0] < w[1]).count() as u64;
        let holds = s.nnz_l_stored == kept.nnz_l_stored
            && s.flops_stored == kept.flops_stored
            && (s.nnz_a..=kept.nnz_l_stored).contains(&s.nnz_l)
            && (u128::from(s.nnz_l)..=kept.flops_stored).contains(&s.flops)
            && (with_columns..=n).contains(&s.fundamental_supernodes);
        ensure(holds, "counts")
    }
}
