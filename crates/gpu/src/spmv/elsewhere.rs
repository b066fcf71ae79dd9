//! What rows of a symmetric matrix kept by halves have in other lines; kernels in `spmv/elsewhere.cu`.
//!
//! The transposed pattern with places instead of values, made on the device: entries are sorted by their indices, stably, so that those
//! of a row come in the order of their lines. Cost: a sort of as many pairs as there are entries, by the bits of n, then two bisections
//! for each row and one for each entry.

use super::half::HalfPattern;
use crate::primitives::{RadixSort, kernels, short, too_long};
use crate::{Arg, DeviceBuffer, DevicePtr, Gpu, GpuError, Launch, Program, Stream};

const PROGRAM: Program = Program::at("spmv/elsewhere.cu");
const THREADS: u32 = 256;
/// Most blocks; threads go on with a stride.
const MOST_BLOCKS: u64 = 1 << 14;
/// Entries and rows of the whole matrix together.
const LIMIT: u64 = (1 << 32) - (1 << 16);
/// What has so many.
const WHAT: &str = "rows and entries of a symmetric matrix";
/// Longest line whose entries have numbers of 2 bytes.
const LONGEST_SHORT: u32 = 1 << 16;

/// Memory for so many words that is needed until the stream has done what was enqueued.
pub type Scratch<'a> = dyn FnMut(usize) -> Result<DeviceBuffer<u32>, GpuError> + 'a;

/// The entries of rows in other lines, by rows and ascending.
pub(super) struct Elsewhere {
    /// Where each row's begin, and at the end how many there are.
    pub starts: DeviceBuffer<u32>,
    /// Line of each.
    pub lines: DeviceBuffer<u32>,
    /// Its number in that line.
    pub numbers: Numbers,
    /// Most entries of a row, those of its own line among them.
    pub most_entries: u32,
}

/// Numbers of entries within their lines.
pub(super) enum Numbers {
    Short(DeviceBuffer<u16>),
    Long(DeviceBuffer<u32>),
}

impl Numbers {
    /// Where they begin, and whether they take 4 bytes each.
    pub fn place(&self) -> (u64, bool) {
        match self {
            Self::Short(numbers) => (numbers.ptr().address(), false),
            Self::Long(numbers) => (numbers.ptr().address(), true),
        }
    }
}

impl Elsewhere {
    /// Of a pattern; waits for it. Takes 16 bytes of `scratch` for each entry, and some more.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for 2^30 entries or more, or where entries of the whole matrix and rows pass 2^32 - 2^16;
    /// [`GpuError::OutOfMemory`]; as [`Gpu::load`].
    pub fn new(
        gpu: &Gpu,
        stream: &Stream,
        pattern: &HalfPattern,
        scratch: &mut Scratch<'_>,
    ) -> Result<Self, GpuError> {
        let m = short(WHAT, pattern.entries(), HalfPattern::MOST_BY_ROWS)?;
        let all = 2 * u64::from(m) + u64::from(pattern.n);
        if all > LIMIT {
            return Err(too_long(WHAT, all, LIMIT));
        }
        let (keys, entries) = sorted(gpu, stream, pattern, scratch)?;
        let (starts, most_entries) = starts(gpu, stream, pattern, &keys, scratch)?;
        let n = pattern.n as usize;
        let count = stream.to_host(starts.view().slice(n..)?)?[0];
        let lines = gpu.alloc_list(count as usize)?;
        let place = |numbers: u64, name| {
            let [kernel] = kernels(gpu, &PROGRAM, [name])?;
            let (line_starts, _) = pattern.lines();
            let args: [&dyn Arg; 6] = [
                &line_starts,
                &entries.ptr(),
                &lines.ptr(),
                &DevicePtr::<u8>::from_address(numbers),
                &pattern.n,
                &count,
            ];
            // SAFETY: the arguments of the kernel; the first `count` entries are those off the diagonal, and lines and numbers as many.
            unsafe { kernel.launch(stream, grid(count.into()), &args) }
        };
        let numbers = if pattern.longest <= LONGEST_SHORT {
            let numbers = gpu.alloc_list(count as usize)?;
            place(numbers.ptr().address(), "elsewhere_place_u16")?;
            Numbers::Short(numbers)
        } else {
            let numbers = gpu.alloc_list(count as usize)?;
            place(numbers.ptr().address(), "elsewhere_place_u32")?;
            Numbers::Long(numbers)
        };
        stream.synchronize()?; // scratch is free again
        Ok(Self {
            starts,
            lines,
            numbers,
            most_entries,
        })
    }
}

/// The entries by rows, those on the diagonal at the end, and what they were sorted by.
fn sorted(
    gpu: &Gpu,
    stream: &Stream,
    pattern: &HalfPattern,
    scratch: &mut Scratch<'_>,
) -> Result<(DeviceBuffer<u32>, DeviceBuffer<u32>), GpuError> {
    let [kernel] = kernels(gpu, &PROGRAM, ["elsewhere_keys"])?;
    let (n, m, lanes) = (pattern.n, pattern.entries(), pattern.lanes());
    let (mut keys, mut entries) = (scratch(m)?, scratch(m)?);
    let (starts, indices) = pattern.lines();
    let args: [&dyn Arg; 6] = [&starts, &indices, &keys.ptr(), &entries.ptr(), &n, &lanes];
    // SAFETY: the arguments of the kernel; the pattern was checked, and keys and entries are as many as it has entries.
    unsafe { kernel.launch(stream, grid(u64::from(n) << lanes), &args)? };
    let sort = RadixSort::new(gpu)?;
    let mut work = sort.workspace_from(m, scratch)?;
    let bits = u32::BITS - n.leading_zeros();
    sort.run(stream, &mut work, 0..bits, &mut keys, &mut entries)?;
    Ok((keys, entries))
}

/// Where each row begins among the sorted keys, and most entries of a row.
fn starts(
    gpu: &Gpu,
    stream: &Stream,
    pattern: &HalfPattern,
    keys: &DeviceBuffer<u32>,
    scratch: &mut Scratch<'_>,
) -> Result<(DeviceBuffer<u32>, u32), GpuError> {
    let [kernel] = kernels(gpu, &PROGRAM, ["elsewhere_starts"])?;
    let (n, m) = (pattern.n, keys.len() as u32); // below 2^30
    let starts = gpu.alloc_list(n as usize + 1)?;
    let mut longest = scratch(1)?;
    stream.fill_bytes(&mut longest, 0)?;
    let (lines, _) = pattern.lines();
    let args: [&dyn Arg; 6] = [&lines, &keys.ptr(), &starts.ptr(), &longest.ptr(), &n, &m];
    // SAFETY: the arguments of the kernel; there is a start for each row, and one more.
    unsafe { kernel.launch(stream, grid(u64::from(n) + 1), &args)? };
    Ok((starts, stream.to_host(&longest)?[0]))
}

/// So many threads, or fewer that go on with a stride.
fn grid(threads: u64) -> Launch {
    let blocks = threads.div_ceil(THREADS.into()).min(MOST_BLOCKS);
    Launch::new(blocks as u32, THREADS)
}

#[cfg(test)]
mod tests {
    use super::{Elsewhere, Numbers};
    use crate::spmv::HalfPattern;
    use crate::spmv::symmetric_ell::elsewhere;
    use crate::testing;

    /// Lines of columns: some are empty, some lack their diagonal entry, in either half.
    fn pattern(n: u32, most: u32, lower: bool) -> (Vec<u64>, Vec<u32>) {
        let (mut starts, mut indices) = (vec![0], Vec::new());
        for j in 0..n {
            let mut line: Vec<u32> = (0..(j * 7 + 3) % (most + 1))
                .map(|k| (j * 31 + k * k * 17 + k) % n)
                .filter(|&i| i == j || (i > j) == lower)
                .collect();
            line.sort_unstable();
            line.dedup();
            indices.extend(line);
            starts.push(indices.len() as u64);
        }
        (starts, indices)
    }

    #[test]
    fn lists_are_those_of_the_host() {
        let Some(gpu) = testing::gpu() else { return };
        let stream = gpu.stream().unwrap();
        let long = 70_001; // numbers within the first line pass 2^16
        let arrow = ((0..=long).map(|j| j.min(1) * long), 0..long as u32);
        let mut patterns = vec![
            (vec![0], vec![]),
            (vec![0, 1], vec![0]),
            (vec![0; 6], vec![]),
            (arrow.0.collect(), arrow.1.collect()),
        ];
        for (n, most) in [
            (1, 3),
            (2, 4),
            (255, 9),
            (256, 40),
            (1009, 300),
            (40_000, 30),
        ] {
            patterns.extend([pattern(n, most, true), pattern(n, most, false)]);
        }
        for (starts, indices) in patterns {
            let half = HalfPattern::new(gpu, &starts, &indices).unwrap();
            let found = Elsewhere::new(gpu, &stream, &half, &mut |len| gpu.alloc(len)).unwrap();
            let (want_starts, want_lines, want_numbers) = elsewhere(&starts, &indices);
            let n = half.n();
            assert_eq!(stream.to_host(&found.starts).unwrap(), want_starts, "{n}");
            assert_eq!(stream.to_host(&found.lines).unwrap(), want_lines, "{n}");
            let numbers = match &found.numbers {
                Numbers::Short(numbers) => {
                    let numbers = stream.to_host(numbers).unwrap();
                    numbers.into_iter().map(u32::from).collect()
                }
                Numbers::Long(numbers) => stream.to_host(numbers).unwrap(),
            };
            assert_eq!(numbers, want_numbers, "{n}");
            assert_eq!(found.numbers.place().1, n == long as u32, "{n}");
            let own = starts.windows(2).zip(want_starts.windows(2));
            let most = own.map(|(own, others)| (own[1] - own[0]) as u32 + others[1] - others[0]);
            assert_eq!(found.most_entries, most.max().unwrap_or(0), "{n}");
        }
    }
}
