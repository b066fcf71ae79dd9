//! Assembly of fronts: children's update matrices (extend-add); kernels in `dense/assemble.cu`.
//!
//! A parent is summed up tile by tile: a tile gathers, child by child in the order of the list, the rectangle
//! that each gives it (Duff, Reid 1983). Which children give a tile something, and where its rows are in theirs, is
//! found here, once: two masks of 64 bits for each tile and child. Tiles of the panel are added to what stands there, the
//! [entries](super::Entries) of the matrix; tiles of the update matrix are written, so that it needs not be cleared before. Nothing is
//! added by atomics, and bits repeat. Cost: every child is read once, a panel read and written where children give it something, an
//! update matrix written once; 24 bytes of lists for each tile, 32 for each rectangle. Fronts with thousands of small children are
//! assembled [column by column](columns).

mod columns;

use std::marker::PhantomData;

use columns::{Columns, are_sooner};

use super::{BLOCK, Front, FrontShape, Placed, Real, shape};
use crate::{DeviceBuffer, DeviceViewMut, Gpu, GpuError, Kernel, Launch, Program, Stream};

pub(super) const PROGRAM: Program = Program::at("dense/assemble.cu");
/// Rows and columns of a tile.
const SIDE: u32 = 64;
const THREADS: u32 = 256;

/// The update matrix of a child.
#[derive(Debug, Clone, Copy)]
pub struct Child<'a> {
    /// Where it stands: packed block columns of the height that [`FrontShape`] gives.
    pub update: u64,
    /// Row of the parent for each of its rows, ascending; as many as its order.
    pub relative: &'a [u32],
}

impl Child<'_> {
    /// Where it stands, and the elements that the arena must have for it, as a child of a front of so many rows.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for rows that do not ascend within the parent, or a place that cannot be.
    pub(super) fn placed<T: Real>(&self, rows: u32) -> Result<(Placed, u64), GpuError> {
        let relative = self.relative;
        let ascending = relative.windows(2).all(|w| w[0] < w[1]);
        if !ascending || relative.last().is_some_and(|&r| r >= rows) {
            return Err(shape(
                "relative indices, which ascend",
                relative.len() as u64,
                rows.into(),
            ));
        }
        let order = relative.len() as u32; // at most `rows`, as they ascend
        let height = FrontShape::of::<T>(0, order)?.update_height;
        let placed = Placed::packed(self.update, height);
        let end = placed.check::<T>("update matrix of a child", order, order)?;
        Ok((placed, end))
    }
}

/// A front to be assembled: its panel is added to, its update matrix is written unless it is `fresh`.
#[derive(Debug, Clone, Copy)]
pub struct Parent<'a> {
    /// The front.
    pub front: Front,
    /// Its children, in the order in which they are added.
    pub children: &'a [Child<'a>],
    /// Its update matrix is not written: who eliminates it gathers what the children give to that
    /// ([`Fronts::gathering`](super::Fronts::gathering)).
    pub gathered: bool,
}

/// Where an assembly keeps what the children of a front give to its update matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gathered {
    /// Number of its first tile.
    pub(super) first: u32,
    pub(super) updates: u32,
}

impl Gathered {
    /// How many numbers of parts there must be.
    pub(super) fn end(&self) -> usize {
        let rows = self.updates.div_ceil(SIDE) as usize;
        self.first as usize + rows * (rows + 1) / 2 + 1
    }
}

/// Laid out as the kernel's `Tile`.
#[repr(C)]
#[derive(Clone, Copy)]
struct TileData {
    to: u64,
    lead: u32,
    first_part: u32,
    parts: u32,
    rows: u8,
    columns: u8,
    diagonal: u8,
    adds: u8,
}

/// Laid out as the kernel's `Part`: what a child gives to a tile.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct PartData {
    update: u64,
    rows: u64,
    columns: u64,
    /// First row, first column and stored height of the child, [`BITS`] each.
    numbers: u64,
}

/// Bits of a number of rows in the kernel's `Part`.
const BITS: u32 = 21;

// SAFETY: numbers without padding.
unsafe impl crate::Element for TileData {}
// SAFETY: numbers without padding.
unsafe impl crate::Element for PartData {}

/// A list of fronts of `T` to be assembled from their children.
pub struct Assembly<T = f64> {
    kernel: Kernel,
    shape: Launch,
    tiles: DeviceBuffer<TileData>,
    pub(super) parts: DeviceBuffer<PartData>,
    /// Number of the first part of each tile that is gathered by others, and where the last one's end.
    pub(super) firsts: DeviceBuffer<u32>,
    gathered: Vec<Option<Gathered>>,
    /// Of parents that are not cut into tiles.
    columns: Option<Columns<T>>,
    pub(super) needs: u64,
    of: PhantomData<fn() -> T>,
}

/// What is gathered on the host before it is uploaded.
#[derive(Default)]
struct Lists {
    tiles: Vec<TileData>,
    parts: Vec<PartData>,
    firsts: Vec<u32>,
    gathered: Vec<Option<Gathered>>,
    columns: columns::Lists,
    needs: u64,
    /// Of one parent: the tile's number and what a child gives to it, child after child.
    given: Vec<(u64, PartData)>,
    /// Of one child.
    segments: Vec<Segment>,
}

/// The rows of a child in one row of tiles.
#[derive(Clone, Copy)]
struct Segment {
    tile: u32,
    /// Bit k: it has row k of the tile.
    mask: u64,
    /// Number of the first of them in the child.
    first: u32,
}

/// How a parent is cut: tiles of the pivots, then tiles of the other rows.
#[derive(Clone, Copy)]
struct Cut {
    front: Front,
    shape: FrontShape,
    /// Rows of tiles of the pivots, and of all.
    pivots: u32,
    rows: u32,
}

impl Cut {
    fn new<T: Real>(front: Front) -> Result<Self, GpuError> {
        let pivots = front.pivots.div_ceil(SIDE);
        Ok(Self {
            front,
            shape: FrontShape::of::<T>(front.pivots, front.updates)?,
            pivots,
            rows: pivots + front.updates.div_ceil(SIDE),
        })
    }

    /// Rows of the front.
    fn order(&self) -> u32 {
        self.front.pivots + self.front.updates
    }

    /// Columns of tiles that are the sum of something.
    fn columns(&self) -> u32 {
        if self.front.fresh {
            self.pivots
        } else {
            self.rows
        }
    }

    /// The row of tiles of a row of the front, and where it stands in there.
    fn of(&self, row: u32) -> (u32, u32) {
        match row.checked_sub(self.front.pivots) {
            None => (row / SIDE, row % SIDE),
            Some(below) => (self.pivots + below / SIDE, below % SIDE),
        }
    }

    /// The first row of a row of tiles among the pivots or behind them, and how many it has.
    fn span(&self, tile: u32) -> (u32, u32) {
        let (begin, end) = if tile < self.pivots {
            (tile * SIDE, self.front.pivots)
        } else {
            ((tile - self.pivots) * SIDE, self.front.updates)
        };
        (begin, SIDE.min(end - begin))
    }

    /// The number of a tile: lower triangle, column by column.
    fn number(&self, row: u32, column: u32) -> u64 {
        let (rows, column, row) = (u64::from(self.rows), u64::from(column), u64::from(row));
        column * rows - column * column.saturating_sub(1) / 2 + row - column
    }

    /// The tile, without parts.
    fn tile(&self, row: u32, column: u32) -> TileData {
        let ((i, rows), (j, columns)) = (self.span(row), self.span(column));
        let matrix = if column < self.pivots {
            Placed::packed(self.front.panel, self.shape.panel_height)
        } else {
            Placed::packed(self.front.update, self.shape.update_height)
        };
        let below = column < self.pivots && row >= self.pivots;
        let i = if below {
            self.shape.first_update + i
        } else {
            i
        };
        TileData {
            to: matrix.index(i, j),
            lead: matrix.height - j / BLOCK * BLOCK,
            first_part: 0,
            parts: 0,
            rows: rows as u8, // at most SIDE, both
            columns: columns as u8,
            diagonal: u8::from(row == column),
            adds: u8::from(column < self.pivots),
        }
    }
}

fn number(n: usize) -> Result<u32, GpuError> {
    u32::try_from(n).map_err(|_| shape("items of a list", n as u64, u32::MAX.into()))
}

impl Lists {
    fn add_child<T: Real>(&mut self, child: &Child<'_>, cut: &Cut) -> Result<(), GpuError> {
        let (Placed { height, .. }, end) = child.placed::<T>(cut.order())?;
        let relative = child.relative;
        if height >= 1 << BITS {
            let most = (1 << BITS) - 1;
            return Err(shape("rows of an update matrix", height.into(), most));
        }
        self.needs = self.needs.max(end);
        self.segments.clear();
        for (first, &row) in (0..).zip(relative) {
            let (tile, bit) = cut.of(row);
            match self.segments.last_mut().filter(|s| s.tile == tile) {
                Some(segment) => segment.mask |= 1 << bit,
                None => self.segments.push(Segment {
                    tile,
                    mask: 1 << bit,
                    first,
                }),
            }
        }
        for (n, column) in self.segments.iter().enumerate() {
            if column.tile >= cut.columns() {
                break;
            }
            for row in &self.segments[n..] {
                let part = PartData {
                    update: child.update,
                    rows: row.mask,
                    columns: column.mask,
                    numbers: [height, column.first, row.first]
                        .into_iter()
                        .fold(0, |all, own| all << BITS | u64::from(own)), // none above the height
                };
                self.given.push((cut.number(row.tile, column.tile), part));
            }
        }
        Ok(())
    }

    fn add_parent<T: Real>(&mut self, parent: &Parent<'_>) -> Result<(), GpuError> {
        let cut = Cut::new::<T>(parent.front)?;
        self.needs = self.needs.max(parent.front.data::<T>(0, 0)?.1);
        if are_sooner::<T>(parent, &cut) {
            let needs = self.columns.add::<T>(parent, &cut)?;
            self.needs = self.needs.max(needs);
            self.gathered.push(None);
            return Ok(());
        }
        self.given.clear();
        for child in parent.children {
            self.add_child::<T>(child, &cut)?;
        }
        self.given.sort_by_key(|g| g.0); // stable: children stay in their order
        let gathered = parent.gathered && !parent.front.fresh;
        let first = number(self.firsts.len())?;
        let mut given = self.given.as_slice();
        for column in 0..cut.columns() {
            for row in column..cut.rows {
                let tile = cut.number(row, column);
                let (own, others) = given.split_at(given.partition_point(|g| g.0 <= tile));
                given = others;
                let first_part = number(self.parts.len())?;
                if gathered && column >= cut.pivots {
                    self.firsts.push(first_part);
                } else if column >= cut.pivots || !own.is_empty() {
                    self.tiles.push(TileData {
                        first_part,
                        parts: number(own.len())?,
                        ..cut.tile(row, column)
                    });
                }
                self.parts.extend(own.iter().map(|g| g.1));
            }
        }
        let updates = parent.front.updates;
        if gathered {
            self.firsts.push(number(self.parts.len())?); // where those of its last tile end
        }
        self.gathered
            .push(gathered.then_some(Gathered { first, updates }));
        Ok(())
    }
}

/// Whether a parent is assembled column by column.
#[cfg(test)]
pub(super) fn by_columns<T: Real>(parent: &Parent<'_>) -> bool {
    Cut::new::<T>(parent.front).is_ok_and(|cut| are_sooner::<T>(parent, &cut))
}

impl<T: Real> Assembly<T> {
    /// Checks and uploads the list.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for fronts that cannot be addressed, or relative indices that do not ascend within
    /// the parent; [`GpuError::OutOfMemory`]; as [`Gpu::load`].
    pub fn new(gpu: &Gpu, stream: &Stream, parents: &[Parent<'_>]) -> Result<Self, GpuError> {
        let mut lists = Lists::default();
        for parent in parents {
            lists.add_parent::<T>(parent)?;
        }
        let blocks = number(lists.tiles.len())?;
        let name = format!("dense_extend_add_{}", T::NAME);
        let columns = match lists.columns.is_empty() {
            true => None,
            false => Some(Columns::new(gpu, stream, &lists.columns)?),
        };
        let (tiles, parts, firsts) =
            stream.lists(gpu, (&lists.tiles[..], &lists.parts[..], &lists.firsts[..]))?;
        Ok(Self {
            kernel: gpu.load(&PROGRAM)?.kernel(&name)?,
            shape: Launch::new(blocks, THREADS),
            tiles,
            parts,
            firsts,
            gathered: lists.gathered,
            columns,
            needs: lists.needs,
            of: PhantomData,
        })
    }

    /// Where each parent's update matrix is gathered from, for those that are gathered by others and have children: not those that are
    /// assembled column by column.
    #[must_use]
    pub fn gathered(&self) -> &[Option<Gathered>] {
        &self.gathered
    }

    /// Enqueues: every front of the list becomes the sum of what stands in its panel and its children, but for update matrices that
    /// others gather.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for an arena that ends before a front does; a failing driver call.
    pub fn launch<'a>(
        &self,
        stream: &Stream,
        arena: impl Into<DeviceViewMut<'a, T>>,
    ) -> Result<(), GpuError> {
        let arena = arena.into();
        if (arena.len() as u64) < self.needs {
            return Err(shape(
                "arena of an assembly",
                self.needs,
                arena.len() as u64,
            ));
        }
        // SAFETY: the arguments of the kernel; fronts and update matrices end within the arena, tiles within their fronts,
        // and the parts of a tile within their update matrices: masks have a bit for each row that is there.
        unsafe {
            self.kernel.launch(
                stream,
                self.shape,
                &[&arena.ptr(), &self.tiles.ptr(), &self.parts.ptr()],
            )?;
            match &self.columns {
                Some(columns) => columns.launch(stream, &arena),
                None => Ok(()),
            }
        }
    }
}
