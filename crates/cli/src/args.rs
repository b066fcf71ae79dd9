//! What the command line accepts, as types.

use std::num::NonZero;
use std::path::PathBuf;
use std::str::FromStr;
use std::thread;

use clap::{Args, Parser, Subcommand, ValueEnum};
use tamarack::Device;
use tamarack_gpu::Arch;

const EXIT_CODES: &str = "\
Matrices: Matrix Market (.mtx), Rutherford-Boeing (.rb), SciPy (.npz), the first two also .gz; or \
`model:NAME`, a model problem (`tamarack generate --list`).
Exit codes: 0 done, solved to tolerance; 1 usage; 2 bad input; 3 not positive definite; \
4 resources (memory, files, threads, GPUs); 5 tolerance not met; 130 interrupted.";

/// Solves large sparse symmetric positive definite systems and says how accurate the answer is.
#[derive(Debug, Parser)]
#[command(name = "tamarack", version, after_help = EXIT_CODES, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    /// Print one JSON object instead of text, errors included
    #[arg(long, global = true)]
    pub json: bool,
    /// No progress bars and no warnings on stderr
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Say on stderr what is being done, with times
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    pub verbose: bool,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Solve A x = b and report the backward error
    Solve(SolveArgs),
    /// Describe a matrix without factorizing it
    Info(InfoArgs),
    /// Order and analyze: entries of L, operations, supernodes
    Analyze(AnalyzeArgs),
    /// Print what a factorization would cost: operations, bytes, seconds
    Plan(PlanArgs),
    /// Write a model problem to a file
    Generate(GenerateArgs),
    /// Convert between matrix formats, chosen by the file names
    Convert(ConvertArgs),
    /// Draw the pattern of A, of the permuted A, or of L
    Spy(SpyArgs),
    /// Draw the assembly tree, fronts sized by their operations
    Tree(TreeArgs),
    /// Time every phase, several times
    Bench(BenchArgs),
    /// GPUs and their kernels
    #[command(subcommand)]
    Gpu(GpuCommand),
}

impl Command {
    /// Threads that it may start.
    pub fn threads(&self) -> usize {
        let asked = match self {
            Self::Solve(args) => args.machine.threads,
            Self::Plan(args) => args.machine.threads,
            Self::Bench(args) => args.machine.threads,
            _ => None,
        };
        asked.unwrap_or_else(|| thread::available_parallelism().map_or(1, NonZero::get))
    }
}

#[derive(Debug, Subcommand)]
pub enum GpuCommand {
    /// List the GPUs, or say why there are none
    Info(GpuArgs),
    /// Compile all kernels and keep them, and say what each takes of a multiprocessor
    Warm(WarmArgs),
}

/// Where compiled kernels are kept and what compiles them.
#[derive(Debug, Args)]
pub struct GpuArgs {
    /// Folder for compiled kernels [default: under the user's cache folder]
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// File of the library NVRTC [default: $TAMARACK_NVRTC, or the usual places]
    #[arg(long, value_name = "FILE")]
    pub nvrtc: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct WarmArgs {
    /// Device, counted from 0
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "arch")]
    pub device: u32,
    /// Compile for these architectures instead, without a GPU, for example sm_80,sm_90a
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub arch: Vec<Arch>,
    #[command(flatten)]
    pub gpu: GpuArgs,
}

/// How to order, for every command that analyzes.
#[derive(Debug, Args)]
pub struct OrderingArgs {
    /// auto, best or best:SECONDS (tries several), md, mmd, amd, rcm, nd, natural, a file with a permutation,
    /// coordinates:FILE (a row of coordinates for each unknown), or tree:FILE (the node of each unknown in a binary tree
    /// of separators: 1 is the root, below t are 2t and 2t + 1)
    #[arg(long, value_name = "NAME|FILE", default_value = "auto")]
    pub ordering: String,
}

/// Where analyses are kept, for the commands that plan a factorization.
#[derive(Debug, Args)]
pub struct CacheArgs {
    /// Keep the analysis in this folder, and take it from there the next time
    #[arg(long, value_name = "DIR")]
    pub analysis_cache: Option<PathBuf>,
}

/// What the machine gives.
#[derive(Debug, Args)]
pub struct MachineArgs {
    /// Threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,
    /// Memory that may be used, for example 12GiB [default: what is available]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub memory: Option<u64>,
    /// Precision of the factor; `mixed` keeps it in f32 and refines to the accuracy of f64
    #[arg(long, value_enum, default_value_t = PrecisionArg::F64)]
    pub precision: PrecisionArg,
    /// Where to work: cpu, gpu, gpu:N, or auto for whichever is predicted to be faster
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub device: Device,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PrecisionArg {
    F64,
    F32,
    Mixed,
}

#[derive(Debug, Args)]
pub struct SolveArgs {
    /// The matrix: a file or model:NAME
    pub a: PathBuf,
    /// Right-hand sides [default: those of the all-ones solution, whose error is then printed]
    #[arg(short, value_name = "FILE")]
    pub b: Option<PathBuf>,
    /// Where to write the solution (Matrix Market array)
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub ordering: OrderingArgs,
    #[command(flatten)]
    pub cache: CacheArgs,
    #[command(flatten)]
    pub machine: MachineArgs,
    /// Refinement steps at most, `off`, or `quad`: residuals in twice the working precision. `--precision mixed` takes up to
    /// twice as many steps, and then conjugate gradients or a factor in f64 where these do not suffice
    #[arg(long, value_name = "N|off|quad", default_value = "auto")]
    pub refine: RefineArg,
    /// Where A is not positive definite, factorize A + sigma I and report sigma
    #[arg(long)]
    pub shift: bool,
    /// Normwise backward error that counts as solved [default: 1e-15 sqrt(n); f32: 1e-6 sqrt(n)]
    #[arg(long, value_name = "ERROR", value_parser = tolerance)]
    pub tolerance: Option<f64>,
    /// Estimate the condition number and bound the forward error
    #[arg(long)]
    pub condition: bool,
    /// Print where the time went, beside what this machine could do; write what every thread did to
    /// FILE, in Chrome's trace format (open it with Perfetto)
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub profile: Option<Option<PathBuf>>,
}

/// `--refine`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefineArg {
    Auto,
    Off,
    Steps(u32),
    Quad,
}

#[derive(Debug, Args)]
pub struct InfoArgs {
    /// The matrix: a file or model:NAME
    pub a: PathBuf,
}

#[derive(Debug, Args)]
pub struct AnalyzeArgs {
    /// The matrix: a file or model:NAME
    pub a: PathBuf,
    #[command(flatten)]
    pub ordering: OrderingArgs,
    /// Compare these orderings, or all of them where none is named
    #[arg(long, value_name = "NAMES", num_args = 0..=1, value_delimiter = ',',
          default_missing_value = "all", conflicts_with_all = ["write_permutation", "ordering"])]
    pub compare: Vec<String>,
    /// Write the permutation to a file
    #[arg(long, value_name = "FILE")]
    pub write_permutation: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct PlanArgs {
    /// The matrix: a file or model:NAME
    pub a: PathBuf,
    #[command(flatten)]
    pub ordering: OrderingArgs,
    #[command(flatten)]
    pub cache: CacheArgs,
    #[command(flatten)]
    pub machine: MachineArgs,
}

#[derive(Debug, Args)]
pub struct GenerateArgs {
    /// Name of the model, for example el3d_20
    #[arg(required_unless_present = "list")]
    pub model: Option<String>,
    /// File to write
    #[arg(
        short = 'o',
        long = "output",
        value_name = "FILE",
        required_unless_present = "list"
    )]
    pub output: Option<PathBuf>,
    /// List the models there are
    #[arg(long)]
    pub list: bool,
}

#[derive(Debug, Args)]
pub struct ConvertArgs {
    /// The matrix: a file or model:NAME
    pub input: PathBuf,
    /// File to write: .mtx or .rb, or either with .gz
    pub output: PathBuf,
}

// Neither permuted nor factorized, A is drawn in the order in which it was given, and nothing is ordered.
#[derive(Debug, Args)]
#[command(mut_arg("ordering", |ordering| ordering.requires("reordered")))]
pub struct SpyArgs {
    /// The matrix: a file or model:NAME
    pub a: PathBuf,
    /// Draw the matrix in elimination order
    #[arg(long, group = "reordered")]
    pub permuted: bool,
    /// Draw the factor L
    #[arg(long, group = "reordered")]
    pub factor: bool,
    #[command(flatten)]
    pub ordering: OrderingArgs,
    /// Picture to write: .png or .svg
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub output: PathBuf,
    /// Width and height of the picture in cells [default: 1000 for PNG, 200 for SVG]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=8192))]
    pub pixels: Option<u32>,
}

#[derive(Debug, Args)]
pub struct TreeArgs {
    /// The matrix: a file or model:NAME
    pub a: PathBuf,
    #[command(flatten)]
    pub ordering: OrderingArgs,
    /// Picture to write: .svg
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub output: PathBuf,
    /// Fronts drawn at most; smaller subtrees are collapsed
    #[arg(long, value_name = "N", default_value_t = 300,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub fronts: u32,
}

#[derive(Debug, Args)]
pub struct BenchArgs {
    /// The matrix: a file or model:NAME
    pub a: PathBuf,
    /// Runs of every phase
    #[arg(long, value_name = "N", default_value_t = 5,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub repeat: u32,
    /// Right-hand sides of the solve with many
    #[arg(long, value_name = "K", default_value_t = 16,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub rhs: u32,
    /// Take the ordering from a file
    #[arg(long, value_name = "FILE", conflicts_with = "ordering")]
    pub permutation: Option<PathBuf>,
    #[command(flatten)]
    pub ordering: OrderingArgs,
    #[command(flatten)]
    pub machine: MachineArgs,
}

impl FromStr for RefineArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "off" | "0" => Ok(Self::Off),
            "quad" => Ok(Self::Quad),
            other => match other.parse() {
                Ok(steps) if steps <= 1000 => Ok(Self::Steps(steps)),
                _ => Err("expected a number of steps up to 1000, `off`, `quad` or `auto`".into()),
            },
        }
    }
}

fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if (1..=4096).contains(&n) => Ok(n),
        _ => Err("expected a number of threads from 1 to 4096".into()),
    }
}

fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x > 0.0 && x < 1.0 => Ok(x),
        _ => Err("expected a number between 0 and 1".into()),
    }
}

/// A number of bytes with an optional unit: `1500000`, `12G`, `12GB`, `12GiB`.
///
/// The bare letters and the `iB` forms are powers of 1024, the `B` forms powers of 1000.
fn bytes(text: &str) -> Result<u64, String> {
    let wrong = || "expected bytes, for example 1500000, 800MB or 12GiB".to_string();
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let unit = unit.trim().to_ascii_lowercase();
    let (prefix, base) = match unit.as_str() {
        "" | "b" => ("", 1024.0),
        u if u.ends_with("ib") => (&u[..u.len() - 2], 1024.0),
        u if u.ends_with('b') => (&u[..u.len() - 1], 1000.0),
        u => (u, 1024.0f64),
    };
    let power = ["", "k", "m", "g", "t", "p"]
        .iter()
        .position(|&p| p == prefix)
        .ok_or_else(wrong)?;
    let value = number * base.powi(power as i32);
    // Beyond 2^63 bytes nothing is a budget any more.
    if value >= 1.0 && value < i64::MAX as f64 {
        Ok(value as u64)
    } else {
        Err(wrong())
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn definitions_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn byte_units() {
        let of = |t| bytes(t).ok();
        assert_eq!(of("1500"), Some(1500));
        assert_eq!(of("2k"), Some(2048));
        assert_eq!(of("2kB"), Some(2000));
        assert_eq!(of("1.5GiB"), Some(3 << 29));
        for wrong in ["", "-1", "0", "12X", "GiB", "1e400", "nan", "99999999999P"] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn refinement_words() {
        assert_eq!("off".parse(), Ok(RefineArg::Off));
        assert_eq!("3".parse(), Ok(RefineArg::Steps(3)));
        assert!("-1".parse::<RefineArg>().is_err());
    }
}
