//! `tamarack solve`: an answer, and how accurate it is.

mod report;

use std::path::Path;

use tamarack::io::{DenseColumns, write_vectors};
use tamarack::{
    Analysis, Control, Error, Factor, Limits, OnNotSpd, Options, Outcome, Profile, Progress,
    ResidualPrecision, SolveReport, SymmetricCsc,
};

use crate::args::{PrecisionArg, RefineArg, SolveArgs};
use crate::commands::device_profile::DeviceProfileReport;
use crate::commands::profile::ProfileReport;
use crate::commands::report::{AnalysisReport, MatrixReport};
use crate::failure::Failure;
use crate::peak::Peak;
use crate::progress::Talk;
use crate::{cache, files, input, interrupt, machine, out, room, trace};

use report::{Accuracy, FactorizeReport, PivotReport, Report, SolveTimes, outcome};

pub fn run(args: &SolveArgs, json: bool, talk: Talk) -> Result<(), Failure> {
    input::check_ordering(&args.ordering.ordering)?;
    args.b.as_deref().map_or(Ok(()), input::check_file)?;
    check_outputs(args, json)?;
    let loaded = input::matrix(&args.a, args.machine.threads, talk)?;
    let (a, n) = (&loaded.matrix, loaded.matrix.n());
    let b = match &args.b {
        Some(path) => input::right_sides(path, n)?,
        None => all_ones(a),
    };
    // Only a bound of the forward error asks for the right-hand sides again.
    let kept = args.condition.then(|| copy(&b)).transpose()?;
    let mut x = b;
    let ordering = input::ordering(&args.ordering.ordering, n)?;
    let mut options = machine::options(&args.machine, ordering, talk);
    choose_refinement(args, &mut options);
    options.profile = args.profile.is_some();
    let peak = Peak::begin();
    let activity = talk.spinner("analyzing");
    let (folder, name) = (
        args.cache.analysis_cache.as_deref(),
        &args.ordering.ordering,
    );
    let analysis = cache::analysis(folder, name, a.pattern(), &options, talk)?;
    analysis.check_memory()?;
    activity.done();
    Peak::reset();
    let (mut factor, factorize_secs) = factorize(&analysis, a, talk)
        .map_err(|error| Failure::from(error).about(&loaded.source))?;
    let peak_bytes = peak.end_bytes();
    let activity = talk.spinner("solving");
    let solved = factor.solve_refined(a, &mut x.values)?;
    let solve_secs = activity.done();
    let written = write_solution(args.output.as_deref(), &x, talk);
    let profile = analysis.take_profile();
    let device = analysis.take_device_profile()?;
    let mut accuracy = measure(args, a, kept.as_ref(), &x.values, &mut factor, &solved)?;
    // From a GPU the whole factor would have to come.
    if analysis.gpu().is_none() || args.condition {
        accuracy.smallest_pivot = smallest_pivot(args, a, &factor, &solved)?;
    }
    let vanished = accuracy.smallest_pivot.as_ref().filter(|p| p.vanished);
    if let Some(pivot) = vanished {
        talk.warn(&pivot.warning());
    }
    // On a GPU the host's threads wait.
    let of_host = profile.as_ref().filter(|_| device.is_none());
    let of_host = of_host.map(|p| report_profile(p, &analysis, talk));
    let traced = match (&args.profile, &profile) {
        (Some(Some(path)), Some(profile)) => trace::write(path, profile, device.as_ref()),
        _ => Ok(()),
    };
    let report = Report {
        matrix: MatrixReport::new(&loaded),
        analysis: AnalysisReport::new(&analysis),
        factorize: FactorizeReport::new(&analysis, factorize_secs, peak_bytes, factor.shift()),
        solve: SolveTimes {
            seconds: solve_secs,
            rhs: x.ncols,
            refinement_steps: solved.steps(),
            outcome: (args.machine.precision == PrecisionArg::Mixed)
                .then(|| outcome(&solved.outcome)),
        },
        profile: of_host,
        device_profile: device.as_ref().map(DeviceProfileReport::new),
        error: written
            .and(traced)
            .err()
            .map(Failure::after_result)
            .or_else(|| verdict(&accuracy)),
        accuracy,
    };
    if json {
        out::json(&report)?
    } else {
        out::text(&report.text())?
    }
    report.error.map_or(Ok(()), Err)
}

fn copy(b: &DenseColumns) -> Result<DenseColumns, Failure> {
    let (n, ncols) = (b.n, b.ncols);
    let mut values = room::for_vectors(n, ncols)?;
    values.extend_from_slice(&b.values);
    Ok(DenseColumns { n, ncols, values })
}

/// Writes the solution, if it is to be written. One that is not finite could not be read back; the verdict on it will be another error.
fn write_solution(path: Option<&Path>, x: &DenseColumns, talk: Talk) -> Result<(), Failure> {
    let Some(path) = path else {
        return Ok(());
    };
    if x.values.iter().all(|x| x.is_finite()) {
        return files::written(path, write_vectors(path, x));
    }
    let shown = path.display();
    talk.warn(&format!(
        "{shown} is not written: the solution is not finite"
    ));
    Ok(())
}

fn verdict(accuracy: &Accuracy) -> Option<Failure> {
    let failure = || {
        Failure::tolerance(format!(
            "the backward error {:.1e} is above the tolerance {:.1e}",
            accuracy.normwise_backward_error, accuracy.tolerance
        ))
    };
    (!accuracy.solved).then(failure)
}

/// Fails where what was asked for could not be written in the end, or would destroy another file.
fn check_outputs(args: &SolveArgs, json: bool) -> Result<(), Failure> {
    let trace = args.profile.as_ref().and_then(Option::as_deref);
    let mut inputs = input::files(&args.a, Some(&args.ordering.ordering));
    inputs.extend(args.b.iter().map(|b| ("the right-hand side", b.as_path())));
    let x = args.output.iter().map(|x| ("the solution", x.as_path()));
    let outputs: Vec<_> = x.chain(trace.map(|path| ("the profile", path))).collect();
    files::check_distinct(&inputs, &outputs)?;
    if let Some(path) = &args.output {
        files::check_array(path, json)?;
    }
    trace.map_or(Ok(()), |path| files::check(path, json))
}

/// Where the time went beside what the machine could do.
fn report_profile(profile: &Profile, analysis: &Analysis, talk: Talk) -> ProfileReport {
    let activity = talk.spinner("measuring the machine's limits");
    let plan = analysis.plan();
    let limits = Limits::measure(plan.threads(), plan.precision());
    activity.done();
    ProfileReport::new(profile, &limits)
}

/// `A e`, for the all-ones solution.
fn all_ones(a: &SymmetricCsc<f64>) -> DenseColumns {
    let n = a.n();
    let mut values = vec![0.0; n];
    a.matvec(&vec![1.0; n], &mut values);
    DenseColumns {
        n,
        ncols: 1,
        values,
    }
}

fn choose_refinement(args: &SolveArgs, options: &mut Options) {
    if args.shift {
        options.on_not_spd = OnNotSpd::Shift;
    }
    match args.refine {
        RefineArg::Auto => {}
        RefineArg::Off => options.refine.max_steps = 0,
        RefineArg::Steps(steps) => options.refine.max_steps = steps as usize,
        RefineArg::Quad => options.refine.residual = ResidualPrecision::Quad,
    }
}

/// Factorizes under a bar, until Ctrl-C.
fn factorize(
    analysis: &Analysis,
    a: &SymmetricCsc<f64>,
    talk: Talk,
) -> Result<(Factor, f64), Error> {
    // The bar counts in millions, so that any factorization fits it.
    let total = analysis.plan().flops_done() / 1_000_000;
    let rate = |per_sec: f64| format!("{:.1} GFLOP/s", per_sec / 1e3);
    let bar = talk.bar(
        "factorizing",
        u64::try_from(total).unwrap_or(u64::MAX),
        rate,
    );
    let progress = |p: Progress| bar.set((p.done_flops / 1_000_000) as u64);
    let factor = interrupt::cancellable(|flag| {
        let control = Control {
            progress: Some(&progress),
            cancel: Some(flag),
        };
        analysis.factorize_with(a, &control)
    })?;
    Ok((factor, bar.done()))
}

/// The smallest pivot. In single precision many vanish, and refinement helps: nothing is said of these.
fn smallest_pivot(
    args: &SolveArgs,
    a: &SymmetricCsc<f64>,
    factor: &Factor,
    solved: &SolveReport,
) -> Result<Option<PivotReport>, Error> {
    let is_double = match args.machine.precision {
        PrecisionArg::F64 => true,
        PrecisionArg::F32 => false,
        PrecisionArg::Mixed => solved.outcome == Outcome::Double,
    };
    let found = factor.smallest_pivot(a)?;
    Ok(found.map(|found| PivotReport {
        column: found.column.0,
        pivot: found.pivot,
        share: found.share,
        vanished: is_double && found.has_vanished(),
    }))
}

fn measure(
    args: &SolveArgs,
    a: &SymmetricCsc<f64>,
    b: Option<&DenseColumns>,
    x: &[f64],
    factor: &mut Factor,
    solved: &SolveReport,
) -> Result<Accuracy, Failure> {
    let root = (a.n() as f64).sqrt().max(1.0);
    let tolerance = args.tolerance.unwrap_or(match args.machine.precision {
        PrecisionArg::F32 => 1e-6 * root,
        PrecisionArg::F64 | PrecisionArg::Mixed => 1e-15 * root,
    });
    let (mut condition, mut bound) = (None, None);
    if let Some(b) = b {
        condition = Some(factor.condition_estimate(a)?);
        let n = a.n().max(1);
        let mut worst = 0.0f64;
        for (b, x) in b.values.chunks(n).zip(x.chunks(n)) {
            let bound = factor.forward_error_bound(a, b, x)?;
            if bound.is_nan() || bound > worst {
                worst = bound;
            }
            if worst.is_nan() {
                break; // no other bound is larger
            }
        }
        bound = Some(worst);
    }
    let normwise = solved.normwise_backward_error();
    Ok(Accuracy {
        normwise_backward_error: normwise,
        componentwise_backward_error: solved.componentwise_backward_error(),
        forward_error: args.b.is_none().then(|| {
            x.iter()
                .map(|x| (x - 1.0).abs())
                .fold(0.0, |m: f64, e| if e <= m || m.is_nan() { m } else { e })
        }),
        forward_error_bound: bound,
        condition,
        smallest_pivot: None,
        tolerance,
        solved: normwise <= tolerance,
    })
}
