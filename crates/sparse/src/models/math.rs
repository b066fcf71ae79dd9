//! Functions and pseudo-random numbers that give the same bits everywhere.
//!
//! The C library's `pow`, `sin` and `cos` differ between platforms in the last bit; these are
//! polynomials evaluated in a fixed order, right to a few units in the last place.

/// Marsaglia's xorshift (2003) with the shifts 13, 7, 17.
pub(super) struct Xorshift(u64);

impl Xorshift {
    /// The sequence all random model problems start from.
    pub(super) fn new() -> Self {
        Self(0x9E37_79B9_7F4A_7C15)
    }

    /// Next 64 bits.
    pub(super) fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Uniform in `[0, 1)`, a multiple of 2⁻⁵³.
    pub(super) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in `0..bound`, and 0 where `bound` is 0.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        (self.unit() * bound as f64) as usize
    }
}

/// A well-mixed function of an index (the finalizer of SplitMix64; Steele, Lea, Flood 2014).
pub(super) fn hash(index: u64) -> u64 {
    let mut z = index.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// `10^x` for |x| up to about 300.
pub(super) fn power_of_ten(x: f64) -> f64 {
    let y = x * std::f64::consts::LOG2_10;
    let k = y.round();
    let t = (y - k) * std::f64::consts::LN_2; // |t| <= ln(2)/2: 14 terms reach rounding
    let mut sum = 1.0;
    for term in (1..=14).rev() {
        sum = 1.0 + sum * t / f64::from(term);
    }
    sum * f64::from_bits(((k as i64 + 1023) as u64) << 52)
}

/// `(sin x, cos x)` for |x| <= π/4.
pub(super) fn sin_cos(x: f64) -> (f64, f64) {
    let x2 = x * x;
    let (mut sin, mut cos) = (1.0, 1.0);
    for k in (1..=10).rev() {
        let k = f64::from(k);
        sin = 1.0 - sin * x2 / (2.0 * k * (2.0 * k + 1.0));
        cos = 1.0 - cos * x2 / (2.0 * k * (2.0 * k - 1.0));
    }
    (x * sin, cos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_to_the_library() {
        for k in -200..=200 {
            let x = f64::from(k) / 100.0;
            let (exact, near) = (10f64.powf(x), power_of_ten(x));
            assert!((near / exact - 1.0).abs() < 4e-15, "10^{x}");
            let x = x / 2.6;
            let (sin, cos) = sin_cos(x);
            assert!((sin - x.sin()).abs() < 2e-16 && (cos - x.cos()).abs() < 3e-16);
        }
        assert_eq!(power_of_ten(0.0), 1.0);
        assert_eq!(sin_cos(0.0), (0.0, 1.0));
    }
}
