//! Where factor panels live.
