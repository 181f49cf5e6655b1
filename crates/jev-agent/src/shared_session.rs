//! A session shared with a stronger agent: one tab over several runs, their history one. The judge
//! clicks; the host thinks, types and verifies, by explicit acts with receipts.

mod metrics;
#[cfg(test)]
mod tests;
mod veil;

use std::sync::Arc;
use std::time::Duration;

use jev_core::access::{AccessPattern, CanonicalUrl};
use jev_core::carried::Carried;
use jev_core::contract::{Contract, ContractDraft, ContractError, Goal, Layout, Mode, VerifyFirst};
use jev_core::error::{Sent, SessionError};
use jev_core::gate::Gate;
use jev_core::history::{HistoryEntry, HistoryOutcome, HostOperation, PageChange};
use jev_core::host::{Control, Field, HostReceipt, HostRefusal, TypedText};
use jev_core::ids::RunId;
use jev_core::limits::{BUDGET, Limits};
use jev_core::policy::ActionPolicy;
use jev_core::ports::{
    CloseReport, Judge, JudgeKind, OpenRequest, Session, SessionFactory, Verifier,
};
use jev_core::receipt::{AppliedEffect, UnknownCause};
use jev_core::redact::{Hidden, Redactor};
use jev_core::report::Report;
use jev_core::snapshot::{Snapshot, collapse};
use jev_core::telemetry::Price;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::driver::{Observer, Observers, Ports, resume};
use crate::lease::Tab;
use crate::trajectory::{HostTarget, Trajectory};
use veil::VeiledJudge;

pub use metrics::Metrics;

/// The longest wait.
pub const WAIT_MAX: Duration = Duration::from_secs(60);
/// How long one look waits for the next change.
const LOOK_AGAIN: Duration = Duration::from_millis(1_500);
/// How long the last look after an act of the host may take.
const LOOK: Duration = Duration::from_secs(10);

/// What a session opens with. The policy's `allow` list and its discovery say what the judge may be
/// offered; `deny` and `reserve` win over both.
pub struct SharedParts {
    /// Opens the tab.
    pub factory: Arc<dyn SessionFactory>,
    /// Who clicks.
    pub judge: Arc<dyn Judge>,
    /// In whose name, where, and with which policy.
    pub request: OpenRequest,
    /// How long opening may take.
    pub deadline: Duration,
    /// What the judge's tokens cost, where that is known.
    pub price: Option<Price>,
    /// Knows the host's credentials.
    pub redactor: Redactor,
    /// Where the session is written down.
    pub trajectory: Option<Trajectory>,
}

/// One run on the tab.
#[derive(Clone)]
pub struct SharedTask {
    /// What to find or reach.
    pub goal: Goal,
    /// What ends it as VERIFIED.
    pub verifier: Arc<dyn Verifier>,
    /// How far it goes.
    pub mode: Mode,
    /// When a choice is acted on; none: what suits the judge.
    pub gate: Option<Gate>,
    /// Counters.
    pub limits: Limits,
    /// The run's clock.
    pub budget: Duration,
    /// One question or two.
    pub layout: Layout,
    /// Whether new pages are verified first.
    pub verify_first: VerifyFirst,
    /// A narrower policy than the session's; wider entries find no candidates.
    pub actions: Option<ActionPolicy>,
}

impl SharedTask {
    /// A task with every default.
    #[must_use]
    pub fn new(goal: Goal, verifier: Arc<dyn Verifier>) -> Self {
        Self {
            goal,
            verifier,
            mode: Mode::Enforce,
            gate: None,
            limits: Limits::default(),
            budget: BUDGET,
            layout: Layout::default(),
            verify_first: VerifyFirst::default(),
            actions: None,
        }
    }
}

/// What a run hands back to the host: status and handoff in the report, and all it needs to go on.
#[derive(Clone, Debug)]
pub struct Handback {
    /// The run's report.
    pub report: Report,
    /// Everything done on the tab so far, by judge and host, oldest first.
    pub history: Vec<HistoryEntry>,
}

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
    fn holds(&self, page: &Snapshot) -> bool {
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

/// A wait or an act that can't be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SharedError {
    /// The bound of a wait.
    #[error("a wait of {} ms is outside 1..={} ms", value.as_millis(), WAIT_MAX.as_millis())]
    Bound {
        /// The value given.
        value: Duration,
    },
    /// The session.
    #[error("{0}")]
    Session(#[from] SessionError),
    /// The tab belongs to somebody else.
    #[error("the tab belongs to somebody else")]
    ScopeMismatch,
}

/// What the host does.
#[derive(Clone, Copy)]
enum Act<'a> {
    Navigate(&'a CanonicalUrl),
    Fill(&'a Field, &'a TypedText),
    Press(&'a Control),
    /// Nothing: it is refused before it reaches the session.
    Refuse(HostRefusal),
}

impl Act<'_> {
    async fn carry_out(self, session: &dyn Session, deadline: Duration) -> HostReceipt {
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
            Ok(Ok(receipt)) => receipt,
            Ok(Err(error)) => match error.sent {
                Sent::SurelyNot => HostReceipt::Refused(HostRefusal::Unsupported),
                Sent::Maybe => HostReceipt::Unknown(UnknownCause::Failed),
            },
            Err(_) => HostReceipt::Unknown(UnknownCause::Timeout),
        }
    }
}

/// Closes a session's tab from outside, while a run or an act is under way on it: that ends with a
/// typed error then. The session itself is closed as well afterwards, which writes down its end.
#[derive(Clone)]
pub struct Closer(Option<Arc<dyn Session>>);

impl Closer {
    /// Closes the tab.
    pub async fn close(&self, grace: Duration) -> CloseReport {
        match &self.0 {
            Some(session) => session.close(grace).await,
            None => CloseReport {
                outcome: jev_core::ports::CloseOutcome::AlreadyClosed,
                network: jev_core::ports::NetworkCounts::default(),
            },
        }
    }
}

/// A tab shared between a judge and a host.
pub struct SharedSession {
    tab: Tab,
    request: OpenRequest,
    judge: Arc<VeiledJudge>,
    carried: Carried,
    metrics: Metrics,
    price: Option<Price>,
    trajectory: Option<Trajectory>,
    runs: u64,
    acts: u64,
}

impl SharedSession {
    /// Opens the tab on its start page.
    ///
    /// # Errors
    /// [`SharedError`]; nothing stays open then.
    pub async fn open(parts: SharedParts) -> Result<Self, SharedError> {
        let factory = match &parts.trajectory {
            Some(trajectory) => trajectory.watch(parts.factory),
            None => parts.factory,
        };
        let session = factory.open(parts.request.clone(), parts.deadline).await?;
        // Closed when it is dropped.
        let tab = Tab::new(session, u32::MAX);
        if *tab.session()?.scope() != parts.request.scope {
            return Err(SharedError::ScopeMismatch);
        }
        Ok(Self {
            tab,
            request: parts.request,
            judge: Arc::new(VeiledJudge::new(parts.judge, parts.redactor)),
            carried: Carried::default(),
            metrics: Metrics::default(),
            price: parts.price,
            trajectory: parts.trajectory,
            runs: 0,
            acts: 0,
        })
    }

    /// Drives the loop on the tab. Every exit leaves the tab as it is, and the next run goes on with
    /// the history intact.
    ///
    /// # Errors
    /// [`ContractError`], before anything is looked at.
    pub async fn run(
        &mut self,
        task: SharedTask,
        observer: &mut dyn Observer,
        cancel: &CancellationToken,
    ) -> Result<Handback, ContractError> {
        let contract = self.contract(&task)?;
        self.runs += 1;
        let id = RunId(self.runs);
        let identity = self.judge.identity();
        if let Some(trajectory) = &mut self.trajectory {
            trajectory.begin_run(id, &contract, &identity, &[]);
        }
        let ports = Ports {
            factory: self.tab.leases(),
            judge: Arc::clone(&self.judge) as Arc<dyn Judge>,
            verifier: task.verifier,
        };
        let traced = self
            .trajectory
            .as_mut()
            .map(|trajectory| trajectory as &mut dyn Observer);
        let mut observers = Observers::new().with(Some(observer)).with(traced);
        // The history stays here too: a run whose future is dropped must not lose it.
        let carried = self.carried.clone();
        let (report, carried) = resume(id, contract, carried, &ports, &mut observers, cancel).await;
        drop(observers);
        self.carried = carried;
        self.metrics.run(&report);
        Ok(Handback {
            history: self.carried.history().to_vec(),
            report,
        })
    }

    fn contract(&self, task: &SharedTask) -> Result<Contract, ContractError> {
        let default_gate = match self.judge.identity().kind {
            JudgeKind::Decides => Gate::deciding(),
            JudgeKind::Ranks => Gate::ranking(),
        };
        let actions = task.actions.as_ref().unwrap_or(&self.request.actions);
        ContractDraft {
            mode: task.mode,
            actions: actions.clone(),
            gate: task.gate.unwrap_or(default_gate),
            limits: task.limits,
            budget: task.budget,
            layout: task.layout,
            reach: self.request.reach,
            verify_first: task.verify_first,
            ..ContractDraft::new(
                task.goal.clone(),
                self.request.scope.clone(),
                self.request.start.clone(),
                self.request.access.clone(),
            )
        }
        .check()
    }

    /// Looks at the page.
    ///
    /// # Errors
    /// [`SharedError`]; of a page that is not allowed nothing is shown ([`SessionError`] is not
    /// given for it, see [`Waited::LeftScope`] of [`SharedSession::wait_for`]).
    pub async fn observe(
        &mut self,
        deadline: Duration,
    ) -> Result<Option<Arc<Snapshot>>, SharedError> {
        let page = self.tab.observe(deadline).await?;
        if page.scope != self.request.scope {
            return Err(SharedError::ScopeMismatch);
        }
        Ok(self.request.access.allows_text(&page.url).then_some(page))
    }

    /// Waits for something, without a judge. The allow-list is checked at every look.
    ///
    /// # Errors
    /// [`SharedError`].
    pub async fn wait_for(
        &mut self,
        until: &Until,
        bound: Duration,
    ) -> Result<Waited, SharedError> {
        if bound.is_zero() || bound > WAIT_MAX {
            return Err(SharedError::Bound { value: bound });
        }
        let end = Instant::now() + bound;
        let left = || end.saturating_duration_since(Instant::now());
        loop {
            let Some(page) = self.observe(left().max(LOOK_AGAIN)).await? else {
                return Ok(Waited::LeftScope);
            };
            if until.holds(&page) {
                return Ok(Waited::Met(page));
            }
            if left().is_zero() {
                return Ok(Waited::TimedOut(page));
            }
            self.tab.session()?.wait(left().min(LOOK_AGAIN)).await?;
        }
    }

    /// Goes to an address of the allow-list.
    pub async fn navigate(&mut self, to: &CanonicalUrl, deadline: Duration) -> HostReceipt {
        let act = if self.request.access.allows(to) {
            Act::Navigate(to)
        } else {
            Act::Refuse(HostRefusal::OffList)
        };
        let operation = HostOperation::HostNavigate;
        self.act(operation, HostTarget::Address(to), act, deadline)
            .await
    }

    /// Fills a field. What is typed is hidden from the judge and from the trajectory from now on,
    /// also where a page shows it.
    pub async fn fill(
        &mut self,
        field: &Field,
        text: &TypedText,
        deadline: Duration,
    ) -> HostReceipt {
        self.judge.hide(text);
        if let Some(trajectory) = &mut self.trajectory {
            trajectory.hide(text.reveal(), Hidden::Typed);
        }
        let operation = HostOperation::HostFill;
        let act = Act::Fill(field, text);
        self.act(operation, HostTarget::Field(field), act, deadline)
            .await
    }

    /// Presses a control, also a reserved one. What the policy denies is denied to the host too.
    pub async fn press(&mut self, control: &Control, deadline: Duration) -> HostReceipt {
        let denied = self
            .request
            .actions
            .deny
            .iter()
            .any(|rule| rule.matches(control.name.as_str()));
        let act = if denied {
            Act::Refuse(HostRefusal::Denied)
        } else {
            Act::Press(control)
        };
        let operation = HostOperation::HostPress;
        self.act(operation, HostTarget::Control(control), act, deadline)
            .await
    }

    /// One act of the host: its intent, the act, its receipt, and what it did to the page.
    async fn act(
        &mut self,
        operation: HostOperation,
        target: HostTarget<'_>,
        act: Act<'_>,
        deadline: Duration,
    ) -> HostReceipt {
        self.acts += 1;
        if let Some(trajectory) = &mut self.trajectory {
            trajectory.host_intent(self.acts, operation, target);
        }
        let before = self.tab.meter().last();
        let receipt = match self.tab.session() {
            Ok(session) => act.carry_out(session.as_ref(), deadline).await,
            Err(_) => HostReceipt::Refused(HostRefusal::Unsupported),
        };
        self.metrics.act(&receipt);
        if let Some(trajectory) = &mut self.trajectory {
            trajectory.host_receipt(self.acts, &receipt);
        }
        let outcome = match receipt {
            HostReceipt::Applied(AppliedEffect::NoEffect) => HistoryOutcome::NoEffect,
            HostReceipt::Applied(
                AppliedEffect::DestinationRefused | AppliedEffect::DestinationFailed,
            ) => HistoryOutcome::DeadEnd,
            HostReceipt::Applied(
                AppliedEffect::Navigated
                | AppliedEffect::SameDocument
                | AppliedEffect::Scrolled
                | AppliedEffect::Changed,
            ) => HistoryOutcome::Applied,
            // What was not done is no part of the history.
            HostReceipt::Refused(_) => return receipt,
            HostReceipt::Unknown(_) => HistoryOutcome::Unknown,
        };
        let after = self.tab.observe(LOOK).await.ok();
        let same = match (&before, &after) {
            (Some(before), Some(after)) => before.version() == after.version(),
            (None, _) | (_, None) => false,
        };
        let change = if same {
            PageChange::Unchanged
        } else {
            PageChange::Changed
        };
        self.carried
            .host_acted(operation, target.words(), outcome, change);
        receipt
    }

    /// Everything done on the tab so far, oldest first.
    #[must_use]
    pub fn history(&self) -> &[HistoryEntry] {
        self.carried.history()
    }

    /// What was spent and done.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// What the judge's tokens have cost, where a price is set.
    #[must_use]
    pub fn cost(&self) -> Option<f64> {
        self.price.map(|price| price.of(self.metrics.usage))
    }

    /// The trajectory, when one is written.
    #[must_use]
    pub fn trajectory(&self) -> Option<&Trajectory> {
        self.trajectory.as_ref()
    }

    /// What closes the tab under whatever is under way on it.
    #[must_use]
    pub fn closer(&self) -> Closer {
        Closer(self.tab.session().ok().map(Arc::clone))
    }

    /// Closes the tab. Dropped without, it is closed in the background.
    pub async fn close(mut self, grace: Duration) -> CloseReport {
        let report = self.tab.close(grace).await;
        if let Some(trajectory) = &mut self.trajectory {
            trajectory.end_session(&self.metrics);
        }
        report
    }
}
