//! The end of the recursion: a piece ordered by constrained AMD.
//!
//! The separator vertices around a piece are its halo: they stay to the end of its elimination,
//! and count in the degrees (Pellegrini, Roman, Amestoy 2000).

use crate::error::OrderingError;
use crate::mindeg::{Amd, AmdOptions, DenseLimits};
use crate::nd::graph::Weighted;
use crate::nd::numbers::Numbers;
use crate::stop::Stop;
use crate::workspace::Workspace;

/// Memory for ordering pieces, one per thread.
#[derive(Default)]
pub(crate) struct LeafSpace {
    ws: Workspace,
    /// Number of each vertex in the piece and its halo.
    local: Numbers,
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
        stop: Stop<'_>,
    ) -> Result<(), OrderingError> {
        self.order_by(graph, piece, stop, &AmdOptions::default())
    }

    /// The same with other options; whatever they say of many neighbors, no vertex is set aside.
    pub(crate) fn order_by(
        &mut self,
        graph: &Weighted,
        piece: &mut [u32],
        stop: Stop<'_>,
        options: &AmdOptions,
    ) -> Result<(), OrderingError> {
        self.vertices.clear();
        self.local.clear(piece.len(), graph.n());
        for &v in piece.iter() {
            self.local.find(v, &mut self.vertices);
        }
        let local = &mut self.local;
        let number = |u, vertices: &mut Vec<u32>| local.find(u, vertices);
        (self.ws.quotient).load_piece(graph, piece, &mut self.vertices, number)?;
        Amd::new(&mut self.ws, piece.len() as u32, options.aggressive)
            .by(options.selection)
            .until(stop)
            .within(options.most_reads)
            .run(DenseLimits::NONE, &mut ())?;
        self.order.clear();
        self.order.resize(self.vertices.len(), 0);
        self.ws
            .quotient
            .elimination_order(&mut self.order, &mut self.ws.scratch)?;
        for (slot, &k) in piece.iter_mut().zip(&self.order) {
            *slot = self.vertices[k as usize];
        }
        Ok(())
    }

    /// Operations that the order found last leads to, where it has all vertices of a graph.
    pub(crate) fn operations(&self) -> f64 {
        self.ws.quotient.operations()
    }
}
