//! Nonlinear elasticity by Newton's method: one analysis, a refactorization for every step.
//!
//! A block of hexahedra on stiffening supports: `K u + c u³ = f`, the cube taken entry by entry.
//! The tangent `K + diag(3 c u²)` has the pattern of K, and its values change every step.

use tamarack::models::Model;
use tamarack::{Analysis, Error, Options, SymmetricCsc};

fn main() -> Result<(), Error> {
    let model: Model = "el3d_12".parse()?;
    let stiffness: SymmetricCsc<f64> = model.generate()?;
    let n = stiffness.n();
    let load: Vec<f64> = (0..n)
        .map(|i| if i % 3 == 2 { -0.01 } else { 0.0 })
        .collect();
    let c = 50.0;

    let analysis = Analysis::new(stiffness.pattern(), &Options::default())?;
    let mut tangent = stiffness.clone();
    let mut factor = analysis.factorize(&tangent)?;
    let mut u = vec![0.0; n];
    let mut force = vec![0.0; n];
    for step in 1..=30 {
        stiffness.matvec(&u, &mut force);
        let mut du: Vec<f64> = (0..n)
            .map(|i| load[i] - force[i] - c * u[i].powi(3))
            .collect();
        let residual = du.iter().fold(0.0f64, |m, r| m.max(r.abs()));
        println!("step {step}: residual {residual:.2e}");
        if residual < 1e-13 {
            let lowest = u.iter().copied().fold(0.0, f64::min);
            println!("largest displacement downwards: {:.4}", -lowest);
            return Ok(());
        }
        let diagonal: Vec<usize> = (0..n).map(|j| stiffness.pattern().range(j).start).collect();
        tangent.values_mut().copy_from_slice(stiffness.values());
        for (j, &k) in diagonal.iter().enumerate() {
            tangent.values_mut()[k] += 3.0 * c * u[j] * u[j];
        }
        factor.refactorize(&tangent)?;
        factor.solve_refined(&tangent, &mut du)?;
        u.iter_mut().zip(&du).for_each(|(u, d)| *u += d);
    }
    println!("Newton's method did not converge");
    Ok(())
}
