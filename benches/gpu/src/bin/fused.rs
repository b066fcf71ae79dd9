//! Small fronts: assembly, entries and factorization in one go, beside the same in three launches.
//!
//! Fronts as they stand near the leaves of an assembly tree: half as many fronts have two children each with update
//! matrices as large as theirs lets them be. Bytes: every value and child read once, every panel and update matrix
//! written once, halves of symmetric matrices only. `subtrees` has the same fronts as items of seven.

use std::process::ExitCode;

use tamarack_gpu::dense::{
    Assembly, Child, Entries, Front, FrontEntry, FrontShape, FusedFront, FusedFronts, Parent,
    Placed, SmallFronts,
};
use tamarack_gpu::{GpuError, Stream};
use tamarack_gpu_benches::{Case, Suite};

fn main() -> ExitCode {
    let mut suite = match Suite::from_args("fused") {
        Ok(suite) => suite,
        Err(code) => return code,
    };
    let outcome = run(&mut suite);
    suite.finish(outcome)
}

fn run(suite: &mut Suite) -> Result<(), GpuError> {
    // Stages of a plane grid of a million unknowns, from the leaves on.
    for (pivots, updates, count) in [
        (8, 8, 40_000),
        (8, 14, 37_000),
        (12, 20, 24_000),
        (16, 32, 10_000),
        (20, 44, 10_000),
        (32, 64, 4_000),
        (48, 80, 2_000),
    ] {
        let stage = Level::new(pivots, updates, count)?;
        stage.time(suite)?;
    }
    for (most, count) in [(16, 20_000), (32, 20_000)] {
        subtrees(suite, most, count)?;
    }
    // Larger fronts, which are assembled by themselves.
    for (pivots, updates, count) in [
        (60, 140, 4_000),
        (100, 300, 1_000),
        (300, 900, 100),
        (1000, 3000, 10),
    ] {
        Level::new(pivots, updates, count)?.time_assembly(suite)?;
    }
    Ok(())
}

/// Fronts of one size, each with two children.
struct Level {
    size: String,
    fronts: Vec<Front>,
    /// Rows of the two children.
    rows: [Vec<u32>; 2],
    /// Where the two children of every front stand.
    children: Vec<[u64; 2]>,
    entries: Vec<Vec<FrontEntry>>,
    values: Vec<f64>,
    len: u64,
    bytes: f64,
}

impl Level {
    fn new(pivots: u32, updates: u32, count: u32) -> Result<Self, GpuError> {
        let own = FrontShape::new(pivots, updates)?;
        // They overlap in the middle, as on two sides of a separator.
        let order = pivots + updates;
        let child = updates.min(order * 3 / 4);
        let rows = [
            (0..child).collect::<Vec<_>>(),
            (order - child..order).collect(),
        ];
        let update_len = FrontShape::new(0, child)?.update_len;
        let each = own.panel_len + own.update_len + 2 * update_len;
        let (mut fronts, mut children, mut entries) = (Vec::new(), Vec::new(), Vec::new());
        let mut values = Vec::new();
        for n in 0..count {
            let panel = u64::from(n) * each;
            let update = panel + own.panel_len;
            let first = update + own.update_len;
            children.push([first, first + update_len]);
            fronts.push(Front {
                pivots,
                updates,
                panel,
                update,
                inverse: 0,
                fresh: false,
            });
            entries.push(few_entries(pivots, order, &mut values));
        }
        let half = |n: u32| f64::from(n) * f64::from(n + 1) / 2.0;
        let numbers = half(order) + 2.0 * half(child) + 4.0 * f64::from(pivots);
        Ok(Self {
            size: format!("{count} of {pivots}+{updates}"),
            fronts,
            rows,
            children,
            entries,
            values,
            len: u64::from(count) * each,
            bytes: 8.0 * f64::from(count) * numbers,
        })
    }

    fn time(&self, suite: &mut Suite) -> Result<(), GpuError> {
        let problem = "small fronts, a stage";
        if !suite.wants(problem) {
            return Ok(());
        }
        let (gpu, stream) = (suite.gpu().clone(), suite.gpu().stream()?);
        let case = |by: &str| Case::new(problem, &self.size, by).bytes(self.bytes);
        let mut arena = stream.to_device(&gpu, &numbers(self.len as usize))?;
        let values = stream.to_device(&gpu, &self.values)?;
        let children: Vec<[Child<'_>; 2]> = self.children.iter().map(|&c| self.pair(c)).collect();
        let items: Vec<_> = (0..self.fronts.len())
            .map(|n| FusedFront {
                front: self.fronts[n],
                children: &children[n],
                entries: &self.entries[n],
            })
            .collect();
        let lengths = vec![1; items.len()];
        let mut fused = FusedFronts::new(&gpu, &stream, &items, &lengths)?;
        suite.time(case("FusedFronts"), |s| {
            fused.launch(s, &mut arena, &values)
        })?;
        if !fused.bad_pivots(&stream)?.is_empty() {
            eprintln!("{}: bad pivots", self.size);
        }

        let mut parents = Vec::new();
        for (&front, children) in self.fronts.iter().zip(&children) {
            parents.push(Parent {
                front,
                children,
                gathered: false,
            });
        }
        let assembly = Assembly::new(&gpu, &stream, &parents)?;
        let (to, from) = self.places()?;
        let entries = Entries::new(&gpu, &to, &from)?;
        let mut small = SmallFronts::new(&gpu, &stream, &self.fronts)?;
        suite.time(case("Assembly, Entries, SmallFronts"), |s| {
            assembly.launch(s, &mut arena)?;
            entries.launch(s, &mut arena, &values)?;
            small.launch(s, &mut arena)
        })?;
        suite.time(case("Assembly alone"), |s| assembly.launch(s, &mut arena))?;
        Ok(())
    }

    fn time_assembly(&self, suite: &mut Suite) -> Result<(), GpuError> {
        let problem = "assembly";
        if !suite.wants(problem) {
            return Ok(());
        }
        let (gpu, stream) = (suite.gpu().clone(), suite.gpu().stream()?);
        let children: Vec<[Child<'_>; 2]> = self.children.iter().map(|&c| self.pair(c)).collect();
        let mut parents = Vec::new();
        for (&front, children) in self.fronts.iter().zip(&children) {
            parents.push(Parent {
                front,
                children,
                gathered: false,
            });
        }
        let assembly = Assembly::new(&gpu, &stream, &parents)?;
        let mut arena = gpu.alloc::<f64>(self.len as usize)?;
        stream.fill_bytes(&mut arena, 0)?;
        let case = Case::new(problem, &self.size, "Assembly").bytes(self.bytes);
        suite.time(case, |s| assembly.launch(s, &mut arena))?;
        Ok(())
    }

    fn pair(&self, at: [u64; 2]) -> [Child<'_>; 2] {
        let child = |n: usize| Child {
            update: at[n],
            relative: &self.rows[n],
        };
        [child(0), child(1)]
    }

    fn places(&self) -> Result<(Vec<u64>, Vec<u32>), GpuError> {
        let (mut to, mut from) = (Vec::new(), Vec::new());
        for (front, entries) in self.fronts.iter().zip(&self.entries) {
            let own = FrontShape::new(front.pivots, front.updates)?;
            let panel = Placed::packed(front.panel, own.panel_height);
            for entry in entries {
                let row = u32::from(entry.row);
                let below = row.checked_sub(front.pivots);
                let row = below.map_or(row, |r| own.first_update + r);
                to.push(panel.index(row, entry.column.into()));
                from.push(entry.value);
            }
        }
        Ok((to, from))
    }
}

/// A heavy diagonal, and three more in each column.
fn few_entries(pivots: u32, order: u32, values: &mut Vec<f64>) -> Vec<FrontEntry> {
    let mut entries = Vec::new();
    for column in 0..pivots {
        for row in (column..order).step_by(5).take(4) {
            entries.push(FrontEntry {
                row: row as u16, // small fronts
                column: column as u16,
                value: values.len() as u32, // some millions
            });
            values.push(if row == column { 500.0 } else { -1.0 });
        }
    }
    entries
}

/// Numbers in 0..1, the same in every run.
fn numbers(n: usize) -> Vec<f64> {
    let mut state = 88_172_645_463_325_252_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    (0..n).map(|_| next()).collect()
}

/// Subtrees of seven fronts, two levels of pairs below a root, as one item each and stage by stage.
fn subtrees(suite: &mut Suite, most: u32, count: u32) -> Result<(), GpuError> {
    let problem = "small fronts, subtrees";
    if !suite.wants(problem) {
        return Ok(());
    }
    let (gpu, stream) = (suite.gpu().clone(), suite.gpu().stream()?);
    let pivots = most / 2;
    let (own, updates) = (FrontShape::new(pivots, pivots)?, pivots);
    let each = own.panel_len + own.update_len;
    let relative: Vec<u32> = (0..updates).map(|r| 2 * r).collect();
    let (mut values, mut entries, mut fronts, mut places) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for n in 0..7 * count {
        let panel = u64::from(n) * each;
        places.push(panel + own.panel_len);
        fronts.push(Front {
            pivots,
            updates,
            panel,
            update: panel + own.panel_len,
            inverse: 0,
            fresh: false,
        });
        entries.push(few_entries(pivots, most, &mut values));
    }
    let child = |n: usize| Child {
        update: places[n],
        relative: &relative,
    };
    // of each subtree the fronts 0, 1 and 3, 4 are leaves, 2 and 5 their parents, 6 is the root
    let pairs: Vec<[Child<'_>; 2]> = (0..fronts.len())
        .map(|n| match n % 7 {
            2 | 5 => [child(n - 2), child(n - 1)],
            6 => [child(n - 4), child(n - 1)],
            _ => [child(n), child(n)],
        })
        .collect();
    let item = |n: usize| FusedFront {
        front: fronts[n],
        children: if [2, 5, 6].contains(&(n % 7)) {
            &pairs[n]
        } else {
            &[]
        },
        entries: &entries[n],
    };
    let half = |n: u32| f64::from(n) * f64::from(n + 1) / 2.0;
    let numbers_each = half(most) + 6.0 / 7.0 * half(updates) + 4.0 * f64::from(pivots);
    let bytes = 8.0 * 7.0 * f64::from(count) * numbers_each;
    let size = format!("{count} x 7 of {pivots}+{updates}");
    let case = |by: &str| Case::new(problem, &size, by).bytes(bytes);
    let mut arena = gpu.alloc((u64::from(7 * count) * each) as usize)?;
    let device = stream.to_device(&gpu, &values)?;
    let all: Vec<_> = (0..fronts.len()).map(item).collect();
    let lengths = vec![7; count as usize];
    let mut whole = FusedFronts::new(&gpu, &stream, &all, &lengths)?;
    suite.time(case("one launch"), |s| whole.launch(s, &mut arena, &device))?;
    if !whole.bad_pivots(&stream)?.is_empty() {
        eprintln!("{size}: bad pivots");
    }
    let stage = |numbers: &[usize]| -> Result<FusedFronts, GpuError> {
        let own: Vec<_> = (0..fronts.len())
            .filter(|n| numbers.contains(&(n % 7)))
            .map(item)
            .collect();
        FusedFronts::new(&gpu, &stream, &own, &vec![1; own.len()])
    };
    let mut stages = [stage(&[0, 1, 3, 4])?, stage(&[2, 5])?, stage(&[6])?];
    suite.time(case("three launches"), |s: &Stream| {
        let mut all = stages.iter_mut();
        all.try_for_each(|stage| stage.launch(s, &mut arena, &device))
    })?;
    Ok(())
}
