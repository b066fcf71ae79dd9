//! Room for right-hand sides: a user may ask for more of them than there is memory for.

use tamarack::{Bytes, available_memory_bytes};

use crate::failure::Failure;

/// An empty list with room for so many vectors of length `n`.
pub fn for_vectors(n: usize, count: usize) -> Result<Vec<f64>, Failure> {
    let mut list = Vec::new();
    let len = n.checked_mul(count);
    match len.map(|len| list.try_reserve_exact(len)) {
        Some(Ok(())) => Ok(list),
        _ => {
            let taken = Bytes(bytes(n, count));
            let message = format!("{count} right-hand sides take {taken}, which are not granted");
            Err(Failure::resources(message))
        }
    }
}

/// Fails where so many vectors of length `n` are more than there is memory: systems may grant it all the same, and end the program
/// when it is used.
pub fn check(n: usize, count: usize) -> Result<(), Failure> {
    let needed = bytes(n, count);
    match available_memory_bytes() {
        Some(free) if needed > free => Err(Failure::resources(format!(
            "{count} right-hand sides take {} and {} are available",
            Bytes(needed),
            Bytes(free)
        ))),
        _ => Ok(()),
    }
}

fn bytes(n: usize, count: usize) -> u64 {
    let values = (n as u64).saturating_mul(count as u64);
    values.saturating_mul(size_of::<f64>() as u64)
}
