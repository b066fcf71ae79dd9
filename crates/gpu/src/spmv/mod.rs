//! Sparse matrix times vector on the device: `y = α A x + β z`, in nine storage formats.
//!
//! A [`SparseMatrix`] is made from a CSR matrix on the host ([`Csr`]), in the format that the matrix's
//! [`Profile`] asks for or in a given one:
//!
//! | format | for | entry costs, bytes | reference |
//! |---|---|---|---|
//! | [`Format::Coo`] | as a part of others | size + 8 | Bell, Garland 2009 |
//! | [`Format::CsrRows`] | rows of similar length, short matrices, several vectors | size + 4 | Bell, Garland 2009 |
//! | [`Format::CsrMerge`] | skewed rows | size + 4 | Merrill, Garland 2016 |
//! | [`Format::ByColumn`] | skewed rows, columns anywhere | size + 6 | Buluç, Fineman, Frigo, Gilbert, Leiserson 2009 |
//! | [`Format::Ell`] | rows of equal length | size + 4 | Bell, Garland 2009 |
//! | [`Format::Hybrid`] | a few long rows among equal ones | size + 4 | Bell, Garland 2009 |
//! | [`Format::SlicedEll`] | regular rows | size + 4 | Kreutzer, Hager, Wellein, Fehske, Bishop 2014 |
//! | [`Format::SymmetricLower`] | symmetric, given by its lower half | (size + 2) / 2 | Buluç, Williams, Oliker, Demmel 2011 |
//! | [`Format::SymmetricEll`] | the same, short rows near each other | size / 2 + 4 | – |
//!
//! Every format gives the same bits in every run and on every card: no sum depends on which block comes
//! first, because no kernel adds with floating-point atomics. Formats differ from each other by rounding.
//! NaN and infinity are carried; padding never meets `x`.
//!
//! [`Residuals`] computes `b − A x` of a symmetric matrix together with backward errors, for refinement, and
//! [`Conjugate`] has what stands between two applications of a preconditioner in conjugate gradients.

mod backward_error;
mod balanced;
mod by_column;
mod choose;
mod conjugate;
mod csr;
mod ell;
mod elsewhere;
mod half;
mod host;
mod rounds;
mod scale;
mod symmetric;
mod symmetric_ell;
#[cfg(test)]
mod tests;
mod windows;

pub use backward_error::{BackwardError, Residuals};
use choose::suits_symmetric_ell;
pub use choose::{Format, Profile};
pub use conjugate::{Conjugate, Progress};
pub use elsewhere::Scratch;
pub use half::HalfPattern;
pub use host::Csr;
pub use scale::{Scaling, Steps};

use crate::primitives::{MatrixView, MatrixViewMut, Real, too_long};
use crate::{DevicePtr, DeviceView, DeviceViewMut, Gpu, GpuError, Stream};

/// Threads of a block in all kernels here.
const THREADS: u32 = 256;

/// One product `y = alpha * A * x + beta * z`; `z` is not read where `beta` is 0.
#[derive(Clone, Copy)]
struct Product<T> {
    alpha: T,
    x: DevicePtr<T>,
    beta: T,
    z: DevicePtr<T>,
    y: DevicePtr<T>,
}

/// A matrix in device memory, ready to be multiplied. Formats with workspace keep it here, so products
/// with one matrix belong on one stream.
pub struct SparseMatrix<T> {
    rows: u32,
    columns: u32,
    format: Format,
    storage: Storage<T>,
}

enum Storage<T> {
    Csr(csr::CsrRows<T>),
    Merge(balanced::CsrMerge<T>),
    ByColumn(by_column::ByColumn<T>),
    Coo(balanced::Coo<T>),
    Ell(ell::Ell<T>),
    Hybrid(ell::Ell<T>, balanced::Coo<T>),
    Sliced(ell::SlicedEll<T>),
    Symmetric(symmetric::Symmetric<T>),
    SymmetricEll(symmetric_ell::SymmetricEll<T>),
}

impl<T: Real> SparseMatrix<T> {
    /// `matrix` in the format that suits its rows.
    ///
    /// # Errors
    /// [`GpuError::OutOfMemory`]; as [`Gpu::load`].
    pub fn new(gpu: &Gpu, stream: &Stream, matrix: &Csr<'_, T>) -> Result<Self, GpuError> {
        let format = Profile::of(matrix).format();
        Self::with_format(gpu, stream, matrix, format)
    }

    /// The symmetric matrix whose lower half, diagonal included, is `lower`: kept as it is where that is
    /// faster, else in full.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for an entry above the diagonal; [`GpuError::OutOfMemory`]; as [`Gpu::load`].
    pub fn symmetric(gpu: &Gpu, stream: &Stream, lower: &Csr<'_, T>) -> Result<Self, GpuError> {
        lower.require_lower()?;
        let profile = Profile::of(lower);
        if suits_symmetric_ell(&profile, lower) {
            return Self::with_format(gpu, stream, lower, Format::SymmetricEll);
        }
        if profile.format_of_lower() == Format::SymmetricLower {
            return Self::with_format(gpu, stream, lower, Format::SymmetricLower);
        }
        let (starts, columns, values) = lower.mirrored();
        let full = Csr::new(lower.rows(), &starts, &columns, &values)?;
        Self::new(gpu, stream, &full)
    }

    /// `matrix` in `format`. [`Format::SymmetricLower`] and [`Format::SymmetricEll`] take the lower half and multiply by the
    /// whole.
    ///
    /// # Errors
    /// [`GpuError::Shape`] where the format's padding passes 2^32 entries or, for the symmetric format,
    /// an entry is above the diagonal; [`GpuError::OutOfMemory`]; as [`Gpu::load`].
    pub fn with_format(
        gpu: &Gpu,
        stream: &Stream,
        matrix: &Csr<'_, T>,
        format: Format,
    ) -> Result<Self, GpuError> {
        let storage = match format {
            Format::CsrRows => Storage::Csr(csr::CsrRows::new(gpu, stream, matrix)?),
            Format::CsrMerge => Storage::Merge(balanced::CsrMerge::new(gpu, stream, matrix)?),
            Format::ByColumn => Storage::ByColumn(by_column::ByColumn::new(gpu, stream, matrix)?),
            Format::Coo => Storage::Coo(balanced::Coo::new(gpu, stream, matrix, 0)?),
            Format::Ell => {
                let width = Profile::of(matrix).longest;
                Storage::Ell(ell::Ell::new(gpu, stream, matrix, width)?)
            }
            Format::Hybrid => {
                let width = Profile::of(matrix).hybrid_width;
                Storage::Hybrid(
                    ell::Ell::new(gpu, stream, matrix, width)?,
                    balanced::Coo::new(gpu, stream, matrix, width)?,
                )
            }
            Format::SlicedEll => Storage::Sliced(ell::SlicedEll::new(gpu, stream, matrix)?),
            Format::SymmetricLower => {
                Storage::Symmetric(symmetric::Symmetric::new(gpu, stream, matrix)?)
            }
            Format::SymmetricEll => {
                Storage::SymmetricEll(symmetric_ell::SymmetricEll::new(gpu, stream, matrix)?)
            }
        };
        Ok(Self {
            rows: matrix.rows(),
            columns: matrix.columns(),
            format,
            storage,
        })
    }

    /// CSR by rows with this many threads a row, a power of two up to 32: for the benches' ladder.
    #[doc(hidden)]
    pub fn csr_with_lanes(
        gpu: &Gpu,
        stream: &Stream,
        matrix: &Csr<'_, T>,
        lanes: u32,
    ) -> Result<Self, GpuError> {
        Ok(Self {
            rows: matrix.rows(),
            columns: matrix.columns(),
            format: Format::CsrRows,
            storage: Storage::Csr(csr::CsrRows::with_lanes(gpu, stream, matrix, lanes)?),
        })
    }

    /// The symmetric format with chunks of at most `rows` rows and windows of at most `window` places:
    /// for the benches' ladder.
    #[doc(hidden)]
    pub fn symmetric_with_windows(
        gpu: &Gpu,
        stream: &Stream,
        lower: &Csr<'_, T>,
        rows: usize,
        window: usize,
    ) -> Result<Self, GpuError> {
        let storage = symmetric::Symmetric::with_windows(gpu, stream, lower, rows, window)?;
        Ok(Self {
            rows: lower.rows(),
            columns: lower.columns(),
            format: Format::SymmetricLower,
            storage: Storage::Symmetric(storage),
        })
    }

    /// Rows, which is the length of `y`.
    #[must_use]
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// Columns, which is the length of `x`.
    #[must_use]
    pub fn columns(&self) -> u32 {
        self.columns
    }

    /// The format in which the matrix is kept.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// Device memory that a product reads of the matrix itself, in bytes, padding and indices included.
    #[must_use]
    pub fn matrix_bytes(&self) -> u64 {
        match &self.storage {
            Storage::Csr(m) => m.bytes(),
            Storage::Merge(m) => m.bytes(),
            Storage::ByColumn(m) => m.bytes(),
            Storage::Coo(m) => m.bytes(),
            Storage::Ell(m) => m.bytes(),
            Storage::Hybrid(m, rest) => m.bytes() + rest.bytes(),
            Storage::Sliced(m) => m.bytes(),
            Storage::Symmetric(m) => m.bytes(),
            Storage::SymmetricEll(m) => m.bytes(),
        }
    }

    /// `y = A x`.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for vectors of other lengths, a failing driver call.
    pub fn multiply<'a, 'b>(
        &self,
        stream: &Stream,
        x: impl Into<DeviceView<'a, T>>,
        y: impl Into<DeviceViewMut<'b, T>>,
    ) -> Result<(), GpuError> {
        self.update(stream, 1.0, x, 0.0, y)
    }

    /// `y = alpha A x + beta y`; `y` is not read where `beta` is 0.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for vectors of other lengths, a failing driver call.
    pub fn update<'a, 'b>(
        &self,
        stream: &Stream,
        alpha: f64,
        x: impl Into<DeviceView<'a, T>>,
        beta: f64,
        y: impl Into<DeviceViewMut<'b, T>>,
    ) -> Result<(), GpuError> {
        let (x, y) = (x.into(), y.into());
        self.check(x.len(), y.len())?;
        self.launch(
            stream,
            Product {
                alpha: T::from_f64(alpha),
                x: x.ptr(),
                beta: T::from_f64(beta),
                z: y.ptr(),
                y: y.ptr(),
            },
        )
    }

    /// `r = b − A x`: the residual that refinement needs, where `T` is `f64`.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for vectors of other lengths, a failing driver call.
    pub fn residual<'a, 'b, 'c>(
        &self,
        stream: &Stream,
        b: impl Into<DeviceView<'a, T>>,
        x: impl Into<DeviceView<'b, T>>,
        r: impl Into<DeviceViewMut<'c, T>>,
    ) -> Result<(), GpuError> {
        let (b, x, r) = (b.into(), x.into(), r.into());
        self.check(x.len(), r.len())?;
        self.check(x.len(), b.len())?;
        self.launch(
            stream,
            Product {
                alpha: T::from_f64(-1.0),
                x: x.ptr(),
                beta: T::from_f64(1.0),
                z: b.ptr(),
                y: r.ptr(),
            },
        )
    }

    /// `Y = A X` for several vectors, the columns of `X`. CSR by rows and sliced ELL read the matrix once
    /// for eight of them; other formats once for each.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for matrices of other shapes, a failing driver call.
    pub fn multiply_many(
        &self,
        stream: &Stream,
        x: MatrixView<'_, T>,
        y: MatrixViewMut<'_, T>,
    ) -> Result<(), GpuError> {
        self.check(x.rows as usize, y.rows as usize)?;
        if x.columns != y.columns {
            return Err(too_long("vectors", y.columns.into(), x.columns.into()));
        }
        match &self.storage {
            Storage::Csr(csr) => return csr.multiply_many(stream, x, y),
            Storage::Sliced(sliced) => return sliced.multiply_many(stream, x, y),
            _ => {}
        }
        for v in 0..u64::from(x.columns) {
            let y_column = y.data.ptr().add(v * y.ld);
            self.launch(
                stream,
                Product {
                    alpha: T::from_f64(1.0),
                    x: x.data.ptr().add(v * x.ld),
                    beta: T::from_f64(0.0),
                    z: y_column,
                    y: y_column,
                },
            )?;
        }
        Ok(())
    }

    fn check(&self, x_len: usize, y_len: usize) -> Result<(), GpuError> {
        if x_len != self.columns as usize {
            return Err(too_long(
                "x of a product",
                x_len as u64,
                self.columns.into(),
            ));
        }
        if y_len != self.rows as usize {
            return Err(too_long("y of a product", y_len as u64, self.rows.into()));
        }
        Ok(())
    }

    fn launch(&self, stream: &Stream, product: Product<T>) -> Result<(), GpuError> {
        match &self.storage {
            Storage::Csr(m) => m.launch(stream, product),
            Storage::Merge(m) => m.launch(stream, product),
            Storage::ByColumn(m) => m.launch(stream, product),
            Storage::Coo(m) => m.launch(stream, product),
            Storage::Ell(m) => m.launch(stream, product),
            Storage::Hybrid(m, rest) => {
                m.launch(stream, product)?;
                rest.add(stream, product)
            }
            Storage::Sliced(m) => m.launch(stream, product),
            Storage::Symmetric(m) => m.launch(stream, product),
            Storage::SymmetricEll(m) => m.launch(stream, product),
        }
    }
}
