//! Every primitive against its host reference, on poisoned outputs; skipped visibly without a GPU.

mod counting;
mod floating;
mod moving;
mod sorting;

use crate::{DeviceBuffer, Element, Gpu, Stream, testing};

/// The device and a stream, or `None` where there is no device.
fn device() -> Option<(&'static Gpu, Stream)> {
    let gpu = testing::gpu()?;
    Some((gpu, gpu.stream().unwrap()))
}

/// Lengths around a tile of `tile` elements, primes, and several tiles.
fn lengths(tile: usize) -> Vec<usize> {
    vec![
        0,
        1,
        2,
        3,
        31,
        97,
        tile - 1,
        tile,
        tile + 1,
        3 * tile + 7,
        10_007,
    ]
}

/// Device memory of NaNs, so that what a kernel does not write is seen.
fn poisoned<T: Element>(gpu: &Gpu, stream: &Stream, len: usize) -> DeviceBuffer<T> {
    let mut buffer = gpu.alloc(len).unwrap();
    stream.fill_bytes(&mut buffer, 0xFF).unwrap();
    buffer
}

/// Numbers from a seed (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// In -1 .. 1.
    fn real(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    fn reals(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.real()).collect()
    }
}
