//! Compiled programs inside this binary, for machines that have a driver and no NVRTC.
//!
//! The feature `embedded` takes them, when the crate is built, from the folder that the variable
//! `TAMARACK_GPU_EMBED` names and `tamarack gpu warm` filled, for a release with
//! `--arch sm_80,sm_86,sm_89,sm_90a,sm_100a,sm_120a,compute_80`; without the feature there are none. They
//! are found by the same key as on disk, so that stale ones are never used.

use crate::Binary;
use crate::cache::{self, Key};

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// The architecture of embedded PTX: the oldest that the kernels run on.
pub(crate) const PTX_NUMBER: u32 = 80;

/// The embedded program of this key.
pub(crate) fn get(key: &Key) -> Option<Binary> {
    EMBEDDED
        .iter()
        .find(|(name, _)| key.is_of(name))
        .and_then(|(_, bytes)| cache::decode(bytes))
}
