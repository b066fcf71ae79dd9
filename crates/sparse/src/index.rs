//! Index types: the two numberings of the unknowns, and what may serve as an index in input.

use serde::{Deserialize, Serialize};

/// Position of an unknown in the user's own numbering, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(transparent)]
pub struct UserIdx(pub u32);

/// Position of an unknown in the order of elimination, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(transparent)]
pub struct ElimIdx(pub u32);

impl UserIdx {
    /// The position as an array index.
    pub fn get(self) -> usize {
        self.0 as usize
    }
}

impl ElimIdx {
    /// The position as an array index.
    pub fn get(self) -> usize {
        self.0 as usize
    }
}

/// An integer type that callers may use for offsets and indices.
pub trait IndexLike: Copy + Send + Sync {
    /// The value, or `None` where it is negative.
    fn to_index(self) -> Option<u64>;
}

macro_rules! index_like {
    ($($t:ty),*) => {$(
        impl IndexLike for $t {
            fn to_index(self) -> Option<u64> {
                u64::try_from(self).ok()
            }
        }
    )*};
}
index_like!(u32, u64, usize, i32, i64, isize);
