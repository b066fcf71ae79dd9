//! What columns have for owners of rows other than theirs.

use std::ops::Range;

use tamarack_sparse::Pattern;

use crate::full_rows::Each;
use crate::substitution::Shared;

/// Entries of a column, counted from its first one, in rows of one owner.
#[derive(Clone, Copy, Debug)]
struct Piece {
    column: u32,
    from: u32,
    to: u32,
}

/// Entries that are in columns of one owner and in rows of another one.
#[derive(Clone, Debug, Default)]
pub(super) struct Crossing {
    /// Of the columns of each owner, and for each of those that come after it.
    pieces: Vec<Vec<Vec<Piece>>>,
}

impl Crossing {
    /// Finds them, given where the rows of each owner begin, and n.
    pub fn new(pattern: &Pattern, cuts: &[usize], each: &Each<'_>) -> Self {
        let owners = cuts.len() - 1;
        let mut pieces = vec![Vec::new(); owners];
        let found = Shared(pieces.as_mut_ptr());
        each(owners, &|c| {
            let own = pieces_of(pattern, cuts, c);
            // SAFETY: each owner has a place of its own.
            unsafe { *found.at(c) = own };
        });
        Self { pieces }
    }

    /// What owner `t` has in columns before its own, columns increasing.
    pub fn of(&self, t: usize) -> impl Iterator<Item = (usize, Range<usize>)> + '_ {
        let blocks = self.pieces[..t].iter().enumerate();
        let pieces = blocks.flat_map(move |(c, others)| &others[t - c - 1]);
        pieces.map(|piece| {
            (
                piece.column as usize,
                piece.from as usize..piece.to as usize,
            )
        })
    }
}

/// What the columns of owner `c` have for each of those that come after it.
fn pieces_of(pattern: &Pattern, cuts: &[usize], c: usize) -> Vec<Vec<Piece>> {
    let others = &cuts[c + 1..];
    let mut pieces = vec![Vec::new(); others.len() - 1];
    // The last one has none after it: its columns are not looked at.
    let columns = if pieces.is_empty() {
        0..0
    } else {
        cuts[c]..cuts[c + 1]
    };
    for j in columns {
        let rows = pattern.rows(j);
        let mut from = below(rows, others[0]);
        while from < rows.len() {
            let owner = others.partition_point(|&cut| cut <= rows[from] as usize) - 1;
            let to = from + below(&rows[from..], others[owner + 1]);
            pieces[owner].push(Piece {
                column: j as u32,
                from: from as u32,
                to: to as u32,
            });
            from = to;
        }
    }
    pieces
}

/// How many of increasing rows are less than `end`: mostly all or none.
pub(super) fn below(rows: &[u32], end: usize) -> usize {
    match (rows.first(), rows.last()) {
        (_, Some(&last)) if (last as usize) < end => rows.len(),
        (Some(&first), _) if first as usize >= end => 0,
        _ => rows.partition_point(|&i| (i as usize) < end),
    }
}
