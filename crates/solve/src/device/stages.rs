//! The stages of a factorization as lists of fronts to substitute with.

use tamarack_gpu::dense::{PanelSolves, SmallSolves, SolveChild, SolveFront, SolveSpace};
use tamarack_gpu::{DeviceView, Gpu, GpuError, Stream};
use tamarack_numeric::{DevicePlan, DeviceValue, FrontKind};

/// What a list of solves takes, in the order of the children of its fronts.
struct Lists<'a> {
    fronts: Vec<SolveFront<'a>>,
    /// How many of the children are each front's.
    counts: Vec<usize>,
    children: Vec<SolveChild<'a>>,
}

/// The fronts of one stage on the device.
pub(super) struct Stage<T> {
    small: Option<SmallSolves<T>>,
    tiled: Option<PanelSolves<T>>,
}

impl<T: DeviceValue> Stage<T> {
    /// Uploads stage `k`; `vectors` are the places of what fronts leave for their parents.
    pub fn new(
        gpu: &Gpu,
        stream: &Stream,
        plan: &DevicePlan,
        k: usize,
        vectors: &[u64],
    ) -> Result<Self, GpuError> {
        let of_kind = |wanted: &dyn Fn(usize) -> bool| {
            let all = plan.staged().stage(k).iter().map(|&s| s as usize);
            Lists::new(plan, all.filter(|&s| wanted(s)), vectors)
        };
        let most = SmallSolves::<T>::most_rows() as usize;
        let symbolic = plan.symbolic();
        let rows = |s: usize| symbolic.npiv(s) + symbolic.nupd(s);
        let is_small = |s: usize| match plan.kind(s) {
            FrontKind::Small => true,
            FrontKind::Sum => rows(s) <= most,
            FrontKind::Tiled(_) => false,
        };
        let small = of_kind(&is_small)?;
        // The fronts of a run are those of a sequence of the factorization.
        let (mut runs, mut length) = (Vec::new(), 0);
        for s in plan
            .staged()
            .stage(k)
            .iter()
            .map(|&s| s as usize)
            .filter(|&s| is_small(s))
        {
            length += 1;
            if !plan.staged().is_joined(s) {
                runs.push(length);
                length = 0;
            }
        }
        let mut stage = Self {
            small: None,
            tiled: None,
        };
        if !small.fronts.is_empty() {
            stage.small = Some(SmallSolves::new(gpu, stream, &small.whole(), &runs)?);
        }
        let tiled = of_kind(&|s| !is_small(s))?;
        if !tiled.fronts.is_empty() {
            stage.tiled = Some(PanelSolves::new(gpu, stream, &tiled.whole())?);
        }
        Ok(stage)
    }

    /// Rows of mail that its list needs.
    pub fn mail_rows(&self) -> u64 {
        self.tiled.as_ref().map_or(0, PanelSolves::mail_rows)
    }

    /// Enqueues the forward substitution.
    pub fn forward(
        &self,
        stream: &Stream,
        arena: DeviceView<'_, T>,
        space: &mut SolveSpace,
    ) -> Result<(), GpuError> {
        if let Some(list) = &self.small {
            list.forward(stream, arena, space)?;
        }
        match &self.tiled {
            Some(list) => list.forward(stream, arena, space),
            None => Ok(()),
        }
    }

    /// Enqueues the backward substitution.
    pub fn backward(
        &self,
        stream: &Stream,
        arena: DeviceView<'_, T>,
        space: &mut SolveSpace,
    ) -> Result<(), GpuError> {
        if let Some(list) = &self.small {
            list.backward(stream, arena, space)?;
        }
        match &self.tiled {
            Some(list) => list.backward(stream, arena, space),
            None => Ok(()),
        }
    }
}

impl<'a> Lists<'a> {
    fn new(
        plan: &'a DevicePlan,
        supernodes: impl Iterator<Item = usize>,
        vectors: &[u64],
    ) -> Result<Self, GpuError> {
        let symbolic = plan.symbolic();
        let mut lists = Self {
            fronts: Vec::new(),
            counts: Vec::new(),
            children: Vec::new(),
        };
        for s in supernodes {
            let front = plan.front(s)?;
            let before = lists.children.len();
            let children = symbolic.children(s).iter().map(|&c| c as usize);
            lists.children.extend(children.map(|c| SolveChild {
                update: vectors[c],
                relative: symbolic.relative(c),
            }));
            lists.counts.push(lists.children.len() - before);
            lists.fronts.push(SolveFront {
                pivots: front.pivots,
                panel: front.panel,
                inverse: front.inverse,
                column: symbolic.columns(s).start as u32, // at most n
                rows: symbolic.rows(s),
                update: vectors[s],
                children: &[],
            });
        }
        Ok(lists)
    }

    /// The fronts with their children.
    fn whole(&self) -> Vec<SolveFront<'_>> {
        let mut rest = &self.children[..];
        let with_children = |(front, &count): (&SolveFront<'a>, &usize)| {
            let (children, others) = rest.split_at(count);
            rest = others;
            SolveFront { children, ..*front }
        };
        self.fronts
            .iter()
            .zip(&self.counts)
            .map(with_children)
            .collect()
    }
}
