//! The second wall: a browser without any network device. It needs none, for it is spoken to by a
//! pipe and everything it shows is handed in.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::sync::OnceCell;

/// How long the probe may take.
const PROBE: Duration = Duration::from_secs(2);

/// Whether the second wall is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NetworkDevice {
    /// The browser gets none where the system allows it.
    #[default]
    NoneIfPossible,
    /// The browser keeps the system's; the boundary alone holds.
    Keep,
}

/// Whether the second wall stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsolationState {
    /// The browser has no network device.
    NoDevice,
    /// The system does not allow it, or lacks `unshare` (util-linux).
    Unavailable,
    /// It was not wanted.
    NotWanted,
}

/// How `unshare` is called here.
#[derive(Clone, Debug)]
pub(crate) struct Unshare {
    program: PathBuf,
    arguments: &'static [&'static str],
}

impl Unshare {
    /// The command that runs another without a network device. `unshare` replaces itself by it, so
    /// the process number stays.
    pub(crate) fn wrap(
        &self,
        program: &Path,
        arguments: Vec<OsString>,
    ) -> (PathBuf, Vec<OsString>) {
        let own = self.arguments.iter().map(OsString::from);
        let line = own.chain([program.into()]).chain(arguments).collect();
        (self.program.clone(), line)
    }
}

/// Tries it once in the life of this process.
pub(crate) async fn probe() -> Option<&'static Unshare> {
    static FOUND: OnceCell<Option<Unshare>> = OnceCell::const_new();
    FOUND.get_or_init(find).await.as_ref()
}

/// Whether browsers that this process starts can be without a network device.
pub async fn isolation_state() -> IsolationState {
    match probe().await {
        Some(_) => IsolationState::NoDevice,
        None => IsolationState::Unavailable,
    }
}

async fn find() -> Option<Unshare> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let arguments: &[&str] = if rustix::process::geteuid().is_root() {
        &["--net", "--"]
    } else {
        &["--user", "--map-current-user", "--net", "--"]
    };
    let program = ["/usr/bin/unshare", "/bin/unshare"]
        .iter()
        .map(PathBuf::from)
        .find(|path| path.is_file())?;
    let tried = Command::new(&program)
        .args(arguments)
        .arg(OsStr::new("true"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .status();
    let works = tokio::time::timeout(PROBE, tried).await;
    matches!(works, Ok(Ok(status)) if status.success()).then_some(Unshare { program, arguments })
}
