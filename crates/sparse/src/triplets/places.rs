//! Where each entry of a list goes, for lists that come again with other values.

use super::{Duplicates, TripletError, Triplets, by_column, merge, offsets_if_sorted};
use crate::{Pattern, Scalar, StructureError, SymmetricCsc};

/// Where the entries of a list are added up in the values of a matrix: found once, used for every step that assembles the same entries
/// with other values.
///
/// ```
/// use tamarack_sparse::Triplets;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut springs = Triplets::new(2)?;
/// for (row, column, k) in [(0, 0, 1.0), (1, 1, 1.0), (1, 0, -1.0), (1, 1, 2.0)] {
///     springs.push(row, column, k)?;
/// }
/// let (mut a, places) = springs.into_symmetric_with_places()?;
/// assert_eq!(a.values(), [1.0, -1.0, 3.0]);
/// places.sum(&[5.0, 5.0, -5.0, 1.0], &mut a)?; // the same entries, of other springs
/// assert_eq!(a.values(), [5.0, -5.0, 6.0]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    places: Vec<u64>,
    /// Values of the matrix.
    nnz_lower: u64,
}

impl Places {
    /// For every entry, in the order in which they were pushed, the index of its value in [`SymmetricCsc::values`].
    #[must_use]
    pub fn as_slice(&self) -> &[u64] {
        &self.places
    }

    /// Sets the values of `a` to the sums of `entries`, in the order in which they were pushed: as a new assembly would have them.
    ///
    /// # Errors
    /// [`StructureError::Length`] for another number of entries than were pushed, or of values than the matrix had: then nothing is written.
    pub fn sum<T: Scalar>(
        &self,
        entries: &[T],
        a: &mut SymmetricCsc<T>,
    ) -> Result<(), StructureError> {
        crate::pattern::check_len("entries", entries.len(), self.places.len() as u64)?;
        crate::pattern::check_len("values", a.values().len(), self.nnz_lower)?;
        let values = a.values_mut();
        values.fill(T::ZERO);
        for (&place, &entry) in self.places.iter().zip(entries) {
            values[place as usize] += entry;
        }
        Ok(())
    }
}

impl<T: Scalar> Triplets<T> {
    /// As [`into_symmetric`](Self::into_symmetric) with [`Duplicates::Sum`]; also says where each entry went. An element matrix that was
    /// [pushed](Self::push_element) counts as the entries of its lower triangle, column after column.
    ///
    /// # Errors
    /// None in practice: the entries were checked as they came.
    pub fn into_symmetric_with_places(self) -> Result<(SymmetricCsc<T>, Places), TripletError> {
        let Self {
            n,
            rows,
            columns,
            values,
        } = self;
        let count = values.len();
        let (pattern, places) = match offsets_if_sorted(n, &rows, &columns) {
            Some(col_ptr) => {
                let places = (0..count as u64).collect();
                (Pattern::from_checked(n, col_ptr, rows), places)
            }
            None => {
                let numbers = 0..count as u64;
                let mut entries = by_column(n, &rows, &columns, numbers);
                drop((rows, columns));
                let mut places = vec![0; count];
                let put = |at: u64, entry: u64, _| places[entry as usize] = at;
                let pattern = merge(n, &mut entries, Duplicates::Sum, put)?;
                (pattern, places)
            }
        };
        let nnz_lower = pattern.nnz_lower();
        let places = Places { places, nnz_lower };
        let zeros = vec![T::ZERO; nnz_lower as usize];
        let mut a = SymmetricCsc::new(pattern.shared(), zeros)?;
        places.sum(&values, &mut a)?;
        Ok((a, places))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_entries_again_make_the_same_matrix() {
        let mut state = 1u64;
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        for round in 0..200 {
            let n = 1 + random(12) as u32;
            let mut entries = Triplets::new(n as usize).unwrap();
            if round % 5 == 0 {
                // in the order of a pattern
                (0..n).for_each(|j| entries.push(j, j, f64::from(j) + 0.1).unwrap());
            } else {
                for _ in 0..random(60) {
                    let ends = [0; 2].map(|_| random(u64::from(n)) as u32);
                    entries
                        .push(ends[0], ends[1], random(1000) as f64 / 7.0)
                        .unwrap();
                }
                let bar = [1.0, 0.3, 9.0, 1.0];
                entries.push_element(&[0, n - 1], &bar).unwrap();
            }
            let want = entries.clone().into_symmetric(Duplicates::Sum).unwrap();
            let list = entries.values.clone();
            let (mut a, places) = entries.into_symmetric_with_places().unwrap();
            assert_eq!(a, want);
            assert_eq!(places.as_slice().len(), list.len());
            a.values_mut().fill(f64::NAN);
            places.sum(&list, &mut a).unwrap();
            assert_eq!(a, want);
            let mut others = SymmetricCsc::lower(0, &[0], &[] as &[u32], &[]).unwrap();
            assert!(places.sum(&list, &mut others).is_err());
            let before = a.clone();
            assert!(places.sum(&[1.0; 200], &mut a).is_err());
            assert_eq!(a, before);
        }
    }
}
