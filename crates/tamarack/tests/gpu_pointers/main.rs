//! Matrices, right-hand sides and solutions that are on a GPU already: the bits of the path through host memory, and
//! errors for what is somewhere else. Skipped visibly without a GPU.

mod mixed;
mod refused;

use tamarack::{
    Analysis, Device, DeviceBuffer, DeviceMatrix, DeviceMatrixMut, DeviceStream, DeviceView,
    DeviceViewMut, Error, ErrorKind, Factor, Gpu, OnNotSpd, Options, Outcome, Precision,
    ResidualPrecision, SymmetricCsc,
};
use tamarack_testkit::{chain, hilbert, model};

const ALL: [Precision; 3] = [Precision::F64, Precision::F32, Precision::Mixed];

fn options() -> Option<(Options, &'static Gpu)> {
    let gpu = tamarack_gpu::testing::gpu()?;
    let mut options = Options::default();
    options.device = Device::Gpu(0);
    options.gpu.cache = Some(std::env::temp_dir().join("tamarack-gpu-tests"));
    Some((options, gpu))
}

fn right_sides(n: usize, count: usize) -> Vec<f64> {
    (0..n * count)
        .map(|i| ((i * 37 % 101) as f64 - 50.5) / 7.0)
        .collect()
}

/// Other values of the same pattern: D A D, as definite as A.
fn changed(a: &SymmetricCsc<f64>) -> SymmetricCsc<f64> {
    let scale = |i: usize| 1.0 + (i % 5) as f64 * 1e-2;
    let (pattern, mut a) = (a.pattern().clone(), a.clone());
    for j in 0..pattern.n() {
        for k in pattern.col_ptr()[j] as usize..pattern.col_ptr()[j + 1] as usize {
            a.values_mut()[k] *= scale(j) * scale(pattern.row_idx()[k] as usize);
        }
    }
    a
}

fn usage<T>(result: Result<T, Error>) -> String {
    match result {
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
            error.to_string()
        }
        Ok(_) => panic!("no error"),
    }
}

/// Columns on a device, a leading dimension apart, with NaN between them.
struct Columns {
    n: usize,
    count: usize,
    ld: usize,
    buffer: DeviceBuffer<f64>,
}

impl Columns {
    fn new(gpu: &Gpu, stream: &DeviceStream, columns: &[f64], n: usize, ld: usize) -> Self {
        let mut spread = Vec::new();
        for column in columns.chunks(n) {
            spread.extend_from_slice(column);
            spread.resize(spread.len() + ld - n, f64::NAN);
        }
        Self {
            n,
            count: columns.len() / n,
            ld,
            buffer: stream.to_device(gpu, &spread).unwrap(),
        }
    }

    fn view(&self) -> DeviceMatrix<'_, f64> {
        let (n, count) = (self.n as u32, self.count as u32);
        DeviceMatrix::new(&self.buffer, n, count, self.ld).unwrap()
    }

    fn view_mut(&mut self) -> DeviceMatrixMut<'_, f64> {
        let (n, count) = (self.n as u32, self.count as u32);
        DeviceMatrixMut::new(&mut self.buffer, n, count, self.ld).unwrap()
    }

    /// The columns; what is between them must be as it was.
    fn get(&self, stream: &DeviceStream) -> Vec<f64> {
        let all = stream.to_host(&self.buffer).unwrap();
        let mut columns = Vec::new();
        for column in all.chunks(self.ld) {
            let (column, gap) = column.split_at(self.n);
            columns.extend_from_slice(column);
            assert!(gap.iter().all(|x| x.is_nan()), "a gap was written");
        }
        columns
    }
}

#[test]
fn the_bits_are_those_of_the_way_through_the_host() {
    let Some((mut options, gpu)) = options() else {
        return;
    };
    let stream = gpu.stream().unwrap();
    let mut compared = 0;
    for name in ["p2d5_60", "p3d7_17", "el3d_6", "circuit_3000"] {
        let first = model(name);
        let second = changed(&first);
        let n = first.n();
        for precision in ALL {
            // Single precision cannot factorize this one.
            if name.starts_with("circuit") && precision == Precision::F32 {
                continue;
            }
            options.precision = precision;
            let analysis = Analysis::new(first.pattern(), &options).unwrap();
            let values = stream.to_device(gpu, first.values()).unwrap();
            let mut host = analysis.factorize(&first).unwrap();
            let mut device = analysis.factorize_device(values.view()).unwrap();
            assert_eq!(device.gpu().map(|gpu| gpu.info().index), Some(0));
            for a in [&first, &second, &first] {
                let values = stream.to_device(gpu, a.values()).unwrap();
                host.refactorize(a).unwrap();
                device.refactorize_device(values.view()).unwrap();
                drop(values); // nothing of it is needed any more
                for (count, ld) in [(1, n), (3, n + 5), (16, n), (19, n + 1), (33, n)] {
                    let what = format!("{name} {precision} {count}");
                    let b = right_sides(n, count);
                    let mut want = b.clone();
                    host.solve(&mut want).unwrap();
                    let mut x = Columns::new(gpu, &stream, &b, n, ld);
                    device.solve_device(x.view_mut()).unwrap();
                    assert!(x.get(&stream) == want, "{what}: solve");

                    want.copy_from_slice(&b);
                    let expected = host.solve_refined(a, &mut want).unwrap();
                    let right = Columns::new(gpu, &stream, &b, n, n + 2);
                    let report = device
                        .solve_refined_device(right.view(), x.view_mut())
                        .unwrap();
                    compared += 1;
                    assert!(x.get(&stream) == want, "{what}: refined");
                    assert_eq!(report, expected, "{what}");
                    assert!(right.get(&stream) == b, "{what}: b has changed");
                }
            }
            host.refactorize(&first).unwrap();
            let values = stream.to_device(gpu, first.values()).unwrap();
            device.refactorize_device(values.view()).unwrap();
            let determinants = [host, device].map(|factor| factor.log_determinant().unwrap());
            assert_eq!(determinants[0], determinants[1], "{name} {precision}");
        }
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn host_and_device_may_take_turns() {
    let Some((mut options, gpu)) = options() else {
        return;
    };
    let stream = gpu.stream().unwrap();
    let first = model("p3d7_9");
    let second = changed(&first);
    let b = right_sides(first.n(), 1);
    for (precision, on_not_spd) in ALL
        .into_iter()
        .flat_map(|p| [OnNotSpd::Fail, OnNotSpd::Shift].map(|s| (p, s)))
    {
        options.precision = precision;
        options.on_not_spd = on_not_spd;
        let analysis = Analysis::new(first.pattern(), &options).unwrap();
        let answer = |factor: &mut Factor, a: &SymmetricCsc<f64>| {
            let mut x = b.clone();
            factor.solve_refined(a, &mut x).unwrap();
            x
        };
        let mut factor = analysis.factorize(&first).unwrap();
        let of_first = answer(&mut factor, &first);
        let values = stream.to_device(gpu, second.values()).unwrap();
        factor.refactorize_device(values.view()).unwrap();
        let of_second = answer(&mut factor, &second);
        let right = Columns::new(gpu, &stream, &b, first.n(), first.n());
        let mut x = Columns::new(gpu, &stream, &b, first.n(), first.n());
        factor
            .solve_refined_device(right.view(), x.view_mut())
            .unwrap();
        assert!(x.get(&stream) == of_second, "{precision} {on_not_spd:?}");
        factor.refactorize(&first).unwrap();
        assert!(
            answer(&mut factor, &first) == of_first,
            "{precision} {on_not_spd:?}"
        );
    }
}

#[test]
fn pointers_of_others_are_waited_for() {
    for precision in ALL {
        let Some((mut options, gpu)) = options() else {
            return;
        };
        options.precision = precision;
        others_are_waited_for(&options, gpu);
    }
}

fn others_are_waited_for(options: &Options, gpu: &Gpu) {
    let current = || tamarack_gpu::testing::current_context().unwrap();
    let before = current();
    let a = model("p3d7_17");
    let analysis = Analysis::new(a.pattern(), options).unwrap();
    let mut factor = analysis.factorize(&a).unwrap();
    let (n, b) = (a.n(), right_sides(a.n(), 1));
    let mut want = b.clone();
    factor.solve(&mut want).unwrap();

    // What another library has: addresses, a stream, and work on it that is not done.
    let theirs = gpu.stream().unwrap();
    let mut large = gpu.alloc::<u8>(1 << 25).unwrap();
    let good = theirs.to_device(gpu, a.values()).unwrap();
    let mut values = gpu.alloc::<f64>(a.values().len()).unwrap();
    let right = theirs.to_device(gpu, &b).unwrap();
    let mut x = gpu.alloc::<f64>(n).unwrap();
    theirs.fill_bytes(&mut values, 0xFF).unwrap();
    theirs.fill_bytes(&mut x, 0xFF).unwrap();
    theirs.synchronize().unwrap();
    let busy = |large: &mut DeviceBuffer<u8>| {
        (0..500).for_each(|_| theirs.fill_bytes(&mut *large, 0).unwrap());
    };
    let (values_at, x_at) = (values.ptr().address(), x.ptr().address());
    busy(&mut large);
    theirs.copy(&good, &mut values).unwrap();
    // SAFETY: the buffers are alive; the stream is waited for before they are read, and is alive as well.
    unsafe {
        let values = DeviceView::from_raw(gpu, values_at, a.values().len()).unwrap();
        factor.wait_for(theirs.raw_handle()).unwrap();
        factor.refactorize_device(values).unwrap();
    }
    busy(&mut large);
    theirs.copy(&right, &mut x).unwrap();
    // SAFETY: as above.
    unsafe {
        let x = DeviceViewMut::from_raw(gpu, x_at, n).unwrap();
        let x = DeviceMatrixMut::new(x, n as u32, 1, n).unwrap();
        factor.wait_for(theirs.raw_handle()).unwrap();
        factor.solve_device(x).unwrap();
    }
    assert!(theirs.to_host(&x).unwrap() == want);
    assert_eq!(current(), before);
}

#[test]
fn values_may_change_as_soon_as_they_were_taken() {
    let Some((mut options, gpu)) = options() else {
        return;
    };
    let stream = gpu.stream().unwrap();
    let a = model("p3d7_40");
    let b = right_sides(a.n(), 1);
    let good = stream.to_device(gpu, a.values()).unwrap();
    let mut values = gpu.alloc::<f64>(a.values().len()).unwrap();
    for precision in ALL {
        options.precision = precision;
        let analysis = Analysis::new(a.pattern(), &options).unwrap();
        let mut factor = analysis.factorize(&a).unwrap();
        for _ in 0..10 {
            stream.copy(&good, &mut values).unwrap();
            stream.synchronize().unwrap();
            factor.refactorize_device(values.view()).unwrap();
            stream.fill_bytes(&mut values, 0xFF).unwrap();
            let right = Columns::new(gpu, &stream, &b, a.n(), a.n());
            let mut x = Columns::new(gpu, &stream, &b, a.n(), a.n());
            let report = factor.solve_refined_device(right.view(), x.view_mut());
            let error = report.unwrap().normwise_backward_error();
            assert!(error < 1e-14, "{precision:?}: {error:e}");
        }
    }
}

#[test]
fn nothing_is_solved_on_a_device_too() {
    let Some((mut options, _)) = options() else {
        return;
    };
    let a = SymmetricCsc::lower::<u64, u32>(0, &[0], &[], &[]).unwrap();
    for precision in ALL {
        options.precision = precision;
        let analysis = Analysis::new(a.pattern(), &options).unwrap();
        let mut factor = analysis.factorize(&a).unwrap();
        assert!(factor.solve_refined(&a, &mut []).unwrap().converged());
    }
}

#[test]
fn matrices_of_no_rows_and_no_columns() {
    let Some((options, gpu)) = options() else {
        return;
    };
    let stream = gpu.stream().unwrap();
    for n in [0_usize, 1] {
        let ptr: Vec<u32> = (0..=n as u32).collect();
        let rows: Vec<u32> = (0..n as u32).collect();
        let a = SymmetricCsc::lower(n, &ptr, &rows, &vec![4.0; n]).unwrap();
        let analysis = Analysis::new(a.pattern(), &options).unwrap();
        let values = stream.to_device(gpu, a.values()).unwrap();
        let mut factor = analysis.factorize_device(values.view()).unwrap();
        for columns in [0_u32, 1, 2] {
            let b = stream
                .to_device(gpu, &vec![8.0; n * columns as usize])
                .unwrap();
            let mut x = stream
                .to_device(gpu, &vec![8.0; n * columns as usize])
                .unwrap();
            let ld = n.max(1);
            let whole = DeviceMatrixMut::new(&mut x, n as u32, columns, ld).unwrap();
            factor.solve_device(whole).unwrap();
            assert!(stream.to_host(&x).unwrap().iter().all(|&x| x == 2.0));
            let b = DeviceMatrix::new(&b, n as u32, columns, ld).unwrap();
            let whole = DeviceMatrixMut::new(&mut x, n as u32, columns, ld).unwrap();
            let report = factor.solve_refined_device(b, whole).unwrap();
            assert!(report.refine.converged);
            assert!(stream.to_host(&x).unwrap().iter().all(|&x| x == 2.0));
        }
    }
}

#[test]
fn cycles_on_the_device_take_no_memory() {
    let Some((mut options, gpu)) = options() else {
        return;
    };
    let stream = gpu.stream().unwrap();
    let a = model("el3d_6");
    let values = stream.to_device(gpu, a.values()).unwrap();
    let right = Columns::new(gpu, &stream, &right_sides(a.n(), 1), a.n(), a.n());
    let mut x = Columns::new(gpu, &stream, &right_sides(a.n(), 1), a.n(), a.n());
    for precision in [Precision::F64, Precision::Mixed] {
        options.precision = precision;
        let analysis = Analysis::new(a.pattern(), &options).unwrap();
        let mut factor = analysis.factorize_device(values.view()).unwrap();
        let (mut first, mut free) = (Vec::new(), 0);
        for cycle in 0..300 {
            factor.refactorize_device(values.view()).unwrap();
            factor
                .solve_refined_device(right.view(), x.view_mut())
                .unwrap();
            let got = x.get(&stream);
            if cycle == 20 {
                (first, free) = (got, gpu.memory().unwrap().0);
            } else if cycle > 20 {
                assert!(got == first, "cycle {cycle}");
            }
        }
        // other tests of this process may come and go on the device
        let now = gpu.memory().unwrap().0;
        assert!(now + (256 << 20) > free, "{now} of {free}");
    }
}
