//! The repository on this machine: its root, its files, and the folders that are ours to fill.

use std::fs;
use std::path::{Path, PathBuf};

use crate::run::Failure;

/// Folders that hold nothing of ours.
const SKIPPED: [&str; 3] = [".git", "target", "node_modules"];

/// The repository's root: the parent of this package, as cargo names it, else the working folder.
pub(crate) fn root() -> PathBuf {
    std::env::var_os("CARGO_MANIFEST_DIR")
        .map(PathBuf::from)
        .and_then(|package| package.parent().map(Path::to_path_buf))
        .or_else(|| std::env::current_dir().ok())
        .unwrap_or_else(|| PathBuf::from("."))
}

/// Where package archives are unpacked.
pub(crate) fn sites() -> PathBuf {
    root().join("target/sites")
}

/// The repository's own list of tasks.
pub(crate) fn tasks() -> PathBuf {
    root().join("fixtures/tasks/public.jsonl")
}

/// A text file of the repository.
#[derive(Debug)]
pub(crate) struct Source {
    /// Relative to the root, with `/`.
    pub(crate) path: String,
    /// Its size in bytes.
    pub(crate) bytes: u64,
    /// Its text; empty for a file that is not text or larger than 1 MB.
    pub(crate) text: String,
}

impl Source {
    pub(crate) fn has_ending(&self, ending: &str) -> bool {
        Path::new(&self.path)
            .extension()
            .is_some_and(|found| found == ending)
    }

    /// Lines with their numbers, from 1 on.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text
            .lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line))
    }
}

/// The largest file that the repository may hold, in bytes.
pub(crate) const FILE_MAX_BYTES: u64 = 1 << 20;

/// Every file below the root except what is built or fetched.
pub(crate) fn sources() -> Result<Vec<Source>, Failure> {
    let root = root();
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).map_err(|error| Failure::file(&folder, error))?;
        for entry in entries {
            let entry = entry.map_err(|error| Failure::file(&folder, error))?;
            let path = entry.path();
            let kind = entry
                .file_type()
                .map_err(|error| Failure::file(&path, error))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if kind.is_dir() {
                if !SKIPPED.contains(&name.as_str()) {
                    folders.push(path);
                }
            } else if kind.is_file() {
                found.push(read(&root, &path)?);
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

fn read(root: &Path, path: &Path) -> Result<Source, Failure> {
    let bytes = fs::metadata(path)
        .map_err(|error| Failure::file(path, error))?
        .len();
    let text = if bytes <= FILE_MAX_BYTES {
        let raw = fs::read(path).map_err(|error| Failure::file(path, error))?;
        String::from_utf8(raw).unwrap_or_default()
    } else {
        String::new()
    };
    let relative = path.strip_prefix(root).unwrap_or(path);
    Ok(Source {
        path: relative.to_string_lossy().replace('\\', "/"),
        bytes,
        text,
    })
}
