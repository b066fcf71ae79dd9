//! From the entries of a file to a [`SymmetricCsc`], whichever triangles the file holds.
//!
//! A file that declares symmetry may give each entry on either side of the diagonal, but not on
//! both: whether `(i, j)` and `(j, i)` are one entry or two parts of it would be a guess. A general
//! file must hold both triangles, with equal values, those that are not stored being zero; values
//! may differ by rounding, since programs often write matrices that are symmetric only up to it.
//! Cost: linear.

use std::collections::TryReserveError;

use super::error::{IoError, Spot};
use crate::{Duplicates, Pattern, SymmetricCsc, TripletError, Triplets, symmetry};

/// Columns without any entry that are filled with a zero diagonal before an order is called
/// absurd: it bounds what a small file can make us allocate (about 60 bytes for each).
const MOST_EMPTY_COLUMNS: u64 = 1 << 18;

/// What a file counts rows and columns from, and so do messages about it.
#[derive(Clone, Copy)]
pub(crate) enum Base {
    Zero = 0,
    One = 1,
}

impl Base {
    /// An entry, whose indices are from 0, as the file has it.
    fn shown(self, row: u32, column: u32) -> String {
        let base = self as u64;
        format!("({}, {})", u64::from(row) + base, u64::from(column) + base)
    }
}

/// Entries of a matrix file, the triangles apart.
pub(crate) struct BothHalves {
    n: usize,
    /// Row >= column.
    lower: Triplets<f64>,
    /// Row < column, kept transposed.
    upper: Triplets<f64>,
    symmetric: bool,
    base: Base,
    /// `lower` and `upper` have changed places. So it is where a file that declares symmetry begins
    /// above the diagonal: a file that keeps to one triangle has all entries in `lower`, in order.
    flipped: bool,
}

/// Why entries do not make a symmetric matrix: a message, and the entries it is about (from 0).
pub(crate) struct Trouble {
    pub message: String,
    pub entries: Option<(u32, u32)>,
}

impl BothHalves {
    /// For a file that declares symmetry (`symmetric`) or stores both triangles.
    pub fn new(n: usize, symmetric: bool, base: Base) -> Result<Self, TripletError> {
        Ok(Self {
            n,
            lower: Triplets::new(n)?,
            upper: Triplets::new(n)?,
            symmetric,
            base,
            flipped: false,
        })
    }

    /// Makes room for as many entries, unless memory is refused.
    pub fn try_reserve(&mut self, entries: usize) -> Result<(), TryReserveError> {
        if self.symmetric {
            self.lower.try_reserve(entries)
        } else {
            self.lower.try_reserve(entries / 2 + self.n.min(entries))?;
            self.upper.try_reserve(entries / 2)
        }
    }

    /// Adds an entry whose indices, from 0, are below `n`.
    #[inline(always)]
    pub fn push(&mut self, row: u32, column: u32, value: f64) {
        if (row < column) == self.flipped || row == column {
            self.lower.push_valid(row, column, value);
        } else {
            self.push_upper(row, column, value);
        }
    }

    /// Adds an entry of the other side, which is the first side if no entry is off the diagonal
    /// yet. It is apart so that files that keep to one triangle pay for a short loop only.
    #[inline(never)]
    fn push_upper(&mut self, row: u32, column: u32, value: f64) {
        if self.symmetric && self.upper.is_empty() && !self.lower.has_off_diagonal() {
            self.flipped = true;
            self.lower.push_valid(row, column, value);
        } else {
            self.upper.push_valid(row, column, value);
        }
    }

    /// Adds entries, as [`push`](Self::push) does one: at once where all are in the lower triangle, as most files have them.
    pub fn append(&mut self, rows: &[u32], columns: &[u32], values: &[f64]) {
        let mut indices = rows.iter().zip(columns);
        if !self.flipped && indices.all(|(row, column)| row >= column) {
            self.lower.append_valid(rows, columns, values);
            return;
        }
        for ((&row, &column), &value) in rows.iter().zip(columns).zip(values) {
            self.push(row, column, value);
        }
    }

    /// Refuses sizes that are not those of a symmetric matrix, too large, or absurd.
    pub fn check_sizes(rows: u64, columns: u64, entries: u64) -> Result<(), String> {
        if rows != columns {
            return Err(format!(
                "{rows} rows and {columns} columns: a symmetric matrix is square"
            ));
        }
        if rows > Pattern::MAX_ORDER {
            let most = Pattern::MAX_ORDER;
            return Err(format!(
                "order {rows} is too large: at most {most} unknowns are supported"
            ));
        }
        if rows > entries.saturating_add(MOST_EMPTY_COLUMNS) {
            let empty = rows - entries;
            return Err(format!(
                "order {rows} with {entries} entries: at least {empty} columns would be empty"
            ));
        }
        Ok(())
    }

    /// Treats entries in one triangle only as a symmetric matrix, as archives are written.
    pub fn one_triangle_will_do(&mut self) {
        let off_diagonal = |t: &Triplets<f64>| t.has_off_diagonal();
        if !off_diagonal(&self.lower) {
            self.lower.append(&mut self.upper);
        }
        self.symmetric = self.upper.is_empty();
    }

    /// The matrix.
    pub fn finish(self, duplicates: Duplicates) -> Result<SymmetricCsc<f64>, Trouble> {
        let (has_lower, has_upper) = (self.lower.has_off_diagonal(), !self.upper.is_empty());
        let base = self.base;
        let lower = assemble(self.lower, duplicates, false, base)?;
        if !has_upper && (self.symmetric || !has_lower) {
            return Ok(lower);
        }
        let upper = assemble(self.upper, duplicates, !self.symmetric, base)?;
        if self.symmetric {
            disjoint(&lower, &upper, base)?;
            return union(&lower, &upper);
        }
        let zeros_above = compare(&lower, &upper, base).map_err(|trouble| {
            if has_lower == has_upper {
                return trouble;
            }
            let triangle = if has_lower { "lower" } else { "upper" };
            Trouble {
                message: format!(
                    "a general matrix with entries in the {triangle} triangle only; \
                     if it is meant to be symmetric, declare it `symmetric`"
                ),
                entries: None,
            }
        })?;
        if zeros_above {
            return union(&lower, &upper);
        }
        Ok(lower)
    }
}

fn assemble(
    half: Triplets<f64>,
    duplicates: Duplicates,
    transposed: bool,
    base: Base,
) -> Result<SymmetricCsc<f64>, Trouble> {
    let a = half.into_symmetric(duplicates).map_err(|e| match e {
        TripletError::Duplicate { row, column } => {
            let (i, j) = if transposed {
                (column, row)
            } else {
                (row, column)
            };
            Trouble {
                message: format!("entry {} occurs more than once", base.shown(i, j)),
                entries: Some((row, column)),
            }
        }
        e => Trouble {
            message: e.to_string(),
            entries: None,
        },
    })?;
    // Sums of finite numbers may still overflow.
    match a.values().iter().position(|v| !v.is_finite()) {
        None => Ok(a),
        Some(k) => {
            let row = a.pattern().row_idx()[k];
            let column = a.pattern().col_ptr().partition_point(|&p| p <= k as u64) as u32 - 1;
            Err(Trouble {
                message: format!(
                    "the duplicates of entry {} overflow",
                    base.shown(row, column)
                ),
                entries: Some((row, column)),
            })
        }
    }
}

/// Calls `each(row, column, value in lower, value in upper)` for the entries off the diagonal that
/// either has, column by column; `upper` is transposed, its diagonal means nothing.
fn side_by_side(
    lower: &SymmetricCsc<f64>,
    upper: &SymmetricCsc<f64>,
    mut each: impl FnMut(u32, u32, Option<f64>, Option<f64>) -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    for j in 0..lower.n() {
        let ((rows, values), (others, mirrored)) = (lower.column(j), upper.column(j));
        let (mut k, mut l) = (1, 1);
        while let Some(&row) = [rows.get(k), others.get(l)].into_iter().flatten().min() {
            let v = (rows.get(k) == Some(&row)).then(|| values[k]);
            let w = (others.get(l) == Some(&row)).then(|| mirrored[l]);
            each(row, j as u32, v, w)?;
            k += usize::from(v.is_some());
            l += usize::from(w.is_some());
        }
    }
    Ok(())
}

/// Compares the strict triangles of a general file. A zero may be stored on one side only, as its
/// mirror image is zero all the same; the answer is whether there are such zeros above the diagonal.
fn compare(
    lower: &SymmetricCsc<f64>,
    upper: &SymmetricCsc<f64>,
    base: Base,
) -> Result<bool, Trouble> {
    let diagonal: Vec<f64> = lower.diagonal().collect();
    let mut zeros_above = false;
    side_by_side(lower, upper, |i, j, v, w| {
        let (Some(v), Some(w)) = (v, w) else {
            if v.or(w) != Some(0.0) {
                return Err(lonely(i, j, v.is_some(), base));
            }
            zeros_above |= w.is_some();
            return Ok(());
        };
        if symmetry::agree(v, w, [diagonal[i as usize], diagonal[j as usize]]) {
            return Ok(());
        }
        Err(Trouble {
            message: format!(
                "not symmetric: entry {} is {v:e} and entry {} is {w:e}",
                base.shown(i, j),
                base.shown(j, i)
            ),
            entries: Some((i, j)),
        })
    })?;
    Ok(zeros_above)
}

/// Refuses an entry on both sides of the diagonal, in a file that declares symmetry.
fn disjoint(
    lower: &SymmetricCsc<f64>,
    upper: &SymmetricCsc<f64>,
    base: Base,
) -> Result<(), Trouble> {
    side_by_side(lower, upper, |i, j, v, w| {
        if v.is_none() || w.is_none() {
            return Ok(());
        }
        Err(Trouble {
            message: format!(
                "entries {} and {} are both stored, although the file declares symmetry, where \
                 one stands for both; store one of them, or declare the file general",
                base.shown(i, j),
                base.shown(j, i)
            ),
            entries: Some((i, j)),
        })
    })
}

/// The entries of both triangles, those of `lower` where both have one.
fn union(
    lower: &SymmetricCsc<f64>,
    upper: &SymmetricCsc<f64>,
) -> Result<SymmetricCsc<f64>, Trouble> {
    let unplaced = |e: TripletError| Trouble {
        message: e.to_string(),
        entries: None,
    };
    let mut all = Triplets::new(lower.n()).map_err(unplaced)?;
    for (j, v) in lower.diagonal().enumerate() {
        all.push_valid(j as u32, j as u32, v);
    }
    side_by_side(lower, upper, |i, j, v, w| {
        if let Some(value) = v.or(w) {
            all.push_valid(i, j, value);
        }
        Ok(())
    })?;
    all.into_symmetric(Duplicates::Refuse).map_err(unplaced)
}

fn lonely(row: u32, column: u32, in_lower: bool, base: Base) -> Trouble {
    let (has, misses) = if in_lower {
        (base.shown(row, column), base.shown(column, row))
    } else {
        (base.shown(column, row), base.shown(row, column))
    };
    Trouble {
        message: format!("not symmetric: entry {has} is stored and entry {misses} is not"),
        entries: Some((row, column)),
    }
}

impl Trouble {
    /// As an error about a file.
    pub fn in_file(self, file: &str, spot: Spot) -> IoError {
        IoError::malformed(file, spot, self.message)
    }
}
