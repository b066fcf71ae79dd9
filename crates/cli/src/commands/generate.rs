//! `tamarack generate`: write a model problem, or list them.

use tamarack::models::{Model, families};
use tamarack::{Error, io};

use crate::args::GenerateArgs;
use crate::commands::report::WrittenReport;
use crate::failure::Failure;
use crate::progress::Talk;
use crate::{files, input, out};

pub fn run(args: &GenerateArgs, json: bool, talk: Talk) -> Result<(), Failure> {
    if args.list {
        return list(json);
    }
    let (Some(model), Some(output)) = (&args.model, &args.output) else {
        return Err(Failure::usage(
            "name a model and, with -o, a file to write".into(),
        ));
    };
    let name = model.strip_prefix("model:").unwrap_or(model);
    name.parse::<Model>().map_err(Error::from)?;
    files::check_matrix(output, json)?;
    let loaded = input::matrix(format!("model:{name}").as_ref(), None, talk)?;
    let activity = talk.spinner(format!("writing {}", output.display()));
    files::written(output, io::write_matrix(output, &loaded.matrix))?;
    activity.done();
    let report = WrittenReport::new(&loaded, output);
    if json {
        out::json(&report)
    } else {
        out::text(&report.rows())
    }
}

fn list(json: bool) -> Result<(), Failure> {
    #[derive(serde::Serialize)]
    struct Entry {
        family: &'static str,
        example: &'static str,
        description: &'static str,
    }
    #[derive(serde::Serialize)]
    struct List {
        models: Vec<Entry>,
    }
    let models: Vec<Entry> = families()
        .iter()
        .map(|f| Entry {
            family: f.name,
            example: f.example,
            description: f.description,
        })
        .collect();
    if json {
        return out::json(&List { models });
    }
    let longest = models.iter().map(|e| e.example.len()).max();
    let width = longest.unwrap_or(0) + 2;
    let line = |e: &Entry| format!("{:<width$}{}\n", e.example, e.description);
    out::text(&models.iter().map(line).collect::<String>())
}
