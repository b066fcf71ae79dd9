//! Which children a supernode takes in.
//!
//! A parent takes its best child first, and judges the others anew after every merge. Where the front of all of them together is so small
//! that it takes less than any two, every merge saves time, and only the zeros are counted: most fronts of networks and trees are like
//! that. `O(children log children)` for each parent; branches that are not foreseen take most of the time.

use crate::AmalgamationOptions;
use crate::costs::FrontCosts;
use crate::factor::NONE;
use crate::flops::trapezoid;
use crate::postorder::children;
use crate::supernodes::SuperForest;

/// A supernode while others merge into it.
#[derive(Clone, Copy)]
pub(crate) struct Growing {
    /// Predicted seconds, as far as it has grown.
    pub secs: f64,
    pub zeros: u64,
    /// None before it is looked at, unless other leaves are part of it.
    pub npiv: u32,
    /// The one above that it became part of, `NONE`, or `JOINED`.
    pub into: u32,
}

/// Says that a leaf is part of one beside it.
pub(crate) const JOINED: u32 = NONE - 1;

/// What merging looks at.
pub(crate) struct Merging<'a> {
    forest: &'a SuperForest,
    options: &'a AmalgamationOptions,
    costs: FrontCosts,
    /// Order up to which one front takes less than two of the same pivots.
    surely: u32,
}

/// A child that may merge into its parent.
#[derive(Clone, Copy)]
struct Candidate {
    /// Seconds that it saves.
    gain: f64,
    child: u32,
    /// Seconds of both together.
    together: f64,
}

impl<'a> Merging<'a> {
    pub fn new(forest: &'a SuperForest, options: &'a AmalgamationOptions) -> Self {
        let costs = options.costs();
        Self {
            forest,
            options,
            surely: costs.surely_merged(),
            costs,
        }
    }

    /// Merges children into each of `parents`, increasing; `nodes` begin with supernode `base` and hold all
    /// their descendants.
    pub fn run(&self, nodes: &mut [Growing], base: usize, parents: impl Iterator<Item = usize>) {
        let (forest, size) = (self.forest, &self.forest.size);
        let mut queue = Vec::new();
        for p in parents {
            let mut this = nodes[p - base];
            if this.npiv == 0 {
                this.npiv = forest.npiv[p];
            }
            this.secs = self.costs.secs(this.npiv, forest.nupd[p]);
            match size[p] {
                1 => {}
                // One child, as most have: nothing to sort.
                total if total == size[p - 1] + 1 => self.merge_only(nodes, base, (p, &mut this)),
                _ if self.merge_all(nodes, base, (p, &mut this)) => {}
                _ => {
                    queue.clear();
                    for c in children(size, p) {
                        if let Some(found) = self.candidate(nodes, base, (c, p), &this) {
                            queue.push(found);
                        }
                    }
                    sort_by_gain(&mut queue);
                    self.merge_best(nodes, base, (p, &mut this), &queue);
                }
            }
            nodes[p - base] = this;
        }
    }

    /// Merges all children into a parent, if the front of all of them is so small that it saves time in any order.
    #[inline(always)]
    fn merge_all(
        &self,
        nodes: &mut [Growing],
        base: usize,
        (p, this): (usize, &mut Growing),
    ) -> bool {
        let up = self.forest.nupd[p];
        let entries = |node: &Growing, nupd: u32| trapezoid(node.npiv, nupd) - node.zeros;
        let (mut npiv, mut needed) = (this.npiv, entries(this, up));
        for c in children(&self.forest.size, p) {
            let child = &nodes[c - base];
            npiv += child.npiv;
            if npiv + up > self.surely || child.into == JOINED {
                return false;
            }
            needed += entries(child, self.forest.nupd[c]);
        }
        let stored = trapezoid(npiv, up);
        let zeros = stored - needed;
        let may = self.options.allows(npiv, zeros, stored);
        if may {
            for c in children(&self.forest.size, p) {
                nodes[c - base].into = p as u32;
            }
            let secs = self.costs.secs(npiv, up);
            (this.npiv, this.zeros, this.secs) = (npiv, zeros, secs);
        }
        may
    }

    /// Merges the only child into its parent, if that saves time and it may have the zeros: hard to foresee, so without a branch.
    #[inline(always)]
    fn merge_only(&self, nodes: &mut [Growing], base: usize, (p, this): (usize, &mut Growing)) {
        let child = &mut nodes[p - 1 - base];
        let (npiv, zeros, allowed) = self.both((p - 1, child), (p, this));
        let together = self.costs.secs(npiv, self.forest.nupd[p]);
        let saves = child.secs + this.secs - together > 0.0;
        let may = saves & allowed & (child.into != JOINED);
        child.into = if may { p as u32 } else { child.into };
        this.npiv = if may { npiv } else { this.npiv };
        this.zeros = if may { zeros } else { this.zeros };
        this.secs = if may { together } else { this.secs };
    }

    /// Columns and zeros of a child and its parent together, and whether they may have these.
    #[inline(always)]
    fn both(
        &self,
        (c, child): (usize, &Growing),
        (p, parent): (usize, &Growing),
    ) -> (u32, u64, bool) {
        let (below, up) = (self.forest.nupd[c], self.forest.nupd[p]);
        let added = added_zeros((child.npiv, below), (parent.npiv, up));
        let (npiv, zeros) = (child.npiv + parent.npiv, parent.zeros + child.zeros + added);
        let allowed = self.options.allows(npiv, zeros, trapezoid(npiv, up));
        (npiv, zeros, allowed)
    }

    /// What it saves to merge a child into its parent, if it saves anything.
    #[inline(always)]
    fn candidate(
        &self,
        nodes: &[Growing],
        base: usize,
        (c, p): (usize, usize),
        parent: &Growing,
    ) -> Option<Candidate> {
        let child = &nodes[c - base];
        if child.into == JOINED {
            return None;
        }
        let together = self
            .costs
            .secs(child.npiv + parent.npiv, self.forest.nupd[p]);
        let gain = child.secs + parent.secs - together;
        let child = c as u32;
        (gain > 0.0).then_some(Candidate {
            gain,
            child,
            together,
        })
    }

    /// Merges candidates, the best one first; the others are judged anew after every merge.
    #[inline(always)]
    fn merge_best(
        &self,
        nodes: &mut [Growing],
        base: usize,
        (p, this): (usize, &mut Growing),
        queue: &[Candidate],
    ) {
        let mut changed = false;
        for other in queue {
            let found = match changed {
                true => self.candidate(nodes, base, (other.child as usize, p), this),
                false => Some(*other),
            };
            if let Some(found) = found {
                changed |= self.merge(nodes, base, (p, this), found.child, found.together);
            }
        }
    }

    /// Merges a child into its parent, if it may have the zeros; says whether it did.
    #[inline(always)]
    fn merge(
        &self,
        nodes: &mut [Growing],
        base: usize,
        (p, this): (usize, &mut Growing),
        c: u32,
        together: f64,
    ) -> bool {
        let child = &mut nodes[c as usize - base];
        let (npiv, zeros, may) = self.both((c as usize, child), (p, this));
        if may {
            child.into = p as u32;
            (this.zeros, this.npiv, this.secs) = (zeros, npiv, together);
        }
        may
    }
}

/// Sorts candidates, the last child first so far, by decreasing gain; equal ones by child.
fn sort_by_gain(queue: &mut [Candidate]) {
    /// From so many on children of one size, who gain the same, are so many that a stable sort, which has only the gains to tell
    /// apart, is faster: 22,000 below one front of `ba_ladybug16` in 0.1 ms instead of 0.3.
    const MANY: usize = 256;
    if queue.len() < MANY {
        queue.sort_unstable_by(|a, b| b.gain.total_cmp(&a.gain).then(a.child.cmp(&b.child)));
    } else {
        queue.reverse();
        queue.sort_by(|a, b| b.gain.total_cmp(&a.gain));
    }
}

/// Zeros that a merge adds to those that child and parent have already.
fn added_zeros(child: (u32, u32), parent: (u32, u32)) -> u64 {
    u64::from(child.0) * (u64::from(parent.0) + u64::from(parent.1) - u64::from(child.1))
}
