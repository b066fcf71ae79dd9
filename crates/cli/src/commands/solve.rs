//! `tamarack solve`: an answer, and how accurate it is.

use serde::Serialize;
use tamarack::io::{DenseColumns, write_vectors};
use tamarack::{
    Analysis, Bytes, Control, Error, Factor, Limits, OnNotSpd, Options, Outcome, Profile, Progress,
    ResidualPrecision, SolveReport, SymmetricCsc,
};

use crate::args::{PrecisionArg, RefineArg, SolveArgs};
use crate::commands::device_profile::DeviceProfileReport;
use crate::commands::profile::ProfileReport;
use crate::commands::report::{AnalysisReport, MatrixReport, PlaceReport, row};
use crate::failure::Failure;
use crate::out::secs;
use crate::peak::Peak;
use crate::progress::Talk;
use crate::{cache, files, input, interrupt, machine, out, trace};

#[derive(Debug, Serialize)]
struct Report {
    matrix: MatrixReport,
    analysis: AnalysisReport,
    factorize: FactorizeReport,
    solve: SolveTimes,
    accuracy: Accuracy,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<ProfileReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    device_profile: Option<DeviceProfileReport>,
}

#[derive(Debug, Serialize)]
struct FactorizeReport {
    seconds: f64,
    gflops: f64,
    threads: usize,
    #[serde(flatten)]
    place: PlaceReport,
    precision: &'static str,
    /// Growth of resident memory on the host, from before the analysis to the peak of the factorization.
    peak_bytes: Option<u64>,
    /// σ of A + σI, where it was factorized instead of A.
    #[serde(skip_serializing_if = "Option::is_none")]
    shift: Option<f64>,
}

#[derive(Debug, Serialize)]
struct SolveTimes {
    /// Substitution, refinement and everything it needed.
    seconds: f64,
    rhs: usize,
    refinement_steps: usize,
    /// `refined`, `conjugate_gradients` or `double`: what mixed precision came to.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct Accuracy {
    normwise_backward_error: f64,
    componentwise_backward_error: f64,
    /// ‖x − 1‖∞ where the solution is known to be all ones.
    forward_error: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    forward_error_bound: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    condition: Option<f64>,
    tolerance: f64,
    solved: bool,
}

pub fn run(args: &SolveArgs, json: bool, talk: Talk) -> Result<(), Failure> {
    check_outputs(args)?;
    let loaded = input::matrix(&args.a, talk)?;
    let (a, n) = (&loaded.matrix, loaded.matrix.n());
    let b = match &args.b {
        Some(path) => input::right_sides(path, n)?,
        None => all_ones(a),
    };
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
    let analysis = cache::analysis(folder, name, a.pattern(), &options, talk, Analysis::new)?;
    activity.done();
    Peak::reset();
    let (mut factor, factorize_secs) = factorize(&analysis, a, talk)
        .map_err(|error| Failure::from(error).about(&loaded.source))?;
    let peak_bytes = peak.end_bytes();
    let activity = talk.spinner("solving");
    let mut x = b.values.clone();
    let solved = factor.solve_refined(a, &mut x)?;
    let solve_secs = activity.done();
    let x = DenseColumns {
        n,
        ncols: b.ncols,
        values: x,
    };
    if let Some(path) = &args.output {
        write_vectors(path, &x).map_err(Error::from)?;
    }
    let profile = analysis.take_profile();
    let device = analysis.take_device_profile()?;
    let accuracy = measure(args, a, &b, &x.values, &mut factor, &solved)?;
    // On a GPU the host's threads wait.
    let of_host = profile.as_ref().filter(|_| device.is_none());
    let of_host = of_host.map(|p| report_profile(p, &analysis, talk));
    let plan = analysis.plan();
    let report = Report {
        matrix: MatrixReport::new(&loaded),
        analysis: AnalysisReport::new(&analysis),
        factorize: FactorizeReport {
            seconds: factorize_secs,
            gflops: analysis.symbolic().stats().flops as f64 / factorize_secs.max(1e-9) / 1e9,
            threads: plan.threads(),
            place: PlaceReport::new(&analysis),
            precision: options.precision.name(),
            peak_bytes,
            shift: factor.shift(),
        },
        solve: SolveTimes {
            seconds: solve_secs,
            rhs: b.ncols,
            refinement_steps: solved.steps(),
            outcome: (args.machine.precision == PrecisionArg::Mixed)
                .then(|| outcome(&solved.outcome)),
        },
        accuracy,
        profile: of_host,
        device_profile: device.as_ref().map(DeviceProfileReport::new),
    };
    if json {
        out::json(&report)?
    } else {
        out::text(&report.text())?
    }
    if let (Some(Some(path)), Some(profile)) = (&args.profile, &profile) {
        trace::write(path, profile, device.as_ref()).map_err(Failure::after_result)?;
    }
    let accuracy = &report.accuracy;
    if accuracy.solved {
        return Ok(());
    }
    Err(Failure::tolerance(format!(
        "the backward error {:.1e} is above the tolerance {:.1e}",
        accuracy.normwise_backward_error, accuracy.tolerance
    )))
}

/// Fails where what was asked for could not be written in the end.
fn check_outputs(args: &SolveArgs) -> Result<(), Failure> {
    if let Some(path) = &args.output {
        files::check_array(path)?;
    }
    match &args.profile {
        Some(Some(path)) => files::check(path),
        _ => Ok(()),
    }
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

fn measure(
    args: &SolveArgs,
    a: &SymmetricCsc<f64>,
    b: &DenseColumns,
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
    if args.condition {
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
        tolerance,
        solved: normwise <= tolerance,
    })
}

fn outcome(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::ConjugateGradients { .. } => "conjugate_gradients",
        Outcome::Double => "double",
        _ => "refined",
    }
}

impl Report {
    fn text(&self) -> String {
        let (f, s, a) = (&self.factorize, &self.solve, &self.accuracy);
        let mut text = self.matrix.row() + &self.analysis.rows();
        let place = &f.place;
        text += &place.row();
        let workers = match (&place.gpu, f.threads) {
            (Some(_), _) => place.device.clone(),
            (None, 1) => "1 thread".to_owned(),
            (None, threads) => format!("{threads} threads"),
        };
        let times = format!(
            "{} ({:.1} GFLOP/s, {}, {workers}; predicted {})",
            secs(f.seconds),
            f.gflops,
            f.precision,
            secs(place.predicted_seconds)
        );
        text += &row("factorize", &times);
        let predicted = Bytes(place.predicted_bytes);
        let memory = match (&place.gpu, f.peak_bytes) {
            (None, Some(peak)) => format!("{} (predicted {predicted})", Bytes(peak)),
            (None, None) => format!("{predicted} predicted"),
            (Some(_), Some(peak)) => {
                format!(
                    "{predicted} predicted on the device, {} on the host",
                    Bytes(peak)
                )
            }
            (Some(_), None) => format!("{predicted} predicted on the device"),
        };
        text += &row("memory", &memory);
        if let Some(sigma) = f.shift {
            let what = format!("{sigma:.3e}: A + shift I was factorized, A is not definite");
            text += &row("shift", &what);
        }
        let sides = if s.rhs == 1 { "side" } else { "sides" };
        let steps = match s.refinement_steps {
            1 => "1 refinement step".to_owned(),
            count => format!("{count} refinement steps"),
        };
        let how = s
            .outcome
            .map_or(String::new(), |o| format!(", {}", o.replace('_', " ")));
        let solve = format!(
            "{} ({} right-hand {sides}, {steps}{how})",
            secs(s.seconds),
            s.rhs
        );
        text += &row("solve", &solve);
        let errors = format!(
            "{:.1e} normwise, {:.1e} componentwise",
            a.normwise_backward_error, a.componentwise_backward_error
        );
        text += &row("backward error", &format!(" {errors}"));
        if let Some(error) = a.forward_error {
            text += &row(
                "forward error",
                &format!(" {error:.1e} (the solution is all ones)"),
            );
        }
        if let (Some(condition), Some(bound)) = (a.condition, a.forward_error_bound) {
            let of = if f.shift.is_some() {
                " (A times the inverse of A + shift I)"
            } else {
                ""
            };
            let bound = match bound.is_finite() {
                true => format!("forward error at most {bound:.1e}"),
                false => "no bound of the forward error".to_owned(),
            };
            text += &row("condition", &format!("{condition:.1e}{of}; {bound}"));
        }
        let verdict = if a.solved {
            "solved to tolerance"
        } else {
            "NOT solved to tolerance"
        };
        text += &row("verdict", &format!("{verdict} ({:.1e})", a.tolerance));
        text + &self
            .profile
            .as_ref()
            .map_or(String::new(), ProfileReport::text)
            + &self
                .device_profile
                .as_ref()
                .map_or(String::new(), DeviceProfileReport::text)
    }
}
