//! `tamarack convert`: from one format to another.

use tamarack::io;

use crate::args::ConvertArgs;
use crate::commands::report::WrittenReport;
use crate::failure::Failure;
use crate::progress::Talk;
use crate::{files, input, out};

pub fn run(args: &ConvertArgs, json: bool, talk: Talk) -> Result<(), Failure> {
    let inputs = input::files(&args.input, None);
    files::check_distinct(&inputs, &[("the new matrix", &args.output)])?;
    files::check_matrix(&args.output, json)?;
    let loaded = input::matrix(&args.input, args.threads.threads, talk)?;
    let activity = talk.spinner(format!("writing {}", args.output.display()));
    let written = io::write_matrix(&args.output, &loaded.matrix);
    files::written(&args.output, written)?;
    activity.done();
    let report = WrittenReport::new(&loaded, &args.output);
    if json {
        out::json(&report)
    } else {
        out::text(&report.rows())
    }
}
