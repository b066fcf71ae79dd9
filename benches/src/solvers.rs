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
    pub order: Option<&'a Path>,
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
    let order = job.order.map(text);
    let crates = |label: &str, env: &[(String, String)]| Solver {
        label: label.into(),
        program: job.drive.into(),
        args: [label.into(), text(job.matrix), job.name.into(), t.clone()]
            .into_iter()
            .chain(order.clone())
            .collect(),
        env: env.to_vec(),
    };
    let mut all = vec![crates("tamarack", &env)];
    // Huge pages, and memory kept between factorizations: nobody is measured through page faults.
    let tunables =
        "glibc.malloc.hugetlb=1:glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=68719476736";
    env.push(("GLIBC_TUNABLES".into(), tunables.into()));
    all.push(crates("faer", &env));
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
    let mut library = |label: &str, env: &[(String, String)], extra: &[&str]| {
        let program = label.split('/').next().unwrap_or(label);
        let mut args = vec![text(job.matrix), job.name.into(), t.clone(), label.into()];
        args.extend(extra.iter().map(|&a| a.to_owned()));
        all.push(Solver {
            label: label.into(),
            program: drivers.join(program),
            args,
            env: env.to_vec(),
        });
    };
    let method = if job.threads == 1 { "2" } else { "3" };
    library("pardiso", &env, &[method, "0"]);
    if job.threads > 1 {
        library("pardiso/1", &env, &[method, "1"]);
        library("pardiso/10", &env, &[method, "10"]);
    }
    let mut mkl = blas(&["blas/mkl24", "oldmkl/2024.0.0"]);
    // MKL 2024 takes its AVX-512 path on another maker's processor only where it is told that all is well.
    let shim = job.peers.map(|p| p.join("shim/libfakeintel.so"));
    if let Some(shim) = shim.filter(|s| s.exists()) {
        mkl.push(("LD_PRELOAD".into(), text(&shim)));
    }
    library("pardiso24", &mkl, &["2", "0"]);
    if job.threads > 1 {
        library("pardiso24/1", &mkl, &["3", "1"]);
    }
    let given = order.as_deref();
    library("cholmod", &mkl, &[given.unwrap_or("amd")]);
    library(
        "cholmod/openblas",
        &blas(&["blas/ob34"]),
        &[given.unwrap_or("amd")],
    );
    library("mumps", &mkl, &[given.unwrap_or("7")]);
    if job.small && job.threads == 1 {
        let order = given.unwrap_or("amd");
        library("cholmod/simplicial", &mkl, &[order, "simplicial"]);
        library("eigen", &env, &[]);
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
}
