//! The `tamarack` command.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]
// They panic where nothing can be written: `out` has what does not.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod args;
mod cache;
mod commands;
mod failure;
mod files;
mod heap;
mod input;
mod interrupt;
mod machine;
mod out;
mod peak;
mod progress;
mod room;
mod trace;
mod warnings;

use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use args::{Cli, Command, GpuCommand};
use failure::{Failure, exit_code};
use progress::Talk;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    heap::keep(cli.command.threads());
    interrupt::install(cli.json);
    let talk = match (cli.quiet, cli.verbose) {
        (true, _) => Talk::Quiet,
        (_, true) => Talk::Verbose,
        _ => Talk::Normal,
    };
    warnings::show(talk);
    match run(&cli.command, cli.json, talk) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => report(&failure, cli.json),
    }
}

fn run(command: &Command, json: bool, talk: Talk) -> Result<(), Failure> {
    match command {
        Command::Solve(args) => commands::solve::run(args, json, talk),
        Command::Info(args) => commands::info::run(args, json, talk),
        Command::Analyze(args) => commands::analyze::run(args, json, talk),
        Command::Plan(args) => commands::plan::run(args, json, talk),
        Command::Generate(args) => commands::generate::run(args, json, talk),
        Command::Convert(args) => commands::convert::run(args, json, talk),
        Command::Spy(args) => commands::spy::run(args, json, talk),
        Command::Tree(args) => commands::tree::run(args, json, talk),
        Command::Bench(args) => commands::bench::run(args, json, talk),
        Command::Gpu(GpuCommand::Info(args)) => commands::gpu::info(args, json),
        Command::Gpu(GpuCommand::Warm(args)) => commands::gpu::warm(args, json, talk),
    }
}

/// Says why a command failed: on standard error, or with `--json` as an object on standard output.
fn report(failure: &Failure, json: bool) -> ExitCode {
    // An object that cannot be printed is said like any other error.
    let printed = json && !failure.reported && out::json(&failure.object()).is_ok();
    if !printed {
        out::say(&format!("error: {}", failure.message));
    }
    failure.exit_code()
}

/// Help and version are results; everything else that clap finds is a usage error.
fn usage(error: &clap::Error) -> ExitCode {
    let asked = matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    );
    if !asked && std::env::args_os().any(|a| a == "--json") {
        return report(&Failure::usage(usage_message(error)), true);
    }
    // A reader that has gone away is no reason to panic.
    let _ = error.print();
    if asked {
        ExitCode::SUCCESS
    } else {
        exit_code::USAGE.into()
    }
}

/// What is wrong, in one line: the paragraphs before those that say how to go on.
fn usage_message(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let one_line = |paragraph: &str| {
        let lines: Vec<&str> = paragraph.lines().map(str::trim).collect();
        lines.join(" ")
    };
    let paragraphs: Vec<String> = text
        .split("\n\n")
        .take_while(|p| !p.starts_with("Usage:") && !p.starts_with("For more information"))
        .map(one_line)
        .collect();
    let message = paragraphs.join("; ");
    message
        .strip_prefix("error: ")
        .unwrap_or(&message)
        .to_owned()
}
