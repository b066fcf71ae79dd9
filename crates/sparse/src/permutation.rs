//! Permutations between user order and elimination order.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::memory::zeroed;
use crate::{ElimIdx, IndexLike, UserIdx};

/// Lists of so many items are worth several threads.
const LARGE: usize = 1 << 18;

/// Items that a thread takes at a time, at least.
const CHUNK: usize = 1 << 14;

/// A permutation of the unknowns, with its inverse.
///
/// `user(k)` is the unknown eliminated at step `k`; `elim(i)` is the step at which unknown `i` is
/// eliminated. The permuted matrix is `(P A Pᵀ)[k, l] = A[user(k), user(l)]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<u32>", into = "Vec<u32>")]
pub struct Permutation {
    to_user: Vec<u32>,
    to_elim: Vec<u32>,
}

/// Why a list is not a permutation of `0..n`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PermutationError {
    /// The list has the wrong number of items.
    #[error("the permutation has {found} items, the matrix has order {expected}")]
    Length {
        /// Items in the list.
        found: usize,
        /// Order of the matrix.
        expected: usize,
    },
    /// An item is negative or at least `n`.
    #[error("item {position} of the permutation is outside 0..{n}")]
    OutOfRange {
        /// Position in the list, from 0.
        position: usize,
        /// Length of the list.
        n: usize,
    },
    /// An item occurs twice.
    #[error("item {position} of the permutation, {index}, occurs before")]
    Repeated {
        /// Position of the second occurrence, from 0.
        position: usize,
        /// The item.
        index: u32,
    },
}

impl Permutation {
    /// The identity of length `n`.
    pub fn identity(n: usize) -> Self {
        let to_user: Vec<u32> = (0..n as u32).collect();
        Self {
            to_elim: to_user.clone(),
            to_user,
        }
    }

    /// From the list of user indices in order of elimination (indices from 0, length n).
    ///
    /// # Errors
    /// [`PermutationError`] for an index that is out of range or comes twice.
    pub fn from_elimination_order<I: IndexLike>(order: &[I]) -> Result<Self, PermutationError> {
        let n = order.len();
        // Whoever is in no pool would start one with the question how many threads there are.
        if n >= LARGE
            && rayon::current_thread_index().is_some()
            && rayon::current_num_threads() > 1
            && let Some(found) = Self::by_all_threads(order)
        {
            return Ok(found);
        }
        let (mut to_elim, mut to_user) = (vec![u32::MAX; n], vec![0; n]);
        for ((position, index), user) in order.iter().enumerate().zip(&mut to_user) {
            let index = match index.to_index() {
                Some(i) if i < n as u64 && i < u64::from(u32::MAX) => i as u32,
                _ => return Err(PermutationError::OutOfRange { position, n }),
            };
            if to_elim[index as usize] != u32::MAX {
                return Err(PermutationError::Repeated { position, index });
            }
            to_elim[index as usize] = position as u32;
            *user = index;
        }
        Ok(Self { to_user, to_elim })
    }

    /// The same at many places at the same time; none where the list is no permutation: which item is wrong is another question.
    fn by_all_threads<I: IndexLike>(order: &[I]) -> Option<Self> {
        let n = order.len();
        // Steps from 1 on, so that zeros are unknowns without one.
        let steps: Vec<AtomicU32> = zeroed::<u32>(n).into_iter().map(AtomicU32::new).collect();
        let items = order.par_iter().enumerate().with_min_len(CHUNK);
        let right = items.all(|(step, index)| {
            let unknown = index.to_index().filter(|&i| i < n as u64);
            unknown.is_some_and(|i| steps[i as usize].swap(step as u32 + 1, Relaxed) == 0)
        });
        if !right || n >= u32::MAX as usize {
            return None;
        }
        let mut to_elim: Vec<u32> = steps.into_iter().map(AtomicU32::into_inner).collect();
        to_elim.par_chunks_mut(CHUNK).for_each(|steps| {
            steps.iter_mut().for_each(|step| *step -= 1);
        });
        // From what was checked: indices of others' types may say something else when they are asked again.
        let to_user: Vec<AtomicU32> = zeroed::<u32>(n).into_iter().map(AtomicU32::new).collect();
        let places = to_elim.par_iter().enumerate().with_min_len(CHUNK);
        places.for_each(|(unknown, &step)| to_user[step as usize].store(unknown as u32, Relaxed));
        let to_user = to_user.into_iter().map(AtomicU32::into_inner).collect();
        Some(Self { to_user, to_elim })
    }

    /// Number of unknowns.
    pub fn len(&self) -> usize {
        self.to_user.len()
    }

    /// Whether there are no unknowns.
    pub fn is_empty(&self) -> bool {
        self.to_user.is_empty()
    }

    /// The unknown eliminated at a step.
    pub fn user(&self, k: ElimIdx) -> UserIdx {
        UserIdx(self.to_user[k.get()])
    }

    /// The step at which an unknown is eliminated.
    pub fn elim(&self, i: UserIdx) -> ElimIdx {
        ElimIdx(self.to_elim[i.get()])
    }

    /// User indices in order of elimination, length n.
    pub fn user_of_elim(&self) -> &[u32] {
        &self.to_user
    }

    /// Elimination positions in user order, length n.
    pub fn elim_of_user(&self) -> &[u32] {
        &self.to_elim
    }

    /// Reorders the elimination: step `k` of the result eliminates what was step `order[k]`.
    ///
    /// # Errors
    /// [`PermutationError::Length`].
    pub fn then(&self, order: &Permutation) -> Result<Self, PermutationError> {
        if order.len() != self.len() {
            return Err(PermutationError::Length {
                found: order.len(),
                expected: self.len(),
            });
        }
        let to_user: Vec<u32> = order
            .to_user
            .iter()
            .map(|&k| self.to_user[k as usize])
            .collect();
        Self::from_elimination_order(&to_user)
    }
}

impl TryFrom<Vec<u32>> for Permutation {
    type Error = PermutationError;
    fn try_from(order: Vec<u32>) -> Result<Self, PermutationError> {
        Self::from_elimination_order(&order)
    }
}

impl From<Permutation> for Vec<u32> {
    fn from(p: Permutation) -> Self {
        p.to_user
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_agree() {
        let p = Permutation::from_elimination_order(&[2usize, 0, 1]).unwrap();
        assert_eq!(p.user(ElimIdx(0)), UserIdx(2));
        assert_eq!(p.elim(UserIdx(2)), ElimIdx(0));
        let q = p
            .then(&Permutation::from_elimination_order(&[1usize, 2, 0]).unwrap())
            .unwrap();
        assert_eq!(q.user_of_elim(), &[0, 1, 2]);
    }

    #[test]
    fn long_lists_are_read_by_all_threads() {
        let n = LARGE as u32 + 77;
        let mut order: Vec<u32> = (0..n).rev().collect();
        let found = Permutation::by_all_threads(&order).unwrap();
        assert_eq!(found.user_of_elim(), order);
        assert_eq!(found.elim_of_user(), order);
        // An item that occurs twice, or is outside.
        for wrong in [order[7], n] {
            order[LARGE] = wrong;
            assert_eq!(Permutation::by_all_threads(&order), None);
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(2)
                .build()
                .unwrap();
            let read = || Permutation::from_elimination_order(&order).unwrap_err();
            let error = read();
            assert_eq!(pool.install(read), error);
            let position = LARGE;
            let index = wrong;
            let expected = match wrong {
                outside if outside == n => PermutationError::OutOfRange {
                    position,
                    n: n as usize,
                },
                _ => PermutationError::Repeated { position, index },
            };
            assert_eq!(error, expected);
        }
    }

    #[test]
    fn rejects_what_is_no_permutation() {
        use PermutationError as E;
        let bad = |o: &[i64]| Permutation::from_elimination_order(o).unwrap_err();
        assert_eq!(bad(&[0, 2]), E::OutOfRange { position: 1, n: 2 });
        assert_eq!(bad(&[-1]), E::OutOfRange { position: 0, n: 1 });
        assert_eq!(
            bad(&[1, 1]),
            E::Repeated {
                position: 1,
                index: 1
            }
        );
    }
}
