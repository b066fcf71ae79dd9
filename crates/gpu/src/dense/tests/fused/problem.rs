//! Sequences of small fronts with children of all kinds, carried out on the host as they are made.

use std::marker::PhantomData;

use super::super::super::{
    BadPivot, Child, Front, FrontShape, FusedFront, FusedFronts, Placed, Real, SmallFronts,
};
use super::super::{Random, compare, download, epsilon, upload};
use crate::testing;

/// A front on its way: children are places and rows.
pub(super) struct Node {
    pub front: Front,
    pub children: Vec<(u64, Vec<u32>)>,
}

/// Sequences of fronts in an arena. What the device must write or must not read is poisoned.
pub(super) struct Problem<T> {
    pub nodes: Vec<Node>,
    pub lengths: Vec<u32>,
    pub arena: Vec<f64>,
    /// What the host makes of the arena, and which of its entries are written.
    pub want: Vec<f64>,
    owned: Vec<bool>,
    random: Random,
    of: PhantomData<T>,
}

fn below(random: &mut Random, bound: usize) -> usize {
    ((random.next() + 1.0) / 2.0 * bound as f64) as usize
}

/// `count` of the rows 0 .. `rows`, ascending.
fn choose(random: &mut Random, rows: u32, count: u32) -> Vec<u32> {
    let mut left = count;
    let mut chosen = Vec::new();
    for row in 0..rows {
        if below(random, (rows - row) as usize) < left as usize {
            chosen.push(row);
            left -= 1;
        }
    }
    chosen
}

impl<T: Real> Problem<T> {
    pub fn new(seed: u64) -> Self {
        Self {
            nodes: Vec::new(),
            lengths: Vec::new(),
            arena: Vec::new(),
            want: Vec::new(),
            owned: Vec::new(),
            random: Random(seed),
            of: PhantomData,
        }
    }

    /// Takes room, poisoned.
    fn room(&mut self, len: u64) -> u64 {
        let at = self.arena.len();
        for array in [&mut self.arena, &mut self.want] {
            array.resize(at + len as usize, f64::NAN);
        }
        self.owned.resize(at + len as usize, false);
        at as u64
    }

    /// An update matrix that is there before.
    fn outside(&mut self, order: u32) -> u64 {
        let shape = FrontShape::of::<T>(0, order).unwrap();
        let at = self.room(shape.update_len);
        for j in 0..order {
            for i in j..order {
                let place = Placed::packed(at, shape.update_height).index(i, j) as usize;
                self.arena[place] = T::from_f64(self.random.next()).to_f64();
                self.want[place] = self.arena[place];
            }
        }
        at
    }

    /// Where entry (i, j) of a front stands.
    pub fn place(front: &Front, i: u32, j: u32) -> usize {
        let shape = FrontShape::of::<T>(front.pivots, front.updates).unwrap();
        let place = if j >= front.pivots {
            let update = Placed::packed(front.update, shape.update_height);
            update.index(i - front.pivots, j - front.pivots)
        } else {
            let row = if i < front.pivots {
                i
            } else {
                i - front.pivots + shape.first_update
            };
            Placed::packed(front.panel, shape.panel_height).index(row, j)
        };
        place as usize
    }

    /// Adds a front to the last sequence, with about a third of the entries that it may have and heavy pivots, and
    /// carries it out on the host.
    pub fn push(&mut self, pivots: u32, updates: u32, children: Vec<(u64, Vec<u32>)>) {
        let shape = FrontShape::of::<T>(pivots, updates).unwrap();
        let panel = self.room(shape.panel_len);
        let front = Front {
            pivots,
            updates,
            panel,
            update: self.room(shape.update_len),
            inverse: 1,
            fresh: children.is_empty(),
        };
        let order = pivots + updates;
        let mut full = vec![0.0; (order * order) as usize];
        let at = |i: u32, j: u32| (j * order + i) as usize;
        let mut largest = 1.0_f64;
        for (update, relative) in &children {
            let height = FrontShape::of::<T>(0, relative.len() as u32).unwrap();
            let placed = Placed::packed(*update, height.update_height);
            for (j, &pj) in (0..).zip(relative) {
                for (i, &pi) in (0..).zip(relative).skip(j as usize) {
                    let value = self.want[placed.index(i, j) as usize];
                    full[at(pi, pj)] += value;
                    largest = largest.max(full[at(pi, pj)].abs());
                }
            }
        }
        for column in 0..pivots {
            for row in column..order {
                let value = match row == column {
                    true => f64::from(2 * order) * largest,
                    false if self.random.next() < 0.3 => self.random.next(),
                    false => 0.0,
                };
                let value = T::from_f64(value).to_f64();
                full[at(row, column)] += value;
                self.arena[Self::place(&front, row, column)] = value;
            }
        }
        for k in 0..pivots {
            let root = full[at(k, k)].sqrt();
            for i in k..order {
                full[at(i, k)] /= root;
            }
            full[at(k, k)] = root;
            for j in k + 1..order {
                for i in j..order {
                    full[at(i, j)] -= full[at(i, k)] * full[at(j, k)];
                }
            }
        }
        for j in 0..order {
            for i in j..order {
                let place = Self::place(&front, i, j);
                (self.want[place], self.owned[place]) = (full[at(i, j)], true);
            }
        }
        self.nodes.push(Node { front, children });
    }

    /// A sequence of its own for a front with children from outside, of these orders.
    pub fn alone(&mut self, pivots: u32, updates: u32, orders: &[u32]) {
        let mut children = Vec::new();
        for &order in orders {
            let relative = choose(&mut self.random, pivots + updates, order);
            children.push((self.outside(order), relative));
        }
        self.push(pivots, updates, children);
        self.lengths.push(1);
    }

    /// A sequence of `count` fronts of orders up to `most`: each takes some of those before it for children, and
    /// some from outside.
    pub fn subtree(&mut self, count: usize, most: u32) {
        let first = self.nodes.len();
        let mut orphans: Vec<usize> = Vec::new();
        for n in 0..count {
            let pivots = below(&mut self.random, most as usize / 2 + 1) as u32;
            let updates = below(&mut self.random, (most - pivots) as usize + 1) as u32;
            let rows = pivots + updates;
            let mut children = Vec::new();
            if self.random.next() > 0.5 {
                let order = below(&mut self.random, rows as usize + 1) as u32;
                let relative = choose(&mut self.random, rows, order);
                children.push((self.outside(order), relative));
            }
            let mut left = Vec::new();
            for node in orphans {
                let child = self.nodes[node].front;
                if child.updates <= rows && self.random.next() > -0.5 {
                    let relative = choose(&mut self.random, rows, child.updates);
                    children.push((child.update, relative));
                } else {
                    left.push(node);
                }
            }
            orphans = left;
            orphans.push(first + n);
            if SmallFronts::padded_order(pivots, updates) <= most {
                self.push(pivots, updates, children);
            } else {
                self.push(pivots.saturating_sub(8), 0, Vec::new());
            }
        }
        self.lengths.push(count as u32);
    }

    /// Runs all sequences `times` times, which must give the same bits; returns what is in the arena, and of pivots.
    pub fn run(&self, times: usize) -> Option<(Vec<f64>, Vec<BadPivot>)> {
        let gpu = testing::gpu()?;
        let stream = gpu.stream().unwrap();
        let children: Vec<Vec<Child<'_>>> = self
            .nodes
            .iter()
            .map(|node| {
                node.children
                    .iter()
                    .map(|&(update, ref relative)| Child { update, relative })
                    .collect()
            })
            .collect();
        let fronts: Vec<FusedFront<'_>> = self
            .nodes
            .iter()
            .zip(&children)
            .map(|(node, children)| FusedFront {
                front: node.front,
                children,
            })
            .collect();
        let mut list = FusedFronts::<T>::new(gpu, &stream, &fronts, &self.lengths).unwrap();
        let mut result: Option<(Vec<f64>, Vec<BadPivot>)> = None;
        for _ in 0..times {
            let mut arena = upload::<T>(gpu, &stream, &self.arena);
            list.launch(&stream, &mut arena).unwrap();
            let now = (download(&stream, &arena), list.bad_pivots(&stream).unwrap());
            if let Some(before) = &result {
                let same = before
                    .0
                    .iter()
                    .zip(&now.0)
                    .all(|(x, y)| x.to_bits() == y.to_bits());
                assert!(same, "bits differ");
            }
            result = Some(now);
        }
        result
    }

    pub fn check(&self, what: &str, times: usize) {
        let Some((got, bad)) = self.run(times) else {
            return;
        };
        assert_eq!(bad, [], "{what}");
        let written = self.want.iter().zip(&self.owned).filter(|w| *w.1);
        let largest = written.fold(1.0_f64, |most, (w, _)| most.max(w.abs()));
        let mut want = self.arena.clone();
        for (place, w) in want.iter_mut().enumerate().filter(|(p, _)| self.owned[*p]) {
            *w = self.want[place];
            assert!(!w.is_nan());
            assert!(!got[place].is_nan(), "{what}: entry {place} is poisoned");
        }
        let tolerance = 500.0 * epsilon::<T>() * largest;
        compare(what, &got, &want, |i| self.owned[i], tolerance);
    }
}
