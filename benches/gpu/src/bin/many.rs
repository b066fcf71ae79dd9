//! Solves with many right-hand sides in the host's memory on the first GPU: all in one call, and 16 a call.
//!
//! `many [--columns N] [--cache DIR] [--nvrtc FILE] [--json FILE] [MODEL…]`; medians of seven turns by the host's clock, with the least and
//! the most, in milliseconds. A first turn, which takes memory and records graphs, is left out.

use std::process::ExitCode;
use std::time::Instant;

use serde_json::{Value, json};
use tamarack::models::Model;
use tamarack::{Analysis, Error, Factor, SymmetricCsc};
use tamarack_gpu_benches::whole::{self, Whole};

const MODELS: [&str; 4] = ["p2d5_1000", "p3d7_80", "el3d_30", "p3d7_40"];
/// Turns that count.
const TURNS: usize = 7;
/// Right-hand sides of a call, where not all are.
const A_CALL: usize = 16;

struct Arguments {
    whole: Whole,
    columns: usize,
}

fn main() -> ExitCode {
    let usage = "[--columns N] [--cache DIR] [--nvrtc FILE] [--json FILE] [MODEL…]";
    whole::run("many", usage, arguments(), run)
}

fn arguments() -> Option<Arguments> {
    let mut columns = 64;
    let whole = Whole::from_args(&MODELS, |option, args| {
        columns = match option {
            "--columns" => args.next()?.parse().ok()?,
            _ => return None,
        };
        Some(())
    })?;
    Some(Arguments { whole, columns })
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    println!(
        "| model | columns | solve, {A_CALL} a call | one call | solve and refine, {A_CALL} a call | one call |"
    );
    println!("|---|--:|--:|--:|--:|--:|");
    let mut rows = Vec::new();
    for name in &arguments.whole.models {
        let times = time(name, arguments)?;
        let shown = times.each_ref().map(|t| {
            let (least, most) = (t[0], t[TURNS - 1]);
            format!("{:.1} ({least:.1}–{most:.1})", t[TURNS / 2])
        });
        let columns = arguments.columns;
        println!("| `{name}` | {columns} | {} |", shown.join(" | "));
        rows.push(row(name, columns, &times));
    }
    if let Some(path) = &arguments.whole.json {
        std::fs::write(path, format!("{:#}\n", json!({ "rows": rows })))?;
    }
    Ok(())
}

fn row(
    name: &str,
    columns: usize,
    [some, all, some_refined, all_refined]: &[Vec<f64>; 4],
) -> Value {
    json!({
        "model": name,
        "columns": columns,
        "solve_16_a_call_ms": some,
        "solve_one_call_ms": all,
        "refined_16_a_call_ms": some_refined,
        "refined_one_call_ms": all_refined,
    })
}

/// Milliseconds, sorted: of solves with some columns a call and with all, and the same refined.
fn time(name: &str, arguments: &Arguments) -> Result<[Vec<f64>; 4], Error> {
    let a: SymmetricCsc<f64> = name.parse::<Model>()?.generate()?;
    let mut factor = Analysis::new(a.pattern(), &arguments.whole.options)?.factorize(&a)?;
    let n = a.n();
    let number = |i: usize| (i * 37 % 101) as f64 - 50.5;
    let b: Vec<f64> = (0..n * arguments.columns).map(number).collect();
    let mut times = [const { Vec::new() }; 4];
    for _ in 0..=TURNS {
        let ways = [
            (false, A_CALL * n),
            (false, b.len()),
            (true, A_CALL * n),
            (true, b.len()),
        ];
        for ((refine, a_call), times) in ways.into_iter().zip(&mut times) {
            let mut x = b.clone();
            let start = Instant::now();
            for x in x.chunks_mut(a_call.max(1)) {
                solve(&mut factor, &a, x, refine)?;
            }
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
    }
    Ok(times.map(|mut times| {
        times.remove(0);
        times.sort_by(f64::total_cmp);
        times
    }))
}

fn solve(
    factor: &mut Factor,
    a: &SymmetricCsc<f64>,
    x: &mut [f64],
    refine: bool,
) -> Result<(), Error> {
    match refine {
        true => factor.solve_refined(a, x).map(|_| ()),
        false => factor.solve(x),
    }
}
