//! CUB, through the library that `benches/gpu/peers/cub.cu` makes; absent where nobody has built it.

use std::ffi::c_void;
use std::path::PathBuf;

use libloading::Library;
use tamarack_gpu::{DeviceBuffer, DevicePtr, Element, Gpu, GpuError, Stream};

type Raw = *mut c_void;

/// CUB's functions, with workspace that grows as it is asked for.
pub struct Cub {
    library: Library,
    gpu: Gpu,
    work: DeviceBuffer<u8>,
}

fn raw<T>(address: DevicePtr<T>) -> Raw {
    address.address() as Raw
}

impl Cub {
    /// The library beside this program or on the loader's path.
    #[must_use]
    pub fn find(gpu: &Gpu) -> Option<Self> {
        let name = "libtamarack_peers.so";
        let beside = std::env::current_exe().ok().map(|p| p.with_file_name(name));
        let places = beside.into_iter().chain([PathBuf::from(name)]);
        // SAFETY: the library's initializers are those of CUDA's runtime.
        let library = places
            .into_iter()
            .find_map(|p| unsafe { Library::new(p) }.ok())?;
        let work = gpu.alloc(0).ok()?;
        let gpu = gpu.clone();
        Some(Self { library, gpu, work })
    }

    fn function<F: Copy>(&self, name: &str) -> Option<F> {
        // SAFETY: every caller names a function of cub.cu with its own type.
        unsafe { self.library.get::<F>(name.as_bytes()).ok().map(|f| *f) }
    }

    /// Asks `call` how much workspace it needs, sees to it, and runs it.
    fn run(&mut self, call: impl Fn(Raw, *mut usize) -> i32) -> Result<(), GpuError> {
        let mut bytes = 0;
        let asked = call(std::ptr::null_mut(), &raw mut bytes);
        if bytes > self.work.len() {
            self.work = self.gpu.alloc(bytes)?;
        }
        let done = call(raw(self.work.ptr()), &raw mut bytes);
        if asked == 0 && done == 0 {
            return Ok(());
        }
        Err(GpuError::Shape {
            what: "an error of CUB",
            got: asked.unsigned_abs().into(),
            have: done.unsigned_abs().into(),
        })
    }

    /// An operation from `from` to `to`: `peer_scan_*`, `peer_sum_*`.
    ///
    /// # Errors
    /// What CUB says, or a missing function.
    pub fn unary<A: Element, B: Element>(
        &mut self,
        name: &str,
        stream: &Stream,
        from: &DeviceBuffer<A>,
        to: &DeviceBuffer<B>,
    ) -> Result<(), GpuError> {
        type Unary = unsafe extern "C" fn(Raw, *mut usize, Raw, Raw, i64, Raw) -> i32;
        let f: Unary = self.function(name).ok_or_else(|| missing(name))?;
        let (a, b, n, s) = (
            raw(from.ptr()),
            raw(to.ptr()),
            from.len() as i64,
            stream.raw_handle(),
        );
        // SAFETY: the function's own type; both arrays are as long as it takes them.
        self.run(|work, bytes| unsafe { f(work, bytes, a, b, n, s) })
    }

    /// `peer_sort_*`: keys and values, each with a second buffer; the result may be in either.
    ///
    /// # Errors
    /// What CUB says, or a missing function.
    pub fn sort<K: Element>(
        &mut self,
        name: &str,
        stream: &Stream,
        keys: [&DeviceBuffer<K>; 2],
        values: [&DeviceBuffer<u32>; 2],
        end_bit: i32,
    ) -> Result<(), GpuError> {
        type Sort = unsafe extern "C" fn(Raw, *mut usize, Raw, Raw, Raw, Raw, i64, i32, Raw) -> i32;
        let f: Sort = self.function(name).ok_or_else(|| missing(name))?;
        let (k, v) = (keys.map(|b| raw(b.ptr())), values.map(|b| raw(b.ptr())));
        let (n, s) = (keys[0].len() as i64, stream.raw_handle());
        // SAFETY: the function's own type; all four arrays have n elements.
        self.run(|work, bytes| unsafe { f(work, bytes, k[0], k[1], v[0], v[1], n, end_bit, s) })
    }

    /// `peer_histogram`.
    ///
    /// # Errors
    /// What CUB says, or a missing function.
    pub fn histogram(
        &mut self,
        stream: &Stream,
        keys: &DeviceBuffer<u32>,
        counts: &DeviceBuffer<u32>,
    ) -> Result<(), GpuError> {
        type Histogram = unsafe extern "C" fn(Raw, *mut usize, Raw, Raw, i32, i64, Raw) -> i32;
        let name = "peer_histogram";
        let f: Histogram = self.function(name).ok_or_else(|| missing(name))?;
        let (k, c, s) = (raw(keys.ptr()), raw(counts.ptr()), stream.raw_handle());
        let (bins, n) = (counts.len() as i32, keys.len() as i64);
        // SAFETY: the function's own type and lengths.
        self.run(|work, bytes| unsafe { f(work, bytes, k, c, bins, n, s) })
    }

    /// `peer_merge` of two lists of keys and values.
    ///
    /// # Errors
    /// What CUB says, or a missing function.
    pub fn merge(
        &mut self,
        stream: &Stream,
        a: [&DeviceBuffer<u32>; 2],
        b: [&DeviceBuffer<u32>; 2],
        out: [&DeviceBuffer<u32>; 2],
    ) -> Result<(), GpuError> {
        type Merge = unsafe extern "C" fn(
            Raw,
            *mut usize,
            Raw,
            Raw,
            i64,
            Raw,
            Raw,
            i64,
            Raw,
            Raw,
            Raw,
        ) -> i32;
        let name = "peer_merge";
        let f: Merge = self.function(name).ok_or_else(|| missing(name))?;
        let (na, nb) = (a[0].len() as i64, b[0].len() as i64);
        let [a, b, o] = [a, b, out].map(|p| p.map(|x| raw(x.ptr())));
        let s = stream.raw_handle();
        // SAFETY: the function's own type and lengths.
        self.run(|work, bytes| unsafe {
            f(work, bytes, a[0], a[1], na, b[0], b[1], nb, o[0], o[1], s)
        })
    }
}

fn missing(name: &str) -> GpuError {
    GpuError::NoKernel {
        program: "libtamarack_peers.so".to_string(),
        kernel: name.to_string(),
    }
}
