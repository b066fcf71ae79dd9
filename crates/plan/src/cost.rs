//! Operations and bytes of one front, and the seconds they will take.

use tamarack_symbolic::mean_column_flops;

use crate::machine::{FrontRates, Machine};
use crate::options::Precision;

/// Numbers moved to assemble a front's update matrix and to add it to the parent: written, read
/// and written again there, and read once as the source. Times the size of a number, in bytes.
pub fn front_assembly_bytes(nupd: usize, value_bytes: usize) -> u64 {
    let half = (nupd as u64) * (nupd as u64 + 1) / 2;
    4 * half * value_bytes as u64
}

/// Predicted seconds of a factorization whose fronts have these sizes (pivots, rows below) if all
/// threads are busy all the time: to compare orderings of one matrix before they are planned.
pub fn predicted_secs(
    fronts: impl Iterator<Item = (usize, usize)>,
    machine: &Machine,
    precision: Precision,
) -> f64 {
    let rates = machine.rates(precision);
    let front = |(npiv, nupd)| front_secs(rates, precision.bytes(), npiv, nupd);
    fronts.map(front).sum::<f64>() / machine.threads.max(1) as f64
}

/// Predicted seconds of one front on one thread.
#[inline]
pub(crate) fn front_secs(rates: &FrontRates, value_bytes: usize, npiv: usize, nupd: usize) -> f64 {
    let (k, u) = (npiv as f64, nupd as f64);
    let panel = k * (u + 0.5 * (k + 1.0));
    let assembly = 2.0 * (u * (u + 1.0)); // as `front_assembly_bytes`
    rates.overhead_secs
        + k * rates.per_pivot_secs
        + panel * (value_bytes as f64 * rates.per_panel_byte_secs)
        + assembly * (value_bytes as f64 * rates.per_assembly_byte_secs)
        + k * mean_column_flops(k, u) * rates.per_flop_secs
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamarack_symbolic::front_flops;

    #[test]
    fn seconds_are_those_of_operations_and_bytes() {
        let rates = Machine::default().f64;
        for (npiv, nupd) in [(1, 0), (3, 17), (40, 200), (1000, 3000)] {
            let panel = 8 * (npiv * nupd + npiv * (npiv + 1) / 2);
            let expected = rates.overhead_secs
                + npiv as f64 * rates.per_pivot_secs
                + panel as f64 * rates.per_panel_byte_secs
                + front_assembly_bytes(nupd, 8) as f64 * rates.per_assembly_byte_secs
                + front_flops(npiv, nupd) as f64 * rates.per_flop_secs;
            let found = front_secs(&rates, 8, npiv, nupd);
            assert!((found / expected - 1.0).abs() < 1e-12, "{npiv} {nupd}");
        }
    }

    #[test]
    fn flops_are_sums_of_squares() {
        assert_eq!(front_flops(0, 5), 0);
        assert_eq!(front_flops(1, 4), 25);
        assert_eq!(front_flops(3, 2), 25 + 16 + 9);
        let sum = |p: usize, u: usize| (u as u128 + 1..=(p + u) as u128).map(|m| m * m).sum();
        for (npiv, nupd) in [(100, (1 << 20) - 101), (100, (1 << 20) - 100)] {
            assert_eq!(front_flops(npiv, nupd), sum(npiv, nupd));
        }
        // No overflow where a front alone has 10^11 entries.
        assert!(front_flops(400_000, 0) > 2u128 * 10u128.pow(16));
    }
}
