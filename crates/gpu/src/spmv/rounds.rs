//! Cutting a matrix into windows of rows, and dealing the entries of each into rounds by their columns.
//!
//! A window is a run of rows whose sums fit in a block's shared memory. Its entries are taken in the order of their columns,
//! and each goes to the first round that has room and comes after the last one with its sum: no sum occurs twice in a
//! round, and every sum receives its entries by ascending columns, whatever the windows and rounds are. Cost: a sort of
//! the entries of each window.

use super::Csr;

/// Entries of a sum: a longer row has several, so that it does not need more rounds than others have. A window of the
/// power-law matrix of `docs/kernels.md` has 55 rounds.
const PIECE: usize = 16;
/// Entries of a segment: a longer row is cut, so that no window waits for it.
const SEGMENT: usize = 4096;
/// Column of a padding entry, and its source.
pub(super) const NONE: u32 = u32::MAX;

/// Sizes of the windows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    /// Windows that run at the same time: their number is a multiple of it, as far as there is work.
    pub at_once: u64,
    /// Most sums of a window: below 2^16, and 256 at least, which a segment has.
    pub places: usize,
    /// Entries of a round.
    pub round: usize,
}

/// The arrays of `spmv/by_column.cu`, and where each entry comes from.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    /// First row, rows, first round, rounds, first of `several`, how many, places.
    pub windows: Vec<[u32; 8]>,
    pub columns: Vec<u32>,
    pub places: Vec<u16>,
    /// The entry of the matrix that stands at each place of the new order, NONE for padding.
    pub sources: Vec<u32>,
    pub several: Vec<u32>,
    /// Rows that were cut, and where the segments of each begin.
    pub cut_rows: Vec<u32>,
    pub segment_starts: Vec<u32>,
    /// Sums of the largest window.
    pub most_places: usize,
}

/// Entries of a row or of a segment: entries below 2^32 (`Csr`).
type Strip = std::ops::Range<u32>;

/// Cuts and deals `matrix`.
pub(super) fn deal<T: Copy>(matrix: &Csr<'_, T>, sizes: Sizes) -> Rounds {
    let mut out = Rounds::default();
    let strips = strips(matrix, &mut out);
    let mut window = Window {
        columns: matrix.all_columns(),
        sizes,
        entries: Vec::new(),
        last: Vec::new(),
        filled: Vec::new(),
    };
    for rows in windows(&strips, sizes) {
        window.deal(&strips[rows.clone()], rows.start, &mut out);
    }
    out
}

/// All rows, those that are cut without entries, and then the segments of these.
fn strips<T: Copy>(matrix: &Csr<'_, T>, out: &mut Rounds) -> Vec<Strip> {
    let mut strips = Vec::with_capacity(matrix.rows() as usize);
    let mut segments: Vec<Strip> = Vec::new();
    for row in 0..matrix.rows() {
        let range = matrix.range(row);
        if range.len() <= SEGMENT {
            strips.push(range.start as u32..range.end as u32);
            continue;
        }
        strips.push(0..0);
        out.cut_rows.push(row);
        out.segment_starts.push(segments.len() as u32);
        let starts = range.clone().step_by(SEGMENT);
        segments.extend(starts.map(|s| s as u32..(s + SEGMENT).min(range.end) as u32));
    }
    out.segment_starts.push(segments.len() as u32);
    strips.extend(segments);
    strips
}

/// Sums of a strip.
fn sums(strip: &Strip) -> usize {
    strip.len().div_ceil(PIECE).max(1)
}

/// Runs of strips with about the same number of rows and entries together: as few as have room for their sums, in a
/// multiple of `at_once`; fewer only where they would not fill a round.
fn windows(strips: &[Strip], sizes: Sizes) -> Vec<std::ops::Range<usize>> {
    let weight = |strip: &Strip| strip.len() as u64 + 1;
    let total: u64 = strips.iter().map(weight).sum();
    let mut count = sizes.at_once.min(total / sizes.round as u64).max(1);
    loop {
        let (mut windows, mut fit) = (Vec::new(), true);
        let (mut start, mut places, mut before, mut current) = (0, 0, 0, 0);
        for (k, strip) in strips.iter().enumerate() {
            let here = u128::from(before) * u128::from(count) / u128::from(total);
            if here != current && k > start {
                windows.push(start..k);
                (start, places) = (k, 0);
            }
            current = here;
            places += sums(strip);
            fit &= places <= sizes.places;
            before += weight(strip);
        }
        if start < strips.len() {
            windows.push(start..strips.len());
        }
        // From `total` on every strip is alone, and a segment fits.
        if fit || count >= total {
            return windows;
        }
        count *= 2;
    }
}

/// An entry of a window.
#[derive(Clone, Copy)]
struct Entry {
    /// Column, then place: what entries are sorted by.
    key: u64,
    source: u32,
    round: u32,
}

struct Window<'a> {
    columns: &'a [u32],
    sizes: Sizes,
    entries: Vec<Entry>,
    /// For each sum the round after the last that has an entry of it.
    last: Vec<u32>,
    /// Entries of each round so far.
    filled: Vec<u32>,
}

impl Window<'_> {
    /// Emits the window of these strips, the first of which is row `row`.
    fn deal(&mut self, strips: &[Strip], row: usize, out: &mut Rounds) {
        let first_several = out.several.len();
        let places = self.collect(strips, out);
        let several = out.several.len() - first_several;
        out.several.push((places as u32) << 16);
        self.choose_rounds(places);
        let round = out.columns.len() / self.sizes.round;
        self.emit(out);
        out.windows.push([
            row as u32,
            strips.len() as u32,
            round as u32,
            self.filled.len() as u32,
            first_several as u32,
            several as u32,
            places as u32,
            0,
        ]);
        out.most_places = out.most_places.max(places);
    }

    /// The entries by column, each with its sum: a row's first sum has the row's place, its others follow after all
    /// rows, and its entries go to them by turns. Returns the number of sums.
    fn collect(&mut self, strips: &[Strip], out: &mut Rounds) -> usize {
        self.entries.clear();
        let mut places = strips.len();
        for (own, strip) in strips.iter().enumerate() {
            let sums = sums(strip);
            if sums > 1 {
                out.several.push(own as u32 | (places as u32) << 16);
            }
            for (k, source) in strip.clone().enumerate() {
                let place = match k % sums {
                    0 => own,
                    other => places + other - 1,
                };
                let key = u64::from(self.columns[source as usize]) << 32 | place as u64;
                self.entries.push(Entry {
                    key,
                    source,
                    round: 0,
                });
            }
            places += sums - 1;
        }
        self.entries.sort_unstable_by_key(|entry| entry.key);
        places
    }

    fn choose_rounds(&mut self, places: usize) {
        self.last.clear();
        self.last.resize(places, 0);
        self.filled.clear();
        let full = self.sizes.round as u32;
        let mut open = 0;
        for entry in &mut self.entries {
            let last = &mut self.last[entry.key as u32 as usize];
            let mut round = open.max(*last as usize);
            while self.filled.get(round).is_some_and(|&filled| filled == full) {
                round += 1;
            }
            if round >= self.filled.len() {
                self.filled.resize(round + 1, 0);
            }
            self.filled[round] += 1;
            (entry.round, *last) = (round as u32, round as u32 + 1);
            while self.filled.get(open).is_some_and(|&filled| filled == full) {
                open += 1;
            }
        }
    }

    fn emit(&mut self, out: &mut Rounds) {
        let begin = out.columns.len();
        let end = begin + self.filled.len() * self.sizes.round;
        out.columns.resize(end, NONE);
        out.places.resize(end, 0);
        out.sources.resize(end, NONE);
        let rounds = 0..self.filled.len();
        let mut next: Vec<usize> = rounds.map(|r| begin + r * self.sizes.round).collect();
        for entry in &self.entries {
            let at = next[entry.round as usize];
            next[entry.round as usize] += 1;
            out.columns[at] = (entry.key >> 32) as u32;
            out.places[at] = entry.key as u16; // places are below 2^16
            out.sources[at] = entry.source;
        }
    }
}
