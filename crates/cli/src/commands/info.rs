//! `tamarack info`: what a matrix is like, without factorizing it.

use serde::Serialize;

use crate::args::InfoArgs;
use crate::commands::report::{MatrixReport, row};
use crate::failure::Failure;
use crate::progress::Talk;
use crate::{input, out};

#[derive(Debug, Serialize)]
struct Info {
    matrix: MatrixReport,
    /// Largest distance of an entry from the diagonal.
    bandwidth: usize,
    /// Entries in the fullest row of the full matrix, and on average.
    most_in_row: usize,
    mean_in_row: f64,
    norm_inf: f64,
    smallest_diagonal: f64,
    largest_diagonal: f64,
    /// Diagonal entries that are not positive: the matrix is then not positive definite.
    bad_diagonal: usize,
    /// Rows whose diagonal entry is at least the sum of the others.
    dominant_rows: usize,
    connected_components: usize,
}

pub fn run(args: &InfoArgs, json: bool, talk: Talk) -> Result<(), Failure> {
    let loaded = input::matrix(&args.a, args.threads.threads, talk)?;
    let a = &loaded.matrix;
    let n = a.n();
    let (mut counts, mut sums) = (vec![0usize; n], vec![0.0f64; n]);
    let mut groups: Vec<u32> = (0..n as u32).collect();
    let mut bandwidth = 0;
    for j in 0..n {
        let (rows, values) = a.column(j);
        bandwidth = bandwidth.max(rows.last().map_or(0, |&i| i as usize - j));
        counts[j] += rows.len();
        for (&i, v) in rows.iter().zip(values).skip(1) {
            counts[i as usize] += 1;
            sums[i as usize] += v.abs();
            sums[j] += v.abs();
            let (one, other) = (find(&mut groups, i), find(&mut groups, j as u32));
            groups[one as usize] = other;
        }
    }
    let diagonal: Vec<f64> = a.diagonal().collect();
    let info = Info {
        bandwidth,
        most_in_row: counts.iter().copied().max().unwrap_or(0),
        mean_in_row: a.pattern().nnz_full() as f64 / n.max(1) as f64,
        norm_inf: a.norm_inf(),
        smallest_diagonal: diagonal.iter().copied().fold(f64::INFINITY, f64::min),
        largest_diagonal: diagonal.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        bad_diagonal: diagonal.iter().filter(|d| d.is_nan() || **d <= 0.0).count(),
        dominant_rows: diagonal.iter().zip(&sums).filter(|(d, s)| d >= s).count(),
        connected_components: (0..n as u32).filter(|&i| groups[i as usize] == i).count(),
        matrix: MatrixReport::new(&loaded),
    };
    if json {
        return out::json(&info);
    }
    let mut text = info.matrix.row();
    let rows = format!(
        "{} entries at most, {:.1} on average",
        info.most_in_row, info.mean_in_row
    );
    text += &row("rows", &rows);
    text += &row("bandwidth", &info.bandwidth.to_string());
    text += &row("components", &info.connected_components.to_string());
    text += &row("norm", &format!("{:.3e} (infinity)", info.norm_inf));
    let range = match n {
        0 => "no entries".to_owned(),
        _ => format!(
            "{:.3e} to {:.3e}",
            info.smallest_diagonal, info.largest_diagonal
        ),
    };
    text += &row("diagonal", &range);
    text += &row("dominance", &format!("{} of {n} rows", info.dominant_rows));
    if info.bad_diagonal > 0 {
        let count = info.bad_diagonal;
        text += &row(
            "warning",
            &format!("{count} diagonal entries are not positive: not SPD"),
        );
    }
    out::text(&text)
}

/// The representative of a group, halving the path to it.
fn find(groups: &mut [u32], mut i: u32) -> u32 {
    while groups[i as usize] != i {
        groups[i as usize] = groups[groups[i as usize] as usize];
        i = groups[i as usize];
    }
    i
}
