//! A picture of the ratios to the peers: one bar a matrix, short is fast, with a line at 1.

use std::path::Path;

use plotters::prelude::*;

use crate::Result;

/// Height of a bar with its gap, and width of the names, in pixels.
const ROW: i32 = 26;
const NAMES: i32 = 190;
const WIDTH: i32 = 760;

/// Writes the named ratios as an SVG file; infinite ratios and NaN are left out.
pub fn bars(path: &Path, title: &str, ratios: &[(String, f64)]) -> Result<()> {
    let ratios: Vec<_> = ratios.iter().filter(|(_, r)| r.is_finite()).collect();
    let longest = ratios.iter().fold(1.2f64, |m, (_, r)| m.max(*r));
    let height = ROW * (ratios.len() as i32 + 3);
    let x = |ratio: f64| NAMES + (ratio / longest * f64::from(WIDTH - NAMES - 70)) as i32;
    let size = (WIDTH.unsigned_abs(), height.unsigned_abs());
    let root = SVGBackend::new(path, size).into_drawing_area();
    root.fill(&WHITE)?;
    let font = |points: i32| ("sans-serif", points).into_font();
    root.draw(&Text::new(title.to_owned(), (10, 8), font(17)))?;
    for (row, (name, ratio)) in ratios.iter().enumerate() {
        let top = ROW * (row as i32 + 2) - ROW / 2;
        let color = if *ratio <= 1.0 {
            RGBColor(46, 117, 89)
        } else {
            RGBColor(196, 98, 45)
        };
        let corners = [(NAMES, top), (x(*ratio), top + ROW - 8)];
        root.draw(&Rectangle::new(corners, color.filled()))?;
        root.draw(&Text::new(name.clone(), (10, top + 2), font(14)))?;
        let place = (x(*ratio) + 6, top + 2);
        root.draw(&Text::new(format!("{ratio:.2}"), place, font(14)))?;
    }
    let line = vec![(x(1.0), ROW + ROW / 4), (x(1.0), height - ROW)];
    root.draw(&PathElement::new(line, BLACK.stroke_width(1)))?;
    root.present()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_for_every_finite_ratio() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bars.svg");
        let ratios = [("fast", 0.5), ("slow", 2.0), ("none", f64::NAN)];
        let ratios = ratios.map(|(name, ratio)| (name.to_owned(), ratio));
        bars(&path, "title", &ratios).unwrap();
        let svg = std::fs::read_to_string(&path).unwrap();
        for text in ["title", "fast", "0.50", "slow", "2.00"] {
            assert!(svg.contains(text), "{text}");
        }
        assert!(!svg.contains("none\n"));
    }
}
