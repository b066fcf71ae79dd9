//! A matrix on its way into a factor in single precision.

use tamarack_gpu::spmv::Scaling;
use tamarack_gpu::{DeviceBuffer, DeviceView, DeviceViewMut, Gpu, GpuError, Stream};
use tamarack_numeric::DeviceFactor;
use tamarack_sparse::ElimIdx;

/// Values in double precision on the device, and how they are scaled and rounded; nothing for factors in double
/// precision.
///
/// They are kept for residuals, in memory of their own or in the arena behind the panels, as the plan says: there before a factorization
/// to be rounded into the panels, and again after it, which has written over all that is behind them. So they are brought twice, but not
/// where vectors of solves take that room anyway.
#[derive(Default)]
pub(super) struct Rounding(Option<Parts>);

struct Parts {
    scaling: Scaling,
    /// Whether the matrix is scaled.
    scaled: bool,
    /// Whether the values are those of the matrix that was factorized last.
    current: bool,
    /// Memory for the values where they do not stand in the arena.
    own: Option<DeviceBuffer<f64>>,
}

impl Parts {
    fn new(factor: &DeviceFactor<f32>, scaled: bool) -> Result<Self, GpuError> {
        let (gpu, stream, pattern) = (factor.gpu(), factor.stream(), factor.pattern());
        let (starts, rows) = (pattern.col_ptr(), pattern.row_idx());
        let apart = factor.plan().values_apart();
        Ok(Self {
            scaling: Scaling::new(gpu, stream, factor.half_pattern(), starts, rows)?,
            scaled,
            current: false,
            own: apart.then(|| gpu.alloc(rows.len())).transpose()?,
        })
    }
}

/// Where the values of a matrix are.
#[derive(Clone, Copy)]
pub(super) enum Values<'a> {
    Host(&'a [f64]),
    Device(DeviceView<'a, f64>),
}

impl Values<'_> {
    /// Brings them to where `stream` reads them next.
    fn bring(self, gpu: &Gpu, stream: &Stream, to: DeviceViewMut<'_, f64>) -> Result<(), GpuError> {
        match self {
            Self::Host(values) => {
                stream.synchronize()?; // nothing reads what stands there
                gpu.upload_all(values, to)
            }
            Self::Device(values) => stream.copy(values, to),
        }
    }
}

impl Rounding {
    /// For matrices with the pattern of a factor.
    pub fn new(factor: &DeviceFactor<f32>, scaled: bool) -> Result<Self, GpuError> {
        Ok(Self(Some(Parts::new(factor, scaled)?)))
    }

    /// Scales and rounds the values of a matrix, factorizes it, and keeps the values; the first bad pivot, and what it was.
    pub fn factorize(
        &mut self,
        from: Values<'_>,
        factor: &mut DeviceFactor<f32>,
    ) -> Result<Option<(ElimIdx, f64)>, GpuError> {
        let parts = match &mut self.0 {
            Some(parts) => parts,
            None => self.0.insert(Parts::new(factor, false)?),
        };
        parts.current = false;
        let (gpu, entries) = (factor.gpu().clone(), parts.scaling.pattern().entries());
        let (stream, spare) = factor.stream_and_spare()?;
        let to = of_mut(&mut parts.own, spare, entries)?;
        from.bring(&gpu, stream, to)?;
        if parts.scaled {
            let wide = of(&parts.own, factor.spare()?, entries)?;
            parts.scaling.fit(factor.stream(), wide)?;
        }
        let own = parts.own.as_ref().map(DeviceBuffer::view);
        let scale = parts.scaled.then(|| parts.scaling.diagonal());
        let bad = factor.refactorize_wide(own, scale)?;
        if bad.is_some() {
            return Ok(bad);
        }
        if parts.own.is_none() {
            let (stream, spare) = factor.stream_and_spare()?;
            let to = of_mut(&mut parts.own, spare, entries)?;
            from.bring(&gpu, stream, to)?;
            // Whoever the values are may write others as soon as this returns.
            factor.stream().synchronize()?;
        }
        parts.current = true;
        Ok(None)
    }

    /// Another matrix was factorized than the last of [`factorize`](Self::factorize).
    pub fn outdate(&mut self) {
        if let Some(parts) = &mut self.0 {
            parts.current = false;
        }
    }

    /// The values of the matrix that `factor` has factorized last, if they are here.
    pub fn values<'a>(&'a self, factor: &'a DeviceFactor<f32>) -> Option<DeviceView<'a, f64>> {
        let parts = self.0.as_ref().filter(|parts| parts.current)?;
        let entries = parts.scaling.pattern().entries();
        of(&parts.own, factor.spare().ok()?, entries).ok()
    }

    /// Whether matrices are scaled before they are rounded.
    pub fn is_scaled(&self) -> bool {
        self.0.as_ref().is_some_and(|parts| parts.scaled)
    }

    /// Enqueues what comes before a solve in single precision with the first `len` numbers of `x`, columns one behind the other: see
    /// [`Scaling::bring_in`].
    pub fn bring_in(
        &mut self,
        stream: &Stream,
        x: &mut DeviceBuffer<f64>,
        len: usize,
    ) -> Result<(), GpuError> {
        match &mut self.0 {
            Some(parts) => parts
                .scaling
                .bring_in(stream, x.view_mut().split_at(len)?.0),
            None => Ok(()),
        }
    }

    /// Enqueues what comes after it: see [`Scaling::bring_back`].
    pub fn bring_back(
        &self,
        stream: &Stream,
        x: &mut DeviceBuffer<f64>,
        len: usize,
    ) -> Result<(), GpuError> {
        match &self.0 {
            Some(parts) => parts
                .scaling
                .bring_back(stream, x.view_mut().split_at(len)?.0),
            None => Ok(()),
        }
    }

    /// The diagonal of D, user order, where the matrix is scaled.
    pub fn scale(&self, stream: &Stream) -> Result<Option<Vec<f64>>, GpuError> {
        let parts = self.0.as_ref().filter(|parts| parts.scaled);
        let scale = |parts: &Parts| stream.to_host(parts.scaling.diagonal());
        parts.map(scale).transpose()
    }
}

/// The values where they stand: `entries` numbers of their own, or in the spare part of an arena.
fn of<'a>(
    own: &'a Option<DeviceBuffer<f64>>,
    spare: DeviceView<'a, f32>,
    entries: usize,
) -> Result<DeviceView<'a, f64>, GpuError> {
    match own {
        Some(own) => Ok(own.view()),
        None => spare.cast::<f64>().slice(..entries),
    }
}

/// The same, to be written.
fn of_mut<'a>(
    own: &'a mut Option<DeviceBuffer<f64>>,
    spare: DeviceViewMut<'a, f32>,
    entries: usize,
) -> Result<DeviceViewMut<'a, f64>, GpuError> {
    match own {
        Some(own) => Ok(own.view_mut()),
        None => Ok(spare.cast::<f64>().split_at(entries)?.0),
    }
}
