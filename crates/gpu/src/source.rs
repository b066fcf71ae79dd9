//! The CUDA sources, embedded, and their includes made flat.
//!
//! Every `.cu` under `kernels/` is a [`Program`]; every `.cuh` can be included by its path from
//! `kernels/`: `#include "common.cuh"`. NVRTC is given one text, in which each header stands where it
//! is first included, between `#line` marks, so that errors name our files and lines. A header is
//! taken once, whether or not it says `#pragma once`. The flat text depends on nothing but the
//! program and the headers it reaches, which is what the cache's key needs.

use std::fmt::Write as _;

use crate::GpuError;

/// A file under `kernels/`.
#[derive(Debug)]
pub(crate) struct File {
    /// Path from `kernels/`, with `/`.
    pub path: &'static str,
    /// The text.
    pub text: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// One CUDA C++ source with its kernels: what is compiled, cached and loaded together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Program {
    path: &'static str,
    text: &'static str,
}

impl Program {
    /// The program at `path` under `kernels/`, such as `"selftest.cu"`.
    ///
    /// Meant for constants, where a path that does not exist is an error of the build:
    /// `const SCAN: Program = Program::at("primitives/scan.cu");`
    ///
    /// # Panics
    /// If there is no such file; in a constant that is an error at compile time.
    #[must_use]
    pub const fn at(path: &'static str) -> Self {
        let mut i = 0;
        while i < FILES.len() {
            if same(FILES[i].path, path) {
                return Self {
                    path: FILES[i].path,
                    text: FILES[i].text,
                };
            }
            i += 1;
        }
        panic!("no such file under kernels/")
    }

    /// Every program, sorted by path.
    pub fn all() -> impl Iterator<Item = Program> {
        FILES
            .iter()
            .filter(|f| f.path.ends_with(".cu"))
            .map(|f| Self {
                path: f.path,
                text: f.text,
            })
    }

    /// Path from `kernels/`, such as `primitives/scan.cu`.
    #[must_use]
    pub const fn path(&self) -> &'static str {
        self.path
    }

    /// The text given to NVRTC: this source with its headers in place.
    ///
    /// # Errors
    /// [`GpuError::Include`] for a header that is not under `kernels/`.
    pub fn flatten(&self) -> Result<String, GpuError> {
        let mut flat = String::with_capacity(2 * self.text.len());
        flatten_into(self.path, self.text, &mut Vec::new(), &mut flat)?;
        Ok(flat)
    }
}

/// Equality of strings, where `==` is not yet `const`.
const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

fn flatten_into(
    path: &'static str,
    text: &str,
    seen: &mut Vec<&'static str>,
    flat: &mut String,
) -> Result<(), GpuError> {
    seen.push(path);
    // Writing to a string does not fail.
    let _ = writeln!(flat, "#line 1 \"kernels/{path}\"");
    for (i, line) in text.lines().enumerate() {
        if line.trim_end() == "#pragma once" {
            flat.push('\n');
            continue;
        }
        let Some(include) = included(line) else {
            flat.push_str(line);
            flat.push('\n');
            continue;
        };
        let file = FILES.iter().find(|f| f.path == include);
        let file = file.ok_or_else(|| GpuError::Include {
            file: format!("kernels/{path}"),
            line: i + 1,
            include: include.to_string(),
        })?;
        if !seen.contains(&file.path) {
            flatten_into(file.path, file.text, seen, flat)?;
        }
        let _ = writeln!(flat, "#line {} \"kernels/{path}\"", i + 2);
    }
    Ok(())
}

/// The path in `#include "path"`, if that is what the line is. `<path>` is left to NVRTC.
fn included(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start();
    let rest = rest
        .strip_prefix("include")?
        .trim_start()
        .strip_prefix('"')?;
    rest.split_once('"').map(|(path, _)| path)
}
