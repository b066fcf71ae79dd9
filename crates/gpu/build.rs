//! Lists `kernels/`: every `.cu` and `.cuh` below it is embedded, so that adding a kernel is adding a file.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("kernels");
    println!("cargo::rerun-if-changed=kernels");
    let mut files = Vec::new();
    collect(&root, &root, &mut files)?;
    files.sort();
    let mut text = String::from(
        "/// Every file under `kernels/`, by path.\npub(crate) static FILES: &[File] = &[\n",
    );
    for (name, path) in &files {
        let _ = writeln!(
            text,
            "    File {{ path: {name:?}, text: include_str!({:?}) }},",
            path.display().to_string()
        );
    }
    text.push_str("];\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("files.rs");
    fs::write(out, text)
}

/// The CUDA files below `dir`, as (path from `root` with `/`, path on disk).
fn collect(root: &Path, dir: &Path, into: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(root, &path, into)?;
        } else if path.extension().is_some_and(|e| e == "cu" || e == "cuh") {
            let parts: Vec<_> = path
                .strip_prefix(root)
                .unwrap_or(&path)
                .components()
                .map(|c| c.as_os_str().to_string_lossy())
                .collect();
            into.push((parts.join("/"), path));
        }
    }
    Ok(())
}
