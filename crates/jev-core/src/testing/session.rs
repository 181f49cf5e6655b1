//! What every session must do: read the page it stands on, carry out a permit once and only where
//! it was made, say truly what came of it, and be still once it is closed.

use std::collections::HashSet;
use std::time::Duration;

use super::{Broken, Clock, DEADLINE, abandon, both, hold};
use crate::action::{Action, Operation, ScrollDirection};
use crate::error::{Sent, SessionError};
use crate::ids::{CandidateId, IntentId};
use crate::limits::CLOSE_GRACE;
use crate::permit::Permit;
use crate::ports::{CloseOutcome, OpenRequest, Session, SessionFactory};
use crate::receipt::{AppliedEffect, Receipt};
use crate::snapshot::{Candidate, Role, Snapshot};

/// A site to try a session on: its start page is at rest and holds a link to another of its pages.
#[derive(Clone, Debug)]
pub struct SessionCase {
    /// How to open it. Must allow the link's target and going back.
    pub request: OpenRequest,
    /// The accessible name of the link.
    pub link: String,
}

/// Runs the suite for sessions.
///
/// # Errors
/// The first rule that is broken.
pub async fn session(
    factory: &dyn SessionFactory,
    case: &SessionCase,
    clock: &Clock,
) -> Result<(), Broken> {
    // Giving an open up must harm nobody.
    abandon(factory.open(case.request.clone(), DEADLINE)).await;
    let opened = factory.open(case.request.clone(), DEADLINE);
    let session = clock
        .bounded(DEADLINE, opened)
        .await?
        .map_err(|error| Broken::new("the site opens", error.to_string()))?;
    let tried = Tried {
        session: session.as_ref(),
        case,
        clock,
    };
    let outcome = tried.run().await;
    let closing = tried.closes().await;
    outcome?;
    closing?;
    tried.is_still().await
}

/// One session under test.
struct Tried<'a> {
    session: &'a dyn Session,
    case: &'a SessionCase,
    clock: &'a Clock,
}

const READS: &str = "an open session can be read";
const PASSIVE: &str = "what is not applied has not happened";

impl Tried<'_> {
    async fn run(&self) -> Result<(), Broken> {
        hold(
            *self.session.scope() == self.case.request.scope,
            "a session belongs to whom it was opened for",
            || format!("{:?}", self.session.scope()),
        )?;
        let first = self.look().await?;
        hold(
            first.url == self.case.request.start.as_str(),
            "a session begins on its start page",
            || first.url.clone(),
        )?;
        abandon(self.session.observe(DEADLINE)).await;
        let again = self.look().await?;
        hold(
            again == first,
            "a page at rest reads the same twice, ids and guards included",
            || format!("{first:?} became {again:?}"),
        )?;
        let link = self.link(&first)?;
        self.refuses(&first, &link).await?;
        self.waits().await?;
        let second = self.follows(&first, link).await?;
        self.goes_back(&second, &first).await?;
        self.is_given_up().await
    }

    async fn look(&self) -> Result<Snapshot, Broken> {
        let look = self.session.observe(DEADLINE);
        let page = self
            .clock
            .bounded(DEADLINE, look)
            .await?
            .map_err(|error| Broken::new(READS, error.to_string()))?;
        self.is_sound(&page)?;
        Ok(page)
    }

    fn is_sound(&self, page: &Snapshot) -> Result<(), Broken> {
        let request = &self.case.request;
        hold(
            page.scope == request.scope,
            "a snapshot carries the session's scope",
            || format!("{:?}", page.scope),
        )?;
        hold(
            request.access.allows_text(&page.url),
            "a session stands on allowed pages only",
            || page.url.clone(),
        )?;
        let ids: HashSet<&CandidateId> = page.candidates.iter().map(|one| &one.id).collect();
        hold(
            ids.len() == page.candidates.len(),
            "every candidate has an id of its own",
            || format!("{ids:?} for {} candidates", page.candidates.len()),
        )?;
        for candidate in &page.candidates {
            hold(
                !candidate.id.as_str().trim().is_empty()
                    && !Operation::is_option_name(candidate.id.as_str()),
                "no candidate's id is blank or the name of an operation",
                || format!("{candidate:?}"),
            )?;
            hold(
                candidate.label == crate::snapshot::collapse(&candidate.label)
                    && !candidate.label.is_empty(),
                "every candidate has a name, white space collapsed",
                || format!("{candidate:?}"),
            )?;
            hold(
                (candidate.role == Role::Link) == candidate.href.is_some(),
                "links have an address, other controls none",
                || format!("{candidate:?}"),
            )?;
            hold(
                request.actions.offers(candidate.role, &candidate.label),
                "only what the policy offers is listed",
                || format!("{candidate:?}"),
            )?;
        }
        Ok(())
    }

    fn link(&self, page: &Snapshot) -> Result<Candidate, Broken> {
        page.candidates
            .iter()
            .find(|candidate| candidate.label == self.case.link && candidate.href.is_some())
            .cloned()
            .ok_or_else(|| {
                Broken::new(
                    "the links of a page are listed",
                    format!("no link `{}` among {:?}", self.case.link, page.candidates),
                )
            })
    }

    async fn dispatch(
        &self,
        intent: u64,
        page: &Snapshot,
        action: Action,
    ) -> Result<Receipt, Broken> {
        let permit = Permit::for_testing(IntentId(intent), page, action);
        let dispatch = self.session.dispatch(permit, DEADLINE);
        self.clock
            .bounded(DEADLINE, dispatch)
            .await?
            .map_err(|error| {
                Broken::new(
                    "a dispatch on an open session has a receipt",
                    error.to_string(),
                )
            })
    }

    /// A target that is not there is not clicked, and nothing else is in its place.
    async fn refuses(&self, page: &Snapshot, link: &Candidate) -> Result<(), Broken> {
        let target = Candidate {
            id: CandidateId::new("nobody"),
            label: "What stands on no page".to_owned(),
            guard: "what no session wrote".to_owned(),
            ..link.clone()
        };
        let receipt = self.dispatch(1, page, Action::Click { target }).await?;
        hold(
            matches!(receipt, Receipt::Stale(_) | Receipt::Rejected(_)),
            "a target that is not on the page is stale",
            || format!("{receipt:?}"),
        )?;
        let after = self.look().await?;
        hold(after == *page, PASSIVE, || format!("{after:?}"))
    }

    async fn waits(&self) -> Result<(), Broken> {
        let bound = Duration::from_millis(30);
        let wait = self.session.wait(bound);
        self.clock
            .bounded(bound, wait)
            .await?
            .map(|_| ())
            .map_err(|error| Broken::new("a wait ends with its bound", error.to_string()))
    }

    async fn follows(&self, first: &Snapshot, link: Candidate) -> Result<Snapshot, Broken> {
        let target = link.clone();
        let receipt = self.dispatch(2, first, Action::Click { target }).await?;
        let moved = matches!(
            receipt,
            Receipt::Applied(AppliedEffect::Navigated | AppliedEffect::SameDocument)
        );
        hold(moved, "a click on a link is applied", || {
            format!("{receipt:?}")
        })?;
        let second = self.look().await?;
        let to = link.href.as_ref().map(ToString::to_string);
        hold(
            to.as_deref() == Some(second.url.as_str()),
            "the next look shows the page that the link leads to",
            || second.url.clone(),
        )?;
        let document_told = (receipt == Receipt::Applied(AppliedEffect::Navigated))
            == (second.document != first.document);
        hold(
            document_told,
            "a new document has a new id, and NAVIGATED says that there is one",
            || format!("{receipt:?}: {} and {}", first.document, second.document),
        )?;
        if second.document != first.document {
            let target = link;
            let late = self.dispatch(3, first, Action::Click { target }).await?;
            hold(
                matches!(late, Receipt::Stale(_)),
                "a permit of an earlier document is stale",
                || format!("{late:?}"),
            )?;
            let after = self.look().await?;
            hold(after == second, PASSIVE, || format!("{after:?}"))?;
        }
        Ok(second)
    }

    async fn goes_back(&self, from: &Snapshot, to: &Snapshot) -> Result<(), Broken> {
        let receipt = self.dispatch(4, from, Action::Back).await?;
        let back = self.look().await?;
        hold(
            matches!(receipt, Receipt::Applied(_)) && back.url == to.url,
            "going back is applied and leads back",
            || format!("{receipt:?}, then {}", back.url),
        )
    }

    /// A run that is cancelled drops a dispatch half-way: what came of it is nobody's to know, and
    /// the session goes on.
    async fn is_given_up(&self) -> Result<(), Broken> {
        let page = self.look().await?;
        let target = self.link(&page)?;
        let permit = Permit::for_testing(IntentId(5), &page, Action::Click { target });
        abandon(self.session.dispatch(permit, DEADLINE)).await;
        let scroll = Action::Scroll {
            direction: ScrollDirection::Down,
            pages: 1,
        };
        let after = self.look().await?;
        self.dispatch(6, &after, scroll).await?;
        self.look().await.map(|_| ())
    }

    async fn closes(&self) -> Result<(), Broken> {
        // A dispatch and a look under way when the session closes end too, in whatever way; what
        // begins after the close is not sent.
        let page = self.session.observe(DEADLINE);
        let page = self.clock.bounded(DEADLINE, page).await?;
        let permit = |intent| {
            let page = page.as_ref().ok()?;
            Some(Permit::for_testing(IntentId(intent), page, Action::Back))
        };
        let dispatch = async |intent| match permit(intent) {
            Some(permit) => Some(self.session.dispatch(permit, DEADLINE).await),
            None => None,
        };
        let under_way = both(dispatch(7), self.session.observe(DEADLINE));
        let closing = both(self.session.close(CLOSE_GRACE), dispatch(8));
        let closing = both(under_way, closing);
        let (_, (report, after)) = self.clock.bounded(DEADLINE, closing).await?;
        hold(
            after
                .as_ref()
                .is_none_or(|after| matches!(after, Err(error) if error.sent == Sent::SurelyNot)),
            "a dispatch that begins after a close is surely not sent",
            || format!("{after:?}"),
        )?;
        hold(
            matches!(report.outcome, CloseOutcome::Clean | CloseOutcome::Killed),
            "the first close closes",
            || format!("{report:?}"),
        )?;
        let again = self.session.close(CLOSE_GRACE);
        let again = self.clock.bounded(CLOSE_GRACE, again).await?;
        hold(
            again.outcome == CloseOutcome::AlreadyClosed,
            "a second close says that it is closed already",
            || format!("{again:?}"),
        )
    }

    /// After closing nothing reaches the page, and every call says so.
    async fn is_still(&self) -> Result<(), Broken> {
        let rule = "a closed session answers every call with an error";
        let look = self.session.observe(DEADLINE);
        let look = self.clock.bounded(DEADLINE, look).await?;
        hold(look.is_err(), rule, || "it was read".to_owned())?;
        let wait = self.session.wait(Duration::from_millis(30));
        let wait = self.clock.bounded(DEADLINE, wait).await?;
        hold(wait.is_err(), rule, || format!("{wait:?} to a wait"))?;
        let page = super::page(self.case.request.start.as_str(), "", "");
        let permit = Permit::for_testing(IntentId(9), &page, Action::Reload);
        let dispatch = self.session.dispatch(permit, DEADLINE);
        let dispatch = self.clock.bounded(DEADLINE, dispatch).await?;
        hold(
            dispatch
                .as_ref()
                .is_err_and(|error| error.sent == Sent::SurelyNot),
            "a closed session surely sends nothing",
            || format!("{dispatch:?}"),
        )?;
        let closed = look.is_err_and(|error| error == SessionError::Closed);
        hold(closed, "a closed session says that it is closed", || {
            "another error".to_owned()
        })
    }
}
