//! Times of the fronts that one member does in a row, small ones by sample.
//!
//! A small front takes a microsecond, a reading of the clock 30 ns, and four are needed for
//! its parts. So of the small size classes only one front in 8 to 256 is timed, picked by a hash of its
//! number; what all small fronts of a subtree took together is known from the subtree's time, and is
//! shared out in proportion to the samples. A front that took far longer than its like, because memory
//! was touched first or another program ran, stands for itself alone.

use std::time::Instant;

use super::data::{Activity, FrontId, Part};
use super::{CLASSES, Profiler, Span};

/// One front in `2^SAMPLE[class]` is timed; together about 0.3 % of the time of such fronts.
const SAMPLE: [u32; CLASSES] = [8, 6, 4, 3, 0, 0, 0, 0, 0];

/// A sampled front that takes longer than this stands for itself alone: ten times as long as such
/// fronts usually take.
const LONG_NS: [u64; CLASSES] = [5_000, 20_000, 50_000, 200_000, 0, 0, 0, 0, 0];

/// Fronts of this class and above are events.
const SINGLE: usize = 4;

/// Sums over fronts of one size class.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cell {
    pub fronts: u64,
    pub flops: u128,
    /// By [`Part`].
    pub ns: [u64; Part::COUNT],
    /// Bytes written and read, by [`Part`]; none are counted for the elimination.
    pub bytes: [u64; Part::COUNT],
}

impl Cell {
    pub fn add_laps(&mut self, laps: &Laps, clock_ns: u64) {
        for part in 0..Part::COUNT {
            self.ns[part] += laps.ns[part].saturating_sub(clock_ns);
            self.bytes[part] += laps.bytes[part];
        }
    }

    pub fn merge(&mut self, other: &Self) {
        self.fronts += other.fronts;
        self.flops += other.flops;
        for part in 0..Part::COUNT {
            self.ns[part] += other.ns[part];
            self.bytes[part] += other.bytes[part];
        }
    }

    fn total_ns(&self) -> u64 {
        self.ns.iter().sum()
    }

    fn scale(&mut self, time: f64, bytes: f64) {
        self.ns
            .iter_mut()
            .for_each(|ns| *ns = (*ns as f64 * time) as u64);
        let scaled = |b: &mut u64| *b = (*b as f64 * bytes) as u64;
        self.bytes.iter_mut().for_each(scaled);
    }
}

/// Times of the parts of one front; nothing is timed where it is off.
#[derive(Debug)]
pub(crate) struct Laps {
    begun: Option<Instant>,
    last: Option<Instant>,
    /// By [`Part`].
    ns: [u64; Part::COUNT],
    bytes: [u64; Part::COUNT],
}

impl Laps {
    /// Times nothing.
    #[inline]
    pub fn off() -> Self {
        Self::from(None)
    }

    /// Begins now.
    pub fn begin() -> Self {
        Self::from(Some(Instant::now()))
    }

    #[inline]
    fn from(begun: Option<Instant>) -> Self {
        Self {
            begun,
            last: begun,
            ns: [0; Part::COUNT],
            bytes: [0; Part::COUNT],
        }
    }

    /// What was done since the last lap was `part`; `bytes` says how many bytes it moved.
    #[inline]
    pub fn lap(&mut self, part: Part, bytes: impl FnOnce() -> u64) {
        if let Some(last) = self.last {
            let now = Instant::now();
            self.ns[part as usize] += now.saturating_duration_since(last).as_nanos() as u64;
            self.bytes[part as usize] += bytes();
            self.last = Some(now);
        }
    }
}

/// The fronts that a member does in a row: a subtree, or one front that all work on.
pub(crate) struct Book<'a> {
    profiler: &'a Profiler,
    member: usize,
    begun: Instant,
    /// The last supernode.
    root: u32,
    /// Whether fronts are timed by sample.
    sampling: bool,
    cells: [Cell; CLASSES],
    /// Sampled classes: fronts that stand for those that were not timed, and what they took.
    timed: [u64; CLASSES],
    samples: [Cell; CLASSES],
    /// Fronts that stand for themselves alone.
    alone: [u64; CLASSES],
}

impl<'a> Book<'a> {
    /// Opens the book of a member that begins a subtree with this root.
    pub fn subtree(profiler: &'a Profiler, member: usize, root: u32) -> Self {
        Self {
            profiler,
            member,
            begun: Instant::now(),
            root,
            sampling: true,
            cells: Default::default(),
            timed: [0; CLASSES],
            samples: Default::default(),
            alone: [0; CLASSES],
        }
    }

    /// Opens the book of a member that begins a front above the subtrees.
    pub fn top(profiler: &'a Profiler, member: usize, s: u32) -> Self {
        Self {
            sampling: false,
            ..Self::subtree(profiler, member, s)
        }
    }

    /// Begins a front.
    #[inline]
    pub fn begin(&mut self, front: FrontId) -> Laps {
        let class = front.class();
        self.cells[class].fronts += 1;
        self.cells[class].flops +=
            tamarack_plan::front_flops(front.npiv as usize, front.nupd as usize);
        // The first of a class is always timed, so that none goes without.
        let hash = front.supernode.wrapping_mul(0x9E37_79B9);
        let picked = hash.checked_shr(32 - SAMPLE[class]).unwrap_or(0) == 0;
        let timed = picked || self.timed[class] == 0 || !self.sampling;
        if timed { Laps::begin() } else { Laps::off() }
    }

    /// Ends a front; `shared` if its elimination was booked by those who took part.
    #[inline]
    pub fn end(&mut self, front: FrontId, mut laps: Laps, shared: bool) {
        let Some(begun) = laps.begun else { return };
        if !shared {
            laps.lap(Part::Factor, || 0);
        }
        let class = front.class();
        let usual = laps.ns.iter().sum::<u64>() <= LONG_NS[class];
        let cell = if self.sampling && SAMPLE[class] > 0 && usual {
            self.timed[class] += 1;
            &mut self.samples[class]
        } else {
            self.alone[class] += 1;
            &mut self.cells[class]
        };
        cell.add_laps(&laps, self.profiler.clock_ns);
        if class >= SINGLE || !self.sampling {
            self.note(front, begun, &laps, shared);
        }
    }

    /// The front and its parts as events.
    fn note(&self, front: FrontId, begun: Instant, laps: &Laps, shared: bool) {
        let end = if shared { None } else { laps.last };
        let (from, to) = (
            self.profiler.ns(begun),
            self.profiler.ns(end.unwrap_or_else(Instant::now)),
        );
        let span = |activity| Span::of(activity, front);
        let mut lane = self.profiler.lane(self.member);
        lane.push(span(Activity::Front), from, to, 1);
        let mut at = from;
        for part in Part::ALL {
            let ns = laps.ns[part as usize];
            if ns > 0 {
                lane.push(span(part.activity()), at, at + ns, 0);
            }
            at += ns;
        }
    }

    /// Ends the subtree, or the front above the subtrees.
    pub fn close(mut self) {
        let (profiler, phase) = (self.profiler, self.profiler.current());
        let end = Instant::now();
        let (from, to) = (profiler.ns(self.begun), profiler.ns(end));
        if self.sampling {
            self.share_out(to - from);
        }
        let mut lane = profiler.lane(self.member);
        if self.sampling {
            let fronts: u64 = self.cells.iter().map(|c| c.fronts).sum();
            let front = FrontId {
                supernode: self.root,
                npiv: 0,
                nupd: 0,
            };
            let span = Span::of(Activity::Subtree, front);
            lane.push(span, from, to, fronts.min(u64::from(u32::MAX)) as u32);
        }
        lane.phases[phase].busy_ns += to - from;
        for (sum, cell) in lane.phases[phase].classes.iter_mut().zip(&self.cells) {
            sum.merge(cell);
        }
    }

    /// Gives sampled classes what is left of the subtree's time, in proportion to their samples.
    fn share_out(&mut self, task_ns: u64) {
        for class in (0..CLASSES).filter(|&class| self.timed[class] > 0) {
            let untimed = self.cells[class].fronts - self.alone[class];
            let factor = untimed as f64 / self.timed[class] as f64;
            self.samples[class].scale(factor, factor);
        }
        let total = |cells: &[Cell]| cells.iter().map(Cell::total_ns).sum::<u64>();
        let estimated = total(&self.samples);
        let rest = task_ns.saturating_sub(total(&self.cells));
        for (cell, sample) in self.cells.iter_mut().zip(&mut self.samples) {
            if estimated > 0 {
                sample.scale(rest as f64 / estimated as f64, 1.0);
            }
            cell.merge(sample);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laps(ns: [u64; Part::COUNT]) -> Laps {
        Laps {
            ns,
            ..Laps::begin()
        }
    }

    /// 1000 fronts of order 4 and one of order 300: the small ones get what the large one leaves.
    #[test]
    fn samples_stand_for_all() {
        let profiler = Profiler::new(1);
        let mut book = Book::subtree(&profiler, 0, 1000);
        let mut timed = 0;
        for s in 0..1000 {
            let front = FrontId::new(s, 1, 3);
            timed += u64::from(book.begin(front).begun.is_some());
            // What is not timed would cost as much.
            book.timed[0] = timed;
        }
        assert!((2..20).contains(&timed), "{timed}");
        book.samples[0].ns = [100 * timed, 200 * timed, 300 * timed];
        book.cells[0].ns = [0, 0, 50_000];
        book.alone[0] = 1;
        book.cells[5].ns = [0, 0, 100_000];
        book.share_out(150_000 + 1_200_000);
        let found = book.cells[0];
        let near = |a: u64, b: u64| a.abs_diff(b) < 10;
        assert!(near(found.ns[0], 200_000) && near(found.ns[1], 400_000));
        assert!(near(found.ns[2], 650_000));
        assert_eq!(found.fronts, 1000);
    }

    #[test]
    fn a_front_that_takes_long_stands_for_itself() {
        let profiler = Profiler::new(1);
        let mut book = Book::subtree(&profiler, 0, 0);
        let front = FrontId::new(0, 1, 3);
        for ns in [[1, 1, 1], [0, LONG_NS[0], 1]] {
            book.begin(front);
            book.end(front, laps(ns), true);
        }
        assert_eq!(
            (book.timed[0], book.alone[0], book.cells[0].fronts),
            (1, 1, 2)
        );
    }
}
