//! Device plans, their lists carried out on the host by [loops], and factors on a device, all against the host's factor.

mod factor;
mod loops;

use std::sync::Arc;

use tamarack_gpu::dense::Tile;
use tamarack_plan::{FactorPlan, Machine, PlanOptions, Precision};
use tamarack_sparse::models::Model;
use tamarack_sparse::{Permutation, SymmetricCsc};
use tamarack_symbolic::{SymbolicFactor, SymbolicOptions};

use super::plan::{DeviceOptions, DevicePlan};
use super::rates::DeviceRates;
use super::work::StageWork;
use crate::{Control, FactorOptions, NumericFactor, Team};
use loops::{Places, carry_out};

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
fn values_have_memory_of_their_own_where_that_takes_no_more() {
    let (mut apart, precision) = (Vec::new(), Precision::F32);
    for name in ["p2d5_60", "p3d7_17", "p3d27_9", "el3d_6", "circuit_700"] {
        let symbolic = symbolic(&model(name));
        let (n, values) = (symbolic.n() as u64, 8 * symbolic.nnz_a());
        for options in [SMALL, DeviceOptions::default()] {
            let options = DeviceOptions {
                precision,
                ..options
            };
            let plan = DevicePlan::new(symbolic.clone(), &options).unwrap();
            let room = plan.arena_bytes() - 4 * plan.staged().factor_len();
            let vectors = 8 * (plan.staged().update_vectors().1 + 3 * n);
            let taken = vectors - 8 * n;
            let (planned, beside) = match plan.values_apart() {
                true if room < values => (values + vectors, values + vectors),
                true => (vectors, values + taken.saturating_sub(room)),
                false => (vectors, taken.saturating_sub(room - values)),
            };
            assert!(beside <= planned, "{name}: {beside} {planned}");
            apart.push(room >= values && plan.values_apart());
        }
    }
    assert!(apart.contains(&true) && apart.contains(&false), "{apart:?}");
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
