//! Dense kernels against the host; skipped visibly without a GPU.

mod assemble;
mod entries;
mod front;
mod fused;
mod gather;
mod product;

use super::{Child, Front, Parent, Placed, Real};
use crate::{DeviceBuffer, Gpu, Stream};

/// Numbers in −1..1 from a seed (Marsaglia 2003).
pub(super) struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    pub fn fill(&mut self, n: u64) -> Vec<f64> {
        (0..n).map(|_| self.next()).collect()
    }

    /// Numbers that are exact in `T`.
    fn exact<T: Real>(&mut self, n: u64) -> Vec<f64> {
        (0..n).map(|_| T::from_f64(self.next()).to_f64()).collect()
    }
}

/// The children of each front, given where the update matrix of each stands and its rows in the parent.
fn children_of(fronts: &[Vec<(u64, Vec<u32>)>]) -> Vec<Vec<Child<'_>>> {
    let children = fronts.iter().map(|own| {
        let children = own.iter();
        let children = children.map(|&(update, ref relative)| Child { update, relative });
        children.collect()
    });
    children.collect()
}

/// Fronts with their children, for an assembly.
fn parents_of<'a>(
    fronts: &[Front],
    children: &'a [Vec<Child<'a>>],
    gathered: bool,
) -> Vec<Parent<'a>> {
    let parents = fronts.iter().zip(children);
    let parents = parents.map(|(&front, children)| Parent {
        front,
        children,
        gathered,
    });
    parents.collect()
}

/// The distance of 1 to the next number.
fn epsilon<T: Real>() -> f64 {
    if size_of::<T>() == 8 {
        f64::EPSILON
    } else {
        f32::EPSILON.into()
    }
}

/// Numbers that are exact in `T`, on the device.
fn upload<T: Real>(gpu: &Gpu, stream: &Stream, values: &[f64]) -> DeviceBuffer<T> {
    let values: Vec<T> = values.iter().map(|&v| T::from_f64(v)).collect();
    stream.to_device(gpu, &values).unwrap()
}

fn download<T: Real>(stream: &Stream, values: &DeviceBuffer<T>) -> Vec<f64> {
    let values = stream.to_host(values).unwrap();
    values.iter().map(|v| v.to_f64()).collect()
}

/// Compares arenas: `owned` entries within `tolerance` of `want` (bit for bit if neither is a number), all others
/// untouched.
fn compare(what: &str, got: &[f64], want: &[f64], owned: impl Fn(usize) -> bool, tolerance: f64) {
    assert_eq!(got.len(), want.len());
    for (i, (&g, &w)) in got.iter().zip(want).enumerate() {
        if owned(i) {
            let close = (g - w).abs() <= tolerance || g.is_nan() && w.is_nan() || g == w;
            assert!(close, "{what}: entry {i} is {g}, not {w}");
        } else {
            assert_eq!(g.to_bits(), w.to_bits(), "{what}: entry {i} was touched");
        }
    }
}

#[test]
fn entries_of_packed_block_columns_have_their_own_places() {
    for (height, columns) in [(2, 1), (130, 130), (128, 128), (300, 257), (514, 129)] {
        let matrix = Placed::packed(0, height);
        let mut next = 0;
        for column in 0..columns {
            for row in column / 128 * 128..height {
                assert_eq!(matrix.index(row, column), next);
                next += 1;
            }
        }
        assert_eq!(matrix.len(columns), next);
    }
    let plain = Placed::plain(10, 6);
    assert_eq!((plain.index(2, 200), plain.len(3)), (10 + 1200 + 2, 18));
}
