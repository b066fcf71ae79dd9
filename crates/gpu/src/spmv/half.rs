//! A symmetric matrix of which every entry off the diagonal is kept once; kernels in `spmv/half.cuh`.
//!
//! Lines are on the device once, for all that go by them ([`HalfPattern`]). To read whole rows one more list says which entries a row
//! has in other lines ([`Rows`]): 6 bytes for each entry off the diagonal, 8 where a line has more than 65,535. Values stay where the factorization has them.

use std::sync::Arc;

use crate::primitives::{same, too_long};
use crate::{Arg, DeviceBuffer, DevicePtr, DeviceView, Gpu, GpuError, Stream};

/// Most entries of a half, and of the whole matrix and rows together where rows are read.
const LIMIT: u64 = (1 << 32) - (1 << 16);

/// The pattern of a symmetric matrix on the device: line `j` has the entries `indices[starts[j]..starts[j + 1]]`, and each entry off the
/// diagonal is there once, in either half: a lower half by columns or by rows.
pub struct HalfPattern {
    pub(super) n: u32,
    pub(super) starts: DeviceBuffer<u32>,
    pub(super) indices: DeviceBuffer<u32>,
}

impl HalfPattern {
    /// Checks and uploads.
    ///
    /// # Errors
    /// [`GpuError::Shape`] where starts do not ascend from 0 to the number of entries, an index is too large, or entries or
    /// rows pass 2^32 - 2^16; [`GpuError::OutOfMemory`].
    pub fn new(
        gpu: &Gpu,
        stream: &Stream,
        starts: &[u64],
        indices: &[u32],
    ) -> Result<Arc<Self>, GpuError> {
        let entries = indices.len() as u64;
        let what = "starts of a symmetric matrix";
        if starts.first() != Some(&0) || starts.last() != Some(&entries) {
            let last = starts.last().copied().unwrap_or(0);
            return Err(too_long(what, last, entries));
        }
        if let Some(pair) = starts.windows(2).find(|p| p[0] > p[1]) {
            return Err(too_long(what, pair[0], pair[1]));
        }
        let n = starts.len() as u64 - 1;
        if entries.max(n) > LIMIT {
            let what = "rows and entries of a symmetric matrix";
            return Err(too_long(what, entries.max(n), LIMIT));
        }
        if let Some(&index) = indices.iter().find(|&&i| u64::from(i) >= n) {
            return Err(too_long("index of a symmetric matrix", index.into(), n));
        }
        let short: Vec<u32> = starts.iter().map(|&s| s as u32).collect(); // below LIMIT, as n is
        Ok(Arc::new(Self {
            n: n as u32,
            starts: stream.list(gpu, &short)?,
            indices: stream.list(gpu, indices)?,
        }))
    }

    /// Order of the matrix.
    #[must_use]
    pub fn n(&self) -> u32 {
        self.n
    }

    /// Entries of the half.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.indices.len()
    }

    /// Starts of the lines, and their indices.
    pub(crate) fn lines(&self) -> (DevicePtr<u32>, DevicePtr<u32>) {
        (self.starts.ptr(), self.indices.ptr())
    }

    /// Device memory, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        4 * (self.starts.len() + self.indices.len()) as u64
    }
}

/// Laid out as the kernels' `Half`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Half {
    starts: DevicePtr<u32>,
    indices: DevicePtr<u32>,
    elsewhere_starts: DevicePtr<u32>,
    elsewhere: DevicePtr<u32>,
    numbers: DevicePtr<u8>,
    values: DevicePtr<f64>,
    n: u32,
    wide: u32,
}

// SAFETY: the layout of the kernels' parameter, without host pointers.
unsafe impl Arg for Half {}

/// The whole rows of a symmetric pattern.
pub(super) struct Rows {
    pub pattern: Arc<HalfPattern>,
    /// Most entries of a row.
    pub most_entries: u32,
    /// Entries of all rows.
    pub entries: u64,
    elsewhere_starts: DeviceBuffer<u32>,
    /// Line of each entry that another line has.
    elsewhere: DeviceBuffer<u32>,
    /// Its number in that line.
    numbers: Numbers,
}

/// Numbers of entries within their lines.
enum Numbers {
    Short(DeviceBuffer<u16>),
    Long(DeviceBuffer<u32>),
}

impl Numbers {
    fn new(gpu: &Gpu, stream: &Stream, numbers: &[u32]) -> Result<Self, GpuError> {
        let short: Option<Vec<u16>> = numbers.iter().map(|&k| u16::try_from(k).ok()).collect();
        Ok(match short {
            Some(short) => Self::Short(stream.list(gpu, &short)?),
            None => Self::Long(stream.list(gpu, numbers)?),
        })
    }

    /// Where they begin, and whether they take 4 bytes each.
    fn place(&self) -> (u64, bool) {
        match self {
            Self::Short(numbers) => (numbers.ptr().address(), false),
            Self::Long(numbers) => (numbers.ptr().address(), true),
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Self::Short(numbers) => 2 * numbers.len() as u64,
            Self::Long(numbers) => 4 * numbers.len() as u64,
        }
    }
}

impl Rows {
    /// Of the pattern that was made of the same `starts` and `indices`.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for another pattern, or where entries of the whole matrix and rows pass 2^32 - 2^16;
    /// [`GpuError::OutOfMemory`].
    pub fn new(
        gpu: &Gpu,
        stream: &Stream,
        pattern: &Arc<HalfPattern>,
        starts: &[u64],
        indices: &[u32],
    ) -> Result<Self, GpuError> {
        same(
            "starts of a symmetric matrix",
            starts.len(),
            pattern.n as usize + 1,
        )?;
        same(
            "entries of a symmetric matrix",
            indices.len(),
            pattern.entries(),
        )?;
        let all = 2 * indices.len() as u64 + u64::from(pattern.n);
        if all > LIMIT {
            return Err(too_long(
                "rows and entries of a symmetric matrix",
                all,
                LIMIT,
            ));
        }
        let (elsewhere_starts, lines, numbers) = elsewhere(starts, indices);
        let rows = starts.windows(2).zip(elsewhere_starts.windows(2));
        let lengths = rows.map(|(own, others)| (own[1] - own[0]) as u32 + others[1] - others[0]);
        Ok(Self {
            pattern: pattern.clone(),
            most_entries: lengths.max().unwrap_or(0),
            entries: (indices.len() + lines.len()) as u64,
            elsewhere_starts: stream.list(gpu, &elsewhere_starts)?,
            elsewhere: stream.list(gpu, &lines)?,
            numbers: Numbers::new(gpu, stream, &numbers)?,
        })
    }

    /// Threads that share a row.
    pub fn lanes(&self) -> u32 {
        match self.entries / u64::from(self.pattern.n.max(1)) {
            0..=12 => 2,
            13..=48 => 8,
            _ => 32,
        }
    }

    /// The matrix with these values, one for each entry of the half.
    pub fn with(&self, values: &DeviceView<'_, f64>) -> Result<Half, GpuError> {
        let what = "values of a symmetric matrix";
        same(what, values.len(), self.pattern.entries())?;
        let (numbers, wide) = self.numbers.place();
        Ok(Half {
            starts: self.pattern.starts.ptr(),
            indices: self.pattern.indices.ptr(),
            elsewhere_starts: self.elsewhere_starts.ptr(),
            elsewhere: self.elsewhere.ptr(),
            numbers: DevicePtr::from_address(numbers),
            values: values.ptr(),
            n: self.pattern.n,
            wide: wide.into(),
        })
    }

    /// Device memory, in bytes, the pattern apart.
    pub fn bytes(&self) -> u64 {
        let lists = self.elsewhere_starts.len() + self.elsewhere.len();
        4 * lists as u64 + self.numbers.bytes()
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
