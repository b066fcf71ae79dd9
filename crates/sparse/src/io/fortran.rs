//! Fortran formats of fixed-width fields, `(16I5)` or `(1P,4D25.16)`, and reading by them.

use super::IoError;
use super::error::shown;
use super::lines::Lines;
use super::number::{Real, parse_real, parse_uint};

/// Widest field that is believed.
const WIDEST: u64 = 256;

/// Fields of one width, so many to a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Format {
    /// Fields on a line.
    pub per_line: usize,
    /// Characters of a field.
    pub width: usize,
    /// Integers; otherwise reals.
    pub integer: bool,
}

impl Format {
    /// Parses `(rIw)`, `(rEw.d)`, `(kP,rDw.dEe)` and the like; blanks mean nothing.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let text: Vec<u8> = text
            .iter()
            .filter(|c| !c.is_ascii_whitespace())
            .copied()
            .collect();
        let mut s = text.strip_prefix(b"(")?.strip_suffix(b")")?;
        if let Some(p) = s.iter().position(|c| matches!(c, b'P' | b'p')) {
            // A scale factor does nothing to a field with an exponent; others are refused later.
            let scale = s[..p].strip_prefix(b"-").unwrap_or(&s[..p]);
            parse_uint(scale, 0).filter(|&(_, end)| end == scale.len())?;
            s = &s[p + 1..];
            s = s.strip_prefix(b",").unwrap_or(s);
        }
        let (per_line, p) = parse_uint(s, 0).unwrap_or((1, 0));
        s = &s[p..];
        if let Some(inner) = s.strip_prefix(b"(") {
            s = inner.strip_suffix(b")")?; // r(Ew.d)
        }
        let integer = match s.first()?.to_ascii_uppercase() {
            b'I' => true,
            b'E' | b'D' | b'F' | b'G' => false,
            _ => return None,
        };
        s = s[1..]
            .strip_prefix(b"S")
            .or(s[1..].strip_prefix(b"N"))
            .unwrap_or(&s[1..]); // ES, EN
        let (width, p) = parse_uint(s, 0)?;
        let rest_is_plain = s[p..]
            .iter()
            .all(|c| c.is_ascii_digit() || matches!(c, b'.' | b'E' | b'e' | b'D' | b'd'));
        if !rest_is_plain || !(1..=WIDEST).contains(&width) || !(1..=1 << 16).contains(&per_line) {
            return None;
        }
        Some(Self {
            per_line: per_line as usize,
            width: width as usize,
            integer,
        })
    }

    /// Calls `each(line, field)` for `count` fields, blanks trimmed.
    pub fn read(
        self,
        lines: &mut Lines,
        what: &str,
        count: u64,
        mut each: impl FnMut(&[u8]) -> Result<(), String>,
    ) -> Result<(), IoError> {
        let mut done = 0;
        while done < count {
            let Some((line, text)) = lines.next_line()? else {
                let message = format!("{count} {what} are promised, the file holds {done}");
                return Err(lines.error_in_file(message));
            };
            let here = (count - done).min(self.per_line as u64) as usize;
            let mut fault = None;
            for k in 0..here {
                let start = (k * self.width).min(text.len());
                let field = text[start..(start + self.width).min(text.len())].trim_ascii();
                let result = if field.is_empty() {
                    Err(format!(
                        "{} of {count} {what} is missing",
                        done + k as u64 + 1
                    ))
                } else {
                    each(field)
                };
                if let Err(message) = result {
                    fault = Some(message);
                    break;
                }
            }
            let end = (here * self.width).min(text.len());
            let rest = text[end..].trim_ascii();
            if fault.is_none() && !rest.is_empty() {
                fault = Some(format!(
                    "unexpected `{}` after the last of the {what}",
                    shown(rest)
                ));
            }
            if let Some(message) = fault {
                return Err(lines.error_at(line, message));
            }
            done += here as u64;
        }
        Ok(())
    }
}

/// An unsigned integer that is a whole field.
pub(crate) fn integer_field(field: &[u8]) -> Result<u64, String> {
    match parse_uint(field, 0) {
        Some((x, end)) if end == field.len() => Ok(x),
        _ => Err(format!("`{}` is not a positive integer", shown(field))),
    }
}

/// A real number that is a whole field. By the rules of Fortran a field without a point or an
/// exponent would be scaled by the format; as files differ in what they mean, it is refused.
pub(crate) fn real_field(field: &[u8], integers: bool) -> Result<f64, String> {
    match parse_real(field, 0, true) {
        (Real::Finite(x), end) if end == field.len() => {
            if integers || x == 0.0 || field.contains(&b'.') {
                Ok(x)
            } else {
                let field = shown(field);
                Err(format!(
                    "value `{field}` has no decimal point, so its scale is not certain"
                ))
            }
        }
        (Real::NotFinite, _) => Err(format!("value `{}` is not finite", shown(field))),
        _ => Err(format!("`{}` is not a number", shown(field))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats() {
        let format = |per_line, width, integer| {
            Some(Format {
                per_line,
                width,
                integer,
            })
        };
        for (text, expected) in [
            ("(16I5)", format(16, 5, true)),
            (" ( 8i10 ) ", format(8, 10, true)),
            ("(4E20.12)", format(4, 20, false)),
            ("(1P,4D25.16)", format(4, 25, false)),
            ("(1P4E20.13)", format(4, 20, false)),
            ("(3E26.18E3)", format(3, 26, false)),
            ("(3(ES26.18))", format(3, 26, false)),
            ("(10F8.1)", format(10, 8, false)),
            ("(I8)", format(1, 8, true)),
            ("(0I8)", None),
            ("(8I0)", None),
            ("(8I99999999999)", None),
            ("(8A10)", None),
            ("(8I10", None),
            ("(*)", None),
            ("", None),
            ("()", None),
        ] {
            assert_eq!(Format::parse(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn fields() {
        assert_eq!(real_field(b"-0.5D+01", false), Ok(-5.0));
        assert_eq!(real_field(b"1.5-100", false), Ok(1.5e-100));
        assert!(real_field(b"15", false).is_err());
        assert_eq!(real_field(b"15", true), Ok(15.0));
        assert!(integer_field(b"-3").is_err());
    }
}
