//! A graph that is not connected, cut component by component.
//!
//! A search from the first vertex would end with its component, and levels of nothing would be cuts: of an unknown in front of a torus,
//! or of two tori. Small components, and those that have no thin levels, are ordered as they are.

use rayon::prelude::*;

use super::{Parts, has_thin_levels, level};
use crate::error::OrderingError;
use crate::nd::Components;

impl Parts<'_> {
    /// Orders `list`, which has all vertices, if one of the components is cut; else nothing happens, and the answer is false. What has no
    /// neighbors comes first.
    pub(super) fn order_apart(
        &self,
        components: Components,
        list: &mut [u32],
    ) -> Result<bool, OrderingError> {
        let mut vertices = components.list;
        let mut rest = &mut vertices[components.lone..];
        let mut tasks = Vec::with_capacity(components.parts.len());
        for part in components.parts {
            let (own, behind) = std::mem::take(&mut rest).split_at_mut(part.len);
            rest = behind;
            let cut = match part.is_large && self.may_be_thin(own) {
                true => level::cut(self.graph, &self.marks, own, &self.dissection, 0),
                false => None,
            };
            tasks.push((own, cut));
        }
        if tasks.iter().all(|(_, cut)| cut.is_none()) {
            return Ok(false);
        }
        let tasks = tasks.into_par_iter().with_max_len(1);
        tasks.try_for_each(|(own, cut)| match self.order_cut(own, cut)? {
            true => Ok(()),
            false => self.eliminate(own),
        })?;
        list.copy_from_slice(&vertices);
        Ok(true)
    }

    /// Whether a component may have thin levels.
    fn may_be_thin(&self, component: &[u32]) -> bool {
        let degrees = component.iter().map(|&v| self.graph.neighbors(v).len());
        has_thin_levels(component.len(), degrees.sum())
    }
}
