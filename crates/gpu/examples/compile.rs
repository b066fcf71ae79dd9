//! Compiles every program for the architectures given, without a GPU, and prints what each kernel takes.
//!
//! `compile [--nvrtc FILE] [--arch sm_80,sm_90a,compute_80] [--out FOLDER] [PATH...]`; a path such as
//! `primitives/scan.cu` chooses programs. What is compiled is kept in FOLDER, which serves as a cache and for
//! the crate's feature `embedded`. Exits with 1 if a program does not compile.

use std::path::PathBuf;
use std::process::ExitCode;

use tamarack_gpu::{Arch, Compiler, Program};

fn main() -> ExitCode {
    match run() {
        Ok(0) => ExitCode::SUCCESS,
        Ok(failed) => {
            eprintln!("{failed} compilations failed");
            ExitCode::FAILURE
        }
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<usize, String> {
    let mut nvrtc = None;
    let mut archs = vec!["sm_80".parse::<Arch>()?, "sm_90a".parse::<Arch>()?];
    let (mut out, mut chosen) = (None, Vec::new());
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--nvrtc" => nvrtc = args.next().map(PathBuf::from),
            "--out" => out = args.next().map(PathBuf::from),
            "--arch" => {
                let list = args.next().unwrap_or_default();
                archs = list.split(',').map(str::parse).collect::<Result<_, _>>()?;
            }
            _ => chosen.push(arg),
        }
    }
    let compiler = Compiler::new(nvrtc.as_deref(), out.as_deref());
    let (major, minor) = compiler.version().map_err(|e| e.to_string())?;
    println!("NVRTC {major}.{minor}");
    let mut failed = 0;
    for program in Program::all() {
        if !chosen.is_empty() && !chosen.iter().any(|c| c == program.path()) {
            continue;
        }
        for &arch in &archs {
            match compiler.compile(&program, arch) {
                Ok(binary) => {
                    print!("{}", binary.warnings);
                    for k in &binary.kernels {
                        let mark = if k.local_bytes > 0 {
                            "  LOCAL MEMORY"
                        } else {
                            ""
                        };
                        println!(
                            "{:7} {:40} {:3} registers {:6} shared {:5} local{mark}",
                            arch, k.name, k.registers, k.shared_bytes, k.local_bytes
                        );
                    }
                }
                Err(error) => {
                    failed += 1;
                    eprintln!("{error}");
                }
            }
        }
    }
    Ok(failed)
}
