//! Cutting the lower half of a symmetric matrix into chunks, pieces and rounds.
//!
//! A chunk is a run of rows together with the *window* of places that its entries touch: the chunk's own
//! rows first, then earlier rows, ascending. Its rows are cut into pieces of at most `8 · depth` entries,
//! and the pieces dealt into rounds such that the pieces of a round touch different places: a greedy
//! coloring. Cost: each entry is looked at four times, with four words of rounds for each.

use super::Csr;

/// Pieces that one round can hold: a group of 8 threads each.
const GROUPS: usize = 32;
const GROUP: usize = 8;
/// Rounds that are dealt to at once; pieces that fit in none of them wait for the next as many.
const ROUNDS: usize = 256;
/// Entries of a chunk are counted in 16 bits.
const MOST_ENTRIES: usize = 65_535;
/// Pieces of a chunk, so that their words stay small in shared memory.
const MOST_PIECES: usize = 2048;
const NOWHERE: u32 = u32::MAX;

/// Sizes of the cut.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    /// Most rows of a chunk.
    pub rows: usize,
    /// Most places of a window.
    pub window: usize,
    /// Entries of a piece, in eights.
    pub depth: usize,
}

/// The arrays of `spmv/symmetric.cu`, and where each entry comes from.
#[derive(Debug, Default)]
pub(super) struct Windows {
    /// entry, piece, round, outside (where each begins), row, rows, outside count, rounds, pieces.
    pub chunks: Vec<[u32; 12]>,
    pub pieces: Vec<u32>,
    pub rounds: Vec<u32>,
    pub outside: Vec<u32>,
    pub places: Vec<u16>,
    /// The entry of the matrix that stands at each place of the new order.
    pub sources: Vec<u32>,
    pub add_starts: Vec<u32>,
    pub adds: Vec<u32>,
    /// The largest window, and most pieces and rounds of a chunk, each with its closing word.
    pub window: usize,
    pub most_pieces: usize,
    pub most_rounds: usize,
}

/// At least `rounds`, and 8 more than a multiple of 16: a round's pieces are as many rows apart, and the
/// eight numbers of one then stand in other banks than those of its neighbors in the warp, for f64 and f32.
fn spread(rounds: usize) -> usize {
    (rounds + 8).next_multiple_of(16) - 8
}

/// A piece: the place of its row, and its entries in the matrix.
struct Piece {
    place: u16,
    entries: std::ops::Range<usize>,
}

/// Part of a row that a chunk takes.
struct Part {
    row: u32,
    entries: std::ops::Range<usize>,
}

struct Cutter<'a, 'm, T> {
    lower: &'a Csr<'m, T>,
    sizes: Sizes,
    out: Windows,
    /// Place of each row in the current chunk's window, or NOWHERE.
    place_of: Vec<u32>,
    /// The rounds of the current deal that touch each place.
    touched: Vec<[u64; ROUNDS / 64]>,
}

/// Cuts `lower`, whose entries stand on or below the diagonal.
pub(super) fn cut<T: Copy>(lower: &Csr<'_, T>, sizes: Sizes) -> Windows {
    let mut cutter = Cutter {
        lower,
        sizes,
        out: Windows::default(),
        place_of: vec![NOWHERE; lower.rows() as usize],
        touched: vec![[0; ROUNDS / 64]; sizes.window],
    };
    let (mut row, mut at) = (0, 0);
    while row < lower.rows() {
        let (parts, own) = cutter.take(&mut row, &mut at);
        cutter.chunk(&parts, own);
    }
    let mut out = cutter.out;
    (out.add_starts, out.adds) = by_row(&out.outside, lower.rows() as usize);
    out
}

impl<T: Copy> Cutter<'_, '_, T> {
    /// The rows of the next chunk from entry `at` of `row` on, and how many it finishes. A row that
    /// does not fit in a chunk of its own is taken in parts, none of which has company.
    fn take(&mut self, row: &mut u32, at: &mut usize) -> (Vec<Part>, std::ops::Range<u32>) {
        let first = *row;
        let piece = GROUP * self.sizes.depth;
        let (mut parts, mut outside) = (Vec::new(), Vec::new());
        let (mut entries, mut pieces) = (0, 0);
        while *row < self.lower.rows() && parts.len() < self.sizes.rows {
            let range = (*at).max(self.lower.range(*row).start)..self.lower.range(*row).end;
            let new_pieces = range.len().div_ceil(piece);
            let before = outside.len();
            for &column in &self.lower.all_columns()[range.clone()] {
                if column < first && self.place_of[column as usize] == NOWHERE {
                    self.place_of[column as usize] = 0;
                    outside.push(column);
                }
            }
            let fits = parts.len() + 1 + outside.len() <= self.sizes.window
                && entries + range.len() <= MOST_ENTRIES
                && pieces + new_pieces <= MOST_PIECES;
            if !fits && !parts.is_empty() {
                outside[before..]
                    .iter()
                    .for_each(|&c| self.place_of[c as usize] = NOWHERE);
                outside.truncate(before);
                break;
            }
            if !fits {
                outside
                    .iter()
                    .for_each(|&c| self.place_of[c as usize] = NOWHERE);
                let most = (self.sizes.window - 1)
                    .min(MOST_ENTRIES)
                    .min(MOST_PIECES * piece);
                let end = range.end.min(range.start + most);
                let finished = end == range.end;
                parts.push(Part {
                    row: *row,
                    entries: range.start..end,
                });
                *at = end;
                *row += u32::from(finished);
                return (parts, first..*row);
            }
            entries += range.len();
            pieces += new_pieces;
            *at = range.end;
            parts.push(Part {
                row: *row,
                entries: range,
            });
            *row += 1;
        }
        outside
            .iter()
            .for_each(|&c| self.place_of[c as usize] = NOWHERE);
        (parts, first..*row)
    }

    /// Emits one chunk of these parts; rows in `own` end here.
    fn chunk(&mut self, parts: &[Part], own: std::ops::Range<u32>) {
        let own_rows = own.len();
        let mut outside: Vec<u32> = Vec::new();
        for part in parts {
            let columns = &self.lower.all_columns()[part.entries.clone()];
            let row = (!own.contains(&part.row)).then_some(part.row);
            outside.extend(columns.iter().filter(|c| !own.contains(c)));
            outside.extend(row);
        }
        outside.sort_unstable();
        outside.dedup();
        for (k, &row) in outside.iter().enumerate() {
            self.place_of[row as usize] = (own_rows + k) as u32;
        }
        for row in own.clone() {
            self.place_of[row as usize] = row - own.start;
        }
        let rounds = self.deal(parts);
        self.emit(&rounds, &own, &outside);
        let rows = outside.iter().copied().chain(own);
        for row in rows {
            self.place_of[row as usize] = NOWHERE;
        }
        self.out.outside.extend(outside);
    }

    /// The pieces of `parts` in rounds.
    fn deal(&mut self, parts: &[Part]) -> Vec<Vec<Piece>> {
        let size = GROUP * self.sizes.depth;
        let mut waiting: Vec<Piece> = Vec::new();
        for part in parts {
            let place = self.place_of[part.row as usize] as u16;
            let mut start = part.entries.start;
            while start < part.entries.end {
                let end = part.entries.end.min(start + size);
                waiting.push(Piece {
                    place,
                    entries: start..end,
                });
                start = end;
            }
        }
        let mut rounds: Vec<Vec<Piece>> = Vec::new();
        while !waiting.is_empty() {
            waiting = self.deal_some(waiting, &mut rounds);
        }
        rounds
    }

    /// Deals to at most ROUNDS new rounds; returns the pieces that found no room. Each piece goes to the
    /// first round that has room for it, counted from the one after its predecessor's: neighbors touch
    /// the same places, so they are spread, and rounds fill evenly.
    fn deal_some(&mut self, waiting: Vec<Piece>, rounds: &mut Vec<Vec<Piece>>) -> Vec<Piece> {
        self.touched.fill([0; ROUNDS / 64]);
        let base = rounds.len();
        let mut open = spread(waiting.len().div_ceil(GROUPS)).min(ROUNDS);
        rounds.resize_with(base + open, Vec::new);
        let mut full = [0_u64; ROUNDS / 64];
        let (mut left, mut next) = (Vec::new(), 0);
        for piece in waiting {
            let columns = &self.lower.all_columns()[piece.entries.clone()];
            let mut taken = full;
            let mut merge = |place: usize| {
                for (all, one) in taken.iter_mut().zip(self.touched[place]) {
                    *all |= one;
                }
            };
            merge(piece.place.into());
            columns
                .iter()
                .for_each(|&c| merge(self.place_of[c as usize] as usize));
            let free = |round: &usize| taken[round / 64] >> (round % 64) & 1 == 0;
            let round = match (next..open).chain(0..next).find(free) {
                Some(round) => round,
                None if open < ROUNDS => {
                    rounds.push(Vec::new());
                    open += 1;
                    open - 1
                }
                None => {
                    left.push(piece);
                    continue;
                }
            };
            let (word, mark) = (round / 64, 1_u64 << (round % 64));
            self.touched[piece.place as usize][word] |= mark;
            for &c in columns {
                self.touched[self.place_of[c as usize] as usize][word] |= mark;
            }
            rounds[base + round].push(piece);
            if rounds[base + round].len() == GROUPS {
                full[word] |= mark;
            }
            next = (round + 1) % open;
        }
        left
    }

    fn emit(&mut self, rounds: &[Vec<Piece>], own: &std::ops::Range<u32>, outside: &[u32]) {
        let out = &mut self.out;
        let entry = out.places.len();
        let (piece0, round0) = (out.pieces.len(), out.rounds.len());
        out.chunks.push([
            entry as u32,
            piece0 as u32,
            round0 as u32,
            out.outside.len() as u32,
            own.start,
            own.len() as u32,
            outside.len() as u32,
            rounds.len() as u32,
            rounds.iter().map(Vec::len).sum::<usize>() as u32,
            0,
            0,
            0,
        ]);
        for round in rounds {
            out.rounds.push((out.pieces.len() - piece0) as u32);
            for piece in round {
                let first = (out.places.len() - entry) as u32;
                out.pieces.push(u32::from(piece.place) | first << 16);
                for at in piece.entries.clone() {
                    let column = self.lower.all_columns()[at] as usize;
                    out.places.push(self.place_of[column] as u16);
                    out.sources.push(at as u32);
                }
            }
        }
        out.rounds.push((out.pieces.len() - piece0) as u32);
        out.pieces.push(((out.places.len() - entry) as u32) << 16);
        out.window = out.window.max(own.len() + outside.len());
        out.most_pieces = out.most_pieces.max(out.pieces.len() - piece0);
        out.most_rounds = out.most_rounds.max(rounds.len() + 1);
    }
}

/// For each row the positions in `outside` that name it, ascending.
fn by_row(outside: &[u32], rows: usize) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0_u32; rows + 1];
    for &row in outside {
        starts[row as usize + 1] += 1;
    }
    for i in 0..rows {
        starts[i + 1] += starts[i];
    }
    let mut next = starts.clone();
    let mut adds = vec![0_u32; outside.len()];
    for (k, &row) in outside.iter().enumerate() {
        adds[next[row as usize] as usize] = k as u32;
        next[row as usize] += 1;
    }
    (starts, adds)
}
