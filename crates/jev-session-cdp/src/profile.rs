//! The profile folder of one browser: made fresh, locked while its owner lives, removed with
//! retries, and swept at the next start when its owner died without removing it.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What folders in use are called.
const PREFIX: &str = "jev-profile-";
/// What folders are called before they are locked.
const NASCENT: &str = "jev-nascent-";
/// The file inside that its owner holds locked. The system lets go of it when the owner dies,
/// however it dies, so no process number has to be trusted.
const LOCK: &str = "owner.lock";
/// A folder not yet locked is another process's if it is younger than this.
const NASCENT_AGE: Duration = Duration::from_secs(600);

/// A profile folder owned by this process.
#[derive(Debug)]
pub(crate) struct Profile {
    folder: PathBuf,
    _lock: File,
}

impl Profile {
    /// Makes one in the system's folder for temporary files, readable only by this user,
    /// with these preferences of the browser.
    pub(crate) fn create(preferences: &str) -> io::Result<Self> {
        Self::create_in(&std::env::temp_dir(), preferences)
    }

    fn create_in(parent: &Path, preferences: &str) -> io::Result<Self> {
        // Unique by its name; it must not remove itself, since children of a killed browser may
        // still write and the removal needs retries.
        let nascent = tempfile::Builder::new()
            .prefix(NASCENT)
            .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700))
            .tempdir_in(parent)?
            .keep();
        let lock = File::create_new(nascent.join(LOCK))?;
        lock.lock()?;
        let name = nascent.file_name().unwrap_or_default().to_string_lossy();
        let folder = parent.join(name.replacen(NASCENT, PREFIX, 1));
        fs::rename(&nascent, &folder)?;
        let profile = Self {
            folder,
            _lock: lock,
        };
        let first = profile.data().join("Default");
        for inner in [profile.data(), profile.scratch(), first.clone()] {
            fs::DirBuilder::new().mode(0o700).create(inner)?;
        }
        fs::write(first.join("Preferences"), preferences)?;
        Ok(profile)
    }

    /// The whole folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// What Chrome gets as its user data folder.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// What Chrome gets as its home and its folder for temporary files, so that nothing it writes
    /// lies elsewhere.
    pub(crate) fn scratch(&self) -> PathBuf {
        self.folder.join("scratch")
    }

    /// Removes the folder; tries again while dying children of the browser still write into it.
    /// Returns whether it is gone.
    pub(crate) async fn remove(&self, bound: Duration) -> bool {
        let deadline = tokio::time::Instant::now() + bound;
        loop {
            let gone = self.remove_once();
            if gone || tokio::time::Instant::now() >= deadline {
                return gone;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// One try. Returns whether it is gone.
    pub(crate) fn remove_once(&self) -> bool {
        remove(&self.folder)
    }
}

fn remove(folder: &Path) -> bool {
    match fs::remove_dir_all(folder) {
        Ok(()) => true,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Removes the folders whose owner is gone. Returns how many.
pub(crate) fn sweep() -> usize {
    sweep_in(&std::env::temp_dir())
}

fn sweep_in(parent: &Path) -> usize {
    let Ok(entries) = fs::read_dir(parent) else {
        return 0;
    };
    let stale = entries.flatten().filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let Ok(meta) = entry.metadata() else {
            return false;
        };
        // `metadata` of an entry does not follow links: a link planted by somebody is no folder.
        if !meta.is_dir() || meta.uid() != rustix::process::geteuid().as_raw() {
            return false;
        }
        if name.starts_with(NASCENT) {
            let age = meta.modified().ok().and_then(|at| at.elapsed().ok());
            return age.is_some_and(|age| age > NASCENT_AGE);
        }
        name.starts_with(PREFIX) && is_abandoned(&entry.path())
    });
    stale.filter(|entry| remove(&entry.path())).count()
}

fn is_abandoned(folder: &Path) -> bool {
    match File::open(folder.join(LOCK)) {
        Ok(lock) => match lock.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => false,
        },
        // It was locked before it got its name, so it is half removed.
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_abandoned_folders_are_swept() {
        let parent = tempfile::tempdir().unwrap();
        let alive = Profile::create_in(parent.path(), "{}").unwrap();
        let dead = Profile::create_in(parent.path(), "{}").unwrap();
        let dead_folder = dead.folder.clone();
        fs::write(dead.data().join("file"), "x").unwrap();
        drop(dead);
        fs::create_dir(parent.path().join("jev-nascent-young")).unwrap();
        fs::create_dir(parent.path().join("somebody-else")).unwrap();
        std::os::unix::fs::symlink("/", parent.path().join("jev-profile-link")).unwrap();

        assert_eq!(sweep_in(parent.path()), 1);
        assert!(!dead_folder.exists());
        assert!(alive.data().exists());
        assert_eq!(sweep_in(parent.path()), 0);
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 4);
    }

    #[tokio::test]
    async fn a_removed_folder_is_gone() {
        let parent = tempfile::tempdir().unwrap();
        let profile = Profile::create_in(parent.path(), "{}").unwrap();
        fs::write(profile.data().join("file"), "x").unwrap();
        assert!(profile.remove(Duration::from_secs(1)).await);
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }
}
