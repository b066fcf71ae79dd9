//! Minimum degree of a few hundred variables, on rows of bits.
//!
//! What the fringe leaves of a network is a graph without elements. If it is small, it is written out and eliminated as such, which is how
//! minimum degree began (Rose 1972): the rows of a pivot's neighbors become the union of theirs and its own. With a bit for each pair of
//! variables that is a few instructions for each entry of `L`, degrees are exact, and all fits into the first caches. On power networks
//! and circuits of up to a thousand unknowns orders take a third to three quarters of the time that they take with the quotient graph,
//! whose lists pay where unions are long (`networks-1` of run `2026-11-26-zen4-2c`).
//!
//! Degrees count single variables, not what is outside of those that cannot be told apart: networks have few of these, where
//! meshes, which need that, have no fringe. Of several with the least degree the one whose degree was found last comes first.

use crate::error::OrderingError;
use crate::mindeg::amd::Amd;
use crate::mindeg::lists::{DegreeLists, NONE};
use crate::mindeg::order::SMALL;
use crate::mindeg::quotient::{IS_ELEMENT, QuotientGraph};

/// Variables at most.
const MOST: usize = 512;

/// Bits of a word.
const WORD: usize = u64::BITS as usize;

impl Amd<'_> {
    /// Eliminates all that the fringe has left of a small graph, if it is few; otherwise nothing.
    pub(crate) fn eliminate_few_left(&mut self) -> Result<(), OrderingError> {
        let left = (self.q.total - self.q.eliminated) as usize;
        if left > MOST || self.q.n() > SMALL {
            return Ok(());
        }
        match left.div_ceil(WORD) {
            0 => Ok(()),
            1 => self.eliminate_rows::<1>(left),
            2 => self.eliminate_rows::<2>(left),
            3..=4 => self.eliminate_rows::<4>(left),
            _ => self.eliminate_rows::<8>(left),
        }
    }

    /// Eliminates what is left, so many variables, each a row of `W` words.
    fn eliminate_rows<const W: usize>(&mut self, left: usize) -> Result<(), OrderingError> {
        let q = &mut *self.q;
        let variables = variables(q, left);
        let rows = variables.iter().enumerate();
        let mut rows: Vec<[u64; W]> = rows.map(|(place, &i)| neighbors(q, place, i)).collect();
        self.lists.reset(left, left as u32)?;
        let mut order = Vec::with_capacity(left);
        minimum_degree(&mut rows, self.lists, &mut order);
        for &k in &order {
            let node = &mut q.nodes[variables[k as usize] as usize];
            (node.len, node.elements, node.mark) = (0, IS_ELEMENT, 0);
        }
        let pivots = order.iter().map(|&k| variables[k as usize]);
        q.pivots.extend(pivots);
        q.eliminated = q.total;
        Ok(())
    }
}

/// The variables that are left, so many; each is marked with its place among them.
fn variables(q: &mut QuotientGraph, left: usize) -> Vec<u32> {
    // Written in any case, and counted without a branch: which are left is hard to foresee.
    let mut out = vec![0; left + 1];
    let mut place = 0;
    for (node, i) in q.nodes.iter_mut().zip(0..) {
        out[place] = i;
        node.mark = place as u32;
        place += usize::from(node.elements == 0);
    }
    out.truncate(left);
    out
}

/// A variable at a place and its neighbors that are left, by places.
#[inline(always)]
fn neighbors<const W: usize>(q: &QuotientGraph, place: usize, i: u32) -> [u64; W] {
    let mut row = only(place);
    for &j in q.list(i) {
        let node = &q.nodes[j as usize];
        // Pivots of the fringe stay in lists.
        let is_left = u64::from(node.elements == 0);
        let other = only::<W>(node.mark as usize);
        row = std::array::from_fn(|w| row[w] | (other[w] * is_left));
    }
    row
}

/// The bit of a place.
#[inline(always)]
fn only<const W: usize>(place: usize) -> [u64; W] {
    let bit = 1 << (place % WORD);
    std::array::from_fn(|w| if w == place / WORD { bit } else { 0 })
}

/// The places of all bits that are set, increasing.
struct Bits<'a, const W: usize> {
    words: &'a [u64; W],
    /// The word that is looked at, and what is left of it.
    at: usize,
    word: u64,
}

impl<'a, const W: usize> Bits<'a, W> {
    #[inline(always)]
    fn of(words: &'a [u64; W]) -> Self {
        let (at, word) = (0, words[0]);
        Self { words, at, word }
    }
}

impl<const W: usize> Iterator for Bits<'_, W> {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        while self.word == 0 {
            self.at += 1;
            self.word = *self.words.get(self.at)?;
        }
        let bit = self.word.trailing_zeros() as usize;
        self.word &= self.word - 1;
        Some(self.at * WORD + bit)
    }
}

/// Writes an order of least degrees.
fn minimum_degree<const W: usize>(
    rows: &mut [[u64; W]],
    lists: &mut DegreeLists,
    order: &mut Vec<u32>,
) {
    #[cfg(target_arch = "x86_64")]
    {
        /// The same, where the processor counts bits itself.
        #[target_feature(enable = "popcnt,avx2,bmi1")]
        fn counted<const W: usize>(
            rows: &mut [[u64; W]],
            lists: &mut DegreeLists,
            order: &mut Vec<u32>,
        ) {
            by_degree(rows, lists, order);
        }
        let counts = is_x86_feature_detected!("popcnt");
        if counts && is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1") {
            // SAFETY: the processor has just said that it has them.
            return unsafe { counted(rows, lists, order) };
        }
    }
    by_degree(rows, lists, order);
}

/// [`minimum_degree`], for any processor.
#[inline(always)]
fn by_degree<const W: usize>(rows: &mut [[u64; W]], lists: &mut DegreeLists, order: &mut Vec<u32>) {
    let n = rows.len();
    for (row, k) in rows.iter().zip(0..) {
        lists.insert(k, count(row) - 1);
    }
    while let Some(me) = lists.pop_at_most(NONE) {
        order.push(me);
        // Rows are written as a whole only: to read one while a word of it is on its way to the cache would wait for that.
        let own = only(me as usize);
        let clique = without(&rows[me as usize], &own);
        let neighbors = count(&clique) as usize;
        if neighbors == n - order.len() {
            // All others, neighbors of each other from now on.
            order.extend(Bits::of(&clique).map(|k| k as u32));
            return;
        }
        for k in Bits::of(&clique) {
            let union = std::array::from_fn(|w| rows[k][w] | clique[w]);
            rows[k] = without(&union, &own);
            lists.remove(k as u32);
            lists.insert(k as u32, count(&rows[k]) - 1);
        }
    }
}

/// Bits of the one and not of the other.
#[inline(always)]
fn without<const W: usize>(bits: &[u64; W], others: &[u64; W]) -> [u64; W] {
    std::array::from_fn(|w| bits[w] & !others[w])
}

/// Number of bits that are set.
#[inline(always)]
fn count<const W: usize>(row: &[u64; W]) -> u32 {
    let mut sum = 0;
    for word in row {
        sum += word.count_ones();
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Workspace;
    use tamarack_sparse::Pattern;
    use tamarack_testkit::{Rng, pattern_of_edges};

    /// A random graph, edges anywhere or between near vertices.
    fn random_graph(random: &mut Rng, n: usize) -> Pattern {
        let edges = n * (1 + random.below(4)) / 2;
        let span = [n, 1 + n / 8][random.below(2)];
        let edges = (0..edges).map(|_| {
            let a = random.below(n);
            (a, (a + random.below(span)) % n)
        });
        pattern_of_edges(n, &edges.collect::<Vec<_>>())
    }

    /// For each vertex whether others are its neighbors.
    fn adjacency(graph: &Pattern) -> Vec<Vec<bool>> {
        let n = graph.n();
        let mut adjacent = vec![vec![false; n]; n];
        let columns = (0..n).flat_map(|j| graph.rows(j)[1..].iter().map(move |&i| (i as usize, j)));
        columns.for_each(|(i, j)| (adjacent[i][j], adjacent[j][i]) = (true, true));
        adjacent
    }

    /// Eliminates one vertex, which has so many neighbors.
    fn eliminate(adjacent: &mut [Vec<bool>], me: usize) -> usize {
        let clique: Vec<usize> = (0..adjacent.len()).filter(|&i| adjacent[me][i]).collect();
        for &i in &clique {
            clique.iter().for_each(|&j| adjacent[i][j] = i != j);
            adjacent[i][me] = false;
        }
        clique.len()
    }

    #[test]
    fn every_pivot_has_the_least_degree() {
        let mut ws = Workspace::new();
        let (mut fringe, mut cores) = (0, [0; 4]);
        for seed in 0..120 {
            let mut random = Rng::new(seed);
            let n = 1 + random.below([60, 130, 260, MOST][seed as usize % 4]);
            let graph = random_graph(&mut random, n);
            ws.quotient.load(&graph).unwrap();
            let mut amd = Amd::new(&mut ws, n as u32, true);
            if seed % 8 < 5 {
                amd.eliminate_fringe(&mut ());
            }
            let before = amd.q.pivots.len();
            amd.eliminate_few_left().unwrap();
            let mut order = vec![NONE; n];
            let q = &ws.quotient;
            q.any_elimination_order(&mut order, &mut Default::default())
                .unwrap();
            assert_eq!(order, q.pivots);
            let (mut adjacent, mut is_left) = (adjacency(&graph), vec![true; n]);
            for (k, &me) in order.iter().enumerate() {
                let degree = |i: usize| adjacent[i].iter().filter(|&&is| is).count();
                let least = (0..n).filter(|&i| is_left[i]).map(degree).min();
                assert!(std::mem::take(&mut is_left[me as usize]));
                let found = eliminate(&mut adjacent, me as usize);
                assert!(k < before || Some(found) == least, "seed {seed}, step {k}");
            }
            fringe += before;
            cores[(n - before).div_ceil(WORD).next_power_of_two().ilog2() as usize] += 1;
        }
        let enough = fringe > 500 && cores.iter().all(|&count| count > 5);
        assert!(enough, "{fringe} {cores:?}");
    }

    #[test]
    fn processors_that_count_bits_find_the_same_order() {
        for seed in 0..40 {
            let mut random = Rng::new(seed);
            let n = 1 + random.below(256);
            let graph = adjacency(&random_graph(&mut random, n));
            let row = |i: usize| {
                let others = (0..n).filter(|&j| graph[i][j]).map(only::<4>);
                others.fold(only(i), |row, other| {
                    std::array::from_fn(|w| row[w] | other[w])
                })
            };
            let orders = [minimum_degree::<4>, by_degree::<4>].map(|find| {
                let (mut lists, mut order) = (DegreeLists::default(), Vec::new());
                lists.reset(n, n as u32).unwrap();
                find(
                    &mut (0..n).map(row).collect::<Vec<_>>(),
                    &mut lists,
                    &mut order,
                );
                order
            });
            assert_eq!(orders[0].len(), n);
            assert_eq!(orders[0], orders[1], "seed {seed}");
        }
    }

    #[test]
    fn many_are_left_to_the_quotient_graph() {
        let mut ws = Workspace::new();
        for (n, is_few) in [(MOST, true), (MOST + 1, false)] {
            let none: [(usize, usize); 0] = [];
            ws.quotient.load(&pattern_of_edges(n, &none)).unwrap();
            Amd::new(&mut ws, n as u32, true)
                .eliminate_few_left()
                .unwrap();
            assert_eq!(ws.quotient.pivots.len(), if is_few { n } else { 0 });
        }
    }
}
