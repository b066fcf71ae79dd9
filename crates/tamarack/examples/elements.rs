//! Finite elements: assemble element by element, hold the border, and assemble anew into the same pattern.
//!
//! Heat conduction `−div(k ∇u) = 1` on the unit square by bilinear elements, u = 0 on the border. The conductivity depends
//! on the temperature, `k = 1 + u`, and is taken from the step before: each step has other values in the same places.

use tamarack::{Analysis, Error, Options, Places, SymmetricCsc, Triplets};

/// Elements along each side.
const M: u32 = 100;

/// Nodes of an element, counter-clockwise.
fn nodes(element: u32) -> [u32; 4] {
    let first = element / M * (M + 1) + element % M;
    [first, first + 1, first + M + 2, first + M + 1]
}

/// The element matrix of a square for conductivity 1, column-major: the same for every size.
const SQUARE: [f64; 16] = {
    let (d, side, corner) = (4.0 / 6.0, -1.0 / 6.0, -2.0 / 6.0);
    [
        d, side, corner, side, //
        side, d, side, corner, //
        corner, side, d, side, //
        side, corner, side, d,
    ]
};

fn is_held(node: u32) -> bool {
    let (row, column) = (node / (M + 1), node % (M + 1));
    row == 0 || column == 0 || row == M || column == M
}

/// The element matrix for a conductivity. What is held has no coupling, and a diagonal entry of its own: `u = 0`.
fn element_matrix(nodes: &[u32; 4], conductivity: f64) -> [f64; 16] {
    std::array::from_fn(|k| {
        let (i, j) = (k % 4, k / 4);
        let held = is_held(nodes[i]) || is_held(nodes[j]);
        if held && i != j {
            0.0
        } else {
            SQUARE[k] * conductivity
        }
    })
}

/// Assembles into values whose places are known: element after element, its lower triangle by columns.
fn reassemble(a: &mut SymmetricCsc<f64>, places: &Places, conductivity: impl Fn(&[u32; 4]) -> f64) {
    a.values_mut().fill(0.0);
    let mut places = places.as_slice().iter();
    for nodes in (0..M * M).map(nodes) {
        let matrix = element_matrix(&nodes, conductivity(&nodes));
        let triangle = (0..4).flat_map(|j| (j..4).map(move |i| i + 4 * j));
        for (k, &place) in triangle.zip(&mut places) {
            a.values_mut()[place as usize] += matrix[k];
        }
    }
}

fn main() -> Result<(), Error> {
    let n = ((M + 1) * (M + 1)) as usize;
    let mut entries = Triplets::new(n)?;
    let mut load = vec![0.0; n];
    for nodes in (0..M * M).map(nodes) {
        entries.push_element(&nodes, &element_matrix(&nodes, 1.0))?;
        for node in nodes.into_iter().filter(|&node| !is_held(node)) {
            load[node as usize] += 0.25 / f64::from(M * M);
        }
    }
    // Where the entries of each element are added up is found once. All are there, as the zeros of what is held were given, too.
    let (mut a, places) = entries.into_symmetric_with_places()?;
    let analysis = Analysis::new(a.pattern(), &Options::default())?;
    let mut factor = analysis.factorize(&a)?;
    let mut u = load.clone();
    factor.solve_refined(&a, &mut u)?;
    for step in 1..=20 {
        let before = u.clone();
        let mean = |nodes: &[u32; 4]| nodes.iter().map(|&k| before[k as usize]).sum::<f64>() / 4.0;
        reassemble(&mut a, &places, |nodes| 1.0 + mean(nodes));
        factor.refactorize(&a)?;
        u.copy_from_slice(&load);
        let report = factor.solve_refined(&a, &mut u)?;
        let change = u
            .iter()
            .zip(&before)
            .fold(0.0f64, |m, (u, v)| m.max((u - v).abs()));
        println!(
            "step {step}: change {change:.1e}, accurate: {}",
            report.converged()
        );
        if change < 1e-14 {
            break;
        }
    }
    println!("u in the middle: {:.5}", u[n / 2]);
    Ok(())
}
