//! The plan of a factorization.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use tamarack_dense::{BlockColumns, PanelLayout, Strips};
use tamarack_symbolic::SymbolicFactor;

use crate::cost::front_secs;
use crate::cut::{Grove, cut, groves, list_schedule};
use crate::error::PlanError;
use crate::laid::{Laid, Needs};
use crate::leaves::Leaves;
use crate::machine::Machine;
use crate::memory::MemoryUse;
use crate::options::{PlanOptions, Precision};
use crate::places::Tree;
use crate::sizes::{Largest, bytes, packed_len, plan_bytes, workspace_bytes};
use crate::top::TopOrder;

/// Where an update matrix stands, in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdatePlace {
    /// There is none: the front has no rows below its pivots, or is a leaf whose parent takes the update from its panel.
    None,
    /// From the left end of the stack of the thread that walks the subtree.
    Left(u64),
    /// Counted back from the right end of that stack.
    Right(u64),
    /// From the beginning of the arena.
    Shared(u64),
}

/// Everything about a factorization that is known before it: immutable, shared, and cheap next to
/// the symbolic factor.
#[derive(Clone)]
pub struct FactorPlan {
    symbolic: Arc<SymbolicFactor>,
    options: PlanOptions,
    threads: usize,
    laid: Laid,
    groves: Vec<Grove>,
    memory: MemoryUse,
    /// Of the largest front, and of the largest that is eliminated in one piece.
    orders: [usize; 2],
    packed_part: u64,
    panel_room: usize,
    leaves: Leaves,
    predicted_secs: f64,
    alone_secs: f64,
}

impl fmt::Debug for FactorPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FactorPlan")
            .field("symbolic", &self.symbolic)
            .field("options", &self.options)
            .field("threads", &self.threads)
            .field("memory", &self.memory)
            .field("predicted_secs", &self.predicted_secs)
            .finish_non_exhaustive()
    }
}

impl FactorPlan {
    /// Plans a factorization on `machine`. Nothing large is allocated.
    ///
    /// # Errors
    /// [`PlanError::OverBudget`] where the machine's memory is known and does not suffice.
    pub fn new(
        symbolic: Arc<SymbolicFactor>,
        machine: &Machine,
        options: &PlanOptions,
    ) -> Result<Self, PlanError> {
        if !(1..=PlanOptions::WIDEST).contains(&options.block) {
            let (block, most) = (options.block, PlanOptions::WIDEST);
            return Err(PlanError::Block { block, most });
        }
        let count = symbolic.supernodes();
        let rates = machine.rates(options.precision);
        let value_bytes = options.precision.bytes();
        let sizes = symbolic.front_sizes();
        let secs: Vec<f64> = sizes
            // Rates are anybody's, and what is told by them goes forward in time.
            .map(|(npiv, nupd)| front_secs(rates, value_bytes, npiv, nupd).max(0.0))
            .collect();
        let alone_secs = secs.iter().sum();
        let threads = worth_threads(alone_secs, machine.threads);
        let (subtree_secs, first) = subtree_sums(&symbolic, &secs);
        let (roots, top) = cut(&symbolic, &secs, &subtree_secs, threads);
        let Largest { orders, panel_room } = Largest::of(&symbolic, options.block);
        let subtree = |s: u32| (subtree_secs[s as usize], first[s as usize]);
        let groves = groves(&symbolic, &roots, subtree, threads);
        let packed = |s: usize| packed_len(options, symbolic.npiv(s), symbolic.nupd(s));
        let in_groves = groves
            .iter()
            .flat_map(|t| t.first as usize..=t.root as usize);
        let packed_part = in_groves.map(packed).max().unwrap_or(0);
        let leaves = Leaves::of(&symbolic, options.block);
        let own_bytes = workspace_bytes(options, orders, &leaves, threads)
            + bytes((panel_room * threads) as u64, value_bytes)?;
        let analysis_bytes = symbolic.heap_bytes() + plan_bytes(count);
        let may = |all: u64| all.saturating_sub(own_bytes + analysis_bytes) / value_bytes as u64;
        let needs = Needs {
            threads,
            roots: &roots,
            packed_below: packed_part * threads as u64,
            packed: &packed,
            limit: machine.memory_bytes.map_or(u64::MAX, may),
        };
        let tree = Tree::new(&symbolic, &leaves, options.block, value_bytes, &first);
        let by_time = |top: &[u32]| TopOrder::by_time(&symbolic, top, &secs, threads);
        let laid = Laid::new(&tree, &needs, top, by_time)?;
        let below = list_schedule(groves.iter().map(|t| t.secs), threads);
        let above: f64 = laid.top.fronts.iter().map(|&s| secs[s as usize]).sum();
        let memory = MemoryUse {
            factor_bytes: bytes(laid.places.factor_len, value_bytes)?,
            update_bytes: bytes(laid.places.arena_len - laid.places.factor_len, value_bytes)?,
            workspace_bytes: own_bytes + bytes(laid.packed_len, value_bytes)?,
            analysis_bytes,
        };
        let plan = Self {
            predicted_secs: below + above / threads as f64,
            alone_secs,
            symbolic,
            options: *options,
            threads,
            laid,
            groves,
            memory,
            orders,
            packed_part,
            panel_room,
            leaves,
        };
        plan.check(machine.memory_bytes)?;
        Ok(plan)
    }

    /// Whether the plan's peak fits into `budget` bytes (`None`: no limit).
    ///
    /// # Errors
    /// [`PlanError::OverBudget`] with the numbers.
    pub fn check(&self, budget: Option<u64>) -> Result<(), PlanError> {
        let needed_bytes = self.memory.peak_bytes();
        match budget {
            Some(budget_bytes) if needed_bytes > budget_bytes => Err(PlanError::OverBudget {
                needed_bytes,
                factor_bytes: self.memory.factor_bytes,
                update_bytes: self.memory.update_bytes,
                budget_bytes,
                precision: self.precision(),
            }),
            _ => Ok(()),
        }
    }

    /// The structure that is factorized.
    #[inline]
    pub fn symbolic(&self) -> &Arc<SymbolicFactor> {
        &self.symbolic
    }

    /// Precision of the factor.
    pub fn precision(&self) -> Precision {
        self.options.precision
    }

    /// Columns of a block column.
    #[inline]
    pub fn block(&self) -> usize {
        self.options.block
    }

    /// Threads that the plan is made for: no more than the machine has, and than the work is worth.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Layout of the factor panel of supernode `s` when it is final.
    #[inline]
    pub fn panel_layout(&self, s: usize) -> PanelLayout {
        PanelLayout::new(
            self.symbolic.npiv(s),
            self.symbolic.nupd(s),
            self.options.block,
            self.options.precision.bytes(),
        )
    }

    /// Layout of the pivot columns of supernode `s` while its front is worked on.
    #[inline]
    pub fn front_layout(&self, s: usize) -> BlockColumns {
        BlockColumns::panel(
            self.symbolic.npiv(s),
            self.symbolic.nupd(s),
            self.options.block,
        )
    }

    /// Numbers of the largest [`front_layout`](Self::front_layout) that is not the final layout: those pivot columns are
    /// worked on in room of the thread's own.
    #[inline]
    pub fn panel_room(&self) -> usize {
        self.panel_room
    }

    /// Layout of the update matrix of supernode `s`.
    #[inline]
    pub fn update_layout(&self, s: usize) -> BlockColumns {
        BlockColumns::update(self.symbolic.nupd(s), self.options.block)
    }

    /// Where the panel of supernode `s` stands in the arena, in numbers.
    #[inline]
    pub fn panel_range(&self, s: usize) -> Range<u64> {
        let from = self.laid.places.panel[s];
        from..from + self.panel_layout(s).len() as u64
    }

    /// Where the panel of supernode `s` begins in the arena, in numbers.
    #[inline]
    pub fn panel_start(&self, s: usize) -> u64 {
        self.laid.places.panel[s]
    }

    /// Whether no update matrix ever stands where the panel of supernode `s` does, which is worked on there: in a
    /// new arena it finds zeros.
    pub fn panel_is_fresh(&self, s: usize) -> bool {
        !Strips::are_for(self.symbolic.npiv(s), self.symbolic.nupd(s))
            && self.panel_range(s).end <= self.laid.places.panels_only
    }

    /// Where the update matrix of supernode `s` stands; it lives from the front of `s` to that of
    /// the parent, and shares its room with panels that are begun later.
    #[inline]
    pub fn update_place(&self, s: usize) -> UpdatePlace {
        self.laid.places.update[s]
    }

    /// Whether the update matrix of supernode `s` is never made: it is a leaf of a few pivots, and its parent subtracts the product of its
    /// rows from its own front.
    #[inline]
    pub fn update_is_implicit(&self, s: usize) -> bool {
        self.leaves.contain(s)
    }

    /// Length of all panels, in numbers: they stand at the left of the arena.
    pub fn factor_len(&self) -> u64 {
        self.laid.places.factor_len
    }

    /// Length of the arena that holds panels and update matrices, in numbers.
    pub fn arena_len(&self) -> u64 {
        self.laid.places.arena_len
    }

    /// Where the stack of thread `member` stands in the arena, in numbers; with one thread there
    /// is none, as all places are absolute.
    #[inline]
    pub fn stack(&self, member: usize) -> Range<u64> {
        let from = self.laid.places.stacks.get(member).copied().unwrap_or(0);
        from..from + self.laid.places.stack_len
    }

    /// Groves, each a task of one thread, in the order in which they are to be begun; one thread's
    /// places depend on it.
    pub fn groves(&self) -> &[Grove] {
        &self.groves
    }

    /// Supernodes above the subtrees, in the order in which they are to be begun, children before parents; threads work on them
    /// together.
    pub fn top(&self) -> &[u32] {
        &self.laid.top.fronts
    }

    /// A front of [`top`](Self::top) may be begun when its children are done, and all that are more than so many places before it; one
    /// that is more than so many behind the first also waits for all subtrees, and without a window all do.
    pub fn top_window(&self) -> usize {
        self.laid.top.window
    }

    /// Where the packed rows of the front at place `k` of [`top`](Self::top) have room, in numbers.
    pub fn top_packed(&self, k: usize) -> u64 {
        self.laid.packed_from + self.laid.packed.at[k]
    }

    /// Memory at the peak.
    pub fn memory(&self) -> &MemoryUse {
        &self.memory
    }

    /// Order of the largest front.
    pub fn largest_front(&self) -> usize {
        self.orders[0]
    }

    /// Order of the largest front above leaves of which the updates are implicit, 0 if there are none.
    pub fn largest_above_leaves(&self) -> usize {
        self.leaves.order
    }

    /// Visits of such leaves to bands of their parents' fronts that there is room for at a time, those of the last leaf counted.
    pub fn leaf_visits(&self) -> usize {
        self.leaves.visits
    }

    /// Most children of a front that are no such leaves, 0 if there are none of these at all.
    pub fn most_beside_leaves(&self) -> usize {
        self.leaves.others
    }

    /// Order of the largest front that is eliminated in one piece.
    pub fn largest_small_front(&self) -> usize {
        self.orders[1]
    }

    /// Numbers of working memory for the packed rows of fronts that are eliminated in steps.
    pub fn packed_len(&self) -> u64 {
        self.laid.packed_len
    }

    /// The part of [`packed_len`](Self::packed_len) that is one thread's in the subtrees.
    #[inline]
    pub fn packed_part(&self) -> u64 {
        self.packed_part
    }

    /// Operations that will be done, amalgamation's zeros included.
    pub fn flops_done(&self) -> u128 {
        self.symbolic.stats().flops_stored
    }

    /// Predicted seconds of a refactorization.
    pub fn predicted_secs(&self) -> f64 {
        self.predicted_secs
    }

    /// Predicted seconds that its threads save, compared with one of them.
    pub fn saved_secs(&self) -> f64 {
        self.alone_secs - self.predicted_secs
    }
}

/// Work that a thread is worth, in seconds. Each has working memory of its own, and is called at each factorization, which takes
/// about 15 µs: with fewer seconds for each, what they save is soon less than that.
const SECS_PER_THREAD: f64 = 100e-6;

/// How many of `threads` are worth it where one of them takes so many seconds. The second one is from half its due on.
fn worth_threads(alone_secs: f64, threads: usize) -> usize {
    let more = (alone_secs / SECS_PER_THREAD).round() as usize; // as many as there can be, not a wrong number, where it is infinite
    threads.clamp(1, more.saturating_add(1))
}

/// Sums of `secs` over subtrees, and the first supernode of every subtree.
fn subtree_sums(symbolic: &SymbolicFactor, secs: &[f64]) -> (Vec<f64>, Vec<u32>) {
    let mut sums = secs.to_vec();
    let mut first: Vec<u32> = (0..secs.len() as u32).collect();
    for s in 0..secs.len() {
        if let Some(parent) = symbolic.parent(s) {
            sums[parent] += sums[s];
            first[parent] = first[parent].min(first[s]);
        }
    }
    (sums, first)
}
