//! How values are spelled: threads, bytes, tolerances, steps of refinement.

use std::str::FromStr;

/// `--refine`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefineArg {
    Auto,
    Off,
    Steps(u32),
    Quad,
}

impl FromStr for RefineArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "off" | "0" => Ok(Self::Off),
            "quad" => Ok(Self::Quad),
            other => match other.parse() {
                Ok(steps) if steps <= 1000 => Ok(Self::Steps(steps)),
                _ => Err("expected a number of steps up to 1000, `off`, `quad` or `auto`".into()),
            },
        }
    }
}

pub(super) fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if (1..=4096).contains(&n) => Ok(n),
        _ => Err("expected a number of threads from 1 to 4096".into()),
    }
}

pub(super) fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x > 0.0 && x < 1.0 => Ok(x),
        _ => Err("expected a number between 0 and 1".into()),
    }
}

/// A number of bytes with an optional unit: `1500000`, `12G`, `12GB`, `12GiB`.
///
/// The bare letters and the `iB` forms are powers of 1024, the `B` forms powers of 1000.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let wrong = || "expected bytes, for example 1500000, 800MB or 12GiB".to_string();
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let unit = unit.trim().to_ascii_lowercase();
    let (prefix, base) = match unit.as_str() {
        "" | "b" => ("", 1024.0),
        u if u.ends_with("ib") => (&u[..u.len() - 2], 1024.0),
        u if u.ends_with('b') => (&u[..u.len() - 1], 1000.0),
        u => (u, 1024.0f64),
    };
    let power = ["", "k", "m", "g", "t", "p"]
        .iter()
        .position(|&p| p == prefix)
        .ok_or_else(wrong)?;
    let value = number * base.powi(power as i32);
    // Beyond 2^63 bytes nothing is a budget any more.
    if value >= 1.0 && value < i64::MAX as f64 {
        Ok(value as u64)
    } else {
        Err(wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_units() {
        let of = |t| bytes(t).ok();
        assert_eq!(of("1500"), Some(1500));
        assert_eq!(of("2k"), Some(2048));
        assert_eq!(of("2kB"), Some(2000));
        assert_eq!(of("1.5GiB"), Some(3 << 29));
        for wrong in ["", "-1", "0", "12X", "GiB", "1e400", "nan", "99999999999P"] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn refinement_words() {
        assert_eq!("off".parse(), Ok(RefineArg::Off));
        assert_eq!("3".parse(), Ok(RefineArg::Steps(3)));
        assert!("-1".parse::<RefineArg>().is_err());
    }
}
