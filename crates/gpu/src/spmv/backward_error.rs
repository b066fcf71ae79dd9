//! The residual `r = b − A x` and backward errors, in one pass; kernels in `spmv/backward_error.cu`.
//!
//! Of a symmetric matrix given by one half of its entries; every row is summed by its own threads, from its own line and from what
//! others have of it, and nothing is added by atomics. The componentwise backward error is `max |r| / (|A||x| + |b|)` (Oettli and Prager
//! 1964), the smallest normal number for each entry of a row added to its denominator; the normwise one needs the norms that come with it. NaN wins.
//! Cost: the matrix is read once for four right-hand sides; bits repeat, and do not depend on their number.

use std::sync::Arc;

use super::THREADS;
use super::elsewhere::Scratch;
use super::half::{Half, HalfPattern, Rows};
use crate::primitives::{MatrixView, MatrixViewMut, blocks, kernels, resident, too_long};
use crate::{
    Arg, DeviceBuffer, DevicePtr, DeviceView, DeviceViewMut, Gpu, GpuError, Kernel, Launch,
    Program, Stream,
};

const PROGRAM: Program = Program::at("spmv/backward_error.cu");
/// Right-hand sides in one reading of the matrix.
const VECTORS: u32 = 4;
/// Maxima of a right-hand side.
const MAXIMA: usize = 5;

/// Backward errors of one right-hand side. All are NaN where something that they are made of is.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct BackwardError {
    /// `max |r| / (|A||x| + |b|)` over the rows; a row of zeros has no error, and one whose
    /// denominator overflows has NaN.
    pub componentwise: f64,
    /// `‖r‖∞`.
    pub residual: f64,
    /// `‖x‖∞`.
    pub solution: f64,
    /// `‖b‖∞`.
    pub right_hand_side: f64,
    /// `‖A‖∞`.
    pub matrix: f64,
}

// SAFETY: numbers without padding.
unsafe impl crate::Element for BackwardError {}

impl BackwardError {
    /// `‖r‖∞ / (‖A‖∞‖x‖∞ + ‖b‖∞)` (Rigal and Gaches 1967); 0 where all of it is, NaN where the denominator overflows.
    #[must_use]
    pub fn normwise(&self) -> f64 {
        let size = self.matrix * self.solution + self.right_hand_side;
        if self.residual == 0.0 && size == 0.0 {
            0.0
        } else if !size.is_finite() {
            f64::NAN
        } else {
            self.residual / size
        }
    }
}

/// Laid out as the kernels' `Problem`.
#[repr(C)]
struct Problem {
    a: Half,
    b: DevicePtr<f64>,
    x: DevicePtr<f64>,
    r: DevicePtr<f64>,
    ld_b: u64,
    ld_x: u64,
    ld_r: u64,
    most: DevicePtr<u64>,
    ticket: DevicePtr<u32>,
    errors: DevicePtr<BackwardError>,
    safe: f64,
    rhs: u32,
    unused: u32,
}

// SAFETY: the layout of the kernels' parameter, without host pointers.
unsafe impl Arg for Problem {}

/// A symmetric pattern, ready for residuals. Launches belong on one stream.
pub struct Residuals {
    pub(super) rows: Rows,
    most_rhs: u32,
    /// Blocks that take all rows, twice as many as run at the same time: for one right-hand side, and up to four.
    blocks: [u32; 2],
    most: DeviceBuffer<u64>,
    ticket: DeviceBuffer<u32>,
    /// For one right-hand side, and up to four.
    kernels: [Kernel; 2],
}

impl Residuals {
    /// Finds what whole rows need beside `pattern`, and waits for it. Takes 6 or 8 bytes for each entry off the diagonal of the half, and
    /// meanwhile 16 of `scratch` for each entry and some more.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for [`HalfPattern::MOST_BY_ROWS`] entries or more; [`GpuError::OutOfMemory`]; as [`Gpu::load`].
    pub fn new(
        gpu: &Gpu,
        stream: &Stream,
        pattern: &Arc<HalfPattern>,
        most_rhs: u32,
        scratch: &mut Scratch<'_>,
    ) -> Result<Self, GpuError> {
        let rows = Rows::new(gpu, stream, pattern, scratch)?;
        let lanes = rows.lanes();
        let names = [1, VECTORS].map(|v| format!("backward_error_{lanes}_{v}"));
        let [one, several] = kernels(gpu, &PROGRAM, [&names[0], &names[1]])?;
        let needed = blocks("rows", pattern.n().into(), (THREADS / lanes).into())?;
        let enough = |kernel: &Kernel| {
            Ok::<_, GpuError>(needed.min(2 * resident(gpu, kernel, THREADS, 0)?).max(1))
        };
        let mut most = gpu.alloc(most_rhs as usize * MAXIMA)?;
        let mut ticket = gpu.alloc(1)?;
        stream.fill_bytes(&mut most, 0)?;
        stream.fill_bytes(&mut ticket, 0)?;
        Ok(Self {
            rows,
            most_rhs,
            blocks: [enough(&one)?, enough(&several)?],
            most,
            ticket,
            kernels: [one, several],
        })
    }

    /// Enqueues `r = b − A x` for each column, and its backward errors; `values` are those of A, one for each entry of the half.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for another number of values, matrices of other shapes, more right-hand sides than planned, or `errors` of
    /// another length; a failing driver call.
    pub fn launch<'a, 'b>(
        &mut self,
        stream: &Stream,
        values: impl Into<DeviceView<'b, f64>>,
        b: MatrixView<'_, f64>,
        x: MatrixView<'_, f64>,
        r: MatrixViewMut<'_, f64>,
        errors: impl Into<DeviceViewMut<'a, BackwardError>>,
    ) -> Result<(), GpuError> {
        let (values, errors, rhs) = (values.into(), errors.into(), b.columns);
        let n = self.rows.pattern.n();
        let shapes = [
            (b.rows, b.columns),
            (x.rows, x.columns),
            (r.rows, r.columns),
        ];
        for (rows, columns) in shapes {
            if rows != n {
                return Err(too_long("rows of a residual", rows.into(), n.into()));
            }
            if columns != rhs || columns > self.most_rhs {
                let have = rhs.min(self.most_rhs);
                return Err(too_long("right-hand sides", columns.into(), have.into()));
            }
        }
        if errors.len() != rhs as usize {
            return Err(too_long("backward errors", errors.len() as u64, rhs.into()));
        }
        // Entries of a row, times the smallest normal number: below, rounding is not relative.
        let safe = (f64::from(self.rows.elsewhere.most_entries) + 1.0) * f64::MIN_POSITIVE;
        let problem = Problem {
            a: self.rows.with(&values)?,
            b: b.data.ptr(),
            x: x.data.ptr(),
            r: r.data.ptr(),
            ld_b: b.ld,
            ld_x: x.ld,
            ld_r: r.ld,
            most: self.most.ptr(),
            ticket: self.ticket.ptr(),
            errors: errors.ptr(),
            safe,
            rhs,
            unused: 0,
        };
        let (which, groups) = if rhs == 1 {
            (0, 1)
        } else {
            (1, rhs.div_ceil(VECTORS))
        };
        let launch = Launch::of([self.blocks[which], groups, 1], [THREADS, 1, 1]);
        // SAFETY: the argument of the kernels; the matrix was checked, and the shapes of the vectors.
        unsafe { self.kernels[which].launch(stream, launch, &[&problem]) }
    }
}
