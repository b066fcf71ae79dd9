//! Lists that several threads found.

use rayon::prelude::*;

use crate::memory::zeroed;

/// The parts one after the other, copied at the same time by the threads of the caller's pool.
pub fn concatenated<L: AsRef<[u32]> + Sync>(parts: &[L]) -> Vec<u32> {
    let mut whole = zeroed(parts.iter().map(|part| part.as_ref().len()).sum());
    let mut rest = &mut whole[..];
    let mut places = Vec::with_capacity(parts.len());
    for part in parts {
        let (place, after) = std::mem::take(&mut rest).split_at_mut(part.as_ref().len());
        places.push(place);
        rest = after;
    }
    let pairs = places.into_par_iter().zip(parts);
    pairs.for_each(|(place, part)| place.copy_from_slice(part.as_ref()));
    whole
}
