//! Where the time of factorizations and solves goes.
//!
//! A [`Profiler`] belongs to a [`Team`](crate::Team) and has a lane for each member, which that
//! member alone writes as long as one call at a time uses the team. Two things are kept: sums
//! by phase, member and size class of fronts, which are complete, and a list of events of fixed
//! length, from which the shortest go when it is full. In subtrees small fronts are timed by sample
//! (see [`book`]) and become one event together. So the cost is a few nanoseconds for a small front
//! and half a microsecond for a large one; the memory is [`EVENTS`] events for each member, taken
//! beforehand. Without a profiler the cost is a branch for each front and each loop.

mod book;
mod data;
mod events;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

pub(crate) use book::{Book, Laps};
pub use data::{
    Activity, CLASS_BOUNDS, Call, ClassTime, Event, FrontId, LaneTime, Part, Phase, PhaseTime,
    Profile,
};

use crate::team::{Aid, Indices, Patience, Team};
use book::Cell;
use events::Events;

/// Size classes of fronts.
pub(crate) const CLASSES: usize = CLASS_BOUNDS.len() + 1;

/// Events kept for each member: 640 KB.
pub(crate) const EVENTS: usize = 1 << 14;

/// Collects where the time goes; see the module.
#[derive(Debug)]
pub struct Profiler {
    zero: Instant,
    /// Nanoseconds that reading the clock adds to what is timed.
    clock_ns: u64,
    /// Number of the phase that is going on.
    phase: AtomicUsize,
    totals: Mutex<[Total; Phase::ALL.len()]>,
    lanes: Vec<Mutex<Lane>>,
}

/// A phase as a whole.
#[derive(Clone, Copy, Debug, Default)]
struct Total {
    wall_ns: u64,
    bytes: u64,
}

/// What one member did.
#[derive(Debug)]
struct Lane {
    phases: [LanePhase; Phase::ALL.len()],
    events: Events,
}

#[derive(Clone, Copy, Debug, Default)]
struct LanePhase {
    /// In tasks and shares of loops.
    busy_ns: u64,
    /// At the end of loops, for the others; member 0 only.
    wait_ns: u64,
    classes: [Cell; CLASSES],
}

/// What somebody is doing, with the front that it is for.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// What.
    pub activity: Activity,
    /// Which front, where it is one.
    pub front: Option<FrontId>,
}

impl Profiler {
    /// A profiler with lanes for `members`.
    pub(crate) fn new(members: usize) -> Self {
        let lane = || Lane {
            phases: Default::default(),
            events: Events::with_capacity(EVENTS),
        };
        Self {
            zero: Instant::now(),
            clock_ns: clock_ns(),
            phase: AtomicUsize::new(0),
            totals: Mutex::default(),
            lanes: (0..members.max(1)).map(|_| Mutex::new(lane())).collect(),
        }
    }

    /// Nanoseconds since the profiler was made.
    fn ns(&self, at: Instant) -> u64 {
        at.saturating_duration_since(self.zero).as_nanos() as u64
    }

    fn lane(&self, member: usize) -> MutexGuard<'_, Lane> {
        let last = self.lanes.len() - 1;
        lock(&self.lanes[member.min(last)])
    }

    fn current(&self) -> usize {
        self.phase.load(Ordering::Relaxed)
    }

    /// Does `work`, a phase of a call that has to move `bytes`, on member 0.
    fn during<R>(&self, phase: Phase, bytes: u64, work: impl FnOnce() -> R) -> R {
        let outer = self.phase.swap(phase as usize, Ordering::Relaxed);
        let began = Instant::now();
        let result = work();
        let span = Span::new(Activity::Phase(phase));
        let wall = self.push(0, span, began, 0);
        let total = &mut lock(&self.totals)[phase as usize];
        total.wall_ns += wall;
        total.bytes += bytes;
        self.phase.store(outer, Ordering::Relaxed);
        result
    }

    /// Does `work`, a call of the library: what of it is in no phase counts as the phase
    /// [`Call::rest`].
    fn calling<R>(&self, call: Call, work: impl FnOnce() -> R) -> R {
        let booked = || lock(&self.totals).iter().map(|t| t.wall_ns).sum::<u64>();
        let (began, before) = (Instant::now(), booked());
        let outer = self.phase.swap(call.rest() as usize, Ordering::Relaxed);
        let result = work();
        let wall = self.push(0, Span::new(Activity::Call(call)), began, 0);
        self.phase.store(outer, Ordering::Relaxed);
        // The totals may have been taken meanwhile.
        let inside = booked().saturating_sub(before);
        lock(&self.totals)[call.rest() as usize].wall_ns += wall.saturating_sub(inside);
        result
    }

    /// Notes an event that began at `began` and ends now; returns its nanoseconds.
    pub(crate) fn push(&self, member: usize, span: Span, began: Instant, fronts: u32) -> u64 {
        let (from, to) = (self.ns(began), self.ns(Instant::now()));
        self.lane(member).push(span, from, to, fronts);
        to - from
    }

    /// Books a member's share of a loop, or a piece of work between loops, that ends now.
    pub(crate) fn took(&self, member: usize, span: Span, began: Instant) {
        let (from, to) = (self.ns(began), self.ns(Instant::now()));
        let phase = self.current();
        let mut lane = self.lane(member);
        lane.push(span, from, to, 0);
        let cell = &mut lane.phases[phase];
        cell.busy_ns += to - from;
        if let (Some(front), Some(part)) = (span.front, span.activity.part()) {
            cell.classes[front.class()].ns[part as usize] += to - from;
        }
    }

    /// Books the time in which a member that had begun a loop waited for the others.
    pub(crate) fn waited(&self, member: usize, began: Instant) {
        let waited = self.push(member, Span::new(Activity::Wait), began, 0);
        self.lane(member).phases[self.current()].wait_ns += waited;
    }

    /// Books a moment in which a member had nothing to do, if it is the caller, who else counts as busy.
    pub(crate) fn rested(&self, member: usize, began: Instant) {
        if member == 0 {
            let waited = self.ns(Instant::now()).saturating_sub(self.ns(began));
            self.lane(0).phases[self.current()].wait_ns += waited;
        }
    }

    /// Books parts of a front that a member did in its share of a loop.
    pub(crate) fn add(&self, member: usize, front: FrontId, laps: &Laps) {
        let phase = self.current();
        self.lane(member).phases[phase].classes[front.class()].add_laps(laps, self.clock_ns);
    }

    /// Everything since the profiler was made or this was called last; forgets it.
    ///
    /// What is going on meanwhile is booked partly here and partly the next time.
    pub fn take(&self) -> Profile {
        let totals = std::mem::take(&mut *lock(&self.totals));
        let lanes = self.lanes.iter().map(|lane| {
            let mut lane = lock(lane);
            let (events, dropped) = lane.events.take();
            data::TakenLane {
                phases: std::mem::take(&mut lane.phases),
                events,
                dropped,
            }
        });
        data::Taken {
            totals,
            lanes: lanes.collect(),
        }
        .profile()
    }
}

/// Work that is booked where the team is [`profiled`](Team::profiled).
impl Team {
    /// Does `work` as a phase that has to move so many bytes.
    pub fn during<R>(&self, phase: Phase, bytes: u64, work: impl FnOnce() -> R) -> R {
        match self.profiler() {
            None => work(),
            Some(profiler) => profiler.during(phase, bytes, work),
        }
    }

    /// Does `work` as a call of the library.
    pub fn calling<R>(&self, call: Call, work: impl FnOnce() -> R) -> R {
        match self.profiler() {
            None => work(),
            Some(profiler) => profiler.calling(call, work),
        }
    }

    /// Does a piece of a member's work, of so many fronts, as an event inside what it is doing.
    pub fn noting<R>(&self, member: usize, span: Span, fronts: u32, work: impl FnOnce() -> R) -> R {
        let Some(profiler) = self.profiler() else {
            return work();
        };
        let began = Instant::now();
        let result = work();
        profiler.push(member, span, began, fronts);
        result
    }

    /// Does what a member does between loops that it shares, and books it.
    pub(crate) fn once_as<R>(&self, member: usize, span: Span, work: impl FnOnce() -> R) -> R {
        let Some(profiler) = self.profiler() else {
            return work();
        };
        let began = Instant::now();
        let result = work();
        profiler.took(member, span, began);
        result
    }

    /// Does a piece of a member's work in a loop, and books it if it was any, as `work` says; returns what it says.
    pub fn taking(&self, member: usize, span: Span, work: impl FnOnce() -> bool) -> bool {
        let Some(profiler) = self.profiler() else {
            return work();
        };
        let began = Instant::now();
        let any = work();
        if any {
            profiler.took(member, span, began);
        }
        any
    }

    /// Waits a moment, as a member that has nothing to do.
    pub fn rest(&self, member: usize, patience: &mut Patience) {
        let began = self.profiler().map(|profiler| (profiler, Instant::now()));
        patience.wait();
        if let Some((profiler, began)) = began {
            profiler.rested(member, began);
        }
    }

    /// [`for_each`](Self::for_each) with each member's share booked.
    pub fn for_each_as(&self, span: Span, count: usize, body: impl Fn(usize, usize) + Sync) {
        self.for_each_by_as(self.size(), span, count, body);
    }

    /// [`for_each_by`](Self::for_each_by) with each member's share booked.
    pub fn for_each_by_as(
        &self,
        members: usize,
        span: Span,
        count: usize,
        body: impl Fn(usize, usize) + Sync,
    ) {
        let Some(profiler) = self.profiler() else {
            return self.for_each_by(members, count, body);
        };
        let members = members.min(count).min(self.size());
        if members <= 1 {
            let began = Instant::now();
            (0..count).for_each(|i| body(i, 0));
            return profiler.took(0, span, began);
        }
        let indices = Indices::new(count);
        self.run_by(members, &|member| {
            self.taking(member, span, || indices.each(|i| body(i, member)));
        });
    }

    /// [`Aid::for_each`] with the share of each member booked.
    pub(crate) fn share_as(
        &self,
        (aid, helpers): (Aid<'_>, usize),
        span: Span,
        count: usize,
        body: impl Fn(usize, usize) + Sync,
    ) {
        let Some(profiler) = self.profiler() else {
            return aid.for_each(helpers, count, body);
        };
        let (own, indices) = (aid.member(), Indices::new(count));
        // When this member had nothing more to do.
        let ended = Mutex::new(None);
        aid.share(helpers.min(count.saturating_sub(1)), &|member| {
            self.taking(member, span, || indices.each(|i| body(i, member)));
            if member == own {
                *lock(&ended) = Some(Instant::now());
            }
        });
        if let Some(ended) = *lock(&ended) {
            profiler.waited(own, ended);
        }
    }
}

impl Span {
    /// Of no front.
    pub fn new(activity: Activity) -> Self {
        Self {
            activity,
            front: None,
        }
    }

    /// Of a front.
    pub fn of(activity: Activity, front: FrontId) -> Self {
        Self {
            activity,
            front: Some(front),
        }
    }
}

impl Lane {
    fn push(&mut self, span: Span, from_ns: u64, to_ns: u64, fronts: u32) {
        self.events.push(Event {
            activity: span.activity,
            start_ns: from_ns,
            duration_ns: to_ns - from_ns,
            front: span.front,
            fronts,
        });
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code that can panic runs under these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The least difference of two readings of the clock.
fn clock_ns() -> u64 {
    let reading = || {
        let first = Instant::now();
        Instant::now().duration_since(first).as_nanos() as u64
    };
    (0..200).map(|_| reading()).min().unwrap_or(0)
}
