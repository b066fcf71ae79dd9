//! The number types a factor may have.

use tamarack_dense::Real;
use tamarack_plan::Precision;
use tamarack_sparse::Scalar;
use tamarack_store::Element;

/// A number type that can be factorized: `f64` or `f32`.
pub trait Value: Scalar + Real + Element {
    /// The type as plans name it.
    const PRECISION: Precision;
}

impl Value for f64 {
    const PRECISION: Precision = Precision::F64;
}

impl Value for f32 {
    const PRECISION: Precision = Precision::F32;
}
