// A front: the factor panel and the update matrix of a supernode, as kernels see it.
#pragma once
#include "dense/layout.cuh"

// Panel: rows 0 .. pivots are the diagonal block, rows first_update .. first_update + updates stand
// below; what lies between is never read. Both parts are packed block columns. Above the diagonal of each diagonal tile of a
// front that is eliminated tile by tile stands the inverse of the tile's transpose.
struct Front {
    u64 panel;        // where the panel stands in the arena
    u64 update;       // where the update matrix stands
    u64 inverse;      // where the diagonals of those inverses stand: one number for each pivot
    u32 pivots, updates;
    u32 panel_rows;   // stored height of the panel, even
    u32 first_update; // even, at least `pivots`
    u32 update_rows;  // stored height of the update matrix, even
    u32 progress;     // where this front's counters of finished tiles begin
    u32 fresh;        // 1: the update matrix is taken as zero and not read
    u32 status;       // number of this front's status
    u32 gathered;     // all ones, or the number of its first tile in lists of parts: the update matrix is then the sum of what
                      // children give to it, and not read
    u32 unused;
};

#define NOT_GATHERED 0xffffffffu
