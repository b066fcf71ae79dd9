//! The lower triangle of a symmetric matrix, pattern and values.

use std::fmt;
use std::sync::Arc;

use crate::pattern::{FEW, check_len};
use crate::{IndexLike, Pattern, Scalar, StructureError};

/// Lower triangle of a real symmetric matrix in compressed sparse columns, in user order.
///
/// The structure is a shared [`Pattern`]; `values[k]` belongs to `row_idx[k]`. Values may be any
/// numbers, NaN included: the factorization reports them where they do harm.
#[derive(Clone, PartialEq)]
pub struct SymmetricCsc<T> {
    pattern: Arc<Pattern>,
    values: Vec<T>,
}

/// The pattern, and the values if they are few.
impl<T: fmt::Debug> fmt::Debug for SymmetricCsc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("SymmetricCsc");
        out.field("pattern", &self.pattern);
        if self.values.len() > FEW {
            return out.finish_non_exhaustive();
        }
        out.field("values", &self.values).finish()
    }
}

impl<T: Scalar> SymmetricCsc<T> {
    /// Checks and copies a lower triangle: `col_ptr` of length `n + 1`, `row_idx` and `values` of
    /// length `col_ptr[n]`, rows sorted within each column, diagonal present, indices from 0.
    ///
    /// Unsorted, duplicate or upper entries go through [`Triplets`](crate::Triplets).
    ///
    /// # Errors
    /// As [`Pattern::lower`], and for another number of values.
    pub fn lower<P: IndexLike, I: IndexLike>(
        n: usize,
        col_ptr: &[P],
        row_idx: &[I],
        values: &[T],
    ) -> Result<Self, StructureError> {
        let pattern = Pattern::lower(n, col_ptr, row_idx)?;
        Self::new(pattern.shared(), values.to_vec())
    }

    /// Joins a pattern with values, one for each entry of the pattern in its order.
    ///
    /// # Errors
    /// [`StructureError`] for another number of values.
    pub fn new(pattern: Arc<Pattern>, values: Vec<T>) -> Result<Self, StructureError> {
        check_len("values", values.len(), pattern.nnz_lower())?;
        Ok(Self { pattern, values })
    }

    /// The same pattern with other values.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_values(&self, values: Vec<T>) -> Result<Self, StructureError> {
        Self::new(self.pattern.clone(), values)
    }

    /// Order of the matrix.
    #[inline]
    pub fn n(&self) -> usize {
        self.pattern.n()
    }

    /// The structure.
    #[inline]
    pub fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    /// Values of the lower triangle, column after column, length `nnz_lower`.
    #[inline]
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// The values alone: with [`pattern`](Self::pattern) they make the matrix again.
    pub fn into_values(self) -> Vec<T> {
        self.values
    }

    /// The entry of a row and a column, in either triangle; zero where none is stored. A search in one column.
    ///
    /// # Panics
    /// If row or column is not below n.
    pub fn get(&self, row: usize, column: usize) -> T {
        assert!(row < self.n() && column < self.n(), "no such entry");
        let (rows, values) = self.column(row.min(column));
        let found = rows.binary_search(&(row.max(column) as u32));
        found.map_or(T::ZERO, |k| values[k])
    }

    /// Values, to be overwritten in place by the next Newton or time step.
    pub fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// Rows and values of column `j`, from the diagonal down.
    #[inline]
    pub fn column(&self, j: usize) -> (&[u32], &[T]) {
        let range = self.pattern.range(j);
        (&self.pattern.row_idx()[range.clone()], &self.values[range])
    }

    /// Diagonal entries, length n.
    pub fn diagonal(&self) -> impl ExactSizeIterator<Item = T> + '_ {
        (0..self.n()).map(|j| self.values[self.pattern.range(j).start])
    }

    /// `y = A x` for one vector; both of length n, user order.
    ///
    /// # Panics
    /// If a slice does not have length n.
    pub fn matvec(&self, x: &[T], y: &mut [T]) {
        assert_eq!(x.len(), self.n());
        assert_eq!(y.len(), self.n());
        y.fill(T::ZERO);
        for j in 0..self.n() {
            let (rows, values) = self.column(j);
            let (xj, mut yj) = (x[j], values[0] * x[j]);
            for (&i, &v) in rows.iter().zip(values).skip(1) {
                y[i as usize] += v * xj;
                yj += v * x[i as usize];
            }
            y[j] += yj;
        }
    }

    /// `‖A‖∞`, the largest row sum of absolute values, equal to `‖A‖₁` here.
    pub fn norm_inf(&self) -> f64 {
        let mut sums = vec![0.0f64; self.n()];
        for j in 0..self.n() {
            let (rows, values) = self.column(j);
            for (&i, &v) in rows.iter().zip(values) {
                let v = v.to_f64().abs();
                sums[j] += v;
                if i as usize != j {
                    sums[i as usize] += v;
                }
            }
        }
        sums.into_iter()
            .fold(0.0, |m: f64, s| if s <= m || m.is_nan() { m } else { s })
    }

    /// The matrix in another precision, values rounded to nearest.
    pub fn cast<U: Scalar>(&self) -> SymmetricCsc<U> {
        let values = self
            .values
            .iter()
            .map(|v| U::from_f64(v.to_f64()))
            .collect();
        SymmetricCsc {
            pattern: self.pattern.clone(),
            values,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_found_in_either_triangle() {
        let a = SymmetricCsc::lower(3, &[0, 2, 3, 4], &[0, 2, 1, 2], &[4.0, -1.0, 5.0, 6.0]);
        let a = a.unwrap();
        assert_eq!([a.get(0, 0), a.get(2, 2), a.get(1, 1)], [4.0, 6.0, 5.0]);
        assert_eq!([a.get(2, 0), a.get(0, 2), a.get(1, 0)], [-1.0, -1.0, 0.0]);
        assert_eq!(a.into_values(), [4.0, -1.0, 5.0, 6.0]);
    }
}
