//! Many right-hand sides at once: the columns of the inverse that belong to some unknowns.

use std::time::Instant;

use tamarack::models::Model;
use tamarack::{Analysis, Error, Options, Precision, SymmetricCsc};

fn main() -> Result<(), Error> {
    let model: Model = "p3d7_24".parse()?;
    let a: SymmetricCsc<f64> = model.generate()?;
    let (n, nrhs) = (a.n(), 64);
    for precision in [Precision::F64, Precision::Mixed] {
        let mut options = Options::default();
        options.precision = precision;
        let analysis = Analysis::new(a.pattern(), &options)?;
        let mut factor = analysis.factorize(&a)?;
        // n × nrhs, column-major: unit vectors in, columns of the inverse out.
        let mut x = vec![0.0; n * nrhs];
        for (k, column) in x.chunks_mut(n).enumerate() {
            column[k * n / nrhs] = 1.0;
        }
        let began = Instant::now();
        let report = factor.solve_refined(&a, &mut x)?;
        println!(
            "{precision}: {nrhs} right-hand sides in {:.3} s, backward error {:.1e}",
            began.elapsed().as_secs_f64(),
            report.componentwise_backward_error()
        );
    }
    Ok(())
}
