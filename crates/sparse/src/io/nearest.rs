//! `w · 10^q` as the nearest f64, ties to even, for a 64-bit integer `w`.
//!
//! Algorithm. If `w < 2^53` and `|q| <= 22`, one multiplication or division is exact enough (Clinger 1990). Otherwise
//! `w · 10^q` is enclosed by two neighboring products of `w` with a 128-bit power of five (Lemire 2021); if both ends
//! round to the same number, that is it. A tie and a very large or small exponent are not decided here. It is tested
//! with the numbers in text that it is for, in `number.rs`.

const EXACT: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// `w · 10^q` rounded to nearest, or `None` where this is not decided here.
#[inline(always)]
pub(super) fn nearest(w: u64, q: i64) -> Option<f64> {
    if w < (1 << 53) && q.unsigned_abs() <= 22 {
        let (x, power) = (w as f64, EXACT[q.unsigned_abs() as usize]);
        return Some(if q < 0 { x / power } else { x * power });
    }
    if w == 0 {
        return Some(0.0);
    }
    enclosed(w, q)
}

const MOST_FIVES: i64 = 54;

/// For `q` in `-54..=54`: `5^q = (f + d) · 2^e` with `2^127 <= f < 2^128` and `0 <= d < 1`.
static FIVES: [(u128, i32); 2 * MOST_FIVES as usize + 1] = fives();

const fn fives() -> [(u128, i32); 2 * MOST_FIVES as usize + 1] {
    let mut table = [(0u128, 0i32); 2 * MOST_FIVES as usize + 1];
    let mut power = 1u128; // 5^k, below 2^126
    let mut k = 0;
    while k <= MOST_FIVES as usize {
        let up = power.leading_zeros();
        table[MOST_FIVES as usize + k] = (power << up, -(up as i32));
        // 2^e / 5^k by long division, one bit at a time, until 128 bits are known.
        let (mut quotient, mut rest, mut shift) = (0u128, 1u128, 0i32);
        while quotient >> 127 == 0 {
            quotient <<= 1;
            if rest >= power {
                rest -= power;
                quotient |= 1;
            }
            rest <<= 1;
            shift += 1;
        }
        table[MOST_FIVES as usize - k] = (quotient, 1 - shift);
        power *= if k < MOST_FIVES as usize { 5 } else { 1 };
        k += 1;
    }
    table
}

/// `w · 10^q` for `w > 0`: the product lies in `[w·f, w·f + w)` times a power of two; the answer
/// where both ends round alike.
#[inline]
fn enclosed(w: u64, q: i64) -> Option<f64> {
    let &(f, e) = FIVES.get(usize::try_from(q + MOST_FIVES).ok()?)?;
    let up = w.leading_zeros();
    let w = w << up;
    let low = u128::from(w) * u128::from(f as u64);
    let high = u128::from(w) * u128::from((f >> 64) as u64) + (low >> 64);
    // The product is high · 2^64 + (low mod 2^64), with 2^190 <= product < 2^192.
    let lead = high.leading_zeros();
    let high = high << lead; // at most one bit of `low` is lost, and the slack below covers it
    // 53 bits are kept, 75 are dropped. The true number is in [high, high + 4) here.
    let dropped = high & ((1 << 75) - 1);
    let half = 1u128 << 74;
    if (half - 4..=half).contains(&dropped) {
        return None; // a tie, or too close to one
    }
    let kept = (high >> 75) as u64 + u64::from(dropped > half);
    // kept · 2^(75 + 64 - lead) · 2^(e - up) · 2^q, and kept may have become 2^53: both are exact.
    let exponent = 75 + 64 - lead as i32 + e - up as i32 + q as i32;
    Some(kept as f64 * power_of_two(exponent))
}

/// `2^e` for e well inside the range of f64: here `|e| < 400`.
#[inline(always)]
fn power_of_two(e: i32) -> f64 {
    f64::from_bits(((e + 1023) as u64) << 52)
}
