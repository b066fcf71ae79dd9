//! A stage as data: what is assembled from what, and which fronts are factorized how.

use std::ops::Range;

use tamarack_gpu::GpuError;
use tamarack_gpu::dense::{Child, Front, FusedFront, Parent, Tile};

use super::plan::{DevicePlan, FrontKind};

/// The fronts of one stage.
pub(crate) struct StageWork<'a> {
    /// Fronts that are not small.
    assembled: Vec<Whole>,
    /// Small fronts, sequence by sequence.
    small: Vec<Whole>,
    /// How many fronts each sequence has.
    pub lengths: Vec<u32>,
    /// First pivot column of each small front, elimination order.
    pub small_columns: Vec<u32>,
    /// Update matrices that are added, front by front in the order of the tree.
    children: Vec<Child<'a>>,
    /// Fronts that are factorized tile by tile.
    pub groups: Vec<Group>,
    /// Panels that get the entries of A when it begins, but for those that have them from the beginning.
    pub late: Option<Range<u64>>,
}

/// A front and what goes into it.
struct Whole {
    front: Front,
    /// Among `children`.
    children: Range<usize>,
    /// Its update matrix is summed up where it is eliminated.
    gathered: bool,
}

/// Fronts of a stage that are factorized by one list.
pub(crate) struct Group {
    pub tile: Tile,
    /// Which of the stage's [`parents`](StageWork::parents) they are.
    pub parents: Vec<usize>,
    pub fronts: Vec<Front>,
    /// First pivot column of each, elimination order.
    pub columns: Vec<u32>,
}

impl<'a> StageWork<'a> {
    /// The work of stage `k`.
    ///
    /// # Errors
    /// As [`DevicePlan::new`].
    pub fn new(plan: &'a DevicePlan, k: usize) -> Result<Self, GpuError> {
        let symbolic = plan.symbolic();
        let mut work = Self {
            assembled: Vec::new(),
            small: Vec::new(),
            lengths: Vec::new(),
            small_columns: Vec::new(),
            children: Vec::new(),
            groups: [plan.options().large_tile, Tile::T64]
                .map(Group::new)
                .into(), // the longest first
            late: plan.filled_at(k).filter(|_| k > 0),
        };
        let mut length = 0;
        work.make_room(plan, k);
        for s in plan.staged().stage(k).iter().map(|&s| s as usize) {
            let front = plan.front(s)?;
            let children = work.add_children(plan, s);
            let column = symbolic.columns(s).start as u32; // at most n
            let mut gathered = false;
            match plan.kind(s) {
                FrontKind::Small => {
                    work.small.push(Whole {
                        front,
                        children,
                        gathered,
                    });
                    work.small_columns.push(column);
                    length += 1;
                    // The fronts of a sequence are neighbors: what stands between them is in earlier stages.
                    if !plan.staged().is_joined(s) {
                        work.lengths.push(length);
                        length = 0;
                    }
                    continue;
                }
                FrontKind::Tiled(tile) => {
                    if let Some(group) = work.groups.iter_mut().find(|g| g.tile == tile) {
                        group.parents.push(work.assembled.len());
                        group.fronts.push(front);
                        group.columns.push(column);
                    }
                    gathered = plan.gathers(tile);
                }
                FrontKind::Sum => {}
            }
            work.assembled.push(Whole {
                front,
                children,
                gathered,
            });
        }
        work.groups.retain(|g| !g.fronts.is_empty());
        Ok(work)
    }

    /// Takes room for the small fronts of stage `k`, of which there may be a hundred thousand.
    fn make_room(&mut self, plan: &DevicePlan, k: usize) {
        let (symbolic, all) = (plan.symbolic(), plan.staged().stage(k));
        let small = || {
            let all = all.iter().map(|&s| s as usize);
            all.filter(|&s| plan.kind(s) == FrontKind::Small)
        };
        self.small.reserve(small().count());
        self.small_columns.reserve(small().count());
        let children = |&s: &u32| symbolic.children(s as usize).len();
        self.children.reserve(all.iter().map(children).sum());
    }

    /// Fronts that are not small with their children, for the assembly.
    pub fn parents(&self) -> Vec<Parent<'_>> {
        let parent = |whole: &Whole| Parent {
            front: whole.front,
            children: &self.children[whole.children.clone()],
            gathered: whole.gathered,
        };
        self.assembled.iter().map(parent).collect()
    }

    /// Small fronts with all that goes into them, sequence by sequence.
    pub fn small(&self) -> Vec<FusedFront<'_>> {
        let fused = |whole: &Whole| FusedFront {
            front: whole.front,
            children: &self.children[whole.children.clone()],
        };
        self.small.iter().map(fused).collect()
    }

    fn add_children(&mut self, plan: &'a DevicePlan, s: usize) -> Range<usize> {
        let (symbolic, before) = (plan.symbolic(), self.children.len());
        let children = symbolic.children(s).iter().map(|&c| c as usize);
        self.children
            .extend(children.filter(|&c| symbolic.nupd(c) > 0).map(|c| Child {
                update: plan.staged().update_start(c),
                relative: symbolic.relative(c),
            }));
        before..self.children.len()
    }
}

impl Group {
    fn new(tile: Tile) -> Self {
        Self {
            tile,
            parents: Vec::new(),
            fronts: Vec::new(),
            columns: Vec::new(),
        }
    }
}
