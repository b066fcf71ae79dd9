//! Normal equations `JᵀJ + 1e-2 · I` of a bundle adjustment (Triggs et al. 2000): cameras of 6 unknowns, points of 3.
//!
//! Cameras stand along a closed way. A point is anywhere on it and sighted 2 to 8 times, by cameras within 8 of the nearest one or, one
//! sighting in fifty, by any; a camera that was drawn before is left out. A sighting is two equations with entries of J uniform in [−1, 1) for its camera and its point.
//! Cameras come first.

use super::ModelError;
use super::columns::{Columns, probe};
use super::math::Xorshift;
use crate::{Scalar, SymmetricCsc};

/// Unknowns of a camera, and of a point.
pub(super) const CAMERA: usize = 6;
pub(super) const POINT: usize = 3;

/// Most cameras that see a point.
const MOST: usize = 8;

/// A camera that sees a point.
struct Sighting {
    camera: usize,
    /// Its two rows of J: the camera's unknowns, then the point's.
    rows: [[f64; CAMERA + POINT]; 2],
}

impl Sighting {
    /// Entry of `JᵀJ` that it makes for two of its unknowns.
    fn product(&self, a: usize, b: usize) -> f64 {
        self.rows[0][a] * self.rows[0][b] + self.rows[1][a] * self.rows[1][b]
    }
}

/// The matrix of so many cameras and points.
pub(super) fn normal_equations<T: Scalar>(
    cameras: usize,
    points: usize,
) -> Result<SymmetricCsc<T>, ModelError> {
    let each = (CAMERA * (CAMERA + 1) / 2) as u128;
    let of_points = points as u128 * (6 + MOST * CAMERA * POINT) as u128;
    probe(points as u128, MOST * (size_of::<Sighting>() + 16))?;
    let mut out = Columns::new(
        CAMERA * cameras + POINT * points,
        cameras as u128 * each + of_points,
    )?;
    let mut random = Xorshift::new();
    let mut seen = Vec::with_capacity(points);
    seen.extend((0..points).map(|_| sightings(cameras, &mut random)));
    // Points that each camera sees, increasing, and which of their sightings that is.
    let mut of_camera = vec![Vec::new(); cameras];
    for (point, sightings) in seen.iter().enumerate() {
        for (k, sighting) in sightings.iter().enumerate() {
            of_camera[sighting.camera].push((point, k));
        }
    }
    let shift = |a, b| if a == b { 1e-2 } else { 0.0 };
    for (camera, list) in of_camera.iter().enumerate() {
        let own = || list.iter().map(|&(point, k)| (point, &seen[point][k]));
        for b in 0..CAMERA {
            for a in b..CAMERA {
                let sum: f64 = own().map(|(_, sighting)| sighting.product(a, b)).sum();
                out.push(CAMERA * camera + a, sum + shift(a, b));
            }
            for (point, sighting) in own() {
                for a in 0..POINT {
                    let row = CAMERA * cameras + POINT * point + a;
                    out.push(row, sighting.product(CAMERA + a, b));
                }
            }
            out.end();
        }
    }
    for (point, sightings) in seen.iter().enumerate() {
        for b in 0..POINT {
            for a in b..POINT {
                let products = sightings.iter().map(|s| s.product(CAMERA + a, CAMERA + b));
                let row = CAMERA * cameras + POINT * point + a;
                out.push(row, products.sum::<f64>() + shift(a, b));
            }
            out.end();
        }
    }
    out.finish()
}

/// Those of one point, by different cameras.
fn sightings(cameras: usize, random: &mut Xorshift) -> Vec<Sighting> {
    let nearest = random.below(cameras);
    let count = 2 + random.below(MOST - 1);
    let mut out: Vec<Sighting> = Vec::with_capacity(count);
    for _ in 0..count {
        let near = (nearest + cameras + random.below(17)) as isize - 8;
        let far = random.unit() < 0.02;
        let camera = match far {
            true => random.below(cameras),
            false => near.rem_euclid(cameras as isize) as usize,
        };
        let mut rows = [[0.0; CAMERA + POINT]; 2];
        for entry in rows.iter_mut().flatten() {
            *entry = 2.0 * random.unit() - 1.0;
        }
        if out.iter().all(|other| other.camera != camera) {
            out.push(Sighting { camera, rows });
        }
    }
    out
}
