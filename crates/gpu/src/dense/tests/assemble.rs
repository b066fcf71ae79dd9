//! Extend-add.

use super::super::assemble::by_columns;
use super::super::{Assembly, Child, Front, FrontShape, Parent, Placed, Real};
use super::{Random, children_of, compare, download, parents_of, upload};
use crate::testing;

/// About `share` of the rows of a parent, ascending.
fn some_rows(rows: u32, share: f64, random: &mut Random) -> Vec<u32> {
    (0..rows)
        .filter(|_| random.next() < 2.0 * share - 1.0)
        .collect()
}

#[test]
fn parents_are_the_sums_of_their_children() {
    sums_of_children::<f64>();
    sums_of_children::<f32>();
}

fn sums_of_children<T: Real>() {
    let mut random = Random(5);
    let sizes = [
        (1, 0),
        (7, 60),
        (64, 64),
        (65, 129),
        (130, 70),
        (0, 40),
        (300, 263),
    ];
    let (mut end, mut fronts, mut relatives) = (0, Vec::new(), Vec::new());
    for (n, (pivots, updates)) in sizes.into_iter().enumerate() {
        let shape = FrontShape::of::<T>(pivots, updates).unwrap();
        let (panel, update) = (end, end + shape.panel_len);
        end = update + shape.update_len;
        fronts.push(Front {
            pivots,
            updates,
            panel,
            update,
            inverse: 0,
            fresh: n == 3,
        });
        let mut own = Vec::new();
        for share in [0.0, 0.1, 0.5, 1.0]
            .into_iter()
            .take(if n == 6 { 4 } else { n % 5 })
        {
            let rows = some_rows(pivots + updates, share, &mut random);
            own.push((end, rows));
            let order = own.last().unwrap().1.len() as u32;
            end += FrontShape::of::<T>(0, order).unwrap().update_len;
        }
        relatives.push(own);
    }
    let children = children_of(&relatives);
    compare_sums::<T>(
        &parents_of(&fronts, &children, false),
        &random.exact::<T>(end),
    );
}

/// Compares what the device and the host make of an arena with these values; the assembly.
fn compare_sums<T: Real>(parents: &[Parent<'_>], values: &[f64]) -> Option<Assembly<T>> {
    let gpu = testing::gpu()?;
    let stream = gpu.stream().unwrap();
    let (mut want, mut owned) = (values.to_vec(), vec![false; values.len()]);
    for parent in parents {
        sum_up::<T>(parent, values, &mut want, &mut owned);
    }
    let mut device = upload::<T>(gpu, &stream, values);
    let assembly = Assembly::new(gpu, &stream, parents).unwrap();
    assembly.launch(&stream, &mut device).unwrap();
    let got = download(&stream, &device);
    compare("assembly", &got, &want, |i| owned[i], 0.0);
    Some(assembly)
}

#[test]
fn fronts_with_many_small_children_are_the_sums_of_them() {
    sums_of_many::<f64>();
    sums_of_many::<f32>();
}

/// Thousands of children with a few rows each, and one with many: columns are summed up by several warps.
fn sums_of_many<T: Real>() {
    let mut random = Random(7);
    let sizes = [(130, 300), (0, 500), (257, 0), (1, 901), (2000, 100)];
    let (mut end, mut fronts, mut relatives) = (0, Vec::new(), Vec::new());
    for (pivots, updates) in sizes {
        let shape = FrontShape::of::<T>(pivots, updates).unwrap();
        let (panel, update) = (end, end + shape.panel_len);
        end = update + shape.update_len;
        fronts.push(Front {
            pivots,
            updates,
            panel,
            update,
            inverse: 0,
            fresh: false,
        });
        let rows = pivots + updates;
        let mut own = Vec::new();
        for k in 0..3000 {
            let share = if k == 17 { 0.3 } else { 5.0 / f64::from(rows) };
            let mut rows = some_rows(rows, share, &mut random);
            rows.retain(|&row| row != 3); // one column of none
            own.push((end, rows));
            let order = own.last().unwrap().1.len() as u32;
            end += FrontShape::of::<T>(0, order).unwrap().update_len;
        }
        relatives.push(own);
    }
    let children = children_of(&relatives);
    let parents = parents_of(&fronts, &children, true);
    for parent in &parents {
        assert!(by_columns::<T>(parent), "{:?}", parent.front);
    }
    // Whole numbers: their sums are exact in any order.
    let values: Vec<f64> = (0..end).map(|_| (1000.0 * random.next()).floor()).collect();
    if let Some(assembly) = compare_sums::<T>(&parents, &values) {
        assert!(assembly.gathered().iter().all(Option::is_none));
    }
}

/// The sums of a parent on the host, and which places it owns.
fn sum_up<T: Real>(parent: &Parent<'_>, values: &[f64], want: &mut [f64], owned: &mut [bool]) {
    let Front {
        pivots,
        updates,
        panel,
        update,
        fresh,
        ..
    } = parent.front;
    let shape = FrontShape::of::<T>(pivots, updates).unwrap();
    let place = |i: u32, j: u32| {
        let row = if i < pivots {
            i
        } else {
            i - pivots + shape.first_update
        };
        let place = if j < pivots {
            Placed::packed(panel, shape.panel_height).index(row, j)
        } else {
            Placed::packed(update, shape.update_height).index(i - pivots, j - pivots)
        };
        place as usize
    };
    let written = if fresh { pivots } else { pivots + updates };
    for j in 0..written {
        for i in j..pivots + updates {
            owned[place(i, j)] = true;
            if j >= pivots {
                want[place(i, j)] = 0.0; // a panel is added to
            }
        }
    }
    for child in parent.children {
        let order = child.relative.len() as u32;
        let height = FrontShape::of::<T>(0, order).unwrap().update_height;
        for (j, &pj) in (0..).zip(child.relative).filter(|&(_, &pj)| pj < written) {
            for (i, &pi) in (0..).zip(child.relative).skip(j as usize) {
                let from = Placed::packed(child.update, height).index(i, j) as usize;
                let sum = want[place(pi, pj)] + values[from];
                want[place(pi, pj)] = T::from_f64(sum).to_f64();
            }
        }
    }
}

#[test]
fn relative_indices_ascend_within_the_parent() {
    let Some(gpu) = testing::gpu() else { return };
    let stream = gpu.stream().unwrap();
    let front = Front {
        pivots: 3,
        updates: 4,
        panel: 0,
        update: 100,
        inverse: 0,
        fresh: false,
    };
    let wrong: [&[u32]; 3] = [&[1, 1], &[3, 2], &[5, 7]];
    for relative in wrong {
        let children = [Child {
            update: 200,
            relative,
        }];
        let parent = Parent {
            front,
            children: &children,
            gathered: false,
        };
        assert!(Assembly::<f64>::new(gpu, &stream, &[parent]).is_err());
    }
}
