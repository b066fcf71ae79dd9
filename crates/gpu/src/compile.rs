//! From a [`Program`] to machine code for one architecture.
//!
//! The result is a cubin: code for exactly the card present, so that nothing is left to the driver's
//! own compiler. On cards of compute capability 9.0 and newer the architecture-specific target
//! (`sm_90a`) is used, which has the instructions that the portable one lacks (`wgmma`, `setmaxnreg`).

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::OnceLock;

use crate::nvrtc::Nvrtc;
use crate::{GpuError, Program};

/// A target of the compiler, such as `sm_90a`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Arch {
    /// Ten times the compute capability's major part plus its minor part: 90 for 9.0.
    pub number: u32,
    /// Whether this is the architecture-specific target.
    pub specific: bool,
}

impl Arch {
    /// The target for a card of this compute capability.
    #[must_use]
    pub fn of_card(major: u32, minor: u32) -> Self {
        Self {
            number: 10 * major + minor,
            specific: major >= 9,
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "sm_{}{}",
            self.number,
            if self.specific { "a" } else { "" }
        )
    }
}

impl FromStr for Arch {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not an architecture such as sm_80 or sm_90a");
        let digits = text.strip_prefix("sm_").ok_or_else(wrong)?;
        let (digits, specific) = match digits.strip_suffix('a') {
            Some(digits) => (digits, true),
            None => (digits, false),
        };
        let number = digits.parse().map_err(|_| wrong())?;
        Ok(Self { number, specific })
    }
}

/// What one kernel takes of a multiprocessor, as the assembler reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelReport {
    /// The kernel's name.
    pub name: String,
    /// Registers per thread.
    pub registers: u32,
    /// Statically declared shared memory per block.
    pub shared_bytes: u32,
    /// Local memory per thread: the stack frame, spilled registers included. Registers that did not
    /// fit, or an array indexed at run time; slow in a hot kernel.
    pub local_bytes: u32,
    /// Bytes stored per thread because registers ran out.
    pub spill_bytes: u32,
}

/// Machine code of a program.
#[derive(Debug, Clone)]
pub struct Binary {
    /// The cubin.
    pub cubin: Vec<u8>,
    /// Its kernels, sorted by name.
    pub kernels: Vec<KernelReport>,
    /// Warnings of the compiler, if any.
    pub warnings: String,
}

/// Compiles programs. NVRTC is loaded when the first one is compiled.
pub struct Compiler {
    path: Option<PathBuf>,
    nvrtc: OnceLock<Nvrtc>,
}

impl Compiler {
    /// A compiler that takes NVRTC from this file, or from where it usually is.
    #[must_use]
    pub fn new(nvrtc: Option<&Path>) -> Self {
        Self {
            path: nvrtc.map(Path::to_path_buf),
            nvrtc: OnceLock::new(),
        }
    }

    fn nvrtc(&self) -> Result<&Nvrtc, GpuError> {
        if let Some(nvrtc) = self.nvrtc.get() {
            return Ok(nvrtc);
        }
        let loaded = Nvrtc::load(self.path.as_deref())?;
        Ok(self.nvrtc.get_or_init(|| loaded))
    }

    /// NVRTC's version, major and minor.
    ///
    /// # Errors
    /// [`GpuError::NoNvrtc`].
    pub fn version(&self) -> Result<(u32, u32), GpuError> {
        Ok(self.nvrtc()?.version())
    }

    /// Compiles `program` for `arch`.
    ///
    /// # Errors
    /// [`GpuError::NoNvrtc`]; [`GpuError::Compile`] with the compiler's log; [`GpuError::Include`].
    pub fn compile(&self, program: &Program, arch: Arch) -> Result<Binary, GpuError> {
        let source = program.flatten()?;
        let name = format!("kernels/{}", program.path());
        let compiled = self.nvrtc()?.compile(&name, &source, &options(arch))?;
        let Some(cubin) = compiled.cubin else {
            return Err(GpuError::Compile {
                program: name,
                arch: arch.to_string(),
                log: compiled.log,
            });
        };
        let (mut kernels, warnings) = read_log(&compiled.log);
        kernels.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Binary {
            cubin,
            kernels,
            warnings,
        })
    }
}

/// The options given to NVRTC; part of the cache's key.
pub(crate) fn options(arch: Arch) -> Vec<String> {
    vec![
        format!("--gpu-architecture={arch}"),
        "--std=c++17".to_string(),
        "--device-as-default-execution-space".to_string(),
        "--generate-line-info".to_string(),
        "--ptxas-options=-v".to_string(),
    ]
}

/// Splits a log into ptxas's report of each kernel and everything else.
fn read_log(log: &str) -> (Vec<KernelReport>, String) {
    let mut kernels: Vec<KernelReport> = Vec::new();
    let mut warnings = String::new();
    for line in log.lines() {
        if let Some(rest) = line.split_once("Compiling entry function '") {
            kernels.push(KernelReport {
                name: rest.1.split('\'').next().unwrap_or_default().to_string(),
                registers: 0,
                shared_bytes: 0,
                local_bytes: 0,
                spill_bytes: 0,
            });
        } else if line.starts_with("ptxas info") || line.starts_with("ptxas         .") {
            let Some(kernel) = kernels.last_mut() else {
                continue;
            };
            if line.contains("bytes stack frame") {
                kernel.local_bytes = before(line, " bytes stack frame");
                kernel.spill_bytes = before(line, " bytes spill stores");
            } else if line.contains("Used ") {
                kernel.registers = before(line, " registers");
                kernel.shared_bytes = before(line, " bytes smem");
            }
        } else if !line.trim().is_empty() {
            warnings.push_str(line);
            warnings.push('\n');
        }
    }
    (kernels, warnings)
}

/// The number that stands before `label`; 0 where the label is missing.
fn before(line: &str, label: &str) -> u32 {
    line.split_once(label)
        .and_then(|(head, _)| head.rsplit([' ', ',']).next())
        .and_then(|number| number.parse().ok())
        .unwrap_or(0)
}
