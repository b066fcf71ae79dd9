//! What the command line accepts, as types.

mod values;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use tamarack::Device;
use tamarack_gpu::Arch;

pub use values::RefineArg;
use values::{bytes, threads, tolerance};

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
            Self::Info(args) => args.threads.threads,
            Self::Analyze(args) => args.threads.threads,
            Self::Convert(args) => args.threads.threads,
            Self::Spy(args) => args.threads.threads,
            Self::Tree(args) => args.threads.threads,
            Self::Generate(_) | Self::Gpu(_) => None,
        };
        asked.unwrap_or_else(tamarack::available_threads)
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
    /// auto, best or best:SECONDS (tries several), md, mmd, amd, amf, rcm, nd, natural, a file with a permutation (its k-th
    /// number is the unknown eliminated k-th; all from 0 or all from 1), coordinates:FILE (a row of coordinates for each
    /// unknown), or tree:FILE (the node of each unknown in a binary tree of separators: 1 is the root, below t are 2t and
    /// 2t + 1). Files: Matrix Market arrays, .npy, or plain numbers
    #[arg(long, value_name = "NAME|FILE", default_value = "auto")]
    pub ordering: OsString,
}

/// Where analyses are kept, for the commands that plan a factorization.
#[derive(Debug, Args)]
pub struct CacheArgs {
    /// Keep the analysis in this folder, and take it from there the next time
    #[arg(long, value_name = "DIR")]
    pub analysis_cache: Option<PathBuf>,
}

/// Who reads and analyzes, for the commands that do nothing else.
#[derive(Debug, Args)]
pub struct ThreadsArgs {
    /// Threads, 1 to 4096 [default: all cores]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,
}

/// What the machine gives.
#[derive(Debug, Args)]
pub struct MachineArgs {
    /// Threads, 1 to 4096 [default: all cores]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,
    /// Memory that may be used, on a GPU of the device's, for example 12GiB (or 12G), 12.9GB [default: what is available]
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
    /// Right-hand sides, a column each: Matrix Market (array or coordinate), .npy, or plain numbers, a row of the matrix a line
    /// [default: those of the all-ones solution, whose error is then printed]
    #[arg(short, value_name = "FILE")]
    pub b: Option<PathBuf>,
    /// Where to write the solution (Matrix Market array), also where it is not accurate enough (exit code 5)
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
    #[arg(long, value_name = "auto|N|off|quad", default_value = "auto")]
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

#[derive(Debug, Args)]
pub struct InfoArgs {
    /// The matrix: a file or model:NAME
    pub a: PathBuf,
    #[command(flatten)]
    pub threads: ThreadsArgs,
}

#[derive(Debug, Args)]
pub struct AnalyzeArgs {
    /// The matrix: a file or model:NAME
    pub a: PathBuf,
    #[command(flatten)]
    pub ordering: OrderingArgs,
    /// Compare these orderings (amd,nd), or all of them where none is named
    #[arg(long, value_name = "NAMES", num_args = 0..=1, require_equals = true, value_delimiter = ',',
          default_missing_value = "all", conflicts_with_all = ["write_permutation", "ordering"])]
    pub compare: Vec<OsString>,
    /// Write the permutation to a file
    #[arg(long, value_name = "FILE")]
    pub write_permutation: Option<PathBuf>,
    #[command(flatten)]
    pub threads: ThreadsArgs,
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
    /// Name of the model and its size, for example el3d_20: points, elements or unknowns along each side, or one number
    /// for each (p3d7_30x20x10); of graphs the number of unknowns
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
    #[arg(long, conflicts_with_all = ["model", "output"])]
    pub list: bool,
}

#[derive(Debug, Args)]
pub struct ConvertArgs {
    /// The matrix: a file or model:NAME
    pub input: PathBuf,
    /// File to write: .mtx or .rb, or either with .gz
    pub output: PathBuf,
    #[command(flatten)]
    pub threads: ThreadsArgs,
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
    #[command(flatten)]
    pub threads: ThreadsArgs,
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
    #[command(flatten)]
    pub threads: ThreadsArgs,
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
    #[command(flatten)]
    pub ordering: OrderingArgs,
    #[command(flatten)]
    pub machine: MachineArgs,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn definitions_are_consistent() {
        Cli::command().debug_assert();
    }
}
