//! Pictures of the pages a run has looked at, kept beside its trajectory under their digests. They are
//! not redacted: they are taken only when the host asks for them, and never once text was typed.

use std::collections::HashMap;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jev_core::digest::sha256;
use jev_core::error::{DispatchError, SessionError};
use jev_core::host::HostActs;
use jev_core::ids::{DocumentId, PageVersion, Scope};
use jev_core::permit::Permit;
use jev_core::ports::{Change, CloseReport, OpenRequest, Session, SessionFactory};
use jev_core::receipt::Receipt;
use jev_core::snapshot::Snapshot;

use super::file::private_file;

/// How long a picture may take. One that takes longer is left out.
const BOUND: Duration = Duration::from_secs(2);

/// What a picture shows: a document, its content, and how far it is scrolled.
type Shown = (DocumentId, PageVersion, u32);

fn shown(page: &Snapshot) -> Shown {
    (
        page.document.clone(),
        page.version().clone(),
        page.scroll.offset,
    )
}

/// The pictures of one trajectory.
#[derive(Clone, Debug)]
pub(super) struct Pictures(Arc<Mutex<Album>>);

#[derive(Debug)]
struct Album {
    folder: PathBuf,
    /// Bytes that may still be written; none once no more pictures are taken.
    left: Option<u64>,
    digests: HashMap<Shown, String>,
}

impl Pictures {
    pub(super) fn new(folder: PathBuf, most: u64) -> Self {
        Self(Arc::new(Mutex::new(Album {
            folder,
            left: Some(most),
            digests: HashMap::new(),
        })))
    }

    fn album(&self) -> MutexGuard<'_, Album> {
        // A picture that was not written whole has no entry.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// No more from now on.
    pub(super) fn stop(&self) {
        self.album().left = None;
    }

    /// The digest of this page's picture, when there is one.
    pub(super) fn digest(&self, page: &Snapshot) -> Option<String> {
        self.album().digests.get(&shown(page)).cloned()
    }

    fn wants(&self, page: &Snapshot) -> bool {
        let album = self.album();
        album.left.is_some() && !album.digests.contains_key(&shown(page))
    }

    fn keep(&self, page: &Snapshot, png: &[u8]) {
        let mut album = self.album();
        let digest = sha256(png);
        if !album.digests.values().any(|known| *known == digest) {
            let size = png.len() as u64;
            let Some(left) = album.left.and_then(|left| left.checked_sub(size)) else {
                album.left = None;
                return;
            };
            if album.write(&digest, png).is_err() {
                album.left = None;
                return;
            }
            album.left = Some(left);
        }
        album.digests.insert(shown(page), digest);
    }

    /// The same sessions, each look with its picture.
    pub(super) fn watch(&self, factory: Arc<dyn SessionFactory>) -> Arc<dyn SessionFactory> {
        Arc::new(Watched {
            factory,
            pictures: self.clone(),
        })
    }
}

impl Album {
    /// Under its name only once it is whole.
    fn write(&self, digest: &str, png: &[u8]) -> io::Result<()> {
        let half = self.folder.join(format!("{digest}.part"));
        let written = private_file()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&half)
            .and_then(|mut file| file.write_all(png))
            .and_then(|()| std::fs::rename(&half, self.folder.join(format!("{digest}.png"))));
        if written.is_err() {
            let _ = std::fs::remove_file(&half);
        }
        written
    }
}

struct Watched {
    factory: Arc<dyn SessionFactory>,
    pictures: Pictures,
}

#[async_trait]
impl SessionFactory for Watched {
    async fn open(
        &self,
        request: OpenRequest,
        deadline: Duration,
    ) -> Result<Arc<dyn Session>, SessionError> {
        Ok(Arc::new(Pictured {
            access: request.access.clone(),
            session: self.factory.open(request, deadline).await?,
            pictures: self.pictures.clone(),
        }))
    }
}

struct Pictured {
    access: jev_core::access::AccessList,
    session: Arc<dyn Session>,
    pictures: Pictures,
}

#[async_trait]
impl Session for Pictured {
    fn scope(&self) -> &Scope {
        self.session.scope()
    }

    fn host_acts(&self) -> Option<&dyn HostActs> {
        self.session.host_acts()
    }

    async fn picture(&self, page: &Snapshot, bound: Duration) -> Option<Vec<u8>> {
        self.session.picture(page, bound).await
    }

    async fn lost(&self) -> SessionError {
        self.session.lost().await
    }

    async fn observe(&self, deadline: Duration) -> Result<Snapshot, SessionError> {
        let page = self.session.observe(deadline).await?;
        // Nothing of a page that is not allowed is kept.
        if self.pictures.wants(&page) && self.access.allows_text(&page.url) {
            let taking = self.session.picture(&page, BOUND);
            if let Ok(Some(png)) = tokio::time::timeout(BOUND, taking).await {
                self.pictures.keep(&page, &png);
            }
        }
        Ok(page)
    }

    async fn dispatch(&self, permit: Permit, deadline: Duration) -> Result<Receipt, DispatchError> {
        self.session.dispatch(permit, deadline).await
    }

    async fn wait(&self, bound: Duration) -> Result<Change, SessionError> {
        self.session.wait(bound).await
    }

    async fn close(&self, grace: Duration) -> CloseReport {
        self.session.close(grace).await
    }
}

#[cfg(test)]
mod conformance {
    use jev_core::testing::{self, Clock};

    use super::*;

    #[tokio::test]
    async fn a_session_whose_pictures_are_kept_conforms() {
        let (site, case) = crate::testing::conformance_case();
        let folder = tempfile::tempdir().unwrap();
        let pictures = Pictures::new(folder.path().to_owned(), 1 << 20);
        let watched = pictures.watch(Arc::new(site));
        let clock = Clock::new(tokio::time::sleep);
        let outcome = testing::session(watched.as_ref(), &case, &clock).await;
        assert_eq!(outcome, Ok(()));
    }
}
