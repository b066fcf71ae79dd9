//! Substitution against the host, over trees of fronts; skipped visibly without a GPU.

mod solver;
mod tree;

use super::super::Tile;
use super::super::tests::Random;
use super::*;
use crate::primitives::Real;
use crate::testing;
use solver::Solver;
use tree::{Spec, Tree};

/// A tree with fronts of all kinds: sizes around tiles, no pivots, no updates, many children, several roots.
fn specs(random: &mut Random) -> Vec<Spec> {
    let big = [
        (63, 1, 4),
        (64, 64, 5),
        (65, 129, 5),
        (130, 263, 6),
        (0, 90, 6),
        (200, 300, 8),
        (33, 520, 8),
        (1, 0, 8),
        (701, 0, usize::MAX),
        (31, 0, usize::MAX),
        (0, 0, usize::MAX),
    ];
    let mut specs = Vec::new();
    // 70 children that all give to the same few rows
    let (small, many) = (60_usize, 70_usize);
    let base = small + many + 1;
    for _ in 0..many {
        specs.push((
            1 + (random.next().abs() * 3.0) as u32,
            2,
            Some(small + many),
        ));
    }
    for i in 0..small {
        let pivots = (random.next().abs() * 40.0) as u32;
        let parent = base - 1 - ((random.next().abs() * 8.0) as usize).min(small - 1 - i);
        let parent = if i % 3 == 0 {
            base + i % 7
        } else {
            parent.max(many + i + 1)
        };
        specs.push((pivots, (random.next().abs() * 50.0) as usize, Some(parent)));
    }
    specs.push((2, 1, Some(base + 8)));
    specs.extend(big.map(|(pivots, most, parent)| {
        let parent = (parent != usize::MAX).then_some(base + parent);
        (pivots, most, parent)
    }));
    specs
}

fn bits(x: &[f64]) -> Vec<u64> {
    x.iter().map(|v| v.to_bits()).collect()
}

/// Every right-hand side is solved as on the host, with the bits that it has alone.
fn solves_like_the_host<T: Real>(tile: Tile, third: usize) {
    let Some(gpu) = testing::gpu() else { return };
    let stream = gpu.stream().unwrap();
    let mut random = Random(77 + third as u64);
    let tree = Tree::<T>::new(&specs(&mut random), tile, &mut random);
    let solver = Solver::new(gpu, &stream, &tree, third).unwrap();
    let n = tree.n as usize;
    let ld = n + 3;
    let b = random.fill(17 * ld as u64);
    let mut space = solver.space(gpu, &stream, &tree, 17);
    let mut alone = Vec::new();
    for rhs in [1, 2, 3, 8, 9, 16, 17] {
        let mut b = b.clone();
        let last = (rhs as usize - 1) * ld;
        b.copy_within(0..n, last); // the last is the first
        let got = solver.solve(gpu, &stream, &mut space, &b, ld as u64, rhs);
        if rhs == 1 {
            alone = bits(&got[..n]);
        }
        assert_eq!(bits(&got[..n]), alone, "{rhs} right-hand sides, the first");
        assert_eq!(
            bits(&got[last..last + n]),
            alone,
            "{rhs} right-hand sides, the last"
        );
        for (r, got) in got.chunks(ld).enumerate() {
            if r >= rhs as usize {
                assert!(
                    got.iter().all(|&g| g == -7.0),
                    "{rhs}: right-hand side {r} was touched"
                );
                continue;
            }
            let want = solver.expect(&tree, &b[r * ld..r * ld + n]);
            let largest = want.iter().fold(1.0_f64, |m, w| m.max(w.abs()));
            // in single precision the inverses that stand for tiles are rounded
            let tolerance = largest * if size_of::<T>() == 8 { 1e-13 } else { 1e-5 };
            for (i, (g, w)) in got.iter().zip(&want).enumerate() {
                assert!(
                    (g - w).abs() <= tolerance,
                    "{tile:?} {rhs}, {r}: entry {i} is {g}, not {w}"
                );
            }
            assert!(got[n..].iter().all(|&g| g == -7.0));
        }
    }
}

#[test]
fn solves_are_those_of_the_host() {
    solves_like_the_host::<f64>(Tile::T64, 0);
    solves_like_the_host::<f64>(Tile::T128, 1);
}

#[test]
fn solves_with_panels_in_single_precision_are_those_of_the_host() {
    solves_like_the_host::<f32>(Tile::T64, 1);
    solves_like_the_host::<f32>(Tile::T128, 2);
}

#[test]
fn captured_solves_have_the_same_bits_every_time() {
    let Some(gpu) = testing::gpu() else { return };
    let stream = gpu.stream().unwrap();
    let mut random = Random(5);
    let tree = Tree::<f64>::new(&specs(&mut random), Tile::T64, &mut random);
    let solver = Solver::new(gpu, &stream, &tree, 1).unwrap();
    let n = tree.n as usize;
    let b = random.fill(9 * n as u64);
    let mut space = solver.space(gpu, &stream, &tree, 9);
    let first = solver.solve(gpu, &stream, &mut space, &b, n as u64, 9);
    let from = stream.to_device(gpu, &b).unwrap();
    let mut to = stream.to_device(gpu, &first).unwrap();
    let mut graph = stream
        .capture(|| {
            space.take(&stream, &solver.order, &from, n as u64, 9)?;
            solver.enqueue(&stream, &mut space)?;
            space.give(&stream, &solver.order, &mut to, n as u64, false)
        })
        .unwrap();
    for _ in 0..100 {
        // SAFETY: everything that was recorded outlives the copy to the host.
        unsafe { graph.replay(&stream).unwrap() };
        assert_eq!(bits(&stream.to_host(&to).unwrap()), bits(&first));
    }
    // added to what is there
    space
        .give(&stream, &solver.order, &mut to, n as u64, true)
        .unwrap();
    let twice: Vec<f64> = first.iter().map(|x| 2.0 * x).collect();
    assert_eq!(stream.to_host(&to).unwrap(), twice);
}

#[test]
fn what_is_not_a_number_spreads_as_on_the_host() {
    let Some(gpu) = testing::gpu() else { return };
    let stream = gpu.stream().unwrap();
    let mut random = Random(6);
    let tree = Tree::<f64>::new(&specs(&mut random), Tile::T64, &mut random);
    let solver = Solver::new(gpu, &stream, &tree, 0).unwrap();
    let n = tree.n as usize;
    let mut space = solver.space(gpu, &stream, &tree, 2);
    let mut b = random.fill(2 * n as u64);
    // in the root without children: nothing else depends on it
    let place = solver.user[n - 3] as usize;
    b[place] = f64::NAN;
    let got = solver.solve(gpu, &stream, &mut space, &b, n as u64, 2);
    let want = solver.expect(&tree, &b[..n]);
    assert!(want.iter().any(|w| w.is_nan()) && want.iter().any(|w| !w.is_nan()));
    for (i, (g, w)) in got.iter().zip(&want).enumerate() {
        assert_eq!(g.is_nan(), w.is_nan(), "entry {i}");
    }
    assert!(got[n..].iter().all(|g| !g.is_nan()));
}

#[test]
fn a_run_is_solved_like_its_fronts_in_stages() {
    let Some(gpu) = testing::gpu() else { return };
    let stream = gpu.stream().unwrap();
    let mut random = Random(8);
    // complete binary trees of depth 4, twelve of tiny fronts and five of larger ones
    let mut specs: Vec<Spec> = Vec::new();
    for tree in 0..17 {
        let (pivots, most) = if tree < 12 { (4.0, 12) } else { (45.0, 60) };
        let first = specs.len();
        for i in 0..15_usize {
            // postorder of a heap, from the leaves up
            let parent = (i < 14).then_some(first + 8 + i / 2);
            specs.push(((random.next().abs() * pivots) as u32 + 1, most, parent));
        }
    }
    let tree = Tree::<f64>::new(&specs, Tile::T64, &mut random);
    let children = tree.children();
    let fronts: Vec<_> = (0..tree.nodes.len())
        .map(|i| tree.front(i, &children))
        .collect();
    let list = SmallSolves::<f64>::with_few(gpu, &stream, &fronts, &[15; 17], 5).unwrap();
    let solver = Solver::new(gpu, &stream, &tree, 3).unwrap();
    let n = tree.n as usize;
    for rhs in [1, 9] {
        let b = random.fill(u64::from(rhs) * n as u64);
        let mut space = solver.space(gpu, &stream, &tree, rhs);
        let from = stream.to_device(gpu, &b).unwrap();
        let mut to = stream.to_device(gpu, &b).unwrap();
        space
            .take(&stream, &solver.order, &from, n as u64, rhs)
            .unwrap();
        list.forward(&stream, &solver.arena, &mut space).unwrap();
        list.backward(&stream, &solver.arena, &mut space).unwrap();
        space
            .give(&stream, &solver.order, &mut to, n as u64, false)
            .unwrap();
        let got = stream.to_host(&to).unwrap();
        for (got, b) in got.chunks(n).zip(b.chunks(n)) {
            for (i, (g, w)) in got.iter().zip(solver.expect(&tree, b)).enumerate() {
                assert!(
                    (g - w).abs() <= 1e-13 * (1.0 + w.abs()),
                    "entry {i} is {g}, not {w}"
                );
            }
        }
    }
    assert!(SmallSolves::<f64>::new(gpu, &stream, &fronts, &[15; 16]).is_err());
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    let Some(gpu) = testing::gpu() else { return };
    let stream = gpu.stream().unwrap();
    let front = SolveFront {
        pivots: 100,
        panel: 0,
        inverse: 40_000,
        column: 3,
        rows: &[103, 110],
        update: 5,
        children: &[],
    };
    let small = SmallSolves::<f64>::new(gpu, &stream, &[front], &[1]).unwrap();
    let large = PanelSolves::<f64>::new(gpu, &stream, &[front]).unwrap();
    let arena = stream.to_device(gpu, &vec![0.0; 40_000 + 100]).unwrap();
    let space =
        |entries, updates, mail| SolveSpace::new(gpu, &stream, entries, updates, mail, 2).unwrap();
    let mail = large.mail_rows();
    assert!(
        large
            .forward(&stream, &arena, &mut space(111, 7, mail))
            .is_ok()
    );
    assert!(
        large
            .forward(&stream, &arena, &mut space(110, 7, mail))
            .is_err()
    );
    assert!(
        large
            .backward(&stream, &arena, &mut space(111, 6, mail))
            .is_err()
    );
    assert!(
        large
            .backward(&stream, &arena, &mut space(111, 7, mail - 1))
            .is_err()
    );
    let short = arena.view().slice(..arena.len() - 1).unwrap();
    assert!(
        large
            .forward(&stream, short, &mut space(111, 7, mail))
            .is_err()
    );
    assert!(small.forward(&stream, short, &mut space(111, 7, 0)).is_ok());
    let short = arena.view().slice(..100 * 102 - 1).unwrap();
    assert!(
        small
            .backward(&stream, short, &mut space(111, 7, 0))
            .is_err()
    );
    let wide = SolveFront {
        rows: &[110; 100],
        ..front
    };
    assert!(SmallSolves::<f64>::new(gpu, &stream, &[wide], &[1]).is_err());

    let mut vectors = space(4, 0, 0);
    let order = SolveOrder::new(gpu, &stream, &[2, 0, 3, 1]).unwrap();
    let mut b = stream.to_device(gpu, &[1.0_f32; 9]).unwrap();
    assert!(vectors.take(&stream, &order, &b, 5, 3).is_err());
    assert!(vectors.take(&stream, &order, &b, 6, 2).is_err());
    assert!(vectors.take(&stream, &order, &b, 3, 2).is_err());
    assert!(vectors.take(&stream, &order, &b, 5, 2).is_ok());
    assert!(vectors.give(&stream, &order, &mut b, 6, false).is_err());
    assert!(space(5, 0, 0).take(&stream, &order, &b, 5, 1).is_err());
    assert!(SolveOrder::new(gpu, &stream, &[1, 0, 1]).is_err());
    assert!(SolveOrder::new(gpu, &stream, &[0, 3, 1]).is_err());
    stream.synchronize().unwrap();
}

#[test]
fn nothing_is_solved_where_nothing_is() {
    let Some(gpu) = testing::gpu() else { return };
    let stream = gpu.stream().unwrap();
    let small = SmallSolves::<f64>::new(gpu, &stream, &[], &[]).unwrap();
    let large = PanelSolves::<f32>::new(gpu, &stream, &[]).unwrap();
    let mut space = SolveSpace::new(gpu, &stream, 0, 0, 0, 1).unwrap();
    let (f64s, f32s) = (gpu.alloc::<f64>(0).unwrap(), gpu.alloc::<f32>(0).unwrap());
    let order = SolveOrder::new(gpu, &stream, &[]).unwrap();
    space.take(&stream, &order, &f64s, 0, 1).unwrap();
    small.forward(&stream, &f64s, &mut space).unwrap();
    large.backward(&stream, &f32s, &mut space).unwrap();
    space.take(&stream, &order, &f32s, 0, 0).unwrap();
    stream.synchronize().unwrap();
}
