//! Sparse direct solver for large symmetric positive definite systems.
