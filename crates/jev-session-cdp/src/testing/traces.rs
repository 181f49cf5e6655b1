//! What a browser leaves in the system while it lives and must not leave afterwards: processes,
//! folders, threads, open files, memory. Read from `/proc`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// One process, told from a later one of the same number by when it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// When it began, in clock ticks since the system's start.
    began: u64,
}

impl Process {
    /// The process of this number that runs now.
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        let began = field(pid, BEGAN)?.parse().ok()?;
        Some(Self { pid, began })
    }

    /// Whether it still exists; a dead one that nobody reaped does.
    #[must_use]
    pub fn exists(self) -> bool {
        Self::of(self.pid) == Some(self)
    }

    /// Whether its command line holds this word.
    #[must_use]
    pub fn was_told(self, word: &str) -> bool {
        let line = fs::read_to_string(format!("/proc/{}/cmdline", self.pid));
        line.is_ok_and(|line| line.contains(word))
    }

    /// Its resident memory in KiB.
    #[must_use]
    pub fn resident_kib(self) -> Option<u64> {
        status(&self.pid.to_string(), "VmRSS:")
    }
}

/// A process and everything below it.
#[must_use]
pub fn family(pid: u32) -> BTreeSet<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let parents: Vec<(u32, u32)> = entries
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            Some((pid, field(pid, PARENT)?.parse().ok()?))
        })
        .collect();
    let mut found = BTreeSet::new();
    let mut open = vec![pid];
    while let Some(pid) = open.pop() {
        let Some(process) = Process::of(pid) else {
            continue;
        };
        if found.insert(process) {
            let children = parents.iter().filter(|(_, parent)| *parent == pid);
            open.extend(children.map(|(child, _)| *child));
        }
    }
    found
}

/// What this process itself holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Threads.
    pub threads: u64,
    /// Open files, pipes and sockets.
    pub files: u64,
    /// Resident memory in KiB.
    pub resident_kib: u64,
}

impl Held {
    /// Now.
    #[must_use]
    pub fn now() -> Self {
        let files = fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
        Self {
            threads: status("self", "Threads:").unwrap_or(0),
            files: u64::try_from(files).unwrap_or(u64::MAX),
            resident_kib: status("self", "VmRSS:").unwrap_or(0),
        }
    }
}

/// Whether a folder is there.
#[must_use]
pub fn is_there(folder: &Path) -> bool {
    folder.exists()
}

/// Places in `/proc/PID/stat`, counted from after the name.
const PARENT: usize = 1;
const BEGAN: usize = 19;

fn field(pid: u32, place: usize) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may hold anything, so the fields are counted from the last bracket.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(place).map(str::to_owned)
}

fn status(pid: &str, name: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}
