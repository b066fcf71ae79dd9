//! Vertices of few neighbors that are all hubs, eliminated at once before anything else.
//!
//! The points of a bundle adjustment are seen by a few cameras each, and a camera sees thousands of them: points are independent of each
//! other, and go first (Brown 1958; Triggs, McLauchlan, Hartley, Fitzgibbon 2000). Minimum degree finds that, but reads the list of each of its
//! hubs with every pivot, which takes time by the square of their lengths; a dissection coarsens points for what hubs alone decide. Without
//! them there is a graph of hubs: two are neighbors that share a point. Time linear in the edges, [`FEW`] times.

use crate::error::{OrderingError, refill, reserve};
use crate::mindeg::NONE;
use crate::nd::graph::Weighted;

/// Neighbors of a spoke at most: what it joins are the pairs of them.
const FEW: usize = 32;

/// Neighbors of a hub at least.
const MANY: usize = 32;

/// A hub has so many times the neighbors of each of its spokes at least, and beside it are so many times the unknowns: else minimum degree would
/// begin with the hub.
const TIMES: usize = 2;

/// One vertex in so many may be another one than a spoke.
const OTHERS: usize = 2;

/// Vertices that are asked first.
const SAMPLE: usize = 1024;

/// Entries of hubs' lists that are read with spokes one by one, for each entry of the graph, where it is worth it. With cameras that see 100
/// points or more it is, of meshes and networks it is not.
const READS: u64 = 8;

/// One spoke in so many, and one pair of hubs, are an exception at most: a spoke that alone joins a pair, and that pair. Where links across are
/// the rule there is no small separator, and minimum degree is the better for having cameras only.
const ODD: usize = 8;
const SINGLE: usize = 4;

/// Entries of the graph of hubs for each of the whole, at most: more would take memory by the square of the edges.
const ENTRIES: usize = 4;

/// A graph without its spokes.
pub(crate) struct Spokes<'a> {
    whole: &'a Weighted,
    /// The other vertices.
    left: Vec<u32>,
    /// What is left of the graph, with edges for what was filled in.
    pub(crate) graph: Weighted,
}

impl<'a> Spokes<'a> {
    /// Eliminates the spokes of `whole`, if they are most of it and their hubs' lists are long, and unless much is filled in.
    pub(crate) fn of(whole: &'a Weighted) -> Result<Option<Self>, OrderingError> {
        if !may_have_spokes(whole.n(), |v| whole.neighbors(v), usize::MAX) {
            return Ok(None);
        }
        let Some(left) = others(whole)? else {
            return Ok(None);
        };
        let left = with_odd_ones(whole, left)?;
        let graph = joined(whole, &left)?;
        Ok(graph.map(|graph| Self { whole, left, graph }))
    }

    /// The order of all vertices, given that of what is left: spokes stand before the first of their hubs, so that what is eliminated together
    /// stands together.
    pub(crate) fn order(self, left: &[u32]) -> Result<Vec<u32>, OrderingError> {
        let n = self.whole.n();
        let (mut rank, mut next, mut order) = (Vec::new(), Vec::new(), Vec::new());
        refill(&mut rank, n, NONE)?;
        for (k, &v) in (0..).zip(left) {
            rank[self.left[v as usize] as usize] = k;
        }
        let first_hub = |v: u32| {
            let ranks = self.whole.neighbors(v).iter().map(|&u| rank[u as usize]);
            ranks.min().unwrap_or(0) as usize
        };
        let spokes = || (0..n as u32).filter(|&v| rank[v as usize] == NONE);
        // Where the next spoke of each hub goes; the hub itself comes behind them.
        refill(&mut next, left.len() + 1, 0u32)?;
        spokes().for_each(|v| next[first_hub(v) + 1] += 1);
        for k in 0..left.len() {
            next[k + 1] += next[k] + 1;
        }
        refill(&mut order, n, NONE)?;
        for v in spokes() {
            let at = &mut next[first_hub(v)];
            order[*at as usize] = v;
            *at += 1;
        }
        for (&k, at) in left.iter().zip(next) {
            order[at as usize] = self.left[k as usize];
        }
        Ok(order)
    }
}

/// Whether a graph of `n` vertices with these neighbors may have enough spokes, by a few of its vertices; those of more neighbors than `limit` do
/// not count.
pub(crate) fn may_have_spokes<'a>(
    n: usize,
    neighbors: impl Fn(u32) -> &'a [u32],
    limit: usize,
) -> bool {
    let degree = |v: u32| neighbors(v).len();
    let (mut seen, mut spokes) = (0, 0);
    for v in (0..n as u32).step_by((n / SAMPLE) | 1) {
        let count = degree(v);
        let least = MANY.max(TIMES * count);
        let mut others = neighbors(v).iter().filter(|&&u| degree(u) <= limit);
        let is_spoke = (1..=FEW).contains(&count) && others.all(|&u| degree(u) >= least);
        seen += usize::from(count <= limit);
        spokes += usize::from(is_spoke);
    }
    // Half of what is enough: a few say no more.
    2 * OTHERS * spokes >= seen
}

/// All vertices but the spokes, if these are enough and have long lists read.
fn others(graph: &Weighted) -> Result<Option<Vec<u32>>, OrderingError> {
    let n = graph.n();
    let degree = |v: u32| graph.neighbors(v).len();
    let unknowns = |v: u32| {
        let weights = graph
            .neighbors(v)
            .iter()
            .map(|&u| graph.weights[u as usize]);
        weights.map(u64::from).sum::<u64>()
    };
    let (mut beside, mut left) = (Vec::new(), Vec::new());
    reserve(&mut beside, n)?;
    beside.extend((0..n as u32).map(unknowns));
    reserve(&mut left, n / OTHERS)?;
    let mut reads = 0;
    for v in 0..n as u32 {
        let list = graph.neighbors(v);
        let least = MANY.max(TIMES * list.len());
        let least_beside = TIMES as u64 * beside[v as usize];
        let is_hub = |u: u32| degree(u) >= least && beside[u as usize] >= least_beside;
        if (1..=FEW).contains(&list.len()) && list.iter().all(|&u| is_hub(u)) {
            reads += list.iter().map(|&u| degree(u) as u64).sum::<u64>();
        } else if left.len() < n / OTHERS {
            left.push(v);
        } else {
            return Ok(None);
        }
    }
    Ok((reads > READS * graph.adjacency.len() as u64).then_some(left))
}

/// What is left, and with it the spokes that alone join two of their hubs, if they are exceptions. Where a camera comes back to a place that it has
/// seen before, a few points are all that joins both: they make a small separator, and without them it is made of cameras.
fn with_odd_ones(graph: &Weighted, left: Vec<u32>) -> Result<Vec<u32>, OrderingError> {
    let n = graph.n();
    let (mut kind, mut joined) = (Vec::new(), Vec::new());
    refill(&mut kind, n, Kind::Spoke)?;
    refill(&mut joined, n, 0u32)?;
    left.iter().for_each(|&v| kind[v as usize] = Kind::Left);
    let (mut pairs, mut single, mut odd) = (0, 0, 0);
    for (before, &v) in (0..).step_by(2).zip(&left) {
        // Of the hubs that come behind this one, those that one spoke joins to it, and those that several do or an edge.
        let (once, often) = (before + 1, before + 2);
        // Of a spoke it is said how many of its hubs have been here: its list is sorted, as all are.
        let later = |spoke: u32, passed: u32| &graph.neighbors(spoke)[passed as usize + 1..];
        let list = graph.neighbors(v);
        for &u in list {
            if kind[u as usize] == Kind::Left {
                joined[u as usize] = often;
                continue;
            }
            for &hub in later(u, joined[u as usize]) {
                let joined = &mut joined[hub as usize];
                let is_new = *joined <= before;
                pairs += usize::from(is_new);
                *joined = if is_new { once } else { often };
            }
        }
        for &u in list {
            let kind = &mut kind[u as usize];
            if *kind != Kind::Left {
                let hubs = later(u, joined[u as usize]).iter();
                let count: usize = hubs
                    .map(|&hub| usize::from(joined[hub as usize] == once))
                    .sum();
                joined[u as usize] += 1;
                odd += usize::from(count > 0 && *kind == Kind::Spoke);
                single += count;
                if count > 0 {
                    *kind = Kind::Odd;
                }
            }
        }
        if odd > (n - left.len()) / ODD {
            return Ok(left);
        }
    }
    if odd == 0 || single > pairs / SINGLE {
        return Ok(left);
    }
    let all = (0..n as u32).filter(|&v| kind[v as usize] != Kind::Spoke);
    Ok(all.collect())
}

/// Whether a vertex is eliminated beforehand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Spoke,
    /// A spoke that alone joins two hubs.
    Odd,
    Left,
}

/// The graph of what is left, with the neighbors that it has or gets for its spokes; none if these are too many.
fn joined(whole: &Weighted, left: &[u32]) -> Result<Option<Weighted>, OrderingError> {
    let most = ENTRIES * whole.adjacency.len();
    let (mut place, mut seen) = (Vec::new(), Vec::new());
    refill(&mut place, whole.n(), NONE)?;
    refill(&mut seen, left.len(), NONE)?;
    for (k, &v) in (0..).zip(left) {
        place[v as usize] = k;
    }
    let mut graph = Weighted::default();
    graph.clear();
    for (me, &v) in (0..).zip(left) {
        seen[me as usize] = me;
        let (start, list) = (graph.adjacency.len(), &mut graph.adjacency);
        if list.capacity() < start + left.len() {
            reserve(list, start.max(left.len()))?;
        }
        let own = whole.neighbors(v);
        let is_spoke = |u: u32| place[u as usize] == NONE;
        let spokes = own.iter().filter(|&&u| is_spoke(u));
        let reads: usize = spokes.map(|&u| whole.neighbors(u).len()).sum();
        let hubs = own.iter().flat_map(|u| match is_spoke(*u) {
            true => whole.neighbors(*u),
            false => std::slice::from_ref(u),
        });
        if reads < left.len() {
            for &hub in hubs {
                let to = place[hub as usize];
                if std::mem::replace(&mut seen[to as usize], me) != me {
                    list.push(to);
                }
            }
            list[start..].sort_unstable();
        } else {
            // Most of them come more than once: no branch for each.
            hubs.for_each(|&hub| seen[place[hub as usize] as usize] = me);
            let others = (0..).zip(&seen).filter(|&(to, by)| *by == me && to != me);
            list.extend(others.map(|(to, _)| to));
        }
        if list.len() > most {
            return Ok(None);
        }
        graph.offsets.push(list.len() as u64);
        let weight = whole.weights[v as usize];
        graph.weights.push(weight);
        graph.total += u64::from(weight);
    }
    Ok(Some(graph))
}
