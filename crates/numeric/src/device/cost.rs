//! What a factorization on a device will take: bytes and seconds.
//!
//! The model: the fronts of a stage are assembled at the speed of memory, then eliminated, with a chain of diagonal
//! tiles in the largest front and the operations of all of them; a stage has a fixed cost besides. How much of a device's
//! [rates](DeviceRates) is reached was fitted to 38 factorizations on an H100, which it predicts within 0.7 to 1.35 of what they took.

use tamarack_plan::Precision;

use super::plan::{DevicePlan, FrontKind};
use super::rates::DeviceRates;

/// A stage without work, launches and the tail of the last blocks, by that of a small graph.
const STAGE_GRAPHS: f64 = 4.0;
/// A diagonal tile of 64 columns with what waits for it, by that of a single front.
const CHAIN: f64 = 0.6;
/// Operations of fronts by those of the product that is measured, which is too small to be as fast as large fronts.
const OF_PRODUCTS: f64 = 1.15;
/// Bytes of children and parents in an assembly by those of copies.
const OF_COPIES: f64 = 0.6;
/// The values' way from ordinary memory into the fronts by an upload from pinned memory.
const UPLOADS: f64 = 4.0;

/// Predicted seconds of a refactorization on a device with these rates, the upload of the values included.
pub(super) fn secs(plan: &DevicePlan, rates: &DeviceRates) -> f64 {
    let (staged, symbolic) = (plan.staged(), plan.symbolic());
    let number_bytes = plan.precision().bytes() as f64;
    let flops_per_sec = OF_PRODUCTS
        * match plan.precision() {
            Precision::F64 => rates.f64_flops_per_sec,
            Precision::F32 => rates.f32_flops_per_sec,
        };
    let bytes_per_sec = OF_COPIES * rates.copy_bytes_per_sec;
    // Values come in double precision, whatever the factor's.
    let upload_bytes = (symbolic.nnz_a() * size_of::<f64>() as u64) as f64;
    let mut secs = UPLOADS * upload_bytes / rates.upload_bytes_per_sec;
    for k in 0..staged.stages() {
        let (mut flops, mut numbers, mut tiles) = (0.0, 0.0, 0_usize);
        for &s in staged.stage(k) {
            let (npiv, nupd) = (symbolic.npiv(s as usize), symbolic.nupd(s as usize));
            flops += tamarack_plan::front_flops(npiv, nupd) as f64;
            numbers += (npiv * (npiv + nupd) + nupd * nupd) as f64; // read once, written once
            if let FrontKind::Tiled(tile) = plan.kind(s as usize) {
                tiles = tiles.max(npiv.div_ceil(64));
                if !plan.gathers(tile) {
                    numbers += (nupd * nupd) as f64; // the sum of the children is written before
                }
            }
        }
        secs += STAGE_GRAPHS * rates.graph_secs
            + CHAIN * rates.tile_secs * tiles as f64
            + flops / flops_per_sec
            + number_bytes * numbers / bytes_per_sec;
    }
    secs
}

/// Bytes on the device: the arena, the values of A where they come in double precision and stay, its pattern, and the lists of the
/// factorization and of solves with one right-hand side.
pub(super) fn device_bytes(plan: &DevicePlan) -> u64 {
    let symbolic = plan.symbolic();
    let (n, nnz) = (symbolic.n() as u64, symbolic.nnz_a());
    let fronts = symbolic.supernodes() as u64;
    let rows: u64 = (0..symbolic.supernodes())
        .map(|s| symbolic.nupd(s) as u64)
        .sum();
    // In single precision values come in double, and are scaled. Where the room of update matrices is enough for them, they or vectors
    // that take no less stand there.
    let values = match plan.precision() {
        Precision::F64 => 8 * nnz,
        Precision::F32 if room_bytes(plan) >= 8 * nnz => 8 * n,
        Precision::F32 => 8 * nnz + 8 * n,
    };
    let pattern = 4 * (nnz + n);
    // of each unknown its position and its front; of fronts their rows
    let entries = 8 * n + 32 * fronts + 4 * rows;
    // relative indices; rows, starts and sources of a solve
    let indices = 4 * (rows + 3 * rows + n);
    let tiles: u64 = (0..symbolic.supernodes())
        .map(|s| tile_bytes(plan, s))
        .sum();
    plan.arena_bytes()
        + values
        + pattern
        + entries
        + indices
        + 240 * fronts
        + tiles
        + vector_bytes(plan)
}

/// Whether values in double precision have memory of their own beside a factor in single precision: where the room of update matrices is
/// too small for them, and where vectors of solves stand there instead, which would have as much beside it.
pub(super) fn values_apart(plan: &DevicePlan) -> bool {
    let (values, room) = (8 * plan.symbolic().nnz_a(), room_bytes(plan));
    // right-hand sides in both orders, and what fronts leave for their parents
    let taken = 8 * (plan.vector_len() + 2 * plan.symbolic().n() as u64);
    room < values || (values <= vector_bytes(plan) && taken <= room)
}

/// Whole numbers in double precision that have room behind the panels, in bytes.
fn room_bytes(plan: &DevicePlan) -> u64 {
    let panels = plan.precision().bytes() as u64 * plan.staged().factor_len();
    plan.arena_bytes()
        .saturating_sub(panels.next_multiple_of(8))
}

/// Vectors of a solve with one right-hand side.
fn vector_bytes(plan: &DevicePlan) -> u64 {
    8 * (plan.vector_len() + 3 * plan.symbolic().n() as u64)
}

/// A tile of an assembly, with what its children give to it: 1.4 parts of 32 bytes on `el3d_30`, `el3d_40`, `p3d27_64`.
const ASSEMBLED_TILE_BYTES: u64 = 24 + 45;
/// What a tile takes less that is gathered where it is eliminated: the number of its first part is all.
const GATHERED_LESS_BYTES: u64 = 24 - 4;
/// A tile of an elimination.
const TASK_BYTES: u64 = 8;

/// What the lists have of a front's tiles: of its assembly, and of its elimination.
fn tile_bytes(plan: &DevicePlan, s: usize) -> u64 {
    let (npiv, nupd) = (plan.symbolic().npiv(s), plan.symbolic().nupd(s));
    let below = nupd.div_ceil(64) as u64;
    let rows = npiv.div_ceil(64) as u64 + below;
    let triangle = |rows: u64| rows * (rows + 1) / 2;
    let assembled = ASSEMBLED_TILE_BYTES * triangle(rows);
    match plan.kind(s) {
        FrontKind::Tiled(tile) if plan.gathers(tile) => {
            assembled + TASK_BYTES * triangle(rows) - GATHERED_LESS_BYTES * triangle(below)
        }
        FrontKind::Tiled(_) => assembled + TASK_BYTES * triangle(rows),
        FrontKind::Sum => assembled,
        FrontKind::Small => 0,
    }
}
