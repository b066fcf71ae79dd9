//! Many right-hand sides: what is done for several together is what is done for each.

use std::sync::Arc;

use tamarack_numeric::{Control, FactorOptions, NumericFactor, Team};
use tamarack_plan::{FactorPlan, Machine, PlanOptions};
use tamarack_solve::{
    HostSolver, Inverse, RefineOptions, RefineReport, RefineWorkspace, ResidualPrecision,
    SolveError, Substitution, refine,
};
use tamarack_sparse::{Permutation, SymmetricCsc, models::Model};
use tamarack_symbolic::{SymbolicFactor, SymbolicOptions};

fn solver(a: &SymmetricCsc<f64>, threads: usize) -> HostSolver<f32> {
    let options = PlanOptions {
        precision: tamarack_plan::Precision::F32,
        ..PlanOptions::default()
    };
    let order = Permutation::identity(a.n());
    let options_of = SymbolicOptions::default();
    let symbolic = SymbolicFactor::analyze(a.pattern(), &order, &options_of).unwrap();
    let symbolic = Arc::new(symbolic);
    let machine = Machine::default();
    let plan = Arc::new(FactorPlan::new(symbolic.clone(), &machine, &options).unwrap());
    let team = Arc::new(Team::new(threads));
    let (options, control) = (FactorOptions::default(), Control::default());
    let factor = NumericFactor::factorize(plan, team, &a.cast(), &options, &control).unwrap();
    HostSolver::new(factor, Arc::new(Substitution::new(&symbolic)))
}

/// Right-hand sides that take different numbers of steps, one of them not finite.
fn right_sides(n: usize, nrhs: usize) -> Vec<f64> {
    let mut b: Vec<f64> = (0..n * nrhs)
        .map(|k| match k / n % 4 {
            0 => 1.0,
            1 => ((k * 37) % 101) as f64 - 50.0,
            2 => f64::from(u8::from(k % n == n / 2)),
            _ => 0.0,
        })
        .collect();
    if nrhs > 2 {
        b[2 * n + 1] = f64::NAN;
    }
    b
}

/// A factor that solves for each column by itself: several together have other bits.
struct EachAlone(HostSolver<f32>);

impl Inverse for EachAlone {
    fn apply(&mut self, x: &mut [f64], nrhs: usize) -> Result<(), SolveError> {
        let n = x.len() / nrhs;
        x.chunks_mut(n).try_for_each(|x| self.0.apply(x, 1))
    }

    fn team(&self) -> Option<Arc<Team>> {
        self.0.team()
    }
}

fn bits(x: &[f64]) -> Vec<u64> {
    x.iter().map(|x| x.to_bits()).collect()
}

#[test]
fn columns_together_get_the_bits_and_the_errors_of_each_alone() {
    for (name, precision) in [
        ("p2d5_20", ResidualPrecision::Double),
        ("p3d7_22", ResidualPrecision::Double),
        ("p2d5_20", ResidualPrecision::Quad),
    ] {
        let a: SymmetricCsc<f64> = name.parse::<Model>().unwrap().generate().unwrap();
        let n = a.n();
        let options = RefineOptions {
            residual: precision,
            ..RefineOptions::default()
        };
        let mut inverse = EachAlone(solver(&a, 2));
        let mut workspace = RefineWorkspace::default();
        for nrhs in [0, 1, 2, 3, 4, 5, 15, 16, 17, 38] {
            let b = right_sides(n, nrhs);
            let mut solve = |b: &[f64], nrhs: usize| -> (Vec<f64>, RefineReport) {
                let mut x = vec![0.0; b.len()];
                let report = refine(&a, &mut inverse, b, &mut x, nrhs, &options, &mut workspace);
                (x, report.unwrap())
            };
            let (x, report) = solve(&b, nrhs);
            assert_eq!(report.columns.len(), nrhs);
            for c in 0..nrhs {
                let (alone, of_alone) = solve(&b[c * n..(c + 1) * n], 1);
                let together = (&report.columns[c], &of_alone.columns[0]);
                if c == 2 && nrhs > 2 {
                    assert!(together.0.componentwise_backward_error.is_nan());
                    assert!(together.1.componentwise_backward_error.is_nan());
                    continue;
                }
                assert_eq!(together.0, together.1, "{name} {precision:?} {c} of {nrhs}");
                let same = bits(&x[c * n..(c + 1) * n]) == bits(&alone);
                assert!(same, "{name} {precision:?} {c} of {nrhs}");
            }
        }
    }
}
