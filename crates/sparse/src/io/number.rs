//! Decimal numbers in text, correctly rounded.
//!
//! Up to 19 significant digits become a 64-bit integer `w` and a decimal exponent `q`, eight digits at a time, and
//! [`nearest`] rounds `w · 10^q`. More digits, and what it does not decide, go to the standard library.
//!
//! Invariant: the result is the f64 nearest to the decimal number, ties to even. Cost: about one
//! pass over the bytes.

use super::nearest::nearest;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Real {
    /// A finite number.
    Finite(f64),
    /// NaN, infinity, or a number too large for f64.
    NotFinite,
    /// No number.
    Bad,
}

/// Skips blanks (space, tab, carriage return, form feed) from `p`.
#[inline(always)]
pub(crate) fn skip_blanks(s: &[u8], mut p: usize) -> usize {
    while matches!(s.get(p), Some(b' ' | b'\t' | b'\r' | b'\x0c')) {
        p += 1;
    }
    p
}

/// End of the token that starts at `p`: the next white space, or the end.
#[inline]
pub(crate) fn token_end(s: &[u8], mut p: usize) -> usize {
    while s.get(p).is_some_and(|c| !c.is_ascii_whitespace()) {
        p += 1;
    }
    p
}

/// The unsigned integer at `p` and the position after it; `None` without digits. Saturates.
#[inline(always)]
pub(crate) fn parse_uint(s: &[u8], p: usize) -> Option<(u64, usize)> {
    match leading_digits(s, p) {
        Some((x, count @ 1..8)) => Some((x, p + count)),
        _ => parse_long_uint(s, p),
    }
}

/// As [`parse_uint`]: a plus sign, eight digits or more, or the end of the text is near.
#[inline(never)]
fn parse_long_uint(s: &[u8], mut p: usize) -> Option<(u64, usize)> {
    if s.get(p) == Some(&b'+') {
        p += 1;
    }
    let start = p;
    let mut x = 0u64;
    while let Some(d) = digit(s, p) {
        x = x.saturating_mul(10).saturating_add(d);
        p += 1;
    }
    (p > start).then_some((x, p))
}

#[inline(always)]
fn digit(s: &[u8], p: usize) -> Option<u64> {
    let d = s.get(p)?.wrapping_sub(b'0');
    (d < 10).then_some(u64::from(d))
}

/// Of the eight bytes at `p`: how many of the first are digits, and their value. `None` if there
/// are not eight bytes.
///
/// A byte is a digit if, less `0`, it stays below 10; the carries of the sum go to later bytes only.
/// The digits are moved up against leading zeros, and joined in pairs, fours and eight.
#[inline(always)]
fn leading_digits(s: &[u8], p: usize) -> Option<(u64, usize)> {
    let chunk = s.get(p..)?.first_chunk::<8>()?;
    let x = u64::from_le_bytes(*chunk) ^ 0x3030_3030_3030_3030;
    let others = (x.wrapping_add(0x7676_7676_7676_7676) | x) & 0x8080_8080_8080_8080;
    let count = others.trailing_zeros() / 8;
    let x = x.checked_shl(64 - 8 * count).unwrap_or(0);
    let x = x.wrapping_mul(10).wrapping_add(x >> 8); // pairs, in every other byte
    let a = (x & 0x0000_00FF_0000_00FF).wrapping_mul(0x000F_4240_0000_0064);
    let b = ((x >> 16) & 0x0000_00FF_0000_00FF).wrapping_mul(0x0000_2710_0000_0001);
    Some((a.wrapping_add(b) >> 32, count as usize))
}

const POWERS: [u64; 9] = [
    1,
    10,
    100,
    1_000,
    10_000,
    100_000,
    1_000_000,
    10_000_000,
    100_000_000,
];

/// Decimal digits as they are read: the integer `w`, how many of its digits count, and the
/// exponent they leave behind.
struct Digits {
    w: u64,
    significant: usize,
}

impl Digits {
    /// Takes the digits at `p`; past 19 significant ones they are only counted.
    #[inline(always)]
    fn take(&mut self, s: &[u8], mut p: usize) -> usize {
        if self.w == 0 {
            while s.get(p) == Some(&b'0') {
                p += 1;
            }
        }
        let start = p;
        while self.significant + (p - start) + 8 <= 19
            && let Some((x, count)) = leading_digits(s, p)
        {
            self.w = self.w * POWERS[count] + x;
            p += count;
            if count < 8 {
                self.significant += p - start;
                return p;
            }
        }
        while let Some(d) = digit(s, p) {
            self.w = self.w.wrapping_mul(10).wrapping_add(d);
            p += 1;
        }
        self.significant += p - start;
        p
    }
}

/// The number that is the token at `p`, and the position after the token.
///
/// Exponents may be marked `e`, `d` or `q`, in either case; with `bare_exponent`, also by their
/// sign alone, as Fortran writes `1.5-100`.
#[inline(always)]
pub(crate) fn parse_real(s: &[u8], start: usize, bare_exponent: bool) -> (Real, usize) {
    let (negative, whole) = sign(s, start);
    let signed = |x: f64| f64::from_bits(x.to_bits() | u64::from(negative) << 63);
    if let Some((x, count @ 1..8)) = leading_digits(s, whole)
        && s[whole + count].is_ascii_whitespace()
    {
        return (Real::Finite(signed(x as f64)), whole + count); // common, and quick
    }
    let mut digits = Digits {
        w: 0,
        significant: 0,
    };
    let mut p = digits.take(s, whole);
    let mut any = p - whole;
    let mut q = 0i64;
    if s.get(p) == Some(&b'.') {
        let fraction = p + 1;
        p = digits.take(s, fraction);
        any += p - fraction;
        q = -((p - fraction) as i64);
    }
    if any == 0 {
        return odd_token(s, start);
    }
    let marked = matches!(s.get(p), Some(b'e' | b'E' | b'd' | b'D' | b'q' | b'Q'));
    if marked || (bare_exponent && matches!(s.get(p), Some(b'+' | b'-'))) {
        match exponent(s, p + usize::from(marked)) {
            Some((e, end)) => (q, p) = (q + e, end),
            None => return (Real::Bad, token_end(s, p)),
        }
    }
    if s.get(p).is_some_and(|c| !c.is_ascii_whitespace()) {
        return (Real::Bad, token_end(s, p));
    }
    let magnitude = if digits.significant > 19 {
        None
    } else {
        nearest(digits.w, q)
    };
    match magnitude {
        Some(x) => (Real::Finite(signed(x)), p),
        None => (by_library(&s[start..p]), p),
    }
}

/// Whether there is a minus sign at `p`, and the position after the sign. Signs are random, so no
/// branch depends on them.
#[inline(always)]
fn sign(s: &[u8], p: usize) -> (bool, usize) {
    let c = s.get(p).copied().unwrap_or(0);
    let minus = c == b'-';
    (minus, p + usize::from(minus | (c == b'+')))
}

/// A signed exponent, saturating far beyond what any number has, and the position after it.
#[inline(always)]
fn exponent(s: &[u8], start: usize) -> Option<(i64, usize)> {
    let (minus, start) = sign(s, start);
    let (mut e, mut p) = (0i64, start);
    while let Some(d) = digit(s, p) {
        e = (e * 10 + d as i64).min(1 << 40);
        p += 1;
    }
    let mask = -i64::from(minus);
    (p > start).then_some(((e ^ mask) - mask, p))
}

/// A token without digits: NaN and infinity are known by name.
#[cold]
fn odd_token(s: &[u8], start: usize) -> (Real, usize) {
    let end = token_end(s, start);
    let word = s[start..end].to_ascii_lowercase();
    let word = word.strip_prefix(b"+").unwrap_or(&word);
    let word = word.strip_prefix(b"-").unwrap_or(word);
    let named: [&[u8]; 4] = [b"nan", b"inf", b"infinity", b"1.#inf"];
    let kind = if named.contains(&word) {
        Real::NotFinite
    } else {
        Real::Bad
    };
    (kind, end)
}

/// The standard library's answer, after the exponent is put into its spelling.
#[cold]
fn by_library(token: &[u8]) -> Real {
    let mut text = String::with_capacity(token.len() + 1);
    for (k, &c) in token.iter().enumerate() {
        match c {
            b'd' | b'D' | b'q' | b'Q' => text.push('e'),
            b'+' | b'-' if k > 0 && (token[k - 1].is_ascii_digit() || token[k - 1] == b'.') => {
                text.push('e');
                text.push(c as char);
            }
            _ => text.push(c as char),
        }
    }
    match text.parse::<f64>() {
        Ok(x) if x.is_finite() => Real::Finite(x),
        Ok(_) => Real::NotFinite,
        Err(_) => Real::Bad,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn real(text: &str) -> Real {
        let (x, end) = parse_real(text.as_bytes(), 0, true);
        assert_eq!(end, text.len());
        x
    }

    #[test]
    fn spellings() {
        for (text, x) in [
            ("1", 1.0f64),
            ("-0", -0.0),
            ("+1.5D+03", 1500.0),
            (".5", 0.5),
            ("5.", 5.0),
            ("1.5-100", 1.5e-100),
            ("0.1e1", 1.0),
            ("9007199254740993", 9007199254740992.0),
            ("1e22", 1e22),
            (
                "123456789012345678901234567890",
                123456789012345678901234567890.0,
            ),
            ("0.000000000000000000000000000000001", 1e-33),
            ("2.2250738585072011d-308", 2.225073858507201e-308),
            ("1e-999999999999999999999999", 0.0),
        ] {
            let Real::Finite(y) = real(text) else {
                panic!("{text}")
            };
            assert_eq!(y.to_bits(), x.to_bits(), "{text}");
        }
        for text in [
            "nan",
            "-NaN",
            "Inf",
            "-infinity",
            "1e400",
            "1D999999999999999999999",
        ] {
            assert_eq!(real(text), Real::NotFinite, "{text}");
        }
        for text in [
            "", "-", ".", "e5", "1e", "1e+", "1.2.3", "0x10", "1_0", "1,5", "--1",
        ] {
            assert_eq!(real(text), Real::Bad, "{text}");
        }
        assert_eq!(parse_real(b"1.5-3", 0, false).0, Real::Bad);
    }

    #[test]
    fn integers() {
        assert_eq!(parse_uint(b"+042 ", 0), Some((42, 4)));
        assert_eq!(
            parse_uint(b"99999999999999999999999", 0),
            Some((u64::MAX, 23))
        );
        assert_eq!(parse_uint(b"-1", 0), None);
        assert_eq!(leading_digits(b"12345678", 0), Some((12_345_678, 8)));
        assert_eq!(leading_digits(b"1234567:", 0), Some((1_234_567, 7)));
        assert_eq!(leading_digits(b"1234/678", 0), Some((1234, 4)));
        assert_eq!(leading_digits(b"\xff2345678", 0), Some((0, 0)));
        assert_eq!(leading_digits(b"7\xff\xff45678", 0), Some((7, 1)));
        assert_eq!(leading_digits(b"1234567", 0), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        #[test]
        fn rounds_as_the_library_does(w: u64, cut in 0u32..64, q in -80i64..80, point in 0usize..20) {
            let mut text = (w >> cut).to_string();
            if point < text.len() {
                text.insert(point, '.');
            }
            let text = format!("{text}e{q}");
            prop_assert_eq!(real(&text), Real::Finite(text.parse().unwrap()));
        }

        #[test]
        fn every_number_round_trips(bits: u64) {
            let x = f64::from_bits(bits);
            prop_assume!(x.is_finite());
            prop_assert_eq!(real(&format!("{x:e}")), Real::Finite(x));
            prop_assert_eq!(real(&format!("{x:.17e}")), Real::Finite(x));
        }

        #[test]
        fn ties_go_to_even(m in (1u64 << 52)..(1 << 53), q in 0i64..3) {
            let w = u128::from(2 * m + 1); // a tie as it stands, and still one times 10
            let text = format!("{}e-{q}", w * 10u128.pow(q as u32));
            prop_assert_eq!(real(&text), Real::Finite(text.parse().unwrap()));
        }
    }
}
