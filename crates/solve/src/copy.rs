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
    let parts = from.len().div_ceil(PART);
    let Some(team) = team.filter(|_| parts > FEW) else {
        return to.copy_from_slice(from);
    };
    let to = Shared(to.as_mut_ptr());
    team.for_each(parts, move |part, _| {
        let begin = part * PART;
        let from = &from[begin..from.len().min(begin + PART)];
        // SAFETY: both have this part, and it is this task's alone.
        let to = unsafe { std::slice::from_raw_parts_mut(to.at(begin), from.len()) };
        to.copy_from_slice(from);
    });
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
            }
        }
    }
}
