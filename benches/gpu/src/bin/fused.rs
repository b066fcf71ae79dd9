//! Small fronts: assembly and factorization in one go, beside the same in two launches; entries of the matrix come before in both.
//!
//! Fronts as they stand near the leaves of an assembly tree: half as many fronts have two children each with update
//! matrices as large as theirs lets them be. Bytes: every child read once, every panel and update matrix
//! written once, halves of symmetric matrices only. `subtrees` has the same fronts as items of seven.

use std::process::ExitCode;

use tamarack_gpu::dense::{
    Assembly, Child, Entries, EntryFront, EntryFronts, EntryMap, Front, FrontShape, FusedFront,
    FusedFronts, Parent, SmallFronts,
};
use tamarack_gpu::spmv::HalfPattern;
use tamarack_gpu::{DeviceBuffer, Gpu, GpuError, Stream};
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
    /// Elements of all panels, which stand first, and of the arena.
    panels: u64,
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
        let panels = panels_len(pivots, updates, count)?;
        let each = own.update_len + 2 * update_len;
        let (mut fronts, mut children) = (Vec::new(), Vec::new());
        for n in 0..count {
            let panel = u64::from(n) * own.panel_len;
            let update = panels + u64::from(n) * each;
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
        }
        let half = |n: u32| f64::from(n) * f64::from(n + 1) / 2.0;
        let numbers = half(order) + 2.0 * half(child);
        Ok(Self {
            size: format!("{count} of {pivots}+{updates}"),
            fronts,
            rows,
            children,
            panels,
            len: panels + u64::from(count) * each,
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
        let (mut entries, values) = matrix(&gpu, &stream, &self.fronts)?;
        let children: Vec<[Child<'_>; 2]> = self.children.iter().map(|&c| self.pair(c)).collect();
        let items: Vec<_> = (0..self.fronts.len())
            .map(|n| FusedFront {
                front: self.fronts[n],
                children: &children[n],
            })
            .collect();
        let lengths = vec![1; items.len()];
        let mut fused = FusedFronts::new(&gpu, &stream, &items, &lengths)?;
        let panels = self.panels as usize;
        suite.time(case("Entries, FusedFronts"), |s| {
            entries.launch(s, arena.view_mut().split_at(panels)?.0, &values)?;
            fused.launch(s, &mut arena)
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
        let mut small = SmallFronts::new(&gpu, &stream, &self.fronts)?;
        suite.time(case("Entries, Assembly, SmallFronts"), |s| {
            entries.launch(s, arena.view_mut().split_at(panels)?.0, &values)?;
            assembly.launch(s, &mut arena)?;
            small.launch(s, &mut arena)
        })?;
        suite.time(case("Entries alone"), |s| {
            entries.launch(s, arena.view_mut().split_at(panels)?.0, &values)
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
}

/// Elements of the panels of `count` fronts, and of one that has the rows below all of them for pivots.
fn panels_len(pivots: u32, updates: u32, count: u32) -> Result<u64, GpuError> {
    let own = FrontShape::new(pivots, updates)?.panel_len;
    Ok(u64::from(count) * own + FrontShape::new(updates, 0)?.panel_len)
}

/// A matrix with a heavy diagonal and up to three more entries in each column, of which these fronts of one size are the leaves: all have
/// the same rows below. Panels stand one behind the other.
fn matrix(
    gpu: &Gpu,
    stream: &Stream,
    fronts: &[Front],
) -> Result<(Entries, DeviceBuffer<f64>), GpuError> {
    let Front {
        pivots, updates, ..
    } = fronts[0];
    let border = fronts.len() as u32 * pivots; // some millions
    let n = border + updates;
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for j in 0..n {
        let (first, last) = (j / pivots * pivots, pivots + updates);
        let own = if j < border { j - first } else { last - 1 };
        for row in (own..last).step_by(5).take(4) {
            let diagonal = row == own;
            indices.push(match row.checked_sub(pivots) {
                _ if diagonal => j,
                Some(below) => border + below,
                None => first + row,
            });
            values.push(if diagonal { 500.0 } else { -1.0 });
        }
        starts.push(indices.len() as u64);
    }
    let half = HalfPattern::new(gpu, &starts, &indices)?;
    let position: Vec<u32> = (0..n).collect();
    let entry_front = |column, pivots, updates, panel| EntryFront {
        column,
        pivots,
        updates,
        rows: 0,
        panel,
    };
    let own = FrontShape::new(pivots, updates)?.panel_len;
    let leaves = (0..).zip(fronts);
    let leaves = leaves.map(|(f, front)| entry_front(f * pivots, pivots, updates, front.panel));
    let root = entry_front(border, updates, 0, fronts.len() as u64 * own);
    let all = leaves.chain([root]);
    let map = EntryMap {
        pattern: &half,
        starts: &starts,
        position: &position,
        order: &position,
        rows: &position[border as usize..],
        early: panels_len(pivots, updates, fronts.len() as u32)?,
    };
    let fronts = EntryFronts::new(half.n(), map.rows.len() as u64, all)?;
    let entries = Entries::new(gpu, stream, &map, &fronts)?;
    Ok((entries, stream.to_device(gpu, &values)?))
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
    let panels = panels_len(pivots, pivots, 7 * count)?;
    let relative: Vec<u32> = (0..updates).map(|r| 2 * r).collect();
    let (mut fronts, mut places) = (Vec::new(), Vec::new());
    for n in (0..7 * count).map(u64::from) {
        let update = panels + n * own.update_len;
        places.push(update);
        fronts.push(Front {
            pivots,
            updates,
            panel: n * own.panel_len,
            update,
            inverse: 0,
            fresh: false,
        });
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
    };
    let half = |n: u32| f64::from(n) * f64::from(n + 1) / 2.0;
    let numbers_each = half(most) + 6.0 / 7.0 * half(updates);
    let bytes = 8.0 * 7.0 * f64::from(count) * numbers_each;
    let size = format!("{count} x 7 of {pivots}+{updates}");
    let case = |by: &str| Case::new(problem, &size, by).bytes(bytes);
    let mut arena = gpu.alloc((panels + u64::from(7 * count) * own.update_len) as usize)?;
    let (mut entries, values) = matrix(&gpu, &stream, &fronts)?;
    let mut enter = |s: &Stream, arena: &mut DeviceBuffer<f64>| {
        entries.launch(s, arena.view_mut().split_at(panels as usize)?.0, &values)
    };
    let all: Vec<_> = (0..fronts.len()).map(item).collect();
    let lengths = vec![7; count as usize];
    let mut whole = FusedFronts::new(&gpu, &stream, &all, &lengths)?;
    suite.time(case("entries, one launch"), |s| {
        enter(s, &mut arena)?;
        whole.launch(s, &mut arena)
    })?;
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
    suite.time(case("entries, three launches"), |s: &Stream| {
        enter(s, &mut arena)?;
        let mut all = stages.iter_mut();
        all.try_for_each(|stage| stage.launch(s, &mut arena))
    })?;
    Ok(())
}
