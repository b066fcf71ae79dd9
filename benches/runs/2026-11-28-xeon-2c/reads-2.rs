//! `reads-2 THREADS`: 400 MiB for each thread, read from one, two, four or eight places by turns, a line of the caches at each, in small pages and in huge ones.
//! A program of its own: `rustc -O -C target-cpu=native reads-2.rs`.

use std::arch::x86_64::*;
use std::time::Instant;

const BYTES: usize = 400 << 20;
const HUGE: usize = 1 << 21;

unsafe extern "C" {
    fn mmap(at: *mut u8, bytes: usize, access: i32, flags: i32, file: i32, from: i64) -> *mut u8;
    fn madvise(at: *mut u8, bytes: usize, advice: i32) -> i32;
}

#[target_feature(enable = "avx512f")]
fn read(numbers: &[f64], places: usize) -> f64 {
    let part = numbers.len() / places;
    let mut sums = [_mm512_setzero_pd(); 8];
    for i in (0..part).step_by(8) {
        for place in 0..places {
            let line = unsafe { _mm512_loadu_pd(numbers.as_ptr().add(place * part + i)) };
            sums[place] = _mm512_add_pd(sums[place], line);
        }
    }
    sums.iter().map(|&sum| _mm512_reduce_add_pd(sum)).sum()
}

fn work(advice: i32) -> Vec<Vec<f64>> {
    let memory = unsafe { mmap(std::ptr::null_mut(), BYTES + HUGE, 3, 0x22, -1, 0) };
    let memory = memory.wrapping_add(memory.align_offset(HUGE));
    unsafe { madvise(memory, BYTES, advice) };
    let numbers = unsafe { std::slice::from_raw_parts_mut(memory.cast::<f64>(), BYTES / 8) };
    numbers.fill(1.0);
    let mut rates = vec![Vec::new(); 4];
    for _ in 0..15 {
        for (k, rates) in rates.iter_mut().enumerate() {
            let start = Instant::now();
            std::hint::black_box(unsafe { read(numbers, 1 << k) });
            rates.push(BYTES as f64 / start.elapsed().as_secs_f64() / 1e9);
        }
    }
    rates
}

fn main() {
    let threads: usize = std::env::args().nth(1).unwrap().parse().unwrap();
    for (pages, advice) in [("huge", 14), ("small", 15)] {
        let all: Vec<_> = (0..threads).map(|_| std::thread::spawn(move || work(advice))).collect();
        let all: Vec<_> = all.into_iter().map(|thread| thread.join().unwrap()).collect();
        for k in 0..4 {
            let mut rates: Vec<f64> = all.iter().flat_map(|rates| rates[k].clone()).collect();
            rates.sort_by(f64::total_cmp);
            let (least, median, most) = (rates[0], rates[rates.len() / 2], rates[rates.len() - 1]);
            println!("{threads} threads, {pages} pages, {} places: {least:.1} {median:.1} {most:.1} GB/s a thread", 1 << k);
        }
    }
}
