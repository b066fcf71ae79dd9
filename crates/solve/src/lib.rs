//! Triangular solves, refinement, condition estimates.
