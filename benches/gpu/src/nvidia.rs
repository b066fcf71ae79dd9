//! cuBLAS and cuSOLVER, loaded by name; absent where they are not installed. Handles live as long as the process.

use std::ffi::{c_int, c_void};
use std::ptr;

use libloading::Library;
use tamarack_gpu::{DeviceBuffer, DevicePtr, Gpu, GpuError, Stream};

type Raw = *mut c_void;
type Create = unsafe extern "C" fn(*mut Raw) -> c_int;
type SetStream = unsafe extern "C" fn(Raw, Raw) -> c_int;
type Gemm<T> = unsafe extern "C" fn(
    Raw,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const T,
    u64,
    c_int,
    u64,
    c_int,
    *const T,
    u64,
    c_int,
) -> c_int;
type Syrk<T> = unsafe extern "C" fn(
    Raw,
    c_int,
    c_int,
    c_int,
    c_int,
    *const T,
    u64,
    c_int,
    *const T,
    u64,
    c_int,
) -> c_int;
type PotrfSize = unsafe extern "C" fn(Raw, c_int, c_int, u64, c_int, *mut c_int) -> c_int;
type Potrf = unsafe extern "C" fn(Raw, c_int, c_int, u64, c_int, u64, c_int, u64) -> c_int;
type PotrfBatched = unsafe extern "C" fn(Raw, c_int, c_int, u64, c_int, u64, c_int) -> c_int;
type TrsmBatched<T> = unsafe extern "C" fn(
    Raw,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const T,
    u64,
    c_int,
    u64,
    c_int,
    c_int,
) -> c_int;
type GemmBatched<T> = unsafe extern "C" fn(
    Raw,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const T,
    u64,
    c_int,
    u64,
    c_int,
    *const T,
    u64,
    c_int,
    c_int,
) -> c_int;

const N: c_int = 0; // not transposed
const T: c_int = 1;
const LOWER: c_int = 0;
const RIGHT: c_int = 1;
const NON_UNIT: c_int = 0;

/// A type of numbers.
pub trait Number: tamarack_gpu::primitives::Real {
    /// Its letter in the functions' names.
    const LETTER: char;
}

impl Number for f64 {
    const LETTER: char = 'D';
}

impl Number for f32 {
    const LETTER: char = 'S';
}

/// Both libraries, on one stream, for numbers of `T`.
pub struct Nvidia<T> {
    gpu: Gpu,
    blas: Raw,
    solver: Raw,
    gemm: Gemm<T>,
    syrk: Syrk<T>,
    potrf_size: PotrfSize,
    potrf: Potrf,
    potrf_batched: PotrfBatched,
    trsm_batched: TrsmBatched<T>,
    gemm_batched: GemmBatched<T>,
    one: T,
    minus: T,
}

fn check(what: &'static str, status: c_int) -> Result<(), GpuError> {
    if status == 0 {
        return Ok(());
    }
    let got = status.unsigned_abs().into();
    Err(GpuError::Shape { what, got, have: 0 })
}

fn open(names: &[&str]) -> Option<Library> {
    // SAFETY: NVIDIA's libraries run nothing of note when they are loaded.
    names
        .iter()
        .find_map(|name| unsafe { Library::new(*name) }.ok())
}

/// A function of a library that is never unloaded.
///
/// # Safety
/// `F` is the function's type.
unsafe fn function<F: Copy>(library: &Library, name: &str) -> Option<F> {
    // SAFETY: by this function's own promise.
    unsafe { library.get::<F>(name.as_bytes()) }
        .ok()
        .map(|f| *f)
}

impl<T: Number> Nvidia<T> {
    /// The libraries, if they are there.
    #[must_use]
    pub fn find(gpu: &Gpu, stream: &Stream) -> Option<Self> {
        let blas = open(&["libcublas.so.13", "libcublas.so.12", "libcublas.so"])?;
        let solver = open(&["libcusolver.so.12", "libcusolver.so.11", "libcusolver.so"])?;
        let named = |library: &str, name: &str| format!("{library}{}{name}", T::LETTER);
        let (mut b, mut s) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: types and names are those of the libraries' headers; the handles are written by them.
        let found = unsafe {
            let create: Create = function(&blas, "cublasCreate_v2")?;
            let set: SetStream = function(&blas, "cublasSetStream_v2")?;
            check("cublasCreate", create(&raw mut b)).ok()?;
            check("cublasSetStream", set(b, stream.raw_handle())).ok()?;
            let create: Create = function(&solver, "cusolverDnCreate")?;
            let set: SetStream = function(&solver, "cusolverDnSetStream")?;
            check("cusolverDnCreate", create(&raw mut s)).ok()?;
            check("cusolverDnSetStream", set(s, stream.raw_handle())).ok()?;
            Self {
                gpu: gpu.clone(),
                blas: b,
                solver: s,
                gemm: function(&blas, &named("cublas", "gemm_v2"))?,
                syrk: function(&blas, &named("cublas", "syrk_v2"))?,
                potrf_size: function(&solver, &named("cusolverDn", "potrf_bufferSize"))?,
                potrf: function(&solver, &named("cusolverDn", "potrf"))?,
                potrf_batched: function(&solver, &named("cusolverDn", "potrfBatched"))?,
                trsm_batched: function(&blas, &named("cublas", "trsmBatched"))?,
                gemm_batched: function(&blas, &named("cublas", "gemmBatched"))?,
                one: T::from_f64(1.0),
                minus: T::from_f64(-1.0),
            }
        };
        std::mem::forget((blas, solver)); // the handles and functions need them until the end
        Some(found)
    }

    /// `C ← C − A Bᵀ`, all with leading dimension `n`; A at the arena's begin, then B, then C.
    ///
    /// # Errors
    /// What cuBLAS says.
    pub fn gemm(&self, n: u32, k: u32, arena: &DeviceBuffer<T>) -> Result<(), GpuError> {
        let (a, size) = (arena.ptr(), u64::from(n) * u64::from(k));
        let (n, k) = (n.cast_signed(), k.cast_signed());
        let (b, c) = (a.add(size).address(), a.add(2 * size).address());
        // SAFETY: the operands stand in the arena as the caller's product has them.
        let status = unsafe {
            let alpha = &raw const self.minus;
            (self.gemm)(
                self.blas,
                N,
                T,
                n,
                n,
                k,
                alpha,
                a.address(),
                n,
                b,
                n,
                &raw const self.one,
                c,
                n,
            )
        };
        check("cublasgemm", status)
    }

    /// `C ← C − A Aᵀ`, lower half of a square; A at the arena's begin, C behind it.
    ///
    /// # Errors
    /// What cuBLAS says.
    pub fn syrk(&self, n: u32, k: u32, arena: &DeviceBuffer<T>) -> Result<(), GpuError> {
        let (a, size) = (arena.ptr(), u64::from(n) * u64::from(k));
        let (n, k) = (n.cast_signed(), k.cast_signed());
        let c = a.add(size).address();
        // SAFETY: the operands stand in the arena as the caller's product has them.
        let status = unsafe {
            let alpha = &raw const self.minus;
            (self.syrk)(
                self.blas,
                LOWER,
                N,
                n,
                k,
                alpha,
                a.address(),
                n,
                &raw const self.one,
                c,
                n,
            )
        };
        check("cublassyrk", status)
    }

    /// Workspace for [`potrf`](Self::potrf).
    ///
    /// # Errors
    /// What cuSOLVER says; [`GpuError::OutOfMemory`].
    pub fn potrf_work(&self, n: u32) -> Result<DeviceBuffer<T>, GpuError> {
        let mut size = 0;
        let n = n.cast_signed();
        // SAFETY: only the size is written.
        let status = unsafe { (self.potrf_size)(self.solver, LOWER, n, 0, n, &raw mut size) };
        check("cusolverDnpotrf_bufferSize", status)?;
        self.gpu.alloc(size.unsigned_abs() as usize + 1)
    }

    /// Cholesky of a square, lower half; the last number of `work` is taken for the status.
    ///
    /// # Errors
    /// What cuSOLVER says.
    pub fn potrf(
        &self,
        n: u32,
        a: &DeviceBuffer<T>,
        work: &DeviceBuffer<T>,
    ) -> Result<(), GpuError> {
        let n = n.cast_signed();
        let size = work.len() - 1;
        let info = work.ptr().add(size as u64).address();
        let size = c_int::try_from(size).unwrap_or(c_int::MAX);
        let work = work.ptr().address();
        // SAFETY: `a` is a square of order n, `work` as long as was asked for.
        let status = unsafe {
            (self.potrf)(
                self.solver,
                LOWER,
                n,
                a.ptr().address(),
                n,
                work,
                size,
                info,
            )
        };
        check("cusolverDnpotrf", status)
    }
}

/// Square fronts of one size, half of the rows pivots, for the batched functions.
pub struct Batch<T> {
    order: u32,
    count: u32,
    pointers: [DeviceBuffer<DevicePtr<T>>; 3],
    info: DeviceBuffer<i32>,
}

impl<T: Number> Batch<T> {
    /// For `count` squares behind each other.
    ///
    /// # Errors
    /// [`GpuError::OutOfMemory`].
    pub fn new(
        gpu: &Gpu,
        stream: &Stream,
        order: u32,
        squares: &DeviceBuffer<T>,
    ) -> Result<Self, GpuError> {
        let size = u64::from(order * order);
        let count = squares.len() as u64 / size;
        let pivots = u64::from(order / 2);
        let list = |offset: u64| {
            let pointers = (0..count).map(|i| squares.ptr().add(i * size + offset));
            stream.to_device(gpu, &pointers.collect::<Vec<_>>())
        };
        let below = pivots;
        let update = pivots + pivots * u64::from(order);
        Ok(Self {
            order,
            count: count as u32, // of a bench
            pointers: [list(0)?, list(below)?, list(update)?],
            info: gpu.alloc(count as usize)?,
        })
    }

    /// cuSOLVER's batched POTRF, cuBLAS's batched TRSM, and its batched GEMM for the symmetric update, of which there
    /// is no batched function.
    ///
    /// # Errors
    /// What the libraries say.
    pub fn run(&self, with: &Nvidia<T>) -> Result<(), GpuError> {
        let (n, count) = (self.order.cast_signed(), self.count.cast_signed());
        let (p, u) = (n / 2, n - n / 2);
        let [a, b, c] = self.pointers.each_ref().map(|p| p.ptr().address());
        let info = self.info.ptr().address();
        // SAFETY: the pointers are those of `count` squares of order n, alive as long as this.
        unsafe {
            let status = (with.potrf_batched)(with.solver, LOWER, p, a, n, info, count);
            check("cusolverDnpotrfBatched", status)?;
            let one = &raw const with.one;
            let status = (with.trsm_batched)(
                with.blas, RIGHT, LOWER, T, NON_UNIT, u, p, one, a, n, b, n, count,
            );
            check("cublastrsmBatched", status)?;
            let minus = &raw const with.minus;
            let status = (with.gemm_batched)(
                with.blas, N, T, u, u, p, minus, b, n, b, n, one, c, n, count,
            );
            check("cublasgemmBatched", status)
        }
    }
}
