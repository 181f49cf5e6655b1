//! Finds a Chrome: the path named, then `JEV_CHROME`, then the usual names and places; the headless
//! shell first, for it is the lighter one.

use std::env;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::error::LaunchError;

/// The environment variable that names the browser.
pub const CHROME_VARIABLE: &str = "JEV_CHROME";

/// Names looked for in `PATH`, in this order.
const SHELL_NAMES: &[&str] = &["chromium-headless-shell", "chrome-headless-shell"];
const FULL_NAMES: &[&str] = &[
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
];

/// Places outside `PATH`.
const FULL_PLACES: &[&str] = &[
    "/opt/google/chrome/chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
];

/// Which of the two builds of Chrome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flavour {
    /// The headless shell: starts faster, takes less memory.
    Shell,
    /// The whole browser in its headless mode.
    Full,
}

/// Which build to take when both are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preference {
    /// The shell, else the whole browser.
    #[default]
    Shell,
    /// The whole browser, else the shell.
    Full,
}

/// A browser on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chrome {
    /// The program to run.
    pub program: PathBuf,
    /// Which build it is, told by its name.
    pub flavour: Flavour,
}

impl Chrome {
    fn at(program: &Path) -> Option<Self> {
        if !is_program(program) {
            return None;
        }
        let program = behind_script(program);
        let shell = program
            .file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| name.contains("headless") && name.contains("shell"));
        let flavour = if shell { Flavour::Shell } else { Flavour::Full };
        Some(Self { program, flavour })
    }
}

/// Finds the browser to run.
///
/// # Errors
/// [`LaunchError::NotExecutable`] when a path was named and is none, [`LaunchError::NotFound`]
/// when nothing was named and nothing was found.
pub fn find(named: Option<&Path>, preference: Preference) -> Result<Chrome, LaunchError> {
    let variable = env::var_os(CHROME_VARIABLE).map(PathBuf::from);
    if let Some(path) = named.map(Path::to_path_buf).or(variable) {
        return Chrome::at(&path)
            .or_else(|| in_path(&path))
            .ok_or(LaunchError::NotExecutable { path });
    }
    let shell = || SHELL_NAMES.iter().find_map(|name| in_path(Path::new(name)));
    let full = || {
        let named = FULL_NAMES.iter().find_map(|name| in_path(Path::new(name)));
        named.or_else(|| {
            FULL_PLACES
                .iter()
                .find_map(|place| Chrome::at(Path::new(place)))
        })
    };
    match preference {
        Preference::Shell => shell().or_else(full),
        Preference::Full => full().or_else(shell),
    }
    .ok_or(LaunchError::NotFound)
}

/// Looks a bare name up in `PATH`.
fn in_path(name: &Path) -> Option<Chrome> {
    if name.components().count() != 1 {
        return None;
    }
    let path = env::var_os("PATH")?;
    env::split_paths(&path).find_map(|folder| Chrome::at(&folder.join(name)))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

/// Distributions put a shell script into `PATH` that starts the browser as its child, adds flags
/// of its own and stands between us and the process. The program itself is taken when it is found
/// at the usual place.
fn behind_script(program: &Path) -> PathBuf {
    let resolved = program
        .canonicalize()
        .unwrap_or_else(|_| program.to_path_buf());
    if !is_script(&resolved) {
        return resolved;
    }
    let Some(name) = resolved.file_name() else {
        return resolved;
    };
    [
        "/usr/lib/chromium",
        "/usr/lib64/chromium-browser",
        "/usr/lib/chromium-browser",
    ]
    .iter()
    .map(|folder| Path::new(folder).join(name))
    .find(|candidate| is_program(candidate) && !is_script(candidate))
    .unwrap_or(resolved)
}

fn is_script(path: &Path) -> bool {
    let mut start = [0; 2];
    File::open(path).is_ok_and(|mut file| file.read_exact(&mut start).is_ok()) && start == *b"#!"
}
