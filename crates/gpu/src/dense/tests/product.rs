//! Products and symmetric updates.

use super::super::{Placed, Product, Products, Real, Step, Tile, grain};
use super::{Random, compare, download, epsilon, upload};
use crate::testing;

/// A product with its operands behind each other in an arena, and the arena.
fn problem<T: Real>(p: Problem, random: &mut Random) -> (Product, Vec<f64>) {
    let grain = grain::<T>();
    let even = |n: u32| n.next_multiple_of(grain);
    let mut end = 0;
    let mut place = |height: u32, columns: u32, packed: bool, skip: u32| {
        let mut placed = Placed {
            at: end,
            height,
            packed,
        };
        end = (end + placed.len(columns)).next_multiple_of(grain.into());
        placed.at += u64::from(skip); // the lower rows of a taller matrix
        placed
    };
    let above = p.inner.saturating_sub(1) / 128 * 128 + grain;
    let skip = if p.packed { above } else { 0 };
    let a = place(even(p.rows) + skip.max(grain), p.inner, p.packed, skip);
    let b = if p.lower {
        a
    } else {
        place(even(p.columns) + 2 * grain, p.inner, false, 0)
    };
    let c = place(even(p.rows) + grain, p.columns, p.lower, 0);
    let product = Product {
        a,
        b,
        c,
        rows: p.rows,
        columns: p.columns,
        inner: p.inner,
        beta: p.beta,
        subtract: p.subtract,
        lower: p.lower,
    };
    (product, random.exact::<T>(end))
}

#[derive(Clone, Copy, Debug)]
struct Problem {
    rows: u32,
    columns: u32,
    inner: u32,
    lower: bool,
    packed: bool,
    subtract: bool,
    beta: f64,
}

/// The product on the host, in `arena`; calls `touch` with every place of C.
fn host(p: &Product, arena: &mut [f64], mut touch: impl FnMut(usize)) {
    for j in 0..p.columns {
        for i in if p.lower { j } else { 0 }..p.rows {
            let at = |m: &Placed, r, c| arena[m.index(r, c) as usize];
            let sum: f64 = (0..p.inner).map(|k| at(&p.a, i, k) * at(&p.b, j, k)).sum();
            let place = p.c.index(i, j) as usize;
            let old = if p.beta == 0.0 {
                0.0
            } else {
                p.beta * arena[place]
            };
            arena[place] = if p.subtract { old - sum } else { old + sum };
            touch(place);
        }
    }
}

/// Runs a list of products and compares with the host.
fn check<T: Real>(list: &[(Product, Vec<f64>)], step: Step) {
    let Some(gpu) = testing::gpu() else { return };
    let stream = gpu.stream().unwrap();
    let (mut arena, mut products) = (Vec::new(), Vec::new());
    for (product, own) in list {
        let start = arena.len() as u64;
        let mut p = *product;
        (p.a.at, p.b.at, p.c.at) = (p.a.at + start, p.b.at + start, p.c.at + start);
        arena.extend_from_slice(own);
        products.push(p);
    }
    let mut want = arena.clone();
    let mut touched = vec![false; arena.len()];
    for p in &products {
        host(p, &mut want, |place| {
            touched[place] = true;
            if p.beta == 0.0 {
                arena[place] = f64::NAN; // must not be read
            }
        });
    }
    let mut device = upload::<T>(gpu, &stream, &arena);
    let list = Products::new(gpu, &stream, &products, Some(step)).unwrap();
    list.launch(&stream, &mut device).unwrap();
    let got = download(&stream, &device);
    let inner = products.iter().map(|p| p.inner).max().unwrap_or(0);
    let tolerance = 5.0 * epsilon::<T>() * f64::from(inner + 4);
    compare(
        &format!("{step:?} {:?}", products[0]),
        &got,
        &want,
        |i| touched[i],
        tolerance,
    );
    // bits repeat
    let mut again = upload::<T>(gpu, &stream, &arena);
    list.launch(&stream, &mut again).unwrap();
    let again = download(&stream, &again);
    assert!(
        got.iter()
            .zip(&again)
            .all(|(x, y)| x.to_bits() == y.to_bits())
    );
}

#[test]
fn products_of_many_sizes_are_those_of_the_host() {
    many_sizes::<f64>();
    many_sizes::<f32>();
}

fn many_sizes<T: Real>() {
    let mut random = Random(7);
    for (step, t) in [
        (Step::Naive, 16),
        (Step::SharedTiles, 16),
        (Step::RegisterBlocks, 64),
        (Step::VectorLoads, 128),
        (Step::DoubleBuffer, 128),
        (Step::Pipeline(Tile::T64), 64),
        (Step::Pipeline(Tile::T128), 128),
        (Step::Pipeline(Tile::Tall), 64),
        (Step::Pipeline(Tile::Warpgroups), 128),
        (Step::Bulk, 128),
    ] {
        let mut list = Vec::new();
        for (n, rows) in [0, 1, t - 1, t, t + 1, 263].into_iter().enumerate() {
            for (m, inner) in [0, 1, 15, 16, 17, 33, 131, 307].into_iter().enumerate() {
                for lower in [false, true] {
                    let p = Problem {
                        rows,
                        columns: if lower { rows } else { [1, t, 67][m % 3] },
                        inner,
                        lower,
                        packed: (n + m) % 2 == 0,
                        subtract: m % 2 == 0,
                        beta: [1.0, 0.0, -0.5][(n + 2 * m) % 3],
                    };
                    list.push(problem::<T>(p, &mut random));
                }
            }
        }
        check::<T>(&list, step);
    }
}

/// Blocks that stay go from whole tiles to others, to other problems, and to those without columns.
#[test]
fn many_tiles_for_each_block() {
    let mut random = Random(11);
    let list: Vec<_> = (0..36)
        .map(|n| {
            let lower = n % 3 > 0;
            let p = Problem {
                rows: [640, 600, 512, 385][n % 4],
                columns: if lower {
                    [640, 600, 512, 385][n % 4]
                } else {
                    300
                },
                inner: [0, 8, 40, 7, 129, 96, 1][n % 7],
                lower,
                packed: lower && n % 2 == 0,
                subtract: n % 5 > 0,
                beta: [1.0, 1.0, 0.0, -0.5][n / 2 % 4],
            };
            problem::<f64>(p, &mut random)
        })
        .collect();
    check::<f64>(&list, Step::Pipeline(Tile::Warpgroups));
}

/// The largest error of a symmetric update by three TF32 products is at most twice that of f32 with one rounding for each
/// addition, entries of one sign (whose errors add up) and of both.
#[test]
fn three_products_of_tf32_are_as_exact_as_f32() {
    let Some(gpu) = testing::gpu() else { return };
    let stream = gpu.stream().unwrap();
    let tiles = [Tile::Tall, Tile::T64, Tile::Warpgroups];
    let sizes = [8_u32, 32, 64, 1024, 4096].map(|inner| tiles.map(|tile| (inner, tile)));
    for (inner, tile) in sizes.into_iter().flatten() {
        let step = Step::Pipeline(tile);
        for positive in [false, true] {
            let (n, mut random) = (136, Random(23));
            let (a, c) = (Placed::plain(0, n), u64::from(n * inner));
            let product = Product {
                subtract: false,
                ..Product::syrk(a, Placed::packed(c, n), n, inner, 0.0)
            };
            let mut values = random.exact::<f32>(c + product.c.len(n));
            if positive {
                values.iter_mut().for_each(|v| *v = v.abs());
            }
            let mut device = upload::<f32>(gpu, &stream, &values);
            let list = Products::new(gpu, &stream, &[product], Some(step)).unwrap();
            list.launch(&stream, &mut device).unwrap();
            let got = download(&stream, &device);
            let (mut ours, mut plain) = (0.0_f64, 0.0_f64);
            for j in 0..n {
                for i in j..n {
                    let (mut exact, mut rounded) = (0.0, 0.0_f32);
                    for k in 0..inner {
                        let [x, y] = [i, j].map(|r| values[a.index(r, k) as usize]);
                        exact += x * y;
                        rounded = (x as f32).mul_add(y as f32, rounded);
                    }
                    ours = ours.max((got[product.c.index(i, j) as usize] - exact).abs());
                    plain = plain.max((f64::from(rounded) - exact).abs());
                }
            }
            println!("{tile:?}, inner {inner}, positive {positive}: {ours:.2e}, f32 {plain:.2e}");
            assert!(ours <= 2.0 * plain, "{inner}: {ours} against {plain}");
        }
    }
}

#[test]
fn a_nan_stays_in_its_row_and_column() {
    nan_stays::<f64>();
    nan_stays::<f32>();
}

fn nan_stays<T: Real>() {
    let Some(gpu) = testing::gpu() else { return };
    let stream = gpu.stream().unwrap();
    let p = Problem {
        rows: 150,
        columns: 150,
        inner: 40,
        lower: true,
        packed: false,
        subtract: true,
        beta: 1.0,
    };
    let steps = [None, Some(Step::Pipeline(Tile::Warpgroups))];
    let cases = steps.map(|step| [f64::NAN, f64::INFINITY].map(|bad| (step, bad)));
    for (step, bad) in cases.into_iter().flatten() {
        let (product, mut arena) = problem::<T>(p, &mut Random(3));
        arena[product.a.index(70, 9) as usize] = bad;
        let mut device = upload::<T>(gpu, &stream, &arena);
        let list = Products::new(gpu, &stream, &[product], step).unwrap();
        list.launch(&stream, &mut device).unwrap();
        let got = download(&stream, &device);
        for j in 0..150 {
            for i in j..150 {
                let finite = got[product.c.index(i, j) as usize].is_finite();
                assert_eq!(finite, i != 70 && j != 70, "entry {i}, {j} with {bad}");
            }
        }
    }
}

#[test]
fn operands_that_do_not_fit_are_errors() {
    let Some(gpu) = testing::gpu() else { return };
    let stream = gpu.stream().unwrap();
    let a = Placed::plain(0, 10);
    let good = Product::syrk(a, Placed::packed(100, 10), 10, 10, 1.0);
    let wrong = [
        Product { rows: 11, ..good },
        Product {
            a: Placed::plain(1, 10),
            b: Placed::plain(1, 10),
            ..good
        },
        Product {
            a: Placed::plain(0, 9),
            b: Placed::plain(0, 9),
            ..good
        },
        Product {
            c: Placed::packed(0, 8),
            ..good
        },
        Product {
            lower: false,
            ..good
        },
        Product {
            b: Placed::plain(50, 10),
            ..good
        },
    ];
    for p in wrong {
        let list = Products::<f64>::new(gpu, &stream, &[p], None);
        assert!(list.is_err(), "{p:?}");
    }
    let list = Products::new(gpu, &stream, &[good], None).unwrap();
    let mut small = gpu.alloc::<f64>(199).unwrap();
    assert!(list.launch(&stream, &mut small).is_err());
    let none = Products::new(gpu, &stream, &[], None).unwrap();
    none.launch(&stream, &mut small).unwrap();
}
