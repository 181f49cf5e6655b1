//! The browser's process: started with the pipe on descriptors 3 and 4, watched by one task that
//! alone kills, reaps and removes the profile.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use command_fds::{CommandFdExt, FdMapping};
use rustix::process::{Pid, Signal};
use tokio::io::{AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStderr, Command};
use tokio::sync::watch;

use crate::profile::Profile;
use crate::transport::{PipeSink, PipeSource};

/// How long the folder's removal is tried. Children of a killed browser were seen writing for some
/// tens of milliseconds.
const REMOVAL: Duration = Duration::from_secs(1);
/// How much of the browser's error stream is kept for a launch error, in bytes.
const STDERR_KEPT: usize = 2_000;

/// Variables the browser may see. Everything else of our environment, keys above all, stays here.
const PASSED_VARIABLES: &[&str] = &[
    "PATH",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "LD_LIBRARY_PATH",
    "FONTCONFIG_FILE",
    "FONTCONFIG_PATH",
    "XDG_DATA_DIRS",
];

/// How many browsers of this process are not yet gone, with their folders.
static LIVING: LazyLock<watch::Sender<usize>> = LazyLock::new(|| watch::Sender::new(0));

/// Waits until every browser that this process started is gone, with its profile folder: also those
/// that end in the background because an open was given up or a session dropped. For programs, before
/// their runtime ends with everything that still runs in it. Says whether none is left.
pub async fn all_ended(bound: Duration) -> bool {
    let mut living = LIVING.subscribe();
    let none = living.wait_for(|living| *living == 0);
    matches!(tokio::time::timeout(bound, none).await, Ok(Ok(_)))
}

/// What to start.
pub(crate) struct Plan {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) profile: Profile,
}

/// How the process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) how: End,
    pub(crate) profile: Removal,
}

/// Whether it went by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Itself,
    Killed,
}

/// Whether the profile folder is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Removal {
    Done,
    /// Left for the sweep of the next start.
    Left,
}

/// A handle to the watching task. When it is dropped, the browser is killed.
#[derive(Debug)]
pub(crate) struct Supervisor {
    kill: watch::Sender<bool>,
    ended: watch::Receiver<Option<Ended>>,
    stderr: Arc<Mutex<VecDeque<u8>>>,
    pid: u32,
    profile: PathBuf,
}

impl Supervisor {
    /// Starts the process. Needs a running tokio runtime. When it does not start, the profile folder
    /// is removed.
    pub(crate) fn start(plan: Plan) -> io::Result<(Self, PipeSource, PipeSink)> {
        match Started::new(&plan) {
            Ok(started) => Ok(Self::watch(started, plan.profile)),
            Err(error) => {
                plan.profile.remove_once();
                Err(error)
            }
        }
    }

    fn watch(started: Started, profile: Profile) -> (Self, PipeSource, PipeSink) {
        let Started {
            mut child,
            source,
            sink,
        } = started;
        let pid = child.id().unwrap_or_default();
        let stderr = Arc::new(Mutex::new(VecDeque::new()));
        if let Some(pipe) = child.stderr.take() {
            tokio::spawn(keep_end(pipe, Arc::clone(&stderr)));
        }
        let (kill, killed) = watch::channel(false);
        let (end, ended) = watch::channel(None);
        let folder = profile.folder().to_path_buf();
        LIVING.send_modify(|living| *living += 1);
        let guard = Guard {
            child,
            profile,
            armed: true,
        };
        tokio::spawn(watch_over(guard, killed, end));
        let supervisor = Self {
            kill,
            ended,
            stderr,
            pid,
            profile: folder,
        };
        (supervisor, source, sink)
    }

    /// The browser's process number.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// The profile folder.
    pub(crate) fn profile(&self) -> &Path {
        &self.profile
    }

    /// Has the process tree killed, now.
    pub(crate) fn kill(&self) {
        self.kill.send_replace(true);
    }

    /// Waits until process and profile are gone. None when the bound passes first.
    pub(crate) async fn ended(&self, bound: Duration) -> Option<Ended> {
        let mut ended = self.ended.clone();
        let waited = tokio::time::timeout(bound, ended.wait_for(Option::is_some)).await;
        waited.ok()?.ok().and_then(|end| *end)
    }

    /// The end of what the browser wrote to its error stream.
    pub(crate) fn stderr(&self) -> String {
        let kept = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = kept.iter().copied().collect();
        String::from_utf8_lossy(&bytes).trim().to_owned()
    }
}

/// A process that runs, and the ends of its pipe.
struct Started {
    child: Child,
    source: PipeSource,
    sink: PipeSink,
}

impl Started {
    fn new(plan: &Plan) -> io::Result<Self> {
        let (their_input, our_output) = io::pipe()?;
        let (our_input, their_output) = io::pipe()?;
        let scratch = plan.profile.scratch();
        let mut command = std::process::Command::new(&plan.program);
        command
            .args(&plan.arguments)
            .env_clear()
            .envs(
                PASSED_VARIABLES
                    .iter()
                    .filter_map(|name| Some((name, std::env::var_os(name)?))),
            )
            .env("HOME", &scratch)
            .env("TMPDIR", &scratch)
            .env("XDG_CONFIG_HOME", &scratch)
            .env("XDG_CACHE_HOME", &scratch)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            // A group of its own: a Ctrl-C in our terminal is ours to handle, and the whole group
            // can be killed at once.
            .process_group(0);
        command
            .fd_mappings(vec![
                FdMapping {
                    parent_fd: OwnedFd::from(their_input),
                    child_fd: 3,
                },
                FdMapping {
                    parent_fd: OwnedFd::from(their_output),
                    child_fd: 4,
                },
            ])
            .map_err(io::Error::other)?;
        let child = Command::from(command).kill_on_drop(true).spawn()?;
        let source = PipeSource::new(our_input.into())?;
        let sink = PipeSink::new(our_output.into())?;
        Ok(Self {
            child,
            source,
            sink,
        })
    }
}

/// Owns process and profile. Dropped with the runtime, it still does what can be done at once.
struct Guard {
    child: Child,
    profile: Profile,
    armed: bool,
}

impl Drop for Guard {
    fn drop(&mut self) {
        if self.armed {
            // Not yet reaped, so the number is still this process's.
            if let Some(pid) = self.child.id() {
                kill_tree(pid);
            }
            self.profile.remove_once();
        }
        LIVING.send_modify(|living| *living -= 1);
    }
}

async fn watch_over(
    mut guard: Guard,
    mut killed: watch::Receiver<bool>,
    end: watch::Sender<Option<Ended>>,
) {
    let pid = guard.child.id();
    let itself = tokio::select! {
        _ = guard.child.wait() => true,
        // An error means that the handle was dropped without a close: the same wish.
        () = async { drop(killed.wait_for(|wish| *wish).await) } => false,
    };
    let how = if itself {
        End::Itself
    } else {
        if let Some(pid) = pid {
            kill_tree(pid);
        }
        // Reaps it; the kill can't be refused.
        let _ = guard.child.wait().await;
        End::Killed
    };
    if let Some(pid) = pid {
        // Children that outlive the browser for a moment. The group's number can't have been given
        // to another process while a member lives, and without members the call finds nothing.
        kill_group(pid);
    }
    let profile = if guard.profile.remove(REMOVAL).await {
        Removal::Done
    } else {
        Removal::Left
    };
    guard.armed = false;
    end.send_replace(Some(Ended { how, profile }));
}

fn as_pid(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

fn kill_group(pid: u32) {
    if let Some(pid) = as_pid(pid) {
        // The only possible error is that nobody is left.
        let _ = rustix::process::kill_process_group(pid, Signal::KILL);
    }
}

/// Kills the process, its group, and every descendant that left the group.
fn kill_tree(pid: u32) {
    let descendants = descendants(pid);
    kill_group(pid);
    for pid in descendants.into_iter().filter_map(as_pid) {
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
}

/// Every living descendant, read from `/proc`; empty where there is none.
fn descendants(root: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in entries.flatten() {
        let pid = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        let parent = pid.and_then(parent_of);
        if let (Some(pid), Some(parent)) = (pid, parent) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut open = vec![root];
    while let Some(pid) = open.pop() {
        for child in children.remove(&pid).unwrap_or_default() {
            found.push(child);
            open.push(child);
        }
    }
    found
}

fn parent_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may hold anything, so the fields are counted from the last bracket.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(1)?.parse().ok()
}

async fn keep_end(pipe: ChildStderr, kept: Arc<Mutex<VecDeque<u8>>>) {
    let mut pipe = BufReader::new(pipe);
    let mut chunk = [0; 1024];
    while let Ok(count) = pipe.read(&mut chunk).await {
        if count == 0 {
            break;
        }
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(chunk.iter().take(count));
        let surplus = kept.len().saturating_sub(STDERR_KEPT);
        kept.drain(..surplus);
    }
}
