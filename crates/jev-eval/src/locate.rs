//! Where a task's site lies on this machine: installed by its package, or unpacked beside us.

use std::path::{Path, PathBuf};

use crate::task::Task;

/// Folders in which sites are looked for.
#[derive(Clone, Debug)]
pub struct SiteFolders {
    /// The root of the file system that packages are installed into.
    installed: PathBuf,
    /// Where package archives are unpacked, one folder a package.
    unpacked: PathBuf,
    /// The folder that sites without a package are relative to.
    own: PathBuf,
}

impl SiteFolders {
    /// Packages installed under `/` or unpacked under `unpacked`; sites without a package relative
    /// to `own` (the task file's folder).
    #[must_use]
    pub fn new(unpacked: impl Into<PathBuf>, own: impl Into<PathBuf>) -> Self {
        Self {
            installed: PathBuf::from("/"),
            unpacked: unpacked.into(),
            own: own.into(),
        }
    }

    /// The same with another root of the file system.
    #[must_use]
    pub fn installed_under(self, installed: impl Into<PathBuf>) -> Self {
        Self {
            installed: installed.into(),
            ..self
        }
    }

    /// The folder to unpack a package's archive into.
    #[must_use]
    pub fn unpacked(&self, package: &str) -> PathBuf {
        self.unpacked.join(package)
    }

    /// The site's root folder, when its start page is there. A package's folder alone says nothing:
    /// some systems install packages without their documentation.
    #[must_use]
    pub fn find(&self, task: &Task) -> Option<PathBuf> {
        let has_start = |root: &PathBuf| root.join(&task.start).is_file();
        match &task.package {
            None => Some(self.own.join(&task.root)).filter(has_start),
            Some(package) => [self.installed.as_path(), &self.unpacked(package)]
                .map(|base: &Path| base.join(&task.root))
                .into_iter()
                .find(has_start),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn task(package: Option<&str>) -> Task {
        let line = serde_json::json!({
            "id": "a", "site": "s", "root": "usr/share/doc/x", "start": "i.html", "goal": "g",
            "lang": "en", "evidence": "x", "kind": "unanswerable", "package": package,
        });
        crate::task::parse(&line.to_string()).unwrap().remove(0)
    }

    #[test]
    fn installed_comes_first_and_a_folder_without_the_page_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let (system, unpacked) = (folder.path().join("sys"), folder.path().join("un"));
        let folders = SiteFolders::new(&unpacked, folder.path()).installed_under(&system);
        let task = task(Some("x-doc"));
        let installed = system.join("usr/share/doc/x");
        let fetched = unpacked.join("x-doc/usr/share/doc/x");
        fs::create_dir_all(&installed).unwrap();
        assert_eq!(folders.find(&task), None);
        fs::create_dir_all(&fetched).unwrap();
        fs::write(fetched.join("i.html"), "").unwrap();
        assert_eq!(folders.find(&task), Some(fetched));
        fs::write(installed.join("i.html"), "").unwrap();
        assert_eq!(folders.find(&task), Some(installed));
    }

    #[test]
    fn a_site_without_a_package_lies_beside_its_task_file() {
        let folder = tempfile::tempdir().unwrap();
        let folders = SiteFolders::new(folder.path(), folder.path());
        let own = folder.path().join("usr/share/doc/x");
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("i.html"), "").unwrap();
        assert_eq!(folders.find(&task(None)), Some(own));
    }
}
