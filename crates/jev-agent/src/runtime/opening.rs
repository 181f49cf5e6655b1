//! Opening a task's tab, and what keeps a step of the runtime within its deadline and its panics to
//! itself.

use std::sync::Arc;

use jev_core::error::{SessionError, Stage};
use jev_core::ports::{OpenRequest, Verifier};
use jev_core::snapshot::Snapshot;
use jev_core::status::{Cause, Status};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::task::{Criteria, Task};
use super::{Reason, RuntimeParts, Stop, Work};
use crate::lease::Tab;

/// Opens the tab and looks at its first page.
pub(super) async fn open(
    parts: &RuntimeParts,
    task: &Task,
    tab: &mut Option<Tab>,
) -> Result<Arc<Snapshot>, Stop> {
    let request = OpenRequest {
        scope: parts.scope.clone(),
        start: task.start.clone(),
        access: task.access.clone(),
        actions: task.actions.clone(),
        reach: task.reach,
    };
    let (factory, deadline) = (Arc::clone(&parts.factory), task.budgets.time);
    let opening = guarded(async move { factory.open(request, deadline).await });
    let session = opening
        .await
        .unwrap_or(Err(SessionError::Protocol { stage: Stage::Open }))
        .map_err(failed)?;
    let opened = tab.insert(Tab::new(session, task.budgets.actions));
    if *opened.session().map_err(failed)?.scope() != parts.scope {
        return Err(stopped(Status::ScopeMismatch, None));
    }
    let page = guarded(opened.look(deadline).map_err(failed)?)
        .await
        .unwrap_or(Err(SessionError::Protocol {
            stage: Stage::Observe,
        }))
        .map_err(failed)?;
    if page.scope != parts.scope {
        return Err(stopped(Status::ScopeMismatch, None));
    }
    Ok(page)
}

/// Something in a task of its own, so that a panic of somebody else's code ends this step alone;
/// `None` then. Dropped, it is stopped.
pub(super) async fn guarded<T: Send + 'static>(
    doing: impl Future<Output = T> + Send + 'static,
) -> Option<T> {
    let mut tasks = JoinSet::new();
    tasks.spawn(doing);
    tasks.join_next().await?.ok()
}

/// Something that must end within the task's deadline and ends when it is cancelled.
pub(super) async fn within<T>(
    work: &Work<'_>,
    cancel: &CancellationToken,
    doing: impl Future<Output = T>,
) -> Result<T, Stop> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(Stop(Reason::Cancelled)),
        done = tokio::time::timeout_at(work.end, doing) => done.map_err(|_| Stop(Reason::Deadline)),
    }
}

pub(super) fn verifier(criteria: &Criteria) -> Result<Arc<dyn Verifier>, Stop> {
    // Both kinds of criteria were compiled when they were checked.
    criteria
        .verifier()
        .map_err(|_| stopped(Status::Unverified, None))
}

pub(super) fn stopped(status: Status, cause: Option<Cause>) -> Stop {
    Stop(Reason::Run { status, cause })
}

pub(super) fn failed(error: SessionError) -> Stop {
    stopped(Status::SessionError, Some(Cause::Session(error)))
}
