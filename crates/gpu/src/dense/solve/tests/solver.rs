//! A tree solved on the device with all lists, and on the host.

use super::super::{PanelSolves, SmallSolves, SolveOrder, SolveSpace};
use super::tree::Tree;
use crate::primitives::Real;
use crate::{DeviceBuffer, Gpu, GpuError, Stream};

/// All lists of a tree on the device, stage by stage.
pub(super) struct Solver<T> {
    pub order: SolveOrder,
    pub user: Vec<u32>,
    stages: Vec<(SmallSolves<T>, PanelSolves<T>)>,
    pub arena: DeviceBuffer<T>,
    mail: u64,
}

impl<T: Real> Solver<T> {
    /// With small fronts alone, other than every `third`, whose tiles have inverses as well.
    pub fn new(gpu: &Gpu, stream: &Stream, tree: &Tree<T>, third: usize) -> Result<Self, GpuError> {
        let children = tree.children();
        let last = tree.nodes.iter().map(|n| n.stage).max().unwrap_or(0);
        let (mut stages, mut mail) = (Vec::new(), 0);
        for stage in 0..=last {
            let own = (0..tree.nodes.len()).filter(|&i| tree.nodes[i].stage == stage);
            let is_small =
                |i: &usize| tree.order(*i) <= SmallSolves::<T>::most_rows() && i % 3 != third;
            let (small, large): (Vec<_>, Vec<_>) = own.partition(is_small);
            let fronts = |list: Vec<usize>| {
                list.into_iter()
                    .map(|i| tree.front(i, &children))
                    .collect::<Vec<_>>()
            };
            let (small, large) = (fronts(small), fronts(large));
            // all classes, or as few launches as usual
            let runs = vec![1; small.len()];
            let small = if third.is_multiple_of(2) {
                SmallSolves::with_few(gpu, stream, &small, &runs, 0)?
            } else {
                SmallSolves::new(gpu, stream, &small, &runs)?
            };
            let large = PanelSolves::new(gpu, stream, &large)?;
            mail = large.mail_rows().max(mail);
            stages.push((small, large));
        }
        // any permutation
        let user: Vec<u32> = (0..tree.n)
            .map(|k| (u64::from(k) * 7919 % u64::from(tree.n)) as u32)
            .collect();
        Ok(Self {
            order: SolveOrder::new(gpu, stream, &user)?,
            user,
            stages,
            arena: stream.to_device(gpu, &tree.arena)?,
            mail,
        })
    }

    /// Vectors for `rhs` right-hand sides; nothing in them is a number.
    pub fn space(&self, gpu: &Gpu, stream: &Stream, tree: &Tree<T>, rhs: u32) -> SolveSpace {
        let mut space = SolveSpace::new(gpu, stream, tree.n, tree.updates, self.mail, rhs).unwrap();
        space.poison(stream);
        space
    }

    pub fn enqueue(&self, stream: &Stream, space: &mut SolveSpace) -> Result<(), GpuError> {
        for (small, large) in &self.stages {
            small.forward(stream, &self.arena, space)?;
            large.forward(stream, &self.arena, space)?;
        }
        for (small, large) in self.stages.iter().rev() {
            large.backward(stream, &self.arena, space)?;
            small.backward(stream, &self.arena, space)?;
        }
        Ok(())
    }

    /// Solves with `rhs` columns of `b`, `ld` apart.
    pub fn solve(
        &self,
        gpu: &Gpu,
        stream: &Stream,
        space: &mut SolveSpace,
        b: &[f64],
        ld: u64,
        rhs: u32,
    ) -> Vec<f64> {
        let from = stream.to_device(gpu, b).unwrap();
        let mut to = stream.to_device(gpu, &vec![-7.0; b.len()]).unwrap();
        space.take(stream, &self.order, &from, ld, rhs).unwrap();
        self.enqueue(stream, space).unwrap();
        space.give(stream, &self.order, &mut to, ld, false).unwrap();
        stream.to_host(&to).unwrap()
    }

    /// The same on the host.
    pub fn expect(&self, tree: &Tree<T>, b: &[f64]) -> Vec<f64> {
        let mut x: Vec<f64> = self.user.iter().map(|&i| b[i as usize]).collect();
        tree.solve(&mut x);
        let mut out = vec![0.0; x.len()];
        for (&i, &x) in self.user.iter().zip(&x) {
            out[i as usize] = x;
        }
        out
    }
}
