//! Predicted seconds of fronts, for amalgamation.

use crate::AmalgamationOptions;
use crate::flops::mean_column_flops;

/// Seconds of a front as a polynomial of its sizes: of the options, what does not depend on them.
#[derive(Clone, Copy)]
pub(crate) struct FrontCosts {
    front_secs: f64,
    column_secs: f64,
    secs_per_entry: f64,
    secs_per_flop: f64,
    half_rate_columns: f64,
}

impl FrontCosts {
    /// Predicted seconds of a front of `npiv` pivots and `nupd` rows below.
    #[inline(always)]
    pub fn secs(&self, npiv: u32, nupd: u32) -> f64 {
        let (k, u) = (f64::from(npiv), f64::from(nupd));
        // Those of the trapezoid, and of the update matrix three times.
        let entries = k * (u + 0.5 * (k + 1.0)) + 1.5 * (u * (u + 1.0));
        let moved = entries * self.secs_per_entry + k * self.column_secs;
        let rate = (k + self.half_rate_columns) * self.secs_per_flop;
        mean_column_flops(k, u) * rate + (moved + self.front_secs)
    }

    /// Order up to which a front takes less than any two of the same pivots: less than a front's fixed cost, besides that and the
    /// columns'.
    pub fn surely_merged(&self) -> u32 {
        let besides = |order: u32| {
            let m = f64::from(order);
            let moved = 1.5 * m * (m + 1.0) * self.secs_per_entry;
            moved + m * m * (m + self.half_rate_columns) * self.secs_per_flop
        };
        (1..64)
            .take_while(|&order| besides(order) < self.front_secs)
            .count() as u32
    }
}

impl AmalgamationOptions {
    /// Predicted seconds of a front of `npiv` pivots and `nupd` rows below.
    pub fn predicted_secs(&self, npiv: u32, nupd: u32) -> f64 {
        self.costs().secs(npiv, nupd)
    }

    /// What predictions go by.
    pub(crate) fn costs(&self) -> FrontCosts {
        FrontCosts {
            front_secs: self.front_secs,
            column_secs: self.column_secs,
            secs_per_entry: self.entry_bytes * self.secs_per_byte,
            secs_per_flop: 1.0 / self.peak_flops_per_sec,
            half_rate_columns: self.half_rate_columns,
        }
    }

    /// Whether a merged supernode of `npiv` columns may have so many zeros.
    pub(crate) fn allows(&self, npiv: u32, zeros: u64, stored: u64) -> bool {
        let share = if npiv <= self.small_columns {
            self.small_zero_fraction
        } else {
            self.max_zero_fraction
        };
        // Below 2^63, as half the square of any order is: signed numbers the processor converts itself.
        zeros as i64 as f64 <= share * stored as i64 as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_small_fronts_take_longer_than_one() {
        let costs = AmalgamationOptions::default().costs();
        let most = costs.surely_merged();
        assert!((8..32).contains(&most), "{most}");
        for npiv in 2..=most {
            for nupd in 0..=most - npiv {
                for child in 1..npiv {
                    for below in 0..=npiv - child + nupd {
                        let two = costs.secs(child, below) + costs.secs(npiv - child, nupd);
                        assert!(two > costs.secs(npiv, nupd));
                    }
                }
            }
        }
    }
}
