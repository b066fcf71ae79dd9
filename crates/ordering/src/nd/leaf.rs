//! The end of the recursion: a piece ordered by constrained AMD.
//!
//! The separator vertices around a piece are its halo: they stay to the end of its elimination,
//! and count in the degrees (Pellegrini, Roman, Amestoy 2000).

use std::sync::atomic::AtomicBool;

use crate::error::OrderingError;
use crate::mindeg::{Amd, NONE};
use crate::nd::graph::Weighted;
use crate::workspace::Workspace;

/// Memory for ordering pieces, one per thread.
#[derive(Default)]
pub(crate) struct LeafSpace {
    ws: Workspace,
    /// Number of each vertex in the piece and its halo, or `NONE`; length n.
    local: Vec<u32>,
    /// The piece, then its halo.
    vertices: Vec<u32>,
    order: Vec<u32>,
}

impl LeafSpace {
    /// Orders the vertices in `piece` (vertices of `graph`) in place, unless `stop` becomes true.
    pub(crate) fn order(
        &mut self,
        graph: &Weighted,
        piece: &mut [u32],
        stop: &AtomicBool,
    ) -> Result<(), OrderingError> {
        self.local.resize(graph.n(), NONE);
        self.vertices.clear();
        self.vertices.extend_from_slice(piece);
        for (k, &v) in piece.iter().enumerate() {
            self.local[v as usize] = k as u32;
        }
        let mut inside = 0;
        let mut entries = 0;
        for &v in piece.iter() {
            for &u in graph.neighbors(v) {
                entries += 1;
                let local = &mut self.local[u as usize];
                if *local == NONE {
                    *local = self.vertices.len() as u32;
                    self.vertices.push(u);
                }
                inside += usize::from((*local as usize) < piece.len());
            }
        }
        self.load(graph, piece.len(), 2 * entries - inside)?;
        for &v in &self.vertices {
            self.local[v as usize] = NONE;
        }
        let elimination = Amd::new(&mut self.ws, piece.len() as u32, true);
        elimination.until(stop).run(NONE, &mut ())?;
        self.order.clear();
        self.order.resize(self.vertices.len(), 0);
        let [first, owner] = &mut self.ws.scratch;
        self.ws
            .quotient
            .elimination_order(&mut self.order, first, owner)?;
        for (slot, &k) in piece.iter_mut().zip(&self.order) {
            *slot = self.vertices[k as usize];
        }
        Ok(())
    }

    /// The quotient graph of the piece and its halo; the halo's lists hold the piece's vertices.
    fn load(
        &mut self,
        graph: &Weighted,
        piece: usize,
        entries: usize,
    ) -> Result<(), OrderingError> {
        let q = &mut self.ws.quotient;
        q.reset(self.vertices.len(), entries)?;
        let (inner, halo) = self.vertices.split_at(piece);
        q.total = 0;
        for (node, &v) in q.nodes.iter_mut().zip(&self.vertices) {
            node.weight = graph.weights[v as usize] as i32;
            q.total += node.weight as u32;
        }
        for (i, &v) in inner.iter().enumerate() {
            q.nodes[i].len = graph.neighbors(v).len() as u32;
            for &u in graph.neighbors(v) {
                let local = self.local[u as usize] as usize;
                q.nodes[i].degree += graph.weights[u as usize];
                if local >= piece {
                    q.nodes[local].len += 1;
                }
            }
        }
        for node in &mut q.nodes {
            node.start = q.free as u64;
            q.free += node.len as usize;
        }
        // The halo's lists fill up in the order of the piece; `hash` counts.
        for (i, &v) in inner.iter().enumerate() {
            let start = q.nodes[i].start as usize;
            for (at, &u) in (start..).zip(graph.neighbors(v)) {
                let local = self.local[u as usize];
                q.store[at] = local;
                if local as usize >= piece {
                    let outer = &mut q.nodes[local as usize];
                    q.store[outer.start as usize + outer.hash as usize] = i as u32;
                    outer.hash += 1;
                }
            }
        }
        debug_assert_eq!(q.nodes.len(), piece + halo.len());
        Ok(())
    }
}
