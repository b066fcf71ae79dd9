//! A stage as data: what is assembled from what, and which fronts are factorized how.

use tamarack_gpu::GpuError;
use tamarack_gpu::dense::{Child, Front, Parent, Placed, Tile};

use super::plan::{DevicePlan, FrontKind};

/// The fronts of one stage.
pub(crate) struct StageWork<'a> {
    /// All fronts, and how many of `children` each has.
    assembled: Vec<(Front, usize)>,
    /// Update matrices that are added, front by front in the order of the tree.
    children: Vec<Child<'a>>,
    /// Where entries of A are added in the arena, and which: positions in the user's values.
    pub to: Vec<u64>,
    /// See `to`.
    pub from: Vec<u32>,
    /// Fronts that are factorized alike, each with its first pivot column.
    pub groups: Vec<Group>,
}

/// Fronts of a stage that are factorized by one list.
pub(crate) struct Group {
    pub kind: FrontKind,
    pub fronts: Vec<Front>,
    /// First pivot column of each, elimination order.
    pub columns: Vec<u32>,
}

/// The ways of factorizing a front, the longest first.
const KINDS: [FrontKind; 3] = [
    FrontKind::Tiled(Tile::T128),
    FrontKind::Tiled(Tile::T64),
    FrontKind::Small,
];

impl<'a> StageWork<'a> {
    /// The work of stage `k`.
    ///
    /// # Errors
    /// As [`DevicePlan::new`].
    pub fn new(plan: &'a DevicePlan, k: usize) -> Result<Self, GpuError> {
        let symbolic = plan.symbolic();
        let mut work = Self {
            assembled: Vec::new(),
            children: Vec::new(),
            to: Vec::new(),
            from: Vec::new(),
            groups: Vec::new(),
        };
        let mut groups = KINDS.map(|kind| Group {
            kind,
            fronts: Vec::new(),
            columns: Vec::new(),
        });
        for &s in plan.staged().stage(k) {
            let s = s as usize;
            let front = plan.front(s)?;
            let before = work.children.len();
            for &c in symbolic.children(s) {
                let relative = symbolic.relative(c as usize);
                if !relative.is_empty() {
                    let update = plan.staged().update_start(c as usize);
                    work.children.push(Child { update, relative });
                }
            }
            let children = work.children.len() - before;
            work.assembled.push((front, children));
            work.add_entries(plan, s, &front)?;
            let kind = plan.kind(s);
            if let Some(group) = groups.iter_mut().find(|g| g.kind == kind) {
                group.fronts.push(front);
                group.columns.push(symbolic.columns(s).start as u32); // below n
            }
        }
        work.groups
            .extend(groups.into_iter().filter(|g| !g.fronts.is_empty()));
        Ok(work)
    }

    /// The fronts with their children, for the assembly.
    pub fn parents(&self) -> Vec<Parent<'_>> {
        let mut rest = &self.children[..];
        let parent = |&(front, count): &(Front, usize)| {
            let (children, others) = rest.split_at(count);
            rest = others;
            Parent { front, children }
        };
        self.assembled.iter().map(parent).collect()
    }

    fn add_entries(&mut self, plan: &DevicePlan, s: usize, front: &Front) -> Result<(), GpuError> {
        let symbolic = plan.symbolic();
        let shape = plan.shape(s)?;
        let panel = Placed::packed(front.panel, shape.panel_height);
        for (column, j) in (0..).zip(symbolic.columns(s)) {
            for (source, row) in symbolic.entries(j).iter() {
                let below = row.checked_sub(front.pivots);
                let stored = below.map_or(row, |r| shape.first_update + r);
                self.to.push(panel.index(stored, column));
                self.from.push(source as u32); // a device plan is refused where A has 2^32 entries
            }
        }
        Ok(())
    }
}
