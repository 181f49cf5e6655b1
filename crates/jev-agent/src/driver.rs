//! The driver: the loop that turns the navigator's effects into calls of the three ports and their
//! answers into inputs. It owns the clock and the tasks; it knows no rule of a run.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use jev_core::carried::Carried;
use jev_core::contract::Contract;
use jev_core::effect::{Effect, EffectKind};
use jev_core::error::{DispatchError, JudgeError, Sent, SessionError, Stage, VerifyError};
use jev_core::ids::{EffectId, RunId};
use jev_core::input::Input;
use jev_core::navigator::{Navigator, PhaseName};
use jev_core::ports::{Change, CloseOutcome, Judge, Session, SessionFactory, Verifier};
use jev_core::record::Record;
use jev_core::report::Report;
use jev_core::time::Timestamp;
use tokio::runtime::Handle;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The three adapters of a run.
#[derive(Clone)]
pub struct Ports {
    /// Opens the session.
    pub factory: Arc<dyn SessionFactory>,
    /// Answers the questions.
    pub judge: Arc<dyn Judge>,
    /// Gives the verdicts.
    pub verifier: Arc<dyn Verifier>,
}

/// Watches a run. What it does or fails to do changes nothing in the run; one that panics is told
/// nothing more.
pub trait Observer: Send {
    /// An input is about to be handled at this time.
    fn input(&mut self, _input: &Input, _at: Timestamp) {}
    /// Something happened.
    fn record(&mut self, _record: &Record) {}
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {}

/// An observer whose panics end nothing but itself: it is told nothing more.
struct Guarded<'a>(Option<&'a mut dyn Observer>);

impl Guarded<'_> {
    fn tell(&mut self, tell: impl FnOnce(&mut dyn Observer)) {
        let Some(observer) = self.0.as_deref_mut() else {
            return;
        };
        // Nothing of it is used again, in whatever state it is.
        if catch_unwind(AssertUnwindSafe(|| tell(observer))).is_err() {
            tracing::warn!("an observer panicked; it is told nothing more");
            self.0 = None;
        }
    }
}

/// Several observers, told in order.
#[derive(Default)]
pub struct Observers<'a>(Vec<Guarded<'a>>);

impl<'a> Observers<'a> {
    /// Nobody yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one, when there is one.
    #[must_use]
    pub fn with(mut self, observer: Option<&'a mut dyn Observer>) -> Self {
        self.0
            .extend(observer.map(|observer| Guarded(Some(observer))));
        self
    }
}

impl Observer for Observers<'_> {
    fn input(&mut self, input: &Input, at: Timestamp) {
        for observer in &mut self.0 {
            observer.tell(|observer| observer.input(input, at));
        }
    }

    fn record(&mut self, record: &Record) {
        for observer in &mut self.0 {
            observer.tell(|observer| observer.record(record));
        }
    }
}

/// Runs one contract to its end and closes what was opened, on every path. Dropping the future
/// closes the session in the background.
///
/// Cancelling the token ends the run as CANCELLED (UNKNOWN when a dispatch was in flight), closed
/// before this returns; a session that is still being opened is given up, and what there is of it
/// ends in the background.
pub async fn run(
    run: RunId,
    contract: Contract,
    ports: &Ports,
    observer: &mut dyn Observer,
    cancel: &CancellationToken,
) -> Report {
    resume(run, contract, Carried::default(), ports, observer, cancel)
        .await
        .0
}

/// As [`run`], on a tab that earlier runs have used; see [`Navigator::resume`]. Gives back what the
/// next run is to know.
pub async fn resume(
    run: RunId,
    contract: Contract,
    carried: Carried,
    ports: &Ports,
    observer: &mut dyn Observer,
    cancel: &CancellationToken,
) -> (Report, Carried) {
    let mut driver = Driver {
        started: Instant::now(),
        ports: ports.clone(),
        tasks: JoinSet::new(),
        kinds: HashMap::new(),
        session: None,
    };
    let mut observer = Guarded(Some(observer));
    let mut navigator = Navigator::resume(run, contract, carried);
    let (mut cancelled, mut lost) = (false, false);
    loop {
        while let Some(effect) = navigator.poll_effect() {
            driver.start(effect);
        }
        while let Some(record) = navigator.poll_record() {
            observer.tell(|observer| observer.record(&record));
        }
        if let Some(report) = navigator.report() {
            // Nothing is left to close: the navigator has seen the close's answer or given it up.
            if let Some(session) = driver.session.take() {
                session.forget();
            }
            return (report, navigator.carry());
        }
        let wake = navigator
            .poll_timeout()
            .map_or(Timestamp::ZERO, |(at, _)| at);
        let running = !matches!(navigator.phase(), PhaseName::Closing | PhaseName::Closed);
        let session = driver.session();
        // What has arrived counts before anything that would cut it off: a receipt that is here when
        // the caller cancels or the time is up says what happened.
        let input = tokio::select! {
            biased;
            Some(done) = driver.tasks.join_next_with_id() => match driver.finished(done) {
                Some(input) => input,
                None => continue,
            },
            () = cancel.cancelled(), if !cancelled => {
                cancelled = true;
                Input::Cancel
            }
            error = gone(session), if running && !lost => {
                lost = true;
                Input::SessionLost(error)
            }
            () = tokio::time::sleep_until(driver.started + wake.elapsed()) => Input::Tick,
        };
        if matches!(input, Input::Cancel) {
            driver.give_up_opening();
        }
        let now = Timestamp::since_start(driver.started.elapsed());
        observer.tell(|observer| observer.input(&input, now));
        navigator.handle(input, now);
    }
}

/// When a session is gone; never, while there is none.
async fn gone(session: Option<Arc<dyn Session>>) -> SessionError {
    match session {
        Some(session) => session.lost().await,
        None => std::future::pending().await,
    }
}

/// What a task brings back. A session that nobody takes out of it is closed.
struct Done {
    input: Input,
    session: Option<OpenSession>,
}

impl From<Input> for Done {
    fn from(input: Input) -> Self {
        Self {
            input,
            session: None,
        }
    }
}

/// What kind of effect a task carries out, for the answer when it panics.
#[derive(Clone, Copy)]
enum Kind {
    Open,
    Observe,
    Judge,
    Dispatch,
    Verify,
    Wait,
    Close,
}

struct Driver {
    started: Instant,
    ports: Ports,
    tasks: JoinSet<Done>,
    kinds: HashMap<Id, (EffectId, Kind)>,
    session: Option<OpenSession>,
}

impl Driver {
    fn session(&self) -> Option<Arc<dyn Session>> {
        let open = self.session.as_ref()?;
        open.session.clone()
    }

    /// Starts an effect as a task. The navigator has one effect under way at a time, so whatever
    /// still runs has been given up and is stopped first.
    fn start(&mut self, effect: Effect) {
        self.tasks.abort_all();
        let Effect { id, deadline, kind } = effect;
        let now = Timestamp::since_start(self.started.elapsed());
        let left = now.until(deadline);
        let (kind, handle) = match kind {
            EffectKind::Open(request) => {
                let factory = Arc::clone(&self.ports.factory);
                let task = async move {
                    match factory.open(request, left).await {
                        Ok(session) => Done {
                            input: Input::Opened(id, session.scope().clone()),
                            session: Some(OpenSession::new(session)),
                        },
                        Err(error) => Input::OpenFailed(id, error).into(),
                    }
                };
                (Kind::Open, self.tasks.spawn(task))
            }
            EffectKind::AskJudge(ask) => {
                let judge = Arc::clone(&self.ports.judge);
                let task = async move {
                    let questionnaire = ask.questionnaire();
                    match judge.decide(&questionnaire, left).await {
                        Ok(decision) => Input::Judged(id, decision).into(),
                        Err(error) => Input::JudgeFailed(id, error).into(),
                    }
                };
                (Kind::Judge, self.tasks.spawn(task))
            }
            EffectKind::Verify(request) => {
                let verifier = Arc::clone(&self.ports.verifier);
                let task = async move {
                    match verifier.verify(request, left).await {
                        Ok(verification) => Input::Verified(id, verification).into(),
                        Err(error) => Input::VerifyFailed(id, error).into(),
                    }
                };
                (Kind::Verify, self.tasks.spawn(task))
            }
            EffectKind::Observe => {
                let session = self.session();
                let task = async move {
                    let result = match session {
                        Some(session) => session.observe(left).await,
                        None => Err(SessionError::Closed),
                    };
                    match result {
                        Ok(snapshot) => Input::Observed(id, Arc::new(snapshot)).into(),
                        Err(error) => Input::ObserveFailed(id, error).into(),
                    }
                };
                (Kind::Observe, self.tasks.spawn(task))
            }
            EffectKind::Dispatch(permit) => {
                let session = self.session();
                let task = async move {
                    let result = match session {
                        Some(session) => session.dispatch(permit, left).await,
                        None => Err(DispatchError {
                            sent: Sent::SurelyNot,
                            error: SessionError::Closed,
                        }),
                    };
                    match result {
                        Ok(receipt) => Input::Receipt(id, receipt).into(),
                        Err(error) => Input::DispatchFailed(id, error).into(),
                    }
                };
                (Kind::Dispatch, self.tasks.spawn(task))
            }
            EffectKind::Wait { bound } => {
                let session = self.session();
                let task = async move {
                    let result = match session {
                        Some(session) => session.wait(bound).await,
                        None => Ok(Change::None),
                    };
                    match result {
                        Ok(change) => Input::Waited(id, change).into(),
                        Err(error) => Input::WaitFailed(id, error).into(),
                    }
                };
                (Kind::Wait, self.tasks.spawn(task))
            }
            EffectKind::Close { grace } => {
                let session = self.session();
                let task = async move {
                    let report = match session {
                        Some(session) => session.close(grace).await,
                        None => CloseOutcome::Unanswered.into(),
                    };
                    Input::Closed(id, report).into()
                };
                (Kind::Close, self.tasks.spawn(task))
            }
        };
        self.kinds.insert(handle.id(), (id, kind));
    }

    /// Stops an open that nobody waits for any more: a server may keep it for as long as it likes.
    fn give_up_opening(&mut self) {
        let opening = |(_, kind): &(EffectId, Kind)| matches!(kind, Kind::Open);
        if self.kinds.values().any(opening) {
            self.tasks.abort_all();
        }
    }

    /// The input that a finished task means. A task that was stopped means none, but for an open:
    /// there is no session to be closed then.
    fn finished(&mut self, done: Result<(Id, Done), JoinError>) -> Option<Input> {
        match done {
            Ok((task, done)) => {
                self.kinds.remove(&task);
                if done.session.is_some() {
                    self.session = done.session;
                }
                Some(done.input)
            }
            Err(error) => {
                let (id, kind) = self.kinds.remove(&error.id())?;
                match kind {
                    _ if error.is_panic() => Some(panicked(id, kind)),
                    Kind::Open => Some(Input::OpenFailed(id, SessionError::Closed)),
                    Kind::Observe
                    | Kind::Judge
                    | Kind::Dispatch
                    | Kind::Verify
                    | Kind::Wait
                    | Kind::Close => None,
                }
            }
        }
    }
}

/// An adapter that panics has failed in the worst way its port allows.
fn panicked(id: EffectId, kind: Kind) -> Input {
    let broken = |stage| SessionError::Protocol { stage };
    match kind {
        Kind::Open => Input::OpenFailed(id, broken(Stage::Open)),
        Kind::Observe => Input::ObserveFailed(id, broken(Stage::Observe)),
        Kind::Judge => Input::JudgeFailed(
            id,
            JudgeError::Capability {
                what: "the judge panicked".to_owned(),
            },
        ),
        Kind::Dispatch => Input::DispatchFailed(
            id,
            DispatchError {
                sent: Sent::Maybe,
                error: broken(Stage::Dispatch),
            },
        ),
        Kind::Verify => Input::VerifyFailed(id, VerifyError::Failed),
        Kind::Wait => Input::WaitFailed(id, broken(Stage::Wait)),
        Kind::Close => Input::Closed(id, CloseOutcome::Unanswered.into()),
    }
}

/// Closes its session in the background when it is dropped: with the run's future half-way, or in
/// an answer that came too late to be heard.
struct OpenSession {
    session: Option<Arc<dyn Session>>,
    runtime: Handle,
}

/// The grace of a close that nobody waits for.
const ABANDONED_GRACE: Duration = jev_core::limits::CLOSE_GRACE;

impl OpenSession {
    fn new(session: Arc<dyn Session>) -> Self {
        Self {
            session: Some(session),
            runtime: Handle::current(),
        }
    }

    /// Nothing is left to close.
    fn forget(mut self) {
        self.session = None;
    }
}

impl Drop for OpenSession {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            self.runtime.spawn(async move {
                session.close(ABANDONED_GRACE).await;
            });
        }
    }
}

#[cfg(test)]
mod tests;
