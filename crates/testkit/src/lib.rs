//! Generators, oracles and tolerances for Tamarack's own tests.
