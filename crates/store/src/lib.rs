//! Where factor panels and working memory live.
//!
//! In core there is one kind of place, the [`Arena`]: a block of numbers taken from the operating
//! system once, with huge pages where they are offered, and handed out by offset as the plan says.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

mod arena;
mod freed;
mod pages;
mod spare;

pub use arena::{Arena, Element, StoreError};
pub use freed::{return_end_of_heap, return_freed_memory, return_spare_blocks};
pub use pages::Fresh;
