//! Conjugate gradients preconditioned by a factor (Hestenes and Stiefel 1952), inside refinement.
//!
//! Where the factor is too inaccurate for plain refinement, `M⁻¹A` still has most of its
//! eigenvalues near 1, and a few steps of conjugate gradients deal with the rest. The outer loop
//! computes true residuals, so the backward error does not depend on the recurrence.
//!
//! The algorithm is written once; [`Vectors`] are on the host ([`Here`]) or on a device.

use tamarack_gpu::spmv::Progress;
use tamarack_sparse::memory::zeroed;

use crate::backward::Errors;
use crate::blocks::Blocks;
use crate::error::SolveError;
use crate::inverse::Inverse;
use crate::refine::{Measured, RefineOptions};
use crate::report::ColumnReport;
use crate::residual::{Residual, norm};

/// Steps of conjugate gradients for one column, at most.
const MAX_STEPS: usize = 300;

/// Reduction of the residual that one inner solve is asked for.
const INNER: f64 = 1e-6;

/// The vectors of one right-hand side, wherever they are: the answer `x` and its residual `r`, a
/// correction `d` of it, `z = M⁻¹ r` with a factor M, a direction `p`, and `A p`.
pub(crate) trait Vectors {
    /// Steps between two looks at how far they came.
    const STEPS_A_LOOK: usize;

    /// `r ← b − A x`, and the errors of `x`.
    fn measure(&mut self) -> Result<Errors, SolveError>;

    /// `x ← 0`.
    fn clear(&mut self) -> Result<(), SolveError>;

    /// `x ← x + d`; the old `x` is kept.
    fn add(&mut self) -> Result<(), SolveError>;

    /// `x` as it was before the last addition.
    fn take_back(&mut self) -> Result<(), SolveError>;

    /// `d, p ← 0`, `z ← r`. There will be at most `most` steps, and none once the largest magnitude in
    /// `r` is `reduction` times what it is now.
    fn begin(&mut self, reduction: f64, most: usize) -> Result<(), SolveError>;

    /// `z ← M⁻¹ z`.
    fn precondition(&mut self) -> Result<(), SolveError>;

    /// Nothing, once there are no more steps; else `β ← zᵀ(r − r′) / rz` with `r′` the residual before,
    /// `rz ← rᵀz`, `p ← z + β p`. The β is Polak and Ribière's: the preconditioner is itself inexact (Golub
    /// and Ye 1999).
    fn turn(&mut self) -> Result<(), SolveError>;

    /// Nothing, once there are no more steps; else `α ← rz / pᵀAp`, `d ← d + α p`, `r ← r − α A p`,
    /// `z ← r`; ends the steps where A does not bend upwards along `p`.
    fn step(&mut self) -> Result<(), SolveError>;

    /// How far the steps came.
    fn progress(&mut self) -> Result<Progress, SolveError>;
}

/// Improves one column until its componentwise error is `goal`, or no longer halved.
/// Returns the report and the steps of conjugate gradients.
pub(crate) fn conjugate_gradients(
    vectors: &mut impl Vectors,
    options: &RefineOptions,
    goal: f64,
) -> Result<(ColumnReport, usize), SolveError> {
    let mut errors = vectors.measure()?;
    if !errors.componentwise.is_finite() {
        // The start was no use: begin at zero.
        vectors.clear()?;
        errors = vectors.measure()?;
    }
    let (mut taken, mut rounds) = (0, 0);
    while errors.componentwise > goal && taken < MAX_STEPS {
        let steps = inner_solve(vectors, MAX_STEPS - taken)?;
        if steps == 0 {
            break; // what is left of the residual is too small to go by
        }
        taken += steps;
        vectors.add()?;
        let (now, before) = (vectors.measure()?, errors);
        rounds += 1;
        if !now.improve(&before) {
            vectors.take_back()?;
            break;
        }
        errors = now;
        if !now.halve(&before) && now.componentwise < options.accept {
            break;
        }
    }
    Ok((ColumnReport::new(rounds, errors), taken))
}

/// `A d ≈ r`, by preconditioned conjugate gradients from zero; the steps it took.
fn inner_solve<V: Vectors>(vectors: &mut V, most: usize) -> Result<usize, SolveError> {
    vectors.begin(INNER, most)?;
    vectors.precondition()?;
    vectors.turn()?;
    loop {
        for _ in 0..V::STEPS_A_LOOK {
            vectors.step()?;
            vectors.precondition()?;
            vectors.turn()?;
        }
        let progress = vectors.progress()?;
        if !progress.going {
            return Ok(progress.taken);
        }
    }
}

/// Vectors on the host.
pub(crate) struct Here<'a, I: ?Sized> {
    matrix: &'a Measured<'a>,
    inverse: &'a mut I,
    options: &'a RefineOptions,
    b: &'a [f64],
    x: &'a mut [f64],
    residual: &'a mut Residual,
    r: Vec<f64>,
    kept: Vec<f64>,
    d: Vec<f64>,
    z: Vec<f64>,
    p: Vec<f64>,
    ap: Vec<f64>,
    rz: f64,
    alpha: f64,
    /// Magnitude of `r` below which there are no more steps, and how many there may be.
    target: f64,
    most: usize,
    progress: Progress,
}

impl<'a, I: Inverse + ?Sized> Here<'a, I> {
    /// For one right-hand side, user order.
    pub fn new(
        matrix: &'a Measured<'a>,
        inverse: &'a mut I,
        b: &'a [f64],
        x: &'a mut [f64],
        options: &'a RefineOptions,
        residual: &'a mut Residual,
    ) -> Self {
        let zero = || zeroed(b.len());
        let mut kept = zero();
        kept.copy_from_slice(x);
        Self {
            matrix,
            inverse,
            options,
            kept,
            b,
            x,
            residual,
            r: zero(),
            d: zero(),
            z: zero(),
            p: zero(),
            ap: zero(),
            rz: 1.0,
            alpha: 0.0,
            target: 0.0,
            most: 0,
            progress: Progress {
                taken: 0,
                going: false,
            },
        }
    }
}

impl<I: Inverse + ?Sized> Vectors for Here<'_, I> {
    const STEPS_A_LOOK: usize = 1;

    fn measure(&mut self) -> Result<Errors, SolveError> {
        let precision = self.options.residual;
        Ok(self.matrix.errors(self.residual, self.x, self.b, precision))
    }

    fn clear(&mut self) -> Result<(), SolveError> {
        self.x.fill(0.0);
        Ok(())
    }

    fn add(&mut self) -> Result<(), SolveError> {
        self.kept.copy_from_slice(self.x);
        self.x.iter_mut().zip(&self.d).for_each(|(x, d)| *x += d);
        Ok(())
    }

    fn take_back(&mut self) -> Result<(), SolveError> {
        self.x.copy_from_slice(&self.kept);
        Ok(())
    }

    fn begin(&mut self, reduction: f64, most: usize) -> Result<(), SolveError> {
        self.residual.copy_to(&self.matrix.blocks, &mut self.r);
        self.z.copy_from_slice(&self.r);
        for zero in [&mut self.d, &mut self.p, &mut self.ap] {
            zero.fill(0.0);
        }
        (self.rz, self.alpha) = (1.0, 0.0);
        self.target = reduction * norm(&self.r);
        self.most = most;
        self.progress = Progress {
            taken: 0,
            going: true,
        };
        Ok(())
    }

    fn precondition(&mut self) -> Result<(), SolveError> {
        self.inverse.apply(&mut self.z, 1)
    }

    fn turn(&mut self) -> Result<(), SolveError> {
        if !self.progress.going {
            return Ok(());
        }
        // r − r′ = −α A p
        let blocks = &self.matrix.blocks;
        let beta = -self.alpha * dot(blocks, &self.z, &self.ap) / self.rz;
        self.rz = dot(blocks, &self.r, &self.z);
        let z = &self.z;
        blocks.split([&mut self.p], |rows, [p]| {
            for (p, z) in p.iter_mut().zip(&z[rows]) {
                *p = z + beta * *p;
            }
        });
        let far = norm(&self.r) > self.target && self.rz > 0.0;
        self.progress.going = far && self.progress.taken < self.most;
        Ok(())
    }

    fn step(&mut self) -> Result<(), SolveError> {
        if !self.progress.going {
            return Ok(());
        }
        self.progress.taken += 1;
        let blocks = &self.matrix.blocks;
        self.residual.product(blocks, &self.p, &mut self.ap);
        let curvature = dot(blocks, &self.p, &self.ap);
        if !(curvature > 0.0) {
            self.progress.going = false;
            return Ok(());
        }
        self.alpha = self.rz / curvature;
        let (p, ap, alpha) = (&self.p, &self.ap, self.alpha);
        blocks.split(
            [&mut self.d, &mut self.r, &mut self.z],
            |rows, [d, r, z]| {
                let along = |to: &mut [f64], alpha: f64, v: &[f64]| {
                    to.iter_mut().zip(v).for_each(|(to, v)| *to += alpha * v);
                };
                along(d, alpha, &p[rows.clone()]);
                along(r, -alpha, &ap[rows]);
                z.copy_from_slice(r);
            },
        );
        Ok(())
    }

    fn progress(&mut self) -> Result<Progress, SolveError> {
        Ok(self.progress)
    }
}

/// `aᵀb`, by blocks of rows, so that its bits do not depend on the number of threads.
fn dot(blocks: &Blocks<'_>, a: &[f64], b: &[f64]) -> f64 {
    blocks.total(|rows| {
        let pairs = a[rows.clone()].iter().zip(&b[rows]);
        pairs.map(|(a, b)| a * b).sum()
    })
}
