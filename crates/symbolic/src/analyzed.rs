//! Which pattern was analyzed: itself, or the hash of one whose analysis was saved.
//!
//! Who factorizes the matrix that was analyzed mostly hands over the very same pattern, which is seen at once: a hash of all
//! entries, 4 to 9 % of an analysis, is computed only where one is saved or read.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tamarack_sparse::Pattern;

/// The pattern that was analyzed. Saved as its hash.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "u64")]
pub(crate) enum Analyzed {
    Pattern(Arc<Pattern>),
    Saved(u64),
}

impl Analyzed {
    /// Hash of the pattern, [`Pattern::fingerprint`].
    pub fn fingerprint(&self) -> u64 {
        match self {
            Self::Pattern(own) => own.fingerprint(),
            Self::Saved(hash) => *hash,
        }
    }

    /// Whether it was this pattern, or one with the same hash where no more is known.
    pub fn is(&self, pattern: &Arc<Pattern>) -> bool {
        match self {
            Self::Pattern(own) => Arc::ptr_eq(own, pattern) || own == pattern,
            Self::Saved(hash) => *hash == pattern.fingerprint(),
        }
    }
}

impl From<u64> for Analyzed {
    fn from(hash: u64) -> Self {
        Self::Saved(hash)
    }
}

impl PartialEq for Analyzed {
    fn eq(&self, other: &Self) -> bool {
        self.fingerprint() == other.fingerprint()
    }
}

impl Eq for Analyzed {}

impl Serialize for Analyzed {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.fingerprint().serialize(serializer)
    }
}
