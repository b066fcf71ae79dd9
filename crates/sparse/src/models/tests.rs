//! The stencils against hashes of the matrices that the reference figures were measured on.

use super::*;
use crate::Pattern;

fn model(name: &str) -> Model {
    name.parse().unwrap()
}

/// FNV-1a over the 64-bit words of: order, offsets, rows.
fn hash_pattern(p: &Pattern) -> u64 {
    let head = std::iter::once(p.n() as u64).chain(p.col_ptr().iter().copied());
    let words = head.chain(p.row_idx().iter().map(|i| u64::from(*i)));
    words.fold(0xCBF2_9CE4_8422_2325, step)
}

fn step(hash: u64, word: u64) -> u64 {
    (hash ^ word).wrapping_mul(0x100_0000_01B3)
}

/// Pattern, then the bits of the values.
fn hash(a: &SymmetricCsc<f64>) -> u64 {
    let words = a.values().iter().map(|v| v.to_bits());
    words.fold(hash_pattern(a.pattern()), step)
}

/// Name, order, entries of the lower triangle, hash of pattern and values: from the C++ programs
/// that made the matrices of the published comparisons.
const SAME_BITS: &[(&str, usize, u64, u64)] = &[
    ("p2d5_1", 1, 1, 0xbbe6_e7ae_acc4_7d97),
    ("p2d5_2", 4, 8, 0xb38f_713e_44a2_0a57),
    ("p2d5_30", 900, 2640, 0x94f3_bd07_c61c_b7c3),
    ("p2d5_7x4", 28, 73, 0xe726_068e_7640_9c18),
    ("p3d7_1", 1, 1, 0xae4e_e7ae_acc4_7d97),
    ("p3d7_9", 729, 2673, 0xa202_a831_ae5a_0d2f),
    ("p3d27_1", 1, 1, 0x7488_e7ae_acc4_7d97),
    ("p3d27_2", 8, 36, 0xd8b1_1bfc_be3e_591d),
    ("p3d27_8", 512, 5580, 0x67c8_e30f_a265_0479),
    ("el3d_1", 12, 78, 0xd34c_c842_0634_5c21),
    ("el3d_2", 54, 909, 0xd470_d2da_995b_b34d),
    ("el3d_3", 144, 3222, 0x5e93_c8f6_d971_721f),
    ("el3d_4", 300, 7755, 0x38f7_2739_7f9e_5a3f),
    ("el3d_5", 540, 15246, 0xc0db_8e51_e50a_612d),
    ("el3d_6", 882, 26433, 0xfc9b_147f_f068_8125),
    ("p2d9_7", 49, 205, 0x6062_02d7_025c_c0c3),
    ("p2d9_30", 900, 4322, 0x476b_f531_f754_1207),
    ("rgg_50", 50, 282, 0xdefe_3e27_9612_a713),
    ("rgg_2000", 2000, 13371, 0x147c_c906_cafb_b74c),
];

/// Name, order, entries, hash of the pattern alone: there the C library's powers and sines decide
/// the last bits of the values.
const SAME_PATTERN: &[(&str, usize, u64, u64)] = &[
    ("shell_3x3", 36, 438, 0x811b_1468_6281_a197),
    ("shell_20x16", 1824, 37927, 0x52a9_9d40_1fab_ed3f),
    ("circuit_2000", 2000, 4838, 0x3910_3b3e_4954_b975),
    ("lpnorm_1000", 1000, 8551, 0xa1b9_41b2_88ef_5270),
];

#[test]
fn same_bits_as_the_reference_programs() {
    for &(name, n, nnz, bits) in SAME_BITS {
        let a = model(name).generate::<f64>().unwrap();
        assert_eq!((a.n(), a.pattern().nnz_lower()), (n, nnz), "{name}");
        assert_eq!(hash(&a), bits, "{name}");
    }
}

#[test]
fn same_pattern_as_the_reference_programs() {
    for &(name, n, nnz, bits) in SAME_PATTERN {
        let a = model(name).generate::<f64>().unwrap();
        assert_eq!((a.n(), a.pattern().nnz_lower()), (n, nnz), "{name}");
        assert_eq!(hash_pattern(a.pattern()), bits, "{name}");
    }
}

/// Hashes of our own definitions: a change of one bit on any machine or in any version shows.
const OUR_BITS: &[(&str, u64)] = &[
    ("aniso2d_9", 0x846c_fd85_1930_3835),
    ("aniso3d_5", 0x44af_5099_f0d9_859c),
    ("jump2d_9", 0xa448_0a7d_019d_6716),
    ("jump3d_5", 0xae1c_fa33_2b19_5ab2),
    ("shell_6x5", 0xfdd0_570b_75b0_21e0),
    ("circuit_500", 0xaae3_080f_71c8_1697),
    ("lpnorm_300", 0xcb4f_93d3_4524_a41b),
    ("adjust_12x90", 0xeeb5_0d73_2ab8_8859),
];

#[test]
fn same_bits_as_ever() {
    for &(name, bits) in OUR_BITS {
        let a = model(name).generate::<f64>().unwrap();
        assert_eq!(hash(&a), bits, "{name}: {:#018x}", hash(&a));
    }
}

#[test]
fn names_print_as_they_parse() {
    for name in [
        "p2d5_300x200",
        "p3d7_10x20x30",
        "el3d_2x3x4",
        "shell_200x160",
        "rgg_1000",
    ] {
        assert_eq!(model(name).to_string(), name);
    }
    assert_eq!(model("p2d5_7x7").to_string(), "p2d5_7");
    assert_eq!(model("shell_200x160").n(), 191_040);
    assert_eq!(model("el3d_20").n(), 26_460);
    for family in families() {
        let m = model(family.example);
        assert_eq!(m.to_string(), family.example);
        assert_eq!(m.family().name, family.name);
    }
}

#[test]
fn the_order_is_the_order_of_the_matrix() {
    for family in families() {
        for size in [2, 3, 5, 17] {
            let m = model(&format!("{}_{size}", family.name));
            let a = m.generate::<f64>().unwrap();
            assert_eq!(a.n(), m.n(), "{m}");
            let p = a.pattern();
            assert!(
                Pattern::lower(p.n(), p.col_ptr(), p.row_idx()).is_ok(),
                "{m}"
            );
        }
    }
}

#[test]
fn refuses_names_and_sizes_that_are_none() {
    let error = |name: &str| name.parse::<Model>().unwrap_err();
    for name in ["", "_", "p2d5x", "hexa_3", "P2d5_3", "p2d50_3"] {
        assert!(matches!(error(name), ModelError::Unknown { .. }), "{name}");
    }
    for name in [
        "p2d5",
        "p2d5_",
        "p2d5_0",
        "p2d5_-3",
        "p2d5_+3",
        "p2d5_3x",
        "p2d5_3x4x5",
        "p3d7_3x4",
        "p2d5_3.0",
        "p2d5_99999999999999999999",
        "rgg_3x3",
        "shell_1x5",
        "lpnorm_1",
        "el3d_ 3",
    ] {
        assert!(matches!(error(name), ModelError::Size { .. }), "{name}");
    }
    for name in [
        "p2d5_65536",
        "p3d27_1626",
        "el3d_1200",
        "rgg_4294967295",
        "el3d_4294967295",
    ] {
        assert!(matches!(error(name), ModelError::TooLarge { .. }), "{name}");
    }
    assert!(error("foo_1").to_string().contains("p2d5, p2d9, p3d7"));
    assert!(error("p2d5_x").to_string().contains("p2d5_1000"));
}

#[test]
fn single_precision_is_the_rounded_double() {
    for name in ["el3d_3", "jump3d_5", "rgg_300"] {
        let double = model(name).generate::<f64>().unwrap();
        assert_eq!(model(name).generate::<f32>().unwrap(), double.cast::<f32>());
    }
}

#[test]
fn laplacians_have_the_row_sums_of_their_shift() {
    let row_sums = |name: &str| {
        let a = model(name).generate::<f64>().unwrap();
        let mut y = vec![0.0; a.n()];
        a.matvec(&vec![1.0; a.n()], &mut y);
        y
    };
    assert!(
        row_sums("rgg_2000")
            .iter()
            .all(|s| (s - 1e-3).abs() < 1e-12)
    );
    assert!(
        row_sums("circuit_2000")
            .iter()
            .all(|s| (s - 1e-6).abs() < 1e-10)
    );
    // Away from the boundary a flat solution needs no source.
    let s = row_sums("jump3d_5");
    assert!(s[(2 * 5 + 2) * 5 + 2].abs() < 1e-9 && s[0] >= 6.0);
    let s = row_sums("aniso2d_5");
    assert!(s[12].abs() < 1e-15 && (s[0] - 1.001).abs() < 1e-15);
}

/// Blocks of `JᵀJ`: a point is in as many rectangles as cameras see it, and no two points or cameras share an entry.
#[test]
fn adjustments_have_points_that_cameras_see() {
    let a = model("adjust_40x500").generate::<f64>().unwrap();
    let (p, first) = (a.pattern(), 6 * 40);
    let mut seen = vec![0; 500];
    for j in 0..a.n() {
        let own = if j < first {
            j / 6 * 6..j / 6 * 6 + 6
        } else {
            (j - first) / 3 * 3 + first..(j - first) / 3 * 3 + first + 3
        };
        for &i in p.rows(j) {
            let i = i as usize;
            assert!(own.contains(&i) || (j < first && i >= first), "({i}, {j})");
            if j < first && i >= first {
                seen[(i - first) / 3] += 1;
            }
        }
    }
    let cameras = seen.iter().map(|s| s / 18);
    assert!(seen.iter().all(|s| s % 18 == 0) && cameras.clone().all(|c| (1..=8).contains(&c)));
    let sum: usize = cameras.sum();
    assert!((2000..2500).contains(&sum), "{sum}");
}

#[test]
fn a_stretched_bar_is_in_equilibrium() {
    // u = x in a bar with Poisson's ratio 0.3 needs forces on the surface only: no inner node
    // feels any.
    let a = model("el3d_4").generate::<f64>().unwrap();
    let node = |x: usize, y: usize, z: usize| (z * 5 + y) * 4 + x - 1;
    let mut u = vec![0.0; a.n()];
    for x in 1..=4 {
        for k in 0..25 {
            u[3 * node(x, k % 5, k / 5)] = x as f64;
        }
    }
    let mut f = vec![0.0; a.n()];
    a.matvec(&u, &mut f);
    for x in 1..4 {
        for y in 1..4 {
            for z in 1..4 {
                let at = 3 * node(x, y, z);
                assert!(f[at..at + 3].iter().all(|v| v.abs() < 1e-14));
            }
        }
    }
    // On the free end the forces add up to the axial stress c·(1 − nu) times the area 16.
    let end: f64 = (0..25).map(|k| f[3 * node(4, k % 5, k / 5)]).sum();
    assert!((end - 16.0 * 0.7 / (1.3 * 0.4)).abs() < 1e-12);
}
