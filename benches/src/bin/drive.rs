//! `drive SOLVER MATRIX.bin NAME THREADS [ORDER.i32]`: runs one solver and prints one line of JSON.
//!
//! SOLVER is `tamarack`, `faer`, or `prepare`, which instead writes the matrix NAME (a file or
//! `model:…`) to MATRIX.bin. Without ORDER.i32 a solver orders by itself.

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::linalg::cholesky::llt::factor::LltRegularization;
use faer::sparse::linalg::cholesky::{LltRef, SymmetricOrdering, factorize_symbolic_cholesky};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, Mat, Par, Side};
use tamarack::{Analysis, Options, Ordering, Permutation, SymmetricCsc};
use tamarack_benches::timing::{peak_bytes, repeat, resident_bytes};
use tamarack_benches::{Record, exchange};

/// Repetitions of a phase at most.
const MOST: usize = 7;

/// Right-hand sides of the solve with many.
const MANY: usize = 16;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let [_, solver, path, name, threads, rest @ ..] = &args[..] else {
        return Err("usage: drive SOLVER MATRIX.bin NAME THREADS [ORDER.i32]".into());
    };
    let path = Path::new(path);
    if solver == "prepare" {
        return Ok(exchange::write_matrix(path, &exchange::load(name)?)?);
    }
    let a = exchange::read_back(path)?;
    let order = match rest.first() {
        Some(file) => Some(exchange::read_order(Path::new(file))?),
        None => None,
    };
    let threads: usize = threads.parse()?;
    let mut record = match solver.as_str() {
        "tamarack" => tamarack(&a, order, threads)?,
        "faer" => faer(&a, order, threads)?,
        other => return Err(format!("no solver {other}").into()),
    };
    record.matrix = name.clone();
    println!("{}", serde_json::to_string(&record)?);
    Ok(())
}

/// Repeats the right-hand side for `nrhs` columns.
fn columns(b: &[f64], nrhs: usize) -> Vec<f64> {
    (0..nrhs).flat_map(|_| b.iter().copied()).collect()
}

fn tamarack(a: &SymmetricCsc<f64>, order: Option<Permutation>, threads: usize) -> Result<Record> {
    let (b, before) = (exchange::right_hand_side(a), resident_bytes());
    let mut options = Options::default();
    options.threads = Some(threads);
    if let Some(order) = order {
        options.ordering = Ordering::Permutation(order);
    }
    let analysis = Analysis::new(a.pattern(), &options)?;
    let start = Instant::now();
    let mut factor = analysis.factorize(a)?;
    let first_secs = start.elapsed().as_secs_f64();
    let mut failed = None;
    let refactor_secs = repeat(MOST, || failed = factor.refactorize(a).err());
    if let Some(error) = failed {
        return Err(error.into());
    }
    let mut solve = |nrhs: usize| -> Result<(Vec<f64>, Vec<f64>)> {
        let (mut x, mut failed) = (columns(&b, nrhs), None);
        factor.solve(&mut x)?; // makes the workspace
        let mut secs = Vec::new();
        for _ in 0..MOST {
            x = columns(&b, nrhs);
            secs.extend(repeat(1, || failed = factor.solve(&mut x).err()));
        }
        failed.map_or(Ok((x, secs)), |error| Err(error.into()))
    };
    let (x, solve_1_secs) = solve(1)?;
    let peak = peak_bytes() - before;
    let (_, solve_16_secs) = solve(MANY)?;
    let secs = analysis.seconds();
    Ok(Record {
        solver: "tamarack".into(),
        matrix: String::new(),
        threads,
        n: a.n(),
        order_secs: secs.order_secs,
        symbolic_secs: secs.symbolic_secs + secs.plan_secs,
        first_secs,
        refactor_secs,
        solve_1_secs,
        solve_16_secs,
        stored_millions: analysis.plan().memory().factor_bytes as f64 / 8e6,
        peak_bytes: peak,
        backward_error: exchange::backward_error(a, &x, &b),
    })
}

fn faer(a: &SymmetricCsc<f64>, order: Option<Permutation>, threads: usize) -> Result<Record> {
    let (n, pattern) = (a.n(), a.pattern());
    let ptr: Vec<usize> = pattern.col_ptr().iter().map(|&p| p as usize).collect();
    let rows: Vec<usize> = pattern.row_idx().iter().map(|&i| i as usize).collect();
    let matrix = SparseColMatRef::<usize, f64>::new(
        SymbolicSparseColMatRef::new_checked(n, n, &ptr, None, &rows),
        a.values(),
    );
    let (b, before) = (exchange::right_hand_side(a), resident_bytes());
    let par = if threads == 1 {
        Par::Seq
    } else {
        Par::rayon(threads)
    };
    let start = Instant::now();
    let given = order.map(|order| {
        let index = |v: &[u32]| v.iter().map(|&i| i as usize).collect::<Vec<_>>();
        (index(order.user_of_elim()), index(order.elim_of_user()))
    });
    let ordering = match &given {
        None => SymmetricOrdering::Amd,
        Some((forward, inverse)) => {
            SymmetricOrdering::Custom(faer::perm::PermRef::new_checked(forward, inverse, n))
        }
    };
    let symbolic =
        factorize_symbolic_cholesky(matrix.symbolic(), Side::Lower, ordering, Default::default())
            .map_err(|e| format!("faer: {e:?}"))?;
    let symbolic_secs = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let mut values = vec![0.0f64; symbolic.len_val()];
    let mut memory = MemBuffer::new(StackReq::any_of(&[
        symbolic.factorize_numeric_llt_scratch::<f64>(par, Default::default()),
        symbolic.solve_in_place_scratch::<f64>(MANY, par),
    ]));
    let mut failed = None;
    let mut factorize = || {
        let stack = MemStack::new(&mut memory);
        let regularization = LltRegularization::default();
        let outcome = symbolic.factorize_numeric_llt(
            &mut values,
            matrix,
            Side::Lower,
            regularization,
            par,
            stack,
            Default::default(),
        );
        failed = outcome.err();
    };
    factorize();
    let first_secs = start.elapsed().as_secs_f64();
    let refactor_secs = repeat(MOST, factorize);
    if let Some(error) = failed {
        return Err(format!("faer: {error:?}").into());
    }
    let l = LltRef::new(&symbolic, &values);
    let mut solve = |nrhs: usize| {
        let mut x = Mat::<f64>::zeros(n, nrhs);
        let mut secs = Vec::new();
        for _ in 0..MOST {
            x = Mat::from_fn(n, nrhs, |i, _| b[i]);
            let stack = MemStack::new(&mut memory);
            let start = Instant::now();
            l.solve_in_place_with_conj(Conj::No, x.as_mut(), par, stack);
            secs.push(start.elapsed().as_secs_f64());
        }
        ((0..n).map(|i| x[(i, 0)]).collect::<Vec<f64>>(), secs)
    };
    let (x, solve_1_secs) = solve(1);
    let peak = peak_bytes() - before;
    let (_, solve_16_secs) = solve(MANY);
    Ok(Record {
        solver: "faer".into(),
        matrix: String::new(),
        threads,
        n,
        order_secs: 0.0,
        symbolic_secs,
        first_secs,
        refactor_secs,
        solve_1_secs,
        solve_16_secs,
        stored_millions: symbolic.len_val() as f64 * 1e-6,
        peak_bytes: peak,
        backward_error: exchange::backward_error(a, &x, &b),
    })
}
