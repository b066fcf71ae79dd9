use super::*;
use crate::shape::{Look, Shape};
use tamarack_sparse::models::Model;

impl Chosen {
    fn unstopped(pattern: &Arc<Pattern>, options: &Options) -> Result<Self, Error> {
        Self::until(pattern, options, Stop::NEVER)
    }
}

fn pattern(name: &str) -> std::sync::Arc<Pattern> {
    let model: Model = name.parse().unwrap();
    model.generate::<f64>().unwrap().pattern().clone()
}

#[test]
fn auto_dissects_solids_and_spares_itself_that_on_planes() {
    let name = |model: &str, ordering: Ordering| {
        let options = Options {
            threads: Some(1),
            ordering,
            ..Options::default()
        };
        Chosen::unstopped(&pattern(model), &options).unwrap().name
    };
    assert_eq!(name("el3d_14", Ordering::Auto), "nd");
    assert_eq!(name("p3d7_30", Ordering::Auto), "nd");
    assert_eq!(name("p2d9_60", Ordering::Auto), "amd");
    assert_eq!(name("p2d5_370", Ordering::Auto), "amf");
    assert_eq!(name("shell_60x50", Ordering::Auto), "amf");
    assert_eq!(name("el3d_10", Ordering::Best(Duration::ZERO)), "nd");
}

#[test]
fn auto_takes_the_same_order_for_any_number_of_threads() {
    let order = |model: &str, threads: usize| {
        let options = Options {
            threads: Some(threads),
            ..Options::default()
        };
        let chosen = Chosen::unstopped(&pattern(model), &options).unwrap();
        chosen.symbolic.permutation().clone()
    };
    // Small ones, and narrow, thick and unclear ones of many entries, with twins and without, in parts, and scattered ones.
    let small = ["p2d9_120", "p3d7_16", "p3d27_12"];
    let large = [
        "p2d9_170",
        "el3d_14",
        "el3d_10",
        "p3d27_24",
        "p3d7_33",
        "shell_40x30",
        "p2d5_370",
        "p2d9_370",
        "rgg_20000",
        "circuit_20000",
    ];
    for model in small.into_iter().chain(large) {
        assert_eq!(order(model, 1), order(model, 5), "{model}");
    }
}

/// A plate of a few layers, each vertex joined to the 26 about it, in the natural order.
fn plate(side: u32, layers: u32) -> std::sync::Arc<Pattern> {
    let at = |v: u32| [v / layers / side, v / layers % side, v % layers];
    let n = side * side * layers;
    let (mut ptr, mut rows) = (vec![0u64], Vec::new());
    for j in 0..n {
        let farthest = n.min(j + (side + 1) * layers + 2);
        rows.extend(
            (j..farthest).filter(|&i| (0..3).all(|axis| at(i)[axis].abs_diff(at(j)[axis]) <= 1)),
        );
        ptr.push(rows.len() as u64);
    }
    Pattern::lower(n as usize, &ptr, &rows).unwrap().shared()
}

#[test]
fn minimum_fill_steps_in_where_minimum_degree_is_unlucky() {
    let a = plate(120, 4);
    let mut options = Options::default();
    let mut chosen = |ordering: Ordering, threads: usize| {
        (options.ordering, options.threads) = (ordering, Some(threads));
        Chosen::unstopped(&a, &options).unwrap()
    };
    let amd = chosen(Method::Amd(AmdOptions::default()).into(), 1);
    let [alone, together] = [1, 3].map(|threads| chosen(Ordering::Auto, threads));
    assert_eq!(alone.name, "amf");
    let order = |chosen: &Chosen| chosen.symbolic.permutation().clone();
    assert_eq!(order(&alone), order(&together));
    let flops = |chosen: &Chosen| chosen.symbolic.stats().flops;
    assert!(2 * flops(&alone) < flops(&amd));
}

/// A beam of `length` layers, each vertex joined to the 26 about it, numbered along the beam first.
fn beam(side: u32, length: u32) -> std::sync::Arc<Pattern> {
    let at = |v: u32| [v / length / side, v / length % side, v % length];
    let n = side * side * length;
    let (mut ptr, mut rows) = (vec![0u64], Vec::new());
    for j in 0..n {
        let [x, y, z] = at(j);
        let mut list = vec![];
        for (x, y, z) in (0..27).map(|k| (x + k / 9, y + k / 3 % 3, z + k % 3)) {
            let inside =
                (1..=side).contains(&x) && (1..=side).contains(&y) && (1..=length).contains(&z);
            list.extend(inside.then(|| ((x - 1) * side + y - 1) * length + z - 1));
        }
        list.retain(|&i| i >= j);
        list.sort_unstable();
        rows.extend(list);
        ptr.push(rows.len() as u64);
    }
    Pattern::lower(n as usize, &ptr, &rows).unwrap().shared()
}

#[test]
fn beams_are_ordered_in_two_halves() {
    let (side, length) = (7, 300);
    let a = beam(side, length);
    let mut options = Options::default();
    let mut chosen = |ordering: Ordering, threads: usize| {
        (options.ordering, options.threads) = (ordering, Some(threads));
        Chosen::unstopped(&a, &options).unwrap()
    };
    let [alone, together] = [1, 3].map(|threads| chosen(Ordering::Auto, threads));
    let order = |chosen: &Chosen| chosen.symbolic.permutation().clone();
    assert_eq!(order(&alone), order(&together));
    // What comes last is one layer, about the middle.
    let found = order(&alone);
    let layers = found.user_of_elim()[a.n() - 49..]
        .iter()
        .map(|v| v % length);
    let layers: std::collections::BTreeSet<u32> = layers.collect();
    assert!(
        layers.len() == 1 && layers.iter().all(|z| (120..180).contains(z)),
        "{layers:?}"
    );
    // Hardly more operations than where each layer waits for the one before.
    let amd = chosen(Method::Amd(AmdOptions::default()).into(), 1);
    let flops = |chosen: &Chosen| chosen.symbolic.stats().flops;
    assert!(2 * flops(&alone) < 3 * flops(&amd));
}

#[test]
fn bands_keep_their_order_and_lose_one_end_to_the_other() {
    let (n, width) = (6000u32, 40);
    let mut ptr = vec![0];
    ptr.extend((0..n).scan(0, |end, j| {
        *end += u64::from(width.min(n - j));
        Some(*end)
    }));
    let rows: Vec<u32> = (0..n).flat_map(|j| j..n.min(j + width)).collect();
    let a = Pattern::lower(n as usize, &ptr, &rows).unwrap().shared();
    for ordering in [Ordering::Auto, Method::Amd(AmdOptions::default()).into()] {
        let options = Options {
            ordering,
            ..Options::default()
        };
        let chosen = Chosen::unstopped(&a, &options).unwrap();
        assert_eq!(chosen.symbolic.stats().nnz_l, a.nnz_lower());
        let last = chosen.symbolic.permutation().user_of_elim()[n as usize - 1];
        assert!((2900..3100).contains(&last), "{last}");
    }
}

/// A network in which each joins two that came before, mostly of the first ones.
pub(super) fn skewed(n: u32) -> std::sync::Arc<Pattern> {
    let mut random = tamarack_testkit::Rng::new(5);
    let mut entries = tamarack_sparse::Triplets::new(n as usize).unwrap();
    for i in 1..n {
        for _ in 0..2 {
            let other = (f64::from(i) * random.unit().powi(3)) as u32;
            entries.push(i, other, 1.0).unwrap();
        }
    }
    let a = entries.into_symmetric(tamarack_sparse::Duplicates::Sum);
    a.unwrap().pattern().clone()
}

#[test]
fn minimum_degree_has_its_time_in_skewed_networks() {
    let a = skewed(20_000);
    // Minimum fill is as quick there, and a little better.
    for (ordering, name) in [
        (Ordering::Auto, "amd"),
        (Ordering::Best(Duration::ZERO), "amf"),
    ] {
        let options = Options {
            ordering,
            ..Options::default()
        };
        let chosen = Chosen::unstopped(&a, &options).unwrap();
        assert_eq!(chosen.name, name, "{:?}", options.ordering);
    }
}

/// A ring in which each joins the next three, one link of 33 going anywhere instead.
fn small_world(n: usize) -> std::sync::Arc<Pattern> {
    let mut random = tamarack_testkit::Rng::new(7);
    let mut edges = Vec::new();
    for i in 0..n {
        for step in 1..=3 {
            let is_far = random.below(33) == 0;
            let other = if is_far {
                random.below(n)
            } else {
                (i + step) % n
            };
            edges.push((i, other));
        }
    }
    tamarack_testkit::pattern_of_edges(n, &edges).shared()
}

/// Asserts what a graph of many entries looks like, and which order `auto` takes, the same for any number of threads.
fn assert_taken(a: &std::sync::Arc<Pattern>, look: Look, name: &str) {
    let graph = MergedGraph::new(a).unwrap();
    let seen = Shape::exactly(a.n(), &graph).look(&graph);
    assert_eq!(seen.look, look);
    let chosen = |threads: usize| {
        let options = Options {
            threads: Some(threads),
            ..Options::default()
        };
        Chosen::unstopped(a, &options).unwrap()
    };
    let [alone, together] = [1, 3].map(chosen);
    assert_eq!(alone.name, name);
    let order = |chosen: &Chosen| chosen.symbolic.permutation().clone();
    assert_eq!(order(&alone), order(&together));
}

#[test]
fn a_network_is_neither_a_solid_nor_dissected() {
    assert_taken(&small_world(50_000), Look::Wide, "amf");
}

/// Points anywhere in a cube, each joined to the nearest ones.
fn points(n: usize, nearest: usize) -> std::sync::Arc<Pattern> {
    let mut random = tamarack_testkit::Rng::new(5);
    let side = (n as f64 / 4.0).cbrt() as usize; // of boxes with four points each
    let points: Vec<[f64; 3]> = (0..n).map(|_| [(); 3].map(|()| random.unit())).collect();
    let place = |p: &[f64; 3]| p.map(|x| (x * side as f64) as usize);
    let mut boxes = std::collections::HashMap::<[usize; 3], Vec<usize>>::new();
    for (i, p) in points.iter().enumerate() {
        boxes.entry(place(p)).or_default().push(i);
    }
    let mut edges = Vec::new();
    for (i, p) in points.iter().enumerate() {
        let around = |step: usize| {
            let [x, y, z] = place(p);
            [x + step / 9, y + step / 3 % 3, z + step % 3].map(|x| x.wrapping_sub(1))
        };
        let boxes_around = (0..27).filter_map(|step| boxes.get(&around(step)));
        let mut near: Vec<usize> = boxes_around
            .flatten()
            .copied()
            .filter(|&j| j != i)
            .collect();
        let far = |j: &usize| (0..3).map(|k| (p[k] - points[*j][k]).powi(2)).sum::<f64>();
        near.sort_by(|a, b| far(a).total_cmp(&far(b)));
        edges.extend(near.into_iter().take(nearest).map(|j| (i, j)));
    }
    tamarack_testkit::pattern_of_edges(n, &edges).shared()
}

#[test]
fn a_solid_with_little_to_do_is_not_dissected() {
    assert_taken(&points(40_000, 5), Look::Light, "amf");
    assert_taken(&points(20_000, 30), Look::Thick, "nd");
}

/// A network in which each joins four that came before, those of many neighbors sooner.
fn attached(n: u32) -> std::sync::Arc<Pattern> {
    let mut random = tamarack_testkit::Rng::new(3);
    let (mut edges, mut ends) = (Vec::new(), vec![0, 1, 2, 3]);
    for i in 4..n {
        let others = [(); 4].map(|()| ends[random.below(ends.len())]);
        for other in others {
            edges.push((i, other));
            ends.extend([i, other]);
        }
    }
    tamarack_testkit::pattern_of_edges(n as usize, &edges).shared()
}

#[test]
fn auto_keeps_minimum_degree_where_nothing_is_worth_cutting() {
    // Of the larger one minimum degree is given up first.
    for n in [2000, 8000] {
        let a = attached(n);
        let chosen = |ordering: Ordering, threads: usize| {
            let options = Options {
                threads: Some(threads),
                ordering,
                ..Options::default()
            };
            Chosen::unstopped(&a, &options).unwrap()
        };
        let order = |chosen: &Chosen| chosen.symbolic.permutation().clone();
        let kept = chosen(Ordering::Auto, 1);
        assert_eq!(kept.name, "amd", "{n}");
        let amd = chosen(Method::Amd(AmdOptions::default()).into(), 1);
        let flops = |chosen: &Chosen| chosen.symbolic.stats().flops as f64;
        assert!(flops(&kept) < 1.02 * flops(&amd), "{n}");
        assert_eq!(order(&kept), order(&chosen(Ordering::Auto, 4)), "{n}");
    }
}

#[test]
fn best_for_a_card_goes_by_its_seconds() {
    let a = pattern("circuit_20000");
    let chosen = |ordering: Ordering, device: Device| {
        let options = Options {
            ordering,
            device,
            ..Options::default()
        };
        Chosen::unstopped(&a, &device::for_device(&options)).unwrap()
    };
    let judged = |ordering: Ordering| {
        let symbolic = chosen(ordering, Device::Gpu(0)).symbolic;
        device::judged_secs(symbolic, tamarack_plan::Precision::F64).unwrap()
    };
    let best = judged(Ordering::Best(Duration::ZERO));
    for method in ["amd", "amf", "nd"] {
        let method: Method = method.parse().unwrap();
        assert!(best <= judged(method.into()));
    }
    // It has less operations.
    let of_host = chosen(Ordering::Best(Duration::ZERO), Device::Cpu);
    let permutation = of_host.symbolic.permutation().clone();
    assert!(best < judged(permutation.into()));
}

#[test]
fn best_is_no_worse_than_its_candidates() {
    let a = pattern("p3d7_14");
    let mut options = Options::default();
    let mut flops = |ordering: Ordering| {
        options.ordering = ordering;
        let chosen = Chosen::unstopped(&a, &options).unwrap();
        chosen.symbolic.stats().flops
    };
    let best = flops(Ordering::Best(Duration::from_millis(100)));
    let amd = flops(Method::Amd(AmdOptions::default()).into());
    // Predicted seconds and operations differ a little.
    assert!(best as f64 <= 1.05 * amd as f64, "{best} {amd}");
}
