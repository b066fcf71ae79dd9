//! Every real matrix of the shared collection is read, and has the size its manifest states.

use std::path::Path;
use std::time::Instant;

use tamarack_sparse::io::{ReadOptions, read_matrix};

#[test]
fn all_are_read_with_the_sizes_of_the_manifest() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/matrices");
    let Ok(manifest) = std::fs::read_to_string(folder.join("MANIFEST.md")) else {
        eprintln!("skipped: no manifest in {}", folder.display());
        return;
    };
    let mut read = 0;
    for row in manifest.lines() {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, file, n, nnz, ..] = cells[..] else {
            continue;
        };
        let (Ok(n), Ok(nnz)) = (n.parse::<usize>(), nnz.parse::<u64>()) else {
            continue;
        };
        let start = Instant::now();
        let a = match read_matrix(folder.join(file), &ReadOptions::default()) {
            Ok(a) => a,
            Err(e) => panic!("{e}"),
        };
        eprintln!("{file}: n {n}, {:.3} s", start.elapsed().as_secs_f64());
        assert_eq!(a.n(), n, "{file}");
        // Some files store zeros, which the manifest does not count.
        assert!(
            a.pattern().nnz_full() >= nnz,
            "{file}: {} of {nnz}",
            a.pattern().nnz_full()
        );
        let zeros: u64 = (0..n)
            .flat_map(|j| a.column(j).1.iter().enumerate())
            .filter(|&(_, &v)| v == 0.0)
            .map(|(k, _)| 1 + u64::from(k > 0))
            .sum();
        assert!(a.pattern().nnz_full() - zeros <= nnz, "{file}");
        read += 1;
    }
    assert!(read > 70, "only {read} matrices in the manifest");
}
