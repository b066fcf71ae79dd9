//! `tamarack convert`: from one format to another.

use tamarack::{Error, io};

use crate::args::ConvertArgs;
use crate::commands::report::MatrixReport;
use crate::failure::Failure;
use crate::progress::Talk;
use crate::{input, out};

pub fn run(args: &ConvertArgs, json: bool, talk: Talk) -> Result<(), Failure> {
    if io::MatrixFormat::of_name(&args.output).is_none() {
        return Err(Failure::usage(format!(
            "{}: the name says no format; use .mtx or .rb (.mtx.gz and .rb.gz compress)",
            args.output.display()
        )));
    }
    let loaded = input::matrix(&args.input, talk)?;
    let activity = talk.spinner(format!("writing {}", args.output.display()));
    io::write_matrix(&args.output, &loaded.matrix).map_err(Error::from)?;
    activity.done();
    let report = MatrixReport::new(&loaded);
    if json {
        out::json(&report)
    } else {
        out::text(&report.row())
    }
}
