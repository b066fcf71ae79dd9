//! When an ordering is wanted no more.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Flags of those who may want an ordering no more. Once one is true the ordering soon ends, with
/// [`OrderingError::Stopped`](crate::OrderingError::Stopped).
#[derive(Clone, Copy, Debug, Default)]
pub struct Stop<'a> {
    flags: [Option<&'a AtomicBool>; 2],
}

impl<'a> Stop<'a> {
    /// Nobody stops it.
    pub const NEVER: Self = Self { flags: [None; 2] };

    /// By the flag of whoever asked for all of the work, if there is one.
    #[must_use]
    pub fn by(cancel: Option<&'a AtomicBool>) -> Self {
        Self {
            flags: [None, cancel],
        }
    }

    /// The same, and by the flag of one who knows that this part of it is in vain, in the place of an earlier such one.
    #[must_use]
    pub fn or(self, flag: &'a AtomicBool) -> Self {
        Self {
            flags: [Some(flag), self.flags[1]],
        }
    }

    /// Whether one of them is true.
    #[inline]
    pub fn is_set(&self) -> bool {
        let is_true = |flag: &Option<&AtomicBool>| flag.is_some_and(|flag| flag.load(Relaxed));
        self.flags.iter().any(is_true)
    }
}

impl<'a> From<&'a AtomicBool> for Stop<'a> {
    fn from(flag: &'a AtomicBool) -> Self {
        Self::NEVER.or(flag)
    }
}
