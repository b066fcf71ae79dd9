//! What stands in the arena of a factor: panels, which are the factor, and behind them the room of update matrices, which
//! is others' between factorizations.

use tamarack_gpu::dense::Placed;
use tamarack_gpu::{DeviceBuffer, DeviceView, DeviceViewMut, GpuError, Stream};
use tamarack_sparse::Scalar;

use super::factor::{DeviceFactor, DeviceValue};
use super::plan::DevicePlan;
use super::room::Room;

/// Numbers of the factor that come to the host at a time.
const CHUNK: u64 = 1 << 23;

impl<T: DeviceValue> DeviceFactor<T> {
    /// Panels, and what update matrices left: places as the plan says.
    pub fn arena(&self) -> DeviceView<'_, T> {
        self.arena.view()
    }

    /// The arena behind the panels: room of update matrices, which each factorization writes and nobody reads after it.
    ///
    /// # Errors
    /// None.
    pub fn spare(&self) -> Result<DeviceView<'_, T>, GpuError> {
        let panels = self.plan.staged().factor_len() as usize;
        self.arena.view().slice(panels..)
    }

    /// The same, to be written on the stream that all work is enqueued on.
    ///
    /// # Errors
    /// None.
    pub fn stream_and_spare(&mut self) -> Result<(&Stream, DeviceViewMut<'_, T>), GpuError> {
        let (_, spare) = split(&mut self.arena, &self.plan)?;
        Ok((self.lanes.main(), spare))
    }

    /// The same as memory for others between factorizations, `kept` bytes at its beginning apart.
    pub fn room(&self, kept: usize) -> Room {
        let panels = self.plan.staged().factor_len() as usize;
        Room::new(&self.gpu, &self.arena, panels * size_of::<T>() + kept)
    }

    /// The diagonal of L, elimination order, length n; meaningless while the factor is stale. Reads all panels.
    ///
    /// # Errors
    /// A failing device.
    pub fn diagonal(&self) -> Result<Vec<f64>, GpuError> {
        let (staged, symbolic) = (self.plan.staged(), self.plan.symbolic());
        let mut of = vec![0.0; symbolic.n()];
        let (mut host, mut from): (Vec<T>, u64) = (Vec::new(), 0);
        // Panels stand one behind the other in the order of the stages.
        for &s in (0..staged.stages()).flat_map(|k| staged.stage(k)) {
            let (front, shape) = (self.plan.front(s as usize)?, self.plan.shape(s as usize)?);
            if front.panel + shape.panel_len > from + host.len() as u64 {
                from = front.panel;
                let end = (from + shape.panel_len)
                    .max(from + CHUNK)
                    .min(staged.factor_len());
                let part = self.arena.view().slice(from as usize..end as usize)?;
                host = self.stream().to_host(part)?;
            }
            let panel = Placed::packed(front.panel - from, shape.panel_height);
            let diagonal = (0..front.pivots).map(|j| host[panel.index(j, j) as usize]);
            let own = &mut of[symbolic.columns(s as usize)];
            own.iter_mut()
                .zip(diagonal)
                .for_each(|(to, d)| *to = Scalar::to_f64(d));
        }
        Ok(of)
    }
}

/// Panels, and what is behind them.
pub(super) fn split<'a, T: DeviceValue>(
    arena: &'a mut DeviceBuffer<T>,
    plan: &DevicePlan,
) -> Result<(DeviceViewMut<'a, T>, DeviceViewMut<'a, T>), GpuError> {
    arena
        .view_mut()
        .split_at(plan.staged().factor_len() as usize)
}
