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
    /// A scale factor other than 0 applies.
    pub scaled: bool,
}

impl Format {
    /// Parses `(rIw)`, `(rEw.d)`, `(kP,rDw.dEe)`, `(SP,r(Ew.d))` and the like; blanks and case do not
    /// matter. The error says what is not supported, where that is known, and is empty otherwise.
    pub fn parse(text: &[u8]) -> Result<Self, &'static str> {
        let text: Vec<u8> = text
            .iter()
            .filter(|c| !c.is_ascii_whitespace())
            .map(u8::to_ascii_uppercase)
            .collect();
        if let Some(why) = unsupported(&text) {
            return Err(why);
        }
        Self::of_list(&text).ok_or("")
    }

    /// Parses a format without blanks: controls, a repeat count, and a field or a group in parentheses that has the same.
    fn of_list(text: &[u8]) -> Option<Self> {
        let inner = text.strip_prefix(b"(")?.strip_suffix(b")")?;
        let (mut scaled, s) = controls(inner)?;
        let (mut per_line, mut s) = repeat(s);
        if s.first() == Some(&b'(') {
            let inner = s.strip_prefix(b"(")?.strip_suffix(b")")?;
            let (scaled_again, rest) = controls(inner)?;
            let (more, rest) = repeat(rest);
            scaled = scaled_again.or(scaled);
            (per_line, s) = (per_line.checked_mul(more)?, rest);
        }
        let integer = match s.first()? {
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
            .all(|c| c.is_ascii_digit() || matches!(c, b'.' | b'E' | b'D'));
        if !rest_is_plain || !(1..=WIDEST).contains(&width) || !(1..=1 << 16).contains(&per_line) {
            return None;
        }
        Some(Self {
            per_line: per_line as usize,
            width: width as usize,
            integer,
            scaled: scaled.unwrap_or(false),
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

/// What is legal in a format and not supported here.
fn unsupported(text: &[u8]) -> Option<&'static str> {
    if text
        .windows(2)
        .any(|w| w[0] == b'X' && !w[1].is_ascii_digit())
    {
        return Some("columns that are skipped (`X`) are not supported");
    }
    let ends_lines = text.contains(&b'/');
    ends_lines.then_some("ends of lines within a format (`/`) are not supported")
}

/// Takes scale factors (`kP`) and what decides of plus signs (`S`, `SP`, `SS`), which reading does not ask about, from the beginning of
/// a list; says whether a scale factor other than 0 applies, if there is one at all.
fn controls(mut s: &[u8]) -> Option<(Option<bool>, &[u8])> {
    let mut scaled = None;
    loop {
        let sign = [&b"SP"[..], b"SS", b"S"]
            .iter()
            .find_map(|sign| s.strip_prefix(*sign));
        let rest = match sign {
            Some(rest) => rest,
            None => {
                let digits = s.strip_prefix(b"-").or(s.strip_prefix(b"+")).unwrap_or(s);
                let scale = parse_uint(digits, 0);
                let Some((factor, p)) = scale.filter(|&(_, p)| digits.get(p) == Some(&b'P')) else {
                    return (digits.len() == s.len()).then_some((scaled, s));
                };
                scaled = Some(factor != 0);
                &digits[p + 1..]
            }
        };
        s = rest.strip_prefix(b",").unwrap_or(rest);
    }
}

/// Takes a repeat count, which is 1 where there is none.
fn repeat(s: &[u8]) -> (u64, &[u8]) {
    let (count, p) = parse_uint(s, 0).unwrap_or((1, 0));
    (count, &s[p..])
}

/// An unsigned integer that is a whole field.
pub(crate) fn integer_field(field: &[u8]) -> Result<u64, String> {
    match parse_uint(field, 0) {
        Some((x, end)) if end == field.len() => Ok(x),
        _ => Err(format!("`{}` is not a positive integer", shown(field))),
    }
}

/// A real number that is a whole field. By the rules of Fortran a field without a point would be
/// scaled by the digits of the format, and one without an exponent by its scale factor; as files
/// differ in what they mean, both are refused.
pub(crate) fn real_field(field: &[u8], format: Format) -> Result<f64, String> {
    let x = match parse_real(field, 0, true) {
        (Real::Finite(x), end) if end == field.len() => x,
        (Real::NotFinite, _) => return Err(format!("value `{}` is not finite", shown(field))),
        _ => return Err(format!("`{}` is not a number", shown(field))),
    };
    if format.integer || x == 0.0 {
        return Ok(x);
    }
    if !field.contains(&b'.') {
        let field = shown(field);
        return Err(format!(
            "value `{field}` has no decimal point, so its scale is not certain"
        ));
    }
    // An exponent begins with a letter or a sign.
    let has_exponent = field[1..].iter().any(|c| !matches!(c, b'0'..=b'9' | b'.'));
    if format.scaled && !has_exponent {
        let field = shown(field);
        return Err(format!(
            "value `{field}` has no exponent and its format has a scale factor (`P`), so its \
             scale is not certain"
        ));
    }
    Ok(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats() {
        let format = |per_line, width, integer| {
            Ok(Format {
                per_line,
                width,
                integer,
                scaled: false,
            })
        };
        let scaled =
            |per_line, width| format(per_line, width, false).map(|f| Format { scaled: true, ..f });
        for (text, expected) in [
            ("(16I5)", format(16, 5, true)),
            (" ( 8i10 ) ", format(8, 10, true)),
            ("(4E20.12)", format(4, 20, false)),
            ("(1P,4D25.16)", scaled(4, 25)),
            ("(1P4E20.13)", scaled(4, 20)),
            ("(-2p,3f4.1)", scaled(3, 4)),
            ("(0P,3F4.1)", format(3, 4, false)),
            ("(3E26.18E3)", format(3, 26, false)),
            ("(3(ES26.18))", format(3, 26, false)),
            ("(3es8.1)", format(3, 8, false)),
            ("(3En8.1e2)", format(3, 8, false)),
            ("(10F8.1)", format(10, 8, false)),
            ("(I8)", format(1, 8, true)),
            ("(4(1PE20.12))", scaled(4, 20)),
            ("(1P,(4E20.12))", scaled(4, 20)),
            ("(1P,2(0P,2E20.12))", format(4, 20, false)),
            ("(SP,4E20.12)", format(4, 20, false)),
            ("(ss,1p,4(s,es20.12))", scaled(4, 20)),
            ("(+1P4E20.12)", scaled(4, 20)),
            ("(2(8I5))", format(16, 5, true)),
            ("(0I8)", Err("")),
            ("(8I0)", Err("")),
            ("(8I99999999999)", Err("")),
            ("(8A10)", Err("")),
            ("(8I10", Err("")),
            ("(*)", Err("")),
            ("", Err("")),
            ("()", Err("")),
            ("(4(E20.12)", Err("")),
            ("(4(2(E20.12)))", Err("")),
            ("(-4E20.12)", Err("")),
            ("(P4E20.12)", Err("")),
            ("(99999999999(99999999999I5))", Err("")),
            (
                "(5(F9.4,1X))",
                Err("columns that are skipped (`X`) are not supported"),
            ),
            (
                "(16I5/)",
                Err("ends of lines within a format (`/`) are not supported"),
            ),
        ] {
            assert_eq!(Format::parse(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn fields() {
        let plain = Format::parse(b"(3F8.1)").unwrap();
        assert_eq!(real_field(b"-0.5D+01", plain), Ok(-5.0));
        assert_eq!(real_field(b"1.5-100", plain), Ok(1.5e-100));
        assert!(real_field(b"15", plain).is_err());
        assert_eq!(
            real_field(b"15", Format::parse(b"(3I8)").unwrap()),
            Ok(15.0)
        );
        assert!(integer_field(b"-3").is_err());
    }

    #[test]
    fn scale_factors_need_fields_with_an_exponent() {
        let scaled = Format::parse(b"(2P,3F8.1)").unwrap();
        for (field, value) in [
            ("4.0E0", 4.0),
            ("-4.d+1", -40.0),
            ("4.0-1", 0.4),
            ("0.0", 0.0),
        ] {
            assert_eq!(real_field(field.as_bytes(), scaled), Ok(value), "{field}");
        }
        for field in ["4.0", "-.5", "+4."] {
            let message = format!(
                "value `{field}` has no exponent and its format has a scale factor (`P`), so its \
                 scale is not certain"
            );
            assert_eq!(real_field(field.as_bytes(), scaled), Err(message));
        }
        let unscaled = Format::parse(b"(0P,3F8.1)").unwrap();
        assert_eq!(real_field(b"4.0", unscaled), Ok(4.0));
    }
}
