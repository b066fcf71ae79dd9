use std::time::Instant;
use tamarack_ordering::{AmdOptions, MergedGraph, Method, Selection, Workspace, order};
use tamarack_sparse::{Runs, SymmetricCsc};
use tamarack_sparse::models::Model;
use tamarack_symbolic::SymbolicFactor;
fn main() {
    let reps: usize = std::env::var("REPS").unwrap_or("5".into()).parse().unwrap();
    let (mut logs, mut times, mut count) = (0.0f64, 0.0f64, 0);
    for name in std::env::args().skip(1) {
        let a: SymmetricCsc<f64> = match name.strip_prefix("model:") {
            Some(name) => name.parse::<Model>().unwrap().generate().unwrap(),
            None => tamarack_sparse::io::read_matrix(&name, &Default::default()).unwrap(),
        };
        let twins = Runs::find(a.pattern()).is_some();
        let run = |options: &AmdOptions| {
            let start = Instant::now();
            let p = if twins {
                let g = MergedGraph::new(a.pattern()).unwrap();
                g.minimum_degree(options, &Default::default()).unwrap()
            } else {
                order(a.pattern(), &Method::Amd(options.clone()), &mut Workspace::new()).unwrap()
            };
            (start.elapsed().as_secs_f64() * 1e3, p)
        };
        let both = [Selection::Degree, Selection::MeanFill].map(AmdOptions::from);
        let mut ms = [Vec::new(), Vec::new()];
        for _ in 0..reps { for k in 0..2 { ms[k].push(run(&both[k]).0); } }
        ms.iter_mut().for_each(|ms| ms.sort_by(f64::total_cmp));
        let ms = ms.map(|ms| ms[reps / 2]);
        let flops = both.map(|o| SymbolicFactor::analyze(a.pattern(), &run(&o).1, &Default::default()).unwrap().stats().flops as f64);
        println!("{:26} {} amd {:8.1} ms {:.3e}, amf {:8.1} ms {:.3e}: {:.2} of the time, {:.2} of the operations", name.rsplit('/').next().unwrap(), if twins { 't' } else { ' ' }, ms[0], flops[0], ms[1], flops[1], ms[1] / ms[0], flops[1] / flops[0]);
        logs += (flops[1] / flops[0]).ln(); times += (ms[1] / ms[0]).ln(); count += 1;
    }
    println!("geometric mean: {:.3} of the time, {:.3} of the operations", (times / count as f64).exp(), (logs / count as f64).exp());
}
