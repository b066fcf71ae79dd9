//! The whole graph: its components, each dissected as if there were nothing else.

use std::borrow::Cow;
use std::sync::Mutex;

use crate::error::OrderingError;
use crate::nd::apart::apart;
use crate::nd::components::{Components, Part};
use crate::nd::graph::Weighted;
use crate::nd::large::places;
use crate::nd::random::mix;
use crate::nd::{Dissection, TASK, piece};

/// Halves of which one has less than one in so many vertices get no threads of their own: they would be taken from where the work is.
const UNEVEN: usize = 16;

/// Orders a component of a graph, `list`, whose own graph is the other one.
trait Each: Fn(Weighted, &mut [u32]) -> Result<(), OrderingError> + Sync {}
impl<F: Fn(Weighted, &mut [u32]) -> Result<(), OrderingError> + Sync> Each for F {}

/// The components of a graph on the way to their orders.
struct Apart<'a, F> {
    graph: &'a Weighted,
    /// Where among the vertices, part by part, each stands.
    place: Vec<u32>,
    /// The vertices, part by part.
    vertices: Vec<u32>,
    each: F,
}

impl Dissection<'_> {
    /// Orders `list`, which holds all vertices of the graph.
    pub(super) fn run(&self, list: &mut [u32]) -> Result<(), OrderingError> {
        let n = self.graph.n();
        if n <= self.options.leaf {
            self.give_up_uncut(n)?;
            let mut space = self.take_space();
            return space.leaf.order(self.graph, list, self.stop);
        }
        match self.components(self.graph) {
            None => self.run_connected(Cow::Borrowed(self.graph), list),
            Some(components) => {
                let large = components.parts.iter().filter(|part| part.is_large);
                let uncut = self.uncut.filter(|_| large.count() == 1);
                self.run_apart(self.graph, components, list, |graph, list| {
                    let alone = Dissection {
                        uncut,
                        ..self.alone(graph.n())
                    };
                    alone.run_connected(Cow::Owned(graph), list)
                })
            }
        }
    }

    /// Orders `list`, whose graph is `graph`: vertex `v` there is `list[v]` here. It is not a piece of another.
    fn run_connected(
        &self,
        graph: Cow<'_, Weighted>,
        list: &mut [u32],
    ) -> Result<(), OrderingError> {
        let seed = mix(self.options.seed);
        if graph.n() < 2 * self.piece {
            return self.dissect(graph.into_owned(), list, seed, &mut self.take_space());
        }
        self.dissect_large(graph, None, list, self.options.tries, seed)
    }

    /// The same of a part of it: what follows goes by its size alone.
    fn alone(&self, n: usize) -> Dissection<'_> {
        Dissection {
            n,
            piece: piece(n, self.options),
            spaces: Mutex::default(),
            ..*self
        }
    }

    /// The components of `graph`, if it is cut at all; none if it is connected. Small ones go to minimum degree together.
    pub(super) fn components(&self, graph: &Weighted) -> Option<Components> {
        let is_leaf = graph.n() <= self.options.leaf;
        (!is_leaf).then(|| Components::of(graph, self.options.leaf, TASK))?
    }

    /// Orders `list`, whose graph is `graph`, by its components, the large ones by `each`; what has no neighbors comes first.
    pub(super) fn run_apart(
        &self,
        graph: &Weighted,
        components: Components,
        list: &mut [u32],
        each: impl Fn(Weighted, &mut [u32]) -> Result<(), OrderingError> + Sync,
    ) -> Result<(), OrderingError> {
        let Components {
            list: vertices,
            lone,
            parts,
        } = components;
        let moved: Vec<u32> = vertices.iter().map(|&v| list[v as usize]).collect();
        list.copy_from_slice(&moved);
        drop(moved);
        let apart = Apart {
            graph,
            place: places(&vertices, graph.n()),
            vertices,
            each,
        };
        self.order_parts(&apart, &parts, lone, &mut list[lone..])
    }

    /// Orders these parts, of the vertices `list`, which stand from `start` on. Halves of them run at the same time.
    fn order_parts(
        &self,
        all: &Apart<'_, impl Each>,
        parts: &[Part],
        start: usize,
        list: &mut [u32],
    ) -> Result<(), OrderingError> {
        match parts {
            [] => Ok(()),
            [part] if part.is_large => {
                let mut graph = Weighted::default();
                let own = &all.vertices[start..start + list.len()];
                let place = |u: u32| all.place[u as usize] - start as u32;
                all.graph.extract(&mut graph, own, place);
                (all.each)(graph, list)
            }
            [_] => {
                self.go_on()?;
                let mut space = self.take_space();
                let result = space.leaf.order(self.graph, list, self.stop);
                self.give_space(space);
                result
            }
            _ => {
                let (first, second) = parts.split_at(parts.len() / 2);
                let count = first.iter().map(|part| part.len).sum();
                let (left, right) = list.split_at_mut(count);
                let sizes = [left.len(), right.len()];
                let is_even = UNEVEN * count.min(sizes[1]) > sizes[0] + sizes[1];
                let a = || self.order_parts(all, first, start, left);
                let b = || self.order_parts(all, second, start + count, right);
                let (a, b) = match is_even {
                    true => apart(sizes, a, b),
                    false => rayon::join(a, b),
                };
                a.and(b)
            }
        }
    }
}
