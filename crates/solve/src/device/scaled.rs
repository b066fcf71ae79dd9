//! A matrix on its way into a factor in single precision.

use tamarack_gpu::spmv::Scaling;
use tamarack_gpu::{DeviceBuffer, DeviceView, Gpu, GpuError, Stream};
use tamarack_numeric::DeviceFactor;
use tamarack_sparse::Pattern;

use super::vectors::{Way, column_mut};

/// Values in double precision on the device, and how they are scaled and rounded; nothing for factors in double
/// precision.
#[derive(Default)]
pub(super) struct Rounding(Option<Parts>);

struct Parts {
    scaling: Scaling,
    /// Whether the matrix is scaled.
    scaled: bool,
    /// Whether the values are those of the matrix that was factorized last.
    current: bool,
    values: DeviceBuffer<f64>,
    way: Way,
}

/// Where the values of a matrix are.
pub(super) enum Values<'a> {
    Host(&'a [f64]),
    Device(DeviceView<'a, f64>),
}

impl Rounding {
    /// For matrices with a pattern.
    pub fn new(
        gpu: &Gpu,
        stream: &Stream,
        pattern: &Pattern,
        scaled: bool,
    ) -> Result<Self, GpuError> {
        let entries = pattern.row_idx().len();
        Ok(Self(Some(Parts {
            scaling: Scaling::new(gpu, stream, pattern.col_ptr(), pattern.row_idx())?,
            scaled,
            current: false,
            values: gpu.alloc(entries)?,
            way: Way::new(gpu, entries)?,
        })))
    }

    /// Whether there is something to be rounded.
    pub fn is_some(&self) -> bool {
        self.0.is_some()
    }

    /// Takes the values of a matrix, and scales and rounds them into those of `factor`.
    pub fn round(
        &mut self,
        from: Values<'_>,
        factor: &mut DeviceFactor<f32>,
    ) -> Result<(), GpuError> {
        let Some(parts) = &mut self.0 else {
            return Ok(());
        };
        let (stream, to) = factor.stream_and_values();
        parts.current = false;
        match from {
            Values::Host(values) => parts.way.up(stream, values, parts.values.view_mut())?,
            Values::Device(values) => stream.copy(values, &mut parts.values)?,
        }
        if parts.scaled {
            parts.scaling.fit(stream, parts.values.view())?;
        }
        parts.scaling.round(stream, parts.values.view(), to)?;
        parts.current = true;
        Ok(())
    }

    /// Another matrix was factorized than the last of [`round`](Self::round).
    pub fn outdate(&mut self) {
        if let Some(parts) = &mut self.0 {
            parts.current = false;
        }
    }

    /// The values of the matrix that was factorized last, if they are here.
    pub fn values(&self) -> Option<DeviceView<'_, f64>> {
        let parts = self.0.as_ref().filter(|parts| parts.current)?;
        Some(parts.values.view())
    }

    /// Enqueues `x ← D x` for the first columns of `n` numbers, where the matrix is scaled.
    pub fn scale(
        &self,
        stream: &Stream,
        x: &mut DeviceBuffer<f64>,
        n: usize,
        columns: usize,
    ) -> Result<(), GpuError> {
        let Some(parts) = self.0.as_ref().filter(|parts| parts.scaled) else {
            return Ok(());
        };
        (0..columns).try_for_each(|c| parts.scaling.apply(stream, column_mut(x, n, c)?))
    }

    /// Natural logarithm of the determinant of D.
    pub fn log_determinant(&self, stream: &Stream) -> Result<f64, GpuError> {
        match self.0.as_ref().filter(|parts| parts.scaled) {
            None => Ok(0.0),
            Some(parts) => {
                let scale = stream.to_host(parts.scaling.diagonal())?;
                Ok(scale.iter().map(|d| d.ln()).sum())
            }
        }
    }
}
