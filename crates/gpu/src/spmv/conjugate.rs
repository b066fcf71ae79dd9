//! Conjugate gradients for one right-hand side (Hestenes and Stiefel 1952); kernels in `spmv/conjugate.cu`.
//!
//! What stands between two applications of the preconditioner, step sizes included: nothing of it passes through the host, which
//! asks from time to time how far it came ([`Conjugate::progress`]). Steps that are enqueued behind the end change nothing.
//! The preconditioner may be inexact (Golub and Ye 1999). Cost of a step: the matrix once, fifteen vectors; bits repeat, on every card.

use super::{Residuals, THREADS};
use crate::primitives::{blocks, kernels, same};
use crate::{
    Arg, DeviceBuffer, DeviceView, DeviceViewMut, Gpu, GpuError, Kernel, Launch, Program, Stream,
};

const PROGRAM: Program = Program::at("spmv/conjugate.cu");
/// Most blocks of a sum, each of which leaves a part; threads go on with a stride.
const MOST_PARTS: u32 = 1024;

/// Laid out as the kernels' `State`.
#[repr(C)]
#[derive(Clone, Copy)]
struct State {
    numbers: [f64; 4],
    norm: u64,
    taken: u32,
    most: u32,
    going: u32,
    ticket: u32,
}

// SAFETY: numbers without padding.
unsafe impl crate::Element for State {}

/// How far the steps came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Steps that were taken.
    pub taken: usize,
    /// Whether more would change anything.
    pub going: bool,
}

/// The vectors and step sizes of conjugate gradients for matrices of order n. Launches belong on one stream.
pub struct Conjugate {
    n: u32,
    d: DeviceBuffer<f64>,
    p: DeviceBuffer<f64>,
    ap: DeviceBuffer<f64>,
    parts: DeviceBuffer<f64>,
    state: DeviceBuffer<State>,
    /// Blocks of the product, of which each leaves a part.
    rows: Launch,
    begin: Kernel,
    product: Kernel,
    advance: Kernel,
    dots: Kernel,
    direction: Kernel,
}

impl Conjugate {
    /// For the matrices of `residuals`. Takes 24 bytes for each row.
    ///
    /// # Errors
    /// [`GpuError::OutOfMemory`]; as [`Gpu::load`].
    pub fn new(gpu: &Gpu, stream: &Stream, residuals: &Residuals) -> Result<Self, GpuError> {
        let n = residuals.rows.pattern.n();
        let lanes = residuals.rows.lanes();
        let product = format!("conjugate_product_{lanes}");
        let names = [
            "conjugate_begin",
            &product,
            "conjugate_advance",
            "conjugate_dots",
            "conjugate_direction",
        ];
        let [begin, product, advance, dots, direction] = kernels(gpu, &PROGRAM, names)?;
        let rows = blocks("rows", n.into(), (THREADS / lanes).into())?;
        let mut state = gpu.alloc(1)?;
        stream.fill_bytes(&mut state, 0)?;
        Ok(Self {
            n,
            d: gpu.alloc(n as usize)?,
            p: gpu.alloc(n as usize)?,
            ap: gpu.alloc(n as usize)?,
            parts: gpu.alloc(2 * MOST_PARTS as usize)?,
            state,
            rows: Launch::new(rows.clamp(1, MOST_PARTS), THREADS),
            begin,
            product,
            advance,
            dots,
            direction,
        })
    }

    /// Enqueues the beginning of `A d = r` at `d = 0`: `z` becomes `r`, and is the preconditioner's next. `norm` is the largest
    /// magnitude in `r`; there are at most `most` steps, and none once it is at most `reduction` times as large.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for vectors of another length; a failing driver call.
    pub fn begin(
        &mut self,
        stream: &Stream,
        r: DeviceView<'_, f64>,
        z: DeviceViewMut<'_, f64>,
        norm: f64,
        reduction: f64,
        most: usize,
    ) -> Result<(), GpuError> {
        self.check(&r, z.len())?;
        let most = u32::try_from(most).unwrap_or(u32::MAX);
        let (d, p, ap) = (self.d.ptr(), self.p.ptr(), self.ap.ptr());
        let (state, target) = (self.state.ptr(), reduction * norm);
        let args: [&dyn Arg; 10] = [
            &self.n,
            &r.ptr(),
            &z.ptr(),
            &d,
            &p,
            &ap,
            &state,
            &norm,
            &target,
            &most,
        ];
        // SAFETY: the arguments of the kernel; all vectors have n numbers.
        unsafe { self.begin.launch(stream, self.each(), &args) }
    }

    /// Enqueues: what the preconditioner made of `z` gives the next direction.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    pub fn turn(
        &mut self,
        stream: &Stream,
        r: DeviceView<'_, f64>,
        z: DeviceView<'_, f64>,
    ) -> Result<(), GpuError> {
        self.check(&r, z.len())?;
        let (p, ap) = (self.p.ptr(), self.ap.ptr());
        let (parts, state) = (self.parts.ptr(), self.state.ptr());
        let blocks = self.n.div_ceil(4 * THREADS).clamp(1, MOST_PARTS);
        let sums: [&dyn Arg; 6] = [&self.n, &r.ptr(), &z.ptr(), &ap, &parts, &state];
        let direction: [&dyn Arg; 4] = [&self.n, &p, &z.ptr(), &state];
        // SAFETY: the arguments of the kernels; all vectors have n numbers, and each block of a sum its parts.
        unsafe {
            self.dots
                .launch(stream, Launch::new(blocks, THREADS), &sums)?;
            self.direction.launch(stream, self.each(), &direction)
        }
    }

    /// Enqueues a step along the direction, in the matrix of `residuals` with these values; `z` becomes the new `r`.
    ///
    /// # Errors
    /// As [`begin`](Self::begin), and for a matrix of another pattern.
    pub fn step(
        &mut self,
        stream: &Stream,
        residuals: &Residuals,
        values: DeviceView<'_, f64>,
        r: DeviceViewMut<'_, f64>,
        z: DeviceViewMut<'_, f64>,
    ) -> Result<(), GpuError> {
        let n = self.n as usize;
        same("rows of a matrix", residuals.rows.pattern.n() as usize, n)?;
        same("a residual", r.len(), n)?;
        same("a preconditioned residual", z.len(), n)?;
        let a = residuals.rows.with(&values)?;
        let (d, p, ap) = (self.d.ptr(), self.p.ptr(), self.ap.ptr());
        let (parts, state) = (self.parts.ptr(), self.state.ptr());
        let product: [&dyn Arg; 5] = [&a, &p, &ap, &parts, &state];
        let advance: [&dyn Arg; 7] = [&self.n, &d, &p, &ap, &r.ptr(), &z.ptr(), &state];
        // SAFETY: the arguments of the kernels; all vectors have n numbers, the matrix n rows, and each block its part.
        unsafe {
            self.product.launch(stream, self.rows, &product)?;
            self.advance.launch(stream, self.each(), &advance)
        }
    }

    /// Waits for the stream; how far the steps came.
    ///
    /// # Errors
    /// What went wrong on the stream.
    pub fn progress(&self, stream: &Stream) -> Result<Progress, GpuError> {
        let state = stream.to_host(&self.state)?;
        Ok(Progress {
            taken: state.first().map_or(0, |s| s.taken as usize),
            going: state.first().is_some_and(|s| s.going != 0),
        })
    }

    /// What was found of `d`.
    #[must_use]
    pub fn found(&self) -> DeviceView<'_, f64> {
        self.d.view()
    }

    fn check(&self, r: &DeviceView<'_, f64>, z: usize) -> Result<(), GpuError> {
        same("a residual", r.len(), self.n as usize)?;
        same("a preconditioned residual", z, self.n as usize)
    }

    /// A thread for each row, up to so many.
    fn each(&self) -> Launch {
        Launch::new(self.n.div_ceil(THREADS).clamp(1, 1 << 14), THREADS)
    }
}
