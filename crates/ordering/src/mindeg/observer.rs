//! What tests see of an elimination; the observer `()` sees nothing and costs nothing.

use crate::mindeg::lists::DegreeLists;
use crate::mindeg::quotient::QuotientGraph;

/// Called at every step of an elimination.
pub(crate) trait Observer {
    /// `me` has been chosen, its element is not formed yet.
    fn pivot(&mut self, _q: &QuotientGraph, _lists: &DegreeLists, _me: u32) {}
    /// The element of `me` is formed.
    fn formed(&mut self, _q: &QuotientGraph, _lists: &DegreeLists, _me: u32) {}
}

impl Observer for () {}
