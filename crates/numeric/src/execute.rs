//! The host executor: subtrees side by side, then the top of the tree, several fronts at a time and large ones by several threads.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use tamarack_dense::{
    Floor, Isa, Run, Strips, UpdateMode, Workspace, eliminate_tiny, is_small, is_tiny,
    panel_cholesky, partial_cholesky, prefetch, unwritten, write_strips,
};
use tamarack_plan::FactorPlan;
use tamarack_store::Fresh;
use tamarack_symbolic::SymbolicFactor;

use crate::above::Above;
use crate::control::Meter;
use crate::eliminate::{Crew, Stop, eliminate};
use crate::front::{Front, Memory, Packed};
use crate::leaves::Visits;
use crate::profile::{Activity, Book, FrontId, Laps, Phase, Span};
use crate::team::{Aid, Patience, Team};
use crate::value::Value;

/// Lines that are asked for where a final panel will stand, before the front is assembled: those of this one and of some to
/// come. With 16 a factorization of tiny fronts takes 2 % longer, with as many as the panel has 4 % (run `solve-7`).
const PANEL_LINES: usize = 32;

/// Bytes of a line of the caches.
pub(crate) const LINE_BYTES: usize = 64;

/// Working memory of one member.
pub(crate) struct MemberSpace<T> {
    kernel: Workspace<T>,
    pub runs: Vec<Run>,
    /// Children with update matrices of the front that is assembled.
    pub others: Vec<u32>,
    pub visits: Visits,
    /// Operations of fronts that are done and that the meter does not know of yet.
    uncounted: u64,
    /// Pivot columns of a front whose final panel has another layout; between fronts nothing is in it.
    panel: Box<[MaybeUninit<T>]>,
}

/// Working memory of all members of a team; a member uses only its own.
pub(crate) struct Spaces<T>(Vec<UnsafeCell<MemberSpace<T>>>);

// SAFETY: a member number is used by one thread at a time (`Team::run`), and each thread uses the
// space of its own number only.
unsafe impl<T: Value> Sync for Spaces<T> {}

impl<T: Value> Spaces<T> {
    /// Room for the fronts of a plan, for `members`.
    pub fn new(members: usize, plan: &FactorPlan) -> Self {
        let space = || MemberSpace {
            kernel: Workspace::for_fronts(plan.block(), plan.largest_small_front()),
            runs: Vec::with_capacity(plan.largest_front()),
            others: Vec::with_capacity(plan.most_beside_leaves()),
            visits: Visits::for_plan(plan),
            uncounted: 0,
            panel: unwritten(plan.panel_room()),
        };
        Self((0..members).map(|_| UnsafeCell::new(space())).collect())
    }

    /// # Safety
    /// Nobody else may hold this member's space.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn of(&self, member: usize) -> &mut MemberSpace<T> {
        // SAFETY: the caller's promise.
        unsafe { &mut *self.0[member].get() }
    }
}

/// The failed pivot with the smallest elimination position so far.
#[derive(Debug)]
pub(crate) struct FirstFailure {
    position: AtomicU64,
    pivot: Mutex<f64>,
}

impl FirstFailure {
    fn new() -> Self {
        Self {
            position: AtomicU64::new(u64::MAX),
            pivot: Mutex::new(0.0),
        }
    }

    fn report(&self, position: u64, pivot: f64) {
        let mut kept = self.pivot.lock().unwrap_or_else(PoisonError::into_inner);
        if position < self.position.load(Ordering::Relaxed) {
            self.position.store(position, Ordering::Relaxed);
            *kept = pivot;
        }
    }

    /// Whether work on columns from `column` on can no longer matter: they come after a failure.
    fn precedes(&self, column: usize) -> bool {
        self.position.load(Ordering::Relaxed) <= column as u64
    }

    fn into_inner(self) -> Option<(u32, f64)> {
        let pivot = self
            .pivot
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        u32::try_from(self.position.into_inner())
            .ok()
            .map(|position| (position, pivot))
    }
}

/// Seconds to start and end threads, with what they meet for the first time. A first factorization in which they save less does
/// without: one that is never repeated would only lose.
const START_SECS: f64 = 300e-6;

/// Predicted seconds from which the pages of a new arena are touched at once: the host of a virtual machine takes back what has been free
/// for two seconds, and gives it again at a tenth of the rate (run `first-7`).
const LONG_SECS: f64 = 0.25;

/// Seconds to call a thread that has worked before. A repeated factorization in which they save less does without.
const CALL_SECS: f64 = 15e-6;

/// What a run of the executor came to.
#[derive(Debug, PartialEq)]
pub(crate) enum Outcome {
    Done,
    Cancelled,
    /// Elimination position and value of the first pivot that is not positive.
    Failed(u32, f64),
}

/// One numeric factorization in progress.
pub(crate) struct Execution<'a, T> {
    pub memory: Memory<'a, T>,
    pub symbolic: &'a SymbolicFactor,
    pub spaces: &'a Spaces<T>,
    pub above: &'a Above,
    /// Values of the user's matrix.
    pub values: &'a [T],
    /// Added to the diagonal.
    pub shift: T,
    /// Whether nothing was factorized in this arena before.
    pub is_first: bool,
    /// Then the arena's pages, if it holds zeros.
    pub fresh: Option<Fresh<'a>>,
    pub isa: Isa,
    /// What becomes zero of L.
    pub floor: Floor<T>,
    pub meter: Meter<'a>,
}

impl<T: Value> Execution<'_, T> {
    /// Factorizes: first the subtrees, one thread each, then the fronts above them.
    ///
    /// A pivot that fails at elimination position p stops only what comes after p, so the failure
    /// found has the smallest position there is, whatever the number of threads.
    ///
    /// # Safety
    /// The arena has the plan's size and belongs to this run alone.
    pub unsafe fn run(self, team: &Team) -> Outcome {
        let failure = FirstFailure::new();
        let plan = self.memory.plan;
        let next = AtomicUsize::new(0);
        let calls_secs = match self.is_first {
            true => START_SECS,
            false => CALL_SECS * (plan.threads() - 1) as f64,
        };
        let short = plan.saved_secs() < calls_secs;
        let below = |member: usize| self.work_below(team, member, &next, &failure);
        let above = |aid: Aid<'_>| self.work_above(team, aid, &failure);
        if plan.predicted_secs() > LONG_SECS {
            self.touch_all(team);
        }
        self.above.begin();
        let members = if short { 1 } else { plan.threads() };
        // A profile keeps the phases apart.
        if plan.top_window() == 0 || short || team.profiler().is_some() {
            let of_subtrees = members.min(plan.groves().len());
            team.during(Phase::Subtrees, 0, || team.run_by(of_subtrees, &below));
            if !plan.top().is_empty() {
                team.during(Phase::Top, 0, || team.run_aided(members, &above));
            }
        } else {
            // Who finds no more subtrees goes on with what is above those that are done.
            team.run_aided(members, &|aid| {
                below(aid.member());
                above(aid);
            });
        }
        match failure.into_inner() {
            _ if self.meter.cancelled() => Outcome::Cancelled,
            Some((position, pivot)) => Outcome::Failed(position, pivot),
            None => Outcome::Done,
        }
    }

    /// Touches all pages of a new arena.
    fn touch_all(&self, team: &Team) {
        if let Some(fresh) = self.untouched() {
            team.for_each_as(Span::new(Activity::Share), fresh.pages(), |page, _| {
                if !self.meter.cancelled() {
                    fresh.touch_page(page);
                }
            });
        }
    }

    /// A member's part of the subtrees: as many as it gets of those from `next` on.
    fn work_below(&self, team: &Team, member: usize, next: &AtomicUsize, failure: &FirstFailure) {
        let plan = self.memory.plan;
        // A team may have more members than the plan has stacks.
        while member < plan.threads() {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(grove) = plan.groves().get(place) else {
                break;
            };
            let profiler = team.profiler();
            let mut book = profiler.map(|p| Book::subtree(p, member, grove.root));
            for s in grove.first..=grove.root {
                let crew = (Crew::Alone(member), self.memory.packed_part(member));
                // SAFETY: groves are disjoint, and the stack is this member's own.
                unsafe { self.process(s as usize, member, crew, failure, book.as_mut()) };
            }
            if let Some(book) = book {
                book.close();
            }
            self.count_rest(member);
            self.above.end_grove(place);
        }
    }

    /// A member's part of the fronts above the subtrees: those that it begins, and help with others' as long as there are any.
    fn work_above(&self, team: &Team, aid: Aid<'_>, failure: &FirstFailure) {
        let plan = self.memory.plan;
        // One front at a time is the caller's: another member may be kept from it by another program.
        let begins = aid.member() == 0 || plan.top_window() > 0;
        let mut patience = Patience::default();
        while !self.above.all_done() && !aid.is_broken() {
            if let Some(k) = begins.then(|| self.above.take()).flatten() {
                let s = plan.top()[k] as usize;
                let profiler = team.profiler();
                let mut book = profiler.map(|p| Book::top(p, aid.member(), s as u32));
                let crew = match aid.is_alone() {
                    true => Crew::Alone(aid.member()),
                    false => {
                        let children = self.symbolic.children(s).len();
                        Crew::of(team, aid, self.front_id(s), self.size(s), children)
                    }
                };
                let packed = self.memory.packed.wrapping_add(plan.top_packed(k) as usize);
                // SAFETY: all children are done, and so are all fronts that use its memory before; it was taken by this member alone.
                unsafe { self.process(s, aid.member(), (crew, packed), failure, book.as_mut()) };
                if let Some(book) = book {
                    book.close();
                }
                self.count_rest(aid.member());
                self.above.end(k);
            } else if !aid.help() {
                team.rest(aid.member(), &mut patience);
                continue;
            }
            patience = Patience::default();
        }
    }

    /// Counts a front that was eliminated whole.
    fn count(&self, member: usize, npiv: usize, nupd: usize) {
        // SAFETY: the space is this member's, and no reference into it is held.
        let uncounted = unsafe { &mut self.spaces.of(member).uncounted };
        self.meter.add_front(uncounted, npiv, nupd);
    }

    /// Counts what is not yet counted of the fronts of a member.
    fn count_rest(&self, member: usize) {
        // SAFETY: as above.
        let uncounted = unsafe { &mut self.spaces.of(member).uncounted };
        self.meter.add(std::mem::take(uncounted));
    }

    fn front_id(&self, s: usize) -> FrontId {
        let (npiv, nupd) = self.size(s);
        FrontId::new(s, npiv, nupd)
    }

    /// Pivots of a front, and rows below.
    fn size(&self, s: usize) -> (usize, usize) {
        (self.symbolic.npiv(s), self.symbolic.nupd(s))
    }

    /// Assembles and eliminates one front, unless the work has been stopped, with room for its packed rows.
    ///
    /// # Safety
    /// The children are done, and nobody else works on this front or uses the room.
    unsafe fn process(
        &self,
        s: usize,
        member: usize,
        (crew, packed): (Crew<'_>, *mut T),
        failure: &FirstFailure,
        mut book: Option<&mut Book<'_>>,
    ) {
        let first = self.symbolic.columns(s).start;
        if self.meter.cancelled() || failure.precedes(first) {
            return;
        }
        // SAFETY: the space is this member's, and its room for panels is this front's until it is done.
        let room = unsafe { self.spaces.of(member).panel.as_mut_ptr().cast() };
        let front = self.memory.front(s, member, room);
        // Of a front that several work on, each touches what it assembles.
        if let (Some(fresh), Crew::Alone(_)) = (self.untouched(), crew) {
            self.memory.touch(fresh, s, &front.update);
        }
        let (npiv, nupd) = (self.symbolic.npiv(s), self.symbolic.nupd(s));
        let block = front.panel.layout.block;
        let (whole, tiny) = (is_small(npiv, nupd), is_tiny(npiv, nupd, block));
        let strips = Strips::are_for(npiv, nupd);
        if strips {
            self.ask_for_panel(s);
        }
        let id = FrontId::new(s, npiv, nupd);
        let mut laps = book.as_mut().map_or_else(Laps::off, |book| book.begin(id));
        // SAFETY: the caller's promise.
        let outcome = unsafe {
            if tiny {
                self.assemble_tiny(s, member, &front, &mut laps);
                let (mode, to) = (self.update_mode(s), Some(self.memory.panel(s)));
                let outcome =
                    eliminate_tiny(front.view().with_floor(self.floor), mode, self.isa, to);
                self.count(member, npiv, nupd);
                outcome.map_err(Stop::Pivot)
            } else if whole {
                let children = self.symbolic.children(s);
                self.assemble_columns((s, children), member, &front, 0..npiv + nupd, &mut laps);
                self.subtract_leaves(s, member, &front, Crew::Alone(member), &mut laps);
                let outcome = self.eliminate_whole(&front, self.update_mode(s), member);
                self.count(member, npiv, nupd);
                outcome
            } else if npiv == 0 {
                self.assemble(s, member, &front, crew, &mut laps);
                Ok(())
            } else {
                self.assemble(s, member, &front, crew, &mut laps);
                match self.meter.cancelled() {
                    true => Err(Stop::Cancelled), // what is not assembled was perhaps never written
                    false => eliminate(
                        front.view().with_floor(self.floor),
                        packed,
                        crew,
                        &self.meter,
                    ),
                }
            }
        };
        if strips && !tiny && outcome.is_ok() {
            // SAFETY: the panel is final, and its place in the arena is nobody else's.
            unsafe { write_strips(room, (npiv, nupd), block, self.memory.panel(s), self.isa) };
        }
        if let Some(book) = book {
            book.end(id, laps, !whole && matches!(crew, Crew::Aided(..)));
        }
        if let Err(Stop::Pivot(pivot)) = outcome {
            failure.report((first + pivot.index) as u64, pivot.value);
        }
    }

    /// The pages of a new arena, if it has any of its own.
    #[inline(always)]
    pub fn untouched(&self) -> Option<&Fresh<'_>> {
        self.fresh.as_ref().filter(|fresh| !fresh.is_empty())
    }

    /// Asks for the place of a final panel: tiny fronts are eliminated in less time than it takes to come.
    #[inline(always)]
    fn ask_for_panel(&self, s: usize) {
        let to = self.memory.panel(s);
        for k in 0..PANEL_LINES {
            prefetch(to.wrapping_add(k * LINE_BYTES / size_of::<T>()));
        }
    }

    /// Eliminates a small front in one piece.
    ///
    /// # Safety
    /// As for [`process`](Self::process).
    unsafe fn eliminate_whole(
        &self,
        front: &Front<T>,
        mode: Option<UpdateMode>,
        member: usize,
    ) -> Result<(), Stop> {
        let slice = |m: &Packed<T>| match m.layout.len() {
            0 => &mut [][..],
            // SAFETY: the plan keeps this matrix apart from all other live ones.
            len => unsafe { std::slice::from_raw_parts_mut(m.data, len) },
        };
        // SAFETY: the space is this member's.
        let workspace = unsafe { &mut self.spaces.of(member).kernel };
        let (size, block) = (
            (front.npiv(), front.update.layout.rows),
            front.panel.layout.block,
        );
        let panel = slice(&front.panel);
        match mode {
            Some(mode) => {
                let (update, how) = (slice(&front.update), (mode, self.floor));
                partial_cholesky(panel, update, size, block, how, workspace)
            }
            None => panel_cholesky(panel, size, block, self.floor, workspace),
        }
        .map_err(Stop::Pivot)
    }

    /// What becomes of the update matrix of `s`, none if it is never made. A small front without children finds nothing in it, and it
    /// need not be cleared.
    pub fn update_mode(&self, s: usize) -> Option<UpdateMode> {
        let leaf = self.symbolic.children(s).is_empty();
        if !leaf || !is_small(self.symbolic.npiv(s), self.symbolic.nupd(s)) {
            return Some(UpdateMode::Accumulate);
        }
        let implicit = self.memory.plan.update_is_implicit(s);
        (!implicit).then_some(UpdateMode::Overwrite)
    }
}
