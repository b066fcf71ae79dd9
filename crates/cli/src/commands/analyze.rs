//! `tamarack analyze`: order and analyze, by one method or by several for comparison.

use std::ffi::{OsStr, OsString};

use serde::Serialize;
use tamarack::{Analysis, Options, io};

use crate::args::AnalyzeArgs;
use crate::commands::report::{AnalysisReport, MatrixReport, row};
use crate::failure::Failure;
use crate::out::{flops, grouped, secs};
use crate::progress::Talk;
use crate::{files, input, out};

#[derive(Debug, Serialize)]
struct Report {
    matrix: MatrixReport,
    analysis: AnalysisReport,
    /// Why the permutation could not be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
}

#[derive(Debug, Serialize)]
struct Comparison {
    matrix: MatrixReport,
    analyses: Vec<Compared>,
}

/// One of several analyses.
#[derive(Debug, Serialize)]
struct Compared {
    /// The ordering as it was named: several may be `given`, and `auto` takes another.
    asked: String,
    #[serde(flatten)]
    analysis: AnalysisReport,
}

impl Compared {
    /// The method that was taken, and what was asked for where that is another name.
    fn label(&self) -> String {
        let (asked, taken) = (&self.asked, self.analysis.ordering);
        match asked == taken {
            true => taken.to_owned(),
            false => format!("{taken} ({asked})"),
        }
    }
}

pub fn run(args: &AnalyzeArgs, json: bool, talk: Talk) -> Result<(), Failure> {
    if let Some(path) = &args.write_permutation {
        let inputs = input::files(&args.a, Some(&args.ordering.ordering));
        files::check_distinct(&inputs, &[("the permutation", path)])?;
        files::check_array(path, json)?;
    }
    let compared = named(&args.compare);
    let mut asked = [args.ordering.ordering.as_os_str()]
        .into_iter()
        .chain(compared.iter().copied());
    asked.try_for_each(input::check_ordering)?;
    let loaded = input::matrix(&args.a, args.threads.threads, talk)?;
    let matrix = MatrixReport::new(&loaded);
    let analyze = |name: &OsStr| {
        let mut options = Options::default();
        options.threads = args.threads.threads;
        options.ordering = input::ordering(name, matrix.n)?;
        let _activity = talk.spinner(format!("analyzing ({})", options.ordering.name()));
        let analysis = Analysis::unbudgeted(loaded.matrix.pattern(), &options);
        analysis.map_err(input::analysis_failed(name))
    };
    if args.compare.is_empty() {
        let analysis = analyze(&args.ordering.ordering)?;
        let written = match &args.write_permutation {
            Some(path) => {
                let permutation = analysis.symbolic().permutation();
                files::written(path, io::write_permutation(path, permutation))
            }
            None => Ok(()),
        };
        let report = Report {
            matrix,
            analysis: AnalysisReport::new(&analysis),
            error: written.err().map(Failure::after_result),
        };
        return report.show(json);
    }
    let mut analyses = Vec::new();
    for name in compared {
        analyses.push(Compared {
            asked: name.display().to_string(),
            analysis: AnalysisReport::new(&analyze(name)?),
        });
    }
    if json {
        return out::json(&Comparison { matrix, analyses });
    }
    out::text(&(matrix.row() + &table(&analyses)))
}

impl Report {
    fn show(self, json: bool) -> Result<(), Failure> {
        if json {
            out::json(&self)?;
        } else {
            let a = &self.analysis;
            let kept = a.nnz_l_kept as f64 / a.nnz_l.max(1) as f64;
            let kept = row(
                "kept",
                &format!("{kept:.3} entries for each of L (amalgamation)"),
            );
            out::text(&(self.matrix.row() + &self.analysis.rows() + &kept))?;
        }
        self.error.map_or(Ok(()), Err)
    }
}

/// The analyses side by side, a line each.
fn table(analyses: &[Compared]) -> String {
    let labels: Vec<String> = analyses.iter().map(Compared::label).collect();
    let longest = labels.iter().map(|label| label.chars().count()).max();
    let width = longest.unwrap_or(0).max(8) + 2;
    let mut text = format!(
        "{:<width$}{:>18}{:>16}{:>12}\n",
        "ordering", "nnz(L)", "operations", "time"
    );
    for (label, Compared { analysis: a, .. }) in labels.iter().zip(analyses) {
        let (count, work) = (grouped(a.nnz_l), flops(a.flops));
        let time = secs(a.seconds.order);
        text += &format!("{label:<width$}{count:>18}{work:>16}{time:>12}\n");
    }
    text
}

/// The orderings to compare, each once; `all` stands for every method.
fn named(list: &[OsString]) -> Vec<&OsStr> {
    let mut names = Vec::new();
    for name in list {
        let these = match name.to_str() {
            Some("all") => ["natural", "rcm", "md", "mmd", "amd", "amf", "nd"]
                .map(OsStr::new)
                .to_vec(),
            _ => vec![name.as_os_str()],
        };
        for name in these {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}
