//! Pages in memory: a session without a browser over a handful of pages written down in Rust, for
//! demonstrations, examples and a host's own tests. It proves the chain around a page, not a browser.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jev_core::access::{AccessError, CanonicalUrl};
use jev_core::action::Action;
use jev_core::error::{DispatchError, FetchFault, Sent, SessionError};
use jev_core::host::{
    AccessibleName, Control, Field, FieldRole, HostActError, HostActs, HostReceipt, HostRefusal,
    TypedText,
};
use jev_core::ids::{CandidateId, DocumentId, Scope};
use jev_core::permit::Permit;
use jev_core::ports::{Change, CloseOutcome, CloseReport, OpenRequest, Session, SessionFactory};
use jev_core::receipt::{AppliedEffect, Receipt, RejectCause, StaleCause};
use jev_core::snapshot::{
    Candidate, Omitted, Placement, Role, ScrollState, Settled, Snapshot, SnapshotParts,
};

/// One page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    url: CanonicalUrl,
    title: String,
    text: String,
    targets: Vec<Target>,
    fields: Vec<Field>,
}

/// Something that can be clicked, and the page it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Target {
    role: Role,
    name: String,
    to: CanonicalUrl,
}

impl Page {
    /// A page with its title and its visible text.
    ///
    /// # Errors
    /// An address that is none.
    pub fn new(url: &str, title: &str, text: &str) -> Result<Self, AccessError> {
        Ok(Self {
            url: CanonicalUrl::parse(url)?,
            title: title.to_owned(),
            text: text.to_owned(),
            targets: Vec::new(),
            fields: Vec::new(),
        })
    }

    /// Its title.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Its visible text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Adds a link. One that leads to no page of the site answers as a dead link does.
    ///
    /// # Errors
    /// An address that is none; it may be relative to the page's own.
    pub fn link(self, label: &str, to: &str) -> Result<Self, AccessError> {
        self.target(Role::Link, label, to)
    }

    /// Adds a control that shows another page of the site in place, without a new document.
    ///
    /// # Errors
    /// As for [`Page::link`].
    pub fn control(self, role: Role, name: &str, shows: &str) -> Result<Self, AccessError> {
        self.target(role, name, shows)
    }

    /// Adds a text field. Where the page's text holds its name in braces, what was typed into it is
    /// shown.
    ///
    /// # Errors
    /// A name that can't be used.
    pub fn field(mut self, role: FieldRole, name: &str) -> Result<Self, HostActError> {
        self.fields.push(Field {
            role,
            name: AccessibleName::new(name)?,
        });
        Ok(self)
    }

    fn target(mut self, role: Role, name: &str, to: &str) -> Result<Self, AccessError> {
        let to = self.url.url().join(to).map_err(|_| AccessError::NotAUrl {
            text: to.to_owned(),
        })?;
        self.targets.push(Target {
            role,
            name: name.to_owned(),
            to: CanonicalUrl::new(to)?,
        });
        Ok(self)
    }
}

/// What was done to a site, over all its sessions.
#[derive(Debug, Default)]
pub struct SiteCounts {
    opened: AtomicUsize,
    closed: AtomicUsize,
    dispatched: AtomicUsize,
}

impl SiteCounts {
    /// Sessions opened.
    #[must_use]
    pub fn opened(&self) -> usize {
        self.opened.load(Ordering::SeqCst)
    }

    /// Sessions closed.
    #[must_use]
    pub fn closed(&self) -> usize {
        self.closed.load(Ordering::SeqCst)
    }

    /// Actions that reached a page.
    #[must_use]
    pub fn dispatched(&self) -> usize {
        self.dispatched.load(Ordering::SeqCst)
    }
}

/// A site of pages, and the factory of sessions on it.
#[derive(Clone, Debug, Default)]
pub struct PageSite {
    pages: Arc<BTreeMap<CanonicalUrl, Page>>,
    counts: Arc<SiteCounts>,
}

impl PageSite {
    /// A site of these pages.
    #[must_use]
    pub fn new(pages: impl IntoIterator<Item = Page>) -> Self {
        Self {
            pages: Arc::new(
                pages
                    .into_iter()
                    .map(|page| (page.url.clone(), page))
                    .collect(),
            ),
            counts: Arc::default(),
        }
    }

    /// The page of an address.
    #[must_use]
    pub fn page(&self, url: &str) -> Option<&Page> {
        self.pages.get(&CanonicalUrl::parse(url).ok()?)
    }

    /// What was done to it.
    #[must_use]
    pub fn counts(&self) -> &Arc<SiteCounts> {
        &self.counts
    }
}

#[async_trait]
impl SessionFactory for PageSite {
    async fn open(
        &self,
        request: OpenRequest,
        _deadline: Duration,
    ) -> Result<Arc<dyn Session>, SessionError> {
        if !self.pages.contains_key(&request.start) {
            return Err(SessionError::StartUnreachable {
                fault: FetchFault::Refused,
            });
        }
        self.counts.opened.fetch_add(1, Ordering::SeqCst);
        Ok(Arc::new(PageSession {
            site: self.clone(),
            tab: Mutex::new(Tab {
                at: request.start.clone(),
                back: Vec::new(),
                document: 1,
                closed: false,
                typed: BTreeMap::new(),
            }),
            request,
        }))
    }
}

/// One session on a site.
#[derive(Debug)]
struct PageSession {
    site: PageSite,
    request: OpenRequest,
    tab: Mutex<Tab>,
}

#[derive(Debug)]
struct Tab {
    at: CanonicalUrl,
    back: Vec<CanonicalUrl>,
    document: usize,
    closed: bool,
    typed: BTreeMap<String, String>,
}

impl PageSession {
    fn tab(&self) -> MutexGuard<'_, Tab> {
        // Every change of a tab is one assignment, so a panic elsewhere leaves it sound.
        self.tab.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn snapshot(&self, tab: &Tab) -> Result<Snapshot, SessionError> {
        let page = self.site.pages.get(&tab.at).ok_or(SessionError::Crashed)?;
        let candidates = page
            .targets
            .iter()
            .enumerate()
            .filter(|(_, target)| self.request.actions.offers(target.role, &target.name))
            .map(|(number, target)| Candidate {
                id: CandidateId::new(format!("c{}", number + 1)),
                role: target.role,
                label: target.name.clone(),
                href: (target.role == Role::Link).then(|| target.to.clone()),
                context: String::new(),
                placement: Placement::InView,
                guard: target.to.to_string(),
            })
            .collect();
        Ok(Snapshot::new(SnapshotParts {
            scope: self.request.scope.clone(),
            document: DocumentId::new(format!("document-{}", tab.document)),
            url: tab.at.to_string(),
            title: shown(&page.title, &tab.typed),
            text: shown(&page.text, &tab.typed),
            candidates,
            scroll: ScrollState::default(),
            omitted: Omitted::default(),
            settled: Settled::Yes,
            reach: self.request.reach,
            http_status: Some(200),
        }))
    }

    fn act(&self, tab: &mut Tab, action: &Action) -> Receipt {
        match action {
            Action::Click { target } => {
                let Some(to) = self.site.pages.get(&tab.at).and_then(|page| {
                    page.targets
                        .iter()
                        .find(|known| known.name == target.label && known.role == target.role)
                        .map(|known| known.to.clone())
                }) else {
                    return Receipt::Stale(StaleCause::TargetGone);
                };
                self.go(tab, to, target.role)
            }
            Action::Back => match tab.back.pop() {
                Some(to) => {
                    tab.at = to;
                    tab.document += 1;
                    Receipt::Applied(AppliedEffect::Navigated)
                }
                None => Receipt::Applied(AppliedEffect::NoEffect),
            },
            Action::Reload => {
                tab.document += 1;
                Receipt::Applied(AppliedEffect::Navigated)
            }
            Action::Scroll { .. } | Action::Press { .. } => {
                Receipt::Rejected(RejectCause::Unsupported)
            }
        }
    }

    fn usable(&self) -> Result<MutexGuard<'_, Tab>, DispatchError> {
        let tab = self.tab();
        if tab.closed {
            return Err(DispatchError {
                sent: Sent::SurelyNot,
                error: SessionError::Closed,
            });
        }
        Ok(tab)
    }

    fn go(&self, tab: &mut Tab, to: CanonicalUrl, role: Role) -> Receipt {
        if !self.request.access.allows(&to) {
            return Receipt::Applied(AppliedEffect::DestinationRefused);
        }
        if !self.site.pages.contains_key(&to) {
            return Receipt::Applied(AppliedEffect::DestinationFailed);
        }
        let from = std::mem::replace(&mut tab.at, to);
        match role {
            Role::Link => {
                tab.back.push(from);
                tab.document += 1;
                Receipt::Applied(AppliedEffect::Navigated)
            }
            Role::Button | Role::Tab | Role::Switch | Role::MenuItem => {
                Receipt::Applied(AppliedEffect::Changed)
            }
            Role::ScrollAreaDown | Role::ScrollAreaUp => Receipt::Applied(AppliedEffect::Scrolled),
        }
    }
}

/// A text with what was typed into its fields.
fn shown(text: &str, typed: &BTreeMap<String, String>) -> String {
    typed.iter().fold(text.to_owned(), |text, (name, typed)| {
        text.replace(&format!("{{{name}}}"), typed)
    })
}

/// The one of a kind, or why there is none.
fn only<T>(mut found: impl Iterator<Item = T>) -> Result<T, HostRefusal> {
    let first = found.next().ok_or(HostRefusal::NotFound)?;
    match found.next() {
        Some(_) => Err(HostRefusal::Ambiguous),
        None => Ok(first),
    }
}

#[async_trait]
impl HostActs for PageSession {
    async fn navigate(
        &self,
        to: &CanonicalUrl,
        _deadline: Duration,
    ) -> Result<HostReceipt, DispatchError> {
        let mut tab = self.usable()?;
        if !self.request.access.allows(to) {
            return Ok(HostReceipt::Refused(HostRefusal::OffList));
        }
        Ok(host_receipt(self.go(&mut tab, to.clone(), Role::Link)))
    }

    async fn fill(
        &self,
        field: &Field,
        text: &TypedText,
        _deadline: Duration,
    ) -> Result<HostReceipt, DispatchError> {
        let mut tab = self.usable()?;
        let page = self.site.pages.get(&tab.at);
        let fields = page.into_iter().flat_map(|page| &page.fields);
        match only(fields.filter(|known| *known == field)) {
            Ok(field) => {
                let name = field.name.as_str().to_owned();
                tab.typed.insert(name, text.reveal().to_owned());
                Ok(HostReceipt::Applied(AppliedEffect::Changed))
            }
            Err(refusal) => Ok(HostReceipt::Refused(refusal)),
        }
    }

    async fn press(
        &self,
        control: &Control,
        _deadline: Duration,
    ) -> Result<HostReceipt, DispatchError> {
        let mut tab = self.usable()?;
        let page = self.site.pages.get(&tab.at);
        let targets = page.into_iter().flat_map(|page| &page.targets);
        let named = targets
            .filter(|target| target.role == control.role && target.name == control.name.as_str());
        match only(named).map(|target| (target.to.clone(), target.role)) {
            Ok((to, role)) => Ok(host_receipt(self.go(&mut tab, to, role))),
            Err(refusal) => Ok(HostReceipt::Refused(refusal)),
        }
    }
}

fn host_receipt(receipt: Receipt) -> HostReceipt {
    match receipt {
        Receipt::Applied(effect) => HostReceipt::Applied(effect),
        Receipt::Stale(_) | Receipt::Rejected(_) => HostReceipt::Refused(HostRefusal::Unsupported),
        Receipt::Unknown(cause) => HostReceipt::Unknown(cause),
    }
}

#[async_trait]
impl Session for PageSession {
    fn scope(&self) -> &Scope {
        &self.request.scope
    }

    fn host_acts(&self) -> Option<&dyn HostActs> {
        Some(self)
    }

    async fn observe(&self, _deadline: Duration) -> Result<Snapshot, SessionError> {
        let tab = self.tab();
        if tab.closed {
            return Err(SessionError::Closed);
        }
        self.snapshot(&tab)
    }

    async fn dispatch(
        &self,
        permit: Permit,
        _deadline: Duration,
    ) -> Result<Receipt, DispatchError> {
        let mut tab = self.usable()?;
        if permit.document().as_str() != format!("document-{}", tab.document) {
            return Ok(Receipt::Stale(StaleCause::Document));
        }
        let receipt = self.act(&mut tab, permit.action());
        if receipt.maybe_sent() {
            self.site.counts.dispatched.fetch_add(1, Ordering::SeqCst);
        }
        Ok(receipt)
    }

    async fn wait(&self, bound: Duration) -> Result<Change, SessionError> {
        if self.tab().closed {
            return Err(SessionError::Closed);
        }
        // Such a page never changes by itself.
        tokio::time::sleep(bound).await;
        if self.tab().closed {
            return Err(SessionError::Closed);
        }
        Ok(Change::None)
    }

    async fn close(&self, _grace: Duration) -> CloseReport {
        let mut tab = self.tab();
        let outcome = if std::mem::replace(&mut tab.closed, true) {
            CloseOutcome::AlreadyClosed
        } else {
            self.site.counts.closed.fetch_add(1, Ordering::SeqCst);
            CloseOutcome::Clean
        };
        outcome.into()
    }
}
