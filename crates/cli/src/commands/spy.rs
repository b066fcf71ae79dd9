//! `tamarack spy`: the pattern of A, of the permuted A or of L as a picture.
//!
//! Entries are counted in the cells of a square grid; a cell is the darker the more it holds, on a
//! logarithmic scale. L is counted by supernodes, not by entries, so that its size hardly matters.

use std::fmt::Write as _;
use std::io::{self, Write};

use serde::Serialize;
use tamarack::{Analysis, Options, Pattern, Permutation, SymbolicFactor, UserIdx};

use crate::args::SpyArgs;
use crate::commands::report::{MatrixReport, row};
use crate::failure::Failure;
use crate::progress::Talk;
use crate::{files, input, out};

/// Shades of gray in an SVG: neighbors of equal shade are one rectangle.
const SHADES: u8 = 12;

#[derive(Debug, Serialize)]
struct Report {
    matrix: MatrixReport,
    /// The file.
    picture: String,
    /// Along a side of the picture.
    cells: usize,
}

pub fn run(args: &SpyArgs, json: bool, talk: Talk) -> Result<(), Failure> {
    let name = args.output.to_string_lossy().to_ascii_lowercase();
    let svg = name.ends_with(".svg");
    if !svg && !name.ends_with(".png") {
        let shown = args.output.display();
        return Err(Failure::usage(format!(
            "{shown}: a picture is a .png or a .svg file"
        )));
    }
    let inputs = input::files(&args.a, Some(&args.ordering.ordering));
    files::check_distinct(&inputs, &[("the picture", &args.output)])?;
    files::check(&args.output, json)?;
    input::check_ordering(&args.ordering.ordering)?;
    let loaded = input::matrix(&args.a, args.threads.threads, talk)?;
    let pattern = loaded.matrix.pattern();
    let most = args.pixels.unwrap_or(if svg { 200 } else { 1000 }) as usize;
    let mut grid = Grid::new(pattern.n(), most);
    if args.permuted || args.factor {
        let mut options = Options::default();
        options.threads = args.threads.threads;
        let name = &args.ordering.ordering;
        options.ordering = input::ordering(name, pattern.n())?;
        let activity = talk.spinner("analyzing");
        let analysis = Analysis::unbudgeted(pattern, &options);
        let analysis = analysis.map_err(input::analysis_failed(name))?;
        activity.done();
        if args.factor {
            grid.add_factor(analysis.symbolic());
        } else {
            grid.add_matrix(pattern, Some(analysis.symbolic().permutation()));
        }
    } else {
        grid.add_matrix(pattern, None);
    }
    if svg {
        files::write_bytes(&args.output, grid.svg().as_bytes())?;
    } else {
        files::write(&args.output, |out| grid.png(out))?;
    }
    let report = Report {
        matrix: MatrixReport::new(&loaded),
        picture: args.output.display().to_string(),
        cells: grid.side,
    };
    if json {
        return out::json(&report);
    }
    let side = report.cells;
    let size = format!("{}  {side} x {side} cells", report.picture);
    out::text(&(report.matrix.row() + &row("picture", &size)))
}

/// Entries in the cells of a square grid over a matrix.
struct Grid {
    n: usize,
    /// Cells along a side: at most n, at least 1.
    side: usize,
    /// Row by row.
    counts: Vec<u64>,
}

impl Grid {
    fn new(n: usize, most: usize) -> Self {
        let side = most.min(n).max(1);
        Self {
            n,
            side,
            counts: vec![0; side * side],
        }
    }

    /// The cell that row or column `i` falls into.
    fn cell(&self, i: usize) -> usize {
        (i as u64 * self.side as u64 / self.n.max(1) as u64) as usize
    }

    fn add(&mut self, row: usize, column: usize, count: u64) {
        self.counts[row * self.side + column] += count;
    }

    fn add_matrix(&mut self, pattern: &Pattern, permutation: Option<&Permutation>) {
        let place = |i: u32| permutation.map_or(i, |p| p.elim(UserIdx(i)).0) as usize;
        for j in 0..pattern.n() {
            let column = self.cell(place(j as u32));
            for &i in pattern.rows(j) {
                let row = self.cell(place(i));
                self.add(row, column, 1);
                if i as usize != j {
                    self.add(column, row, 1);
                }
            }
        }
    }

    fn add_factor(&mut self, symbolic: &SymbolicFactor) {
        for s in 0..symbolic.supernodes() {
            let columns = symbolic.columns(s);
            let rows = columns
                .clone()
                .chain(symbolic.rows(s).iter().map(|&r| r as usize));
            for row in rows {
                let y = self.cell(row);
                // Columns of the supernode up to the diagonal, a cell at a time.
                let end = columns.end.min(row + 1);
                let mut column = columns.start;
                while column < end {
                    let x = self.cell(column);
                    let next = ((x + 1) * self.n).div_ceil(self.side).min(end);
                    self.add(y, x, (next - column) as u64);
                    column = next;
                }
            }
        }
    }

    /// Darkness of every cell from 0 to 1.
    fn shades(&self) -> impl Iterator<Item = f64> + '_ {
        let most = self.counts.iter().copied().max().unwrap_or(0).max(1) as f64;
        // A single entry must be seen beside a full cell.
        let shade = move |c: f64| 0.35 + 0.65 * (1.0 + c).ln() / (1.0 + most).ln();
        self.counts
            .iter()
            .map(move |&c| if c == 0 { 0.0 } else { shade(c as f64) })
    }

    fn png(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut encoder = png::Encoder::new(out, self.side as u32, self.side as u32);
        encoder.set_color(png::ColorType::Grayscale);
        encoder.set_depth(png::BitDepth::Eight);
        let pixels: Vec<u8> = self
            .shades()
            .map(|s| (255.0 * (1.0 - s)).round() as u8)
            .collect();
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&pixels)?;
        Ok(writer.finish()?)
    }

    fn svg(&self) -> String {
        let side = self.side;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {side} {side}\" \
             width=\"800\" height=\"800\" shape-rendering=\"crispEdges\">\n\
             <rect width=\"{side}\" height=\"{side}\" fill=\"#fff\"/>\n"
        );
        let levels: Vec<u8> = self
            .shades()
            .map(|s| (s * f64::from(SHADES)).round() as u8)
            .collect();
        for (y, line) in levels.chunks(side).enumerate() {
            let mut x = 0;
            for run in line.chunk_by(|a, b| a == b) {
                if run[0] > 0 {
                    let gray = 255 - (255 * u32::from(run[0]) / u32::from(SHADES)).min(255);
                    let width = run.len();
                    // Writing to a string does not fail.
                    let _ = writeln!(
                        svg,
                        "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"1\" \
                         fill=\"#{gray:02x}{gray:02x}{gray:02x}\"/>"
                    );
                }
                x += run.len();
            }
        }
        svg + "</svg>\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrow() -> tamarack::SymmetricCsc<f64> {
        // Dense first column: the factor is full.
        let (ptr, rows) = ([0usize, 4, 5, 6, 7], [0u32, 1, 2, 3, 1, 2, 3]);
        tamarack::SymmetricCsc::lower(4, &ptr, &rows, &[1.0; 7]).unwrap()
    }

    #[test]
    fn counts_both_triangles_of_a_and_one_of_l() {
        let a = arrow();
        let mut grid = Grid::new(4, 4);
        grid.add_matrix(a.pattern(), None);
        assert_eq!(
            grid.counts,
            [1, 1, 1, 1, 1, 1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 1]
        );
        let mut options = Options::default();
        options.ordering = Permutation::identity(4).into();
        let analysis = Analysis::new(a.pattern(), &options).unwrap();
        for most in [1, 2, 3, 4] {
            let mut grid = Grid::new(4, most);
            grid.add_factor(analysis.symbolic());
            assert_eq!(grid.counts.iter().sum::<u64>(), 10, "{most} cells");
        }
    }

    #[test]
    fn pictures_of_nothing_and_of_one() {
        for n in [0, 1] {
            let grid = Grid::new(n, 100);
            assert_eq!(grid.side, 1);
            assert!(grid.svg().ends_with("</svg>\n"));
        }
    }

    #[test]
    fn a_png_decodes_to_its_size() {
        let mut grid = Grid::new(4, 4);
        grid.add_matrix(arrow().pattern(), None);
        let mut bytes = Vec::new();
        grid.png(&mut bytes).unwrap();
        let reader = png::Decoder::new(io::Cursor::new(bytes))
            .read_info()
            .unwrap();
        assert_eq!((reader.info().width, reader.info().height), (4, 4));
    }
}
