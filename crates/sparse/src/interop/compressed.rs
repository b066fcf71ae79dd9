//! Compressed sparse columns of any crate, to and from the lower triangle.

use super::InteropError;
use crate::{IndexLike, Pattern, Scalar, StructureError, SymmetricCsc, symmetry};

/// Checks columns `column(j) = (rows, values)` and takes the lower triangle. Rows given instead of
/// columns make the transpose, which is as good.
pub(super) fn symmetric<'a, I: IndexLike + 'a, T: Scalar>(
    rows: usize,
    columns: usize,
    column: impl Fn(usize) -> (&'a [I], &'a [T]),
) -> Result<SymmetricCsc<T>, InteropError> {
    if rows != columns {
        return Err(InteropError::NotSquare { rows, columns });
    }
    let source = Source { n: rows, column };
    let sides = source.check()?;
    if sides.lower > 0 && sides.upper > 0 {
        source.compare(&sides.diagonal)?;
    }
    if sides.lower == 0 && sides.upper > 0 {
        source.transposed_upper(sides)
    } else {
        source.lower(sides)
    }
}

/// What a first look at the entries tells.
struct Sides<T> {
    /// Entries strictly below and strictly above the diagonal.
    lower: usize,
    upper: usize,
    /// Zero where none is stored; length n.
    diagonal: Vec<T>,
}

struct Source<F> {
    n: usize,
    column: F,
}

/// The index. [`Source::check`] has seen that it is below n, but storage of others may say something else each time: what is built is
/// checked again.
fn at<I: IndexLike>(index: I) -> usize {
    index.to_index().unwrap_or(u64::MAX) as usize
}

impl<'a, I: IndexLike + 'a, T: Scalar, F: Fn(usize) -> (&'a [I], &'a [T])> Source<F> {
    /// Entries `(row, value)` of a column.
    fn entries(&self, j: usize) -> impl Iterator<Item = (usize, T)> + use<'a, I, T, F> {
        let (rows, values) = (self.column)(j);
        rows.iter().zip(values).map(|(&i, &v)| (at(i), v))
    }

    /// Indices in range and strictly increasing within each column; counts.
    fn check(&self) -> Result<Sides<T>, StructureError> {
        let n = self.n;
        if n as u64 > Pattern::MAX_ORDER {
            return Err(StructureError::OrderTooLarge { n: n as u64 });
        }
        let mut sides = Sides {
            lower: 0,
            upper: 0,
            diagonal: vec![T::ZERO; n],
        };
        for column in 0..n {
            let mut least = 0;
            for (index, &value) in std::iter::zip((self.column)(column).0, (self.column)(column).1)
            {
                let row = match index.to_index() {
                    Some(row) if row < n as u64 => row as usize,
                    other => {
                        let row = other.map_or(-1, |r| r.min(i64::MAX as u64) as i64);
                        return Err(StructureError::RowOutOfRange { column, row, n });
                    }
                };
                if row < least {
                    return Err(StructureError::NotSorted { column, row });
                }
                least = row + 1;
                match row.cmp(&column) {
                    std::cmp::Ordering::Less => sides.upper += 1,
                    std::cmp::Ordering::Equal => sides.diagonal[column] = value,
                    std::cmp::Ordering::Greater => sides.lower += 1,
                }
            }
        }
        Ok(sides)
    }

    /// Every entry equals its mirror image, a missing one being 0. One sweep: the columns' entries
    /// above the diagonal meet those below it in the order in which they are stored.
    fn compare(&self, diagonal: &[T]) -> Result<(), InteropError> {
        let below = |i: usize| self.entries(i).filter(move |(row, _)| *row > i).peekable();
        let mut next: Vec<_> = (0..self.n).map(below).collect();
        let agree = |row: usize, column: usize, below: T, above: T| {
            if symmetry::agree(below, above, [diagonal[row], diagonal[column]]) {
                return Ok(());
            }
            Err(InteropError::NotSymmetric {
                row,
                column,
                below: below.to_f64(),
                above: above.to_f64(),
            })
        };
        for j in 0..self.n {
            for (i, above) in self.entries(j).take_while(|(i, _)| *i < j) {
                while let Some((row, lonely)) = next[i].next_if(|(row, _)| *row < j) {
                    agree(row, i, lonely, T::ZERO)?;
                }
                let mirror = next[i].next_if(|(row, _)| *row == j);
                agree(j, i, mirror.map_or(T::ZERO, |(_, v)| v), above)?;
            }
        }
        for (i, rest) in next.into_iter().enumerate() {
            for (row, lonely) in rest {
                agree(row, i, lonely, T::ZERO)?;
            }
        }
        Ok(())
    }

    fn lower(&self, sides: Sides<T>) -> Result<SymmetricCsc<T>, InteropError> {
        let n = self.n;
        let mut col_ptr = Vec::with_capacity(n + 1);
        let mut row_idx = Vec::with_capacity(n + sides.lower);
        let mut out = Vec::with_capacity(n + sides.lower);
        col_ptr.push(0);
        for (j, d) in sides.diagonal.into_iter().enumerate() {
            row_idx.push(j as u32);
            out.push(d);
            for (i, v) in self.entries(j).filter(|(i, _)| *i > j) {
                row_idx.push(i as u32);
                out.push(v);
            }
            col_ptr.push(row_idx.len() as u64);
        }
        let pattern = Pattern::lower(n, &col_ptr, &row_idx)?;
        Ok(SymmetricCsc::new(pattern.shared(), out)?)
    }

    fn transposed_upper(&self, sides: Sides<T>) -> Result<SymmetricCsc<T>, InteropError> {
        let n = self.n;
        let mut col_ptr = vec![0u64; n + 1];
        for j in 0..n {
            col_ptr[j + 1] += 1;
            for (i, _) in self.entries(j).filter(|(i, _)| *i < j) {
                col_ptr[i + 1] += 1;
            }
        }
        for j in 0..n {
            col_ptr[j + 1] += col_ptr[j];
        }
        let mut next: Vec<usize> = col_ptr[..n].iter().map(|p| *p as usize).collect();
        let mut row_idx = vec![0u32; n + sides.upper];
        let mut out = vec![T::ZERO; n + sides.upper];
        let mut place = |column: usize, row: usize, value: T| {
            row_idx[next[column]] = row as u32;
            out[next[column]] = value;
            next[column] += 1;
        };
        // Column j of ours starts with (j, j), placed before any row below it comes.
        for (j, d) in sides.diagonal.into_iter().enumerate() {
            place(j, j, d);
            for (i, v) in self.entries(j).filter(|(i, _)| *i < j) {
                place(i, j, v);
            }
        }
        let pattern = Pattern::lower(n, &col_ptr, &row_idx)?;
        Ok(SymmetricCsc::new(pattern.shared(), out)?)
    }
}

/// `(col_ptr, row_idx, values)`.
pub(super) type Arrays<T> = (Vec<usize>, Vec<usize>, Vec<T>);

/// The lower triangle.
pub(super) fn lower_arrays<T: Scalar>(a: &SymmetricCsc<T>) -> Arrays<T> {
    let p = a.pattern();
    (
        p.col_ptr().iter().map(|p| *p as usize).collect(),
        p.row_idx().iter().map(|i| *i as usize).collect(),
        a.values().to_vec(),
    )
}

/// Both triangles, rows sorted.
pub(super) fn full_arrays<T: Scalar>(a: &SymmetricCsc<T>) -> Arrays<T> {
    let n = a.n();
    let mut col_ptr = vec![0usize; n + 1];
    for j in 0..n {
        for &i in a.pattern().rows(j) {
            col_ptr[j + 1] += 1;
            if i as usize != j {
                col_ptr[i as usize + 1] += 1;
            }
        }
    }
    for j in 0..n {
        col_ptr[j + 1] += col_ptr[j];
    }
    let mut next = col_ptr[..n].to_vec();
    let mut row_idx = vec![0usize; col_ptr[n]];
    let mut values = vec![T::ZERO; col_ptr[n]];
    let mut place = |column: usize, row: usize, value: T| {
        row_idx[next[column]] = row;
        values[next[column]] = value;
        next[column] += 1;
    };
    // Before column j comes, its entries above the diagonal have come from columns 0..j, in order.
    for j in 0..n {
        let (rows, column) = a.column(j);
        for (&i, &v) in rows.iter().zip(column) {
            place(j, i as usize, v);
            if i as usize != j {
                place(i as usize, j, v);
            }
        }
    }
    (col_ptr, row_idx, values)
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
