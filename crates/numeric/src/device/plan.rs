//! Where everything stands on the device, and which kernels work on a front.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use tamarack_gpu::GpuError;
use tamarack_gpu::dense::{Front, FrontShape, Fronts, SmallFronts, Tile};
use tamarack_plan::{FrontSizes, Precision, StagedPlan};
use tamarack_symbolic::SymbolicFactor;

use super::cost;
use super::rates::DeviceRates;
use crate::error::FactorError;

/// What a device plan may choose from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceOptions {
    /// Largest order, padded to whole blocks of 8, of a front that one block of threads factorizes in its
    /// shared memory.
    pub small_order: u32,
    /// Most fronts of a subtree that one block works off alone.
    pub sequence: u32,
    /// Fronts whose pivots and twice their update rows together come to this are cut into `large_tile`s instead of tiles of 64:
    /// large tiles gain where much is updated at once, and lose where one diagonal tile waits for the other.
    pub large_extent: u32,
    /// Tiles of large fronts.
    pub large_tile: Tile,
    /// Precision of the factor.
    pub precision: Precision,
    /// Bundles of subtrees that are worked off one after the other: more take less memory and more time.
    pub waves: usize,
    /// What seconds are predicted by; the plan is the same for all.
    pub rates: DeviceRates,
}

impl Default for DeviceOptions {
    fn default() -> Self {
        let (large_tile, large_extent) = Fronts::<f64>::LARGE;
        Self {
            small_order: 96,
            sequence: 16,
            large_extent,
            large_tile,
            precision: Precision::F64,
            waves: 1,
            rates: DeviceRates::H100,
        }
    }
}

impl DeviceOptions {
    /// The same for a factor of `precision`, with the tiles of large fronts that are fastest there.
    #[must_use]
    pub fn with_precision(self, precision: Precision) -> Self {
        let (large_tile, large_extent) = match precision {
            Precision::F64 => Fronts::<f64>::LARGE,
            Precision::F32 => Fronts::<f32>::LARGE,
        };
        Self {
            large_extent,
            large_tile,
            precision,
            ..self
        }
    }
}

/// How a front is factorized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrontKind {
    /// It has no pivots, and is not small: the sum of its children is all.
    Sum,
    /// Whole, in the shared memory of one block, which also sums up the children.
    Small,
    /// Tile by tile.
    Tiled(Tile),
}

/// The places of a factorization on a device; immutable, without a device.
#[derive(Clone)]
pub struct DevicePlan {
    staged: StagedPlan,
    fills: Vec<Range<usize>>,
    options: DeviceOptions,
    /// See [`vector_len`](Self::vector_len), which walks the tree.
    vectors: OnceLock<u64>,
}

impl fmt::Debug for DevicePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DevicePlan")
            .field("symbolic", self.symbolic())
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl DevicePlan {
    /// Plans the factorization of a structure.
    ///
    /// # Errors
    /// [`FactorError::Device`] for a front that the kernels cannot address, [`FactorError::Plan`] for an arena that
    /// nothing can.
    pub fn new(
        symbolic: Arc<SymbolicFactor>,
        options: &DeviceOptions,
    ) -> Result<Self, FactorError> {
        for s in 0..symbolic.supernodes() {
            let (npiv, nupd) = (symbolic.npiv(s), symbolic.nupd(s));
            shape(options.precision, npiv, nupd)?;
        }
        let sizes = |npiv: usize, nupd: usize| sizes(options, npiv, nupd).unwrap_or_default();
        let joined = joined(&symbolic, options);
        let staged = StagedPlan::new(symbolic.clone(), sizes, |s| joined[s], options.waves)?;
        Ok(Self {
            fills: staged.fills(),
            staged,
            options: *options,
            vectors: OnceLock::new(),
        })
    }

    /// Stages and places.
    pub fn staged(&self) -> &StagedPlan {
        &self.staged
    }

    /// Its structure.
    pub fn symbolic(&self) -> &Arc<SymbolicFactor> {
        self.staged.symbolic()
    }

    /// Bytes of panels and update matrices on the device.
    pub fn arena_bytes(&self) -> u64 {
        self.staged.arena_len() * self.options.precision.bytes() as u64
    }

    /// Bytes that it takes on the device, with lists, values and vectors of one right-hand side.
    pub fn device_bytes(&self) -> u64 {
        cost::device_bytes(self)
    }

    /// Whether values in double precision, which a factor in single precision is made of and refined with, have memory of their own; else
    /// they stand in the room of update matrices, which a factorization writes over, and are brought twice.
    pub fn values_apart(&self) -> bool {
        cost::values_apart(self)
    }

    /// Numbers that fronts leave for their parents in a solve with one right-hand side, at a time.
    pub(super) fn vector_len(&self) -> u64 {
        *self.vectors.get_or_init(|| self.staged.update_vectors().1)
    }

    /// Predicted seconds of a refactorization on a device with the [rates](DeviceOptions::rates) that it was made with,
    /// the values' way there included.
    pub fn predicted_secs(&self) -> f64 {
        self.predicted_secs_by(&self.options.rates)
    }

    /// The same on a device with other rates.
    pub fn predicted_secs_by(&self, rates: &DeviceRates) -> f64 {
        cost::secs(self, rates)
    }

    /// Runs of stages whose panels get the entries of A when the first of them begins: before, update matrices stand in the room of all but
    /// the first run's.
    pub fn fills(&self) -> &[Range<usize>] {
        &self.fills
    }

    /// Where the panels that stage `k` fills stand, if it fills any.
    pub fn filled_at(&self, k: usize) -> Option<Range<u64>> {
        let fill = self.fills.iter().find(|fill| fill.start == k)?;
        Some(self.staged.panels(fill.start).start..self.staged.panels(fill.end - 1).end)
    }

    /// How the front of supernode `s` is factorized.
    pub fn kind(&self, s: usize) -> FrontKind {
        kind(
            &self.options,
            self.symbolic().npiv(s),
            self.symbolic().nupd(s),
        )
    }

    /// What it was made with.
    pub fn options(&self) -> &DeviceOptions {
        &self.options
    }

    /// Precision of the factor.
    pub fn precision(&self) -> Precision {
        self.options.precision
    }

    /// Whether fronts with tiles of this kind gather their update matrices themselves.
    pub(crate) fn gathers(&self, tile: Tile) -> bool {
        match self.precision() {
            Precision::F64 => tile.gathers::<f64>(),
            Precision::F32 => tile.gathers::<f32>(),
        }
    }

    /// How the front of supernode `s` is kept.
    ///
    /// # Errors
    /// None once the plan was made.
    pub fn shape(&self, s: usize) -> Result<FrontShape, GpuError> {
        shape(
            self.options.precision,
            self.symbolic().npiv(s),
            self.symbolic().nupd(s),
        )
    }

    /// The front of supernode `s` as the kernels take it.
    ///
    /// # Errors
    /// None once the plan was made.
    pub fn front(&self, s: usize) -> Result<Front, GpuError> {
        let symbolic = self.symbolic();
        let (pivots, updates) = (symbolic.npiv(s) as u32, symbolic.nupd(s) as u32);
        let panel = self.staged.panel_start(s);
        let children = symbolic.children(s).iter();
        Ok(Front {
            pivots,
            updates,
            panel,
            update: self.staged.update_start(s),
            inverse: panel + self.shape(s)?.panel_len,
            fresh: children.map(|&c| symbolic.nupd(c as usize)).sum::<usize>() == 0,
        })
    }
}

fn kind(options: &DeviceOptions, npiv: usize, nupd: usize) -> FrontKind {
    // n is below 2^32
    let (pivots, updates) = (npiv as u32, nupd as u32);
    if SmallFronts::padded_order(pivots, updates) <= options.small_order {
        FrontKind::Small
    } else if pivots == 0 {
        FrontKind::Sum
    } else if u64::from(pivots) + 2 * u64::from(updates) < u64::from(options.large_extent) {
        FrontKind::Tiled(Tile::T64)
    } else {
        FrontKind::Tiled(options.large_tile)
    }
}

fn shape(precision: Precision, npiv: usize, nupd: usize) -> Result<FrontShape, GpuError> {
    // n is below 2^32
    let (pivots, updates) = (npiv as u32, nupd as u32);
    match precision {
        Precision::F64 => FrontShape::of::<f64>(pivots, updates),
        Precision::F32 => FrontShape::of::<f32>(pivots, updates),
    }
}

/// Orders up to which one warp works off a front: it is not joined to a larger one.
const WARP_ORDERS: [u32; 2] = [16, 32];

/// Which supernodes are worked off by the block that works off their parent: bottoms of the tree whose fronts are of
/// about the same order, up to so many fronts. A launch and the wait for it take longer than a few of them.
fn joined(symbolic: &SymbolicFactor, options: &DeviceOptions) -> Vec<bool> {
    let count = symbolic.supernodes();
    let (mut joined, mut fronts) = (vec![false; count], vec![1_u32; count]);
    let class = |s: usize| {
        let (npiv, nupd) = (symbolic.npiv(s), symbolic.nupd(s));
        let order = SmallFronts::padded_order(npiv as u32, nupd as u32);
        let small = kind(options, npiv, nupd) == FrontKind::Small;
        small.then(|| WARP_ORDERS.iter().filter(|&&of| order > of).count())
    };
    for s in 0..count {
        let Some(own) = class(s) else { continue };
        for &c in symbolic.children(s) {
            let c = c as usize;
            if class(c) == Some(own) && fronts[s] + fronts[c] <= options.sequence {
                joined[c] = true;
                fronts[s] += fronts[c];
            }
        }
    }
    joined
}

/// A panel stands before the diagonals of the inverses of its diagonal tiles.
fn sizes(options: &DeviceOptions, npiv: usize, nupd: usize) -> Result<FrontSizes, GpuError> {
    let shape = shape(options.precision, npiv, nupd)?;
    let inverse = match kind(options, npiv, nupd) {
        FrontKind::Tiled(_) => Fronts::inverse_len(npiv as u32),
        FrontKind::Sum | FrontKind::Small => 0,
    };
    Ok(FrontSizes {
        panel: shape.panel_len + inverse,
        update: shape.update_len,
    })
}
