//! Model problems: symmetric positive definite matrices that a name defines to the last bit.
//!
//! A [`Model`] is a family and a size, written `p3d7_60` or `p2d5_300x200`; [`families`] lists
//! them. The same name gives the same matrix on every machine: sums have a fixed order, only
//! `+ − × ÷ √` are used (correctly rounded by IEEE 754), and the few powers, sines and cosines are
//! computed here from them.
//!
//! Cost: time and memory linear in the entries; grids are written column by column, in order.

mod adjustment;
mod columns;
mod elasticity;
mod graph;
mod grid;
mod hex8;
mod lpnorm;
mod math;
mod name;
mod shell;

#[cfg(test)]
mod tests;

use thiserror::Error;

use crate::{Scalar, SymmetricCsc, TripletError};
pub use name::{Family, families};
use name::{Kind, listing};

/// A model problem: a family and a size whose order fits the index type.
///
/// Parses from and prints as its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Model {
    kind: Kind,
    /// Extents along x, y, z as the name gives them; 1 beyond the family's axes.
    size: [u32; 3],
}

/// Why a name is no model problem, or a model problem cannot be made.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ModelError {
    /// No family has this name.
    #[error("`{name}` is not a model problem; the families are {}", listing())]
    Unknown {
        /// The name as given.
        name: String,
    },
    /// The family exists, the size is not one of its sizes.
    #[error("`{name}` has no valid size; write it as `{example}`, every extent at least {least}")]
    Size {
        /// The name as given.
        name: String,
        /// A name of the same family.
        example: &'static str,
        /// Smallest extent.
        least: u32,
    },
    /// The order does not fit the index type.
    #[error(
        "`{name}` has {n} unknowns: at most {} are supported",
        crate::Pattern::MAX_ORDER
    )]
    TooLarge {
        /// The name as given.
        name: String,
        /// The order it would have.
        n: u128,
    },
    /// The arrays do not fit into memory.
    #[error(
        "a model problem with {entries} entries does not fit into memory; choose a smaller one"
    )]
    Memory {
        /// Entries of the lower triangle, an upper bound.
        entries: u128,
    },
    /// Entries were refused on assembly.
    #[error(transparent)]
    Assembly(#[from] TripletError),
}

impl Model {
    /// Order of the matrix.
    pub fn n(&self) -> usize {
        // Checked against `Pattern::MAX_ORDER` when the model was made.
        self.kind.order(self.size) as usize
    }

    /// The family.
    pub fn family(&self) -> &'static Family {
        self.kind.family()
    }

    /// Makes the matrix; values are computed in f64 and rounded to `T`.
    ///
    /// # Errors
    /// [`ModelError::Memory`] where the system refuses the memory.
    pub fn generate<T: Scalar>(&self) -> Result<SymmetricCsc<T>, ModelError> {
        let size = self.size.map(|m| m as usize);
        match self.kind {
            Kind::P2d5 => grid::star(size, grid::constant([1.0, 1.0, 0.0], 4.0)),
            Kind::P3d7 => grid::star(size, grid::constant([1.0; 3], 6.0)),
            Kind::P2d9 => grid::full(size, 8.0),
            Kind::P3d27 => grid::full(size, 26.0),
            Kind::Aniso2d => grid::star(size, grid::constant([1.0, 1e-3, 0.0], 2.0 + 2e-3)),
            Kind::Aniso3d => grid::star(size, grid::constant([1.0, 1.0, 1e-3], 4.0 + 2e-3)),
            Kind::Jump2d => grid::star(size, grid::jumping(size, 2)),
            Kind::Jump3d => grid::star(size, grid::jumping(size, 3)),
            Kind::El3d => elasticity::cube(size),
            Kind::Shell => shell::roof(size[0], size[1]),
            Kind::Rgg => graph::geometric(size[0]),
            Kind::Circuit => graph::circuit(size[0]),
            Kind::Lpnorm => lpnorm::normal_equations(size[0]),
            Kind::Adjust => adjustment::normal_equations(size[0], size[1]),
        }
    }
}
