//! The lists of a device plan, carried out on the host by loops that are plain to see, against the host's factor.
//!
//! Everything is read from and written to one arena that is poisoned at first, at the places of the plan, so two
//! matrices that overlap while both are needed would show. A device runs the same lists.

use std::ops::Range;
use std::sync::Arc;

use tamarack_gpu::Gpu;
use tamarack_gpu::dense::{Front, FrontShape, Parent, Placed, Tile};
use tamarack_plan::{FactorPlan, Machine, PlanOptions, Precision};
use tamarack_sparse::models::Model;
use tamarack_sparse::{Permutation, Scalar, SymmetricCsc};
use tamarack_symbolic::{SymbolicFactor, SymbolicOptions};

use super::plan::{DeviceOptions, DevicePlan};
use super::rates::DeviceRates;
use super::work::StageWork;
use crate::{Control, DeviceFactor, DeviceValue, FactorError, FactorOptions, NumericFactor, Team};

/// A front's panel and update matrix as the kernels address them.
struct Places {
    panel: Placed,
    update: Placed,
    pivots: u32,
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
    fn of(front: &Front, precision: Precision) -> Self {
        let shape = shape(precision, front.pivots, front.updates);
        Self {
            panel: Placed::packed(front.panel, shape.panel_height),
            update: Placed::packed(front.update, shape.update_height),
            pivots: front.pivots,
            updates: front.updates,
            first_update: shape.first_update,
        }
    }

    fn order(&self) -> u32 {
        self.pivots + self.updates
    }

    /// Where entry (i, j) of the front stands, i ≥ j.
    fn at(&self, i: u32, j: u32) -> usize {
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
fn carry_out(plan: &DevicePlan, a: &SymmetricCsc<f64>) -> (Vec<f64>, Option<u32>) {
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

/// Largest difference of two factors, over the largest entry.
fn difference(plan: &DevicePlan, arena: &[f64], host: &NumericFactor<f64>) -> f64 {
    let symbolic = plan.symbolic();
    let (mut most, mut norm) = (0.0_f64, 0.0_f64);
    for s in 0..symbolic.supernodes() {
        let own = Places::of(&plan.front(s).unwrap(), plan.precision());
        let (layout, panel) = (host.plan().panel_layout(s), host.panel(s));
        for j in 0..own.pivots {
            for i in j..own.order() {
                let want = layout.entry(panel, i as usize, j as usize);
                let got = arena[own.at(i, j)];
                assert!(got.is_finite(), "front {s}, entry ({i}, {j})");
                most = most.max((got - want).abs());
                norm = norm.max(want.abs());
            }
        }
    }
    if norm == 0.0 { 0.0 } else { most / norm }
}

pub(super) fn symbolic(a: &SymmetricCsc<f64>) -> Arc<SymbolicFactor> {
    let n = a.n();
    // numbers far apart come together: a bushy tree without an ordering crate
    let mut order: Vec<u32> = (0..n as u32).collect();
    order.sort_by_key(|&k| (k.trailing_ones(), k.reverse_bits()));
    let order = Permutation::from_elimination_order(&order).unwrap();
    Arc::new(SymbolicFactor::analyze(a.pattern(), &order, &SymbolicOptions::default()).unwrap())
}

fn host(symbolic: &Arc<SymbolicFactor>, a: &SymmetricCsc<f64>) -> NumericFactor<f64> {
    let (machine, options) = (Machine::default(), PlanOptions::default());
    let plan = FactorPlan::new(symbolic.clone(), &machine, &options).unwrap();
    let (team, options) = (Arc::new(Team::new(1)), FactorOptions::default());
    NumericFactor::factorize(plan.into(), team, a, &options, &Control::default()).unwrap()
}

pub(super) fn model(name: &str) -> SymmetricCsc<f64> {
    name.parse::<Model>().unwrap().generate().unwrap()
}

/// All kinds of fronts on small matrices: few fit into one block, and tiles of 128 begin early.
const SMALL: DeviceOptions = DeviceOptions {
    small_order: 24,
    sequence: 5,
    large_extent: 150,
    large_tile: Tile::T128,
    precision: Precision::F64,
    waves: 1,
    rates: DeviceRates::H100,
};

#[test]
fn predictions_follow_the_rates_and_plans_do_not() {
    let symbolic = symbolic(&model("p3d7_17"));
    for precision in [Precision::F64, Precision::F32] {
        let options = DeviceOptions { precision, ..SMALL };
        let plan = DevicePlan::new(symbolic.clone(), &options).unwrap();
        let secs = plan.predicted_secs();
        let h100 = DeviceRates::H100;
        let faster = [
            DeviceRates {
                f64_flops_per_sec: 2.0 * h100.f64_flops_per_sec,
                f32_flops_per_sec: 2.0 * h100.f32_flops_per_sec,
                ..h100
            },
            DeviceRates {
                copy_bytes_per_sec: 2.0 * h100.copy_bytes_per_sec,
                ..h100
            },
            DeviceRates {
                tile_secs: 0.5 * h100.tile_secs,
                ..h100
            },
            DeviceRates {
                graph_secs: 0.5 * h100.graph_secs,
                ..h100
            },
            DeviceRates {
                upload_bytes_per_sec: 2.0 * h100.upload_bytes_per_sec,
                ..h100
            },
        ];
        for rates in faster {
            let less = plan.predicted_secs_by(&rates);
            assert!(less < secs && less > 0.4 * secs, "{rates:?}: {less} {secs}");
            let other =
                DevicePlan::new(symbolic.clone(), &DeviceOptions { rates, ..options }).unwrap();
            assert_eq!(other.predicted_secs(), less);
            assert_eq!(other.arena_bytes(), plan.arena_bytes());
            assert_eq!(other.staged().stages(), plan.staged().stages());
            for s in 0..symbolic.supernodes() {
                assert_eq!(other.kind(s), plan.kind(s));
                let places = |plan: &DevicePlan| {
                    let front = plan.front(s).unwrap();
                    (front.panel, front.update, front.inverse)
                };
                assert_eq!(places(&other), places(&plan));
            }
        }
        let half = |value: f64| 0.5 * value;
        let slow = DeviceRates {
            f64_flops_per_sec: half(h100.f64_flops_per_sec),
            f32_flops_per_sec: half(h100.f32_flops_per_sec),
            copy_bytes_per_sec: half(h100.copy_bytes_per_sec),
            tile_secs: 2.0 * h100.tile_secs,
            graph_secs: 2.0 * h100.graph_secs,
            upload_bytes_per_sec: half(h100.upload_bytes_per_sec),
        };
        let more = plan.predicted_secs_by(&slow);
        assert!(more > 1.5 * secs && more <= 2.0 * secs, "{more} {secs}");
    }
}

#[test]
fn the_lists_of_all_stages_make_the_factor() {
    let mut several = false;
    for name in ["p2d5_23", "p3d7_9", "el3d_4", "circuit_700"] {
        let a = model(name);
        let symbolic = symbolic(&a);
        let host = host(&symbolic, &a);
        for options in [
            SMALL,
            DeviceOptions { waves: 4, ..SMALL },
            DeviceOptions {
                large_tile: Tile::Tall,
                ..SMALL
            },
            DeviceOptions {
                precision: Precision::F32, // of the places alone
                ..SMALL
            },
            DeviceOptions::default(),
        ] {
            let plan = DevicePlan::new(symbolic.clone(), &options).unwrap();
            let (arena, bad) = carry_out(&plan, &a);
            assert_eq!(bad, None);
            let off = difference(&plan, &arena, &host);
            assert!(off < 1e-11, "{name}: {off:e}");
            let stages = plan.fills().iter().cloned().flatten();
            assert!(stages.eq(0..plan.staged().stages()));
            several |= plan.fills().len() > 1;
        }
    }
    assert!(several, "all panels are filled at once");
}

#[test]
fn every_kind_of_front_occurs() {
    let mut kinds = Vec::new();
    let plans = ["p3d7_9", "p2d5_23"].map(|name| {
        let symbolic = symbolic(&model(name));
        DevicePlan::new(symbolic, &SMALL).unwrap()
    });
    let stages = plans
        .iter()
        .flat_map(|plan| (0..plan.staged().stages()).map(move |k| (plan, k)));
    for (plan, k) in stages {
        let work = StageWork::new(plan, k).unwrap();
        kinds.extend(work.groups.iter().map(|g| format!("{:?}", g.tile)));
        let longest = work.lengths.iter().max();
        kinds.extend(longest.map(|length| format!("sequence of {length}")));
        assert_eq!(
            work.lengths.iter().sum::<u32>() as usize,
            work.small().len()
        );
    }
    for kind in ["sequence of 3", "T64", "T128"] {
        assert!(kinds.iter().any(|k| k == kind), "{kind} in {kinds:?}");
    }
}

#[test]
fn the_first_bad_pivot_is_the_smallest() {
    let mut a = model("p2d5_23");
    let symbolic = symbolic(&a);
    let plan = DevicePlan::new(symbolic.clone(), &SMALL).unwrap();
    for column in [3, 77, 401] {
        let diagonal = a.pattern().col_ptr()[column] as usize;
        let before = std::mem::replace(&mut a.values_mut()[diagonal], -1.0);
        let (_, bad) = carry_out(&plan, &a);
        let user = bad.map(|p| symbolic.permutation().user_of_elim()[p as usize]);
        assert_eq!(user, Some(column as u32));
        a.values_mut()[diagonal] = before;
    }
}

#[test]
fn a_device_makes_the_factor_of_the_host() {
    let Some(gpu) = tamarack_gpu::testing::gpu() else {
        return;
    };
    for name in ["p2d5_23", "p3d7_9", "p3d7_20", "el3d_4", "circuit_700"] {
        compare_with_host::<f64>(gpu, name, 1e-11);
        compare_with_host::<f32>(gpu, name, 1e-2);
    }
}

fn compare_with_host<T: DeviceValue>(gpu: &Gpu, name: &str, tolerance: f64) {
    let wide = model(name);
    let symbolic = symbolic(&wide);
    let mut host = host(&symbolic, &wide);
    let mut a: SymmetricCsc<T> = wide.cast();
    let precision = T::PRECISION;
    let of = |large_tile| DeviceOptions {
        large_tile,
        ..SMALL
    };
    let (tall, warpgroups) = (of(Tile::Tall), of(Tile::Warpgroups));
    for options in [SMALL, tall, warpgroups, DeviceOptions::default()] {
        let options = DeviceOptions {
            precision,
            ..options
        };
        let plan = Arc::new(DevicePlan::new(symbolic.clone(), &options).unwrap());
        leave_nan(gpu);
        let made = DeviceFactor::factorize(plan.clone(), gpu, &a, &FactorOptions::default());
        let mut factor = made.unwrap_or_else(|e| panic!("{name}, {options:?}: {e}"));
        let first = factor.stream().to_host(factor.arena()).unwrap();
        let numbers: Vec<f64> = first.iter().map(|&x| Scalar::to_f64(x)).collect();
        let off = difference(&plan, &numbers, &host);
        assert!(off < tolerance, "{name}: {off:e}");

        let all = (0..symbolic.supernodes()).flat_map(|s| {
            let (layout, panel) = (host.plan().panel_layout(s), host.panel(s));
            (0..layout.cols()).map(move |j| layout.entry(panel, j, j).ln())
        });
        let want = 2.0 * all.sum::<f64>();
        let got = factor.log_determinant().unwrap();
        assert!(
            (got - want).abs() < tolerance * want.abs(),
            "{name}: {got} {want}"
        );

        // another matrix between, that fails
        fails_alike(&mut factor, &mut a, &mut host, tolerance);
        host.refactorize(&wide, &Control::default()).unwrap();

        for _ in 0..10 {
            factor.refactorize(&a).unwrap();
            let again = factor.stream().to_host(factor.arena()).unwrap();
            for s in 0..symbolic.supernodes() {
                let own = Places::of(&plan.front(s).unwrap(), precision);
                for j in 0..own.pivots {
                    let mut rows = j..own.order();
                    let same = rows.all(|i| first[own.at(i, j)] == again[own.at(i, j)]);
                    assert!(same, "{name}: bits differ");
                }
            }
        }
    }
}

/// What is allocated next on the device holds NaN where nothing is written: nobody may look there.
fn leave_nan(gpu: &Gpu) {
    let stream = gpu.stream().unwrap();
    let mut buffer = gpu.alloc::<u64>(1 << 26).unwrap();
    stream.fill_bytes(&mut buffer, 0xff).unwrap();
    stream.synchronize().unwrap();
}

/// Both name the same column of a matrix that is not positive definite.
fn fails_alike<T: DeviceValue>(
    factor: &mut DeviceFactor<T>,
    a: &mut SymmetricCsc<T>,
    host: &mut NumericFactor<f64>,
    tolerance: f64,
) {
    let diagonal = a.pattern().col_ptr()[5] as usize;
    let minus_one = <T as Scalar>::from_f64(-1.0);
    let before = std::mem::replace(&mut a.values_mut()[diagonal], minus_one);
    let of_host = host.refactorize(&a.cast(), &Control::default());
    match (factor.refactorize(a), of_host) {
        (
            Err(FactorError::NotPositiveDefinite(got)),
            Err(FactorError::NotPositiveDefinite(want)),
        ) => {
            assert_eq!((got.column, got.cause), (want.column, want.cause));
            assert!((got.pivot - want.pivot).abs() < tolerance * want.pivot.abs());
        }
        other => panic!("{other:?}"),
    }
    assert!(!factor.is_current());
    a.values_mut()[diagonal] = before;
}
