//! cuSPARSE's products, loaded by name; absent where the library is not installed.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use libloading::Library;
use tamarack_gpu::{DeviceBuffer, Element, Gpu, GpuError, Stream};

type Raw = *mut c_void;
const INDEX_32: i32 = 2;
const BASE_ZERO: i32 = 0;
const NOT_TRANSPOSED: i32 = 0;

/// cuSPARSE's algorithms.
#[derive(Debug, Clone, Copy)]
pub enum Algorithm {
    /// For CSR, the faster of the two that repeat or not.
    Csr1 = 2,
    /// For CSR, with repeating bits.
    Csr2 = 3,
    /// For COO.
    Coo1 = 1,
    /// For COO, with repeating bits.
    Coo2 = 4,
}

/// The library with a handle.
pub struct Cusparse {
    library: Arc<Library>,
    handle: Raw,
    gpu: Gpu,
}

/// A type that cuSPARSE knows.
pub trait Number: Element {
    /// cuSPARSE's number for it.
    const TYPE: i32;
    /// One.
    const ONE: Self;
    /// Zero.
    const ZERO: Self;
}

impl Number for f64 {
    const TYPE: i32 = 1;
    const ONE: Self = 1.0;
    const ZERO: Self = 0.0;
}

impl Number for f32 {
    const TYPE: i32 = 0;
    const ONE: Self = 1.0;
    const ZERO: Self = 0.0;
}

type Spmv = unsafe extern "C" fn(
    Raw,
    i32,
    *const c_void,
    Raw,
    Raw,
    *const c_void,
    Raw,
    i32,
    i32,
    Raw,
) -> i32;
type BufferSize = unsafe extern "C" fn(
    Raw,
    i32,
    *const c_void,
    Raw,
    Raw,
    *const c_void,
    Raw,
    i32,
    i32,
    *mut usize,
) -> i32;
/// cusparseCreateCsr, and cusparseCreateCoo with one type less.
type CreateCsr =
    unsafe extern "C" fn(*mut Raw, i64, i64, i64, Raw, Raw, Raw, i32, i32, i32, i32) -> i32;
type CreateCoo = unsafe extern "C" fn(*mut Raw, i64, i64, i64, Raw, Raw, Raw, i32, i32, i32) -> i32;
type CreateVector = unsafe extern "C" fn(*mut Raw, i64, Raw, i32) -> i32;

fn check(what: &'static str, status: i32) -> Result<(), GpuError> {
    if status == 0 {
        return Ok(());
    }
    let got = status.unsigned_abs().into();
    Err(GpuError::Shape { what, got, have: 0 })
}

/// The entries of a matrix on the device, and its shape.
pub struct Entries<'a, T> {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// Starts of the rows for CSR, or the row of each entry for COO.
    pub rows_or_starts: &'a DeviceBuffer<u32>,
    /// The column of each entry.
    pub indices: &'a DeviceBuffer<u32>,
    /// The value of each entry.
    pub values: &'a DeviceBuffer<T>,
}

/// A product that is ready to run; descriptors live as long as the process.
pub struct Product<T> {
    spmv: Spmv,
    handle: Raw,
    matrix: Raw,
    x: Raw,
    y: Raw,
    algorithm: i32,
    work: DeviceBuffer<u8>,
    one: T,
    zero: T,
    _library: Arc<Library>,
}

impl Cusparse {
    /// The library from the loader's path or where CUDA puts it.
    #[must_use]
    pub fn find(gpu: &Gpu, stream: &Stream) -> Option<Self> {
        let names = [
            "libcusparse.so.12",
            "libcusparse.so",
            "libcusparse.so.13",
            "/usr/local/cuda/lib64/libcusparse.so",
        ];
        // SAFETY: the library's initializers are the vendor's.
        let library = names
            .iter()
            .find_map(|n| unsafe { Library::new(*n) }.ok())?;
        let mut handle = ptr::null_mut();
        // SAFETY: both functions have these types; the context of `gpu` is current.
        unsafe {
            let create: unsafe extern "C" fn(*mut Raw) -> i32 =
                *library.get(b"cusparseCreate").ok()?;
            let set: unsafe extern "C" fn(Raw, Raw) -> i32 =
                *library.get(b"cusparseSetStream").ok()?;
            if create(&raw mut handle) != 0 || set(handle, stream.raw_handle()) != 0 {
                return None;
            }
        }
        let (library, gpu) = (Arc::new(library), gpu.clone());
        Some(Self {
            library,
            handle,
            gpu,
        })
    }

    fn function<F: Copy>(&self, name: &'static str) -> Result<F, GpuError> {
        // SAFETY: every caller asks for a function with its own type.
        let found = unsafe { self.library.get::<F>(name.as_bytes()) };
        found.map(|f| *f).map_err(|_| GpuError::NoKernel {
            program: "cuSPARSE".to_string(),
            kernel: name.to_string(),
        })
    }

    /// `y = A x`, prepared as cuSPARSE advises: with its buffer and its preprocessing.
    ///
    /// # Errors
    /// What cuSPARSE says.
    pub fn product<T: Number>(
        &self,
        a: &Entries<'_, T>,
        algorithm: Algorithm,
        x: &DeviceBuffer<T>,
        y: &DeviceBuffer<T>,
    ) -> Result<Product<T>, GpuError> {
        let raw = |address: u64| address as Raw;
        let (rows, columns, entries) = (a.rows as i64, a.columns as i64, a.indices.len() as i64);
        let (first, indices, values) = (
            raw(a.rows_or_starts.ptr().address()),
            raw(a.indices.ptr().address()),
            raw(a.values.ptr().address()),
        );
        let (mut matrix, mut vx, mut vy) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        let vector: CreateVector = self.function("cusparseCreateDnVec")?;
        let (nx, ny) = (x.len() as i64, y.len() as i64);
        let (px, py) = (raw(x.ptr().address()), raw(y.ptr().address()));
        // SAFETY: the functions' own types; the arrays have the lengths given.
        unsafe {
            let status = if matches!(algorithm, Algorithm::Csr1 | Algorithm::Csr2) {
                self.function::<CreateCsr>("cusparseCreateCsr")?(
                    &raw mut matrix,
                    rows,
                    columns,
                    entries,
                    first,
                    indices,
                    values,
                    INDEX_32,
                    INDEX_32,
                    BASE_ZERO,
                    T::TYPE,
                )
            } else {
                self.function::<CreateCoo>("cusparseCreateCoo")?(
                    &raw mut matrix,
                    rows,
                    columns,
                    entries,
                    first,
                    indices,
                    values,
                    INDEX_32,
                    BASE_ZERO,
                    T::TYPE,
                )
            };
            check("cusparseCreateCsr", status)?;
            check("cusparseCreateDnVec", vector(&raw mut vx, nx, px, T::TYPE))?;
            check("cusparseCreateDnVec", vector(&raw mut vy, ny, py, T::TYPE))?;
        }
        let mut product = Product {
            spmv: self.function("cusparseSpMV")?,
            handle: self.handle,
            matrix,
            x: vx,
            y: vy,
            algorithm: algorithm as i32,
            work: self.gpu.alloc(0)?,
            one: T::ONE,
            zero: T::ZERO,
            _library: self.library.clone(),
        };
        let size: BufferSize = self.function("cusparseSpMV_bufferSize")?;
        let prepare: Spmv = self.function("cusparseSpMV_preprocess")?;
        let mut bytes = 0;
        let (one, zero) = product.factors();
        // SAFETY: the functions' own types; descriptors and factors are alive.
        unsafe {
            let status = size(
                self.handle,
                NOT_TRANSPOSED,
                one,
                matrix,
                vx,
                zero,
                vy,
                T::TYPE,
                product.algorithm,
                &raw mut bytes,
            );
            check("cusparseSpMV_bufferSize", status)?;
            product.work = self.gpu.alloc(bytes.max(16))?;
            check("cusparseSpMV_preprocess", product.call(prepare))?;
        }
        Ok(product)
    }
}

impl<T: Number> Product<T> {
    fn factors(&self) -> (*const c_void, *const c_void) {
        (
            ptr::from_ref(&self.one).cast(),
            ptr::from_ref(&self.zero).cast(),
        )
    }

    /// # Safety
    /// `f` is cusparseSpMV or its preprocessing, which has the same arguments.
    unsafe fn call(&self, f: Spmv) -> i32 {
        let (one, zero) = self.factors();
        let work = self.work.ptr().address() as Raw;
        // SAFETY: the caller's promise; descriptors, factors and buffer are alive.
        unsafe {
            f(
                self.handle,
                NOT_TRANSPOSED,
                one,
                self.matrix,
                self.x,
                zero,
                self.y,
                T::TYPE,
                self.algorithm,
                work,
            )
        }
    }

    /// Enqueues the product on the stream that the library was found with.
    ///
    /// # Errors
    /// What cuSPARSE says.
    pub fn run(&self) -> Result<(), GpuError> {
        // SAFETY: the function is cusparseSpMV.
        check("cusparseSpMV", unsafe { self.call(self.spmv) })
    }
}
