//! The residual `r = b − A x` and backward errors, in one pass; kernels in `spmv/backward_error.cu`.
//!
//! Of a symmetric matrix given by one half of its entries; it is kept in full, so that every row is summed by its own threads and
//! nothing is added by atomics. The componentwise backward error is `max |r| / (|A||x| + |b|)` (Oettli and Prager
//! 1964), tiny denominators treated as in LAPACK's `porfs`; the normwise one needs the norms that come with it. NaN wins.
//! Cost: the matrix is read once for four right-hand sides; bits repeat, and do not depend on their number.

use super::THREADS;
use crate::primitives::{MatrixView, MatrixViewMut, blocks, kernels, resident, too_long};
use crate::{
    Arg, DeviceBuffer, DevicePtr, DeviceView, DeviceViewMut, Gpu, GpuError, Kernel, Launch,
    Program, Stream,
};

const PROGRAM: Program = Program::at("spmv/backward_error.cu");
/// Right-hand sides in one reading of the matrix.
const VECTORS: u32 = 4;
/// Maxima of a right-hand side.
const MAXIMA: usize = 6;
/// Most entries of the whole matrix and rows together.
const LIMIT: u64 = (1 << 32) - (1 << 16);

/// Backward errors of one right-hand side. All are NaN where something that they are made of is.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct BackwardError {
    /// `max |r| / (|A||x| + |b|)` over the rows, tiny denominators as in LAPACK's `porfs`; 0 where all denominators are.
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
    /// `‖r‖∞ / (‖A‖∞‖x‖∞ + ‖b‖∞)` (Rigal and Gaches 1967); 0 where all of it is.
    #[must_use]
    pub fn normwise(&self) -> f64 {
        let size = self.matrix * self.solution + self.right_hand_side;
        if self.residual == 0.0 && size == 0.0 {
            0.0
        } else {
            self.residual / size
        }
    }
}

/// Laid out as the kernels' `Problem`.
#[repr(C)]
struct Problem {
    starts: DevicePtr<u32>,
    columns: DevicePtr<u32>,
    values: DevicePtr<f64>,
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
    least: f64,
    n: u32,
    rhs: u32,
}

// SAFETY: the layout of the kernels' parameter, without host pointers.
unsafe impl Arg for Problem {}

/// A symmetric matrix, ready for residuals. Launches belong on one stream.
pub struct Residuals {
    n: u32,
    /// Entries of the half that it is given by.
    half: usize,
    most_entries: u32,
    most_rhs: u32,
    /// Blocks that take all rows, twice as many as run at the same time: for one right-hand side, and up to four.
    blocks: [u32; 2],
    starts: DeviceBuffer<u32>,
    columns: DeviceBuffer<u32>,
    /// Of each entry the number of its value in the half.
    sources: DeviceBuffer<u32>,
    values: DeviceBuffer<f64>,
    most: DeviceBuffer<u64>,
    ticket: DeviceBuffer<u32>,
    /// For one right-hand side, and up to four.
    kernels: [Kernel; 2],
    take_values: Kernel,
}

/// A symmetric pattern in full, by rows: starts, columns, and the number of each entry in the half; and most entries of a row.
type Full = (Vec<u32>, Vec<u32>, Vec<u32>, u32);

/// Both halves of a matrix of which each entry off the diagonal is given once.
fn mirrored(starts: &[u64], indices: &[u32]) -> Result<Full, GpuError> {
    let entries = indices.len() as u64;
    let what = "starts of a symmetric matrix";
    if starts.first() != Some(&0) || starts.last() != Some(&entries) {
        let last = starts.last().copied().unwrap_or(0);
        return Err(too_long(what, last, entries));
    }
    if let Some(pair) = starts.windows(2).find(|p| p[0] > p[1]) {
        return Err(too_long(what, pair[0], pair[1]));
    }
    let n = starts.len() as u64 - 1;
    if 2 * entries + n > LIMIT {
        return Err(too_long(
            "rows and entries of a symmetric matrix",
            2 * entries + n,
            LIMIT,
        ));
    }
    if let Some(&index) = indices.iter().find(|&&i| u64::from(i) >= n) {
        return Err(too_long("index of a symmetric matrix", index.into(), n));
    }
    let line = |j: usize| starts[j] as usize..starts[j + 1] as usize;
    // full[i + 1] counts, then becomes where row i's next entry goes, and so its end
    let mut full = vec![0_u32; starts.len()];
    for j in 0..n as usize {
        for &i in &indices[line(j)] {
            full[i as usize + 1] += 1;
            full[j + 1] += u32::from(i as usize != j);
        }
    }
    let most = full.iter().copied().max().unwrap_or(0);
    let mut next = 0;
    for start in &mut full[1..] {
        (*start, next) = (next, next + *start);
    }
    let (mut columns, mut sources) = (vec![0; next as usize], vec![0; next as usize]);
    let mut put = |row: usize, column: u32, source: usize| {
        let at = full[row + 1] as usize;
        (columns[at], sources[at]) = (column, source as u32); // below LIMIT
        full[row + 1] += 1;
    };
    for j in 0..n as usize {
        for source in line(j) {
            let i = indices[source];
            put(j, i, source);
            if i as usize != j {
                put(i as usize, j as u32, source);
            }
        }
    }
    Ok((full, columns, sources, most))
}

impl Residuals {
    /// Checks and uploads the pattern of a symmetric matrix: line `j` has the entries `indices[starts[j]..starts[j + 1]]`, and each
    /// entry off the diagonal is given once, in either half: a lower half by columns or by rows. The values come with
    /// [`refresh`](Self::refresh). Takes 16 bytes for each entry of the whole matrix.
    ///
    /// # Errors
    /// [`GpuError::Shape`] where starts do not ascend from 0 to the number of entries, an index is too large, or entries of the whole
    /// matrix and rows pass 2^32 - 2^16; [`GpuError::OutOfMemory`]; as [`Gpu::load`].
    pub fn new(
        gpu: &Gpu,
        stream: &Stream,
        starts: &[u64],
        indices: &[u32],
        most_rhs: u32,
    ) -> Result<Self, GpuError> {
        let (full, columns, sources, most_entries) = mirrored(starts, indices)?;
        let n = starts.len() as u32 - 1; // below LIMIT
        let lanes = match columns.len() as u64 / u64::from(n.max(1)) {
            0..=12 => 2,
            13..=48 => 8,
            _ => 32,
        };
        let names = [1, VECTORS].map(|v| format!("backward_error_{lanes}_{v}"));
        let [one, several, take_values] = kernels(
            gpu,
            &PROGRAM,
            [&names[0], &names[1], "backward_error_values"],
        )?;
        let needed = blocks("rows", n.into(), (THREADS / lanes).into())?;
        let enough = |kernel: &Kernel| {
            Ok::<_, GpuError>(needed.min(2 * resident(gpu, kernel, THREADS, 0)?).max(1))
        };
        let mut most = gpu.alloc(most_rhs as usize * MAXIMA)?;
        let mut ticket = gpu.alloc(1)?;
        stream.fill_bytes(&mut most, 0)?;
        stream.fill_bytes(&mut ticket, 0)?;
        Ok(Self {
            n,
            half: indices.len(),
            most_entries,
            most_rhs,
            blocks: [enough(&one)?, enough(&several)?],
            starts: stream.to_device(gpu, &full)?,
            columns: stream.to_device(gpu, &columns)?,
            sources: stream.to_device(gpu, &sources)?,
            values: gpu.alloc(columns.len())?,
            most,
            ticket,
            kernels: [one, several],
            take_values,
        })
    }

    /// Device memory, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        4 * (self.starts.len() + self.columns.len() + self.sources.len()) as u64
            + 8 * self.values.len() as u64
    }

    /// Enqueues: the matrix gets these values, one for each entry that it was given by.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for another number of values; a failing driver call.
    pub fn refresh<'a>(
        &mut self,
        stream: &Stream,
        values: impl Into<DeviceView<'a, f64>>,
    ) -> Result<(), GpuError> {
        let values = values.into();
        if values.len() != self.half {
            let (got, have) = (values.len() as u64, self.half as u64);
            return Err(too_long("values of a symmetric matrix", got, have));
        }
        let count = self.values.len() as u32; // below LIMIT
        let launch = Launch::new(count.div_ceil(THREADS).min(1 << 16), THREADS);
        let args: [&dyn Arg; 4] = [
            &count,
            &self.sources.ptr(),
            &values.ptr(),
            &self.values.ptr(),
        ];
        // SAFETY: the arguments of the kernel; sources are below the number of values.
        unsafe { self.take_values.launch(stream, launch, &args) }
    }

    /// Enqueues `r = b − A x` for each column, and its backward errors.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for matrices of other shapes, more right-hand sides than planned, or `errors` of another length; a failing
    /// driver call.
    pub fn launch<'a>(
        &mut self,
        stream: &Stream,
        b: MatrixView<'_, f64>,
        x: MatrixView<'_, f64>,
        r: MatrixViewMut<'_, f64>,
        errors: impl Into<DeviceViewMut<'a, BackwardError>>,
    ) -> Result<(), GpuError> {
        let (errors, rhs) = (errors.into(), b.columns);
        let shapes = [
            (b.rows, b.columns),
            (x.rows, x.columns),
            (r.rows, r.columns),
        ];
        for (rows, columns) in shapes {
            if rows != self.n {
                return Err(too_long("rows of a residual", rows.into(), self.n.into()));
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
        let safe = (f64::from(self.most_entries) + 1.0) * f64::MIN_POSITIVE;
        let problem = Problem {
            starts: self.starts.ptr(),
            columns: self.columns.ptr(),
            values: self.values.ptr(),
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
            least: safe / f64::EPSILON,
            n: self.n,
            rhs,
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
