//! Update matrices that are summed up where they are eliminated.

use super::super::{Assembly, Child, Front, FrontShape, Fronts, Parent, Placed, Real, Tile};
use super::{Random, children_of, download, parents_of, upload};
use crate::testing;

/// Fronts with update matrices of their children, one behind the other, and where all ends.
struct Family {
    fronts: Vec<Front>,
    /// Of each front: where its children's matrices stand, and which rows they have.
    children: Vec<Vec<(u64, Vec<u32>)>>,
    end: u64,
}

/// At the borders of tiles of 64 and 128; none to three children, one of them of all rows.
fn family<T: Real>(random: &mut Random) -> Family {
    let sizes = [
        (1, 1),
        (3, 63),
        (64, 64),
        (65, 129),
        (130, 70),
        (20, 127),
        (40, 300),
        (150, 0),
    ];
    let (mut end, mut fronts, mut children) = (0, Vec::new(), Vec::new());
    for (n, (pivots, updates)) in sizes.into_iter().enumerate() {
        let shape = FrontShape::of::<T>(pivots, updates).unwrap();
        let (panel, update) = (end, end + shape.panel_len);
        let inverse = update + shape.update_len;
        end = inverse + Fronts::inverse_len(pivots);
        let shares = [0.6, 1.0, 0.1];
        let own = shares[..n % 4].iter().map(|share| {
            let rows = (0..pivots + updates).filter(|_| random.next() < 2.0 * share - 1.0);
            let rows: Vec<u32> = rows.collect();
            let at = end;
            end += FrontShape::of::<T>(0, rows.len() as u32)
                .unwrap()
                .update_len;
            (at, rows)
        });
        children.push(own.collect::<Vec<_>>());
        fronts.push(Front {
            pivots,
            updates,
            panel,
            update,
            inverse,
            fresh: n % 4 == 0,
        });
    }
    Family {
        fronts,
        children,
        end,
    }
}

/// What tiles make of the family's fronts, with all update matrices gathered or assembled.
fn eliminated<T: Real>(family: &Family, values: &[f64], tile: Tile, gathered: bool) -> Vec<f64> {
    let gpu = testing::gpu().unwrap();
    let stream = gpu.stream().unwrap();
    let children = children_of(&family.children);
    let parents = parents_of(&family.fronts, &children, gathered);
    let mut arena = upload::<T>(gpu, &stream, values);
    let assembly = Assembly::new(gpu, &stream, &parents).unwrap();
    assembly.launch(&stream, &mut arena).unwrap();
    let all = assembly.gathered();
    assert_eq!(all.iter().any(Option::is_some), gathered);
    let mut fronts = Fronts::<T>::gathering(gpu, &stream, &family.fronts, all, tile).unwrap();
    if gathered {
        assert!(fronts.launch(&stream, &mut arena).is_err());
    }
    fronts
        .launch_gathering(&stream, &mut arena, &assembly)
        .unwrap();
    assert!(fronts.bad_pivots(&stream).unwrap().is_empty());
    download(&stream, &arena)
}

fn gathering_gives_the_same_bits<T: Real>() {
    if testing::gpu().is_none() {
        return;
    }
    let mut random = Random(11);
    let family = family::<T>(&mut random);
    // what stands where update matrices go is not a number; diagonals are heavy: whatever the children are, pivots are positive
    let mut values: Vec<f64> = (0..family.end).map(|_| random.next()).collect();
    for front in &family.fronts {
        let shape = FrontShape::of::<T>(front.pivots, front.updates).unwrap();
        let end = front.update + shape.update_len;
        values[front.panel as usize..front.update as usize].fill(0.0);
        values[front.update as usize..end as usize].fill(f64::NAN);
        let panel = Placed::packed(front.panel, shape.panel_height);
        (0..front.pivots).for_each(|j| values[panel.index(j, j) as usize] = 1e6);
    }
    let tiles = [Tile::T64, Tile::T128, Tile::Warpgroups];
    for tile in tiles.into_iter().filter(|tile| tile.gathers::<T>()) {
        let want = eliminated::<T>(&family, &values, tile, false);
        let got = eliminated::<T>(&family, &values, tile, true);
        let same = |(a, b): (&f64, &f64)| a == b || (a.is_nan() && b.is_nan());
        let other = want.iter().zip(&got).position(|pair| !same(pair));
        assert_eq!(other, None, "{tile:?}");
    }
}

#[test]
fn gathered_update_matrices_are_those_that_are_assembled() {
    gathering_gives_the_same_bits::<f64>();
    gathering_gives_the_same_bits::<f32>();
}

#[test]
fn another_front_is_not_gathered() {
    let Some(gpu) = testing::gpu() else { return };
    let stream = gpu.stream().unwrap();
    let family = family::<f64>(&mut Random(11));
    let (front, children) = (family.fronts[2], &family.children[2]);
    let children: Vec<Child<'_>> = children
        .iter()
        .map(|(update, relative)| Child {
            update: *update,
            relative,
        })
        .collect();
    let parent = Parent {
        front,
        children: &children,
        gathered: true,
    };
    let assembly = Assembly::<f64>::new(gpu, &stream, &[parent]).unwrap();
    let of = |front: Front, tile| {
        Fronts::<f64>::gathering(gpu, &stream, &[front], assembly.gathered(), tile).is_ok()
    };
    assert!(of(front, Tile::T64) && of(front, Tile::T128));
    assert!(!of(front, Tile::Tall), "its tiles are not square");
    let larger = Front {
        updates: front.updates + 64,
        ..front
    };
    assert!(!of(larger, Tile::T64));
}
