//! What a profiler found, as data.

use super::book::Cell;
use super::{CLASSES, LanePhase, Total};

/// Largest front order `npiv + nupd` of each size class but the last, which has no bound.
pub const CLASS_BOUNDS: [usize; 8] = [8, 32, 64, 128, 256, 512, 1024, 2048];

/// A phase of a factorization or of a solve; phases follow each other and do not overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Memory for the factor, checks: what a factorization does besides the phases below.
    Setup,
    /// Subtrees of the assembly tree, each by one thread.
    Subtrees,
    /// Fronts above the subtrees, each by all threads.
    Top,
    /// Right-hand sides into elimination order, solutions back.
    Permute,
    /// Forward substitution.
    Forward,
    /// Backward substitution.
    Backward,
    /// Residuals and corrections: what a solve does besides the phases above.
    Refine,
}

impl Phase {
    /// All, in the order in which they happen.
    pub const ALL: [Self; 7] = [
        Self::Setup,
        Self::Subtrees,
        Self::Top,
        Self::Permute,
        Self::Forward,
        Self::Backward,
        Self::Refine,
    ];

    /// Name as users read it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Setup => "setup",
            Self::Subtrees => "subtrees",
            Self::Top => "top",
            Self::Permute => "permute",
            Self::Forward => "forward",
            Self::Backward => "backward",
            Self::Refine => "refine",
        }
    }

    /// Whether it belongs to a factorization.
    pub fn factorizes(self) -> bool {
        matches!(self, Self::Setup | Self::Subtrees | Self::Top)
    }
}

/// A call of the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// A factorization or refactorization.
    Factorize,
    /// A solve.
    Solve,
}

impl Call {
    /// The phase of what it does outside all phases.
    pub fn rest(self) -> Phase {
        match self {
            Self::Factorize => Phase::Setup,
            Self::Solve => Phase::Refine,
        }
    }
}

/// A part of the work on a front.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Clearing the front and adding entries of A.
    Entries,
    /// Adding the children's update matrices.
    ExtendAdd,
    /// Eliminating the pivots.
    Factor,
}

impl Part {
    /// How many there are.
    pub(crate) const COUNT: usize = 3;
    /// All, in the order in which they happen.
    pub(crate) const ALL: [Self; Self::COUNT] = [Self::Entries, Self::ExtendAdd, Self::Factor];

    pub(crate) fn activity(self) -> Activity {
        match self {
            Self::Entries => Activity::Entries,
            Self::ExtendAdd => Activity::ExtendAdd,
            Self::Factor => Activity::Factor,
        }
    }
}

/// What an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// A call from beginning to end.
    Call(Call),
    /// A phase from beginning to end.
    Phase(Phase),
    /// A subtree by one thread, named by its root.
    Subtree,
    /// One front.
    Front,
    /// A part of a front by one thread: clearing it, entries of A.
    Entries,
    /// A part of a front by one thread: extend-add.
    ExtendAdd,
    /// A part of a front by one thread: elimination.
    Factor,
    /// A member's share in the assembly of a front.
    Assembly,
    /// The diagonal block of a step of a front.
    Diagonal,
    /// A member's share in solving the rows below a diagonal block.
    PanelSolve,
    /// A member's share in updating what follows a step.
    Update,
    /// A member's share of a loop of a solve.
    Share,
    /// The caller waits at the end of a loop.
    Wait,
}

impl Activity {
    /// Name as users read it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Call(Call::Factorize) => "factorize",
            Self::Call(Call::Solve) => "solve",
            Self::Phase(phase) => phase.name(),
            Self::Subtree => "subtree",
            Self::Front => "front",
            Self::Entries => "entries",
            Self::ExtendAdd => "extend-add",
            Self::Factor => "factor",
            Self::Assembly => "assembly",
            Self::Diagonal => "diagonal block",
            Self::PanelSolve => "panel solve",
            Self::Update => "update",
            Self::Share => "share",
            Self::Wait => "wait",
        }
    }

    /// The part of a front's work that a share in a loop belongs to.
    pub(crate) fn part(self) -> Option<Part> {
        match self {
            Self::Diagonal | Self::PanelSolve | Self::Update => Some(Part::Factor),
            _ => None,
        }
    }
}

/// Which front.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrontId {
    /// Its supernode.
    pub supernode: u32,
    /// Pivots; for a [`Subtree`](Activity::Subtree) 0.
    pub npiv: u32,
    /// Rows below them; for a subtree 0.
    pub nupd: u32,
}

impl FrontId {
    /// The front of supernode `supernode` with this many pivots and rows below.
    pub fn new(supernode: usize, npiv: usize, nupd: usize) -> Self {
        // Supernodes, pivots and rows are `u32` in the symbolic factor.
        let [supernode, npiv, nupd] = [supernode, npiv, nupd].map(|v| v as u32);
        Self {
            supernode,
            npiv,
            nupd,
        }
    }

    /// Size class; see [`CLASS_BOUNDS`].
    #[inline]
    pub(crate) fn class(self) -> usize {
        let order = self.npiv as usize + self.nupd as usize;
        CLASS_BOUNDS.iter().filter(|&&bound| bound < order).count()
    }
}

/// Something a member did without a break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// What.
    pub activity: Activity,
    /// When it began, in nanoseconds since the team was made.
    pub start_ns: u64,
    /// How long it took, in nanoseconds.
    pub duration_ns: u64,
    /// Which front, where it is one.
    pub front: Option<FrontId>,
    /// Fronts that were done in it, where it is a subtree or a front.
    pub fronts: u32,
}

/// What one thread did in one phase; the sum is the phase's elapsed time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LaneTime {
    /// Clearing fronts and adding entries of A, in seconds.
    pub entries_secs: f64,
    /// Extend-add.
    pub extend_add_secs: f64,
    /// Elimination.
    pub factor_secs: f64,
    /// Everything else that is work: substitution and permutation in a solve.
    pub other_secs: f64,
    /// Waiting or asleep.
    pub idle_secs: f64,
}

impl LaneTime {
    /// Seconds of work.
    pub fn busy_secs(&self) -> f64 {
        self.entries_secs + self.extend_add_secs + self.factor_secs + self.other_secs
    }
}

/// One phase, of all calls together.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseTime {
    /// Which.
    pub phase: Phase,
    /// Elapsed seconds.
    pub wall_secs: f64,
    /// Bytes that had to be moved: the factor for substitutions, both copies of the right-hand
    /// sides for permutations, 0 elsewhere.
    pub bytes: u64,
    /// What each member of the team did; length: members.
    pub lanes: Vec<LaneTime>,
}

/// Fronts of one size class, over all threads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClassTime {
    /// Orders `npiv + nupd` in it: the smallest.
    pub smallest: usize,
    /// The largest; `None` for the last class.
    pub largest: Option<usize>,
    /// Fronts.
    pub fronts: u64,
    /// Operations of their elimination.
    pub flops: u128,
    /// Seconds of clearing them and adding entries of A, of all threads together.
    pub entries_secs: f64,
    /// Bytes written and read for that.
    pub entries_bytes: u64,
    /// Seconds of extend-add into them.
    pub extend_add_secs: f64,
    /// Bytes read and written for that.
    pub extend_add_bytes: u64,
    /// Seconds of elimination.
    pub factor_secs: f64,
}

impl ClassTime {
    /// Seconds of all threads together.
    pub fn secs(&self) -> f64 {
        self.entries_secs + self.extend_add_secs + self.factor_secs
    }
}

/// Where the time of factorizations and solves went; empty by default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// Phases, all of them, in the order of [`Phase::ALL`].
    pub phases: Vec<PhaseTime>,
    /// Fronts by size class, smallest first.
    pub classes: Vec<ClassTime>,
    /// What each member did, in the order in which it began, outer events before inner ones;
    /// length: members.
    pub events: Vec<Vec<Event>>,
    /// Events for which there was no room: the shortest ones.
    pub dropped_events: u64,
}

impl Profile {
    /// Elapsed seconds of factorizations.
    pub fn factorize_secs(&self) -> f64 {
        let phases = self.phases.iter().filter(|p| p.phase.factorizes());
        phases.map(|p| p.wall_secs).sum()
    }

    /// Elapsed seconds of solves.
    pub fn solve_secs(&self) -> f64 {
        let phases = self.phases.iter().filter(|p| !p.phase.factorizes());
        phases.map(|p| p.wall_secs).sum()
    }

    /// One phase; zeros where nothing was booked.
    pub fn phase(&self, phase: Phase) -> PhaseTime {
        let found = self.phases.iter().find(|p| p.phase == phase).cloned();
        found.unwrap_or(PhaseTime {
            phase,
            wall_secs: 0.0,
            bytes: 0,
            lanes: Vec::new(),
        })
    }
}

/// What was in a profiler.
pub(super) struct Taken {
    pub totals: [Total; Phase::ALL.len()],
    pub lanes: Vec<TakenLane>,
}

/// What was in a lane.
pub(super) struct TakenLane {
    pub phases: [LanePhase; Phase::ALL.len()],
    pub events: Vec<Event>,
    pub dropped: u64,
}

impl Taken {
    pub fn profile(self) -> Profile {
        let phases = Phase::ALL.iter().map(|&phase| {
            let Total { wall_ns, bytes } = self.totals[phase as usize];
            let lanes = self.lanes.iter().enumerate();
            PhaseTime {
                phase,
                wall_secs: secs(wall_ns),
                bytes,
                lanes: lanes
                    .map(|(member, lane)| lane_time(member, &lane.phases[phase as usize], wall_ns))
                    .collect(),
            }
        });
        Profile {
            phases: phases.collect(),
            classes: (0..CLASSES).map(|class| self.class(class)).collect(),
            dropped_events: self.lanes.iter().map(|lane| lane.dropped).sum(),
            events: self.lanes.into_iter().map(|lane| lane.events).collect(),
        }
    }

    fn class(&self, class: usize) -> ClassTime {
        let mut sum = Cell::default();
        for phase in self.lanes.iter().flat_map(|lane| &lane.phases) {
            sum.merge(&phase.classes[class]);
        }
        let [entries_secs, extend_add_secs, factor_secs] = sum.ns.map(secs);
        let below = class.checked_sub(1).map_or(0, |c| CLASS_BOUNDS[c]);
        ClassTime {
            smallest: below + 1,
            largest: CLASS_BOUNDS.get(class).copied(),
            fronts: sum.fronts,
            flops: sum.flops,
            entries_secs,
            entries_bytes: sum.bytes[Part::Entries as usize],
            extend_add_secs,
            extend_add_bytes: sum.bytes[Part::ExtendAdd as usize],
            factor_secs,
        }
    }
}

fn lane_time(member: usize, lane: &LanePhase, wall_ns: u64) -> LaneTime {
    // The caller works whenever it does not wait; the others only in tasks and shares.
    let busy_ns = match member {
        0 => wall_ns.saturating_sub(lane.wait_ns),
        _ => lane.busy_ns.saturating_sub(lane.wait_ns).min(wall_ns),
    };
    let mut parts = [0; Part::COUNT];
    for cell in &lane.classes {
        for (sum, ns) in parts.iter_mut().zip(cell.ns) {
            *sum += ns;
        }
    }
    let [entries_secs, extend_add_secs, factor_secs] = parts.map(secs);
    LaneTime {
        entries_secs,
        extend_add_secs,
        factor_secs,
        other_secs: secs(busy_ns.saturating_sub(parts.iter().sum())),
        idle_secs: secs(wall_ns - busy_ns),
    }
}

fn secs(ns: u64) -> f64 {
    ns as f64 * 1e-9
}
