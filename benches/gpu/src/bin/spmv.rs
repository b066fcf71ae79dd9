//! Sparse matrix times vector in every format, beside cuSPARSE.
//!
//! Bytes are those of the full matrix in CSR for every format, so that rates compare: the symmetric
//! format's is above the memory's where it pays.

use std::process::ExitCode;

use tamarack_gpu::primitives::{MatrixView, MatrixViewMut, Real};
use tamarack_gpu::spmv::{Csr, Format, Profile, SparseMatrix};
use tamarack_gpu::{DeviceBuffer, GpuError};
use tamarack_gpu_benches::cusparse::{Algorithm, Cusparse, Entries, Number};
use tamarack_gpu_benches::matrices::{Matrix, grid, power_law};
use tamarack_gpu_benches::{Case, Suite};

fn main() -> ExitCode {
    let mut suite = match Suite::from_args("spmv") {
        Ok(suite) => suite,
        Err(code) => return code,
    };
    let outcome = run(&mut suite);
    suite.finish(outcome)
}

/// Makes a matrix.
type Make = fn() -> Matrix;

fn run(suite: &mut Suite) -> Result<(), GpuError> {
    let problems: [(&str, Make); 4] = [
        ("7 a row, 4.1 M rows", || grid(160, 1, 6)),
        ("27 a row, 1 M rows", || grid(100, 1, 26)),
        ("81 a row, 0.4 M rows", || grid(50, 3, 26)),
        ("power law, 2 M rows", || power_law(1 << 21)),
    ];
    for (size, make) in problems {
        if !["f64", "f32"]
            .iter()
            .any(|t| suite.wants(&format!("spmv {t} {size}")))
        {
            continue;
        }
        let matrix = make();
        both::<f64>(suite, size, &matrix)?;
        both::<f32>(suite, size, &matrix)?;
    }
    Ok(())
}

fn both<T: Real + Number>(suite: &mut Suite, size: &str, matrix: &Matrix) -> Result<(), GpuError> {
    let problem = format!("spmv {}", T::NAME);
    if !suite.wants(&format!("{problem} {size}")) {
        return Ok(());
    }
    let (gpu, stream) = (suite.gpu().clone(), suite.gpu().stream()?);
    let values: Vec<T> = matrix.values.iter().map(|&v| T::from_f64(v)).collect();
    let n = matrix.rows();
    let csr = Csr::new(n as u32, &matrix.starts, &matrix.columns, &values)?;
    let profile = Profile::of(&csr);
    eprintln!("{size}: {profile:?}");
    let ones: Vec<T> = (0..n)
        .map(|i| T::from_f64((i as f64 * 0.1).sin()))
        .collect();
    let x = stream.to_device(&gpu, &ones)?;
    let mut y = gpu.alloc::<T>(n)?;
    let each = size_of::<T>() as f64;
    let bytes = profile.entries as f64 * (4.0 + each) + n as f64 * (4.0 + 2.0 * each);
    let flops = 2.0 * profile.entries as f64;
    let case = |by: &str| Case::new(&problem, size, by).bytes(bytes).flops(flops);

    let eight = |by: &str| {
        let more = 7.0 * n as f64 * 2.0 * each;
        let problem = format!("{problem}, 8 vectors");
        Case::new(&problem, size, by)
            .bytes(bytes + more)
            .flops(8.0 * flops)
    };

    peers(suite, &case, matrix, &values, &x, &y)?;
    for lanes in [1, 2, 4, 8, 16, 32] {
        // Far too many or too few threads a row only take time.
        let each = profile.mean / f64::from(lanes);
        if (1.0..24.0).contains(&each) {
            let a = SparseMatrix::csr_with_lanes(&gpu, &stream, &csr, lanes)?;
            suite.time(case(&format!("CsrRows, {lanes} lanes")), |s| {
                a.multiply(s, &x, &mut y)
            })?;
        }
    }
    let skewed = f64::from(profile.longest) > 20.0 * profile.mean;
    for format in [
        Format::CsrMerge,
        Format::SlicedEll,
        Format::Hybrid,
        Format::Coo,
        Format::Ell,
    ] {
        if format == Format::Ell && skewed {
            continue;
        }
        let a = SparseMatrix::with_format(&gpu, &stream, &csr, format)?;
        suite.time(case(&format!("{format:?}")), |s| a.multiply(s, &x, &mut y))?;
    }
    let a = SparseMatrix::new(&gpu, &stream, &csr)?;
    suite.time(case(&format!("chosen: {:?}", a.format())), |s| {
        a.multiply(s, &x, &mut y)
    })?;
    let b = gpu.alloc::<T>(n)?;
    suite.time(case("chosen, residual"), |s| a.residual(s, &b, &x, &mut y))?;
    if !skewed {
        let xs = gpu.alloc::<T>(8 * n)?;
        let mut ys = gpu.alloc::<T>(8 * n)?;
        let view = MatrixView::new(&xs, n as u32, 8, n)?;
        for format in [Format::CsrRows, Format::SlicedEll] {
            let a = SparseMatrix::with_format(&gpu, &stream, &csr, format)?;
            suite.time(eight(&format!("{format:?}")), |s| {
                a.multiply_many(s, view, MatrixViewMut::new(&mut ys, n as u32, 8, n)?)
            })?;
        }
        halves(suite, &case, matrix, &x, &mut y)?;
    }
    Ok(())
}

/// The lower half alone, in windows of several sizes.
fn halves<T: Real>(
    suite: &mut Suite,
    case: &dyn Fn(&str) -> Case,
    matrix: &Matrix,
    x: &DeviceBuffer<T>,
    y: &mut DeviceBuffer<T>,
) -> Result<(), GpuError> {
    let (gpu, stream) = (suite.gpu().clone(), suite.gpu().stream()?);
    let lower = matrix.lower();
    let values: Vec<T> = lower.values.iter().map(|&v| T::from_f64(v)).collect();
    let csr = Csr::new(matrix.rows() as u32, &lower.starts, &lower.columns, &values)?;
    let a = SparseMatrix::with_format(&gpu, &stream, &csr, Format::SymmetricEll)?;
    suite.time(case("SymmetricEll"), |s| a.multiply(s, x, &mut *y))?;
    let a = SparseMatrix::symmetric(&gpu, &stream, &csr)?;
    suite.time(case(&format!("symmetric, chosen: {:?}", a.format())), |s| {
        a.multiply(s, x, &mut *y)
    })?;
    let windows = [(768, 2560), (512, 2048), (1024, 3072), (1536, 4096)];
    let tried = if suite.is_quick() { 1 } else { windows.len() };
    for &(rows, window) in &windows[..tried] {
        let start = std::time::Instant::now();
        let a = SparseMatrix::symmetric_with_windows(&gpu, &stream, &csr, rows, window)?;
        eprintln!(
            "cut in {:.2} s, {:.1} MB",
            start.elapsed().as_secs_f64(),
            a.matrix_bytes() as f64 / 1e6
        );
        let by = format!("SymmetricLower, {rows} rows, {window} places");
        suite.time(case(&by), |s| a.multiply(s, x, &mut *y))?;
    }
    Ok(())
}

fn peers<T: Real + Number>(
    suite: &mut Suite,
    case: &dyn Fn(&str) -> Case,
    matrix: &Matrix,
    values: &[T],
    x: &DeviceBuffer<T>,
    y: &DeviceBuffer<T>,
) -> Result<(), GpuError> {
    let gpu = suite.gpu().clone();
    let Some(cusparse) = Cusparse::find(&gpu, suite.stream()) else {
        eprintln!("cuSPARSE is not there");
        return Ok(());
    };
    let stream = gpu.stream()?;
    let n = matrix.rows();
    let starts: Vec<u32> = matrix.starts.iter().map(|&s| s as u32).collect();
    let rows: Vec<u32> = (0..n as u32)
        .flat_map(|i| (starts[i as usize]..starts[i as usize + 1]).map(move |_| i))
        .collect();
    let (starts, rows) = (
        stream.to_device(&gpu, &starts)?,
        stream.to_device(&gpu, &rows)?,
    );
    let indices = stream.to_device(&gpu, &matrix.columns)?;
    let values = stream.to_device(&gpu, values)?;
    for (algorithm, name) in [
        (Algorithm::Csr1, "cuSPARSE CSR 1"),
        (Algorithm::Csr2, "cuSPARSE CSR 2"),
        (Algorithm::Coo1, "cuSPARSE COO 1"),
        (Algorithm::Coo2, "cuSPARSE COO 2"),
    ] {
        let coo = matches!(algorithm, Algorithm::Coo1 | Algorithm::Coo2);
        let entries = Entries {
            rows: n,
            columns: n,
            rows_or_starts: if coo { &rows } else { &starts },
            indices: &indices,
            values: &values,
        };
        let product = cusparse.product(&entries, algorithm, x, y)?;
        suite.time(case(name).peer(), |_| product.run())?;
    }
    Ok(())
}
