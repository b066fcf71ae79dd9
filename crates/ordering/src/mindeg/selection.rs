//! Which variable is eliminated next.
//!
//! Minimum degree asks for few neighbors; what they cost is the pairs of them that are no neighbors yet, and many already are:
//! those of one element all are. Rothberg and Eisenstat 1998 subtract the pairs inside the element that was formed last, which costs
//! nothing, and divide by the unknowns that are eliminated at a time: their approximate minimum mean local fill. Over 36 matrices
//! it leads to 0.84 of the operations of minimum degree, over large planes, networks and programs to 0.78 (run `fill-1`).

/// What is least of the variable that is eliminated next (Rothberg and Eisenstat 1998).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Selection {
    /// The bound of its degree: approximate minimum degree.
    #[default]
    Degree,
    /// A bound of the fill for each unknown that it stands for: pairs of its neighbors, but for those in the element formed last.
    /// Approximate minimum mean local fill.
    MeanFill,
}

/// Bits of a float below those that make a key: 64 keys for each power of two.
const FRACTION: u32 = f32::MANTISSA_DIGITS - 1 - 6;

/// More than any key of a fill: there are less than 2⁶⁰ pairs.
const FILL_KEYS: u32 = 61 << 6;

impl Selection {
    /// More than any key, where the unknowns that are left are so many.
    pub(crate) fn keys(self, left: u32) -> u32 {
        match self {
            Self::Degree => left,
            Self::MeanFill => FILL_KEYS,
        }
    }

    /// The key that is least for the next variable, of one with a bound of its degree, that stands for `weight` unknowns; so many of
    /// its neighbors, by weight, are `covered` by one element.
    #[inline(always)]
    pub(crate) fn key(self, degree: u32, covered: u32, weight: u32) -> u32 {
        match self {
            Self::Degree => degree,
            Self::MeanFill => key_of_fill(twice_pairs(degree) - twice_pairs(covered), weight),
        }
    }

    /// The variable that is listed as number `k` of `n`, the last one being the first of its key. By degree that is the last one, from where
    /// a grid is eliminated line by line; by fill the first one, which leads to fewer operations on most.
    #[inline(always)]
    pub(crate) fn listed(self, k: u32, n: u32) -> u32 {
        match self {
            Self::Degree => k,
            Self::MeanFill => n - 1 - k,
        }
    }
}

/// The key of so much fill, in ordered pairs, where `weight` unknowns are eliminated: that of one more than the mean, in steps of at most
/// 1.6 %.
#[inline(always)]
pub(super) fn key_of_fill(twice: i64, weight: u32) -> u32 {
    // One more, so that keys begin with no fill.
    let mean = 1.0 + twice as f32 / (2 * weight) as f32;
    mean.to_bits().saturating_sub(1f32.to_bits()) >> FRACTION
}

/// Ordered pairs of so many.
#[inline(always)]
fn twice_pairs(count: u32) -> i64 {
    let count = i64::from(count);
    count * (count - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mindeg::MAX_ORDER;

    #[test]
    fn less_mean_fill_has_a_smaller_key() {
        let key = |degree, covered, weight| Selection::MeanFill.key(degree, covered, weight);
        // Nothing is filled in: simplicial, whatever its degree.
        assert_eq!(key(1, 0, 1), 0);
        assert_eq!(key(900, 900, 1), 0);
        assert_eq!(key(0, 0, 7), 0);
        // Two pairs rather than three, one tenth rather than one.
        assert!(key(4, 3, 1) > key(3, 2, 1));
        assert!(key(3, 0, 1) < key(4, 0, 1));
        assert!(key(2, 0, 10) < key(2, 0, 1));
        let most = MAX_ORDER as u32;
        assert!(key(most, 0, 1) < Selection::MeanFill.keys(most));
    }

    #[test]
    fn keys_grow_with_the_fill() {
        let key = |degree| Selection::MeanFill.key(degree, 0, 1);
        let keys: Vec<u32> = (1..1 << 14).map(key).collect();
        assert!(keys.is_sorted());
        // 64 for each power of two, and fill is a square.
        let different = keys.chunk_by(|a, b| a == b).count();
        assert!(different > 1000, "{different}");
    }
}
