use super::{Random, device, lengths, poisoned};
use crate::primitives::{Merge, RadixSort, SortKey};

fn low_bits<K: SortKey + Into<u64>>(key: K, bits: &std::ops::Range<u32>) -> u64 {
    let mask = if bits.end == 64 {
        u64::MAX
    } else {
        (1 << bits.end) - 1
    };
    (key.into() & mask) >> bits.start
}

fn sorts<K: SortKey + Into<u64> + std::fmt::Debug + PartialEq>(of: impl Fn(u64) -> K) {
    let Some((gpu, stream)) = device() else {
        return;
    };
    let sort = RadixSort::new(gpu).unwrap();
    let mut random = Random(31);
    let mut sizes = lengths(384 * K::ITEMS);
    sizes.push(500_009);
    for n in sizes {
        // All bits; few bits of wide keys; a range from the middle; keys that hardly differ.
        let ranges = [
            (0..K::BITS, u64::MAX),
            (0..11, u64::MAX),
            (5..23, u64::MAX),
            (0..K::BITS, 3),
        ];
        for (bits, mask) in ranges {
            let keys: Vec<K> = (0..n).map(|_| of(random.next() & mask)).collect();
            let mut want: Vec<(K, u32)> = keys.iter().copied().zip(0..).collect();
            want.sort_by_key(|(k, _)| low_bits(*k, &bits));
            let values: Vec<u32> = (0..n as u32).collect();
            let mut keys = stream.to_device(gpu, &keys).unwrap();
            let mut values = stream.to_device(gpu, &values).unwrap();
            let mut work = sort.workspace::<K>(n).unwrap();
            sort.run(&stream, &mut work, bits.clone(), &mut keys, &mut values)
                .unwrap();
            let (keys, values) = (
                stream.to_host(&keys).unwrap(),
                stream.to_host(&values).unwrap(),
            );
            for (i, want) in want.iter().enumerate() {
                assert_eq!((keys[i], values[i]), *want, "n {n}, bits {bits:?}, at {i}");
            }
        }
    }
}

#[test]
fn sorting_is_stable_for_every_range_of_bits() {
    sorts(|v| v as u32);
    sorts(|v| v);
}

#[test]
fn sorting_repeats() {
    let Some((gpu, stream)) = device() else {
        return;
    };
    let sort = RadixSort::new(gpu).unwrap();
    let n = 100_003;
    let mut random = Random(32);
    let source: Vec<u32> = (0..n).map(|_| random.next() as u32 & 0xFFFF).collect();
    let order: Vec<u32> = (0..n as u32).collect();
    let mut work = sort.workspace::<u32>(n).unwrap();
    let mut first = None;
    for _ in 0..100 {
        let mut keys = stream.to_device(gpu, &source).unwrap();
        let mut values = stream.to_device(gpu, &order).unwrap();
        sort.run(&stream, &mut work, 0..16, &mut keys, &mut values)
            .unwrap();
        let got = stream.to_host(&values).unwrap();
        assert_eq!(first.get_or_insert_with(|| got.clone()), &got);
    }
    let mut keys = gpu.alloc::<u32>(n + 1).unwrap();
    let mut values = gpu.alloc::<u32>(n + 1).unwrap();
    assert!(
        sort.run(&stream, &mut work, 0..16, &mut keys, &mut values)
            .is_err()
    );
    let mut keys = gpu.alloc::<u32>(n).unwrap();
    assert!(
        sort.run(&stream, &mut work, 0..16, &mut keys, &mut values)
            .is_err()
    );
}

#[test]
fn merging_is_stable_whatever_the_lengths() {
    let Some((gpu, stream)) = device() else {
        return;
    };
    let merge = Merge::new(gpu).unwrap();
    let mut random = Random(33);
    let sizes = lengths(2048);
    let mut work = merge.workspace(gpu, 2 * 10_007).unwrap();
    for &na in &sizes {
        for &nb in &sizes {
            for limit in [5, 1 << 32] {
                let mut list = |n: usize, mark: u32| {
                    let mut keys: Vec<u64> = (0..n).map(|_| random.below(limit)).collect();
                    keys.sort_unstable();
                    let values: Vec<u32> = (0..n as u32).map(|i| i | mark).collect();
                    (keys, values)
                };
                let (a, b) = (list(na, 0), list(nb, 1 << 31));
                let mut want: Vec<(u64, u32)> =
                    a.0.iter().copied().zip(a.1.iter().copied()).collect();
                want.extend(b.0.iter().copied().zip(b.1.iter().copied()));
                want.sort_by_key(|p| p.0);
                let up = |v: &[u64]| stream.to_device(gpu, v).unwrap();
                let up32 = |v: &[u32]| stream.to_device(gpu, v).unwrap();
                let (ka, va, kb, vb) = (up(&a.0), up32(&a.1), up(&b.0), up32(&b.1));
                let mut keys = poisoned::<u64>(gpu, &stream, na + nb);
                let mut values = poisoned::<u32>(gpu, &stream, na + nb);
                let out = (keys.view_mut(), values.view_mut());
                let (la, lb) = ((ka.view(), va.view()), (kb.view(), vb.view()));
                merge.run(&stream, &mut work, la, lb, out).unwrap();
                let (keys, values) = (
                    stream.to_host(&keys).unwrap(),
                    stream.to_host(&values).unwrap(),
                );
                let got: Vec<_> = keys.into_iter().zip(values).collect();
                assert!(got == want, "{na} and {nb} keys below {limit}");
            }
        }
    }
}
