//! Where the time of factorizations and solves on a GPU went: by stage of the tree, by kernel, and piece by piece.

use tamarack_gpu::{Profile as Pieces, Span, Total};
use tamarack_numeric::{DevicePlan, Purpose};
use tamarack_plan::front_flops;

/// One stage of the tree: fronts that were worked off side by side. Seconds are those of its kernels, added up; where
/// kernels ran beside each other that is more than the time that passed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StageTime {
    /// Fronts.
    pub fronts: u64,
    /// Largest order `npiv + nupd` among them.
    pub largest_order: usize,
    /// Operations of one factorization.
    pub flops: u128,
    /// Kernels and fills of all factorizations.
    pub launches: u64,
    /// Their seconds.
    pub factorize_secs: f64,
    /// Seconds of forward substitutions.
    pub forward_secs: f64,
    /// Seconds of backward substitutions.
    pub backward_secs: f64,
}

/// What a GPU did.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceProfile {
    /// When the profile begins, in seconds on the clock of [`Event::start_ns`](crate::Event::start_ns).
    pub origin_secs: f64,
    /// How many factorizations there were.
    pub factorizations: u64,
    /// The stages of the tree, bottom first.
    pub stages: Vec<StageTime>,
    /// Kernels, copies and fills by name, the longest first.
    pub kernels: Vec<Total>,
    /// All pieces, in the order in which they were enqueued; times in seconds from the origin.
    pub pieces: Vec<Span>,
    /// Pieces for which there was no room.
    pub dropped: u64,
}

impl DeviceProfile {
    /// Sums up what was recorded of factors made by a plan.
    pub(crate) fn new(plan: &DevicePlan, recorded: Pieces, origin_secs: f64) -> Self {
        let staged = plan.staged();
        let mut stages: Vec<StageTime> = (0..staged.stages())
            .map(|k| StageTime::of(plan, staged.stage(k)))
            .collect();
        let mut factorizations = 0;
        for piece in &recorded.spans {
            let purpose = Purpose::of_group(piece.group);
            let stage = match purpose {
                Purpose::Factorize(k) | Purpose::Forward(k) | Purpose::Backward(k) => k,
                Purpose::Begin => {
                    factorizations += 1;
                    continue;
                }
                _ => continue,
            };
            let Some(stage) = stages.get_mut(stage as usize) else {
                continue;
            };
            match purpose {
                Purpose::Forward(_) => stage.forward_secs += piece.secs,
                Purpose::Backward(_) => stage.backward_secs += piece.secs,
                _ => {
                    stage.factorize_secs += piece.secs;
                    stage.launches += 1;
                }
            }
        }
        Self {
            origin_secs,
            factorizations,
            stages,
            kernels: recorded.totals(),
            dropped: recorded.dropped,
            pieces: recorded.spans,
        }
    }
}

impl StageTime {
    fn of(plan: &DevicePlan, fronts: &[u32]) -> Self {
        let symbolic = plan.symbolic();
        let sizes = fronts.iter().map(|&s| {
            let s = s as usize;
            (symbolic.npiv(s), symbolic.nupd(s))
        });
        Self {
            fronts: fronts.len() as u64,
            largest_order: sizes.clone().map(|(p, u)| p + u).max().unwrap_or(0),
            flops: sizes.map(|(p, u)| front_flops(p, u)).sum(),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Analysis, Options, models::Model};
    use tamarack_numeric::DeviceOptions;

    #[test]
    fn pieces_are_booked_on_their_stages() {
        let a = "p3d7_12"
            .parse::<Model>()
            .unwrap()
            .generate::<f64>()
            .unwrap();
        let analysis = Analysis::new(a.pattern(), &Options::default()).unwrap();
        let symbolic = analysis.symbolic().clone();
        let plan = DevicePlan::new(symbolic.clone(), &DeviceOptions::default()).unwrap();
        let last = plan.staged().stages() as u32 - 1;
        assert!(last > 0);
        let piece = |name: &str, purpose: Purpose, secs: f64| Span {
            name: name.to_owned(),
            stream: 0,
            start_secs: 0.0,
            secs,
            bytes: 0,
            group: purpose.group(),
        };
        let spans = vec![
            piece("copy", Purpose::Other, 1.0),
            piece("fill", Purpose::Begin, 2.0),
            piece("fill", Purpose::Enter, 0.25),
            piece("entries", Purpose::Enter, 0.5),
            piece("fronts", Purpose::Factorize(0), 4.0),
            piece("fronts", Purpose::Factorize(last), 8.0),
            piece("fill", Purpose::Factorize(last), 16.0),
            piece("solve", Purpose::Forward(0), 32.0),
            piece("solve", Purpose::Backward(last), 64.0),
            piece("of another plan", Purpose::Factorize(last + 1), 128.0),
        ];
        let recorded = Pieces {
            device: 0,
            spans,
            dropped: 3,
        };
        let profile = DeviceProfile::new(&plan, recorded, 0.5);
        assert_eq!(
            (profile.origin_secs, profile.factorizations, profile.dropped),
            (0.5, 1, 3)
        );
        let (first, top) = (profile.stages[0], profile.stages[last as usize]);
        assert_eq!((first.factorize_secs, first.launches), (4.0, 1));
        assert_eq!((first.forward_secs, first.backward_secs), (32.0, 0.0));
        assert_eq!((top.factorize_secs, top.launches), (24.0, 2));
        assert_eq!((top.forward_secs, top.backward_secs), (0.0, 64.0));
        let fronts: u64 = profile.stages.iter().map(|s| s.fronts).sum();
        assert_eq!(fronts, symbolic.supernodes() as u64);
        let flops: u128 = profile.stages.iter().map(|s| s.flops).sum();
        assert_eq!(flops, symbolic.stats().flops_stored);
        assert_eq!(profile.kernels[0].name, "of another plan");
        assert_eq!(profile.pieces.len(), 10);
    }
}
