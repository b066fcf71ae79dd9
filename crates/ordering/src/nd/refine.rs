//! Vertex separators and their refinement.
//!
//! Fiduccia and Mattheyses 1982, for separators as in Hendrickson and Rothberg 1998: a separator
//! vertex moves to one side and pulls its neighbors on the other side into the separator; the best
//! state of a pass is kept. A pass costs the edges of the vertices it touches.

use crate::nd::graph::Weighted;
use crate::nd::heap::GainHeap;

/// `side` of a separator vertex.
pub(crate) const SEPARATOR: u8 = 2;

/// A partition into two sides and a separator; no edge joins the sides.
#[derive(Clone, Debug, Default)]
pub(crate) struct Separation {
    /// 0, 1 or [`SEPARATOR`] for each vertex.
    pub(crate) side: Vec<u8>,
    /// Weight of the two sides and of the separator.
    pub(crate) weight: [u64; 3],
    /// The separator's vertices.
    pub(crate) separator: Vec<u32>,
}

impl Separation {
    /// From sides alone.
    pub(crate) fn new(graph: &Weighted, side: Vec<u8>) -> Self {
        let mut weight = [0; 3];
        let mut separator = Vec::new();
        for (v, &s) in side.iter().enumerate() {
            weight[s as usize] += u64::from(graph.weights[v]);
            if s == SEPARATOR {
                separator.push(v as u32);
            }
        }
        Self {
            side,
            weight,
            separator,
        }
    }

    /// Smaller is better: how far the heavier side is over `limit`, then the separator, then the
    /// difference of the sides.
    pub(crate) fn cost(&self, limit: u64) -> (u64, u64, u64) {
        let [a, b, separator] = self.weight;
        (a.max(b).saturating_sub(limit), separator, a.abs_diff(b))
    }
}

/// One move: `vertex` left the separator and pulled `pulled..` into it.
struct Move {
    vertex: u32,
    pulled: usize,
}

/// Memory of the refinement.
#[derive(Default)]
pub(crate) struct Refiner {
    heap: GainHeap,
    moves: Vec<Move>,
    pulled: Vec<u32>,
}

impl Refiner {
    /// Improves `s` by passes until one brings nothing, at most `passes`.
    pub(crate) fn refine(&mut self, graph: &Weighted, s: &mut Separation, limit: u64, passes: u32) {
        self.heap.reset(graph.n());
        let mut side = u8::from(s.weight[1] < s.weight[0]);
        let mut idle = 0;
        for _ in 0..2 * passes {
            idle = if self.run_pass(graph, s, limit, side) {
                0
            } else {
                idle + 1
            };
            if idle == 2 {
                break;
            }
            side = 1 - side;
        }
    }

    /// One pass of moves to side `to`; whether it improved `s`.
    fn run_pass(&mut self, graph: &Weighted, s: &mut Separation, limit: u64, to: u8) -> bool {
        self.moves.clear();
        self.pulled.clear();
        for &v in &s.separator {
            self.enqueue(graph, &s.side, v, to);
        }
        let start = s.cost(limit);
        let (mut best, mut kept) = (start, 0);
        // Hill climbing pays for a while only: further for larger separators.
        let patience = (s.separator.len() * 2).clamp(50, 400);
        while self.moves.len() < kept + patience {
            let Some((_, vertex)) = self.heap.peek() else {
                break;
            };
            let weight = s.weight[to as usize] + u64::from(graph.weights[vertex as usize]);
            if weight > limit && weight > s.weight[1 - to as usize] {
                break;
            }
            self.apply(graph, s, vertex, to);
            let cost = s.cost(limit);
            if cost < best {
                (best, kept) = (cost, self.moves.len());
            }
        }
        self.undo(graph, s, kept, to);
        self.heap.clear();
        let touched = std::mem::take(&mut self.pulled);
        s.separator.extend(&touched);
        self.pulled = touched;
        // Each vertex once: a vertex may have been pulled in and moved out.
        s.separator.retain(|&v| s.side[v as usize] == SEPARATOR);
        s.separator.sort_unstable();
        s.separator.dedup();
        best < start
    }

    /// Puts separator vertex `v` into the queue: what the separator loses when it moves to `to`.
    fn enqueue(&mut self, graph: &Weighted, side: &[u8], v: u32, to: u8) {
        let mut gain = i64::from(graph.weights[v as usize]);
        for &u in graph.neighbors(v) {
            if side[u as usize] == 1 - to {
                gain -= i64::from(graph.weights[u as usize]);
            }
        }
        self.heap.push(v, gain);
    }

    fn apply(&mut self, graph: &Weighted, s: &mut Separation, v: u32, to: u8) {
        let (t, other) = (to as usize, 1 - to as usize);
        let own = u64::from(graph.weights[v as usize]);
        self.heap.remove(v);
        self.moves.push(Move {
            vertex: v,
            pulled: self.pulled.len(),
        });
        s.side[v as usize] = to;
        s.weight[t] += own;
        s.weight[2] -= own;
        for &u in graph.neighbors(v) {
            if s.side[u as usize] != other as u8 {
                continue;
            }
            let pulled = u64::from(graph.weights[u as usize]);
            s.side[u as usize] = SEPARATOR;
            s.weight[other] -= pulled;
            s.weight[2] += pulled;
            self.pulled.push(u);
            for &w in graph.neighbors(u) {
                // Moving w would no longer pull u.
                self.heap.add(w, pulled as i64);
            }
            self.enqueue(graph, &s.side, u, to);
        }
    }

    /// Takes back all moves but the first `kept`.
    fn undo(&mut self, graph: &Weighted, s: &mut Separation, kept: usize, to: u8) {
        while self.moves.len() > kept {
            let Some(last) = self.moves.pop() else { break };
            let other = 1 - to;
            for &u in &self.pulled[last.pulled..] {
                let weight = u64::from(graph.weights[u as usize]);
                s.side[u as usize] = other;
                s.weight[other as usize] += weight;
                s.weight[2] -= weight;
            }
            self.pulled.truncate(last.pulled);
            let weight = u64::from(graph.weights[last.vertex as usize]);
            s.side[last.vertex as usize] = SEPARATOR;
            s.weight[to as usize] -= weight;
            s.weight[2] += weight;
        }
    }
}
