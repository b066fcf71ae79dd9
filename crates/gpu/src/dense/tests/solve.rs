//! Panel solves.

use super::super::{Front, FrontShape, Fronts, PanelSolves, Placed, RightHandSides, Tile};
use super::Random;
use crate::testing;

const SIZES: [(u32, u32); 9] = [
    (1, 0),
    (5, 70),
    (63, 1),
    (64, 64),
    (65, 129),
    (0, 9),
    (200, 130),
    (307, 0),
    (130, 263),
];

/// Factored panels in an arena, their entries, and the inverses' places.
fn factored(tile: Tile, random: &mut Random) -> (Vec<Front>, Vec<f64>) {
    let (mut fronts, mut end) = (Vec::new(), 0);
    for (pivots, updates) in SIZES {
        let shape = FrontShape::new(pivots, updates).unwrap();
        let (panel, update) = (end, end + shape.panel_len);
        let inverse = update + shape.update_len;
        end = inverse + Fronts::inverse_len(tile, pivots);
        fronts.push(Front {
            pivots,
            updates,
            panel,
            update,
            inverse,
            fresh: true,
        });
    }
    let mut values = random.fill(end);
    for front in &fronts {
        for j in 0..front.pivots {
            values[place(front, j, j)] = f64::from(front.pivots + front.updates) + 1.0;
        }
    }
    (fronts, values)
}

/// Where entry (i, j) of a panel stands.
fn place(front: &Front, i: u32, j: u32) -> usize {
    let shape = FrontShape::new(front.pivots, front.updates).unwrap();
    let row = if i < front.pivots {
        i
    } else {
        i - front.pivots + shape.first_update
    };
    Placed::packed(front.panel, shape.panel_height).index(row, j) as usize
}

/// Substitutes on the host.
fn host(front: &Front, arena: &[f64], x: &mut [f64], backward: bool) {
    let l = |i: u32, j: u32| arena[place(front, i, j)];
    let rows = front.pivots + front.updates;
    if backward {
        for j in (0..front.pivots).rev() {
            let sum: f64 = (j + 1..rows).map(|i| l(i, j) * x[i as usize]).sum();
            x[j as usize] = (x[j as usize] - sum) / l(j, j);
        }
    } else {
        for j in 0..front.pivots {
            x[j as usize] /= l(j, j);
            for i in j + 1..rows {
                x[i as usize] -= l(i, j) * x[j as usize];
            }
        }
    }
}

#[test]
fn substitutions_are_those_of_the_host() {
    let Some(gpu) = testing::gpu() else { return };
    let stream = gpu.stream().unwrap();
    for tile in [Tile::T64, Tile::T128] {
        let mut random = Random(9);
        let (fronts, values) = factored(tile, &mut random);
        let mut arena = stream.to_device(gpu, &values).unwrap();
        let mut list = Fronts::new(gpu, &stream, &fronts, tile).unwrap();
        list.launch(&stream, &mut arena).unwrap();
        assert_eq!(list.bad_pivots(&stream).unwrap(), []);
        let factor = stream.to_host(&arena).unwrap();
        let (mut end, mut vectors) = (0, Vec::new());
        for front in &fronts {
            let stride = u64::from(front.pivots + front.updates) + 3;
            vectors.push(RightHandSides { at: end, stride });
            end += 9 * stride;
        }
        let mut solves = PanelSolves::new(gpu, &stream, &fronts, &vectors, tile, 9).unwrap();
        let start = random.fill(end);
        let mut first = Vec::new();
        for (backward, rhs) in [
            (false, 1),
            (false, 3),
            (false, 9),
            (true, 1),
            (true, 4),
            (true, 9),
        ] {
            let mut x = stream.to_device(gpu, &start).unwrap();
            if backward {
                solves.backward(&stream, &arena, &mut x, rhs).unwrap();
            } else {
                solves.forward(&stream, &arena, &mut x, rhs).unwrap();
            }
            let got = stream.to_host(&x).unwrap();
            let mut want = start.clone();
            for (front, v) in fronts.iter().zip(&vectors) {
                for r in 0..u64::from(rhs) {
                    let at = (v.at + r * v.stride) as usize;
                    let rows = (front.pivots + front.updates) as usize;
                    host(front, &factor, &mut want[at..at + rows], backward);
                }
            }
            for (i, (g, w)) in got.iter().zip(&want).enumerate() {
                assert!(
                    (g - w).abs() <= 1e-12,
                    "{tile:?} {backward} {rhs}: {i}: {g}, not {w}"
                );
            }
            // the first right-hand side has the same bits beside others
            let own: Vec<u64> = (vectors.iter().zip(&fronts))
                .flat_map(|(v, f)| v.at..v.at + u64::from(f.pivots + f.updates))
                .map(|i| got[i as usize].to_bits())
                .collect();
            if rhs == 1 {
                first = own;
            } else {
                assert_eq!(own, first);
            }
        }
        let mut short = gpu.alloc::<f64>(end as usize - 4).unwrap();
        assert!(solves.forward(&stream, &arena, &mut short, 9).is_err());
        assert!(solves.forward(&stream, &arena, &mut short, 10).is_err());
    }
}
