//! What users know of their problem that an ordering can go by.

use std::sync::Arc;

use crate::error::OrderingError;

/// No node: the parent of a root.
pub(crate) const NO_NODE: u32 = u32::MAX;

/// Where each unknown is in space.
///
/// ```
/// use tamarack_ordering::{Coordinates, Method};
///
/// // Two nodes of a plane mesh, each with two displacements.
/// let nodes = [[0.0, 0.5], [1.0, 0.5]];
/// let method = Method::Coordinates(Coordinates::from_points(&nodes, 2)?);
/// assert_eq!(method.name(), "coordinates");
/// # Ok::<(), tamarack_ordering::OrderingError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Coordinates {
    points: usize,
    /// All first coordinates, then all second ones, length `points * dimensions`.
    columns: Arc<[f64]>,
}

impl Coordinates {
    /// From columns: the first coordinates of all unknowns, then the second ones; length a multiple of
    /// `unknowns`.
    ///
    /// # Errors
    /// [`OrderingError::Guide`] for another length, [`OrderingError::NotFinite`] for a number that is not finite.
    pub fn from_columns(
        unknowns: usize,
        columns: impl Into<Arc<[f64]>>,
    ) -> Result<Self, OrderingError> {
        let columns = columns.into();
        let dimensions = columns.len() / unknowns.max(1);
        if dimensions * unknowns != columns.len() || dimensions == 0 && unknowns > 0 {
            return Err(OrderingError::Guide {
                what: "coordinates",
                found: columns.len() as u64,
                expected: unknowns.saturating_mul(dimensions.max(1)) as u64,
            });
        }
        if let Some(k) = columns.iter().position(|x| !x.is_finite()) {
            return Err(OrderingError::NotFinite {
                unknown: (k % unknowns) as u64,
                axis: (k / unknowns) as u32,
            });
        }
        Ok(Self {
            points: unknowns,
            columns,
        })
    }

    /// From points, each of which has so many unknowns, one after the other: 3 for displacements of a solid.
    ///
    /// # Errors
    /// As [`from_columns`](Self::from_columns), and [`OrderingError::TooLarge`] for more unknowns than an ordering can have.
    pub fn from_points<const D: usize>(
        points: &[[f64; D]],
        unknowns_per_point: usize,
    ) -> Result<Self, OrderingError> {
        let (n, limit) = (points.len() as u64, crate::mindeg::MAX_ORDER as u64);
        let n = n.saturating_mul(unknowns_per_point as u64);
        if n > limit {
            return Err(OrderingError::TooLarge { n, limit });
        }
        let axis = |d: usize| {
            let values = points.iter().map(move |p| p[d]);
            values.flat_map(|x| std::iter::repeat_n(x, unknowns_per_point))
        };
        let columns: Vec<f64> = (0..D).flat_map(axis).collect();
        Self::from_columns(points.len() * unknowns_per_point, columns)
    }

    /// Number of unknowns.
    #[must_use]
    pub fn len(&self) -> usize {
        self.points
    }

    /// Whether there are no unknowns.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.points == 0
    }

    /// The coordinates of one unknown.
    pub(crate) fn of(&self, unknown: u32) -> impl Iterator<Item = f64> + '_ {
        let from = self.columns.iter().skip(unknown as usize);
        from.step_by(self.points.max(1)).copied()
    }

    pub(crate) fn dimensions(&self) -> usize {
        self.columns.len() / self.points.max(1)
    }
}

/// A tree of separators and pieces, such as a mesh partitioner makes: all unknowns of a node are eliminated
/// behind those of the nodes below it. No entry of the matrix may join two nodes of which neither is above the
/// other.
///
/// ```
/// use tamarack_ordering::{Method, PartitionTree};
///
/// // A chain of five unknowns, cut at its middle: node 1 is the separator, 2 and 3 are what it leaves.
/// let tree = PartitionTree::binary(&[2, 2, 1, 3, 3])?;
/// assert_eq!(Method::PartitionTree(tree).name(), "tree");
/// # Ok::<(), tamarack_ordering::OrderingError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionTree {
    /// Parent of each node, [`NO_NODE`] for roots; a node's number is above its children's.
    pub(crate) parent: Arc<[u32]>,
    /// Node of each unknown.
    pub(crate) node_of: Arc<[u32]>,
}

impl PartitionTree {
    /// `node_of[i]` is the node of unknown `i`; `parent[t]` is the parent of node `t`, `None` for a root.
    ///
    /// # Errors
    /// [`OrderingError::Node`] for a node that does not exist or is above itself.
    pub fn new(parent: &[Option<u32>], node_of: &[u32]) -> Result<Self, OrderingError> {
        let nodes = parent.len();
        let exists = |t: u32| (t as usize) < nodes;
        let strange = parent
            .iter()
            .flatten()
            .chain(node_of)
            .find(|&&t| !exists(t));
        if let Some(&node) = strange {
            return Err(OrderingError::Node { node });
        }
        let number = numbers_upwards(parent)?;
        let mut renumbered = vec![NO_NODE; nodes];
        for (t, up) in parent.iter().enumerate() {
            if let Some(up) = up {
                renumbered[number[t] as usize] = number[*up as usize];
            }
        }
        Ok(Self {
            parent: renumbered.into(),
            node_of: node_of.iter().map(|&t| number[t as usize]).collect(),
        })
    }

    /// A binary tree: node 1 is the root, node `t` has the children `2t` and `2t + 1`.
    ///
    /// # Errors
    /// [`OrderingError::Node`] for node 0.
    pub fn binary(node_of: &[u32]) -> Result<Self, OrderingError> {
        if node_of.contains(&0) {
            return Err(OrderingError::Node { node: 0 });
        }
        // The nodes that occur and all above them; there may be gaps.
        let mut nodes = node_of.to_vec();
        nodes.sort_unstable();
        nodes.dedup();
        let mut row = nodes.clone();
        while row.iter().any(|&t| t > 1) {
            row.iter_mut().for_each(|t| *t = (*t / 2).max(1));
            row.dedup();
            nodes.extend_from_slice(&row);
        }
        nodes.sort_unstable();
        nodes.dedup();
        let number = |t: u32| nodes.partition_point(|&u| u < t) as u32;
        let parent: Vec<Option<u32>> = nodes
            .iter()
            .map(|&t| (t > 1).then(|| number(t / 2)))
            .collect();
        let node_of: Vec<u32> = node_of.iter().map(|&t| number(t)).collect();
        Self::new(&parent, &node_of)
    }

    /// Number of unknowns.
    #[must_use]
    pub fn len(&self) -> usize {
        self.node_of.len()
    }

    /// Whether there are no unknowns.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.node_of.is_empty()
    }
}

/// Numbers nodes such that every node comes behind those below it.
fn numbers_upwards(parent: &[Option<u32>]) -> Result<Vec<u32>, OrderingError> {
    let mut below = vec![0u32; parent.len()];
    for &up in parent.iter().flatten() {
        below[up as usize] += 1;
    }
    let mut ready: Vec<u32> = (0..parent.len() as u32)
        .filter(|&t| below[t as usize] == 0)
        .collect();
    let mut number = vec![NO_NODE; parent.len()];
    let mut next = 0;
    while let Some(&t) = ready.get(next) {
        number[t as usize] = next as u32;
        next += 1;
        if let Some(up) = parent[t as usize] {
            below[up as usize] -= 1;
            if below[up as usize] == 0 {
                ready.push(up);
            }
        }
    }
    match number.iter().position(|&k| k == NO_NODE) {
        Some(node) => Err(OrderingError::Node { node: node as u32 }),
        None => Ok(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_repeated_for_their_unknowns() {
        let c = Coordinates::from_points(&[[0.0, 1.0], [2.0, 3.0]], 2).unwrap();
        assert_eq!((c.len(), c.dimensions(), c.is_empty()), (4, 2, false));
        assert_eq!(c.of(1).collect::<Vec<_>>(), [0.0, 1.0]);
        assert_eq!(c.of(2).collect::<Vec<_>>(), [2.0, 3.0]);
    }

    #[test]
    fn strange_coordinates_are_errors() {
        let many = Coordinates::from_points(&[[0.0]], usize::MAX);
        assert!(matches!(many, Err(OrderingError::TooLarge { .. })));
        let error = Coordinates::from_columns(3, vec![0.0; 4]).unwrap_err();
        assert!(error.to_string().contains("4"), "{error}");
        let error = Coordinates::from_columns(2, vec![0.0, 1.0, f64::NAN, 0.0]).unwrap_err();
        let (unknown, axis) = (0, 1);
        assert_eq!(error, OrderingError::NotFinite { unknown, axis });
        assert!(Coordinates::from_columns(0, vec![]).unwrap().is_empty());
        assert!(Coordinates::from_columns(2, vec![]).is_err());
    }

    #[test]
    fn nodes_stand_behind_those_below() {
        let tree = PartitionTree::binary(&[4, 5, 2, 1, 3, 4]).unwrap();
        for (t, &up) in tree.parent.iter().enumerate() {
            assert!(up == NO_NODE || up as usize > t);
        }
        let up = |i: usize| tree.parent[tree.node_of[i] as usize];
        assert_eq!((up(0), up(1)), (tree.node_of[2], tree.node_of[2]));
        assert_eq!(
            (up(2), up(4), up(3)),
            (tree.node_of[3], tree.node_of[3], NO_NODE)
        );
        assert_eq!(tree.len(), 6);
    }

    #[test]
    fn gaps_are_filled_and_large_numbers_cost_nothing() {
        let tree = PartitionTree::binary(&[u32::MAX, 1 << 31]).unwrap();
        assert!(tree.parent.len() <= 64);
        assert_eq!(tree.parent.iter().filter(|&&up| up == NO_NODE).count(), 1);
    }

    #[test]
    fn strange_trees_are_errors() {
        let node = |e: Result<PartitionTree, OrderingError>| match e.unwrap_err() {
            OrderingError::Node { node } => node,
            other => panic!("{other}"),
        };
        assert_eq!(node(PartitionTree::binary(&[1, 0])), 0);
        assert_eq!(node(PartitionTree::new(&[None], &[0, 7])), 7);
        assert_eq!(node(PartitionTree::new(&[Some(3)], &[0])), 3);
        assert_eq!(node(PartitionTree::new(&[None, Some(2), Some(1)], &[0])), 1);
        assert!(PartitionTree::new(&[], &[]).unwrap().is_empty());
    }
}
