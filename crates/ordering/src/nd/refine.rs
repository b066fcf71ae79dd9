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
    /// Price of imbalance, see [`NdOptions`](crate::NdOptions).
    pub(crate) price: f64,
    /// Reciprocal of the weight of all.
    pub(crate) per_total: f64,
}

impl Goal {
    /// Smaller is better. What goes over the limit counts as separator many times over.
    #[inline]
    pub(crate) fn cost(&self, weight: &[u64; 3]) -> f64 {
        let [a, b, separator] = *weight;
        let over = a.max(b).saturating_sub(self.limit) as f64;
        let skew = a.abs_diff(b) as f64 * self.per_total;
        // The last term decides among separators of no weight.
        (separator as f64 + 16.0 * over) * (1.0 + self.price * skew * skew) + 1e-3 * skew
    }
}

/// How long a refinement looks for improvements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// Passes at most.
    pub(crate) passes: u32,
    /// Moves that a pass goes on without an improvement, for each vertex of the separator.
    pub(crate) per_vertex: f64,
    /// Moves at least.
    pub(crate) least: usize,
    /// Moves at most.
    pub(crate) most: usize,
    /// The pass also ends where the cost is so many times the best.
    pub(crate) hopeless: f64,
}

/// One move: `vertex` left the separator and pulled `pulled..` into it.
struct Move {
    vertex: u32,
    pulled: u32,
}

/// A separation in the making: where the vertices of `graph` stand.
pub(crate) struct Task<'a, B> {
    pub(crate) graph: &'a Weighted,
    pub(crate) board: B,
    /// The separator's vertices.
    pub(crate) separator: &'a mut Vec<u32>,
    /// Weight of the two sides and of the separator.
    pub(crate) weight: &'a mut [u64; 3],
    pub(crate) goal: Goal,
}

/// Memory of the refinement.
#[derive(Default)]
pub(crate) struct Refiner {
    heap: GainHeap,
    moves: Vec<Move>,
    /// Vertices pulled into the separator, with their labels before.
    pulled: Vec<(u32, u32)>,
    /// Separator vertices that may touch one side only.
    loose: Vec<u32>,
    /// Vertices that have left the separator in the passes of one refinement, some of them for good.
    pub(crate) left: Vec<u32>,
}

impl Refiner {
    /// Improves a separation by passes, until one brings nothing.
    pub(crate) fn refine(&mut self, task: &mut Task<impl Board>, patience: Patience) {
        let mut to = u8::from(task.weight[1] < task.weight[0]);
        for _ in 0..patience.passes {
            let moves = (task.separator.len() as f64 * patience.per_vertex) as usize;
            let moves = moves.clamp(patience.least, patience.most);
            if !self.run_pass(task, to, moves, patience.hopeless) {
                break;
            }
            to = 1 - to;
        }
    }

    /// Lets the separator's vertices that touch one side only join that side, whatever the balance.
    ///
    /// In rounds, so that both sides grow into a thick separator at the same speed. After the first
    /// round only neighbors of those that just left can have come to touch a side: a round costs
    /// what it moves.
    pub(crate) fn settle(&mut self, task: &mut Task<impl Board>) {
        self.left.clear();
        self.loose.clear();
        self.loose.extend_from_slice(task.separator);
        while !self.loose.is_empty() {
            self.pulled.clear();
            for &v in &self.loose {
                let touched = touched_sides(task, v);
                if touched[0] != touched[1] {
                    self.pulled.push((v, u32::from(touched[1])));
                }
            }
            let before = self.left.len();
            for &(v, side) in &self.pulled {
                // Its neighbors may have joined the other side in this round.
                if !touched_sides(task, v)[1 - side as usize] {
                    let own = u64::from(task.graph.weights[v as usize]);
                    task.board.put(v, side as u8);
                    task.weight[side as usize] += own;
                    task.weight[2] -= own;
                    self.left.push(v);
                }
            }
            self.loose.clear();
            for &v in &self.left[before..] {
                let neighbors = task.graph.neighbors(v).iter();
                let board = &task.board;
                self.loose
                    .extend(neighbors.filter(|&&u| board.side(u) == SEPARATOR));
            }
            self.loose.sort_unstable();
            self.loose.dedup();
        }
        let board = &task.board;
        task.separator.retain(|&v| board.side(v) == SEPARATOR);
    }

    /// Grows side 0 of a graph whose vertices all stand on side 1 from `start`, and stops at the
    /// best separation on the way. In a graph of several components it takes one after the other.
    pub(crate) fn grow(&mut self, task: &mut Task<impl Board>, start: u32) {
        let graph = task.graph;
        task.separator.clear();
        *task.weight = [0, graph.total, 0];
        for root in std::iter::once(start).chain(0..graph.n() as u32) {
            if task.board.side(root) != 1 {
                continue;
            }
            let own = u64::from(graph.weights[root as usize]);
            task.board.put(root, SEPARATOR);
            task.separator.push(root);
            task.weight[1] -= own;
            task.weight[2] += own;
            self.run_pass(task, 0, usize::MAX, f64::INFINITY);
            if !task.separator.is_empty() || 2 * task.weight[0] >= graph.total {
                break;
            }
        }
    }

    /// One pass of moves to side `to`; whether it improved the separation.
    fn run_pass(
        &mut self,
        task: &mut Task<impl Board>,
        to: u8,
        patience: usize,
        hopeless: f64,
    ) -> bool {
        self.moves.clear();
        self.pulled.clear();
        for &v in task.separator.iter() {
            let mut gain = task.graph.weights[v as usize] as i32;
            for &u in task.graph.neighbors(v) {
                if task.board.side(u) == 1 - to {
                    gain -= task.graph.weights[u as usize] as i32;
                }
            }
            self.heap.push(&mut task.board, v, gain);
        }
        let goal = task.goal;
        let start = goal.cost(task.weight);
        let (mut best, mut kept) = (start, 0);
        while self.moves.len() - kept < patience {
            let Some(vertex) = self.heap.peek() else {
                break;
            };
            let after = task.weight[to as usize] + u64::from(task.graph.weights[vertex as usize]);
            if after > goal.limit && after > task.weight[1 - to as usize] {
                break;
            }
            self.apply(task, vertex, to);
            let cost = goal.cost(task.weight);
            if cost < best {
                (best, kept) = (cost, self.moves.len());
            } else if cost > best * hopeless {
                break;
            }
        }
        self.undo(task, kept, to);
        self.heap.clear(&mut task.board);
        let board = &task.board;
        // Each vertex once: a vertex pulled in may have moved out and is then in neither.
        task.separator.retain(|&v| board.side(v) == SEPARATOR);
        let pulled = self.pulled.iter().map(|p| p.0);
        let stayed = pulled.filter(|&v| board.side(v) == SEPARATOR);
        task.separator.extend(stayed);
        self.left.extend(self.moves.iter().map(|m| m.vertex));
        best < start
    }

    #[inline]
    fn apply(&mut self, task: &mut Task<impl Board>, v: u32, to: u8) {
        let (graph, board) = (task.graph, &mut task.board);
        let (t, other) = (to as usize, 1 - to as usize);
        let own = u64::from(graph.weights[v as usize]);
        self.heap.remove(board, v);
        self.moves.push(Move {
            vertex: v,
            pulled: self.pulled.len() as u32,
        });
        board.put(v, to);
        task.weight[t] += own;
        task.weight[2] -= own;
        for &u in graph.neighbors(v) {
            if board.side(u) != other as u8 {
                continue;
            }
            let pulled = graph.weights[u as usize];
            self.pulled.push((u, board.label(u)));
            board.put(u, SEPARATOR);
            task.weight[other] -= u64::from(pulled);
            task.weight[2] += u64::from(pulled);
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
    fn undo(&mut self, task: &mut Task<impl Board>, kept: usize, to: u8) {
        let other = 1 - to as usize;
        while self.moves.len() > kept {
            let Some(last) = self.moves.pop() else { break };
            let from = last.pulled as usize;
            for &(u, label) in &self.pulled[from..] {
                let own = u64::from(task.graph.weights[u as usize]);
                task.board.restore(u, label);
                task.weight[other] += own;
                task.weight[2] -= own;
            }
            self.pulled.truncate(from);
            let own = u64::from(task.graph.weights[last.vertex as usize]);
            task.board.put(last.vertex, SEPARATOR);
            task.weight[to as usize] -= own;
            task.weight[2] += own;
        }
    }
}

/// Which sides the neighbors of `v` stand on.
fn touched_sides(task: &Task<impl Board>, v: u32) -> [bool; 4] {
    let mut touched = [false; 4];
    for &u in task.graph.neighbors(v) {
        touched[task.board.side(u) as usize] = true;
    }
    touched
}
