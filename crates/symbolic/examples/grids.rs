//! Times the analysis of grid problems under a geometric nested dissection, and prints how
//! amalgamation changes the tree: `cargo run --release -p tamarack-symbolic --example grids`.

use std::sync::Arc;
use std::time::Instant;

use tamarack_sparse::{Pattern, Permutation};
use tamarack_symbolic::{AmalgamationOptions, SymbolicFactor, SymbolicOptions};

/// A box of `nx × ny × nz` nodes with `dof` unknowns each, coupled within `reach` of each other:
/// along the axes only, or to all 26 neighbors.
struct Grid {
    size: [usize; 3],
    dof: usize,
    all: bool,
}

impl Grid {
    fn n(&self) -> usize {
        self.size.iter().product::<usize>() * self.dof
    }

    fn node(&self, [x, y, z]: [usize; 3]) -> usize {
        (z * self.size[1] + y) * self.size[0] + x
    }

    fn neighbors(&self, at: [usize; 3]) -> Vec<usize> {
        let mut out = Vec::new();
        for code in 0..27 {
            let step = [code % 3, code / 3 % 3, code / 9];
            let far = step.iter().filter(|&&s| s != 1).count();
            let to = [0, 1, 2].map(|d| (at[d] + step[d]).wrapping_sub(1));
            if (self.all || far <= 1) && (0..3).all(|d| to[d] < self.size[d]) {
                out.push(self.node(to));
            }
        }
        out
    }

    fn pattern(&self) -> Pattern {
        let (mut ptr, mut rows) = (vec![0u64], Vec::<u32>::new());
        let [nx, ny, nz] = self.size;
        for k in 0..nx * ny * nz {
            let mut near = self.neighbors([k % nx, k / nx % ny, k / nx / ny]);
            near.sort_unstable();
            for column in (0..self.dof).map(|d| k * self.dof + d) {
                let unknowns = near
                    .iter()
                    .flat_map(|m| (0..self.dof).map(move |d| m * self.dof + d));
                rows.extend(unknowns.filter(|&i| i >= column).map(|i| i as u32));
                ptr.push(rows.len() as u64);
            }
        }
        Pattern::lower(self.n(), &ptr, &rows).expect("a grid is a pattern")
    }

    /// Separator planes across the longest side, last.
    fn dissect(&self, low: [usize; 3], high: [usize; 3], order: &mut Vec<u32>) {
        let side = |d: usize| high[d] - low[d];
        let d = (0..3).max_by_key(|&d| side(d)).unwrap_or(0);
        if (0..3).any(|d| side(d) == 0) {
            return;
        }
        if side(d) <= 2 {
            for z in low[2]..high[2] {
                for y in low[1]..high[1] {
                    for x in low[0]..high[0] {
                        let node = self.node([x, y, z]);
                        order.extend((0..self.dof).map(|f| (node * self.dof + f) as u32));
                    }
                }
            }
            return;
        }
        let middle = (low[d] + high[d]) / 2;
        let with = |mut corner: [usize; 3], value: usize| {
            corner[d] = value;
            corner
        };
        self.dissect(low, with(high, middle), order);
        self.dissect(with(low, middle + 1), high, order);
        let (a, b) = (with(low, middle), with(high, middle + 1));
        self.plane(a, b, order);
    }

    /// All unknowns of a box, line by line.
    fn plane(&self, low: [usize; 3], high: [usize; 3], order: &mut Vec<u32>) {
        for z in low[2]..high[2] {
            for y in low[1]..high[1] {
                for x in low[0]..high[0] {
                    let node = self.node([x, y, z]);
                    order.extend((0..self.dof).map(|f| (node * self.dof + f) as u32));
                }
            }
        }
    }
}

fn main() {
    let grid = |x, y, z, dof, all| Grid {
        size: [x, y, z],
        dof,
        all,
    };
    let cases = [
        ("p2d5_1000", grid(1000, 1000, 1, 1, false)),
        ("p3d7_60", grid(60, 60, 60, 1, false)),
        ("p3d27_50", grid(50, 50, 50, 1, true)),
        ("el3d_30", grid(31, 31, 30, 3, true)),
    ];
    for (name, grid) in cases {
        let pattern = Arc::new(grid.pattern());
        let mut order = Vec::new();
        grid.dissect([0; 3], grid.size, &mut order);
        let ordering = Permutation::from_elimination_order(&order).expect("every node once");
        let mut times = Vec::new();
        let mut last = None;
        for _ in 0..5 {
            let start = Instant::now();
            last = SymbolicFactor::analyze(&pattern, &ordering, &SymbolicOptions::default()).ok();
            times.push(start.elapsed().as_secs_f64());
        }
        times.sort_by(f64::total_cmp);
        let Some(f) = last else { continue };
        let s = f.stats();
        let model = AmalgamationOptions::default();
        let predicted: f64 = (0..f.supernodes())
            .map(|k| model.predicted_secs(f.npiv(k) as u32, f.nupd(k) as u32))
            .sum();
        println!(
            "{name:10} n {:8} nnz(A) {:9} nnz(L) {:10} Gflop {:8.2}  median {:.3} s min {:.3} s\n{:10} \
             supernodes {} -> {}  stored {:.4}  flops {:.4}  rows {:.2} M  stack {:.1} M  predicted {predicted:.3} s",
            f.n(),
            s.nnz_a,
            s.nnz_l,
            s.flops as f64 / 1e9,
            times[2],
            times[0],
            "",
            s.fundamental_supernodes,
            f.supernodes(),
            s.nnz_l_stored as f64 / s.nnz_l as f64,
            s.flops_stored as f64 / s.flops as f64,
            (0..f.supernodes()).map(|k| f.nupd(k)).sum::<usize>() as f64 / 1e6,
            f.subtree_stack_peak().iter().copied().max().unwrap_or(0) as f64 / 1e6,
        );
    }
}
