//! Small fronts in one go, alone and in sequences.

mod problem;

use super::super::{Child, FirstBadPivot, Front, FusedFront, FusedFronts, Real, SmallFronts};
use super::upload;
use crate::testing;
use problem::Problem;

fn single_fronts<T: Real>() {
    let mut problem = Problem::<T>::new(7);
    problem.alone(0, 0, &[]);
    for pivots in [0, 1, 2, 7, 8, 9, 16, 17, 31, 33, 61, 90, 120] {
        for updates in [0, 1, 3, 7, 8, 15, 16, 23, 31, 33, 60, 65, 96, 128] {
            if SmallFronts::padded_order(pivots, updates) <= 128 {
                let rows = pivots + updates;
                let orders = [rows, 0, 1, rows / 2, rows.min(17)];
                let count = (pivots + updates) as usize % 6;
                problem.alone(pivots, updates, &orders[..count.min(5)]);
            }
        }
    }
    problem.check("single fronts", 2);
}

#[test]
fn fronts_are_those_of_the_host() {
    single_fronts::<f64>();
    single_fronts::<f32>();
}

fn subtrees<T: Real>() {
    for most in [16, 32, 64, 128] {
        let mut problem = Problem::<T>::new(u64::from(most) + 1);
        for n in 0..40 {
            problem.subtree(n % 9, most);
        }
        problem.check(&format!("subtrees of orders up to {most}"), 2);
    }
}

#[test]
fn sequences_are_as_front_by_front() {
    subtrees::<f64>();
    subtrees::<f32>();
}

fn long_lists<T: Real>() {
    let mut problem = Problem::<T>::new(3);
    for (pivots, updates) in [(3, 10), (5, 20), (20, 41), (9, 110), (0, 30)] {
        let orders: Vec<u32> = (0..1500).map(|c| c % 7).collect();
        problem.alone(pivots, updates, &orders);
    }
    problem.check("long lists", 2);
}

#[test]
fn children_may_be_many() {
    long_lists::<f64>();
    long_lists::<f32>();
}

#[test]
fn a_hundred_runs_give_the_same_bits() {
    let mut problem = Problem::<f64>::new(17);
    for n in 0..60 {
        problem.subtree(1 + n % 7, [16, 32, 48, 96][n % 4]);
    }
    problem.check("a hundred runs", 100);
}

/// `tiny`: a number below the normal ones.
fn bad_pivots<T: Real>(tiny: f64) {
    let Some(gpu) = testing::gpu() else { return };
    let stream = gpu.stream().unwrap();
    let sizes = [(11, 3), (20, 9), (9, 0), (61, 30), (40, 3), (15, 100)];
    let tiny = T::from_f64(tiny).to_f64();
    for (value, at) in [
        (-2.0, 9),
        (0.0, 8),
        (f64::NAN, 3),
        (f64::INFINITY, 7),
        (tiny, 0),
    ] {
        let mut problem = Problem::<T>::new(2);
        let (mut want, mut columns) = (Vec::new(), Vec::new());
        for (n, (pivots, updates)) in sizes.into_iter().enumerate() {
            problem.push(pivots, updates, Vec::new());
            columns.push(1000 - 100 * n as u32);
            if n == 2 {
                continue; // not harmed by the others
            }
            want.push((n, at));
            let front = problem.nodes[n].front;
            for column in 0..pivots {
                for row in column..pivots + updates {
                    let bad = |i: u32| i == at || i == at + 1;
                    let place = Problem::<T>::place(&front, row, column);
                    if bad(row) && row == column {
                        problem.arena[place] = value;
                    } else if bad(row) || bad(column) {
                        problem.arena[place] = 0.0; // a column of its own
                    }
                }
            }
        }
        problem.lengths = vec![2, 1, 3];
        let (got, said) = problem.run(2).unwrap();
        let places: Vec<_> = said.iter().map(|b| (b.front, b.pivot)).collect();
        assert_eq!(places, want, "{value}");
        for bad in &said {
            let same = bad.value == value || bad.value.is_nan() && value.is_nan();
            assert!(same, "{said:?}");
        }
        let healthy = &problem.nodes[2].front;
        for j in 0..9 {
            let place = Problem::<T>::place(healthy, 8, j);
            assert!((got[place] - problem.want[place]).abs() < 1e-3);
        }

        let fronts: Vec<_> = problem
            .nodes
            .iter()
            .map(|node| FusedFront {
                front: node.front,
                children: &[],
            })
            .collect();
        let mut list = FusedFronts::<T>::new(gpu, &stream, &fronts, &[6]).unwrap();
        let mut arena = upload::<T>(gpu, &stream, &problem.arena);
        list.launch(&stream, &mut arena).unwrap();
        let mut first = stream.to_device(gpu, &[u64::MAX]).unwrap();
        let least = FirstBadPivot::new(gpu, &stream, &columns).unwrap();
        least.launch(&stream, &list, &mut first).unwrap();
        assert_eq!(stream.to_host(&first).unwrap(), [500 + u64::from(at)]);
    }
}

#[test]
fn the_first_bad_pivot_of_each_front_is_reported() {
    bad_pivots::<f64>(1e-310);
    bad_pivots::<f32>(1e-39);
}

#[test]
fn what_does_not_fit_is_an_error() {
    let Some(gpu) = testing::gpu() else { return };
    let stream = gpu.stream().unwrap();
    let mut problem = Problem::<f64>::new(5);
    problem.alone(4, 5, &[3]);
    let node = &problem.nodes[0];
    let (update, relative) = &node.children[0];
    let child = Child {
        update: *update,
        relative,
    };
    let children = [child];
    let good = FusedFront {
        front: node.front,
        children: &children,
    };
    let make = |front: FusedFront<'_>, lengths: &[u32]| {
        FusedFronts::<f64>::new(gpu, &stream, &[front], lengths)
    };
    assert!(make(good, &[]).is_err());
    assert!(make(good, &[2]).is_err());
    assert!(make(good, &[0, 1, 0]).is_ok());
    let with = |front: Front| FusedFront { front, ..good };
    let large = with(Front {
        updates: 200,
        ..node.front
    });
    assert!(make(large, &[1]).is_err());
    let crooked = with(Front {
        panel: 1,
        ..node.front
    });
    assert!(make(crooked, &[1]).is_err());
    for relative in [&[0, 9][..], &[3, 3], &[2, 1]] {
        let children = [Child { relative, ..child }];
        let outside = FusedFront {
            children: &children,
            ..good
        };
        assert!(make(outside, &[1]).is_err());
    }
    let mut list = make(good, &[1]).unwrap();
    let mut small = gpu.alloc::<f64>(10).unwrap();
    assert!(list.launch(&stream, &mut small).is_err());
}
