//! What the host does with its own hand on a shared tab, what it waits for, and how it closes the
//! tab under whatever is under way.

use std::sync::Arc;
use std::time::Duration;

use jev_core::access::{AccessPattern, CanonicalUrl};
use jev_core::error::{Sent, SessionError};
use jev_core::host::{Control, Field, HostReceipt, HostRefusal, TypedText};
use jev_core::ports::{CloseOutcome, CloseReport, Session};
use jev_core::receipt::UnknownCause;
use jev_core::snapshot::{Snapshot, collapse};

use crate::lease::close;

/// What a wait waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Until {
    /// The visible text holds these words, white space collapsed.
    TextAppears(String),
    /// It does not hold them any more.
    TextGone(String),
    /// The tab stands at such an address.
    At(AccessPattern),
}

impl Until {
    pub(super) fn holds(&self, page: &Snapshot) -> bool {
        match self {
            Self::TextAppears(text) => page.collapsed_text().contains(&collapse(text)),
            Self::TextGone(text) => !page.collapsed_text().contains(&collapse(text)),
            Self::At(pattern) => CanonicalUrl::parse(&page.url).is_ok_and(|url| {
                // A list of one pattern compares as the allow-list does.
                jev_core::access::AccessList::new(vec![pattern.clone()])
                    .is_ok_and(|list| list.allows(&url))
            }),
        }
    }
}

/// How a wait ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Waited {
    /// It came.
    Met(Arc<Snapshot>),
    /// The bound passed first; this is the last look.
    TimedOut(Arc<Snapshot>),
    /// The tab went to a page that is not allowed; nothing of it is shown.
    LeftScope,
}

/// What the host does.
#[derive(Clone, Copy)]
pub(super) enum Act<'a> {
    Navigate(&'a CanonicalUrl),
    Fill(&'a Field, &'a TypedText),
    Press(&'a Control),
    /// Nothing: it is refused before it reaches the session.
    Refuse(HostRefusal),
}

impl Act<'_> {
    /// Does it. An error says that the session broke before anything was sent.
    pub(super) async fn carry_out(
        self,
        session: &dyn Session,
        deadline: Duration,
    ) -> Result<HostReceipt, SessionError> {
        let refused = |refusal| Ok(HostReceipt::Refused(refusal));
        let doing = async {
            let acts = session.host_acts();
            match (self, acts) {
                (Self::Refuse(refusal), _) => refused(refusal),
                (_, None) => refused(HostRefusal::Unsupported),
                (Self::Navigate(to), Some(acts)) => acts.navigate(to, deadline).await,
                (Self::Fill(field, text), Some(acts)) => acts.fill(field, text, deadline).await,
                (Self::Press(control), Some(acts)) => acts.press(control, deadline).await,
            }
        };
        match tokio::time::timeout(deadline, doing).await {
            Ok(Ok(receipt)) => Ok(receipt),
            Ok(Err(error)) => match error.sent {
                Sent::SurelyNot => Err(error.error),
                Sent::Maybe => Ok(HostReceipt::Unknown(UnknownCause::Failed)),
            },
            Err(_) => Ok(HostReceipt::Unknown(UnknownCause::Timeout)),
        }
    }
}

/// Closes a session's tab from outside, while a run or an act is under way on it: that ends with a
/// typed error then. The session itself is closed as well afterwards, which writes down its end.
#[derive(Clone)]
pub struct Closer(pub(super) Option<Arc<dyn Session>>);

impl Closer {
    /// Closes the tab.
    pub async fn close(&self, grace: Duration) -> CloseReport {
        match &self.0 {
            Some(session) => close(Arc::clone(session), grace).await,
            None => CloseOutcome::AlreadyClosed.into(),
        }
    }
}
