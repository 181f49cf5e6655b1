//! The files of a trajectory: one line one write, never half a line, never more than the cap, and
//! readable by their owner alone.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Appends whole lines to a file of its own.
#[derive(Debug)]
pub(crate) struct LineFile {
    file: File,
    bytes: u64,
    cap: u64,
}

/// What became of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Appended {
    /// It is in the file.
    Yes,
    /// The file would grow over its cap; nothing was written.
    Full,
}

impl LineFile {
    /// A new file that only its owner may read. An existing one is an error.
    pub(crate) fn create(path: &Path, cap: u64) -> io::Result<Self> {
        let mut options = private_file();
        options.append(true).create_new(true);
        Ok(Self {
            file: options.open(path)?,
            bytes: 0,
            cap,
        })
    }

    /// Appends one line, unless more than the cap less `reserve` bytes would be in the file. The
    /// line is with the operating system when this returns, so it outlives this process.
    pub(crate) fn append(&mut self, line: &[u8], reserve: u64) -> io::Result<Appended> {
        let length = line.len() as u64 + 1;
        if self.bytes + length > self.cap.saturating_sub(reserve) {
            return Ok(Appended::Full);
        }
        let mut whole = Vec::with_capacity(line.len() + 1);
        whole.extend_from_slice(line);
        whole.push(b'\n');
        match self.file.write_all(&whole) {
            Ok(()) => {
                self.bytes += length;
                Ok(Appended::Yes)
            }
            Err(error) => {
                // A piece of a line would make the file unreadable from here on.
                let _ = self.file.set_len(self.bytes);
                Err(error)
            }
        }
    }

    /// Brings the file to the disk itself.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

/// How a file is opened that only its owner may read and write, where it is new.
pub(crate) fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Makes a folder (and those above it) that only its owner may enter.
pub(crate) fn private_folder(path: &Path) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}
