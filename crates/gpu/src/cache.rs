//! Compiled programs on disk, so that a process starts in milliseconds.
//!
//! One file for each program, architecture, source with its headers and options, and NVRTC version; the
//! name says all four, the source as a hash. A file is written beside its place and renamed, so that
//! processes never see half of one, and carries a hash of its content: one that is damaged is compiled
//! again, with a warning. Nothing is ever deleted; the folder may be, at any time.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use sha2::{Digest, Sha256};

use crate::{Binary, KernelReport};

/// First bytes of a file; the number changes with the format.
const MAGIC: &[u8; 16] = b"tamarack-cubin 1";
/// Bytes of the hash behind the magic.
const HASH_BYTES: usize = 32;

/// What a compiled program depends on, but for NVRTC's version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key(String);

impl Key {
    /// The key of a program at `path`, of this flat source, with these options for `arch`.
    pub fn new(path: &str, arch: &str, source: &str, options: &[String]) -> Self {
        let mut hash = Sha256::new();
        for part in options.iter().map(String::as_str).chain([source]) {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let mut name = path.trim_end_matches(".cu").replace(['/', '\\'], "_");
        let _ = write!(name, "-{arch}-");
        for byte in &hash.finalize()[..12] {
            // Writing to a string does not fail.
            let _ = write!(name, "{byte:02x}");
        }
        Self(name)
    }

    /// The file's name for this version of NVRTC.
    pub fn file(&self, version: (u32, u32)) -> String {
        format!("{}-nvrtc{}.{}.bin", self.0, version.0, version.1)
    }

    /// Whether a file of this name holds the program, whatever compiled it.
    pub fn is_of(&self, file: &str) -> bool {
        file.strip_prefix(&self.0)
            .is_some_and(|rest| rest.starts_with("-nvrtc") && rest.ends_with(".bin"))
    }
}

/// A folder of compiled programs.
#[derive(Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
    /// Whether it was said that nothing can be kept: once is enough.
    said: AtomicBool,
}

impl Cache {
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_path_buf(),
            said: AtomicBool::new(false),
        }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The program compiled by this version of NVRTC, if it is there and whole.
    pub fn get(&self, key: &Key, version: (u32, u32)) -> Option<Binary> {
        self.read(&self.folder.join(key.file(version)))
    }

    /// The program compiled by any version of NVRTC: for machines without it.
    pub fn get_any(&self, key: &Key) -> Option<Binary> {
        let mut names: Vec<_> = fs::read_dir(&self.folder)
            .ok()?
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| key.is_of(name))
            .collect();
        names.sort();
        names
            .iter()
            .rev()
            .find_map(|n| self.read(&self.folder.join(n)))
    }

    fn read(&self, path: &Path) -> Option<Binary> {
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                tracing::warn!(
                    "{}: {error}; the kernels are compiled again",
                    path.display()
                );
                return None;
            }
        };
        let binary = decode(&bytes);
        if binary.is_none() {
            tracing::warn!(
                "{}: damaged; the kernels are compiled again",
                path.display()
            );
        }
        binary
    }

    /// Keeps a compiled program. Where that is not possible, it is compiled again next time.
    pub fn put(&self, key: &Key, version: (u32, u32), binary: &Binary) {
        let path = self.folder.join(key.file(version));
        if let Err(error) = write_whole(&self.folder, &path, &encode(binary))
            && !self.said.swap(true, Ordering::Relaxed)
        {
            let folder = self.folder.display();
            tracing::warn!("{folder}: {error}; compiled kernels are not kept");
        }
    }
}

/// Writes beside the place and renames.
pub(crate) fn write_whole(folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path)?;
    Ok(())
}

/// Magic, hash of the rest, length of the reports, reports, machine code.
pub(crate) fn encode(binary: &Binary) -> Vec<u8> {
    let mut reports = String::new();
    for k in &binary.kernels {
        let _ = writeln!(
            reports,
            "{} {} {} {}",
            k.name, k.registers, k.shared_bytes, k.local_bytes
        );
    }
    let mut content = (reports.len() as u64).to_le_bytes().to_vec();
    content.extend_from_slice(reports.as_bytes());
    content.extend_from_slice(&binary.code);
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&Sha256::digest(&content));
    bytes.extend_from_slice(&content);
    bytes
}

/// What [`encode`] wrote; `None` for anything else.
pub(crate) fn decode(bytes: &[u8]) -> Option<Binary> {
    let (hash, content) = bytes.strip_prefix(MAGIC)?.split_at_checked(HASH_BYTES)?;
    if *Sha256::digest(content) != *hash {
        return None;
    }
    let (length, rest) = content.split_first_chunk()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (reports, code) = rest.split_at_checked(length)?;
    let kernels = std::str::from_utf8(reports)
        .ok()?
        .lines()
        .map(report)
        .collect::<Option<_>>()?;
    Some(Binary {
        code: code.to_vec(),
        kernels,
        warnings: String::new(),
    })
}

fn report(line: &str) -> Option<KernelReport> {
    let mut words = line.split(' ');
    let name = words.next()?.to_string();
    let mut number = || words.next()?.parse().ok();
    Some(KernelReport {
        name,
        registers: number()?,
        shared_bytes: number()?,
        local_bytes: number()?,
    })
}
