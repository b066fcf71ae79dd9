//! faer's sparse Cholesky, the peer that is a crate, timed like all others.

use std::time::Instant;

use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::linalg::cholesky::llt::factor::LltRegularization;
use faer::perm::PermRef;
use faer::sparse::linalg::cholesky::{
    LltRef, SymbolicCholesky, SymmetricOrdering, factorize_symbolic_cholesky,
};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, Mat, Par, Side};
use tamarack::{Permutation, SymmetricCsc};

use crate::timing::{MANY, MOST, cycle, peak_bytes, repeat, resident_bytes};
use crate::{Record, Result, exchange};

type Matrix<'a> = SparseColMatRef<'a, usize, f64>;

/// An order and its inverse, in faer's indices.
type Order = (Vec<usize>, Vec<usize>);

/// An analysis with the memory of its factor.
struct Factor {
    symbolic: SymbolicCholesky<usize>,
    values: Vec<f64>,
    memory: MemBuffer,
    par: Par,
}

fn analyze(matrix: Matrix<'_>, order: Option<&Order>) -> Result<SymbolicCholesky<usize>> {
    let ordering = match order {
        None => SymmetricOrdering::Amd,
        Some((forward, inverse)) => {
            SymmetricOrdering::Custom(PermRef::new_checked(forward, inverse, forward.len()))
        }
    };
    let side = Side::Lower;
    factorize_symbolic_cholesky(matrix.symbolic(), side, ordering, Default::default())
        .map_err(|e| format!("faer: {e:?}").into())
}

impl Factor {
    fn new(symbolic: SymbolicCholesky<usize>, par: Par) -> Self {
        let memory = MemBuffer::new(StackReq::any_of(&[
            symbolic.factorize_numeric_llt_scratch::<f64>(par, Default::default()),
            symbolic.solve_in_place_scratch::<f64>(MANY, par),
        ]));
        Self {
            values: vec![0.0; symbolic.len_val()],
            symbolic,
            memory,
            par,
        }
    }

    fn factorize(&mut self, matrix: Matrix<'_>) -> Result<()> {
        let stack = MemStack::new(&mut self.memory);
        let regularization = LltRegularization::default();
        self.symbolic
            .factorize_numeric_llt(
                &mut self.values,
                matrix,
                Side::Lower,
                regularization,
                self.par,
                stack,
                Default::default(),
            )
            .map(drop)
            .map_err(|e| format!("faer: {e:?}").into())
    }

    fn solve(&mut self, x: &mut Mat<f64>) {
        let stack = MemStack::new(&mut self.memory);
        LltRef::new(&self.symbolic, &self.values).solve_in_place_with_conj(
            Conj::No,
            x.as_mut(),
            self.par,
            stack,
        );
    }

    /// Solves `MOST` times; the solution's columns and the seconds.
    fn timed_solves(&mut self, b: &[f64], nrhs: usize) -> (Vec<f64>, Vec<f64>) {
        let mut x = Mat::<f64>::zeros(b.len(), nrhs);
        let mut secs = Vec::new();
        for _ in 0..MOST {
            x = Mat::from_fn(b.len(), nrhs, |i, c| (c + 1) as f64 * b[i]);
            secs.extend(repeat(1, || self.solve(&mut x)));
        }
        let columns = (0..nrhs).flat_map(|c| x.col_as_slice(c).iter().copied());
        (columns.collect(), secs)
    }
}

/// All phases of faer on `a`, in the given order or by its AMD.
pub fn run(a: &SymmetricCsc<f64>, order: Option<Permutation>, threads: usize) -> Result<Record> {
    let (n, pattern) = (a.n(), a.pattern());
    let ptr: Vec<usize> = pattern.col_ptr().iter().map(|&p| p as usize).collect();
    let rows: Vec<usize> = pattern.row_idx().iter().map(|&i| i as usize).collect();
    let symbolic = SymbolicSparseColMatRef::new_checked(n, n, &ptr, None, &rows);
    let matrix = Matrix::new(symbolic, a.values());
    let (b, before) = (exchange::right_hand_side(a), resident_bytes());
    let par = match threads {
        1 => Par::Seq,
        _ => Par::rayon(threads),
    };
    let order: Option<Order> = order.map(|order| {
        let index = |v: &[u32]| v.iter().map(|&i| i as usize).collect();
        (index(order.user_of_elim()), index(order.elim_of_user()))
    });
    let start = Instant::now();
    let symbolic = analyze(matrix, order.as_ref())?;
    let symbolic_secs = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let mut factor = Factor::new(symbolic, par);
    factor.factorize(matrix)?;
    let first_secs = start.elapsed().as_secs_f64();
    let mut failed = None;
    let refactor_secs = repeat(MOST, || {
        failed = failed.take().or(factor.factorize(matrix).err());
    });
    let (x, solve_1_secs) = factor.timed_solves(&b, 1);
    let peak_bytes = peak_bytes() - before;
    let (x16, solve_16_secs) = factor.timed_solves(&b, MANY);

    let phases_secs = symbolic_secs + first_secs + solve_1_secs[0];
    let mut x1 = Mat::<f64>::zeros(n, 1);
    let mut again = |factor: &mut Factor| -> Result<()> {
        factor.factorize(matrix)?;
        x1.col_as_slice_mut(0).copy_from_slice(&b);
        factor.solve(&mut x1);
        Ok(())
    };
    let again_secs = cycle(phases_secs, || {
        failed = failed.take().or(again(&mut factor).err());
    });
    let mut whole =
        || analyze(matrix, order.as_ref()).and_then(|s| again(&mut Factor::new(s, par)));
    let whole_secs = cycle(phases_secs, || failed = failed.take().or(whole().err()));
    if let Some(error) = failed {
        return Err(error);
    }
    Ok(Record {
        solver: "faer".into(),
        matrix: String::new(),
        threads,
        n,
        order_secs: 0.0,
        symbolic_secs,
        first_secs,
        first_again_secs: Vec::new(),
        refactor_secs,
        solve_1_secs,
        solve_16_secs,
        nnz_l_millions: 0.0,
        gflop: 0.0,
        whole_secs,
        again_secs,
        stored_millions: factor.symbolic.len_val() as f64 * 1e-6,
        peak_bytes,
        backward_error: exchange::backward_error(a, &x, &b),
        backward_error_16: exchange::backward_error(a, &x16, &b),
        order: String::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faer_and_tamarack_solve_the_same_system() {
        let a = exchange::load("model:p2d5_20").unwrap();
        for threads in [1, 2] {
            let (theirs, ours) = (run(&a, None, threads), crate::ours::run(&a, None, threads));
            for record in [theirs.unwrap(), ours.unwrap()] {
                assert!(record.backward_error < 1e-14, "{record:?}");
                assert!(record.backward_error_16 < 1e-14, "{record:?}");
                assert!(record.refactor_secs.len() > 1 && record.first_secs > 0.0);
                assert!(!record.whole_secs.is_empty() && !record.again_secs.is_empty());
            }
        }
    }
}
