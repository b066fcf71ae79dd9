//! The lists of a device plan, carried out on the host by loops that are plain to see.
//!
//! Everything is read from and written to one arena that is poisoned at first, at the places of the plan, so two
//! matrices that overlap while both are needed would show. A device runs the same lists.

use std::ops::Range;

use tamarack_gpu::dense::{Front, FrontShape, Parent, Placed};
use tamarack_plan::Precision;
use tamarack_sparse::SymmetricCsc;

use super::super::plan::DevicePlan;
use super::super::work::StageWork;

/// A front's panel and update matrix as the kernels address them.
pub(super) struct Places {
    panel: Placed,
    update: Placed,
    pub pivots: u32,
    updates: u32,
    first_update: u32,
}

fn shape(precision: Precision, pivots: u32, updates: u32) -> FrontShape {
    match precision {
        Precision::F64 => FrontShape::of::<f64>(pivots, updates),
        Precision::F32 => FrontShape::of::<f32>(pivots, updates),
    }
    .unwrap()
}

impl Places {
    pub fn of(front: &Front, precision: Precision) -> Self {
        let shape = shape(precision, front.pivots, front.updates);
        Self {
            panel: Placed::packed(front.panel, shape.panel_height),
            update: Placed::packed(front.update, shape.update_height),
            pivots: front.pivots,
            updates: front.updates,
            first_update: shape.first_update,
        }
    }

    pub fn order(&self) -> u32 {
        self.pivots + self.updates
    }

    /// Where entry (i, j) of the front stands, i ≥ j.
    pub fn at(&self, i: u32, j: u32) -> usize {
        let index = match (i.checked_sub(self.pivots), j.checked_sub(self.pivots)) {
            (Some(i), Some(j)) => self.update.index(i, j),
            (Some(i), None) => self.panel.index(self.first_update + i, j),
            _ => self.panel.index(i, j),
        };
        index as usize
    }
}

/// The panels that begin in a range, as they are before their fronts are assembled: the entries of A, each at its row and column, zeros
/// elsewhere.
fn enter(plan: &DevicePlan, a: &SymmetricCsc<f64>, panels: Range<u64>, arena: &mut [f64]) {
    let (pattern, values) = (a.pattern(), a.values());
    let (symbolic, precision) = (plan.symbolic(), plan.precision());
    let position = symbolic.permutation().elim_of_user();
    let front_of: Vec<usize> = (0..symbolic.supernodes())
        .flat_map(|s| symbolic.columns(s).map(move |_| s))
        .collect();
    arena[panels.start as usize..panels.end as usize].fill(0.0);
    for (j, range) in pattern.col_ptr().windows(2).enumerate() {
        for k in range[0] as usize..range[1] as usize {
            let (a, b) = (position[j], position[pattern.row_idx()[k] as usize]);
            let (row, column) = (a.max(b), a.min(b));
            let s = front_of[column as usize];
            if !panels.contains(&plan.staged().panel_start(s)) {
                continue;
            }
            let (own, first) = (
                Places::of(&plan.front(s).unwrap(), precision),
                symbolic.columns(s).start as u32,
            );
            let row = match symbolic.rows(s).binary_search(&row) {
                Ok(below) => own.pivots + below as u32,
                Err(_) => row - first,
            };
            arena[own.at(row, column - first)] = values[k];
        }
    }
}

fn assemble(arena: &mut [f64], parent: &Parent<'_>, precision: Precision) {
    let own = Places::of(&parent.front, precision);
    let last = if parent.front.fresh {
        own.pivots
    } else {
        own.order()
    };
    for j in own.pivots..last {
        for i in j..own.order() {
            arena[own.at(i, j)] = 0.0;
        }
    }
    for child in parent.children {
        let order = child.relative.len() as u32;
        let height = shape(precision, 0, order).update_height;
        let from = Placed::packed(child.update, height);
        for j in 0..order {
            for i in j..order {
                let [row, column] = [i, j].map(|k| child.relative[k as usize]);
                arena[own.at(row, column)] += arena[from.index(i, j) as usize];
            }
        }
    }
}

/// Eliminates the pivots; the first that is not positive.
fn eliminate(arena: &mut [f64], front: &Front, precision: Precision) -> Option<u32> {
    let own = Places::of(front, precision);
    if front.fresh {
        for j in own.pivots..own.order() {
            (j..own.order()).for_each(|i| arena[own.at(i, j)] = 0.0);
        }
    }
    let mut bad = None;
    for k in 0..own.pivots {
        let pivot = arena[own.at(k, k)];
        if (pivot.is_nan() || pivot <= 0.0) && bad.is_none() {
            bad = Some(k);
        }
        let root = pivot.sqrt();
        arena[own.at(k, k)] = root;
        (k + 1..own.order()).for_each(|i| arena[own.at(i, k)] /= root);
        for j in k + 1..own.order() {
            let factor = arena[own.at(j, k)];
            for i in j..own.order() {
                arena[own.at(i, j)] -= arena[own.at(i, k)] * factor;
            }
        }
    }
    bad
}

/// Carries out all stages; the arena, and the first bad pivot.
pub(super) fn carry_out(plan: &DevicePlan, a: &SymmetricCsc<f64>) -> (Vec<f64>, Option<u32>) {
    let mut arena = vec![f64::NAN; plan.staged().arena_len() as usize];
    let early = plan.filled_at(0).map_or(0, |panels| panels.end);
    enter(plan, a, 0..early, &mut arena);
    let precision = plan.precision();
    let mut first: Option<u32> = None;
    for k in 0..plan.staged().stages() {
        let work = StageWork::new(plan, k).unwrap();
        if let Some(panels) = work.late.clone() {
            enter(plan, a, panels, &mut arena);
        }
        let parents = work.parents();
        parents
            .iter()
            .for_each(|p| assemble(&mut arena, p, precision));
        for (small, column) in work.small().iter().zip(&work.small_columns) {
            let parent = Parent {
                front: Front {
                    fresh: false,
                    ..small.front
                },
                children: small.children,
                gathered: false,
            };
            assemble(&mut arena, &parent, precision);
            let bad = eliminate(&mut arena, &parent.front, precision);
            first = first
                .into_iter()
                .chain(bad.map(|pivot| column + pivot))
                .min();
        }
        for group in &work.groups {
            for (front, column) in group.fronts.iter().zip(&group.columns) {
                let bad = eliminate(&mut arena, front, precision).map(|pivot| column + pivot);
                first = first.into_iter().chain(bad).min();
            }
        }
    }
    (arena, first)
}
