//! Which format a matrix gets, by what its rows look like.
//!
//! The thresholds come from the timings in `docs/kernels.md`.

use super::Csr;

/// How a matrix is kept on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Row, column and value of each entry.
    Coo,
    /// Compressed rows, a power of two of threads each, by the mean length.
    CsrRows,
    /// Compressed rows, cut into tiles of equal work.
    CsrMerge,
    /// Windows of rows, the entries of each in the order of their columns.
    ByColumn,
    /// All rows padded to the longest.
    Ell,
    /// The first entries of all rows as ELL, the rest as COO.
    Hybrid,
    /// Slices of 32 rows, each padded to its own longest, rows sorted by length within windows.
    SlicedEll,
    /// The lower half of a symmetric matrix, in windows.
    SymmetricLower,
    /// The lower half of a symmetric matrix padded to the longest row, and the pattern of the whole.
    SymmetricEll,
}

/// What the choice rests on: the lengths of the rows, and how far apart the columns are.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Profile {
    /// Rows.
    pub rows: u32,
    /// Entries.
    pub entries: u64,
    /// Mean length of a row.
    pub mean: f64,
    /// Standard deviation of the length of a row.
    pub deviation: f64,
    /// Length of the longest row.
    pub longest: u32,
    /// Entries that sliced ELL would keep, padding included.
    pub sliced_entries: u64,
    /// Width of the ELL part of a hybrid: as long as a third of the rows are longer.
    pub hybrid_width: u32,
    /// Lines of `x` that the gather of an entry fetches where 32 entries are taken as they stand; 0 where `x` fits in the
    /// first-level cache. Of a sample.
    pub lines: f64,
    /// The same where a window's entries are taken by column.
    pub lines_by_column: f64,
}

/// Rows of a slice.
pub(super) const SLICE: usize = 32;
/// Rows among which sliced ELL sorts by length: far fewer than the second-level cache holds of `x`.
pub(super) const SORT_WINDOW: usize = 1024;

/// Padding that sliced ELL may have before balanced CSR is faster.
const MOST_PADDING: f64 = 1.15;
/// Mean length from which on several threads a row are as fast, without another layout.
const LONG_MEAN: f64 = 40.0;
/// Rows below which sliced ELL, with one thread a row, leaves the card idle.
const FEW_ROWS: u32 = 100_000;
/// Lines an entry from which on requests for them take longer than the matrix takes to be read: the second-level cache
/// answers 131 an ns on the H100, which reads 250 entries in that time.
const SCATTERED: f64 = 0.5;
/// Part of these lines that may be left by column, where entries are larger and barriers many.
const MOST_LEFT: f64 = 0.85;
/// Entries from which on the windows of a large card have as many rounds as a sum has entries.
const MANY_ENTRIES: u64 = 4_000_000;
/// Windows of the sample: the multiprocessors of an H100; and most rows of one.
const WINDOWS: usize = 132;
const WINDOW_ROWS: usize = 20_000;
/// A line of the caches, and what of `x` the first level holds.
const LINE_BYTES: usize = 128;
const FIRST_LEVEL_BYTES: usize = 256 << 10;
/// Mean length of a lower half from which on windows pay, and from which on more than symmetric ELL, which has the pattern of both
/// halves: with 81 a row windows take 84 µs in f64 and ELL 123, with 27 they take 102 and 90.
const LEAST_LOWER_MEAN: f64 = 8.0;
const LONG_LOWER_MEAN: f64 = 20.0;

/// Bytes of a symmetric ELL matrix between a row and the farthest that it knows, so that both readings of a value are one of
/// device memory: a small part of the second-level cache (40 to 126 MB on large cards).
const NEAR_BYTES: usize = 8 << 20;

/// Whether symmetric ELL suits the matrix of this lower half, given with its profile.
pub(super) fn suits_symmetric_ell<T: Copy>(lower: &Profile, matrix: &Csr<'_, T>) -> bool {
    let mut lengths: Vec<u32> = (0..matrix.rows())
        .map(|i| matrix.row(i).len() as u32)
        .collect();
    let mut reach = 0;
    for i in 0..matrix.rows() {
        for &j in matrix.row(i).iter().filter(|&&j| j < i) {
            lengths[j as usize] += 1;
            reach = reach.max(i - j);
        }
    }
    let longest = lengths.iter().copied().max().unwrap_or(0);
    let entries: u64 = lengths.iter().map(|&l| u64::from(l)).sum();
    let fits = |longest: u32, entries: u64| {
        f64::from(longest) * f64::from(lower.rows) <= MOST_PADDING * entries.max(1) as f64
    };
    let row_bytes = lower.longest as usize * size_of::<T>() + 4 * longest as usize;
    lower.rows >= FEW_ROWS
        && lower.mean < LONG_LOWER_MEAN
        && reach as usize * row_bytes <= NEAR_BYTES
        && fits(lower.longest, lower.entries)
        && fits(longest, entries)
}

impl Profile {
    /// Measures a matrix: one pass over the starts of its rows, and a look at four windows of its columns.
    #[must_use]
    pub fn of<T: Copy>(matrix: &Csr<'_, T>) -> Self {
        let rows = matrix.rows();
        let lengths: Vec<u32> = (0..rows).map(|i| matrix.row(i).len() as u32).collect();
        let entries = matrix.entries() as u64;
        let mean = entries as f64 / f64::from(rows.max(1));
        let squares: f64 = lengths.iter().map(|&l| (f64::from(l) - mean).powi(2)).sum();
        let longest = lengths.iter().copied().max().unwrap_or(0);
        let (lines, lines_by_column) = lines(matrix);
        Self {
            rows,
            entries,
            mean,
            deviation: (squares / f64::from(rows.max(1))).sqrt(),
            longest,
            sliced_entries: sliced_entries(&lengths),
            hybrid_width: hybrid_width(&lengths, longest),
            lines,
            lines_by_column,
        }
    }

    /// The format for a matrix given in full.
    #[must_use]
    pub fn format(&self) -> Format {
        let padding = self.sliced_entries as f64 / (self.entries as f64).max(1.0);
        if padding <= MOST_PADDING && self.rows >= FEW_ROWS && self.mean < LONG_MEAN {
            return Format::SlicedEll;
        }
        if self.deviation <= self.mean && f64::from(self.longest) <= 8.0 * self.mean.max(4.0) {
            return Format::CsrRows;
        }
        let gains = self.lines_by_column <= MOST_LEFT * self.lines;
        if self.entries >= MANY_ENTRIES && self.lines >= SCATTERED && gains {
            return Format::ByColumn;
        }
        Format::CsrMerge
    }

    /// The format for a symmetric matrix of which this is the lower half.
    #[must_use]
    pub fn format_of_lower(&self) -> Format {
        let regular = self.deviation <= self.mean && f64::from(self.longest) <= 8.0 * self.mean;
        if self.mean >= LEAST_LOWER_MEAN && regular && self.rows >= FEW_ROWS {
            return Format::SymmetricLower;
        }
        self.format()
    }
}

/// Lines of `x` an entry, as entries stand and by column.
fn lines<T: Copy>(matrix: &Csr<'_, T>) -> (f64, f64) {
    const SAMPLES: usize = 4;
    if matrix.columns() as usize * size_of::<T>() <= FIRST_LEVEL_BYTES {
        return (0.0, 0.0);
    }
    let columns = matrix.all_columns();
    let windows = WINDOWS.max(matrix.rows() as usize / WINDOW_ROWS);
    let window = columns.len().div_ceil(windows).max(1);
    let (mut entries, mut as_they_stand, mut by_column) = (0, 0, 0);
    for k in 0..SAMPLES {
        let start = columns.len() / SAMPLES * k;
        let mut sample = columns[start..columns.len().min(start + window)].to_vec();
        entries += sample.len();
        as_they_stand += lines_of::<T>(&sample);
        sample.sort_unstable();
        by_column += lines_of::<T>(&sample);
    }
    let each = |lines: usize| lines as f64 / entries.max(1) as f64;
    (each(as_they_stand), each(by_column))
}

/// Lines that warps fetch which take 32 of these columns each.
fn lines_of<T>(columns: &[u32]) -> usize {
    let per_line = (LINE_BYTES / size_of::<T>()) as u32;
    let warps = columns.chunks(32).map(|warp| {
        let mut lines: Vec<u32> = warp.iter().map(|column| column / per_line).collect();
        lines.sort_unstable();
        lines.dedup();
        lines.len()
    });
    warps.sum()
}

/// Entries in slices of rows sorted by length within windows.
fn sliced_entries(lengths: &[u32]) -> u64 {
    let mut total = 0;
    for window in lengths.chunks(SORT_WINDOW) {
        let mut sorted = window.to_vec();
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        let widths = sorted.chunks(SLICE).map(|slice| u64::from(slice[0]));
        total += widths.sum::<u64>() * SLICE as u64;
    }
    total
}

/// The largest width that at least a third of the rows fill (Bell, Garland 2009).
fn hybrid_width(lengths: &[u32], longest: u32) -> u32 {
    // Rows of 4096 entries and more are in the last class: they never fill a third of a width.
    const CLASSES: usize = 4096;
    let mut longer = vec![0_usize; CLASSES + 1];
    for &l in lengths {
        longer[(l as usize).min(CLASSES)] += 1;
    }
    let mut filled = 0;
    for width in (1..=CLASSES).rev() {
        filled += longer[width];
        if 3 * filled >= lengths.len() {
            return (width as u32).min(longest);
        }
    }
    0
}
