//! `tamarack bench`: every phase, several times; medians and spreads.

use std::time::Instant;

use serde::Serialize;
use tamarack::{Analysis, Control, Error, Factor, SymmetricCsc};

use crate::args::BenchArgs;
use crate::commands::report::{AnalysisReport, MatrixReport, PlaceReport, PlanReport};
use crate::failure::Failure;
use crate::out::secs;
use crate::progress::Talk;
use crate::{input, interrupt, machine, out, room};

#[derive(Debug, Serialize)]
struct Report {
    matrix: MatrixReport,
    analysis: AnalysisReport,
    plan: PlanReport,
    place: PlaceReport,
    repeat: u32,
    rhs: u32,
    phases: Phases,
    /// Operations of L over the median refactorization.
    refactorize_gflops: f64,
    accuracy: Accuracy,
}

#[derive(Debug, Serialize)]
struct Accuracy {
    normwise_backward_error: f64,
    componentwise_backward_error: f64,
}

/// Seconds of the phases.
#[derive(Debug, Serialize)]
struct Phases {
    order: Times,
    symbolic: Times,
    plan: Times,
    /// Into fresh memory.
    first_factorization: Times,
    refactorization: Times,
    /// Substitution with one right-hand side.
    solve_1: Times,
    /// Substitution with `rhs` of them.
    solve_many: Times,
    /// Substitution and refinement with one.
    solve_refined: Times,
}

#[derive(Debug, Serialize)]
struct Times {
    median: f64,
    min: f64,
    max: f64,
    all: Vec<f64>,
}

impl Times {
    fn new(all: Vec<f64>) -> Self {
        let mut sorted = all.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let at = |i: usize| sorted.get(i).copied().unwrap_or(f64::NAN);
        let half = sorted.len() / 2;
        let median = if sorted.len() % 2 == 1 {
            at(half)
        } else {
            (at(half.max(1) - 1) + at(half)) / 2.0
        };
        Self {
            median,
            min: at(0),
            max: at(sorted.len().max(1) - 1),
            all,
        }
    }
}

pub fn run(args: &BenchArgs, json: bool, talk: Talk) -> Result<(), Failure> {
    input::check_ordering(&args.ordering.ordering)?;
    let loaded = input::matrix(&args.a, args.machine.threads, talk)?;
    let a = &loaded.matrix;
    room::check(a.n(), args.rhs as usize)?;
    let mut block = room::for_vectors(a.n(), args.rhs as usize)?;
    let ordering = input::ordering(&args.ordering.ordering, a.n())?;
    let options = machine::options(&args.machine, ordering, talk);
    let mut times: [Vec<f64>; 8] = Default::default();
    let mut last = None;
    for k in 0..args.repeat {
        let _activity = talk.spinner(format!("run {} of {}", k + 1, args.repeat));
        let analysis = Analysis::new(a.pattern(), &options)
            .map_err(input::analysis_failed(&args.ordering.ordering))?;
        let s = analysis.seconds();
        let phases = [s.order_secs, s.symbolic_secs, s.plan_secs];
        let numeric = once(&analysis, a, args.rhs as usize, &mut block)
            .map_err(|error| Failure::from(error).about(&loaded.source))?;
        for (list, secs) in times.iter_mut().zip(phases.into_iter().chain(numeric.0)) {
            list.push(secs);
        }
        last = Some((analysis, numeric.1));
    }
    let Some((analysis, accuracy)) = last else {
        return Err(Failure::usage("no runs were asked for".into()));
    };
    let [order, symbolic, plan, first, again, one, many, refined] = times.map(Times::new);
    let report = Report {
        matrix: MatrixReport::new(&loaded),
        analysis: AnalysisReport::new(&analysis),
        plan: PlanReport::new(analysis.plan()),
        place: PlaceReport::new(&analysis),
        repeat: args.repeat,
        rhs: args.rhs,
        refactorize_gflops: analysis.symbolic().stats().flops as f64 / again.median / 1e9,
        phases: Phases {
            order,
            symbolic,
            plan,
            first_factorization: first,
            refactorization: again,
            solve_1: one,
            solve_many: many,
            solve_refined: refined,
        },
        accuracy,
    };
    if json {
        out::json(&report)
    } else {
        out::text(&report.text())
    }
}

/// One run of the numeric phases: seconds of each, and the accuracy reached. There is room for `rhs` vectors in `block`.
fn once(
    analysis: &Analysis,
    a: &SymmetricCsc<f64>,
    rhs: usize,
    block: &mut Vec<f64>,
) -> Result<([f64; 5], Accuracy), Error> {
    let n = a.n();
    let mut b = vec![0.0; n];
    let x: Vec<f64> = (0..n).map(|i| 1.0 + (0.37 * i as f64).sin()).collect();
    a.matvec(&x, &mut b);
    // Solves do not look at the flag: an interrupt ends them at once.
    let (mut factor, first, again) = interrupt::cancellable(|flag| {
        let control = Control {
            cancel: Some(flag),
            ..Control::default()
        };
        let (mut factor, first) = timed(|| analysis.factorize_with(a, &control))?;
        let ((), again) = timed(|| factor.refactorize_with(a, &control))?;
        Ok((factor, first, again))
    })?;
    let mut solve = |factor: &mut Factor, k: usize| {
        let mut once = || {
            block.clear();
            (0..k).for_each(|_| block.extend_from_slice(&b));
            timed(|| factor.solve(block)).map(|((), secs)| secs)
        };
        // The first solve makes room; the second is the one that is repeated in practice.
        once()?;
        once()
    };
    let one = solve(&mut factor, 1)?;
    let many = solve(&mut factor, rhs)?;
    let mut x = b.clone();
    let (report, refined) = timed(|| factor.solve_refined(a, &mut x))?;
    let accuracy = Accuracy {
        normwise_backward_error: report.normwise_backward_error(),
        componentwise_backward_error: report.componentwise_backward_error(),
    };
    Ok(([first, again, one, many, refined], accuracy))
}

fn timed<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<(T, f64), Error> {
    let began = Instant::now();
    let value = work()?;
    Ok((value, began.elapsed().as_secs_f64()))
}

impl Report {
    fn text(&self) -> String {
        let p = &self.phases;
        let many = format!("solve, {} rhs", self.rhs);
        let rows = [
            ("order", &p.order),
            ("symbolic", &p.symbolic),
            ("plan", &p.plan),
            ("factorize (first)", &p.first_factorization),
            ("refactorize", &p.refactorization),
            ("solve, 1 rhs", &p.solve_1),
            (&many, &p.solve_many),
            ("solve and refine", &p.solve_refined),
        ];
        let mut text = self.matrix.row() + &self.analysis.rows() + &self.place.row();
        text += &format!(
            "\n{:<20}{:>12}{:>12}{:>12}\n",
            "phase", "median", "min", "max"
        );
        for (name, t) in rows {
            let (median, min, max) = (secs(t.median), secs(t.min), secs(t.max));
            text += &format!("{name:<20}{median:>12}{min:>12}{max:>12}\n");
        }
        let a = &self.accuracy;
        text += &format!(
            "\nrefactorization at {:.1} GFLOP/s on {}; backward error {:.1e} normwise, \
             {:.1e} componentwise\n",
            self.refactorize_gflops,
            self.place.workers(self.plan.threads),
            a.normwise_backward_error,
            a.componentwise_backward_error
        );
        text
    }
}
