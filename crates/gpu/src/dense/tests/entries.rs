//! Entries of a matrix on their way into panels.

use std::sync::Arc;

use super::super::{Entries, EntryFront, EntryFronts, EntryMap, FrontShape, Placed, Real};
use super::{Random, download, upload};
use crate::spmv::HalfPattern;
use crate::testing;
use crate::{Gpu, Stream};

/// A matrix and its fronts; some rows of fronts are of no entry.
struct Problem {
    starts: Vec<u64>,
    indices: Vec<u32>,
    position: Vec<u32>,
    order: Vec<u32>,
    fronts: Vec<EntryFront>,
    rows: Vec<u32>,
    /// Where each entry goes.
    places: Vec<u64>,
    len: u64,
}

fn below(random: &mut Random, bound: u32) -> u32 {
    ((random.next() + 1.0) / 2.0 * f64::from(bound)) as u32
}

impl Problem {
    /// About `degree` entries a column, fronts of up to `most` pivots.
    fn new<T: Real>(n: u32, degree: u32, most: u32, random: &mut Random) -> Self {
        let mut position: Vec<u32> = (0..n).collect();
        for i in (1..n).rev() {
            position.swap(i as usize, below(random, i + 1) as usize);
        }
        let mut order = position.clone();
        (0..n).for_each(|j| order[position[j as usize] as usize] = j);
        let (mut starts, mut indices) = (vec![0], Vec::new());
        for j in 0..n {
            let mut own: Vec<u32> = (1..degree).map(|_| j + below(random, n - j)).collect();
            own.push(j);
            own.sort_unstable();
            own.dedup();
            indices.extend(own);
            starts.push(indices.len() as u64);
        }
        let (mut fronts, mut rows, mut len, mut column) = (Vec::new(), Vec::new(), 0, 0);
        let mut front_of = Vec::new();
        while column < n {
            let pivots = (1 + below(random, most)).min(n - column);
            front_of.resize((column + pivots) as usize, fronts.len());
            let front = EntryFront {
                column,
                pivots,
                updates: 0,
                rows: 0,
                panel: 0,
            };
            fronts.push(front);
            column += pivots;
        }
        // Elimination numbers of row and column of each entry.
        let mut pairs = Vec::new();
        for j in 0..n as usize {
            for &i in &indices[starts[j] as usize..starts[j + 1] as usize] {
                let (a, b) = (position[j], position[i as usize]);
                pairs.push((a.max(b), a.min(b)));
            }
        }
        let mut wanted = vec![Vec::new(); fronts.len()];
        for &(row, column) in &pairs {
            wanted[front_of[column as usize]].push(row);
        }
        for (front, mut wanted) in fronts.iter_mut().zip(wanted) {
            let end = front.column + front.pivots;
            wanted.extend((0..3).map(|_| below(random, n)));
            wanted.retain(|&row| row >= end);
            wanted.sort_unstable();
            wanted.dedup();
            (front.updates, front.rows) = (wanted.len() as u32, rows.len() as u64);
            rows.extend(wanted);
            front.panel = len;
            len += FrontShape::of::<T>(front.pivots, front.updates)
                .unwrap()
                .panel_len;
        }
        let place = |&(row, column): &(u32, u32)| {
            let front: &EntryFront = &fronts[front_of[column as usize]];
            let shape = FrontShape::of::<T>(front.pivots, front.updates).unwrap();
            let own = &rows[front.rows as usize..][..front.updates as usize];
            let stored = match own.iter().position(|&r| r == row) {
                Some(k) => shape.first_update + k as u32,
                None => row - front.column,
            };
            Placed::packed(front.panel, shape.panel_height).index(stored, column - front.column)
        };
        let places = pairs.iter().map(place).collect();
        Self {
            starts,
            indices,
            position,
            order,
            fronts,
            rows,
            places,
            len,
        }
    }

    fn entries<T: Real>(&self, gpu: &Gpu, stream: &Stream) -> Entries<T> {
        let half = HalfPattern::new(gpu, &self.starts, &self.indices).unwrap();
        let (n, rows) = (half.n(), self.rows.len() as u64);
        let fronts = EntryFronts::new(n, rows, self.fronts.iter().copied()).unwrap();
        let map = EntryMap {
            pattern: &half,
            starts: &self.starts,
            position: &self.position,
            order: &self.order,
            rows: &self.rows,
            early: self.early(),
        };
        Entries::new(gpu, stream, &map, &fronts).unwrap()
    }

    /// Where the panels of the last third of the fronts begin.
    fn early(&self) -> u64 {
        let late = self.fronts.get(self.fronts.len() * 2 / 3);
        late.map_or(self.len, |front| front.panel)
    }

    /// Where those of the last sixth do.
    fn middle(&self) -> u64 {
        let late = self.fronts.get(self.fronts.len() * 5 / 6);
        late.map_or(self.len, |front| front.panel)
    }
}

fn filled<T: Real>() {
    let Some(gpu) = testing::gpu() else { return };
    let stream = gpu.stream().unwrap();
    let mut random = Random(23);
    for (n, degree, most) in [
        (0, 1, 1),
        (1, 1, 1),
        (7, 3, 4),
        (257, 2, 300),
        (300, 5, 40),
        (1009, 20, 200),
        (700, 70, 9),
    ] {
        let problem = Problem::new::<T>(n, degree, most, &mut random);
        let mut entries = problem.entries::<T>(gpu, &stream);
        let (early, middle) = (problem.early(), problem.middle());
        let values = random.exact::<T>(problem.indices.len() as u64);
        let wide = random.fill(problem.indices.len() as u64);
        let scale: Vec<f64> = (0..n).map(|i| f64::powi(2.0, i as i32 % 9 - 4)).collect();
        let expected = |of: &dyn Fn(usize) -> f64| {
            let mut want = vec![0.0; problem.len as usize + 5];
            want[problem.len as usize..].fill(7.0);
            for (k, &place) in problem.places.iter().enumerate() {
                want[place as usize] = T::from_f64(of(k)).to_f64();
            }
            want
        };
        let column_of = |k: usize| problem.starts.partition_point(|&s| s <= k as u64) - 1;
        let scaled = |k: usize| wide[k] * scale[column_of(k)] * scale[problem.indices[k] as usize];
        let mut run = |launch: &mut dyn FnMut(&mut Entries<T>, crate::DeviceViewMut<'_, T>)| {
            // poison before, and something else behind
            let mut before = vec![f64::NAN; problem.len as usize];
            before.resize(problem.len as usize + 5, 7.0);
            let mut arena = upload::<T>(gpu, &stream, &before);
            let (panels, _) = arena.view_mut().split_at(problem.len as usize).unwrap();
            launch(&mut entries, panels);
            for range in [early..middle, middle..problem.len] {
                let all = arena.view_mut();
                entries.launch_late(&stream, all, range).unwrap();
            }
            download(&stream, &arena)
        };
        let own = upload::<T>(gpu, &stream, &values);
        let got = run(&mut |entries, panels| entries.launch(&stream, panels, &own).unwrap());
        assert_eq!(got, expected(&|k| values[k]), "{n} {degree}");
        let on_device = stream.to_device(gpu, &wide).unwrap();
        let diagonal = stream.to_device(gpu, &scale).unwrap();
        let mut with = |scale: Option<&crate::DeviceBuffer<f64>>| {
            let scale = scale.map(crate::DeviceBuffer::view);
            run(&mut |entries, panels| {
                let wide = on_device.view();
                entries.launch_wide(&stream, panels, wide, scale).unwrap();
            })
        };
        assert_eq!(with(None), expected(&|k| wide[k]), "{n} {degree}");
        assert_eq!(with(Some(&diagonal)), expected(&scaled), "{n} {degree}");
        if n > 1 {
            let mut arena = upload::<T>(gpu, &stream, &vec![0.0; problem.len as usize]);
            let short = arena.view_mut().split_at(1).unwrap().0;
            assert!(entries.launch(&stream, short, &own).is_err());
            let few = own.view().slice(1..).unwrap();
            assert!(entries.launch(&stream, &mut arena, few).is_err());
            let diagonal = Some(diagonal.view().slice(1..).unwrap());
            let panels = arena.view_mut();
            assert!(
                entries
                    .launch_wide(&stream, panels, on_device.view(), diagonal)
                    .is_err()
            );
        }
    }
}

#[test]
fn every_entry_finds_its_place() {
    filled::<f64>();
    filled::<f32>();
}

#[test]
fn fronts_that_are_not_the_matrix_are_refused() {
    let Some(gpu) = testing::gpu() else { return };
    let stream = gpu.stream().unwrap();
    let good = Problem::new::<f64>(40, 4, 7, &mut Random(3));
    let half = HalfPattern::new(gpu, &good.starts, &good.indices).unwrap();
    let make = |half: &Arc<HalfPattern>, position: &[u32], rows: &[u32], fronts: &[EntryFront]| {
        let len = rows.len() as u64;
        let Ok(fronts) = EntryFronts::<f64>::new(40, len, fronts.iter().copied()) else {
            return false;
        };
        let map = EntryMap {
            pattern: half,
            starts: &good.starts,
            position,
            order: &good.order,
            rows,
            early: 0,
        };
        Entries::new(gpu, &stream, &map, &fronts).is_ok()
    };
    let Problem {
        position,
        rows,
        fronts,
        ..
    } = &good;
    assert!(make(&half, position, rows, fronts));
    assert!(!make(&half, &position[1..], rows, fronts));
    let mut far = position.clone();
    far[3] = 40;
    assert!(!make(&half, &far, rows, fronts));
    assert!(!make(&half, position, &rows[1..], fronts));
    assert!(!make(&half, position, rows, &fronts[1..]));
    let mut twice = fronts.clone();
    twice.push(fronts[0]);
    assert!(!make(&half, position, rows, &twice));
    let mut crooked = fronts.clone();
    crooked[0].panel = 1;
    assert!(!make(&half, position, rows, &crooked));
    let mut wide = fronts.clone();
    wide[0].pivots = 41;
    assert!(!make(&half, position, rows, &wide));
}

#[test]
fn a_row_that_its_front_does_not_have_is_left_out() {
    let Some(gpu) = testing::gpu() else { return };
    let stream = gpu.stream().unwrap();
    // (0,0) (2,0) | (1,1) | (2,2), a front each; the first has row 1 instead of row 2
    let half = HalfPattern::new(gpu, &[0, 2, 3, 4], &[0, 2, 1, 2]).unwrap();
    let front = |column, updates, panel| EntryFront {
        column,
        pivots: 1,
        updates,
        rows: 0,
        panel,
    };
    let fronts = [front(0, 1, 0), front(1, 0, 4), front(2, 0, 6)];
    let fronts = EntryFronts::new(3, 1, fronts).unwrap();
    let map = EntryMap {
        pattern: &half,
        starts: &[0, 2, 3, 4],
        position: &[0, 1, 2],
        order: &[0, 1, 2],
        rows: &[1],
        early: 8,
    };
    let mut entries = Entries::<f64>::new(gpu, &stream, &map, &fronts).unwrap();
    let values = upload::<f64>(gpu, &stream, &[1.0, 2.0, 3.0, 4.0]);
    let mut arena = upload::<f64>(gpu, &stream, &[9.0; 8]);
    entries.launch(&stream, &mut arena, &values).unwrap();
    let want = [1.0, 0.0, 0.0, 0.0, 3.0, 0.0, 4.0, 0.0];
    assert_eq!(download(&stream, &arena), want);
}
