use tamarack::*; use std::sync::atomic::Ordering::Relaxed; use tamarack_solve::substitution::{FW,BW,TOP,TOPB};
fn main(){
  let a:Vec<String>=std::env::args().collect();
  let m: SymmetricCsc<f64> = if let Some(n)=a[1].strip_prefix("model:") { n.parse::<models::Model>().unwrap().generate().unwrap() } else { io::read_matrix(&a[1],&Default::default()).unwrap() };
  let reps:usize=a[2].parse().unwrap();
  let mut o=Options::default(); o.threads=Some(a[3].parse().unwrap()); o.ordering=Ordering::Method(a[4].parse().unwrap());
  let an=Analysis::new(m.pattern(),&o).unwrap(); let mut f=an.factorize(&m).unwrap();
  let b=vec![1.0;m.n()]; let mut x=b.clone(); let mut v=vec![];
  let mut r=vec![]; for _ in 0..5 { let t=std::time::Instant::now(); f.refactorize(&m).unwrap(); r.push(t.elapsed().as_secs_f64()*1e3); } r.sort_by(f64::total_cmp);
  for round in 0..3 { for d in std::env::var("AHEADS").unwrap().split(',') { let d:usize=d.parse().unwrap(); tamarack_dense::strips::AH.store(d,Relaxed); FW.store(usize::MAX,Relaxed); BW.store(usize::MAX,Relaxed); v.clear();
  for _ in 0..reps { x.copy_from_slice(&b); let t=std::time::Instant::now(); f.solve(&mut x).unwrap(); v.push(t.elapsed().as_secs_f64()*1e3); }
  v.sort_by(f64::total_cmp); println!("{} x{} ahead {d} round {round} solve {:.2}/{:.2} fwd {:.2} bwd {:.2}",a[1],a[3],v[0],v[v.len()/2],FW.load(Relaxed) as f64*1e-6,BW.load(Relaxed) as f64*1e-6); } } println!("refactor {:.1} {}",r[2],TOP.load(Relaxed)+TOPB.load(Relaxed)); }
