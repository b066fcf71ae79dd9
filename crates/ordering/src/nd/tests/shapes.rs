//! Small cubes, grids without ends, and planes, whatever the seed.

use super::networks::flops;
use crate::Method;
use crate::nd::NdOptions;
use tamarack_sparse::Pattern;

/// Unknowns of a grid of some axes, each joined to those at the given steps; axes that are `closed` have no ends.
fn grid(axes: [u32; 3], closed: bool, steps: &[[i32; 3]]) -> Pattern {
    let [a, b, c] = axes;
    let mut edges = Vec::new();
    for v in 0..a * b * c {
        let place = [v / (b * c), v / c % b, v % c];
        for step in steps {
            let mut there = [0; 3];
            for axis in 0..3 {
                let end = axes[axis] as i32;
                let at = place[axis] as i32 + step[axis];
                there[axis] = if closed { at.rem_euclid(end) } else { at };
            }
            if (0..3).all(|axis| (0..axes[axis] as i32).contains(&there[axis])) {
                let [x, y, z] = there.map(|at| at as u32);
                edges.push((v, (x * b + y) * c + z));
            }
        }
    }
    edges.retain(|(a, b)| a != b);
    tamarack_testkit::pattern_of_edges((a * b * c) as usize, &edges)
}

/// Half of the neighbors within a step along one axis.
const STAR: [[i32; 3]; 3] = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];

/// The same within a step along each.
fn cube_steps() -> Vec<[i32; 3]> {
    let steps = (0..27).map(|k| [k / 9 - 1, k / 3 % 3 - 1, k % 3 - 1]);
    steps.filter(|step| *step > [0; 3]).collect()
}

/// Asserts that dissections with some seeds take less than `most` operations.
fn assert_less(pattern: &Pattern, most: f64) {
    for seed in 0..6 {
        let options = NdOptions {
            seed,
            ..NdOptions::default()
        };
        let found = flops(pattern, &Method::NestedDissection(options));
        assert!(found < most, "seed {seed}: {found:e}");
    }
}

#[test]
fn small_cubes_are_cut_by_levels() {
    // Up to 2.4e7 where the first separator is refined together with those below it.
    assert_less(&grid([14; 3], false, &STAR), 1.7e7);
}

#[test]
fn half_of_a_ring_is_cut_across() {
    // 2.2e7 to 2.5e7 where another level of the search around it is taken.
    assert_less(&grid([100, 100, 1], true, &STAR), 2.1e7);
}

#[test]
fn cubes_without_ends_are_cut_by_planes() {
    // Minimum degree takes 2.64e9.
    assert_less(&grid([20; 3], true, &cube_steps()), 2.2e9);
}

#[test]
fn planes_with_eight_neighbors_are_cut_by_straight_lines() {
    // Up to 3.5e8 where the first separator has no rivals.
    assert_less(&grid([250, 250, 1], false, &cube_steps()), 3.0e8);
}

#[test]
fn uneven_halves_do_not_fill_the_stack() {
    let square = grid([120, 120, 1], false, &STAR);
    let default = NdOptions::default();
    let anything_off = NdOptions {
        imbalance: 2.0,
        ..default.clone()
    };
    let to_the_end = NdOptions {
        leaf: 1,
        coarsest: 1,
        starts: 1,
        ..default
    };
    for options in [anything_off, to_the_end] {
        let method = Method::NestedDissection(options);
        let found = crate::order(&square, &method, &mut crate::Workspace::new());
        assert_eq!(found.unwrap().len(), square.n());
    }
}
