//! Multifrontal numeric factorization.
