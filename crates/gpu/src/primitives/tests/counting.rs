use super::{Random, device, lengths, poisoned};
use crate::primitives::{Adjacency, Histogram, Levels, Scan};

#[test]
fn scans_agree_with_running_sums() {
    let Some((gpu, stream)) = device() else {
        return;
    };
    let scan = Scan::new(gpu).unwrap();
    let mut random = Random(21);
    let mut sizes = lengths(8192);
    sizes.extend([4095, 4096, 4097, 3_000_017]);
    let most = *sizes.iter().max().unwrap();
    let mut work = scan.workspace::<u64>(gpu, most).unwrap();
    for n in sizes {
        for extra in [0, 1] {
            let x: Vec<u32> = (0..n).map(|_| random.next() as u32).collect();
            let mut want = vec![0_u64];
            for v in &x {
                want.push(want[want.len() - 1] + u64::from(*v));
            }
            want.truncate(n + extra);
            let narrow = stream.to_device(gpu, &x).unwrap();
            let wide: Vec<u64> = x.iter().map(|&v| v.into()).collect();
            let wide = stream.to_device(gpu, &wide).unwrap();
            let mut out32 = poisoned::<u32>(gpu, &stream, n + extra);
            let mut out64 = poisoned::<u64>(gpu, &stream, n + extra);
            scan.run(&stream, &mut work, &narrow, &mut out64).unwrap();
            assert_eq!(stream.to_host(&out64).unwrap(), want, "u32 to u64, n {n}");
            stream.fill_bytes(&mut out64, 0xFF).unwrap();
            scan.run(&stream, &mut work, &wide, &mut out64).unwrap();
            assert_eq!(stream.to_host(&out64).unwrap(), want, "u64, n {n}");
            scan.run(&stream, &mut work, &narrow, &mut out32).unwrap();
            let wrapped: Vec<u32> = want.iter().map(|&v| v as u32).collect();
            assert_eq!(stream.to_host(&out32).unwrap(), wrapped, "u32, n {n}");
        }
    }
    let from = gpu.alloc::<u32>(5).unwrap();
    let mut to = gpu.alloc::<u32>(7).unwrap();
    assert!(scan.run(&stream, &mut work, &from, &mut to).is_err());
}

#[test]
fn scans_of_parts_at_odd_offsets() {
    let Some((gpu, stream)) = device() else {
        return;
    };
    let scan = Scan::new(gpu).unwrap();
    let n = 40_001;
    let mut work = scan.workspace::<u32>(gpu, n).unwrap();
    let x = stream.to_device(gpu, &vec![1_u32; n + 1]).unwrap();
    let mut out = poisoned::<u64>(gpu, &stream, n + 1);
    for _ in 0..100 {
        stream.fill_bytes(&mut out, 0xFF).unwrap();
        let to = out.view_mut();
        let to = to.split_at(1).unwrap().1;
        scan.run(&stream, &mut work, x.view().slice(1..).unwrap(), to)
            .unwrap();
        let got = stream.to_host(&out).unwrap();
        assert_eq!(got[0], u64::MAX);
        assert!(got[1..].iter().enumerate().all(|(i, &v)| v == i as u64));
    }
}

#[test]
fn histograms_count_every_key_once() {
    let Some((gpu, stream)) = device() else {
        return;
    };
    let histogram = Histogram::new(gpu).unwrap();
    let mut random = Random(22);
    for bins in [0_usize, 1, 7, 256, 1537, 12_288, 12_289, 100_003] {
        for n in lengths(4096) {
            // Some keys are past the last bin.
            let keys: Vec<u32> = (0..n)
                .map(|_| random.below(bins as u64 * 9 / 8 + 1) as u32)
                .collect();
            let mut want = vec![0_u32; bins];
            for &k in &keys {
                if let Some(count) = want.get_mut(k as usize) {
                    *count += 1;
                }
            }
            let keys = stream.to_device(gpu, &keys).unwrap();
            let mut counts = poisoned::<u32>(gpu, &stream, bins);
            histogram.run(&stream, &keys, &mut counts).unwrap();
            assert_eq!(stream.to_host(&counts).unwrap(), want, "{bins} bins, n {n}");
        }
    }
    let keys = stream.to_device(gpu, &vec![3_u32; 1_000_003]).unwrap();
    let mut counts = poisoned::<u32>(gpu, &stream, 5);
    histogram
        .run(&stream, keys.view().slice(1..).unwrap(), &mut counts)
        .unwrap();
    assert_eq!(stream.to_host(&counts).unwrap(), [0, 0, 0, 1_000_002, 0]);
}

/// Breadth-first levels with a queue.
fn levels_on_host(starts: &[u32], neighbors: &[u32], roots: &[u32]) -> Vec<u32> {
    let n = starts.len() - 1;
    let mut level = vec![u32::MAX; n];
    let mut queue: std::collections::VecDeque<_> = std::collections::VecDeque::new();
    for &r in roots {
        if (r as usize) < n && level[r as usize] == u32::MAX {
            level[r as usize] = 0;
            queue.push_back(r as usize);
        }
    }
    while let Some(v) = queue.pop_front() {
        for &w in &neighbors[starts[v] as usize..starts[v + 1] as usize] {
            if level[w as usize] == u32::MAX {
                level[w as usize] = level[v] + 1;
                queue.push_back(w as usize);
            }
        }
    }
    level
}

fn check_levels(lists: &[Vec<u32>], roots: &[u32]) {
    let Some((gpu, stream)) = device() else {
        return;
    };
    let levels = Levels::new(gpu).unwrap();
    let mut starts = vec![0];
    let mut neighbors = Vec::new();
    for list in lists {
        neighbors.extend(list);
        starts.push(neighbors.len() as u32);
    }
    let graph = Adjacency::new(gpu, &stream, &starts, &neighbors).unwrap();
    let device_roots = stream.to_device(gpu, roots).unwrap();
    let sets = levels.run(&stream, &graph, &device_roots).unwrap();
    let want = levels_on_host(&starts, &neighbors, roots);
    assert_eq!(stream.to_host(&sets.level).unwrap(), want);
    let mut order: Vec<u32> = (0..lists.len() as u32).collect();
    order.sort_by_key(|&v| want[v as usize]);
    assert_eq!(stream.to_host(&sets.order).unwrap(), order);
    let depth = want
        .iter()
        .filter(|&&l| l != u32::MAX)
        .max()
        .map_or(0, |&l| l as usize + 1);
    assert_eq!(sets.depth(), depth);
    for d in 0..depth {
        let places = sets.places(d);
        assert!(
            order[places.clone()]
                .iter()
                .all(|&v| want[v as usize] == d as u32)
        );
        assert_eq!(
            places.len(),
            want.iter().filter(|&&l| l == d as u32).count()
        );
    }
    assert!(sets.places(depth).is_empty());
}

#[test]
fn levels_of_paths_grids_stars_and_random_graphs() {
    check_levels(&[], &[]);
    check_levels(&[vec![]], &[]);
    check_levels(&[vec![0]], &[0, 0, 7]);
    // A path of 100 vertices: three windows of levels, ended within one and on its border.
    for n in [31, 32, 33, 64, 65, 100_u32] {
        let path: Vec<_> = (0..n)
            .map(|v| if v + 1 < n { vec![v + 1] } else { vec![] })
            .collect();
        check_levels(&path, &[0]);
        check_levels(&path, &[5, 20]);
    }
    let side = 57_u32;
    let grid: Vec<_> = (0..side * side)
        .map(|v| {
            let (i, j) = (v % side, v / side);
            let mut list = Vec::new();
            for (di, dj) in [(-1_i64, 0), (1, 0), (0, -1), (0, 1)] {
                let (a, b) = (i64::from(i) + di, i64::from(j) + dj);
                if (0..i64::from(side)).contains(&a) && (0..i64::from(side)).contains(&b) {
                    list.push((a + b * i64::from(side)) as u32);
                }
            }
            list
        })
        .collect();
    check_levels(&grid, &[0]);
    check_levels(&grid, &[1000, 2000]);
    let mut star = vec![vec![0]; 10_007];
    star[0] = (1..10_007).collect();
    check_levels(&star, &[0]);
    check_levels(&star, &[9999]);
    let mut random = Random(23);
    let n = 5003;
    let graph: Vec<Vec<u32>> = (0..n)
        .map(|_| {
            (0..random.below(5))
                .map(|_| random.below(n) as u32)
                .collect()
        })
        .collect();
    check_levels(&graph, &[17]);
}

#[test]
fn graphs_that_are_none_are_refused() {
    let Some((gpu, stream)) = device() else {
        return;
    };
    let refused = |starts: &[u32], neighbors: &[u32]| {
        Adjacency::new(gpu, &stream, starts, neighbors).is_err()
    };
    assert!(refused(&[], &[]));
    assert!(refused(&[1, 1], &[0]));
    assert!(refused(&[0, 2], &[0]));
    assert!(refused(&[0, 2, 1], &[0]));
    assert!(refused(&[0, 1], &[1]));
    assert!(!refused(&[0], &[]));
}
