//! Resources: a client's last trajectory and the screenshots beside it. The raw inputs that may
//! lie there too are never offered: they are not redacted.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{Resource, ResourceContents};

use crate::trajectory::EVENTS_FILE;

/// What every address begins with.
const ADDRESS: &str = "jev-trace:///last/";

/// Largest file that is sent, in bytes.
const FILE_MAX_BYTES: u64 = 4 << 20;

/// Most screenshots that are listed.
const SCREENSHOTS_MAX: usize = 256;

/// What kinds of file are offered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Events,
    Screenshot,
}

impl Kind {
    fn of(name: &str) -> Option<Self> {
        let plain = |stem: &str| {
            !stem.is_empty() && stem.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
        };
        if name == EVENTS_FILE {
            Some(Self::Events)
        } else if name.strip_suffix(".png").is_some_and(plain) {
            Some(Self::Screenshot)
        } else {
            None
        }
    }

    const fn mime(self) -> &'static str {
        match self {
            Self::Events => "application/jsonl",
            Self::Screenshot => "image/png",
        }
    }
}

/// What a folder offers; nothing when there is none.
pub(super) fn list(folder: Option<&Path>) -> Vec<Resource> {
    let Some(entries) = folder.and_then(|folder| std::fs::read_dir(folder).ok()) else {
        return Vec::new();
    };
    let mut found: Vec<Resource> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name().into_string().ok()?;
            let kind = Kind::of(&name)?;
            let title = match kind {
                Kind::Events => "The last run's trajectory, redacted",
                Kind::Screenshot => "A screenshot of the last run",
            };
            let mut resource = Resource::new(format!("{ADDRESS}{name}"), name);
            resource.title = Some(title.to_owned());
            resource.mime_type = Some(kind.mime().to_owned());
            resource.size = entry.metadata().ok().map(|meta| meta.len());
            Some(resource)
        })
        .take(SCREENSHOTS_MAX)
        .collect();
    found.sort_by(|a, b| a.uri.cmp(&b.uri));
    found
}

/// The file under an address. `None` for any address that is not offered, and for a file that is
/// too large.
pub(super) fn read(folder: Option<&Path>, address: &str) -> Option<ResourceContents> {
    let name = address.strip_prefix(ADDRESS)?;
    let kind = Kind::of(name)?;
    let file = folder?.join(name);
    let meta = std::fs::symlink_metadata(&file).ok()?;
    if !meta.is_file() || meta.len() > FILE_MAX_BYTES {
        return None;
    }
    let contents = match kind {
        Kind::Events => ResourceContents::text(std::fs::read_to_string(&file).ok()?, address),
        Kind::Screenshot => {
            ResourceContents::blob(STANDARD.encode(std::fs::read(&file).ok()?), address)
        }
    };
    Some(contents.with_mime_type(kind.mime()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_redacted_is_offered() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            EVENTS_FILE,
            "ab12.png",
            "inputs.jsonl",
            ".hidden.png",
            "x.txt",
        ] {
            std::fs::write(folder.path().join(name), name).unwrap();
        }
        let names = |resources: Vec<Resource>| -> Vec<String> {
            resources
                .into_iter()
                .map(|resource| resource.name)
                .collect()
        };
        assert_eq!(names(list(Some(folder.path()))), ["ab12.png", EVENTS_FILE]);
        assert!(list(None).is_empty());
        let read = |address: &str| read(Some(folder.path()), address);
        assert!(read(&format!("{ADDRESS}{EVENTS_FILE}")).is_some());
        assert!(read(&format!("{ADDRESS}ab12.png")).is_some());
        for address in [
            "inputs.jsonl",
            "../trajectory.jsonl",
            "/etc/passwd",
            "..%2fab12.png",
            "nothere.png",
        ] {
            assert!(read(&format!("{ADDRESS}{address}")).is_none(), "{address}");
        }
        assert!(super::read(None, &format!("{ADDRESS}{EVENTS_FILE}")).is_none());
    }
}
