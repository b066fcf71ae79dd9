//! Checks matrices from files and prints a table; the exit code is 1 where a promise is broken.

use std::path::Path;
use std::process::ExitCode;

use tamarack_tests::check;

fn main() -> ExitCode {
    let mut broken = 0;
    println!(
        "| matrix | n | nnz(L) | Gflop | 1 thread s | 2 threads s | normwise / √n | componentwise | mixed normwise / √n | mixed componentwise | mixed by | same bits |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|---|");
    for path in std::env::args().skip(1) {
        let name = Path::new(&path)
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        match check(Path::new(&path)) {
            Ok(row) => {
                let root = (row.n as f64).sqrt().max(1.0);
                println!(
                    "| {name} | {} | {} | {:.3} | {:.3} | {:.3} | {:.1e} | {:.1e} | {:.1e} | {:.1e} | {:?} | {}{} |",
                    row.n,
                    row.nnz_l,
                    row.flops / 1e9,
                    row.secs[0],
                    row.secs[1],
                    row.errors[0] / root,
                    row.errors[1],
                    row.mixed[0] / root,
                    row.mixed[1],
                    row.outcome,
                    if row.same_bits { "yes" } else { "NO" },
                    if row.holds() { "" } else { " BROKEN" },
                );
                broken += usize::from(!row.holds());
            }
            Err(error) => {
                println!("| {name} | {error} |");
                broken += 1;
            }
        }
    }
    println!("\n{broken} broken");
    ExitCode::from(u8::from(broken > 0))
}
