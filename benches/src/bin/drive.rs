//! `drive SOLVER MATRIX.bin NAME THREADS [ORDER.i32]`: runs one solver and prints one line of JSON.
//!
//! SOLVER is `tamarack`, `faer`, or `prepare`, which instead writes the matrix NAME (a file or
//! `model:…`) to MATRIX.bin, or `order`, which writes Tamarack's order to ORDER.i32. Without
//! ORDER.i32 a solver orders by itself.

use std::path::Path;
use std::process::ExitCode;

use tamarack_benches::{Result, exchange, ours, peer};

fn main() -> ExitCode {
    match drive() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn drive() -> Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let [_, solver, path, name, threads, rest @ ..] = &args[..] else {
        return Err("usage: drive SOLVER MATRIX.bin NAME THREADS [ORDER.i32]".into());
    };
    let path = Path::new(path);
    if solver == "prepare" {
        return Ok(exchange::write_matrix(path, &exchange::load(name)?)?);
    }
    let a = exchange::read_back(path)?;
    if let ("order", [file]) = (solver.as_str(), rest) {
        return Ok(exchange::write_order(Path::new(file), &ours::order(&a)?)?);
    }
    let order = match rest.first() {
        Some(file) => Some(exchange::read_order(Path::new(file))?),
        None => None,
    };
    let threads: usize = threads.parse()?;
    let mut record = match solver.as_str() {
        "tamarack" => ours::run(&a, order, threads)?,
        "faer" => peer::run(&a, order, threads)?,
        other => return Err(format!("no solver {other}").into()),
    };
    record.matrix = name.clone();
    println!("{}", serde_json::to_string(&record)?);
    Ok(())
}
