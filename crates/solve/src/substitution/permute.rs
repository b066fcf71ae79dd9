//! The way of right-hand sides into elimination order, and of solutions back.

use std::ops::Range;

use tamarack_dense::prefetch;
use tamarack_numeric::{Activity, Span, Value};
use tamarack_sparse::Scalar;

use crate::substitution::{Shared, Sweep};
use crate::workspace::LINE_BYTES;

/// Rows that are brought into elimination order, or back, by one task.
const COPY_ROWS: usize = 1 << 14;

/// Rows ahead that scattered numbers are asked for: more than the processor looks ahead itself. Measured on a
/// million rows: 128 to 2048 are alike, and take a third off the time without.
const COPY_AHEAD: usize = 512;

/// The same for rows of several right-hand sides, of one line or a few each; a seventh off a solve of half a
/// million rows with 16 of them. 16 to 64 rows are alike, 4 are too few (run `solve-6`).
const COPY_ROWS_AHEAD: usize = 16;

impl<T: Value> Sweep<'_, T> {
    /// Calls `copy(rows)` for all rows, in parts.
    fn for_rows(&self, copy: impl Fn(Range<usize>) + Sync) {
        let n = self.plan.n;
        let share = Span::new(Activity::Share);
        self.team()
            .for_each_as(share, n.div_ceil(COPY_ROWS), |part, _| {
                copy(part * COPY_ROWS..n.min((part + 1) * COPY_ROWS));
            });
    }

    /// Asks for a row of the right-hand sides; there may be none.
    #[inline(always)]
    fn ask_for_row(&self, row: Option<&u32>) {
        if let Some(&row) = row {
            for r in (0..self.stride).step_by(LINE_BYTES / size_of::<T>()) {
                prefetch(self.row(row as usize).wrapping_add(r));
            }
        }
    }

    /// Permutes the user's columns into the workspace; columns that only fill vectors are zero.
    ///
    /// One column is read in the order of elimination, because scattered reads wait less than
    /// scattered writes, and can be asked for; several are read row by row, a line of each at a time.
    pub(super) fn bring_in<X: Scalar>(&self, user: Shared<X>) {
        let (n, stride, nrhs, x) = (self.plan.n, self.stride, self.nrhs, Shared(self.x));
        let permutation = self.symbolic.permutation();
        let number = move |at: usize| {
            // SAFETY: the user's columns have n rows.
            <T as Scalar>::from_f64(unsafe { *user.at(at) }.to_f64())
        };
        if stride == 1 {
            let user_of_elim = permutation.user_of_elim();
            return self.for_rows(move |rows| {
                for (e, &u) in rows.clone().zip(&user_of_elim[rows]) {
                    if let Some(&next) = user_of_elim.get(e + COPY_AHEAD) {
                        prefetch(user.at(next as usize));
                    }
                    // SAFETY: x has n rows, and parts have different ones.
                    unsafe { *x.at(e) = number(u as usize) };
                }
            });
        }
        let elim_of_user = permutation.elim_of_user();
        self.for_rows(move |rows| {
            for (u, &e) in rows.clone().zip(&elim_of_user[rows]) {
                self.ask_for_row(elim_of_user.get(u + COPY_ROWS_AHEAD));
                let row = x.at(e as usize * stride);
                for r in 0..stride {
                    let value = if r < nrhs {
                        number(u + r * n)
                    } else {
                        T::default()
                    };
                    // SAFETY: as above; a permutation has no row twice.
                    unsafe { *row.add(r) = value };
                }
            }
        });
    }

    /// Permutes the solutions back into the user's columns.
    pub(super) fn bring_back<X: Scalar>(&self, user: Shared<X>) {
        let (n, stride, nrhs, x) = (self.plan.n, self.stride, self.nrhs, Shared(self.x));
        let elim_of_user = self.symbolic.permutation().elim_of_user();
        if stride == 1 {
            return self.for_rows(move |rows| {
                for (u, &e) in rows.clone().zip(&elim_of_user[rows]) {
                    if let Some(&next) = elim_of_user.get(u + COPY_AHEAD) {
                        prefetch(x.at(next as usize));
                    }
                    // SAFETY: as in `bring_in`.
                    unsafe { *user.at(u) = X::from_f64(Scalar::to_f64(*x.at(e as usize))) };
                }
            });
        }
        self.for_rows(move |rows| {
            for (u, &e) in rows.clone().zip(&elim_of_user[rows]) {
                self.ask_for_row(elim_of_user.get(u + COPY_ROWS_AHEAD));
                let row = x.at(e as usize * stride);
                for r in 0..nrhs {
                    // SAFETY: as in `bring_in`.
                    unsafe { *user.at(u + r * n) = X::from_f64(Scalar::to_f64(*row.add(r))) };
                }
            }
        });
    }
}
