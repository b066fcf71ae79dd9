//! NVRTC, CUDA's run-time compiler, loaded when it is first needed.
//!
//! It needs no GPU, so kernels can be compiled for any architecture anywhere. The functions used
//! here have not changed since CUDA 11.2.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr;

use libloading::Library;

use crate::GpuError;

/// Where NVRTC is looked for when no path is given: newest first.
const NAMES: &[&str] = &[
    "libnvrtc.so",
    "libnvrtc.so.13",
    "libnvrtc.so.12",
    "nvrtc64_130_0.dll",
    "nvrtc64_120_0.dll",
];

/// Where toolkits put it, outside the loader's path.
const PLACES: &[&str] = &[
    "/usr/local/cuda/lib64/libnvrtc.so",
    "/usr/local/cuda/targets/x86_64-linux/lib/libnvrtc.so",
    "/opt/cuda/lib64/libnvrtc.so",
];

type Handle = *mut c_void;
type Code = c_int;

/// NVRTC, ready to compile.
pub(crate) struct Nvrtc {
    version: (u32, u32),
    error_string: unsafe extern "C" fn(Code) -> *const c_char,
    create: unsafe extern "C" fn(
        *mut Handle,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> Code,
    destroy: unsafe extern "C" fn(*mut Handle) -> Code,
    compile: unsafe extern "C" fn(Handle, c_int, *const *const c_char) -> Code,
    log_size: unsafe extern "C" fn(Handle, *mut usize) -> Code,
    log: unsafe extern "C" fn(Handle, *mut c_char) -> Code,
    cubin_size: unsafe extern "C" fn(Handle, *mut usize) -> Code,
    ptx_size: unsafe extern "C" fn(Handle, *mut usize) -> Code,
    ptx: unsafe extern "C" fn(Handle, *mut c_char) -> Code,
    cubin: unsafe extern "C" fn(Handle, *mut c_char) -> Code,
    // Last, so that it outlives the functions above.
    _library: Library,
}

/// What came out of a compilation.
pub(crate) struct Compiled {
    /// The log, empty or with warnings and ptxas's report.
    pub log: String,
    /// Machine code or PTX; `None` when the program was refused.
    pub code: Option<Vec<u8>>,
}

impl Nvrtc {
    /// Loads NVRTC from `path`, or from where it usually is.
    pub fn load(path: Option<&Path>) -> Result<Self, GpuError> {
        let candidates: Vec<PathBuf> = match path {
            Some(path) => vec![path.to_path_buf()],
            None => NAMES.iter().chain(PLACES).map(PathBuf::from).collect(),
        };
        let mut reason = String::new();
        for candidate in &candidates {
            // SAFETY: NVRTC's initializers are the vendor's; it has no requirements.
            match unsafe { Library::new(candidate) } {
                Ok(library) => return Self::bind(library),
                Err(error) if path.is_some() => {
                    reason = format!("{}: {error}", candidate.display());
                }
                Err(_) => reason = "libnvrtc is not found".to_string(),
            }
        }
        Err(GpuError::NoNvrtc { reason })
    }

    fn bind(library: Library) -> Result<Self, GpuError> {
        /// # Safety
        /// `T` is the type of the function `name`.
        unsafe fn get<T: Copy>(library: &Library, name: &str) -> Result<T, GpuError> {
            // SAFETY: the caller's promise.
            let symbol = unsafe { library.get::<T>(name) };
            symbol.map(|s| *s).map_err(|e| GpuError::NoNvrtc {
                reason: e.to_string(),
            })
        }
        // SAFETY: the types are those of nvrtc.h.
        unsafe {
            let version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> Code =
                get(&library, "nvrtcVersion")?;
            let (mut major, mut minor) = (0, 0);
            version(&raw mut major, &raw mut minor);
            Ok(Self {
                version: (major.unsigned_abs(), minor.unsigned_abs()),
                error_string: get(&library, "nvrtcGetErrorString")?,
                create: get(&library, "nvrtcCreateProgram")?,
                destroy: get(&library, "nvrtcDestroyProgram")?,
                compile: get(&library, "nvrtcCompileProgram")?,
                log_size: get(&library, "nvrtcGetProgramLogSize")?,
                log: get(&library, "nvrtcGetProgramLog")?,
                cubin_size: get(&library, "nvrtcGetCUBINSize")?,
                ptx_size: get(&library, "nvrtcGetPTXSize")?,
                ptx: get(&library, "nvrtcGetPTX")?,
                cubin: get(&library, "nvrtcGetCUBIN")?,
                _library: library,
            })
        }
    }

    /// Version, major and minor.
    pub fn version(&self) -> (u32, u32) {
        self.version
    }

    /// Compiles `source`, called `name` in messages, with these options, to machine code or to PTX.
    pub fn compile(
        &self,
        name: &str,
        source: &str,
        options: &[String],
        ptx: bool,
    ) -> Result<Compiled, GpuError> {
        let source = text("nvrtcCreateProgram", source)?;
        let name = text("nvrtcCreateProgram", name)?;
        let options = options
            .iter()
            .map(|o| text("nvrtcCompileProgram", o))
            .collect::<Result<Vec<_>, _>>()?;
        let pointers: Vec<_> = options.iter().map(|o| o.as_ptr()).collect();
        let count = c_int::try_from(pointers.len()).unwrap_or(c_int::MAX);
        let mut program = InProgress {
            nvrtc: self,
            raw: ptr::null_mut(),
        };
        // SAFETY: the strings end in zero and outlive the calls; there are no headers; `program.raw`
        // is what the first call made.
        let compiled = unsafe {
            let code = (self.create)(
                &raw mut program.raw,
                source.as_ptr(),
                name.as_ptr(),
                0,
                ptr::null(),
                ptr::null(),
            );
            self.check(code, "nvrtcCreateProgram")?;
            (self.compile)(program.raw, count, pointers.as_ptr())
        };
        let log = program.bytes(self.log_size, self.log, "nvrtcGetProgramLog")?;
        let log = String::from_utf8_lossy(&log);
        let log = log.trim_end_matches('\0').trim_end().to_string();
        // 6 is NVRTC_ERROR_COMPILATION: the program is wrong, and the log says where.
        if compiled == 6 {
            return Ok(Compiled { log, code: None });
        }
        if let Err(GpuError::Nvrtc { call, text }) = self.check(compiled, "nvrtcCompileProgram") {
            let text = format!("{text} with options {options:?}\n{log}");
            return Err(GpuError::Nvrtc { call, text });
        }
        let code = if ptx {
            program.bytes(self.ptx_size, self.ptx, "nvrtcGetPTX")?
        } else {
            program.bytes(self.cubin_size, self.cubin, "nvrtcGetCUBIN")?
        };
        Ok(Compiled {
            log,
            code: Some(code),
        })
    }

    fn check(&self, code: Code, call: &'static str) -> Result<(), GpuError> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: any code may be asked about; the answer is a static string.
        let text = unsafe { CStr::from_ptr((self.error_string)(code)) };
        Err(GpuError::Nvrtc {
            call,
            text: text.to_string_lossy().into_owned(),
        })
    }
}

/// A program inside NVRTC, destroyed on drop.
struct InProgress<'a> {
    nvrtc: &'a Nvrtc,
    raw: Handle,
}

impl InProgress<'_> {
    fn bytes(
        &self,
        size: unsafe extern "C" fn(Handle, *mut usize) -> Code,
        read: unsafe extern "C" fn(Handle, *mut c_char) -> Code,
        call: &'static str,
    ) -> Result<Vec<u8>, GpuError> {
        let mut length = 0;
        // SAFETY: the program is alive; `length` outlives the call.
        let code = unsafe { size(self.raw, &raw mut length) };
        self.nvrtc.check(code, call)?;
        let mut bytes = vec![0_u8; length];
        // SAFETY: `bytes` has the length that the library asked for.
        let code = unsafe { read(self.raw, bytes.as_mut_ptr().cast()) };
        self.nvrtc.check(code, call)?;
        Ok(bytes)
    }
}

impl Drop for InProgress<'_> {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            // SAFETY: made by this library and not used again.
            unsafe { (self.nvrtc.destroy)(&raw mut self.raw) };
        }
    }
}

fn text(call: &'static str, text: &str) -> Result<CString, GpuError> {
    CString::new(text).map_err(|_| GpuError::Nvrtc {
        call,
        text: "a text with a zero byte inside".to_string(),
    })
}
