//! A hash of a pattern, to tell values of another pattern from those of the one analyzed.
//!
//! Four independent multiply-and-fold lanes over the arrays, so that it runs at memory speed. It guards
//! against mistakes, not against an adversary who looks for collisions. Linear in `n + nnz(A)`.

/// Odd constants with about half their bits set: the fractional parts of √2, √3, √5, √7.
const KEYS: [u64; 4] = [
    0x6a09_e667_f3bc_c909,
    0xbb67_ae85_84ca_a73b,
    0x3c6e_f372_fe94_f82b,
    0xa54f_f53a_5f1d_36f1,
];

/// Hash of the order `n`, the column offsets and the row indices of a pattern.
pub(crate) fn fingerprint(n: usize, col_ptr: &[u64], row_idx: &[u32]) -> u64 {
    let mut lanes = KEYS.map(|k| fold(k ^ n as u64, KEYS[0]));
    let (chunks, rest) = col_ptr.as_chunks::<4>();
    for chunk in chunks {
        absorb(&mut lanes, *chunk);
    }
    let mut tail = [0; 4];
    tail[..rest.len()].copy_from_slice(rest);
    absorb(&mut lanes, tail);
    let (chunks, rest) = row_idx.as_chunks::<8>();
    let pair = |c: &[u32; 8], k: usize| u64::from(c[2 * k]) | u64::from(c[2 * k + 1]) << 32;
    for c in chunks {
        absorb(&mut lanes, [pair(c, 0), pair(c, 1), pair(c, 2), pair(c, 3)]);
    }
    let mut c = [0; 8];
    c[..rest.len()].copy_from_slice(rest);
    absorb(
        &mut lanes,
        [pair(&c, 0), pair(&c, 1), pair(&c, 2), pair(&c, 3)],
    );
    lanes.iter().fold(KEYS[3], |h, &l| fold(h ^ l, KEYS[1]))
}

fn absorb(lanes: &mut [u64; 4], words: [u64; 4]) {
    for ((lane, word), key) in lanes.iter_mut().zip(words).zip(KEYS) {
        *lane = fold(*lane ^ word, key);
    }
}

/// Both halves of a 128-bit product. Adding the input keeps a zero product from forgetting it.
fn fold(x: u64, key: u64) -> u64 {
    let product = u128::from(x) * u128::from(key);
    (product as u64) ^ ((product >> 64) as u64).wrapping_add(x.rotate_left(29))
}
