//! From a [`Program`] to machine code for one architecture.
//!
//! The result is a cubin: code for exactly the card present, so that nothing is left to the driver's
//! own compiler. On cards of compute capability 9.0 and newer the architecture-specific target
//! (`sm_90a`) is used, which has the instructions that the portable one lacks (`wgmma`, `setmaxnreg`).

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::OnceLock;

use crate::cache::{Cache, Key};
use crate::cubin::{KernelReport, kernels_of};
use crate::embedded;
use crate::nvrtc::Nvrtc;
use crate::{GpuError, Program};

/// A target of the compiler: `sm_80` and `sm_90a` give machine code, `compute_80` gives PTX.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Arch {
    /// Ten times the compute capability's major part plus its minor part: 90 for 9.0.
    pub number: u32,
    /// What is made for it.
    pub kind: ArchKind,
}

/// What is made for an [`Arch`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ArchKind {
    /// Machine code that also runs on later cards of the same major version: `sm_80`.
    Portable,
    /// Machine code for this card alone, with the instructions that only it has: `sm_90a`.
    Specific,
    /// PTX, which the driver of any later card compiles: `compute_80`.
    Ptx,
}

impl Arch {
    /// The target for a card of this compute capability.
    #[must_use]
    pub fn of_card(major: u32, minor: u32) -> Self {
        let kind = if major >= 9 {
            ArchKind::Specific
        } else {
            ArchKind::Portable
        };
        Self {
            number: 10 * major + minor,
            kind,
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (head, tail) = match self.kind {
            ArchKind::Portable => ("sm_", ""),
            ArchKind::Specific => ("sm_", "a"),
            ArchKind::Ptx => ("compute_", ""),
        };
        f.pad(&format!("{head}{}{tail}", self.number))
    }
}

impl FromStr for Arch {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (digits, kind) = if let Some(digits) = text.strip_prefix("compute_") {
            (digits, ArchKind::Ptx)
        } else {
            let digits = text.strip_prefix("sm_").unwrap_or_default();
            match digits.strip_suffix('a') {
                Some(digits) => (digits, ArchKind::Specific),
                None => (digits, ArchKind::Portable),
            }
        };
        match digits.parse() {
            Ok(number) => Ok(Self { number, kind }),
            Err(_) => Err(format!(
                "{text:?} is not an architecture such as sm_80, sm_90a or compute_80"
            )),
        }
    }
}

/// What any card runs after its driver has compiled it.
const PTX: Arch = Arch {
    number: embedded::PTX_NUMBER,
    kind: ArchKind::Ptx,
};

/// A program, compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binary {
    /// The cubin, or PTX that ends in a zero byte.
    pub code: Vec<u8>,
    /// Its kernels, sorted by name; empty for PTX.
    pub kernels: Vec<KernelReport>,
    /// Warnings of the compiler, if any; not kept in the cache.
    pub warnings: String,
}

/// Compiles programs, or finds them compiled: in a folder, or within this binary.
///
/// NVRTC is loaded when it is first needed. With the feature `embedded` the crate carries compiled
/// programs for machines that have a driver and no NVRTC.
pub struct Compiler {
    path: Option<PathBuf>,
    cache: Option<Cache>,
    nvrtc: OnceLock<Nvrtc>,
}

impl Compiler {
    /// A compiler that takes NVRTC from this file, or from where it usually is, and keeps what it makes
    /// in the folder `cache`, or nowhere.
    #[must_use]
    pub fn new(nvrtc: Option<&Path>, cache: Option<&Path>) -> Self {
        Self {
            path: nvrtc.map(Path::to_path_buf),
            cache: cache.map(Cache::new),
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

    /// The folder that programs are cached in, if they are.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.cache.as_ref().map(Cache::folder)
    }

    /// The program for `arch`: from the cache, or compiled and then cached. Without NVRTC, from a cache
    /// that another version filled, or embedded: machine code that runs on `arch`, or else PTX. Likewise where NVRTC does not know
    /// `arch`, and then PTX that it makes.
    ///
    /// # Errors
    /// [`GpuError::NoNvrtc`]; [`GpuError::Compile`] with the compiler's log; [`GpuError::Include`].
    pub fn get(&self, program: &Program, arch: Arch) -> Result<Binary, GpuError> {
        let source = program.flatten()?;
        let key = key(program, arch, &source);
        let version = match self.version() {
            Ok(version) => version,
            Err(missing) => return self.without_nvrtc(program, arch, &key, &source, missing),
        };
        let cached = |key: &Key| {
            self.cache
                .as_ref()
                .and_then(|cache| cache.get(key, version))
        };
        if let Some(binary) = cached(&key) {
            return Ok(binary);
        }
        let error = match self.compile(program, arch) {
            Err(error @ GpuError::Nvrtc { .. }) => error,
            done => return done,
        };
        // A compiler may be older than the card, for which the driver then compiles.
        self.without_nvrtc(program, arch, &key, &source, error)
            .or_else(|error| {
                let made = cached(&self::key(program, PTX, &source)).map(Ok);
                let made = made.unwrap_or_else(|| self.compile(program, PTX));
                made.map_err(|_| error)
            })
    }

    /// Compiles the program for `arch`, and replaces what the cache has.
    ///
    /// # Errors
    /// [`GpuError::NoNvrtc`]; [`GpuError::Compile`] with the compiler's log; [`GpuError::Include`].
    pub fn compile(&self, program: &Program, arch: Arch) -> Result<Binary, GpuError> {
        let source = program.flatten()?;
        let nvrtc = self.nvrtc()?;
        let binary = compile_text(nvrtc, program.path(), &source, arch)?;
        if let Some(cache) = &self.cache {
            cache.put(&key(program, arch, &source), nvrtc.version(), &binary);
        }
        Ok(binary)
    }

    fn without_nvrtc(
        &self,
        program: &Program,
        arch: Arch,
        exact: &Key,
        source: &str,
        missing: GpuError,
    ) -> Result<Binary, GpuError> {
        if let Some(binary) = self.cache.as_ref().and_then(|cache| cache.get_any(exact)) {
            return Ok(binary);
        }
        // Machine code runs on later cards of the same major version.
        let portable = (arch.number / 10 * 10..=arch.number)
            .rev()
            .map(|number| Arch {
                number,
                kind: ArchKind::Portable,
            });
        [arch]
            .into_iter()
            .chain(portable)
            .chain([PTX])
            .find_map(|arch| embedded::get(&key(program, arch, source)))
            .ok_or(missing)
    }
}

fn key(program: &Program, arch: Arch, source: &str) -> Key {
    Key::new(program.path(), &arch.to_string(), source, &options(arch))
}

/// Compiles a flat text, called `path` in messages.
fn compile_text(nvrtc: &Nvrtc, path: &str, source: &str, arch: Arch) -> Result<Binary, GpuError> {
    let name = format!("kernels/{path}");
    let ptx = arch.kind == ArchKind::Ptx;
    let compiled = nvrtc.compile(&name, source, &options(arch), ptx)?;
    let Some(code) = compiled.code else {
        return Err(GpuError::Compile {
            program: name,
            arch: arch.to_string(),
            log: compiled.log,
        });
    };
    let kernels = if ptx { Vec::new() } else { kernels_of(&code) };
    Ok(Binary {
        code,
        kernels,
        warnings: compiled.log,
    })
}

/// The options given to NVRTC; part of the cache's key.
pub(crate) fn options(arch: Arch) -> Vec<String> {
    vec![
        format!("--gpu-architecture={arch}"),
        "--std=c++17".to_string(),
        "--device-as-default-execution-space".to_string(),
        "--generate-line-info".to_string(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    const ARCH: Arch = Arch {
        number: 80,
        kind: ArchKind::Portable,
    };

    #[test]
    fn errors_name_our_files_and_lines() {
        let Some(compiler) = testing::compiler() else {
            return;
        };
        let text = "#line 7 \"kernels/group/wrong.cuh\"\n__global__ void k() { undeclared = 1; }\n";
        let error = compile_text(compiler.nvrtc().unwrap(), "group/k.cu", text, ARCH).unwrap_err();
        let message = error.to_string();
        assert!(message.contains("kernels/group/wrong.cuh(7)"), "{message}");
        assert!(
            message.contains("kernels/group/k.cu does not compile for sm_80"),
            "{message}"
        );
        let odd = Arch { number: 11, ..ARCH };
        let error = compile_text(compiler.nvrtc().unwrap(), "k.cu", "", odd).unwrap_err();
        assert!(error.to_string().contains("sm_11"), "{error}");
    }

    #[test]
    fn a_card_that_the_compiler_does_not_know_gets_ptx() {
        if testing::compiler().is_none() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let program = Program::at("selftest.cu");
        for folder in [None, Some(folder.path()), Some(folder.path())] {
            let compiler = Compiler::new(None, folder);
            let binary = compiler.get(&program, "sm_999a".parse().unwrap()).unwrap();
            assert!(binary.code.starts_with(b"//"));
        }
    }

    #[test]
    fn what_kernels_take_is_read_from_the_machine_code() {
        let Some(compiler) = testing::compiler() else {
            return;
        };
        let text = "extern \"C\" __global__ void spread(double *a, int n, int j) {
            __shared__ double s[100];
            double t[32];
            for (int i = 0; i < 32; i++) t[i] = a[i * n];
            s[threadIdx.x] = t[j];
            __syncthreads();
            a[threadIdx.x] = s[99 - threadIdx.x];
        }
        extern \"C\" __global__ void empty() {}";
        for arch in ["sm_80", "sm_90a", "sm_100a"] {
            let arch = arch.parse().unwrap();
            let binary = compile_text(compiler.nvrtc().unwrap(), "k.cu", text, arch).unwrap();
            let [empty, kernel] = binary.kernels.as_slice() else {
                panic!("{:?}", binary.kernels)
            };
            assert_eq!(kernel.name, "spread");
            assert_eq!((kernel.shared_bytes, kernel.local_bytes), (800, 256));
            assert!((8..=255).contains(&kernel.registers));
            assert_eq!(
                (empty.name.as_str(), empty.shared_bytes, empty.local_bytes),
                ("empty", 0, 0)
            );
            assert!(kernels_of(&binary.code[..binary.code.len() / 2]).is_empty());
        }
    }

    #[test]
    fn a_program_is_compiled_once_for_each_folder() {
        let Some(found) = testing::compiler() else {
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        let program = Program::at("selftest.cu");
        let compiler = Compiler::new(None, Some(folder.path()));
        let made = compiler.get(&program, ARCH).unwrap();
        assert_eq!(made.code, found.compile(&program, ARCH).unwrap().code);
        let key = key(&program, ARCH, &program.flatten().unwrap());
        let path = folder.path().join(key.file(compiler.version().unwrap()));
        // The file is read and not made anew: another one in its place comes back.
        let other = Binary {
            code: b"other".to_vec(),
            ..made.clone()
        };
        std::fs::write(&path, crate::cache::encode(&other)).unwrap();
        assert_eq!(compiler.get(&program, ARCH).unwrap().code, b"other");
        std::fs::write(&path, b"damaged").unwrap();
        assert_eq!(compiler.get(&program, ARCH).unwrap().code, made.code);
        assert_eq!(compiler.get(&program, ARCH).unwrap().kernels, made.kernels);
        // A machine without NVRTC takes it from the same folder.
        let absent = Path::new("/nonexistent/libnvrtc.so");
        let without = Compiler::new(Some(absent), Some(folder.path()));
        assert_eq!(without.get(&program, ARCH).unwrap().code, made.code);
    }

    #[test]
    fn without_nvrtc_what_is_embedded_serves() {
        let absent = Path::new("/nonexistent/libnvrtc.so");
        let compiler = Compiler::new(Some(absent), None);
        let program = Program::at("selftest.cu");
        for (arch, head) in [
            ("sm_80", "\x7fELF"),
            ("sm_86", "\x7fELF"),
            ("sm_90a", "\x7fELF"),
            ("sm_110a", "//"),
        ] {
            let code = match compiler.get(&program, arch.parse().unwrap()) {
                Ok(binary) => binary.code,
                Err(GpuError::NoNvrtc { .. }) => Vec::new(),
                Err(other) => panic!("{arch}: {other}"),
            };
            let served = code.starts_with(head.as_bytes());
            assert_eq!(served, cfg!(feature = "embedded"), "{arch}");
        }
    }
}
