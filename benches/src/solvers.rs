//! The solvers as command lines: who runs, with which arguments, which BLAS and which memory.

use std::path::{Path, PathBuf};

/// A solver as a command line.
pub struct Solver {
    /// Its name in the records; what follows a slash is a variant.
    pub label: String,
    /// Program, a driver that prints one line of JSON.
    pub program: PathBuf,
    /// Arguments.
    pub args: Vec<String>,
    /// Environment added.
    pub env: Vec<(String, String)>,
    /// The order that it has, in words.
    pub order: String,
}

/// An order that solvers are given.
pub struct Order {
    /// File for the drivers.
    pub file: PathBuf,
    /// Whose it is.
    pub name: &'static str,
}

/// What the solvers are given.
pub struct Job<'a> {
    /// The driver of Tamarack and faer.
    pub drive: &'a Path,
    /// Folder of the drivers of C libraries.
    pub drivers: Option<&'a Path>,
    /// The peers' installation, for their BLAS; without it they get the system's.
    pub peers: Option<&'a Path>,
    /// Matrix file for the drivers.
    pub matrix: &'a Path,
    /// Name of the matrix.
    pub name: &'a str,
    /// Threads.
    pub threads: usize,
    /// Order for all but PARDISO; none: each its own default.
    pub order: Option<&'a Order>,
    /// Also those peers that are good for small systems only.
    pub small: bool,
}

/// Whether `--solvers` asks for a label: by its whole name, or for all variants by what precedes the slash.
pub fn wanted(label: &str, names: &[String]) -> bool {
    let stem = label.split('/').next().unwrap_or(label);
    names.is_empty() || label == "tamarack" || names.iter().any(|n| n == label || n == stem)
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// All solvers for a job, installed or not, Tamarack first.
pub fn solvers(job: &Job<'_>) -> Vec<Solver> {
    let t = job.threads.to_string();
    let mut env: Vec<(String, String)> = ["OMP", "MKL", "OPENBLAS", "RAYON"]
        .iter()
        .map(|lib| (format!("{lib}_NUM_THREADS"), t.clone()))
        .collect();
    env.push(("MKL_DYNAMIC".into(), "FALSE".into()));
    let order = job.order.map(|o| text(&o.file));
    let had = |own: &str| job.order.map_or(own, |o| o.name).to_owned();
    let crates = |label: &str, env: &[(String, String)], own: &str| Solver {
        label: label.into(),
        program: job.drive.into(),
        args: [label.into(), text(job.matrix), job.name.into(), t.clone()]
            .into_iter()
            .chain(order.clone())
            .collect(),
        env: env.to_vec(),
        order: had(own),
    };
    let mut all = vec![crates("tamarack", &env, "its own")];
    // Huge pages, and memory kept between factorizations: nobody is measured through page faults.
    let tunables =
        "glibc.malloc.hugetlb=1:glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=68719476736";
    env.push(("GLIBC_TUNABLES".into(), tunables.into()));
    all.push(crates("faer", &env, "AMD"));
    let Some(drivers) = job.drivers else {
        return all;
    };
    let blas = |folders: &[&str]| {
        let mut env = env.clone();
        if let Some(peers) = job.peers {
            let folders: Vec<_> = folders.iter().map(|f| text(&peers.join(f))).collect();
            env.push(("LD_LIBRARY_PATH".into(), folders.join(":")));
        }
        env
    };
    let mut library = |label: &str, env: &[(String, String)], order: String, extra: &[&str]| {
        let program = label.split('/').next().unwrap_or(label);
        let mut args = vec![text(job.matrix), job.name.into(), t.clone(), label.into()];
        args.extend(extra.iter().map(|&a| a.to_owned()));
        all.push(Solver {
            label: label.into(),
            program: drivers.join(program),
            args,
            env: env.to_vec(),
            order,
        });
    };
    let metis = || "its own METIS".to_owned();
    let method = if job.threads == 1 { "2" } else { "3" };
    library("pardiso", &env, metis(), &[method, "0"]);
    if job.threads > 1 {
        library("pardiso/1", &env, metis(), &[method, "1"]);
        library("pardiso/10", &env, metis(), &[method, "10"]);
    }
    let mut mkl = blas(&["blas/mkl24", "oldmkl/2024.0.0"]);
    // MKL 2024 takes its AVX-512 path on another maker's processor only where it is told that all is well.
    let shim = job.peers.map(|p| p.join("shim/libfakeintel.so"));
    if let Some(shim) = shim.filter(|s| s.exists()) {
        mkl.push(("LD_PRELOAD".into(), text(&shim)));
    }
    library("pardiso24", &mkl, metis(), &["2", "0"]);
    if job.threads > 1 {
        library("pardiso24/1", &mkl, metis(), &["3", "1"]);
    }
    let amd = order.as_deref().unwrap_or("amd");
    library("cholmod", &mkl, had("AMD"), &[amd]);
    let openblas = blas(&["blas/ob34"]);
    library("cholmod/openblas", &openblas, had("AMD"), &[amd]);
    let choice = order.as_deref().unwrap_or("7");
    library("mumps", &mkl, had("its own choice"), &[choice]);
    if job.small && job.threads == 1 {
        let extra = [amd, "simplicial"];
        library("cholmod/simplicial", &mkl, had("AMD"), &extra);
        library("eigen", &env, "AMD".into(), &[]);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_are_asked_for_together_or_one_by_one() {
        let names = |n: &[&str]| n.iter().map(|&n| n.to_owned()).collect::<Vec<_>>();
        assert!(wanted("pardiso/10", &names(&[])));
        assert!(wanted("pardiso/10", &names(&["pardiso"])));
        assert!(wanted("pardiso/10", &names(&["pardiso/10"])));
        assert!(!wanted("pardiso/1", &names(&["pardiso/10"])));
        assert!(wanted("tamarack", &names(&["faer"])));
    }
    #[test]
    fn every_solver_says_which_order_it_has() {
        let order = Order {
            file: "m.i32".into(),
            name: "METIS's",
        };
        let job = |order| Job {
            drive: Path::new("drive"),
            drivers: Some(Path::new("drivers")),
            peers: None,
            matrix: Path::new("m.bin"),
            name: "m",
            threads: 1,
            order,
            small: true,
        };
        for solver in solvers(&job(Some(&order))) {
            let given = solver.args.iter().any(|a| a == "m.i32");
            assert_eq!(given, solver.order == "METIS's", "{}", solver.label);
        }
        let own = |s: &Solver| s.order != "METIS's" && !s.order.is_empty();
        assert!(solvers(&job(None)).iter().all(own));
    }
}
