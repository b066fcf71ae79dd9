//! Multifrontal numeric factorization.
mod team;
pub use team::Team;
