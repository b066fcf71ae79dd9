use std::arch::x86_64::*;
use std::time::Instant;
static M: [i64; 8] = [-1, -1, -1, -1, 0, 0, 0, 0];
#[target_feature(enable = "avx2,fma")]
unsafe fn st(p: *mut f64, n: usize, r: usize) {
    let m = _mm256_loadu_si256(M.as_ptr().add(4 - n).cast());
    let v = _mm256_set1_pd(1.0);
    for i in 0..r {
        _mm256_maskstore_pd(p.add((i & 63) * 4), m, v);
    }
}
#[target_feature(enable = "avx2,fma")]
unsafe fn sum_of_first(a: [__m256d; 4]) -> f64 {
    a.iter().map(|&v| _mm256_cvtsd_f64(v)).sum()
}
#[target_feature(enable = "avx2,fma")]
unsafe fn ld(p: *mut f64, n: usize, r: usize) -> f64 {
    let m = _mm256_loadu_si256(M.as_ptr().add(4 - n).cast());
    let mut a = [_mm256_setzero_pd(); 4];
    for i in 0..r / 4 {
        for k in 0..4 {
            a[k] = _mm256_add_pd(a[k], _mm256_maskload_pd(p.add(((4 * i + k) & 63) * 4), m));
        }
    }
    sum_of_first(a)
}
#[target_feature(enable = "avx2,fma")]
unsafe fn ldf(p: *mut f64, r: usize) -> f64 {
    let mut a = [_mm256_setzero_pd(); 4];
    for i in 0..r / 4 {
        for k in 0..4 {
            a[k] = _mm256_add_pd(a[k], _mm256_loadu_pd(p.add(((4 * i + k) & 63) * 4)));
        }
    }
    sum_of_first(a)
}
#[target_feature(enable = "avx2,fma")]
unsafe fn stb(p: *mut f64, n: usize, r: usize) {
    let v = _mm256_set1_pd(1.0);
    for i in 0..r {
        let p = p.add((i & 63) * 4);
        if n == 4 {
            _mm256_storeu_pd(p, v)
        } else {
            let lo = _mm256_castpd256_pd128(v);
            if n & 2 != 0 {
                _mm_storeu_pd(p, lo);
                if n & 1 != 0 {
                    _mm_store_sd(p.add(2), _mm256_extractf128_pd::<1>(v));
                }
            } else if n & 1 != 0 {
                _mm_store_sd(p, lo);
            }
        }
    }
}
fn main() {
    unsafe {
        let mut b = vec![0f64; 512];
        let p = b.as_mut_ptr();
        let r = 4_000_000;
        for n in 1..=4 {
            for _ in 0..2 {
                let t = Instant::now();
                st(p, n, r);
                let a = t.elapsed();
                let t = Instant::now();
                stb(p, std::hint::black_box(n), r);
                let c = t.elapsed();
                let t = Instant::now();
                let x = ld(p, n, r);
                let l = t.elapsed();
                let t = Instant::now();
                let y = ldf(p, r);
                let f = t.elapsed();
                println!(
                    "n {n} maskstore {:.2} ns, by branch {:.2}, maskload {:.2}, load {:.2} {}",
                    a.as_secs_f64() * 1e9 / r as f64,
                    c.as_secs_f64() * 1e9 / r as f64,
                    l.as_secs_f64() * 1e9 / r as f64,
                    f.as_secs_f64() * 1e9 / r as f64,
                    (x + y > 1e300)
                );
            }
        }
    }
}
