//! A factorization in stages: many fronts side by side, for a device that wants thousands at a time.
//!
//! The fronts of a stage do not depend on each other, but for those that are *joined* to their parents: they are done
//! just before them, by the same worker. All other children are in earlier stages, as late as they can be
//! (counted back from the roots), so that their update matrices live from one stage to the next. The
//! forest may be cut into *waves*, bundles of subtrees that are worked off one after the other before the top of
//! the tree: more stages, but fewer update matrices at a time.
//!
//! Places as in [`places`](crate::places): panels stand at the left of one arena in the order of their stages; an
//! update matrix lives from its own stage to its parent's, in the room of panels of later stages, found by walking
//! the stages backwards. The many small update matrices with the same life share one place.
//! Cost: linear in the supernodes, but for the large update matrices, `O(free parts)` each.

use std::collections::BTreeMap;
use std::sync::Arc;

use tamarack_symbolic::{SymbolicFactor, front_flops};

use crate::error::PlanError;
use crate::room::Room;

/// An update matrix that is at least this part of the factor has a place of its own.
const LARGE_UPDATE: u64 = 2048;

/// What a front takes in the arena, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrontSizes {
    /// The panel, and whatever is kept with it for the solves.
    pub panel: u64,
    /// The update matrix.
    pub update: u64,
}

/// Stages of a factorization, and where every panel and update matrix stands: immutable.
#[derive(Clone, Debug)]
pub struct StagedPlan {
    symbolic: Arc<SymbolicFactor>,
    /// Offsets into `fronts`, by stage; length stages + 1.
    stage_ptr: Vec<u32>,
    /// Supernodes, stage by stage, increasing within each.
    fronts: Vec<u32>,
    /// Stage of each supernode.
    stage: Vec<u32>,
    /// Where the panel of each supernode begins, in numbers.
    panel: Vec<u64>,
    /// Where its update matrix begins.
    update: Vec<u64>,
    /// Numbers of all panels: they stand at the left of the arena.
    factor_len: u64,
    /// Numbers of the arena.
    arena_len: u64,
}

impl StagedPlan {
    /// Plans with the sizes that `sizes(npiv, nupd)` gives, in at least `waves` waves where the forest is large
    /// enough; 1 is a single one. `joined(s)` says whether supernode `s` is done in the stage of its parent.
    ///
    /// # Errors
    /// [`PlanError::TooLarge`] where the arena cannot be addressed.
    pub fn new(
        symbolic: Arc<SymbolicFactor>,
        sizes: impl Fn(usize, usize) -> FrontSizes,
        joined: impl Fn(usize) -> bool,
        waves: usize,
    ) -> Result<Self, PlanError> {
        let count = symbolic.supernodes();
        let sizes: Vec<FrontSizes> = (0..count)
            .map(|s| sizes(symbolic.npiv(s), symbolic.nupd(s)))
            .collect();
        let (stage, stages) = assign_stages(&symbolic, &wave_of(&symbolic, waves), joined);
        let (stage_ptr, fronts) = sort_by_stage(&stage, stages);
        let mut panel = vec![0; count];
        // where the panels of all stages up to this one end
        let mut level = Vec::with_capacity(stages);
        let mut end = 0_u64;
        for k in 0..stages {
            for &s in &fronts[stage_ptr[k] as usize..stage_ptr[k + 1] as usize] {
                panel[s as usize] = end;
                let len = sizes[s as usize].panel;
                end = end.checked_add(len).ok_or(PlanError::TooLarge)?;
            }
            level.push(end);
        }
        let mut plan = Self {
            symbolic,
            stage_ptr,
            fronts,
            stage,
            panel,
            update: Vec::new(),
            factor_len: end,
            arena_len: end,
        };
        let large = (end / LARGE_UPDATE).max(1);
        let (right_end, _) = plan.lay_out(|s| sizes[s].update, large);
        for (s, &right_end) in right_end.iter().enumerate() {
            let parent = plan.symbolic.parent(s).filter(|_| right_end > 0);
            if let Some(parent) = parent {
                let needed = level[plan.stage[parent] as usize].checked_add(right_end);
                plan.arena_len = plan.arena_len.max(needed.ok_or(PlanError::TooLarge)?);
            }
        }
        plan.update = right_end.iter().map(|end| plan.arena_len - end).collect();
        Ok(plan)
    }

    /// Room for something of length `len(s)` that lives from the stage of `s` to that of its parent: for each
    /// supernode where it ends, counted from the right, and the room in all. Walks backwards: a stage takes room for
    /// its children's, and gives back that of its own. What is shorter than `large` is bundled.
    fn lay_out(&self, len: impl Fn(usize) -> u64, large: u64) -> (Vec<u64>, u64) {
        let mut room = Room::default();
        // parts taken, by the stage in which they were made: from the right end, and their length
        let mut made: Vec<Vec<(u64, u64)>> = vec![Vec::new(); self.stages()];
        let mut right_end = vec![0_u64; self.stage.len()];
        let mut most = 0;
        for k in (0..self.stages()).rev() {
            // small ones by their own stage: their numbers, their length
            let mut small: BTreeMap<u32, (Vec<u32>, u64)> = BTreeMap::new();
            let children = |s: &u32| self.symbolic.children(*s as usize).iter();
            for &c in self.stage(k).iter().flat_map(children) {
                let (own, born) = (len(c as usize), self.stage[c as usize]);
                if own >= large {
                    let at = room.allocate(own);
                    right_end[c as usize] = at + own;
                    made[born as usize].push((at, own));
                } else if own > 0 {
                    let bundle = small.entry(born).or_default();
                    bundle.0.push(c);
                    bundle.1 += own;
                }
            }
            for (born, (members, bundle)) in small {
                let at = room.allocate(bundle);
                made[born as usize].push((at, bundle));
                let mut end = at + bundle;
                for c in members {
                    right_end[c as usize] = end;
                    end -= len(c as usize);
                }
            }
            for &(at, own) in &made[k] {
                most = most.max(at + own);
                room.release(at, own);
            }
        }
        (right_end, most)
    }

    /// Places for a vector of `nupd` numbers of each supernode, from its stage to that of its parent, and how many
    /// numbers that takes in all: what a forward substitution leaves for the parent.
    pub fn update_vectors(&self) -> (Vec<u64>, u64) {
        let (right_end, most) = self.lay_out(|s| self.symbolic.nupd(s) as u64, 1 << 16);
        (right_end.iter().map(|end| most - end).collect(), most)
    }

    /// The structure that is factorized.
    pub fn symbolic(&self) -> &Arc<SymbolicFactor> {
        &self.symbolic
    }

    /// Number of stages.
    pub fn stages(&self) -> usize {
        self.stage_ptr.len() - 1
    }

    /// Supernodes of stage `k`, increasing.
    pub fn stage(&self, k: usize) -> &[u32] {
        &self.fronts[self.stage_ptr[k] as usize..self.stage_ptr[k + 1] as usize]
    }

    /// Whether supernode `s` is done in the stage of its parent.
    pub fn is_joined(&self, s: usize) -> bool {
        let parent = self.symbolic.parent(s);
        parent.is_some_and(|p| self.stage[p] == self.stage[s])
    }

    /// Where the panels of stage `k` stand, one behind the other, in numbers.
    pub fn panels(&self, k: usize) -> std::ops::Range<u64> {
        let start = |k: usize| match self.stage_ptr.get(k) {
            Some(&first) if k < self.stages() => self.panel[self.fronts[first as usize] as usize],
            _ => self.factor_len,
        };
        start(k)..start(k + 1)
    }

    /// Runs of stages whose panels may be written when the first of them begins: no update matrix stands in their room from then on.
    /// Together they are all stages. Cost: linear in the supernodes.
    pub fn fills(&self) -> Vec<std::ops::Range<usize>> {
        // free[k]: where the first update matrix stands that is added to a parent of stage k or later
        let mut free = vec![u64::MAX; self.stages() + 1];
        for s in (0..self.symbolic.supernodes()).filter(|&s| self.symbolic.nupd(s) > 0) {
            if let Some(parent) = self.symbolic.parent(s) {
                let own = &mut free[self.stage[parent] as usize];
                *own = self.update[s].min(*own);
            }
        }
        for k in (0..self.stages()).rev() {
            free[k] = free[k].min(free[k + 1]);
        }
        let (mut fills, mut first) = (Vec::new(), 0);
        while first < self.stages() {
            let behind = first + 1;
            let fits = |&k: &usize| self.panels(k).end <= free[first];
            let end = (behind..self.stages())
                .take_while(fits)
                .last()
                .map_or(behind, |k| k + 1);
            fills.push(first..end);
            first = end;
        }
        fills
    }

    /// Where the panel of supernode `s` begins, in numbers.
    pub fn panel_start(&self, s: usize) -> u64 {
        self.panel[s]
    }

    /// Where the update matrix of supernode `s` begins, in numbers; it is there from the stage of `s` to that of
    /// its parent. Anything where it is empty.
    pub fn update_start(&self, s: usize) -> u64 {
        self.update[s]
    }

    /// Numbers of all panels: they stand at the left of the arena.
    pub fn factor_len(&self) -> u64 {
        self.factor_len
    }

    /// Numbers of the arena.
    pub fn arena_len(&self) -> u64 {
        self.arena_len
    }
}

/// Supernodes in the order of their stages, and where each stage begins.
fn sort_by_stage(stage: &[u32], stages: usize) -> (Vec<u32>, Vec<u32>) {
    let mut ptr = vec![0_u32; stages + 1];
    for &k in stage {
        ptr[k as usize + 1] += 1;
    }
    for k in 0..stages {
        ptr[k + 1] += ptr[k];
    }
    let (mut next, mut fronts) = (ptr.clone(), vec![0; stage.len()]);
    for (s, &k) in (0..).zip(stage) {
        fronts[next[k as usize] as usize] = s;
        next[k as usize] += 1;
    }
    (ptr, fronts)
}

/// The wave of every supernode, 0 on; the top of the tree is the last. Subtrees with more than their share of the
/// operations are split, the others bundled in postorder.
fn wave_of(symbolic: &SymbolicFactor, waves: usize) -> Vec<u32> {
    let count = symbolic.supernodes();
    if waves <= 1 {
        return vec![0; count];
    }
    let own = |s: usize| front_flops(symbolic.npiv(s), symbolic.nupd(s)) as f64;
    let mut work: Vec<f64> = (0..count).map(own).collect();
    for s in 0..count {
        if let Some(parent) = symbolic.parent(s) {
            work[parent] += work[s];
        }
    }
    let roots = (0..count).filter(|&s| symbolic.parent(s).is_none());
    let share = roots.map(|s| work[s]).sum::<f64>() / waves as f64;
    let split = |s: usize| work[s] > share;
    let below = |s: usize| !split(s) && symbolic.parent(s).is_none_or(split); // the root of a subtree
    let (mut wave, mut done) = (0_u32, 0.0);
    let mut of = vec![u32::MAX; count];
    for s in (0..count).filter(|&s| below(s)) {
        if done > 0.0 && done + work[s] > share {
            (wave, done) = (wave + 1, 0.0);
        }
        of[s] = wave;
        done += work[s];
    }
    for s in (0..count).rev() {
        if of[s] == u32::MAX {
            let above = symbolic.parent(s).filter(|_| !split(s));
            of[s] = above.map_or(wave + 1, |parent| of[parent]);
        }
    }
    of
}

/// The stage of every supernode and the number of stages: waves one after the other, and in each the
/// distance from its last stage.
fn assign_stages(
    symbolic: &SymbolicFactor,
    wave: &[u32],
    joined: impl Fn(usize) -> bool,
) -> (Vec<u32>, usize) {
    let waves = wave.iter().max().map_or(0, |&w| w as usize + 1);
    let mut depth = vec![0_u32; wave.len()];
    let mut deepest: Vec<Option<u32>> = vec![None; waves];
    for s in (0..wave.len()).rev() {
        let parent = symbolic.parent(s).filter(|&p| wave[p] == wave[s]);
        depth[s] = parent.map_or(0, |p| depth[p] + u32::from(!joined(s)));
        let most = &mut deepest[wave[s] as usize];
        *most = Some(most.unwrap_or(0).max(depth[s]));
    }
    let mut last = Vec::with_capacity(waves); // last stage of every wave
    let mut stages = 0;
    for most in deepest {
        stages += most.map_or(0, |d| d + 1);
        last.push(stages.saturating_sub(1));
    }
    let of = |(&w, &d): (&u32, &u32)| last[w as usize] - d;
    (wave.iter().zip(&depth).map(of).collect(), stages as usize)
}
