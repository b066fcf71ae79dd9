//! Permutations in text: a Matrix Market array, or a plain list of indices.
//!
//! Item `k` of the file is the unknown that is eliminated at step `k`. Indices count from 0 if
//! one of them is 0, otherwise from 1.

use super::error::{IoError, Spot};
use super::header::{has_banner, sizes, vectors_header};
use super::lines::Lines;
use super::source::Source;
use super::vectors::numbers;
use crate::{Pattern, Permutation};

pub(crate) fn read(source: Source, n: usize) -> Result<Permutation, IoError> {
    let mut lines = Lines::new(source);
    if n as u64 > Pattern::MAX_ORDER {
        return Err(lines.error_in_file(format!("order {n} is too large for a permutation")));
    }
    if has_banner(lines.block()?) {
        if vectors_header(&mut lines)? {
            let message = "a permutation is a list: `array` format, or one index per line";
            return Err(lines.unsupported_at(1, message));
        }
        let (line, [rows, columns]) = sizes::<2>(&mut lines)?;
        if rows.checked_mul(columns) != Some(n as u64) {
            let message = format!("{rows} x {columns} indices, the matrix has order {n}");
            return Err(lines.error_at(line, message));
        }
    }
    let mut order: Vec<u32> = Vec::new();
    numbers(&mut lines, |x, _| {
        if x.fract() != 0.0 || x < 0.0 || x > n as f64 {
            return Err(format!("index {x} is neither in 0..{n} nor in 1..={n}"));
        }
        if order.len() == n {
            return Err(format!("more than {n} indices, the order of the matrix"));
        }
        order.push(x as u32);
        Ok(())
    })?;
    if order.len() < n {
        let message = format!("{} indices, the matrix has order {n}", order.len());
        return Err(lines.error_in_file(message));
    }
    let base = u32::from(!order.contains(&0));
    let mut seen = vec![false; n];
    for &index in &order {
        match seen.get_mut((index - base) as usize) {
            Some(seen) if !*seen => *seen = true,
            Some(_) => return Err(lines.error_in_file(format!("index {index} occurs twice"))),
            None => {
                let message =
                    format!("indices 0 and {n} both occur: they count neither from 0 nor from 1");
                return Err(lines.error_in_file(message));
            }
        }
    }
    for index in &mut order {
        *index -= base;
    }
    Permutation::from_elimination_order(&order)
        .map_err(|e| IoError::malformed(lines.name(), Spot::File, e.to_string()))
}
