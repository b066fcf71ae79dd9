//! Vertex separators and their refinement.
//!
//! Fiduccia and Mattheyses 1982, for separators as in Hendrickson and Rothberg 1998: a separator
//! vertex moves to one side and pulls its neighbors on the other side into the separator; the best
//! state of a pass is kept. A pass costs the edges of the vertices it touches.

use crate::nd::board::{Board, SEPARATOR};
use crate::nd::graph::Weighted;
use crate::nd::heap::GainHeap;

/// What makes one separation better than another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Goal {
    /// Largest weight of a side.
    pub(crate) limit: u64,
    /// Price of imbalance: a separator of the same cost may be larger by the factor
    /// `1 + price · ((a - b) / (a + b))²`.
    pub(crate) price: f64,
    pub(crate) worse: f64,
    pub(crate) slack: f64,
    pub(crate) pat: (usize, usize, usize, usize),
}

impl Goal {
    /// Smaller is better. What goes over the limit counts as separator many times over.
    pub(crate) fn cost(&self, weight: &[u64; 3]) -> f64 {
        let [a, b, separator] = *weight;
        let over = a.max(b).saturating_sub(self.limit) as f64;
        let skew = a.abs_diff(b) as f64 / ((a + b).max(1)) as f64;
        // The last term decides among separators of no weight.
        (separator as f64 + 16.0 * over) * (1.0 + self.price * skew * skew) + 1e-3 * skew
    }
}

/// One move: `vertex` left the separator and pulled `pulled..` into it.
struct Move {
    vertex: u32,
    pulled: u32,
}

/// Memory of the refinement.
#[derive(Default)]
pub(crate) struct Refiner {
    heap: GainHeap,
    moves: Vec<Move>,
    /// Vertices pulled into the separator, with their labels before.
    pulled: Vec<(u32, u32)>,
    /// Vertices that have left the separator in the passes of one refinement, some of them for good.
    pub(crate) left: Vec<u32>,
}

impl Refiner {
    /// Improves a separation by passes until one brings nothing, at most `2 passes`.
    ///
    /// `separator` holds the separator's vertices and is kept up to date, as is `weight`.
    pub(crate) fn refine(
        &mut self,
        graph: &Weighted,
        board: &mut impl Board,
        separator: &mut Vec<u32>,
        weight: &mut [u64; 3],
        goal: Goal,
        passes: u32,
    ) {
        let mut to = u8::from(weight[1] < weight[0]);
        let mut idle = 0;
        for _ in 0..2 * passes {
            let patience = (separator.len() * goal.pat.0 / 4).clamp(goal.pat.1, goal.pat.2);
            if self.run_pass(graph, board, separator, weight, goal, to, patience) {
                idle = 0;
            } else {
                idle += 1;
                if idle == goal.pat.3 {
                    break;
                }
            }
            to = 1 - to;
        }
    }

    /// Lets the vertices of `separator` that touch one side only join that side, whatever the balance.
    ///
    /// In rounds, so that both sides grow into a thick separator at the same speed.
    pub(crate) fn settle(
        &mut self,
        graph: &Weighted,
        board: &mut impl Board,
        separator: &mut Vec<u32>,
        weight: &mut [u64; 3],
    ) {
        self.left.clear();
        let touched = |board: &_, v| {
            let mut touched = [false; 4];
            for &u in graph.neighbors(v) {
                touched[Board::side(board, u) as usize] = true;
            }
            touched
        };
        loop {
            self.pulled.clear();
            for &v in separator.iter() {
                let sides = touched(board, v);
                if sides[0] != sides[1] {
                    self.pulled.push((v, u32::from(sides[1])));
                }
            }
            let before = self.left.len();
            for &(v, side) in &self.pulled {
                // Its neighbors may have joined the other side in this round.
                if !touched(board, v)[1 - side as usize] {
                    let own = u64::from(graph.weights[v as usize]);
                    board.put(v, side as u8);
                    weight[side as usize] += own;
                    weight[2] -= own;
                    self.left.push(v);
                }
            }
            if self.left.len() == before {
                break;
            }
            separator.retain(|&v| board.side(v) == SEPARATOR);
        }
    }

    /// Grows side 0 of a graph whose vertices all stand on side 1 from `start`, and stops at the
    /// best separation on the way.
    pub(crate) fn grow(
        &mut self,
        graph: &Weighted,
        board: &mut impl Board,
        separator: &mut Vec<u32>,
        weight: &mut [u64; 3],
        goal: Goal,
        start: u32,
    ) {
        let own = u64::from(graph.weights[start as usize]);
        board.put(start, SEPARATOR);
        separator.clear();
        separator.push(start);
        *weight = [0, graph.total - own, own];
        self.run_pass(graph, board, separator, weight, goal, 0, usize::MAX);
    }

    /// One pass of moves to side `to`; whether it improved the separation.
    #[allow(clippy::too_many_arguments)]
    fn run_pass(
        &mut self,
        graph: &Weighted,
        board: &mut impl Board,
        separator: &mut Vec<u32>,
        weight: &mut [u64; 3],
        goal: Goal,
        to: u8,
        patience: usize,
    ) -> bool {
        self.moves.clear();
        self.pulled.clear();
        for &v in separator.iter() {
            self.enqueue(graph, board, v, to);
        }
        let start = goal.cost(weight);
        let (mut best, mut kept) = (start, 0);
        while self.moves.len() - kept < patience {
            let Some((_, vertex)) = self.heap.peek() else {
                break;
            };
            let after = weight[to as usize] + u64::from(graph.weights[vertex as usize]);
            if after > goal.limit && after > weight[1 - to as usize] {
                break;
            }
            self.apply(graph, board, weight, vertex, to);
            let cost = goal.cost(weight);
            if cost < best {
                (best, kept) = (cost, self.moves.len());
            } else if cost > best * goal.worse + goal.slack {
                break;
            }
        }
        self.undo(graph, board, weight, kept, to);
        self.heap.clear(board);
        // Each vertex once: a vertex pulled in may have moved out and is then in neither.
        separator.retain(|&v| board.side(v) == SEPARATOR);
        separator.extend(self.pulled.iter().map(|p| p.0).filter(|&v| board.side(v) == SEPARATOR));
        self.left.extend(self.moves.iter().map(|m| m.vertex));
        best < start
    }

    /// Puts separator vertex `v` into the queue: what the separator loses when it moves to `to`.
    #[inline]
    fn enqueue(&mut self, graph: &Weighted, board: &mut impl Board, v: u32, to: u8) {
        let mut gain = graph.weights[v as usize] as i32;
        for &u in graph.neighbors(v) {
            if board.side(u) == 1 - to {
                gain -= graph.weights[u as usize] as i32;
            }
        }
        self.heap.push(board, v, gain);
    }

    #[inline]
    fn apply(
        &mut self,
        graph: &Weighted,
        board: &mut impl Board,
        weight: &mut [u64; 3],
        v: u32,
        to: u8,
    ) {
        let (t, other) = (to as usize, 1 - to as usize);
        let own = u64::from(graph.weights[v as usize]);
        self.heap.remove(board, v);
        self.moves.push(Move {
            vertex: v,
            pulled: self.pulled.len() as u32,
        });
        board.put(v, to);
        weight[t] += own;
        weight[2] -= own;
        for &u in graph.neighbors(v) {
            if board.side(u) != other as u8 {
                continue;
            }
            let pulled = graph.weights[u as usize];
            self.pulled.push((u, board.label(u)));
            board.put(u, SEPARATOR);
            weight[other] -= u64::from(pulled);
            weight[2] += u64::from(pulled);
            let mut gain = pulled as i32;
            for &w in graph.neighbors(u) {
                let side = board.side(w);
                if side == SEPARATOR {
                    // Moving w would no longer pull u.
                    self.heap.add(board, w, pulled as i32);
                } else if side == other as u8 {
                    gain -= graph.weights[w as usize] as i32;
                }
            }
            self.heap.push(board, u, gain);
        }
    }

    /// Takes back all moves but the first `kept`.
    fn undo(
        &mut self,
        graph: &Weighted,
        board: &mut impl Board,
        weight: &mut [u64; 3],
        kept: usize,
        to: u8,
    ) {
        let other = 1 - to as usize;
        while self.moves.len() > kept {
            let Some(last) = self.moves.pop() else { break };
            let from = last.pulled as usize;
            for &(u, label) in &self.pulled[from..] {
                let own = u64::from(graph.weights[u as usize]);
                board.restore(u, label);
                weight[other] += own;
                weight[2] -= own;
            }
            self.pulled.truncate(from);
            let own = u64::from(graph.weights[last.vertex as usize]);
            board.put(last.vertex, SEPARATOR);
            weight[to as usize] -= own;
            weight[2] += own;
        }
    }
}
