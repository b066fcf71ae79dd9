use std::sync::Arc;
use std::time::Instant;
use tamarack_numeric::{Control, FactorOptions, NumericFactor, Progress, Team};
use tamarack_ordering::{Method, Workspace, order};
use tamarack_plan::{FactorPlan, Machine, PlanOptions};
use tamarack_sparse::models::Model;
use tamarack_symbolic::{SymbolicFactor, SymbolicOptions};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let rounds: usize = args[1].parse().unwrap();
    for name in &args[3..] {
        let a = name.parse::<Model>().unwrap().generate::<f64>().unwrap();
        let p = order(a.pattern(), &"amf".parse::<Method>().unwrap(), &mut Workspace::new()).unwrap();
        let s = Arc::new(SymbolicFactor::analyze(a.pattern(), &p, &SymbolicOptions::default()).unwrap());
        for threads in args[2].split(',').map(|t| t.parse::<usize>().unwrap()) {
            let machine = Machine::slow(threads, 1.0);
            let plan = Arc::new(FactorPlan::new(s.clone(), &machine, &PlanOptions::default()).unwrap());
            let team = Arc::new(Team::new(threads));
            let mut f = NumericFactor::factorize(plan, team, &a, &FactorOptions::default(), &Control::default()).unwrap();
            let watch = |_: Progress| ();
            let mut times = [vec![], vec![]];
            for _ in 0..rounds {
                for (k, list) in times.iter_mut().enumerate() {
                    let control = Control { progress: if k == 1 { Some(&watch) } else { None }, ..Control::default() };
                    let t = Instant::now();
                    f.refactorize(&a, &control).unwrap();
                    list.push(t.elapsed().as_secs_f64() * 1e3);
                }
            }
            times.iter_mut().for_each(|l| l.sort_by(f64::total_cmp));
            println!("{name} x{threads}: without progress {:.2} (least {:.2}), with {:.2} (least {:.2})", times[0][rounds / 2], times[0][0], times[1][rounds / 2], times[1][0]);
        }
    }
}
