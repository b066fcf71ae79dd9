//! What tests on the host and on a GPU share.

use tamarack::{Analysis, Device, Duplicates, Factor, Options, Precision, SymmetricCsc, Triplets};

const ALL: [Precision; 3] = [Precision::F64, Precision::F32, Precision::Mixed];

/// The host, and a GPU where there is one.
pub fn devices() -> Vec<Device> {
    let gpu = tamarack_gpu::testing::gpu().map(|_| Device::Gpu(0));
    std::iter::once(Device::Cpu).chain(gpu).collect()
}

/// All precisions on all devices.
pub fn everywhere() -> Vec<Options> {
    let on = |device: Device| {
        ALL.map(|precision| {
            let mut options = options(precision);
            options.device = device;
            options.gpu.cache = Some(std::env::temp_dir().join("tamarack-gpu-tests"));
            options
        })
    };
    devices().into_iter().flat_map(on).collect()
}

/// With two threads.
pub fn options(precision: Precision) -> Options {
    let mut options = Options::default();
    options.precision = precision;
    options.threads = Some(2);
    options
}

/// A tridiagonal matrix with this diagonal and `beside` next to it.
pub fn tridiagonal(diagonal: &[f64], beside: f64) -> SymmetricCsc<f64> {
    let mut triplets = Triplets::new(diagonal.len()).unwrap();
    for (i, &v) in (0..).zip(diagonal) {
        triplets.push(i, i, v).unwrap();
        if i > 0 && beside != 0.0 {
            triplets.push(i, i - 1, beside).unwrap();
        }
    }
    triplets.into_symmetric(Duplicates::Sum).unwrap()
}

/// A diagonal matrix.
pub fn diagonal(values: &[f64]) -> SymmetricCsc<f64> {
    tridiagonal(values, 0.0)
}

/// The factor, by an analysis of its own.
pub fn factorized(a: &SymmetricCsc<f64>, options: &Options) -> Factor {
    let analysis = Analysis::new(a.pattern(), options).unwrap();
    analysis.factorize(a).unwrap()
}
