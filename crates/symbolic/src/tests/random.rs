//! Small random patterns and orders, from a seed.

use std::sync::Arc;

use tamarack_sparse::{Pattern, Permutation};
use tamarack_testkit::{Rng, pattern_of_edges, random_permutation};

/// A pattern of some kind: empty, sparse, dense, banded, with several parts, cliques, a star.
pub(crate) fn random_pattern(random: &mut Rng, max_order: usize) -> Arc<Pattern> {
    let n = random.below(max_order + 1);
    let mut edges = Vec::new();
    if n > 1 {
        match random.below(6) {
            0 => {}
            1 => edges.extend((1..n as u32).map(|i| (i, 0))),
            2 => {
                let width = 1 + random.below(4);
                for j in 0..n {
                    edges.extend((j + 1..n.min(j + 1 + width)).map(|i| (i as u32, j as u32)));
                }
            }
            3 => {
                for _ in 0..1 + random.below(n) {
                    let size = 2 + random.below(4);
                    let clique: Vec<usize> = (0..size).map(|_| random.below(n)).collect();
                    for &i in &clique {
                        edges.extend(clique.iter().map(|&j| (i as u32, j as u32)));
                    }
                }
            }
            kind => {
                let entries = if kind == 4 { n } else { 1 + n * n / 4 };
                for _ in 0..random.below(2 * entries) {
                    edges.push((random.below(n) as u32, random.below(n) as u32));
                }
            }
        }
    }
    pattern_of_edges(n, &edges).shared()
}

/// Five-point grid of `w × h`.
pub(super) fn grid(w: u32, h: u32) -> Arc<Pattern> {
    let mut edges = Vec::new();
    for y in 0..h {
        for x in 0..w {
            let k = y * w + x;
            if x + 1 < w {
                edges.push((k + 1, k));
            }
            if y + 1 < h {
                edges.push((k + w, k));
            }
        }
    }
    pattern_of_edges((w * h) as usize, &edges).shared()
}

/// A random pattern with one to three unknowns a node, in some cases up to 20, a few entries left out, and a random order that
/// mostly keeps the unknowns of a node together, one after the other or in any order.
pub(crate) fn blocks(random: &mut Rng, max_nodes: usize) -> (Arc<Pattern>, Permutation) {
    let base = random_pattern(random, max_nodes);
    let mut first = vec![0u32];
    let (most, border) = match random.below(10) {
        0 => (20, 0),
        1 => (1, 40),
        _ => (3, 0),
    };
    let is_border = |q: usize| border > 0 && q + 1 == base.n();
    for q in 0..base.n() {
        let most = if is_border(q) { border } else { most };
        first.push(first[q] + 1 + random.below(most) as u32);
    }
    let members = |q: usize| first[q]..first[q + 1];
    let mut edges = Vec::new();
    for q in 0..base.n() {
        let last = base.n() as u32 - 1;
        let meets_border = is_border(last as usize) && !base.rows(q).contains(&last);
        for &p in base.rows(q).iter().chain(meets_border.then_some(&last)) {
            for i in members(p as usize) {
                edges.extend(members(q).map(|j| (i, j)));
            }
        }
    }
    if random.below(2) == 0 && !edges.is_empty() {
        edges.swap_remove(random.below(edges.len()));
    }
    let n = first[base.n()] as usize;
    let mut order: Vec<u32> = Vec::new();
    let shuffled = random.below(2) == 0;
    for &q in random_permutation(base.n(), random.bits()).user_of_elim() {
        let members = members(q as usize);
        let turned = random.below(members.len().max(1)) as u32;
        if shuffled {
            order.extend(members.clone().skip(turned as usize));
            order.extend(members.take(turned as usize));
        } else {
            order.extend(members);
        }
    }
    if random.below(4) == 0 && n > 1 {
        order.swap(random.below(n), random.below(n));
    }
    (
        pattern_of_edges(n, &edges).shared(),
        Permutation::from_elimination_order(&order).unwrap(),
    )
}

/// A bundle adjustment: points with `unknowns` each, seen by the cameras of one of `kinds` sets, with two unknowns each; points are
/// eliminated first, in a random order. With the set of each point.
pub(super) fn bundle(
    random: &mut Rng,
    points: usize,
    unknowns: u32,
    kinds: usize,
) -> (Arc<Pattern>, Permutation, Vec<Vec<u32>>) {
    let cameras = 6;
    let first = points as u32 * unknowns;
    let n = first + 2 * cameras;
    let sets: Vec<Vec<u32>> = (0..kinds)
        .map(|_| {
            let set = 1 + random.below((1 << cameras) - 1);
            (0..cameras).filter(|c| set >> c & 1 == 1).collect()
        })
        .collect();
    let mut edges: Vec<(u32, u32)> = (first..n)
        .flat_map(|j| (j..n).map(move |i| (i, j)))
        .collect();
    let mut seen_by = Vec::new();
    for p in 0..points as u32 {
        let set = &sets[random.below(kinds)];
        let own = p * unknowns..(p + 1) * unknowns;
        for j in own.clone() {
            edges.extend(own.clone().map(|i| (i, j)));
            edges.extend(
                set.iter()
                    .flat_map(|c| [0, 1].map(|k| (first + 2 * c + k, j))),
            );
        }
        seen_by.push(set.clone());
    }
    let mut order = Vec::new();
    for &p in random_permutation(points, random.bits()).user_of_elim() {
        order.extend(p * unknowns..(p + 1) * unknowns);
    }
    order.extend(first..n);
    let order = Permutation::from_elimination_order(&order).unwrap();
    (
        pattern_of_edges(n as usize, &edges).shared(),
        order,
        seen_by,
    )
}

/// Nested dissection of [`grid`] by lines across the longer side.
pub(super) fn dissected(w: u32, h: u32) -> Permutation {
    fn dissect(x: [u32; 2], y: [u32; 2], w: u32, order: &mut Vec<u32>) {
        let (wide, high) = (x[1] - x[0], y[1] - y[0]);
        if wide.max(high) < 3 {
            order.extend((y[0]..y[1]).flat_map(|v| (x[0]..x[1]).map(move |u| v * w + u)));
        } else if wide >= high {
            let middle = x[0] + wide / 2;
            dissect([x[0], middle], y, w, order);
            dissect([middle + 1, x[1]], y, w, order);
            order.extend((y[0]..y[1]).map(|v| v * w + middle));
        } else {
            let middle = y[0] + high / 2;
            dissect(x, [y[0], middle], w, order);
            dissect(x, [middle + 1, y[1]], w, order);
            order.extend((x[0]..x[1]).map(|u| middle * w + u));
        }
    }
    let mut order = Vec::new();
    dissect([0, w], [0, h], w, &mut order);
    Permutation::from_elimination_order(&order).unwrap()
}
