//! Lists that several threads found.

use rayon::prelude::*;

use crate::memory::zeroed;

/// Fewer numbers are copied by the caller.
const WORTH_THREADS: usize = 1 << 16;

/// The parts one after the other, copied at the same time by the threads of the caller's pool.
pub fn concatenated<L: AsRef<[u32]> + Sync>(parts: &[L]) -> Vec<u32> {
    let len = parts.iter().map(|part| part.as_ref().len()).sum();
    let mut whole = zeroed(len);
    let mut rest = &mut whole[..];
    let mut places = Vec::with_capacity(parts.len());
    for part in parts {
        let (place, after) = std::mem::take(&mut rest).split_at_mut(part.as_ref().len());
        places.push(place);
        rest = after;
    }
    let copy = |(place, part): (&mut [u32], &L)| place.copy_from_slice(part.as_ref());
    // Small analyses start no threads.
    if len <= WORTH_THREADS {
        places.into_iter().zip(parts).for_each(copy);
    } else {
        places.into_par_iter().zip(parts).for_each(copy);
    }
    whole
}
