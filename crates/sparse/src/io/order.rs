//! Permutations: a Matrix Market array, a plain list of indices, or a `.npy` file.
//!
//! Item `k` of the file is the unknown that is eliminated at step `k`. Indices count from 0 if
//! one of them is 0, otherwise from 1.

use super::error::{IoError, Spot};
use super::header::{has_banner, sizes, vectors_header};
use super::lines::Lines;
use super::npy::Array;
use super::source::Source;
use super::vectors::numbers;
use crate::{Pattern, Permutation};

/// Reads text.
pub(crate) fn read(source: Source, n: usize) -> Result<Permutation, IoError> {
    let mut lines = Lines::new(source);
    let mut indices = Indices::new(n).map_err(|message| lines.error_in_file(message))?;
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
    numbers(&mut lines, |x, _| indices.push(x))?;
    let order = indices.permutation();
    order.map_err(|message| lines.error_in_file(message))
}

/// Reads a `.npy` file: integers, or reals that are integers, in one dimension, one row or one column.
pub(crate) fn read_npy(source: Source, n: usize) -> Result<Permutation, IoError> {
    let fail = |message| IoError::malformed(&source.name, Spot::File, message);
    let mut indices = Indices::new(n).map_err(fail)?;
    let array = Array::open(source.reader).map_err(fail)?;
    let items = array.items().map_err(fail)?;
    let is_list = match array.shape[..] {
        [_] => true,
        [rows, columns] => rows == 1 || columns == 1,
        _ => false,
    };
    if !is_list || items != n as u64 {
        let shape = &array.shape;
        let message = format!("an array of shape {shape:?}, the matrix has order {n}");
        return Err(fail(message));
    }
    let read = array.reals(|items| items.iter().try_for_each(|&x| indices.push(x)));
    read.map_err(fail)?;
    indices.permutation().map_err(fail)
}

/// Indices as they come from a file, for a matrix of order `n`.
pub(crate) struct Indices {
    n: usize,
    order: Vec<u32>,
}

impl Indices {
    pub fn new(n: usize) -> Result<Self, String> {
        if n as u64 > Pattern::MAX_ORDER {
            return Err(format!("order {n} is too large for a permutation"));
        }
        let order = Vec::new();
        Ok(Self { n, order })
    }

    /// Takes the next one.
    pub fn push(&mut self, x: f64) -> Result<(), String> {
        let n = self.n;
        // Written so that NaN is refused as well.
        if !(x.fract() == 0.0 && (0.0..=n as f64).contains(&x)) {
            return Err(format!("index {x} is neither in 0..{n} nor in 1..={n}"));
        }
        if self.order.len() == n {
            return Err(format!("more than {n} indices, the order of the matrix"));
        }
        self.order.push(x as u32);
        Ok(())
    }

    /// The permutation that they are, if all have come.
    pub fn permutation(self) -> Result<Permutation, String> {
        let Self { n, mut order } = self;
        if order.len() < n {
            return Err(format!("{} indices, the matrix has order {n}", order.len()));
        }
        let base = u32::from(!order.contains(&0));
        let mut seen = vec![false; n];
        for &index in &order {
            match seen.get_mut((index - base) as usize) {
                Some(seen) if !*seen => *seen = true,
                Some(_) => return Err(format!("index {index} occurs twice")),
                None => {
                    return Err(format!(
                        "indices 0 and {n} both occur: they count neither from 0 nor from 1"
                    ));
                }
            }
        }
        for index in &mut order {
            *index -= base;
        }
        Permutation::from_elimination_order(&order).map_err(|e| e.to_string())
    }
}
