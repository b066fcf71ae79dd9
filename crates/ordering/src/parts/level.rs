//! A part cut along levels of a breadth-first search.

use std::ops::Range;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use tamarack_sparse::memory::zeroed;

use crate::nd::{NdOptions, Weighted, level_behind, reach_neighbors};

/// Mark of the vertices in separators. Others have the number of the last search that reached them, or of the piece that they belong to.
pub(super) const SEPARATOR: u8 = u8::MAX;

/// Marks that a cut needs: two searches, and what is left and right of the levels.
const MARKS: u8 = 4;

/// A level that costs less than so many times the square root of the vertices is good: the corner of a square costs 0.9 times the root. Else
/// the search begins again where it ended, which may be a corner.
const GOOD: f64 = 1.05;

/// A level of more is not taken. A torus is cut by two of a side each.
const WIDEST: f64 = 2.2;

/// A graph whose level costs less than so many times the square root of the vertices is long: it has four times as many levels as each has vertices.
/// It is cut in two alone: a part between two levels has both to go on with, which takes two to four times the operations.
const LONG: f64 = 0.5;

/// A part of which the search does not reach one in so many vertices is not cut.
const LACKS: usize = 8;

/// A search through a part.
struct Search {
    /// The vertices in the order in which they are reached, then others, of no meaning.
    queue: Vec<u32>,
    /// Vertices that are reached.
    count: usize,
    /// What the best level costs, over the square root of the vertices; infinite where there is none.
    over_root: f64,
    /// Where in the queue it stands.
    level: Range<usize>,
    /// The same of a level behind it, empty where there is none that cuts what is left: the opposite corner of a square.
    behind: Range<usize>,
}

/// A part that was cut.
pub(super) struct Cut {
    /// Vertices on the left, in the middle and on the right, which the list begins with.
    pub(super) sizes: [usize; 3],
    /// Whether it is better not to cut these again.
    pub(super) is_last: bool,
}

/// Puts a part into the order left, middle, right, separators, and marks the latter. So many `cuts` this is, one within the other, from 0.
pub(super) fn cut(
    graph: &Weighted,
    marks: &[AtomicU8],
    list: &mut [u32],
    options: &NdOptions,
    cuts: u8,
) -> Option<Cut> {
    let mut round = MARKS * cuts + 1;
    let mut search = Search::run(graph, marks, list, list[0], options, round);
    if search.misses_much(list) {
        return None;
    }
    if search.over_root > GOOD {
        round += 1;
        let last = search.queue[search.count - 1];
        search = Search::run(graph, marks, list, last, options, round);
    }
    (search.over_root <= WIDEST).then(|| search.apply(marks, list, round, cuts == 0))
}

/// The same of a whole graph that is long, seen from this end.
pub(super) fn halve(
    graph: &Weighted,
    marks: &[AtomicU8],
    list: &mut [u32],
    options: &NdOptions,
    end: u32,
) -> Option<Cut> {
    let search = Search::run(graph, marks, list, end, options, 1);
    let is_long = search.is_long() && !search.misses_much(list);
    is_long.then(|| search.apply(marks, list, 1, true))
}

/// Sorts a list by pieces, stable, so that numbers stay as near each other as they were; the sizes of the first three of four.
fn sort(list: &mut [u32], copy: &mut Vec<u32>, piece_of: impl Fn(u32) -> usize) -> [usize; 3] {
    let mut sizes = [0; 4];
    list.iter().for_each(|&v| sizes[piece_of(v)] += 1);
    let [left, middle, right, _] = sizes;
    let mut next = [0, left, left + middle, left + middle + right];
    copy.clear();
    copy.extend_from_slice(list);
    for &v in &*copy {
        let at = &mut next[piece_of(v)];
        list[*at] = v;
        *at += 1;
    }
    [left, middle, right]
}

impl Search {
    fn is_long(&self) -> bool {
        self.over_root < LONG
    }

    /// Whether much of a part is not reached.
    fn misses_much(&self, list: &[u32]) -> bool {
        LACKS * (list.len() - self.count) > list.len()
    }

    /// Cuts the part that was searched in this `round`; the first one only in two if it is long.
    fn apply(mut self, marks: &[AtomicU8], list: &mut [u32], round: u8, is_first: bool) -> Cut {
        let is_last = is_first && self.is_long();
        let [left, right] = [round + 1, round + 2];
        let (level, behind) = (self.level.clone(), self.behind.clone());
        let pieces = [
            (0..level.start, left),
            (level, SEPARATOR),
            (behind.end..self.count, right),
            (behind.clone(), SEPARATOR),
        ];
        let last = if is_last || behind.is_empty() { 2 } else { 4 };
        for (range, mark) in &pieces[..last] {
            let vertices = self.queue[range.clone()].iter();
            vertices.for_each(|&v| marks[v as usize].store(*mark, Relaxed));
        }
        // What is not reached is in the middle.
        let piece_of = |v: u32| match marks[v as usize].load(Relaxed) {
            SEPARATOR => 3,
            mark if mark == left => 0,
            mark if mark == right => 2,
            _ => 1,
        };
        let sizes = sort(list, &mut self.queue, piece_of);
        Cut { sizes, is_last }
    }

    /// Goes through the part from `start`, breadth first. All marks of the part are less than `round`.
    fn run(
        graph: &Weighted,
        marks: &[AtomicU8],
        part: &[u32],
        start: u32,
        options: &NdOptions,
        round: u8,
    ) -> Self {
        let n = part.len();
        let total = graph.weight_of(part);
        let goal = options.goal(total);
        let mut queue = zeroed(n + 1);
        queue[0] = start;
        marks[start as usize].store(round, Relaxed);
        let (mut from, mut count, mut before) = (0, 1, 0);
        let (mut best, mut cost) = (([0; 3], 0..0), f64::INFINITY);
        let mut passed = Vec::new();
        while from < count {
            let level = from..count;
            let own = graph.weight_of(&queue[level.clone()]);
            let weight = [before, total - before - own, own];
            if goal.cost(&weight) < cost && options.halves(n, &weight) {
                cost = goal.cost(&weight);
                best = (weight, level.clone());
                passed.clear();
            } else {
                passed.push((weight, level.clone()));
            }
            before += own;
            from = count;
            count = reach_neighbors(graph, &mut queue, level, |u| {
                let mark = &marks[u as usize];
                let known = mark.load(Relaxed);
                mark.store(known.max(round), Relaxed);
                known < round
            });
        }
        let (weight, level) = best;
        let behind = level_behind(passed, n, weight, cost, options);
        Self {
            queue,
            count,
            over_root: cost * (n as f64).sqrt() / total as f64,
            behind: behind.map_or(0..0, |(_, level)| level),
            level,
        }
    }
}
