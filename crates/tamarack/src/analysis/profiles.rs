//! Where the time of an analysis' factors goes: the team that books it on the host, and the recording of a device.

use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Instant;

use tamarack_gpu::Gpu;
use tamarack_numeric::{Profile, Profiler, Team};

use crate::device_profile::DeviceProfile;
use crate::threads::granted;
use crate::{Analysis, Error, Place};

impl Analysis {
    /// Where the time of factorizations and solves went since the analysis was made or this was
    /// called last; `None` where [`Options::profile`](crate::Options::profile) is false.
    ///
    /// Ask between calls; two factors that are used at the same time are booked as one.
    ///
    /// ```
    /// use tamarack::{Analysis, Options, Phase, models};
    ///
    /// # fn main() -> Result<(), tamarack::Error> {
    /// let a = "p2d5_100".parse::<models::Model>()?.generate::<f64>()?;
    /// let mut options = Options::default();
    /// options.profile = true;
    /// let analysis = Analysis::new(a.pattern(), &options)?;
    /// let mut factor = analysis.factorize(&a)?;
    /// factor.solve(&mut vec![1.0; a.n()])?;
    ///
    /// let profile = analysis.take_profile().unwrap_or_default();
    /// for class in profile.classes.iter().filter(|class| class.fronts > 0) {
    ///     let rate = class.flops as f64 / class.factor_secs / 1e9;
    ///     println!("from order {}: {rate:.1} GFLOP/s", class.smallest);
    /// }
    /// let forward = profile.phase(Phase::Forward);
    /// println!("{} bytes in {} s", forward.bytes, forward.wall_secs);
    /// # Ok(())
    /// # }
    /// ```
    pub fn take_profile(&self) -> Option<Profile> {
        let profiler = self
            .team
            .get()
            .map(|(team, _)| team.profiler().map(Profiler::take));
        profiler.unwrap_or_else(|| self.options.profile.then(Profile::default))
    }

    /// What the GPU did since the first factorization or since this was called last; `None` where factors are not
    /// on a GPU or [`Options::profile`](crate::Options::profile) is false. While it is recorded every launch stands between two events, so
    /// that kernels of one stream do not run into each other: the sum is above what an unrecorded run takes.
    ///
    /// Ask between calls. The recording is of all work on the device through this analysis, and through what shares its
    /// [`Place`].
    ///
    /// # Errors
    /// What went wrong on the device.
    pub fn take_device_profile(&self) -> Result<Option<DeviceProfile>, Error> {
        let (Place::Gpu { plan, gpu, .. }, Some(origin)) = (&self.place, self.origin().take())
        else {
            return Ok(None);
        };
        let recorded = gpu.finish_profile()?;
        self.begin_device_profile(gpu);
        Ok(Some(DeviceProfile::new(plan, recorded, origin)))
    }

    fn origin(&self) -> MutexGuard<'_, Option<f64>> {
        self.device_origin
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to record what the device does, if that is wanted and not done already; whether it is. What fails here
    /// fails again in the work that follows.
    pub(super) fn begin_device_profile(&self, gpu: &Gpu) -> bool {
        let mut origin = self.origin();
        if self.options.profile && origin.is_none() && gpu.start_profile().is_ok() {
            *origin = Some(self.started().1.elapsed().as_secs_f64());
        }
        origin.is_some()
    }

    /// The threads that work on its factors.
    pub(crate) fn team(&self) -> &Arc<Team> {
        &self.started().0
    }

    fn started(&self) -> &(Arc<Team>, Instant) {
        self.team.get_or_init(|| {
            let threads = match self.place {
                Place::Cpu { .. } => granted(self.plan.threads()),
                Place::Gpu { .. } => 1, // which books what it does
            };
            let team = if self.options.profile {
                Arc::new(Team::profiled(threads))
            } else {
                Team::shared(threads)
            };
            (team, Instant::now())
        })
    }
}
