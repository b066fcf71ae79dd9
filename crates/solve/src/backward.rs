//! Backward errors, and which of two are better.

/// Backward errors of an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Errors {
    pub normwise: f64,
    pub componentwise: f64,
}

impl Errors {
    /// Whether this answer is better than the one before. NaN counts as worse.
    pub fn improve(&self, before: &Self) -> bool {
        self.componentwise < before.componentwise || self.improve_others(before)
    }

    /// Whether it is so much better that one more step may pay.
    pub fn halve(&self, before: &Self) -> bool {
        self.componentwise <= before.componentwise / 2.0 || self.improve_others(before)
    }

    /// Whether the worst row is as it was, and the others are better. A row whose numbers are smaller than the factor's precision
    /// can represent cannot be helped.
    fn improve_others(&self, before: &Self) -> bool {
        /// Componentwise errors up to this ratio are the same.
        const SAME: f64 = 1.01;
        let (now, then) = (self.componentwise, before.componentwise);
        now <= SAME * then && then <= SAME * now && self.normwise < before.normwise / 2.0
    }
}
