//! Model problems, deterministic to the bit.
