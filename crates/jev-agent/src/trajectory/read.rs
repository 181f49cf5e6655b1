//! Reading trajectories back: a whole one, or what a list shows of each. A file whose writer died
//! is read up to its last whole line.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::event::{Body, Name, TraceEvent};
use super::{EVENTS_FILE, MAX_BYTES_RANGE};

/// How much of the end of a file is looked at for its last line.
const TAIL_BYTES: u64 = 64 << 10;
/// Longest first line that is read for a list.
const HEAD_BYTES: u64 = 1 << 20;

/// Why a trajectory can't be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// There is none there.
    #[error("{path} holds no trajectory; name a run's folder, see `jev trace list`")]
    Missing {
        /// Where it was looked for.
        path: String,
    },
    /// The file can't be read.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// A line in the middle that is no event.
    #[error("{path}: line {line} is not an event of a trajectory")]
    Line {
        /// Which file.
        path: String,
        /// From 1 on.
        line: usize,
    },
}

/// A trajectory that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// Its name.
    pub id: String,
    /// Its events in order.
    pub events: Vec<TraceEvent>,
    /// Whether its last line was cut off and left out.
    pub cut_off: bool,
}

/// What a list shows of a trajectory.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Its name.
    pub id: String,
    /// Its folder.
    pub folder: PathBuf,
    /// What was to be found; empty when the first line can't be read.
    pub goal: String,
    /// When it began, in seconds since 1970.
    pub started: u64,
    /// How it ended; none when its writer died or still writes.
    pub result: Option<Name>,
    /// The file's size in bytes.
    pub bytes: u64,
}

fn events_file(folder: &Path) -> PathBuf {
    if folder.is_file() {
        folder.to_owned()
    } else {
        folder.join(EVENTS_FILE)
    }
}

fn id_of(file: &Path) -> String {
    file.parent()
        .and_then(Path::file_name)
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// Reads a trajectory from its folder, or from its file.
///
/// # Errors
/// [`ReadError`].
pub fn read(folder: &Path) -> Result<Reading, ReadError> {
    let path = events_file(folder);
    let shown = path.display().to_string();
    let failed = |source| ReadError::File {
        path: shown.clone(),
        source,
    };
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(ReadError::Missing {
                path: folder.display().to_string(),
            });
        }
        Err(error) => return Err(failed(error)),
    };
    let mut reader = BufReader::new(file.take(MAX_BYTES_RANGE.1));
    let mut events = Vec::new();
    let mut line = Vec::new();
    let mut cut_off = false;
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line).map_err(failed)? == 0 {
            break;
        }
        if line.last() != Some(&b'\n') {
            cut_off = true;
            break;
        }
        match serde_json::from_slice(&line) {
            Ok(event) => events.push(event),
            Err(_) => {
                return Err(ReadError::Line {
                    path: shown,
                    line: events.len() + 1,
                });
            }
        }
    }
    Ok(Reading {
        id: id_of(&path),
        events,
        cut_off,
    })
}

/// What a list shows of the trajectory in a folder.
///
/// # Errors
/// [`ReadError`].
pub fn summary(folder: &Path) -> Result<Summary, ReadError> {
    let path = events_file(folder);
    let failed = |source: io::Error| {
        if source.kind() == io::ErrorKind::NotFound {
            ReadError::Missing {
                path: folder.display().to_string(),
            }
        } else {
            ReadError::File {
                path: path.display().to_string(),
                source,
            }
        }
    };
    let mut file = File::open(&path).map_err(failed)?;
    let bytes = file.metadata().map_err(failed)?.len();
    let mut head = Vec::new();
    BufReader::new((&mut file).take(HEAD_BYTES))
        .read_until(b'\n', &mut head)
        .map_err(failed)?;
    let first: Option<TraceEvent> = serde_json::from_slice(&head).ok();
    let (goal, started) = first
        .and_then(|event| match event.body {
            Body::Plan(plan) => Some((plan.goal.to_string(), plan.started)),
            Body::Observe(_)
            | Body::Judge(_)
            | Body::Intent(_)
            | Body::Receipt(_)
            | Body::Verify(_)
            | Body::Recover(_)
            | Body::Note(_)
            | Body::End(_) => None,
        })
        .unwrap_or_default();
    file.seek(SeekFrom::Start(bytes.saturating_sub(TAIL_BYTES)))
        .map_err(failed)?;
    let mut tail = Vec::new();
    file.take(TAIL_BYTES)
        .read_to_end(&mut tail)
        .map_err(failed)?;
    let last = tail
        .split_inclusive(|&byte| byte == b'\n')
        .next_back()
        .filter(|line| line.ends_with(b"\n"))
        .and_then(|line| serde_json::from_slice::<TraceEvent>(line).ok());
    let result = last.and_then(|event| match event.body {
        Body::End(end) => Some(end.result),
        Body::Plan(_)
        | Body::Observe(_)
        | Body::Judge(_)
        | Body::Intent(_)
        | Body::Receipt(_)
        | Body::Verify(_)
        | Body::Recover(_)
        | Body::Note(_) => None,
    });
    Ok(Summary {
        id: id_of(&path),
        folder: folder.to_owned(),
        goal,
        started,
        result,
        bytes,
    })
}

/// Every trajectory in a folder, oldest first. Folders that hold none are passed over.
///
/// # Errors
/// [`ReadError::File`] when the folder itself can't be read.
pub fn list(folder: &Path) -> Result<Vec<Summary>, ReadError> {
    let failed = |source| ReadError::File {
        path: folder.display().to_string(),
        source,
    };
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if let Ok(summary) = summary(&entry.path()) {
            found.push(summary);
        }
    }
    found.sort_by(|a, b| (a.started, &a.id).cmp(&(b.started, &b.id)));
    Ok(found)
}
