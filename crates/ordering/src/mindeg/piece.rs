//! The quotient graph of a piece of a graph.

use crate::error::OrderingError;
use crate::mindeg::QuotientGraph;
use crate::nd::Weighted;

impl QuotientGraph {
    /// The quotient graph of a piece and of the vertices beside it, its halo, whose lists hold the piece's vertices only. `vertices` begins with the
    /// piece; `number` finds the number of a vertex there, and puts those of the halo behind as they come.
    pub(crate) fn load_piece(
        &mut self,
        graph: &Weighted,
        piece: &[u32],
        vertices: &mut Vec<u32>,
        mut number: impl FnMut(u32, &mut Vec<u32>) -> u32,
    ) -> Result<(), OrderingError> {
        let own = piece.len();
        // The piece's lists come first in the store, one after the other: they are written as their vertices get their numbers.
        let entries = piece.iter().map(|&v| graph.neighbors(v).len()).sum();
        self.make_room(entries)?;
        let (mut at, mut inside) = (0, 0);
        for &v in piece {
            for &u in graph.neighbors(v) {
                let number = number(u, vertices);
                self.store[at] = number;
                at += 1;
                inside += usize::from((number as usize) < own);
            }
        }
        self.reset(vertices.len(), 2 * entries - inside)?;
        self.total = 0;
        for (node, &v) in self.nodes.iter_mut().zip(&*vertices) {
            node.weight = graph.weights[v as usize] as i32;
            self.total += node.weight as u32;
        }
        let mut start = 0;
        for (i, &v) in piece.iter().enumerate() {
            let list = graph.neighbors(v);
            self.nodes[i].len = list.len() as u32;
            for (&number, &u) in self.store[start..].iter().zip(list) {
                self.nodes[i].degree += graph.weights[u as usize];
                if number as usize >= own {
                    self.nodes[number as usize].len += 1;
                }
            }
            start += list.len();
        }
        for node in &mut self.nodes {
            node.start = self.free as u64;
            self.free += node.len as usize;
        }
        self.load_halo(own);
        Ok(())
    }

    /// Fills the halo's lists in the order of the piece, whose lists are there; `hash` counts.
    fn load_halo(&mut self, own: usize) {
        for i in 0..own {
            let start = self.nodes[i].start as usize;
            for at in start..start + self.nodes[i].len as usize {
                let number = self.store[at] as usize;
                if number >= own {
                    let outer = &mut self.nodes[number];
                    self.store[outer.start as usize + outer.hash as usize] = i as u32;
                    outer.hash += 1;
                }
            }
        }
    }
}
