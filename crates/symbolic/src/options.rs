//! Choices of an analysis, as values.

/// How to analyze.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SymbolicOptions {
    /// When to merge supernodes; `None` keeps the fundamental ones.
    pub amalgamation: Option<AmalgamationOptions>,
    /// Whether the columns of supernodes are put in an order of their own, in which rows stand in longer runs. It takes a
    /// tenth of the analysis, and is worth it where the vertices of a separator stand in no order: METIS's `el3d_30` is factorized 5 %
    /// faster, its `p3d7_80` 8 %. Dissections that keep the user's order in separators gain nothing.
    pub sorted_columns: bool,
}

impl Default for SymbolicOptions {
    fn default() -> Self {
        Self {
            amalgamation: Some(AmalgamationOptions::default()),
            sorted_columns: true,
        }
    }
}

/// Predicted time of a front, and how many explicit zeros may be bought with it.
///
/// A front of `k` pivots and `u` rows below takes
/// `front_secs + k · column_secs + bytes · secs_per_byte + flops / rate(k)`, where `bytes` are those
/// of its panel, written once, and of its update matrix, written, read and added, and
/// `rate(k) = peak_flops_per_sec · k / (k + half_rate_columns)`: thin panels make slow products.
/// A child is merged into its parent where that saves time and the zeros stay within the caps; leaves with the same rows,
/// below a parent that has many, are merged with each other by the same rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AmalgamationOptions {
    /// Fixed cost of a front, seconds.
    pub front_secs: f64,
    /// Fixed cost of a pivot column, seconds.
    pub column_secs: f64,
    /// Cost of moving one byte of a front, seconds.
    pub secs_per_byte: f64,
    /// Rate of products with many pivots, operations per second.
    pub peak_flops_per_sec: f64,
    /// Number of pivots at which half the peak rate is reached.
    pub half_rate_columns: f64,
    /// Bytes of one entry of the factor.
    pub entry_bytes: f64,
    /// Largest share of explicit zeros in the stored entries of a merged supernode.
    pub max_zero_fraction: f64,
    /// The same for merged supernodes of at most `small_columns` columns.
    pub small_zero_fraction: f64,
    /// See `small_zero_fraction`.
    pub small_columns: u32,
}

/// Rates near those of one core with AVX-512. The caps weigh predicted time against memory, both
/// printed by `examples/grids.rs`: with 0.9 for both, `p2d5_1000` is predicted 9 % faster but stores 64 %
/// zeros instead of 15 %; 3D problems would gain 1 to 3 % and store 11 to 15 % instead of 1 to 3 %.
/// Up to 8 columns zeros cost a solve nothing, because its kernels take 8 columns at a time and wait for
/// indices, not for entries; beyond, each costs memory traffic (measured: 8 instead of 16 makes the solve of
/// `p2d5_1000` 11 % faster and that of `rgg_200000` 17 %, factorizations 0 to 5 % slower).
impl Default for AmalgamationOptions {
    fn default() -> Self {
        Self {
            front_secs: 5.0e-7,
            column_secs: 5.0e-8,
            secs_per_byte: 1.5e-10,
            peak_flops_per_sec: 6.0e10,
            half_rate_columns: 16.0,
            entry_bytes: 8.0,
            max_zero_fraction: 0.05,
            small_zero_fraction: 0.6,
            small_columns: 8,
        }
    }
}
