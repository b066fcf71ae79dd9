//! `tamarack tree`: the assembly tree as an SVG, fronts as disks whose area is their operations.
//!
//! Only the subtrees with the most operations are drawn; what hangs below them is one triangle.

use std::fmt::Write as _;

use serde::Serialize;
use tamarack::{Analysis, Options, SymbolicFactor};

use crate::args::TreeArgs;
use crate::commands::report::{AnalysisReport, MatrixReport, row};
use crate::failure::Failure;
use crate::out::{counted, flops, grouped};
use crate::progress::Talk;
use crate::{files, input, out};

/// Size of the drawing, and the room around it for labels.
const WIDTH: f64 = 1200.0;
const HEIGHT: f64 = 800.0;
const MARGIN: f64 = 60.0;
/// Radius of the front with the most operations.
const LARGEST: f64 = 28.0;

#[derive(Debug, Serialize)]
struct Report {
    matrix: MatrixReport,
    analysis: AnalysisReport,
    /// The file.
    picture: String,
}

pub fn run(args: &TreeArgs, json: bool, talk: Talk) -> Result<(), Failure> {
    if args
        .output
        .extension()
        .is_none_or(|e| !e.eq_ignore_ascii_case("svg"))
    {
        let shown = args.output.display();
        return Err(Failure::usage(format!(
            "{shown}: the tree is drawn as a .svg file"
        )));
    }
    let inputs = input::files(&args.a, Some(&args.ordering.ordering));
    files::check_distinct(&inputs, &[("the picture", &args.output)])?;
    files::check(&args.output, json)?;
    input::check_ordering(&args.ordering.ordering)?;
    let loaded = input::matrix(&args.a, args.threads.threads, talk)?;
    let matrix = MatrixReport::new(&loaded);
    let mut options = Options::default();
    options.threads = args.threads.threads;
    let name = &args.ordering.ordering;
    options.ordering = input::ordering(name, matrix.n)?;
    let activity = talk.spinner("analyzing");
    let analysis = Analysis::unbudgeted(loaded.matrix.pattern(), &options);
    let analysis = analysis.map_err(input::analysis_failed(name))?;
    activity.done();
    let (symbolic, analysis) = (analysis.symbolic(), AnalysisReport::new(&analysis));
    let title = format!(
        "{}: n = {}, nnz(L) = {}, {}, {} ({})",
        matrix.source,
        grouped(matrix.n as u64),
        grouped(analysis.nnz_l),
        flops(analysis.flops),
        counted(analysis.supernodes, "supernode"),
        analysis.ordering
    );
    let drawing = draw(symbolic, args.fronts as usize, &title);
    files::write_bytes(&args.output, drawing.as_bytes())?;
    let report = Report {
        matrix,
        analysis,
        picture: args.output.display().to_string(),
    };
    if json {
        return out::json(&report);
    }
    let picture = row("picture", &report.picture);
    out::text(&(report.matrix.row() + &report.analysis.rows() + &picture))
}

/// A supernode that is drawn.
struct Node {
    supernode: usize,
    depth: usize,
    /// Position among the drawn leaves.
    x: f64,
    /// Whether anything below it is left out.
    cut: bool,
}

fn draw(symbolic: &SymbolicFactor, most: usize, title: &str) -> String {
    let nodes = choose(symbolic, most);
    let deepest = nodes.iter().map(|n| n.depth).max().unwrap_or(0).max(1) as f64;
    let widest = nodes.iter().map(|n| n.x).fold(0.0, f64::max).max(1.0);
    let place = |n: &Node| {
        let x = MARGIN + (WIDTH - 2.0 * MARGIN) * n.x / widest;
        (
            x,
            MARGIN + (HEIGHT - 2.0 * MARGIN) * n.depth as f64 / deepest,
        )
    };
    let work = |s: usize| symbolic.front_flops(s) as f64;
    let top = nodes.iter().map(|n| work(n.supernode)).fold(1.0, f64::max);
    let mut drawn = vec![usize::MAX; symbolic.supernodes()];
    for (i, node) in nodes.iter().enumerate() {
        drawn[node.supernode] = i;
    }
    let (mut edges, mut disks) = (String::new(), String::new());
    for node in &nodes {
        let (s, (x, y)) = (node.supernode, place(node));
        // Writing to a string does not fail.
        if let Some(parent) = symbolic.parent(s) {
            let (px, py) = place(&nodes[drawn[parent]]);
            let _ = writeln!(edges, "<path d=\"M{x:.1} {y:.1}L{px:.1} {py:.1}\"/>");
        }
        let radius = (LARGEST * (work(s) / top).sqrt()).max(1.5);
        if node.cut {
            let (low, half) = (y + radius + 9.0, 4.0);
            let (left, right) = (x - half, x + half);
            let _ = writeln!(
                edges,
                "<path class=\"cut\" d=\"M{x:.1} {y:.1}L{left:.1} {low:.1}L{right:.1} {low:.1}Z\"/>"
            );
        }
        let (npiv, nupd, done) = (symbolic.npiv(s), symbolic.nupd(s), flops(work(s)));
        let _ = writeln!(
            disks,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\"><title>supernode {s}: \
             {npiv} pivots, {nupd} rows below, {done}</title></circle>"
        );
    }
    let title = title.replace('&', "&amp;").replace('<', "&lt;");
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"14\">\n\
         <style>path{{stroke:#8a8a8a;stroke-width:.8;fill:none}}.cut{{fill:#d8d8d8}}\
         circle{{fill:#b4531f;fill-opacity:.8}}</style>\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n\
         <text x=\"16\" y=\"26\">{title}</text>\n\
         <text x=\"16\" y=\"46\" fill=\"#666\">area of a disk: operations of the front; triangle: \
         fronts left out</text>\n{edges}{disks}</svg>\n"
    )
}

/// The fronts to draw, parents before children: those whose subtrees have the most operations.
fn choose(symbolic: &SymbolicFactor, most: usize) -> Vec<Node> {
    let work = symbolic.subtree_flops();
    let mut order: Vec<usize> = (0..symbolic.supernodes()).collect();
    // A parent's subtree has at least its child's operations, and ties go to the later: the parent.
    order.sort_unstable_by_key(|&s| std::cmp::Reverse((work[s], s)));
    order.truncate(most);
    order.sort_unstable_by_key(|&s| std::cmp::Reverse(s));
    let mut index = vec![usize::MAX; symbolic.supernodes()];
    let mut nodes: Vec<Node> = Vec::with_capacity(order.len());
    for s in order {
        let depth = symbolic.parent(s).map_or(0, |p| nodes[index[p]].depth + 1);
        index[s] = nodes.len();
        nodes.push(Node {
            supernode: s,
            depth,
            x: 0.0,
            cut: false,
        });
    }
    let mut leaves = 0.0;
    for i in (0..nodes.len()).rev() {
        let children = symbolic.children(nodes[i].supernode);
        let drawn: Vec<f64> = children
            .iter()
            .filter_map(|&c| nodes.get(index[c as usize]).map(|child| child.x))
            .collect();
        nodes[i].cut = drawn.len() < children.len();
        nodes[i].x = if drawn.is_empty() {
            leaves += 1.0;
            leaves - 1.0
        } else {
            drawn.iter().sum::<f64>() / drawn.len() as f64
        };
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_as_many_fronts_as_asked_for() {
        let a = "p2d5_20"
            .parse::<tamarack::models::Model>()
            .unwrap()
            .generate::<f64>()
            .unwrap();
        let analysis = Analysis::new(a.pattern(), &Options::default()).unwrap();
        let symbolic = analysis.symbolic();
        for most in [1, 5, 1_000_000] {
            let drawing = draw(symbolic, most, "a < b");
            let fronts = most.min(symbolic.supernodes());
            assert_eq!(drawing.matches("<circle").count(), fronts);
            assert_eq!(
                drawing.matches("class=\"cut\"").count() > 0,
                fronts < symbolic.supernodes()
            );
            assert!(drawing.contains("a &lt; b") && drawing.ends_with("</svg>\n"));
        }
    }

    #[test]
    fn an_empty_tree_is_drawn_too() {
        let a = tamarack::SymmetricCsc::<f64>::lower(0, &[0u64], &[] as &[u32], &[]).unwrap();
        let analysis = Analysis::new(a.pattern(), &Options::default()).unwrap();
        assert!(draw(analysis.symbolic(), 10, "").contains("</svg>"));
    }
}
