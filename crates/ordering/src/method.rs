//! The orderings by name, and the one function that runs any of them.

use std::fmt;
use std::str::FromStr;

use tamarack_sparse::{Pattern, Permutation};

use crate::band::from_both_ends;
use crate::error::{OrderingError, refill};
use crate::graph::Graph;
use crate::guide::{Coordinates, PartitionTree};
use crate::mindeg::{Amd, AmdOptions, DenseLimits, Mmd, MmdOptions, QuotientGraph, Selection};
use crate::nd::{self, NdOptions};
use crate::near;
use crate::parts;
use crate::rcm;
use crate::stop::Stop;
use crate::workspace::Workspace;

/// A fill-reducing (or other) ordering with its options.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Method {
    /// The user's own order.
    Natural,
    /// Reverse Cuthill–McKee: small bandwidth and profile (George and Liu 1981).
    Rcm,
    /// Minimum external degree, exact but for unknowns of very many neighbors, which come last; one pivot at a time (Liu 1985).
    MinimumDegree,
    /// Multiple minimum degree: as exact, independent pivots at a time (Liu 1985).
    Mmd(MmdOptions),
    /// Approximate minimum degree (Amestoy, Davis, Duff 1996), or minimum fill (Rothberg and Eisenstat 1998), as
    /// [`AmdOptions::selection`] says. Trees and chains of networks go first; of small ones, what these leave is eliminated by exact
    /// degrees, whatever the selection, and nothing is set aside. Unknowns of many whose numbers say nothing of where they are, as mesh
    /// generators give them, are first numbered by a breadth-first search; those that fill nothing in stay, but for large full bands, which
    /// are eliminated from both ends. Large grids are cut into a few parts for minimum fill, which several threads order at the same time.
    /// Points that are seen by a few cameras each, of many points, go before all cameras, and of these the better of both selections is
    /// taken.
    Amd(AmdOptions),
    /// Multilevel nested dissection (George 1973; Hendrickson and Rothberg 1998).
    NestedDissection(NdOptions),
    /// Nested dissection along planes between unknowns whose places are known (George 1973; Heath and Raghavan 1995).
    Coordinates(Coordinates),
    /// A given tree of separators and pieces; large pieces are dissected further.
    PartitionTree(PartitionTree),
}

impl Method {
    /// Names that [`FromStr`] knows, separated by commas: of those that need nothing else.
    pub const NAMES: &'static str = "natural, rcm, md, mmd, amd, amf, nd";

    /// Name as users write it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Natural => "natural",
            Self::Rcm => "rcm",
            Self::MinimumDegree => "md",
            Self::Mmd(_) => "mmd",
            Self::Amd(options) => match options.selection {
                Selection::Degree => "amd",
                Selection::MeanFill => "amf",
            },
            Self::NestedDissection(_) => "nd",
            Self::Coordinates(_) => "coordinates",
            Self::PartitionTree(_) => "tree",
        }
    }
}

impl Default for Method {
    fn default() -> Self {
        Self::Amd(AmdOptions::default())
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Method {
    type Err = OrderingError;

    /// The method of that name with default options.
    fn from_str(name: &str) -> Result<Self, OrderingError> {
        Ok(match name {
            "natural" => Self::Natural,
            "rcm" => Self::Rcm,
            "md" => Self::MinimumDegree,
            "mmd" => Self::Mmd(MmdOptions::default()),
            "amd" => Self::Amd(AmdOptions::default()),
            "amf" => Self::Amd(Selection::MeanFill.into()),
            "nd" => Self::NestedDissection(NdOptions::default()),
            _ => {
                return Err(OrderingError::UnknownMethod {
                    name: name.to_owned(),
                    expected: Self::NAMES,
                });
            }
        })
    }
}

/// Neighbors of an unknown up to which it is never set aside by orders of exact degrees: few enough to be counted with every pivot. `bcsstk08`
/// takes 1.14 times the operations where they are not (no lines kept).
const EXACT: u32 = 1000;

/// Orders the unknowns of `pattern`; the same input gives the same permutation.
///
/// `Permutation::user_of_elim` of the result is the elimination order.
///
/// # Errors
/// [`OrderingError::TooLarge`], [`OrderingError::OutOfMemory`], and those of coordinates or a tree that do not fit the pattern.
pub fn order(
    pattern: &Pattern,
    method: &Method,
    ws: &mut Workspace,
) -> Result<Permutation, OrderingError> {
    order_until(pattern, method, ws, Stop::NEVER)
}

/// As [`order`], unless `stop` becomes true meanwhile: another thread has found something better.
/// Nested dissection and approximate minimum degree look at `stop`, the others do not.
///
/// # Errors
/// [`OrderingError::Stopped`] if it was given up; else as [`order`].
pub fn order_until(
    pattern: &Pattern,
    method: &Method,
    ws: &mut Workspace,
    stop: Stop<'_>,
) -> Result<Permutation, OrderingError> {
    let n = pattern.n();
    if let Method::Amd(_) = method
        && let Some(order) = order_without_fill(pattern)?
    {
        return Ok(order);
    }
    let exact = AmdOptions::default().dense_limits(pattern).at_least(EXACT);
    match method {
        Method::Natural => return Ok(Permutation::identity(n)),
        Method::Rcm => rcm::order(
            &Graph::from_pattern(pattern)?,
            &mut ws.order,
            &mut ws.scratch,
        )?,
        Method::MinimumDegree => {
            ws.quotient.load(pattern)?;
            Mmd::new(ws, None).run(exact, &mut ())?;
            finish(ws)?;
        }
        Method::Mmd(options) => {
            ws.quotient.load(pattern)?;
            Mmd::new(ws, Some(options.delta)).run(exact, &mut ())?;
            finish(ws)?;
        }
        Method::Amd(options) if parts::order_pattern(pattern, options, stop, &mut ws.order)? => (),
        Method::Amd(options) => {
            let limits = options.dense_limits(pattern);
            let near = load(pattern, &mut ws.quotient, limits)?;
            if order_spokes(pattern, options, stop, ws)? {
                return permutation(&ws.order);
            }
            let mut elimination = Amd::new(ws, n as u32, options.aggressive)
                .by(options.selection)
                .until(stop)
                .within(options.most_reads);
            if elimination.has_fringe() {
                elimination.eliminate_fringe(&mut ());
                elimination.eliminate_few_left()?;
            }
            elimination.run(limits, &mut ())?;
            finish(ws)?;
            if let Some(vertex) = near {
                ws.order.iter_mut().for_each(|v| *v = vertex[*v as usize]);
            }
        }
        Method::NestedDissection(options) => {
            nd::order(pattern, options, nd::By::Graph, stop, &mut ws.order)?;
        }
        Method::Coordinates(places) => {
            let by = nd::By::Coordinates(places);
            nd::order(pattern, &NdOptions::default(), by, stop, &mut ws.order)?;
        }
        Method::PartitionTree(tree) => {
            nd::order_by_tree(pattern, &NdOptions::default(), tree, stop, &mut ws.order)?;
        }
    }
    permutation(&ws.order)
}

fn permutation(order: &[u32]) -> Result<Permutation, OrderingError> {
    Permutation::from_elimination_order(order).map_err(|_| OrderingError::Internal)
}

/// Writes the order of a pattern that the quotient graph holds to `ws.order`, if it is one of hubs and their spokes; else nothing happens, and the
/// answer is false.
fn order_spokes(
    pattern: &Pattern,
    options: &AmdOptions,
    stop: Stop<'_>,
    ws: &mut Workspace,
) -> Result<bool, OrderingError> {
    let limit = ws.quotient.dense_limit(options.dense_limits(pattern));
    let quotient = &ws.quotient;
    let few = usize::try_from(limit).unwrap_or(usize::MAX);
    let may_have = nd::may_have_spokes(quotient.n(), |v| quotient.list(v), few);
    Ok(may_have && nd::order_spokes(pattern, limit, options, stop, &mut ws.order)?)
}

/// An order without any fill, where it is the user's own or that of a full band; no order has fewer entries or operations. It is
/// [`Method::Amd`]'s then; as of [`order`], `Permutation::user_of_elim` is the elimination order. Time linear in the unknowns for most
/// patterns that have none, in the entries for those that have one.
///
/// # Errors
/// [`OrderingError::OutOfMemory`].
pub fn order_without_fill(pattern: &Pattern) -> Result<Option<Permutation>, OrderingError> {
    if let Some(order) = from_both_ends(pattern)? {
        return permutation(&order).map(Some);
    }
    Ok(is_perfect(pattern).then(|| Permutation::identity(pattern.n())))
}

/// Whether the user's order leads to no fill at all, as that of an arrow does: whatever stands below the first entry of a column stands in the
/// column of that entry (Rose 1972). No order can be better. Most patterns are seen to be others in a few columns. Entries are looked for
/// where they are in a band, else by halves: the column may be a hub's, with many more than those that have it first.
fn is_perfect(pattern: &Pattern) -> bool {
    (0..pattern.n()).all(|j| match pattern.rows(j) {
        [_, first, others @ ..] => {
            let mut there = &pattern.rows(*first as usize)[1..];
            others.iter().all(|i| {
                let before = match there.first() {
                    Some(k) if k == i => 0,
                    _ => there.partition_point(|k| k < i),
                };
                let Some((found, rest)) = there[before..].split_first() else {
                    return false;
                };
                there = rest;
                found == i
            })
        }
        _ => true,
    })
}

/// Loads a pattern, and numbers its unknowns anew where theirs are scattered: the unknown of each number, if they have others.
fn load(
    pattern: &Pattern,
    quotient: &mut QuotientGraph,
    limits: DenseLimits,
) -> Result<Option<Vec<u32>>, OrderingError> {
    let below = |j: u32| &pattern.rows(j as usize)[1..];
    if !near::is_scattered(pattern.n(), below) {
        quotient.load(pattern)?;
        return Ok(None);
    }
    let graph = Graph::from_pattern(pattern)?;
    let mut order = Vec::new();
    quotient.load_near(&graph, limits, &mut order)?;
    Ok(Some(order))
}

/// Writes the elimination order that the quotient graph holds to `ws.order`.
fn finish(ws: &mut Workspace) -> Result<(), OrderingError> {
    refill(&mut ws.order, ws.quotient.n(), 0)?;
    ws.quotient
        .any_elimination_order(&mut ws.order, &mut ws.scratch)
}
