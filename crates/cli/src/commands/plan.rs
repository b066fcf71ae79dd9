//! `tamarack plan`: what a factorization would cost.

use serde::Serialize;
use tamarack::{Bytes, Place, available_memory_bytes};

use crate::args::PlanArgs;
use crate::commands::report::{AnalysisReport, MatrixReport, PlaceReport, PlanReport, row};
use crate::failure::Failure;
use crate::progress::Talk;
use crate::{cache, input, machine, out};

#[derive(Debug, Serialize)]
struct Report {
    matrix: MatrixReport,
    analysis: AnalysisReport,
    plan: PlanReport,
    place: PlaceReport,
    /// In mixed precision: memory at the peak where single precision does not suffice.
    #[serde(skip_serializing_if = "Option::is_none")]
    fallback_bytes: Option<u64>,
    /// Memory that may be used, where it is known.
    budget_bytes: Option<u64>,
    fits: bool,
    /// What the solver would say, where it does not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
}

pub fn run(args: &PlanArgs, json: bool, talk: Talk) -> Result<(), Failure> {
    input::check_ordering(&args.ordering.ordering)?;
    let loaded = input::matrix(&args.a, args.machine.threads, talk)?;
    let matrix = MatrixReport::new(&loaded);
    let ordering = input::ordering(&args.ordering.ordering, matrix.n)?;
    let options = machine::options(&args.machine, ordering, talk);
    let activity = talk.spinner("analyzing");
    let (folder, name) = (
        args.cache.analysis_cache.as_deref(),
        &args.ordering.ordering,
    );
    let pattern = loaded.matrix.pattern();
    let analysis = cache::analysis(folder, name, pattern, &options, talk)?;
    activity.done();
    let plan = PlanReport::new(analysis.plan());
    let budget_bytes = match analysis.place() {
        Place::Gpu { .. } => args.machine.memory, // of the device's, which has enough
        _ => args.machine.memory.or_else(available_memory_bytes),
    };
    let on_gpu = matches!(analysis.place(), Place::Gpu { .. });
    let error = analysis.check_memory().err();
    let error = error.map(|error| Failure::from(error).after_result());
    let fits = error.is_none();
    let report = Report {
        matrix,
        analysis: AnalysisReport::new(&analysis),
        plan,
        place: PlaceReport::new(&analysis),
        fallback_bytes: analysis.fallback_bytes()?,
        budget_bytes,
        fits,
        error,
    };
    if json {
        out::json(&report)?;
    } else {
        let mut text = report.matrix.row() + &report.analysis.rows();
        text += &report.place.row();
        match analysis.place() {
            Place::Gpu { plan, .. } => text += &format!("\n{plan}\n"),
            _ => text += &format!("\n{}\n", analysis.plan()),
        }
        if let Some(bytes) = report.fallback_bytes {
            let when = "at the peak, where single precision does not suffice";
            text += &format!("{:<22}{} {when}\n", "double precision", Bytes(bytes));
        }
        if let Some(budget) = budget_bytes.filter(|_| !on_gpu) {
            let falls_back = report.fallback_bytes.is_none_or(|bytes| bytes <= budget);
            let verdict = match (fits, falls_back) {
                (false, _) => "NOT enough",
                (true, true) => "enough",
                (true, false) => "enough, but not for double precision",
            };
            text += &row("\nmay be used", &format!("{} ({verdict})", Bytes(budget)));
        }
        out::text(&text)?;
    }
    report.error.map_or(Ok(()), Err)
}
