//! The lower half of a symmetric matrix as ELL, read by whole rows; kernels in `spmv/symmetric_ell.cu`.

use super::choose::SLICE;
use super::ell::countable;
use super::{Csr, Product, THREADS};
use crate::primitives::{Real, kernels, too_long};
use crate::{Arg, DeviceBuffer, Gpu, GpuError, Kernel, Launch, Program, Stream};

const PROGRAM: Program = Program::at("spmv/symmetric_ell.cu");
/// A padding entry.
pub(super) const NONE: u32 = u32::MAX;

pub(super) struct SymmetricEll<T> {
    rows: u32,
    width: u32,
    bits: u32,
    pitch: u64,
    words: DeviceBuffer<u32>,
    values: DeviceBuffer<T>,
    kernel: Kernel,
}

/// What the kernels read.
#[derive(Debug)]
pub(super) struct Layout<T> {
    pub width: u32,
    pub bits: u32,
    pub pitch: u64,
    pub words: Vec<u32>,
    pub values: Vec<T>,
}

/// Lays out a lower half.
///
/// # Errors
/// [`GpuError::Shape`] for an entry above the diagonal, or where words or places do not fit in 32 bits.
pub(super) fn lay_out<T: Copy + Default>(lower: &Csr<'_, T>) -> Result<Layout<T>, GpuError> {
    lower.require_lower()?;
    let rows = lower.rows();
    let (starts, lines, numbers) = elsewhere(lower.starts(), lower.all_columns());
    let others = |row: u32| starts[row as usize] as usize..starts[row as usize + 1] as usize;
    let longest = |length: &dyn Fn(u32) -> usize| (0..rows).map(length).max().unwrap_or(0);
    let value_lines = longest(&|row| lower.row(row).len());
    let width = longest(&|row| lower.row(row).len() + others(row).len());
    let bits = usize::BITS - value_lines.saturating_sub(1).leading_zeros();
    let most_rows = u64::from(NONE) >> bits;
    if u64::from(rows) > most_rows {
        let what = "rows of a symmetric ELL matrix";
        return Err(too_long(what, rows.into(), most_rows));
    }
    let pitch = u64::from(rows).next_multiple_of(SLICE as u64);
    let mut words = vec![NONE; countable(pitch.saturating_mul(width as u64))?];
    let mut values = vec![T::default(); countable(pitch.saturating_mul(value_lines as u64))?];
    for row in 0..rows {
        let place = |line: usize| line * pitch as usize + row as usize;
        for (line, at) in lower.range(row).enumerate() {
            values[place(line)] = lower.values()[at];
        }
        let own = lower.row(row).iter().copied().zip(0..);
        let others = others(row).map(|k| (lines[k], numbers[k]));
        for (k, (column, line)) in own.chain(others).enumerate() {
            words[place(k)] = column << bits | line;
        }
    }
    Ok(Layout {
        width: width as u32, // of 2^32 words at most
        bits,
        pitch,
        words,
        values,
    })
}

impl<T: Real> SymmetricEll<T> {
    pub fn new(gpu: &Gpu, stream: &Stream, lower: &Csr<'_, T>) -> Result<Self, GpuError> {
        let layout = lay_out(lower)?;
        let [kernel] = kernels(gpu, &PROGRAM, [&format!("symmetric_ell_{}", T::NAME)])?;
        Ok(Self {
            rows: lower.rows(),
            width: layout.width,
            bits: layout.bits,
            pitch: layout.pitch,
            words: stream.to_device(gpu, &layout.words)?,
            values: stream.to_device(gpu, &layout.values)?,
            kernel,
        })
    }

    pub fn bytes(&self) -> u64 {
        4 * self.words.len() as u64 + (size_of::<T>() * self.values.len()) as u64
    }

    pub fn launch(&self, stream: &Stream, p: Product<T>) -> Result<(), GpuError> {
        let args: [&dyn Arg; 11] = [
            &self.rows,
            &self.width,
            &self.pitch,
            &self.bits,
            &self.words.ptr(),
            &self.values.ptr(),
            &p.x,
            &p.alpha,
            &p.beta,
            &p.z,
            &p.y,
        ];
        let grid = Launch::new(self.rows.div_ceil(THREADS), THREADS);
        // SAFETY: the arguments of symmetric_ell_*; the matrix was checked, and the vectors' lengths.
        unsafe { self.kernel.launch(stream, grid, &args) }
    }
}

/// The entries that rows have in other lines, by rows and ascending: starts, then line and number in there of each. All was checked.
pub(super) fn elsewhere(starts: &[u64], indices: &[u32]) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
    let line = |j: usize| &indices[starts[j] as usize..starts[j + 1] as usize];
    let n = starts.len() - 1;
    // next[i + 1] counts, then becomes where row i's next entry goes, and so its end
    let mut next = vec![0_u32; starts.len()];
    for j in 0..n {
        for &i in line(j) {
            next[i as usize + 1] += u32::from(i as usize != j);
        }
    }
    let mut before = 0;
    for start in &mut next[1..] {
        (*start, before) = (before, before + *start);
    }
    let mut lines = vec![0; before as usize];
    let mut numbers = lines.clone();
    for j in 0..n {
        for (number, &i) in (0..).zip(line(j)) {
            let i = i as usize;
            if i != j {
                let at = next[i + 1] as usize;
                (lines[at], numbers[at]) = (j as u32, number); // below LIMIT
                next[i + 1] += 1;
            }
        }
    }
    (next, lines, numbers)
}

#[cfg(test)]
mod tests {
    use super::elsewhere;

    #[test]
    fn rows_know_what_other_lines_have_of_them() {
        // lower half by columns: (0,0) (2,0) (3,0) | (1,1) (3,1) | (2,2) | (3,3)
        let (starts, indices) = ([0, 3, 5, 6, 7], [0, 2, 3, 1, 3, 2, 3]);
        let (got_starts, lines, numbers) = elsewhere(&starts, &indices);
        assert_eq!(got_starts, [0, 0, 0, 1, 3]);
        assert_eq!((lines, numbers), (vec![0, 0, 1], vec![1, 2, 1]));
        assert_eq!(elsewhere(&[0], &[]), (vec![0], vec![], vec![]));
    }
}
