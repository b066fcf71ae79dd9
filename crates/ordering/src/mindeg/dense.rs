//! Which vertices have so many neighbors that an order is better and sooner found without them.

/// Vertices of more neighbors than `above` are set aside, if they are no more than `most`: else they are no exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Limit {
    above: u64,
    most: u64,
}

/// From how many neighbors on vertices are set aside: few from a smaller number on, many from a larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DenseLimits([Limit; 2]);

/// A few vertices, no more than `√n`, are set aside if they have so many times the neighbors that vertices have on average, and no fewer than [`LEAST`]: each
/// of them is read with whoever is eliminated beside it, and the end is no bad place for it (run `hubs-2`). With 30 times as many, small
/// neighborhoods that only touch a part of a grid would be, at up to 1.5 times the operations of minimum degree (no lines kept).
const EXCEPTIONAL: f64 = 60.0;
const LEAST: f64 = 150.0;

impl DenseLimits {
    /// None is set aside.
    pub(crate) const NONE: Self = Self(
        [Limit {
            above: u64::MAX,
            most: u64::MAX,
        }; 2],
    );

    /// Those of a graph of `n` vertices with so many `neighbors` in all: usually `max(16, dense · √n)`; none is set aside where that is negative.
    pub(crate) fn new(n: usize, neighbors: u64, dense: f64) -> Self {
        if dense < 0.0 {
            return Self::NONE;
        }
        let root = (n as f64).sqrt();
        let usual = (dense * root).max(16.0);
        let exceptional = EXCEPTIONAL * neighbors as f64 / n.max(1) as f64;
        let of_few = usual.min(exceptional.max(LEAST));
        let [of_few, usual] = [of_few, usual].map(|limit| (limit as u64).min(n as u64));
        let limit = |above, most| Limit { above, most };
        Self([limit(of_few, usual.min(root as u64)), limit(usual, usual)])
    }

    /// The same, but nothing of so few neighbors is set aside.
    pub(crate) fn at_least(self, neighbors: u32) -> Self {
        Self(self.0.map(|limit| Limit {
            above: limit.above.max(neighbors.into()),
            ..limit
        }))
    }

    /// Whether a vertex of so many neighbors may be set aside.
    #[inline]
    pub(crate) fn may_exceed(&self, neighbors: u64) -> bool {
        neighbors > self.0[0].above
    }

    /// The number of neighbors above which vertices are set aside, given that of each and how many vertices it stands for. Those that
    /// [may not](Self::may_exceed) may be left out.
    pub(crate) fn of(&self, degrees: impl Iterator<Item = (u64, u32)>) -> u64 {
        let mut found = [0; 2];
        for (degree, weight) in degrees {
            for (found, limit) in found.iter_mut().zip(&self.0) {
                *found += u64::from(weight) * u64::from(degree > limit.above);
            }
        }
        let limits = found.into_iter().zip(&self.0);
        let first = limits
            .filter(|(found, limit)| *found <= limit.most)
            .map(|(_, limit)| limit.above);
        first.min().unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_are_set_aside_sooner_than_many() {
        let n = 250_000;
        let limits = DenseLimits::new(n, 10 * n as u64, 10.0);
        let limit = |large: u64, count: usize| {
            let degrees = std::iter::repeat_n((large, 1), count);
            limits.of(degrees.chain([(4, 1), (7, 1)]))
        };
        assert_eq!(limit(2000, 500), 600);
        assert_eq!(limit(2000, 501), 5000); // none is above
        assert_eq!(limit(6000, 501), 5000);
        assert_eq!(limit(6000, 5001), u64::MAX);
        assert_eq!(limits.of([(2000, 501)].into_iter()), 5000);
        assert!(limits.may_exceed(601) && !limits.may_exceed(600));
        assert_eq!(limits.at_least(2000).of(std::iter::empty()), 2000);
    }

    #[test]
    fn small_graphs_and_those_of_many_neighbors_have_one_limit() {
        let above = |n: usize, mean: u64| {
            let DenseLimits(limits) = DenseLimits::new(n, mean * n as u64, 10.0);
            limits.map(|limit| limit.above)
        };
        for (n, limit) in [(0, 0), (1, 1), (4, 4), (100, 100), (225, 150)] {
            assert_eq!(above(n, 2), [limit; 2], "{n}");
        }
        assert_eq!(above(10_000, 16), [960, 1000]);
        assert_eq!(above(10_000, 17), [1000; 2]);
        assert_eq!(above(10_000, 2), [150, 1000]);
        assert_eq!(DenseLimits::new(100, 300, -1.0), DenseLimits::NONE);
    }
}
