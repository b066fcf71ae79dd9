//! A matrix whose values change on a GPU, and right-hand sides and solutions that stay there: nothing but the status and the
//! backward errors comes to the host. Here a stream and addresses stand for those of another library, such as CUDA's
//! runtime or PyTorch.

use tamarack::models::Model;
use tamarack::{
    Analysis, Device, DeviceMatrix, DeviceMatrixMut, DeviceView, DeviceViewMut, Error, ErrorKind,
    Options, SymmetricCsc,
};

fn main() -> Result<(), Error> {
    let model: Model = "p3d7_24".parse()?;
    let a: SymmetricCsc<f64> = model.generate()?;
    let mut options = Options::default();
    options.device = Device::Gpu(0);
    match Analysis::new(a.pattern(), &options) {
        Ok(analysis) => newton_steps(&analysis, &a),
        Err(error) if error.kind() == ErrorKind::Device => {
            println!("there is no GPU to use: {error}");
            Ok(())
        }
        Err(error) => Err(error),
    }
}

fn newton_steps(analysis: &Analysis, a: &SymmetricCsc<f64>) -> Result<(), Error> {
    let Some(gpu) = analysis.gpu() else {
        println!("the analysis is for the host");
        return Ok(());
    };
    let (n, nrhs) = (a.n(), 4);
    // What the other library has: a stream, values in the order of `a.values()`, columns a leading dimension apart.
    let theirs = gpu.stream()?;
    let ld = n.next_multiple_of(32);
    let mut values = theirs.to_device(gpu, a.values())?;
    let right = theirs.to_device(gpu, &vec![1.0; ld * nrhs])?;
    let solution = theirs.to_device(gpu, &vec![0.0; ld * nrhs])?;
    let entries = values.len();
    let (values_at, right_at, solution_at) = (
        values.ptr().address(),
        right.ptr().address(),
        solution.ptr().address(),
    );

    let mut factor = analysis.factorize_device(values.view())?;
    for step in 1..=3 {
        let scaled: Vec<f64> = a.values().iter().map(|v| v * f64::from(step)).collect();
        // SAFETY: `scaled` lives until the factorization, which waits for the stream, is done.
        unsafe { theirs.upload_async(&scaled, &mut values)? };
        // SAFETY: the buffers outlive the loop. What their stream writes is waited for; only `solution` is written, and all
        // calls are done when they return.
        let report = unsafe {
            factor.wait_for(theirs.raw_handle())?;
            factor.refactorize_device(DeviceView::from_raw(gpu, values_at, entries)?)?;
            let b = DeviceView::from_raw(gpu, right_at, ld * nrhs)?;
            let x = DeviceViewMut::from_raw(gpu, solution_at, ld * nrhs)?;
            let b = DeviceMatrix::new(b, n as u32, nrhs as u32, ld)?;
            let x = DeviceMatrixMut::new(x, n as u32, nrhs as u32, ld)?;
            factor.solve_refined_device(b, x)?
        };
        let first = theirs.to_host(solution.view().slice(..1)?)?;
        println!(
            "step {step}: x[0] = {:.6}, backward error {:.1e}",
            first[0],
            report.componentwise_backward_error()
        );
    }
    Ok(())
}
