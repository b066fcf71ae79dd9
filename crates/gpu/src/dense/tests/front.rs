//! Partial Cholesky, of small and large fronts.

use std::cmp::Ordering;
use std::marker::PhantomData;

use super::super::{BadPivot, Front, FrontShape, Fronts, Placed, Real, SmallFronts, Tile};
use super::{Random, compare, download, epsilon, upload};
use crate::testing;

/// Fronts in an arena, with the places of their entries.
struct Arena<T> {
    fronts: Vec<Front>,
    values: Vec<f64>,
    of: PhantomData<T>,
}

impl<T: Real> Arena<T> {
    /// Positive definite fronts of the given pivots and updates; those of `fresh` have no update matrix yet.
    fn new(sizes: &[(u32, u32, bool)], inverse: impl Fn(u32) -> u64) -> Self {
        let (mut fronts, mut end) = (Vec::new(), 0);
        for &(pivots, updates, fresh) in sizes {
            let shape = FrontShape::of::<T>(pivots, updates).unwrap();
            let panel = end;
            let update = panel + shape.panel_len;
            let inverse_at = update + shape.update_len;
            end = inverse_at + inverse(pivots);
            fronts.push(Front {
                pivots,
                updates,
                panel,
                update,
                inverse: inverse_at,
                fresh,
            });
        }
        let mut arena = Self {
            fronts,
            values: Random(11).exact::<T>(end),
            of: PhantomData,
        };
        for (f, size) in sizes.iter().enumerate() {
            let order = size.0 + size.1;
            for i in 0..order {
                let place = arena.place(f, i, i);
                arena.values[place] = f64::from(order) + 1.0;
            }
        }
        arena
    }

    /// Where entry (i, j) of front `f` stands.
    fn place(&self, f: usize, i: u32, j: u32) -> usize {
        let front = &self.fronts[f];
        let shape = FrontShape::of::<T>(front.pivots, front.updates).unwrap();
        let place = if j < front.pivots {
            let row = if i < front.pivots {
                i
            } else {
                i - front.pivots + shape.first_update
            };
            Placed::packed(front.panel, shape.panel_height).index(row, j)
        } else {
            let update = Placed::packed(front.update, shape.update_height);
            update.index(i - front.pivots, j - front.pivots)
        };
        place as usize
    }

    /// Eliminates on the host; marks the places of all entries, and poisons those that must not be read.
    fn host(&mut self) -> (Vec<f64>, Vec<bool>) {
        let mut want = self.values.clone();
        let mut owned = vec![false; want.len()];
        for f in 0..self.fronts.len() {
            let Front {
                pivots,
                updates,
                fresh,
                ..
            } = self.fronts[f];
            let order = pivots + updates;
            for j in 0..order {
                for i in j..order {
                    let place = self.place(f, i, j);
                    owned[place] = true;
                    if fresh && j >= pivots {
                        (want[place], self.values[place]) = (0.0, f64::NAN);
                    }
                }
            }
            for k in 0..pivots {
                let root = want[self.place(f, k, k)].sqrt();
                for i in k..order {
                    want[self.place(f, i, k)] /= root;
                }
                want[self.place(f, k, k)] = root;
                for j in k + 1..order {
                    let l = want[self.place(f, j, k)];
                    for i in j..order {
                        want[self.place(f, i, j)] -= want[self.place(f, i, k)] * l;
                    }
                }
            }
        }
        (want, owned)
    }
}

/// Which kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
enum By {
    Small,
    Tasks(Tile),
}

/// Runs the fronts; returns the arena and what was said of pivots.
fn run<T: Real>(by: By, arena: &Arena<T>) -> Option<(Vec<f64>, Vec<BadPivot>)> {
    let gpu = testing::gpu()?;
    let stream = gpu.stream().unwrap();
    let mut device = upload::<T>(gpu, &stream, &arena.values);
    let bad = match by {
        By::Small => {
            let mut list = SmallFronts::new(gpu, &stream, &arena.fronts).unwrap();
            list.launch(&stream, &mut device).unwrap();
            list.bad_pivots(&stream).unwrap()
        }
        By::Tasks(tile) => {
            let mut list = Fronts::new(gpu, &stream, &arena.fronts, tile).unwrap();
            list.launch(&stream, &mut device).unwrap();
            list.bad_pivots(&stream).unwrap()
        }
    };
    Some((download(&stream, &device), bad))
}

fn inverse_len(by: By) -> impl Fn(u32) -> u64 {
    move |pivots| match by {
        By::Small => 0,
        By::Tasks(_) => Fronts::inverse_len(pivots),
    }
}

/// Runs fronts of these sizes and compares with the host, inverses included.
fn check<T: Real>(by: By, sizes: &[(u32, u32, bool)]) {
    let mut arena = Arena::<T>::new(sizes, inverse_len(by));
    let (want, owned) = arena.host();
    let Some((mut got, bad)) = run(by, &arena) else {
        return;
    };
    assert_eq!(bad, [], "{by:?} {sizes:?}");
    let (again, _) = run(by, &arena).unwrap();
    assert!(
        got.iter()
            .zip(&again)
            .all(|(x, y)| x.to_bits() == y.to_bits())
    );
    for f in 0..sizes.len() {
        if let By::Tasks(tile) = by {
            check_inverse(&arena, f, tile.columns(), &want, &mut got);
        }
    }
    let what = format!("{by:?} {sizes:?}");
    let mut untouched = arena.values.clone();
    for (place, &w) in want.iter().enumerate().filter(|(p, _)| owned[*p]) {
        untouched[place] = w;
    }
    compare(
        &what,
        &got,
        &untouched,
        |i| owned[i],
        4000.0 * epsilon::<T>(),
    );
}

/// L V = I for every diagonal tile; what V took is as it was before.
fn check_inverse<T: Real>(arena: &Arena<T>, f: usize, tile: u32, l: &[f64], got: &mut [f64]) {
    let Front {
        pivots, inverse, ..
    } = arena.fronts[f];
    for (n, begin) in (0..pivots).step_by(tile as usize).enumerate() {
        let size = tile.min(pivots - begin);
        let place = |i: u32, j: u32| match i.cmp(&j) {
            Ordering::Less => arena.place(f, begin + i, begin + j),
            _ => (inverse + u64::from(begin + j)) as usize,
        };
        for i in 0..size {
            for j in 0..=i {
                // V is upper triangular
                let entry = |k: u32| l[arena.place(f, begin + i, begin + k)] * got[place(j, k)];
                let sum: f64 = (j..=i).map(entry).sum();
                let unit = if i == j { 1.0 } else { 0.0 };
                assert!(
                    (sum - unit).abs() < 400.0 * epsilon::<T>(),
                    "inverse of tile {n}: {i}, {j}: {sum}"
                );
            }
        }
        for j in 0..size {
            for i in 0..=j {
                got[place(i, j)] = arena.values[place(i, j)];
            }
        }
    }
}

#[test]
fn small_fronts_are_those_of_the_host() {
    let mut sizes = vec![(0, 0, false), (0, 3, false)];
    for pivots in [1, 2, 7, 8, 9, 16, 17, 31, 32, 61, 100, 120] {
        for updates in [0, 1, 3, 8, 15, 16, 31, 33, 60, 125, 240] {
            if SmallFronts::padded_order(pivots, updates) <= if pivots < 33 { 256 } else { 104 } {
                sizes.push((pivots, updates, (pivots + updates) % 3 == 0));
            }
        }
    }
    check::<f64>(By::Small, &sizes);
    check::<f32>(By::Small, &sizes);
    // few fronts share the kernel of the largest: by themselves they take their own
    for &(pivots, updates, fresh) in &sizes[1..] {
        let alone = [(pivots, updates, fresh), (pivots, updates, !fresh)];
        check::<f64>(By::Small, &alone);
        check::<f32>(By::Small, &alone);
    }
}

#[test]
fn large_fronts_are_those_of_the_host() {
    for tile in [Tile::T64, Tile::Tall, Tile::T128, Tile::Warpgroups] {
        let by = By::Tasks(tile);
        let t = tile.rows();
        for pivots in [1, 9, t - 1, t, t + 1, 2 * t + 3, 307] {
            let sizes =
                [0, 1, t - 1, t + 1, 130].map(|updates| (pivots, updates, updates % 2 == 0));
            check::<f64>(by, &sizes);
            check::<f32>(by, &sizes);
        }
        let sizes = [
            (0, 70, false),
            (3, 0, false),
            (0, 0, false),
            (130, 77, true),
            (1, 1, false),
        ];
        check::<f64>(by, &sizes);
        check::<f32>(by, &sizes);
    }
}

/// Four fronts, of which all but the second have bad pivots.
type Four = [(u32, u32, bool); 4];

const MIXED: Four = [
    (20, 9, false),
    (9, 0, false),
    (61, 30, false),
    (40, 3, true),
];

#[test]
fn the_first_bad_pivot_of_each_small_front_is_reported() {
    // one list for each kernel
    let sizes = [(8, 8), (13, 11), (8, 17), (24, 24), (31, 29), (20, 39)];
    let alike = sizes.map(|(pivots, updates)| [(pivots, updates, false); 4]);
    for sizes in alike.into_iter().chain([MIXED]) {
        bad_pivots::<f64>(By::Small, sizes, 1e-310);
        bad_pivots::<f32>(By::Small, sizes, 1e-39);
    }
}

#[test]
fn the_first_bad_pivot_of_each_large_front_is_reported() {
    for tile in [Tile::T64, Tile::Tall, Tile::T128, Tile::Warpgroups] {
        bad_pivots::<f64>(By::Tasks(tile), MIXED, 1e-310);
        bad_pivots::<f32>(By::Tasks(tile), MIXED, 1e-39);
    }
}

/// `below`: a number below the normal ones.
fn bad_pivots<T: Real>(by: By, sizes: Four, below: f64) {
    let last = sizes[0].0.min(sizes[2].0).min(sizes[3].0) - 3;
    for (value, at) in [
        (-2.0, 13),
        (0.0, 8),
        (f64::NAN, 3),
        (f64::INFINITY, 17),
        (T::from_f64(below).to_f64(), 0),
    ] {
        let at = last.min(at);
        let mut arena = Arena::<T>::new(&sizes, inverse_len(by));
        let mut bad = Vec::new();
        for front in [0, 2, 3] {
            for pivot in [at, at + 2] {
                // a column of its own, so that nothing is taken off the pivot
                for k in 0..pivot {
                    let place = arena.place(front, pivot, k);
                    arena.values[place] = 0.0;
                }
                let place = arena.place(front, pivot, pivot);
                arena.values[place] = value;
            }
            bad.push((front, at));
        }
        let Some((got, said)) = run(by, &arena) else {
            return;
        };
        let places: Vec<_> = said.iter().map(|b| (b.front, b.pivot)).collect();
        assert_eq!(places, bad, "{by:?} {value}");
        let same = |b: &BadPivot| b.value == value || b.value.is_nan() && value.is_nan();
        assert!(said.iter().all(same), "{said:?}");
        assert!(got[arena.place(1, 7, 7)] > 0.0); // the other front is not harmed
    }
}

#[test]
fn fronts_that_do_not_fit_are_errors() {
    let Some(gpu) = testing::gpu() else { return };
    let stream = gpu.stream().unwrap();
    let mut arena = Arena::<f64>::new(&[(70, 70, false)], |_| 0);
    arena.fronts[0].inverse = 0;
    assert!(
        SmallFronts::<f64>::new(
            gpu,
            &stream,
            &[Front {
                updates: 1000,
                ..arena.fronts[0]
            }]
        )
        .is_err()
    );
    assert!(
        Fronts::<f64>::new(
            gpu,
            &stream,
            &[Front {
                panel: 1,
                ..arena.fronts[0]
            }],
            Tile::T64
        )
        .is_err()
    );
    let mut list = Fronts::new(gpu, &stream, &arena.fronts, Tile::T64).unwrap();
    let mut small = gpu.alloc::<f64>(100).unwrap();
    assert!(list.launch(&stream, &mut small).is_err());
    assert!(FrontShape::new(1 << 31, 5).is_err());
}
