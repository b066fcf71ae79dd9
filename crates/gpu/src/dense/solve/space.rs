//! The vectors of a solve on the device, and the way in and out; kernels in `dense/solve_order.cu`.

use super::super::shape;
use super::RHS_GROUP;
use crate::primitives::Real;
use crate::{
    Arg, DeviceBuffer, DevicePtr, DeviceView, DeviceViewMut, Gpu, GpuError, Kernel, Launch,
    Program, Stream,
};

const PROGRAM: Program = Program::at("dense/solve_order.cu");
const THREADS: u32 = 256;

/// Laid out as the kernels' `Vectors`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Vectors {
    x: DevicePtr<f64>,
    updates: DevicePtr<f64>,
    entries: u64,
    length: u64,
    rhs: u32,
    groups: u32,
}

// SAFETY: the layout of the kernels' parameter, without host pointers.
unsafe impl Arg for Vectors {}

/// Right-hand sides and solutions in elimination order, the fronts' vectors of updates, and the mail by which blocks hand
/// solved tiles to each other. Launches on one space belong on one stream.
pub struct SolveSpace {
    entries: u32,
    updates: u64,
    mail_rows: u64,
    most_rhs: u32,
    rhs: u32,
    x: DeviceBuffer<f64>,
    update: DeviceBuffer<f64>,
    mail: DeviceBuffer<[u32; 4]>,
    /// Ticket, blocks that are done, launches.
    state: DeviceBuffer<u32>,
}

impl SolveSpace {
    /// Room for `most_rhs` right-hand sides of `entries` entries, with `updates` places for updates and as much mail as the
    /// largest [`PanelSolves::mail_rows`](super::PanelSolves::mail_rows) of the lists that share it: 8 bytes for each entry and
    /// place, 16 for each row of mail, for every right-hand side.
    ///
    /// # Errors
    /// [`GpuError::OutOfMemory`]; a failing driver call.
    pub fn new(
        gpu: &Gpu,
        stream: &Stream,
        entries: u32,
        updates: u64,
        mail_rows: u64,
        most_rhs: u32,
    ) -> Result<Self, GpuError> {
        let sizes = [entries.into(), updates, mail_rows];
        Self::within(gpu, stream, sizes, most_rhs, |len| gpu.alloc(len))
    }

    /// The same for `[entries, updates, mail_rows]`, with memory for entries and updates from elsewhere. What stands there need not outlive
    /// a solve.
    ///
    /// # Errors
    /// As [`new`](Self::new), and those of `take`.
    pub fn within(
        gpu: &Gpu,
        stream: &Stream,
        [entries, updates, mail_rows]: [u64; 3],
        most_rhs: u32,
        mut take: impl FnMut(usize) -> Result<DeviceBuffer<f64>, GpuError>,
    ) -> Result<Self, GpuError> {
        let order = u32::try_from(entries)
            .map_err(|_| shape("entries of a solve", entries, u32::MAX.into()))?;
        let len =
            |rows: u64| usize::try_from(rows.saturating_mul(most_rhs.into())).unwrap_or(usize::MAX);
        let mut space = Self {
            entries: order,
            updates,
            mail_rows,
            most_rhs,
            rhs: most_rhs,
            x: take(len(entries))?,
            update: take(len(updates))?,
            mail: gpu.alloc(len(mail_rows))?,
            state: gpu.alloc(3)?,
        };
        stream.fill_bytes(&mut space.mail, 0)?;
        stream.fill_bytes(&mut space.state, 0)?;
        Ok(space)
    }

    /// Entries of a right-hand side.
    #[must_use]
    pub fn entries(&self) -> u32 {
        self.entries
    }

    /// Places for updates.
    #[must_use]
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// Rows of mail.
    #[must_use]
    pub fn mail_rows(&self) -> u64 {
        self.mail_rows
    }

    /// Right-hand sides of the launches that follow: those that were taken last, at first as many as there is room for.
    #[must_use]
    pub fn rhs(&self) -> u32 {
        self.rhs
    }

    /// Enqueues: `rhs` right-hand sides, the columns of `from`, `ld` elements apart in user order, become those of the launches
    /// that follow.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for more right-hand sides than there is room for, an order of another length, or columns beyond the end of
    /// `from`; a failing driver call.
    pub fn take<'a, T: Real>(
        &mut self,
        stream: &Stream,
        order: &SolveOrder,
        from: impl Into<DeviceView<'a, T>>,
        ld: u64,
        rhs: u32,
    ) -> Result<(), GpuError> {
        let from = from.into();
        if rhs > self.most_rhs {
            return Err(shape("right-hand sides", rhs.into(), self.most_rhs.into()));
        }
        self.rhs = rhs;
        self.check(order, from.len(), ld)?;
        // SAFETY: the arguments of the kernel; the order is a permutation of the entries, and the columns are within `from`.
        unsafe {
            order.take[T::KIND].launch(
                stream,
                self.all(),
                &[
                    &self.vectors(),
                    &order.user.ptr(),
                    &order.elimination.ptr(),
                    &from.ptr(),
                    &ld,
                ],
            )
        }
    }

    /// Enqueues: solutions go to the columns of `to`, `ld` elements apart in user order, or are added to them.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for an order of another length, or columns beyond the end of `to`; a failing driver call.
    pub fn give<'a, T: Real>(
        &self,
        stream: &Stream,
        order: &SolveOrder,
        to: impl Into<DeviceViewMut<'a, T>>,
        ld: u64,
        add: bool,
    ) -> Result<(), GpuError> {
        let to = to.into();
        self.check(order, to.len(), ld)?;
        let add = u32::from(add);
        // SAFETY: as in `take`; no entry comes twice.
        unsafe {
            order.give[T::KIND].launch(
                stream,
                self.all(),
                &[
                    &self.vectors(),
                    &order.elimination.ptr(),
                    &to.ptr(),
                    &ld,
                    &add,
                ],
            )
        }
    }

    /// An error unless `order` is of the entries, and the columns of `ld` are within `len`.
    fn check(&self, order: &SolveOrder, len: usize, ld: u64) -> Result<(), GpuError> {
        let entries = u64::from(self.entries);
        if order.user.len() as u64 != entries {
            return Err(shape("order of a solve", order.user.len() as u64, entries));
        }
        if self.rhs == 0 {
            return Ok(());
        }
        if ld < entries && self.rhs > 1 {
            return Err(shape("distance of right-hand sides", ld, entries));
        }
        let last = u64::from(self.rhs - 1).checked_mul(ld);
        match last.and_then(|last| last.checked_add(entries)) {
            Some(end) if end <= len as u64 => Ok(()),
            end => Err(shape(
                "right-hand sides",
                end.unwrap_or(u64::MAX),
                len as u64,
            )),
        }
    }

    /// A thread for each entry of each group.
    fn all(&self) -> Launch {
        let blocks = self.entries.div_ceil(THREADS);
        Launch::of([blocks, self.groups(), 1], [THREADS, 1, 1])
    }

    /// Makes everything NaN, for tests.
    #[cfg(test)]
    pub(super) fn poison(&mut self, stream: &Stream) {
        stream.fill_bytes(&mut self.x, 0xFF).unwrap();
        stream.fill_bytes(&mut self.update, 0xFF).unwrap();
    }

    /// Groups of right-hand sides.
    pub(super) fn groups(&self) -> u32 {
        self.rhs.div_ceil(RHS_GROUP)
    }

    pub(super) fn vectors(&self) -> Vectors {
        Vectors {
            x: self.x.ptr(),
            updates: self.update.ptr(),
            entries: self.entries.into(),
            length: self.updates,
            rhs: self.rhs,
            groups: self.groups(),
        }
    }

    pub(super) fn mail(&self) -> (DevicePtr<[u32; 4]>, DevicePtr<u32>) {
        (self.mail.ptr(), self.state.ptr())
    }
}

/// The elimination order on the device, and the kernels that go by it.
pub struct SolveOrder {
    /// The user's number of each elimination number.
    user: DeviceBuffer<u32>,
    /// The elimination number of each of the user's.
    elimination: DeviceBuffer<u32>,
    /// For f64 and f32.
    take: [Kernel; 2],
    give: [Kernel; 2],
}

impl SolveOrder {
    /// Checks and uploads: entry `k` in elimination order is entry `user[k]` of the user's.
    ///
    /// # Errors
    /// [`GpuError::Shape`] unless `user` is a permutation; [`GpuError::OutOfMemory`]; as [`Gpu::load`].
    pub fn new(gpu: &Gpu, stream: &Stream, user: &[u32]) -> Result<Self, GpuError> {
        let mut elimination = vec![u32::MAX; user.len()];
        for (k, &i) in (0_u32..).zip(user) {
            match elimination.get_mut(i as usize) {
                Some(place) if *place == u32::MAX => *place = k,
                _ => {
                    return Err(shape(
                        "a number of a permutation",
                        i.into(),
                        user.len() as u64,
                    ));
                }
            }
        }
        let module = gpu.load(&PROGRAM)?;
        let kernels = |what: &str| -> Result<[Kernel; 2], GpuError> {
            let named = |name: &str| module.kernel(&format!("dense_solve_{what}_{name}"));
            Ok([named(f64::NAME)?, named(f32::NAME)?])
        };
        let (user, elimination) = stream.lists(gpu, (user, &elimination[..]))?;
        Ok(Self {
            user,
            elimination,
            take: kernels("take")?,
            give: kernels("give")?,
        })
    }
}
