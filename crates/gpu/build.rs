//! Lists `kernels/`: every `.cu` and `.cuh` below it is embedded, so that adding a kernel is adding a file.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let root = package.join("kernels");
    println!("cargo::rerun-if-changed=kernels");
    let mut files = Vec::new();
    collect(&root, &root, &mut files)?;
    files.sort();
    let mut text = String::from(
        "/// Every file under `kernels/`, by path.\npub(crate) static FILES: &[File] = &[\n",
    );
    // By the folder that is compiled, not by this one: a folder that moves takes what was built along.
    for name in &files {
        let _ = writeln!(
            text,
            "    File {{ path: {name:?}, text: include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {:?})) }},",
            format!("/kernels/{name}")
        );
    }
    text.push_str("];\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("files.rs"), text)?;
    fs::write(out.join("embedded.rs"), embedded(&package)?)
}

/// With the feature `embedded`: the compiled programs in the folder that `TAMARACK_GPU_EMBED` names,
/// filled by `tamarack gpu warm --arch LIST --cache FOLDER`; a relative one is taken from the workspace.
fn embedded(root: &Path) -> io::Result<String> {
    println!("cargo::rerun-if-env-changed=TAMARACK_GPU_EMBED");
    let mut text = String::from("static EMBEDDED: &[(&str, &[u8])] = &[\n");
    if env::var_os("CARGO_FEATURE_EMBEDDED").is_some() {
        let Some(folder) = env::var_os("TAMARACK_GPU_EMBED") else {
            println!(
                "cargo::error=the feature `embedded` needs TAMARACK_GPU_EMBED, a folder of compiled kernels"
            );
            return Ok(text);
        };
        let folder = fs::canonicalize(root.join("../..").join(folder))?;
        println!("cargo::rerun-if-changed={}", folder.display());
        let mut paths = fs::read_dir(folder)?
            .map(|entry| Ok(entry?.path()))
            .collect::<io::Result<Vec<_>>>()?;
        paths.retain(|path| path.extension().is_some_and(|e| e == "bin"));
        paths.sort();
        for path in paths {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let path = path.display().to_string();
            let _ = writeln!(text, "    ({name:?}, include_bytes!({path:?})),");
        }
    }
    text.push_str("];\n");
    Ok(text)
}

/// The CUDA files below `dir`, by path from `root` with `/`.
fn collect(root: &Path, dir: &Path, into: &mut Vec<String>) -> io::Result<()> {
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
            into.push(parts.join("/"));
        }
    }
    Ok(())
}
