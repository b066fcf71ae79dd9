//! What can go wrong between this process and a GPU, in words that say what to do.

/// Why something on the GPU, or on the way to it, failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GpuError {
    /// The driver library could not be loaded.
    #[error("no CUDA driver on this machine ({reason}); the CPU solver does not need one")]
    NoDriver {
        /// What the loader said.
        reason: String,
    },
    /// The driver is there and too old for this program.
    #[error("the CUDA driver is too old ({reason}); install driver 525 (CUDA 12.0) or newer")]
    DriverTooOld {
        /// What is missing.
        reason: String,
    },
    /// The driver sees no device.
    #[error("the CUDA driver sees no device ({reason})")]
    NoDevice {
        /// What the driver said.
        reason: String,
    },
    /// A device index beyond the devices present.
    #[error("there is no CUDA device {index}: this machine has {count}, counted from 0")]
    BadIndex {
        /// What was asked for.
        index: u32,
        /// How many devices there are.
        count: u32,
    },
    /// The device is too old for the kernels.
    #[error("{name} has compute capability {major}.{minor}; the kernels need 8.0 or newer")]
    DeviceTooOld {
        /// The device's name.
        name: String,
        /// Compute capability, major.
        major: u32,
        /// Compute capability, minor.
        minor: u32,
    },
    /// Device memory ran out.
    #[error(
        "device memory ran out: {requested_bytes} bytes were asked for and {free_bytes} are free"
    )]
    OutOfMemory {
        /// Bytes asked for.
        requested_bytes: u64,
        /// Bytes free at that time, on the whole device.
        free_bytes: u64,
    },
    /// Host memory ran out.
    #[error("host memory ran out: {requested_bytes} bytes were asked for")]
    HostMemory {
        /// Bytes asked for.
        requested_bytes: u64,
    },
    /// A driver call failed.
    #[error("{call} failed on the GPU: {name} ({text}){}", context_of(.about))]
    Driver {
        /// The driver's function.
        call: &'static str,
        /// The driver's name for the error, such as `CUDA_ERROR_ILLEGAL_ADDRESS`.
        name: String,
        /// The driver's explanation.
        text: String,
        /// What was being done, such as a kernel's name; may be empty.
        about: String,
    },
    /// NVRTC could not be loaded.
    #[error(
        "NVRTC, CUDA's run-time compiler, is not on this machine ({reason}); install it, for example from the Python wheel nvidia-cuda-nvrtc, and put its folder on the loader's path or name its file"
    )]
    NoNvrtc {
        /// What the loader said.
        reason: String,
    },
    /// NVRTC refused a program.
    #[error("{program} does not compile for {arch}:\n{log}")]
    Compile {
        /// The program's path under `kernels/`.
        program: String,
        /// The architecture, such as `sm_90a`.
        arch: String,
        /// NVRTC's log, with our files and lines.
        log: String,
    },
    /// An NVRTC call other than compiling failed.
    #[error("{call} failed: {text}")]
    Nvrtc {
        /// NVRTC's function.
        call: &'static str,
        /// NVRTC's explanation.
        text: String,
    },
    /// A source under `kernels/` includes a file that is not embedded.
    #[error("{file}, line {line}: cannot include {include:?}: no such file under kernels/")]
    Include {
        /// The including file.
        file: String,
        /// Its line, from 1.
        line: usize,
        /// What it asks for.
        include: String,
    },
    /// A program has no kernel of that name.
    #[error("{program} has no kernel {kernel:?}")]
    NoKernel {
        /// The program's path under `kernels/`.
        program: String,
        /// The kernel asked for.
        kernel: String,
    },
    /// A range or a pair of lengths does not fit.
    #[error("{what}: {got} does not fit {have}")]
    Shape {
        /// The operation and operand.
        what: &'static str,
        /// The length or end asked for, in elements.
        got: u64,
        /// The length available, in elements.
        have: u64,
    },
    /// Memory is not where it must be.
    #[error("{what} is not in the memory of GPU {index}: {found}; copy it there first")]
    Elsewhere {
        /// What it holds.
        what: &'static str,
        /// The device that it must be on.
        index: u32,
        /// Where it is, as far as the driver knows.
        found: String,
    },
}

impl GpuError {
    /// Whether the device's memory ran out, whatever asked for it: programs, streams and recorded graphs take some as well.
    #[must_use]
    pub fn is_out_of_memory(&self) -> bool {
        match self {
            Self::OutOfMemory { .. } => true,
            Self::Driver { name, .. } => name == "CUDA_ERROR_OUT_OF_MEMORY",
            _ => false,
        }
    }
}

fn context_of(about: &str) -> String {
    if about.is_empty() {
        String::new()
    } else {
        format!(" in {about}")
    }
}
