//! `--profile`: where the time went, beside what the machine could do.

use std::iter::Sum;

use serde::Serialize;
use tamarack::{ClassTime, LaneTime, Limits, PhaseTime, Profile};

use crate::out::{counted, grouped, secs};

/// Titles of the columns that [`Times::columns`] fills.
const PARTS: &str = "  entries  extend-add  factor   other    idle";

/// What `--json` prints of a profile; seconds of fronts and threads are thread-seconds.
#[derive(Debug, Serialize)]
pub struct ProfileReport {
    limits: LimitsReport,
    factorize: Part,
    fronts: Vec<ClassReport>,
    solve: Part,
    /// Events of the trace that were too short to be kept.
    dropped_events: u64,
}

#[derive(Debug, Serialize)]
struct LimitsReport {
    threads: usize,
    /// Rate of products of dense matrices, all threads together.
    gflops: f64,
    /// Rate of reading memory, all threads together.
    gb_per_second: f64,
}

#[derive(Debug, Serialize)]
struct Part {
    seconds: f64,
    /// 10⁹ operations per second; for the solve null.
    gflops: Option<f64>,
    phases: Vec<PhaseReport>,
    threads: Vec<Times>,
}

#[derive(Debug, Serialize)]
struct PhaseReport {
    phase: &'static str,
    seconds: f64,
    /// All threads together.
    #[serde(flatten)]
    times: Times,
    bytes: u64,
    gb_per_second: f64,
}

/// Seconds; the sum is the elapsed time, times the number of threads where it is over them.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Times {
    entries: f64,
    extend_add: f64,
    factor: f64,
    other: f64,
    idle: f64,
}

#[derive(Debug, Serialize)]
struct ClassReport {
    smallest: usize,
    largest: Option<usize>,
    fronts: u64,
    flops: f64,
    entries: f64,
    extend_add: f64,
    factor: f64,
    /// Elimination, for each thread that does it.
    gflops: f64,
    /// Extend-add, for each thread that does it.
    extend_add_gb_per_second: f64,
}

impl ProfileReport {
    pub fn new(profile: &Profile, limits: &Limits) -> Self {
        let (gflops, gb_per_second) = (limits.gflops, limits.gb_per_sec);
        let flops: f64 = profile.classes.iter().map(|c| c.flops as f64).sum();
        let seconds = profile.factorize_secs();
        Self {
            limits: LimitsReport {
                threads: limits.threads,
                gflops,
                gb_per_second,
            },
            factorize: Part {
                gflops: Some(rate(flops, seconds)),
                ..Part::new(profile, true)
            },
            fronts: profile.classes.iter().map(ClassReport::new).collect(),
            solve: Part::new(profile, false),
            dropped_events: profile.dropped_events,
        }
    }

    /// Tables: phases of the factorization, fronts, phases of the solve, threads.
    pub fn text(&self) -> String {
        let l = &self.limits;
        let threads = counted(l.threads, "thread");
        let limits = format!(
            "\nlimits of {threads}: {:.1} GFLOP/s in products, {:.1} GB/s read from memory\n",
            l.gflops, l.gb_per_second
        );
        let tables = [
            self.factorize_table(),
            self.front_table(),
            self.solve_table(),
            self.thread_table(),
        ];
        limits + &tables.concat()
    }

    fn factorize_table(&self) -> String {
        let part = &self.factorize;
        let mut text = format!("\n{:<14}{:>10}{PARTS}\n", "phase", "time");
        let whole = part.threads.iter().fold(Times::default(), Times::add);
        let gflops = part.gflops.unwrap_or(0.0);
        text += &format!(
            "factorize     {:>10}{}  {gflops:.1} GFLOP/s, {} of the limit\n",
            secs(part.seconds),
            whole.columns(),
            percent(gflops, self.limits.gflops)
        );
        for p in &part.phases {
            let (time, columns) = (secs(p.seconds), p.times.columns());
            text += &format!("  {:<12}{time:>10}{columns}\n", p.phase);
        }
        text
    }

    fn solve_table(&self) -> String {
        let part = &self.solve;
        let mut text = format!(
            "\n{:<14}{:>10}{:>9}{:>9}{:>14}{:>9}{:>10}\n",
            "phase", "time", "busy", "idle", "bytes", "GB/s", "of limit"
        );
        let whole = part.threads.iter().fold(Times::default(), Times::add);
        let line = |name: &str, secs_of: f64, times: &Times| {
            let (busy, idle) = (times.total() - times.idle, times.idle);
            let [busy, idle] = [busy, idle].map(|secs| percent(secs, times.total()));
            format!("{name:<14}{:>10}{busy:>9}{idle:>9}", secs(secs_of))
        };
        text += &(line("solve", part.seconds, &whole) + "\n");
        for p in &part.phases {
            text += &line(&format!("  {}", p.phase), p.seconds, &p.times);
            if p.bytes > 0 {
                let share = percent(p.gb_per_second, self.limits.gb_per_second);
                let (bytes, rate) = (grouped(p.bytes), p.gb_per_second);
                text += &format!("{bytes:>14}{rate:>9.1}{share:>10}");
            }
            text.push('\n');
        }
        text
    }

    fn front_table(&self) -> String {
        let mut text = format!(
            "\n{:<14}{:>10}{:>9}{:>12}{:>8}{:>8}{:>8}{:>10}{:>12}\n",
            "front order",
            "fronts",
            "entries",
            "extend-add",
            "factor",
            "all",
            "GFLOP/s",
            "of limit",
            "extend GB/s"
        );
        let whole = self.factorize.threads.iter().map(Times::total).sum();
        let one_thread = self.limits.gflops / self.limits.threads.max(1) as f64;
        for c in self.fronts.iter().filter(|c| c.fronts > 0) {
            let orders = match c.largest {
                Some(largest) => format!("{}-{largest}", c.smallest),
                None => format!("{}-", c.smallest),
            };
            let all = c.entries + c.extend_add + c.factor;
            let [entries, extend_add, factor, all] =
                [c.entries, c.extend_add, c.factor, all].map(|secs| percent(secs, whole));
            text += &format!(
                "{orders:<14}{:>10}{entries:>9}{extend_add:>12}{factor:>8}{all:>8}{:>8.1}{:>10}{:>12.1}\n",
                grouped(c.fronts),
                c.gflops,
                percent(c.gflops, one_thread),
                c.extend_add_gb_per_second
            );
        }
        text
    }

    fn thread_table(&self) -> String {
        let mut text = format!("\n{:<14}{:>10}{PARTS}\n", "thread", "busy");
        for (name, part) in [("factorize", &self.factorize), ("solve", &self.solve)] {
            for (member, times) in part.threads.iter().enumerate() {
                let busy = secs(times.total() - times.idle);
                text += &format!("{member} {name:<12}{busy:>10}{}\n", times.columns());
            }
        }
        text
    }
}

impl Part {
    fn new(profile: &Profile, factorizes: bool) -> Self {
        let phases: Vec<&PhaseTime> = profile
            .phases
            .iter()
            .filter(|p| p.phase.factorizes() == factorizes && p.wall_secs > 0.0)
            .collect();
        let of_member =
            |member: usize| phases.iter().filter_map(move |p| p.lanes.get(member)).sum();
        Self {
            seconds: phases.iter().map(|p| p.wall_secs).sum(),
            gflops: None,
            threads: (0..profile.events.len()).map(of_member).collect(),
            phases: phases.iter().map(|p| PhaseReport::new(p)).collect(),
        }
    }
}

impl PhaseReport {
    fn new(phase: &PhaseTime) -> Self {
        Self {
            phase: phase.phase.name(),
            seconds: phase.wall_secs,
            times: phase.lanes.iter().sum(),
            bytes: phase.bytes,
            gb_per_second: rate(phase.bytes as f64, phase.wall_secs),
        }
    }
}

impl ClassReport {
    fn new(class: &ClassTime) -> Self {
        Self {
            smallest: class.smallest,
            largest: class.largest,
            fronts: class.fronts,
            flops: class.flops as f64,
            entries: class.entries_secs,
            extend_add: class.extend_add_secs,
            factor: class.factor_secs,
            gflops: rate(class.flops as f64, class.factor_secs),
            extend_add_gb_per_second: rate(class.extend_add_bytes as f64, class.extend_add_secs),
        }
    }
}

impl Times {
    fn add(self, other: &Self) -> Self {
        Self {
            entries: self.entries + other.entries,
            extend_add: self.extend_add + other.extend_add,
            factor: self.factor + other.factor,
            other: self.other + other.other,
            idle: self.idle + other.idle,
        }
    }

    fn total(&self) -> f64 {
        self.entries + self.extend_add + self.factor + self.other + self.idle
    }

    /// The shares of the parts, as columns.
    fn columns(&self) -> String {
        let whole = self.total();
        let [a, b, c, d, e] = [
            self.entries,
            self.extend_add,
            self.factor,
            self.other,
            self.idle,
        ]
        .map(|secs| percent(secs, whole));
        format!("{a:>9}{b:>12}{c:>8}{d:>8}{e:>8}")
    }
}

impl<'a> Sum<&'a LaneTime> for Times {
    fn sum<I: Iterator<Item = &'a LaneTime>>(lanes: I) -> Self {
        lanes.fold(Self::default(), |sum, lane| {
            sum.add(&Self {
                entries: lane.entries_secs,
                extend_add: lane.extend_add_secs,
                factor: lane.factor_secs,
                other: lane.other_secs,
                idle: lane.idle_secs,
            })
        })
    }
}

/// 10⁹ units per second; 0 where no time was taken.
pub fn rate(units: f64, secs: f64) -> f64 {
    if secs > 0.0 { units / secs / 1e9 } else { 0.0 }
}

pub fn percent(part: f64, whole: f64) -> String {
    match 100.0 * part / whole {
        share if !share.is_finite() || share < 0.05 => "-".into(),
        share => format!("{share:.1} %"),
    }
}
