//! What the tests of this folder share.

use std::sync::Arc;

use tamarack_numeric::{Control, FactorError, FactorOptions, NumericFactor, Team, Value};
use tamarack_plan::{FactorPlan, Machine, PlanOptions};
use tamarack_sparse::{Permutation, Scalar, SymmetricCsc, UserIdx};
use tamarack_symbolic::{SymbolicFactor, SymbolicOptions};
use tamarack_testkit::model;

/// 7-point Laplacian on a cube, its nodes numbered by nested bisection for a bushy tree.
#[allow(dead_code)] // not every test takes it
pub fn cube(m: usize) -> (SymmetricCsc<f64>, Permutation) {
    let id = |x: usize, y: usize, z: usize| ((z * m + y) * m + x) as u32;
    let mut order = Vec::new();
    bisect([0, 0, 0], [m; 3], &id, &mut order);
    let p = Permutation::from_elimination_order(&order).unwrap();
    (model(&format!("p3d7_{m}")), p)
}

#[allow(dead_code)]
fn bisect(
    lo: [usize; 3],
    hi: [usize; 3],
    id: &impl Fn(usize, usize, usize) -> u32,
    order: &mut Vec<u32>,
) {
    let axis = (0..3).max_by_key(|&a| hi[a] - lo[a]).unwrap();
    if hi[axis] - lo[axis] <= 2 {
        for z in lo[2]..hi[2] {
            for y in lo[1]..hi[1] {
                order.extend((lo[0]..hi[0]).map(|x| id(x, y, z)));
            }
        }
        return;
    }
    let middle = usize::midpoint(lo[axis], hi[axis]);
    let (mut left, mut right, mut cut) = ((lo, hi), (lo, hi), (lo, hi));
    left.1[axis] = middle;
    right.0[axis] = middle + 1;
    (cut.0[axis], cut.1[axis]) = (middle, middle + 1);
    bisect(left.0, left.1, id, order);
    bisect(right.0, right.1, id, order);
    for z in cut.0[2]..cut.1[2] {
        for y in cut.0[1]..cut.1[1] {
            order.extend((cut.0[0]..cut.1[0]).map(|x| id(x, y, z)));
        }
    }
}

/// A plan with the default amalgamation, for a machine so slow that all threads are called for every matrix.
pub fn plan<T: Value>(
    a: &SymmetricCsc<T>,
    order: &Permutation,
    threads: usize,
    block: usize,
) -> Arc<FactorPlan> {
    let s = SymbolicFactor::analyze(a.pattern(), order, &SymbolicOptions::default()).unwrap();
    let machine = Machine::slow(threads, 1e6);
    let options = PlanOptions {
        precision: T::PRECISION,
        block,
    };
    Arc::new(FactorPlan::new(Arc::new(s), &machine, &options).unwrap())
}

/// A factorization with default options by a team of its own.
#[allow(dead_code)] // not every test has the defaults
pub fn factorize<T: Value>(
    a: &SymmetricCsc<T>,
    order: &Permutation,
    threads: usize,
    block: usize,
) -> Result<NumericFactor<T>, FactorError> {
    let (plan, team) = (plan(a, order, threads, block), Arc::new(Team::new(threads)));
    let (options, control) = (FactorOptions::default(), Control::default());
    NumericFactor::factorize(plan, team, a, &options, &control)
}

/// The entries of L: row, column and number, in elimination order.
#[allow(dead_code)] // not every test looks into L
pub fn entries<T: Value>(f: &NumericFactor<T>) -> Vec<(usize, usize, f64)> {
    let (symbolic, mut all) = (f.symbolic(), Vec::new());
    for s in 0..symbolic.supernodes() {
        let (layout, panel) = (f.plan().panel_layout(s), f.panel(s));
        let columns = symbolic.columns(s);
        let row = |i: usize| match i.checked_sub(columns.len()) {
            None => columns.start + i,
            Some(below) => symbolic.rows(s)[below] as usize,
        };
        for j in 0..layout.cols() {
            let entry = |i| Scalar::to_f64(layout.entry(panel, i, j));
            all.extend((j..layout.rows()).map(|i| (row(i), columns.start + j, entry(i))));
        }
    }
    all
}

/// `‖L Lᵀ x − P A Pᵀ x‖∞ / ‖A‖∞` for a vector with entries in ±1, from the panels as they are.
#[allow(dead_code)] // not every test looks into L
pub fn product_error(a: &SymmetricCsc<f64>, f: &NumericFactor<f64>) -> f64 {
    let (symbolic, n, p) = (f.symbolic(), a.n(), f.symbolic().permutation());
    let x: Vec<f64> = (0..n).map(|i| (i as f64 * 0.7).sin()).collect();
    let (mut y, mut z) = (vec![0.0; n], vec![0.0; n]);
    for transposed in [true, false] {
        for s in 0..symbolic.supernodes() {
            let (layout, panel, columns) =
                (f.plan().panel_layout(s), f.panel(s), symbolic.columns(s));
            for j in 0..layout.cols() {
                for i in j..layout.rows() {
                    let row = match i.checked_sub(columns.len()) {
                        None => columns.start + i,
                        Some(below) => symbolic.rows(s)[below] as usize,
                    };
                    let l = layout.entry(panel, i, j);
                    if transposed {
                        y[columns.start + j] += l * x[row];
                    } else {
                        z[row] += l * y[columns.start + j];
                    }
                }
            }
        }
    }
    let in_user_order: Vec<f64> = (0..n).map(|i| x[p.elim(UserIdx(i as u32)).get()]).collect();
    let mut expected = vec![0.0; n];
    a.matvec(&in_user_order, &mut expected);
    let difference = |i: usize| (expected[i] - z[p.elim(UserIdx(i as u32)).get()]).abs();
    (0..n)
        .map(difference)
        .fold(0.0, |m: f64, d| if d <= m { m } else { d })
        / a.norm_inf()
}
