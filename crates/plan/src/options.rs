//! What a plan may choose from.

use serde::{Deserialize, Serialize};

/// Precision of the factor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 8 bytes a number.
    #[default]
    F64,
    /// 4 bytes a number.
    F32,
}

impl Precision {
    /// Bytes of a number.
    pub fn bytes(self) -> usize {
        match self {
            Self::F64 => 8,
            Self::F32 => 4,
        }
    }
}

/// What a plan may choose from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlanOptions {
    /// Precision of the factor.
    pub precision: Precision,
    /// Columns of a block column of panels and update matrices, 1 to [`WIDEST`](Self::WIDEST).
    pub block: usize,
}

impl PlanOptions {
    /// Columns of a block column, at most.
    pub const WIDEST: usize = tamarack_dense::WIDEST;
}

impl Default for PlanOptions {
    fn default() -> Self {
        Self {
            precision: Precision::F64,
            block: 64,
        }
    }
}
