//! What a piece of work on a device was for, so that a profile can tell stages apart.

/// What is enqueued for a factor; in a profile of the device it is the [`group`](tamarack_gpu::Span::group) of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Anything else: uploads, residuals, other users of the device.
    Other,
    /// The beginning of a factorization, one piece for each.
    Begin,
    /// The way of the entries of A into the panels that are filled first.
    Enter,
    /// A stage of a factorization.
    Factorize(u32),
    /// A stage of a forward substitution.
    Forward(u32),
    /// A stage of a backward substitution.
    Backward(u32),
}

/// Kinds of work that stages have.
const KINDS: u32 = 3;
/// Groups before those of stages.
const BEFORE: u32 = 3;

impl Purpose {
    /// Its number among the groups of a profile.
    #[must_use]
    pub fn group(self) -> u32 {
        // There are fewer stages than 2³⁰: each has a launch.
        match self {
            Self::Other => 0,
            Self::Begin => 1,
            Self::Enter => 2,
            Self::Factorize(stage) => BEFORE + KINDS * stage,
            Self::Forward(stage) => BEFORE + KINDS * stage + 1,
            Self::Backward(stage) => BEFORE + KINDS * stage + 2,
        }
    }

    /// What has this number.
    #[must_use]
    pub fn of_group(group: u32) -> Self {
        let Some(number) = group.checked_sub(BEFORE) else {
            return match group {
                0 => Self::Other,
                1 => Self::Begin,
                _ => Self::Enter,
            };
        };
        match (number / KINDS, number % KINDS) {
            (stage, 0) => Self::Factorize(stage),
            (stage, 1) => Self::Forward(stage),
            (stage, _) => Self::Backward(stage),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_has_one_purpose() {
        for group in 0..100 {
            assert_eq!(Purpose::of_group(group).group(), group);
        }
        for stage in [0, 1, 77] {
            let all = [
                Purpose::Factorize(stage),
                Purpose::Forward(stage),
                Purpose::Backward(stage),
            ];
            for purpose in all {
                assert_eq!(Purpose::of_group(purpose.group()), purpose);
            }
        }
    }
}
