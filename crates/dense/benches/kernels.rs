//! Rates of the kernels in GF/s and in percent of this core's measured FMA peak.
//!
//! `cargo bench -p tamarack-dense -- FILTER…`; a line is run if every filter occurs in it, for
//! instance `f64 front` or `potrf`. Best of many short samples, beside the better of the peaks measured
//! just before and after, because shared machines drift. Operands are as warm as they fit.

use std::hint::black_box;
use std::time::Instant;

use tamarack_dense::{
    BlockColumns, Floor, FrontMut, InstructionSet, Isa, PanelRef, Real, Steps, UpdateMode,
    Workspace, gemm_nt, packed_len, partial_cholesky, potrf, rhs_stride, syrk_lower,
    trsm_right_lower_transposed,
};

/// Least mean seconds of `f`, each call after an untimed `before`, from 60 samples of at least
/// `least` seconds: on a shared machine the least is what was not interrupted.
fn time(least: f64, mut before: impl FnMut(), mut f: impl FnMut()) -> f64 {
    let mut sample = |calls: usize| {
        let mut total = 0.0;
        for _ in 0..calls {
            before();
            let start = Instant::now();
            f();
            total += start.elapsed().as_secs_f64();
        }
        (total / calls as f64 - 22e-9).max(1e-12) // one reading of the clock
    };
    let once = sample(1).min(sample(1));
    let calls = (least / once).ceil().max(1.0) as usize;
    let samples = if once > 10e-3 { 9 } else { 60 };
    (0..samples).map(|_| sample(calls)).fold(f64::MAX, f64::min)
}

fn numbers<T: Real>(len: usize) -> Vec<T> {
    let mut s = 1u64;
    let next = |_| {
        s = s
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        T::from_f64((s >> 11) as f64 / (1u64 << 53) as f64 - 0.5)
    };
    (0..len).map(next).collect()
}

/// Rate of independent FMAs in registers, the limit of the core.
#[cfg(target_arch = "x86_64")]
fn peak<T: Real>() -> f64 {
    use std::arch::x86_64::*;
    const ROUNDS: usize = 4000;
    macro_rules! chain {
        ($name:ident, $features:literal, $n:literal, $set1:ident, $fma:ident, $v:ty) => {
            #[target_feature(enable = $features)]
            fn $name() {
                let (mut x, one) = ([$set1(1.0); $n], black_box($set1(1.0)));
                for _ in 0..ROUNDS {
                    for y in &mut x {
                        *y = $fma(*y, one, one);
                    }
                }
                black_box::<[$v; $n]>(x);
            }
        };
    }
    chain!(
        wide64,
        "avx512f",
        24,
        _mm512_set1_pd,
        _mm512_fmadd_pd,
        __m512d
    );
    chain!(
        wide32,
        "avx512f",
        24,
        _mm512_set1_ps,
        _mm512_fmadd_ps,
        __m512
    );
    chain!(
        half64,
        "avx2,fma",
        12,
        _mm256_set1_pd,
        _mm256_fmadd_pd,
        __m256d
    );
    chain!(
        half32,
        "avx2,fma",
        12,
        _mm256_set1_ps,
        _mm256_fmadd_ps,
        __m256
    );
    let (chains, bytes, chain): (usize, usize, unsafe fn()) =
        match (Isa::detect().set(), size_of::<T>()) {
            (InstructionSet::Avx512, 8) => (24, 64, wide64),
            (InstructionSet::Avx512, _) => (24, 64, wide32),
            (InstructionSet::Avx2, 8) => (12, 32, half64),
            (InstructionSet::Avx2, _) => (12, 32, half32),
            _ => return f64::NAN,
        };
    // SAFETY: the machine was found to have the instruction set.
    let call = || unsafe { chain() };
    let flops = 2 * ROUNDS * chains * bytes / size_of::<T>();
    flops as f64 / time(LEAST, || (), call) * 1e-9
}

#[cfg(not(target_arch = "x86_64"))]
fn peak<T: Real>() -> f64 {
    f64::NAN
}

struct Bench {
    filters: Vec<String>,
    name: &'static str,
}

impl Bench {
    /// Measures and prints one line: `f` and, beside it, another library's `other`.
    fn line<T: Real>(
        &self,
        what: &str,
        flops: f64,
        f: impl FnOnce() -> f64,
        other: Option<&dyn Fn() -> f64>,
    ) {
        let line = format!("{} {what}", self.name);
        if !self.filters.iter().all(|x| line.contains(x.as_str())) {
            return;
        }
        let first = peak::<T>();
        let rate = flops / f() * 1e-9;
        let peak = first.max(peak::<T>());
        print!(
            "{line:<40} {rate:8.2} GF/s {:5.1} %  of {peak:5.1}",
            100.0 * rate / peak
        );
        match other {
            Some(other) => println!("   matrixmultiply {:7.2}", flops / other() * 1e-9),
            None => println!(),
        }
    }
}

/// The other library's product, column-major, `C ← C − A·Bᵀ`.
trait Peer: Real {
    fn gemm(m: usize, n: usize, k: usize, a: *const Self, b: *const Self, c: *mut Self);
}
macro_rules! peer {
    ($t:ident, $gemm:ident) => {
        impl Peer for $t {
            fn gemm(m: usize, n: usize, k: usize, a: *const $t, b: *const $t, c: *mut $t) {
                let (p, q) = (m as isize, n as isize);
                // SAFETY: called with matrices of these sizes only.
                unsafe { matrixmultiply::$gemm(m, k, n, -1.0, a, 1, p, b, q, 1, 1.0, c, 1, p) }
            }
        }
    };
}
peer!(f64, dgemm);
peer!(f32, sgemm);

const LEAST: f64 = 2e-4;

fn products<T: Peer>(bench: &Bench) {
    let mut ws = Workspace::<T>::new(128);
    let sizes = [4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512, 1024].map(|n| (n, n, n));
    for (m, n, k) in sizes
        .into_iter()
        .chain([(256, 64, 64), (1024, 128, 128), (1024, 128, 512)])
    {
        let (a, b, mut c) = (
            numbers::<T>(m * k),
            numbers::<T>(n * k),
            numbers::<T>(m * n),
        );
        let (pa, pb, pc) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
        let flops = 2.0 * (m * n * k) as f64;
        let repeat = (200_000.0 / flops).ceil() as usize;
        // SAFETY: sizes as allocated.
        let ours = || unsafe {
            for _ in 0..repeat {
                gemm_nt(
                    m,
                    n,
                    k,
                    (pa, m),
                    (pb, n),
                    (pc, m),
                    UpdateMode::Accumulate,
                    &mut ws,
                );
            }
        };
        let theirs = || (0..repeat).for_each(|_| T::gemm(m, n, k, pa, pb, pc));
        let scale = repeat as f64;
        bench.line::<T>(
            &format!("gemm {m}x{n}x{k}"),
            flops * scale,
            || time(LEAST, || (), ours),
            Some(&|| time(LEAST, || (), theirs)),
        );
    }
    for (m, n, k) in [(64, 64, 16), (64, 64, 64), (256, 256, 64), (1024, 128, 256)] {
        let (a, mut c) = (numbers::<T>(m * k), numbers::<T>(m * n));
        let flops = (n * (2 * m - n + 1) * k) as f64;
        // SAFETY: sizes as allocated.
        let ours = || unsafe {
            for _ in 0..8 {
                let (a, c) = ((a.as_ptr(), m), (c.as_mut_ptr(), m));
                syrk_lower(m, n, k, a, c, UpdateMode::Accumulate, &mut ws);
            }
        };
        let what = format!("syrk {m}x{n} k={k}");
        bench.line::<T>(&what, 8.0 * flops, || time(LEAST, || (), ours), None);
    }
}

/// Lower triangle of a definite matrix, column-major.
fn definite<T: Real>(n: usize, ld: usize) -> Vec<T> {
    let mut a = numbers::<T>(ld * n);
    (0..n).for_each(|j| a[j * (ld + 1)] = T::from_f64(n as f64));
    a
}

fn triangles<T: Real>(bench: &Bench) {
    let mut ws = Workspace::<T>::new(128);
    for (m, n) in [(64, 16), (256, 64), (1024, 128)] {
        let (l, x) = (definite::<T>(n, n), numbers::<T>(m * n));
        let mut y = x.clone();
        let p = (y.as_mut_ptr(), m);
        let flops = (m * n * n) as f64;
        // SAFETY: sizes as allocated.
        let solve = || unsafe { trsm_right_lower_transposed(m, n, (l.as_ptr(), n), p, &mut ws) };
        // SAFETY: `y` has the length of `x`.
        let reset = || unsafe { x.as_ptr().copy_to_nonoverlapping(p.0, m * n) };
        bench.line::<T>(
            &format!("trsm {m}x{n}"),
            flops,
            || time(LEAST, reset, solve),
            None,
        );
    }
    for n in [4, 8, 16, 24, 32, 48, 64, 96, 128, 256, 1024] {
        let a = definite::<T>(n, n);
        let mut l = a.clone();
        let p = (l.as_mut_ptr(), n);
        // SAFETY: sizes as allocated.
        let factor = || unsafe { potrf(n, p, &mut ws).expect("definite") };
        // SAFETY: `l` has the length of `a`.
        let reset = || unsafe { a.as_ptr().copy_to_nonoverlapping(p.0, n * n) };
        let flops = (1..=n).map(|j| (j * j) as f64).sum();
        bench.line::<T>(
            &format!("potrf {n}"),
            flops,
            || time(LEAST, reset, factor),
            None,
        );
    }
}

fn fronts<T: Real>(bench: &Bench) {
    let sizes = [
        (1, 8),
        (4, 12),
        (8, 24),
        (16, 48),
        (32, 64),
        (64, 128),
        (6, 60),
        (12, 100),
        (24, 200),
        (64, 256),
        (128, 256),
        (32, 400),
        (100, 600),
        (256, 512),
        (512, 1024),
        (1024, 2048),
        (2000, 0),
    ];
    for ((npiv, nupd), block) in sizes.into_iter().flat_map(|s| [(s, 64), (s, 128)]) {
        if block != 64 && npiv + nupd <= 64 {
            continue;
        }
        let mut ws = Workspace::<T>::new(block);
        let layout = BlockColumns::panel(npiv, nupd, block);
        let mut start = numbers::<T>(layout.len());
        (0..npiv).for_each(|j| start[layout.index(j, j)] = T::from_f64((npiv + nupd) as f64));
        let panel = std::cell::RefCell::new(start.clone());
        let mut update = vec![T::ZERO; BlockColumns::update(nupd, block).len()];
        let flops = (nupd + 1..=nupd + npiv).map(|h| (h * h) as f64).sum();
        let mode = UpdateMode::Accumulate;
        let reset = || panel.borrow_mut().copy_from_slice(&start);
        let whole = || {
            let (p, u) = (&mut panel.borrow_mut(), &mut update);
            partial_cholesky(p, u, (npiv, nupd), block, (mode, Floor::SQUARES), &mut ws)
                .expect("definite");
        };
        let what = format!("front ({npiv},{nupd}) block {block} whole");
        bench.line::<T>(&what, flops, || time(LEAST, reset, whole), None);
        let isa = Isa::detect();
        let mut packed = vec![T::ZERO; packed_len::<T>(npiv, nupd, block, isa)];
        let (p, u) = (panel.borrow_mut().as_mut_ptr(), update.as_mut_ptr());
        let steps = Steps::new(
            FrontMut::new(p, u, npiv, nupd, block),
            packed.as_mut_ptr(),
            isa,
        );
        let in_steps = || {
            for s in 0..steps.count() {
                let all = 0..steps.micropanels(s);
                // SAFETY: the pieces run in their order on memory that is ours.
                unsafe {
                    steps.factor_diagonal(s).expect("definite");
                    steps.solve(s, all.clone());
                    steps.update(s, all.clone(), all, mode);
                }
            }
        };
        let what = format!("front ({npiv},{nupd}) block {block} steps");
        bench.line::<T>(&what, flops, || time(LEAST, reset, in_steps), None);
    }
}

fn substitution<T: Real>(bench: &Bench) {
    for (npiv, nupd, block) in [
        (2, 6, 64),
        (5, 16, 64),
        (8, 24, 64),
        (64, 128, 64),
        (512, 1024, 128),
    ] {
        let layout = BlockColumns::panel(npiv, nupd, block);
        let mut l = numbers::<T>(layout.len());
        let small = T::from_f64(1.0 / (npiv + nupd) as f64);
        l.iter_mut().for_each(|x| *x = *x * small);
        (0..npiv).for_each(|j| l[layout.index(j, j)] = T::ONE);
        let isa = Isa::detect();
        let p = PanelRef::new(&l, layout, isa);
        for nrhs in [1, 4, 16] {
            let stride = rhs_stride::<T>(nrhs, isa);
            let mut w = numbers::<T>((npiv + nupd) * stride);
            let w = w.as_mut_ptr();
            let half = (npiv * (npiv + 2 * nupd) * nrhs) as f64;
            let stored = (npiv * (npiv + 1) / 2 + npiv * nupd) * size_of::<T>();
            let what = |d| format!("solve {d} ({npiv},{nupd}) rhs {nrhs}, {stored} B");
            // SAFETY: sizes as allocated.
            let forward = || unsafe { p.forward(w, stride) };
            bench.line::<T>(&what("fwd"), half, || time(LEAST, || (), forward), None);
            // SAFETY: sizes as allocated.
            let backward = || unsafe { p.backward(w, stride) };
            bench.line::<T>(&what("bwd"), half, || time(LEAST, || (), backward), None);
        }
        black_box(&l);
    }
}

fn all<T: Peer>(name: &'static str, filters: Vec<String>) {
    let bench = Bench { filters, name };
    products::<T>(&bench);
    triangles::<T>(&bench);
    fronts::<T>(&bench);
    substitution::<T>(&bench);
}

fn main() {
    let filters: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    all::<f64>("f64", filters.clone());
    all::<f32>("f32", filters);
}
