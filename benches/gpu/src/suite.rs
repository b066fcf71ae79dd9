//! The clock: device events around repeated work, medians.
//!
//! Work that takes less than [`SHORT_SECS`] is captured into a graph and replayed, so that what is
//! measured is the device and not the rate at which the host enqueues. Inputs that fit into the
//! second-level cache stay in it: cases that should not profit must rotate among inputs themselves.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Serialize;
use tamarack_gpu::{Event, Gpu, GpuError, GpuOptions, Stream};

use crate::report;

/// Below this, launches are captured into a graph: a launch takes the host 5 to 8 µs.
const SHORT_SECS: f64 = 60e-6;
/// Calls in one graph.
const CALLS_IN_GRAPH: u32 = 16;
/// Most samples of one case.
const MOST_SAMPLES: usize = 41;

/// What is timed.
#[derive(Debug, Clone, Serialize)]
pub struct Case {
    /// The problem, such as `syrk f64`: cases of one problem and size are compared.
    pub problem: String,
    /// Its size, such as `n=8192 k=512`.
    pub size: String,
    /// Who solves it: a step of our ladder, or a library.
    pub by: String,
    /// Whether that is a peer rather than ours.
    pub peer: bool,
    /// Operations of one call; 0 where they do not matter.
    pub flops: f64,
    /// Bytes of device memory that one call must move; 0 where they do not matter.
    pub bytes: f64,
}

impl Case {
    /// A case of ours, without work to relate the time to.
    #[must_use]
    pub fn new(problem: &str, size: &str, by: &str) -> Self {
        Self {
            problem: problem.to_string(),
            size: size.to_string(),
            by: by.to_string(),
            peer: false,
            flops: 0.0,
            bytes: 0.0,
        }
    }

    /// With this many operations a call.
    #[must_use]
    pub fn flops(self, flops: f64) -> Self {
        Self { flops, ..self }
    }

    /// With this many bytes moved a call.
    #[must_use]
    pub fn bytes(self, bytes: f64) -> Self {
        Self { bytes, ..self }
    }

    /// Done by a library.
    #[must_use]
    pub fn peer(self) -> Self {
        Self { peer: true, ..self }
    }
}

/// A case with its times.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// What was timed.
    #[serde(flatten)]
    pub case: Case,
    /// Median over the samples, of one call.
    pub median_secs: f64,
    /// Shortest sample.
    pub min_secs: f64,
    /// Longest sample.
    pub max_secs: f64,
    /// Samples taken.
    pub samples: usize,
    /// Whether calls were replayed from a graph.
    pub graph: bool,
}

/// How calls are repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calls {
    /// From a graph where they take less than `SHORT_SECS`.
    Auto,
    /// From a graph.
    Replayed,
    /// One by one.
    Bare,
}

/// All cases of one program.
pub struct Suite {
    name: &'static str,
    gpu: Gpu,
    stream: Stream,
    start: Event,
    end: Event,
    rows: Vec<Row>,
    filters: Vec<String>,
    json: Option<PathBuf>,
    nvrtc: Option<PathBuf>,
    quick: bool,
    /// Of samples of one case, of which there are five at least.
    budget_secs: f64,
}

impl Suite {
    /// A suite by the program's arguments, or the exit code with which to end: where there is no GPU,
    /// the reason is printed and nothing has failed.
    ///
    /// # Errors
    /// The exit code.
    pub fn from_args(name: &'static str) -> Result<Self, ExitCode> {
        let mut options = GpuOptions::default();
        let (mut filters, mut json, mut quick, mut budget) = (Vec::new(), None, false, None);
        let mut args = std::env::args().skip(1);
        while let Some(arg) = args.next() {
            let value = match arg.as_str() {
                "--quick" | "--bench" => {
                    quick |= arg == "--quick";
                    continue;
                }
                _ => args.next().ok_or_else(|| usage(&arg))?,
            };
            match arg.as_str() {
                "--json" => json = Some(PathBuf::from(value)),
                "--filter" => filters.push(value),
                "--budget" => budget = Some(value.parse().map_err(|_| usage(&value))?),
                "--cache" => options.cache = Some(PathBuf::from(value)),
                "--nvrtc" => options.nvrtc = Some(PathBuf::from(value)),
                _ => return Err(usage(&arg)),
            }
        }
        let nvrtc = options.nvrtc.clone();
        let gpu = Gpu::open_with(0, options).map_err(|error| {
            eprintln!("{name}: skipped: {error}");
            ExitCode::SUCCESS
        })?;
        let made = (|| Ok((gpu.stream()?, gpu.timing_event()?, gpu.timing_event()?)))();
        let (stream, start, end) = made.map_err(|error: GpuError| {
            eprintln!("{name}: {error}");
            ExitCode::FAILURE
        })?;
        Ok(Self {
            name,
            gpu,
            stream,
            start,
            end,
            rows: Vec::new(),
            filters,
            json,
            nvrtc,
            quick,
            budget_secs: budget.unwrap_or(if quick { 0.05 } else { 0.3 }),
        })
    }

    /// The device.
    #[must_use]
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// The file of NVRTC that was asked for.
    #[must_use]
    pub fn nvrtc(&self) -> Option<&Path> {
        self.nvrtc.as_deref()
    }

    /// The stream that is timed.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Whether the run should be short: fewer sizes.
    #[must_use]
    pub fn is_quick(&self) -> bool {
        self.quick
    }

    /// Whether a problem, or one with its size behind, is asked for, so that its inputs are worth making.
    #[must_use]
    pub fn wants(&self, problem: &str) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|f| problem.contains(f.as_str()))
    }

    /// Times `call`, which enqueues one call's work on the stream and waits for nothing. Returns the
    /// median seconds of one call, or `None` if the problem is filtered out.
    ///
    /// # Errors
    /// What `call` or the driver says.
    pub fn time(
        &mut self,
        case: Case,
        call: impl FnMut(&Stream) -> Result<(), GpuError>,
    ) -> Result<Option<f64>, GpuError> {
        let row = self.time_as(case, Calls::Auto, call)?;
        Ok(row.map(|row| row.median_secs))
    }

    /// The same with calls repeated as said: times of which the difference is taken want to be measured alike.
    ///
    /// # Errors
    /// What `call` or the driver says.
    pub fn time_as(
        &mut self,
        case: Case,
        calls: Calls,
        mut call: impl FnMut(&Stream) -> Result<(), GpuError>,
    ) -> Result<Option<&Row>, GpuError> {
        if !self.wants(&format!("{} {}", case.problem, case.size)) {
            return Ok(None);
        }
        let stream = &self.stream;
        call(stream)?;
        stream.synchronize()?;
        let mut once = || -> Result<f64, GpuError> {
            stream.record(&self.start)?;
            call(stream)?;
            stream.record(&self.end)?;
            self.end.synchronize()?;
            self.end.secs_since(&self.start)
        };
        let warm = once()?.min(once()?);
        let mut graph = None;
        if calls == Calls::Replayed || (calls == Calls::Auto && warm < SHORT_SECS) {
            // A library that waits or allocates within a call cannot be captured: it is timed bare.
            graph = stream
                .capture(|| (0..CALLS_IN_GRAPH).try_for_each(|_| call(stream)))
                .ok();
        }
        let calls = if graph.is_some() { CALLS_IN_GRAPH } else { 1 };
        let mut sample = || -> Result<f64, GpuError> {
            stream.record(&self.start)?;
            match &mut graph {
                // SAFETY: the inputs outlive this function, which waits for each replay.
                Some(graph) => unsafe { graph.replay(stream)? },
                None => call(stream)?,
            }
            stream.record(&self.end)?;
            self.end.synchronize()?;
            Ok(self.end.secs_since(&self.start)? / f64::from(calls))
        };
        sample()?;
        let (mut times, mut spent) = (Vec::new(), 0.0);
        while times.len() < 5 || (times.len() < MOST_SAMPLES && spent < self.budget_secs) {
            let secs = sample()?;
            spent += secs * f64::from(calls);
            times.push(secs);
        }
        times.sort_by(f64::total_cmp);
        let row = Row {
            case,
            median_secs: times[times.len() / 2],
            min_secs: times[0],
            max_secs: times[times.len() - 1],
            samples: times.len(),
            graph: calls > 1,
        };
        eprintln!("{}", report::line(&row));
        self.rows.push(row);
        Ok(self.rows.last())
    }

    /// Adds a time that was measured otherwise, such as on the host's clock.
    pub fn add(&mut self, case: Case, mut secs: Vec<f64>) {
        if secs.is_empty() || !self.wants(&case.problem) {
            return;
        }
        secs.sort_by(f64::total_cmp);
        self.rows.push(Row {
            case,
            median_secs: secs[secs.len() / 2],
            min_secs: secs[0],
            max_secs: secs[secs.len() - 1],
            samples: secs.len(),
            graph: false,
        });
    }

    /// Prints the table and writes the JSON; `outcome` is how the cases went.
    #[must_use]
    pub fn finish(self, outcome: Result<(), GpuError>) -> ExitCode {
        let table = report::table(self.gpu.info(), &self.rows);
        println!("## {}\n\n{table}", self.name);
        if let Some(path) = &self.json
            && let Err(error) = report::write_json(path, self.name, self.gpu.info(), &self.rows)
        {
            eprintln!("{}: {error}", path.display());
            return ExitCode::FAILURE;
        }
        match outcome {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{}: {error}", self.name);
                ExitCode::FAILURE
            }
        }
    }
}

fn usage(arg: &str) -> ExitCode {
    eprintln!(
        "{arg}: [--json FILE] [--filter TEXT]... [--quick] [--budget SECS] [--cache DIR] [--nvrtc FILE]"
    );
    ExitCode::FAILURE
}
