//! Copies of vectors by several threads: one alone reads and writes at a fraction of the machine's rate.

use tamarack_numeric::Team;

use crate::substitution::Shared;

/// Numbers that are copied by one task.
const PART: usize = 1 << 14;

/// Parts up to which the caller copies them: that takes less than calling others.
const FEW: usize = if cfg!(test) { 1 } else { 8 };

/// `to ← from`, by the threads of a team if there is one.
///
/// # Panics
/// If the lengths differ.
pub fn copy_by(team: Option<&Team>, from: &[f64], to: &mut [f64]) {
    assert_eq!(from.len(), to.len());
    // SAFETY: as long, and nobody else's.
    unsafe { copy_all(team, from, Shared(to.as_mut_ptr())) };
}

/// The same to a vector that is empty and has room: new memory, which is touched by all as well.
///
/// # Panics
/// If there is no room.
pub fn copy_new_by(team: Option<&Team>, from: &[f64], to: &mut Vec<f64>) {
    assert!(to.is_empty() && to.capacity() >= from.len());
    // SAFETY: there is room, and all of it is written before it counts.
    unsafe {
        copy_all(team, from, Shared(to.as_mut_ptr()));
        to.set_len(from.len());
    }
}

/// # Safety
/// `to` has room for all numbers, and they are the caller's alone.
unsafe fn copy_all(team: Option<&Team>, from: &[f64], to: Shared<f64>) {
    let parts = from.len().div_ceil(PART);
    let copy = move |part: usize, len: usize| {
        let begin = part * PART;
        let from = &from[begin..from.len().min(begin + len)];
        // SAFETY: both have this part, and it is this task's alone.
        unsafe {
            to.at(begin)
                .copy_from_nonoverlapping(from.as_ptr(), from.len())
        };
    };
    match team.filter(|_| parts > FEW) {
        Some(team) => team.for_each(parts, |part, _| copy(part, PART)),
        None => copy(0, from.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_numbers_are_copied() {
        let team = Team::new(3);
        for len in [0, 1, PART, PART + 1, 5 * PART + 7] {
            let from: Vec<f64> = (0..len).map(|k| k as f64).collect();
            for team in [None, Some(&team)] {
                let mut to = vec![-1.0; len];
                copy_by(team, &from, &mut to);
                assert_eq!(from, to);
                let mut new = Vec::with_capacity(len);
                copy_new_by(team, &from, &mut new);
                assert_eq!(from, new);
            }
        }
    }
}
