//! The end of the recursion: a piece ordered by constrained AMD.
//!
//! The separator vertices around a piece are its halo: they stay to the end of its elimination,
//! and count in the degrees (Pellegrini, Roman, Amestoy 2000).

use std::sync::atomic::AtomicBool;

use crate::error::OrderingError;
use crate::mindeg::{Amd, AmdOptions, NONE};
use crate::nd::graph::Weighted;
use crate::nd::numbers::Numbers;
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
        stop: &AtomicBool,
    ) -> Result<(), OrderingError> {
        self.order_by(graph, piece, stop, &AmdOptions::default())
    }

    /// The same with other options; whatever they say of many neighbors, no vertex is set aside.
    pub(crate) fn order_by(
        &mut self,
        graph: &Weighted,
        piece: &mut [u32],
        stop: &AtomicBool,
        options: &AmdOptions,
    ) -> Result<(), OrderingError> {
        self.vertices.clear();
        self.local.clear(piece.len(), graph.n());
        for &v in piece.iter() {
            self.local.find(v, &mut self.vertices);
        }
        self.load(graph, piece)?;
        Amd::new(&mut self.ws, piece.len() as u32, options.aggressive)
            .by(options.selection)
            .until(stop)
            .within(options.most_reads)
            .run(NONE, &mut ())?;
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

    /// The quotient graph of the piece and its halo; the halo's lists hold the piece's vertices.
    fn load(&mut self, graph: &Weighted, piece: &[u32]) -> Result<(), OrderingError> {
        let q = &mut self.ws.quotient;
        let own = piece.len();
        // The piece's lists come first in the store, one after the other: they are written as their vertices get their numbers.
        let entries = piece.iter().map(|&v| graph.neighbors(v).len()).sum();
        q.make_room(entries)?;
        let (mut at, mut inside) = (0, 0);
        for &v in piece {
            for &u in graph.neighbors(v) {
                let number = self.local.find(u, &mut self.vertices);
                q.store[at] = number;
                at += 1;
                inside += usize::from((number as usize) < own);
            }
        }
        q.reset(self.vertices.len(), 2 * entries - inside)?;
        q.total = 0;
        for (node, &v) in q.nodes.iter_mut().zip(&self.vertices) {
            node.weight = graph.weights[v as usize] as i32;
            q.total += node.weight as u32;
        }
        let mut start = 0;
        for (i, &v) in piece.iter().enumerate() {
            let list = graph.neighbors(v);
            q.nodes[i].len = list.len() as u32;
            for (&number, &u) in q.store[start..].iter().zip(list) {
                q.nodes[i].degree += graph.weights[u as usize];
                if number as usize >= own {
                    q.nodes[number as usize].len += 1;
                }
            }
            start += list.len();
        }
        for node in &mut q.nodes {
            node.start = q.free as u64;
            q.free += node.len as usize;
        }
        // The halo's lists fill up in the order of the piece; `hash` counts.
        for i in 0..own {
            let start = q.nodes[i].start as usize;
            for at in start..start + q.nodes[i].len as usize {
                let number = q.store[at] as usize;
                if number >= own {
                    let outer = &mut q.nodes[number];
                    q.store[outer.start as usize + outer.hash as usize] = i as u32;
                    outer.hash += 1;
                }
            }
        }
        Ok(())
    }
}
