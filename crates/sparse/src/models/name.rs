//! The families of model problems: names, sizes, orders.

use std::fmt;
use std::str::FromStr;

use super::adjustment::{CAMERA, POINT};
use super::{Model, ModelError};
use crate::Pattern;

/// Which matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    P2d5,
    P2d9,
    P3d7,
    P3d27,
    El3d,
    Aniso2d,
    Aniso3d,
    Jump2d,
    Jump3d,
    Shell,
    Rgg,
    Circuit,
    Lpnorm,
    Adjust,
}

/// What there is to say about a family of model problems.
#[derive(Debug)]
pub struct Family {
    kind: Kind,
    /// Number of extents a size has; one number stands for all of them.
    axes: usize,
    /// Smallest extent.
    least: u32,
    /// The part of the name before the size.
    pub name: &'static str,
    /// A name with a size.
    pub example: &'static str,
    /// One line.
    pub description: &'static str,
}

const fn family(
    kind: Kind,
    (axes, least): (usize, u32),
    name: &'static str,
    example: &'static str,
    description: &'static str,
) -> Family {
    Family {
        kind,
        axes,
        least,
        name,
        example,
        description,
    }
}

#[rustfmt::skip]
static FAMILIES: [Family; 14] = [
    family(Kind::P2d5, (2, 1), "p2d5", "p2d5_1000",
        "Poisson on a square, 5-point stencil"),
    family(Kind::P2d9, (2, 1), "p2d9", "p2d9_700",
        "Poisson on a square, 9-point stencil"),
    family(Kind::P3d7, (3, 1), "p3d7", "p3d7_60",
        "Poisson in a cube, 7-point stencil"),
    family(Kind::P3d27, (3, 1), "p3d27", "p3d27_50",
        "Poisson in a cube, 27-point stencil"),
    family(Kind::El3d, (3, 1), "el3d", "el3d_20",
        "linear elasticity in a cube of 8-node bricks, face x = 0 fixed"),
    family(Kind::Aniso2d, (2, 1), "aniso2d", "aniso2d_1000",
        "diffusion on a square, 1000 times weaker along y"),
    family(Kind::Aniso3d, (3, 1), "aniso3d", "aniso3d_60",
        "diffusion in a cube, 1000 times weaker along z"),
    family(Kind::Jump2d, (2, 1), "jump2d", "jump2d_1000",
        "diffusion on a square, cell coefficients jumping between 1 and 1e6"),
    family(Kind::Jump3d, (3, 1), "jump3d", "jump3d_60",
        "diffusion in a cube, cell coefficients jumping between 1 and 1e6"),
    family(Kind::Shell, (2, 2), "shell", "shell_200x160",
        "cylindrical shell roof of flat facets, 6 unknowns a node, clamped at one end"),
    family(Kind::Rgg, (1, 1), "rgg", "rgg_200000",
        "Laplacian of a random geometric graph of mean degree 12, shifted by 1e-3"),
    family(Kind::Circuit, (1, 1), "circuit", "circuit_500000",
        "circuit-like conductance matrix: a thinned grid, busses, trees, a few long wires"),
    family(Kind::Lpnorm, (1, 2), "lpnorm", "lpnorm_60000",
        "normal equations of a staircase linear program with linking rows"),
    family(Kind::Adjust, (2, 1), "adjust", "adjust_400x60000",
        "bundle adjustment: cameras on a closed way, and points that up to 8 of them see"),
];

/// All families, in the order in which they are to be listed.
pub fn families() -> &'static [Family] {
    &FAMILIES
}

/// The names of all families, for messages.
pub(super) fn listing() -> String {
    let names: Vec<&str> = FAMILIES.iter().map(|f| f.name).collect();
    names.join(", ")
}

impl Kind {
    pub(super) fn family(self) -> &'static Family {
        &FAMILIES[self as usize]
    }

    /// Order of the matrix; exact for any extents.
    pub(super) fn order(self, size: [u32; 3]) -> u128 {
        let [x, y, z] = size.map(u128::from);
        match self {
            Self::El3d => 3 * x * (y + 1) * (z + 1),
            Self::Shell => 6 * (x - 1) * y,
            Self::Adjust => CAMERA as u128 * x + POINT as u128 * y,
            _ => x * y * z,
        }
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let family = self.family();
        let size = &self.size[..family.axes];
        write!(f, "{}_{}", family.name, size[0])?;
        if size.iter().any(|m| *m != size[0]) {
            for m in &size[1..] {
                write!(f, "x{m}")?;
            }
        }
        Ok(())
    }
}

impl FromStr for Model {
    type Err = ModelError;

    /// `family_size`, the size being one extent or as many as the family has axes, joined by `x`.
    fn from_str(name: &str) -> Result<Self, ModelError> {
        let (head, size) = name.split_once('_').unwrap_or((name, ""));
        let Some(family) = FAMILIES.iter().find(|f| f.name == head) else {
            return Err(ModelError::Unknown { name: name.into() });
        };
        let Some(size) = extents(size, family) else {
            return Err(ModelError::Size {
                name: name.into(),
                example: family.example,
                least: family.least,
            });
        };
        let kind = family.kind;
        let n = kind.order(size);
        if n > u128::from(Pattern::MAX_ORDER) {
            let name = name.into();
            return Err(ModelError::TooLarge { name, n });
        }
        Ok(Self { kind, size })
    }
}

fn extents(text: &str, family: &Family) -> Option<[u32; 3]> {
    let mut size = [1; 3];
    let mut given = 0;
    for part in text.split('x') {
        let digits = part.bytes().all(|b| b.is_ascii_digit());
        let m: u32 = part.parse().ok().filter(|m| digits && *m >= family.least)?;
        *size[..family.axes].get_mut(given)? = m;
        given += 1;
    }
    if given == 1 {
        let all = size[0];
        size[..family.axes].fill(all);
    } else if given != family.axes {
        return None;
    }
    Some(size)
}
