//! A session shared with a stronger agent: one tab over several runs, their history one. The judge
//! clicks; the host thinks, types and verifies, by explicit acts with receipts.

mod acts;
mod metrics;
#[cfg(test)]
mod tests;
mod veil;

use std::sync::Arc;
use std::time::Duration;

use jev_core::access::CanonicalUrl;
use jev_core::carried::Carried;
use jev_core::contract::{Contract, ContractDraft, ContractError, Goal, Layout, Mode, VerifyFirst};
use jev_core::error::SessionError;
use jev_core::gate::Gate;
use jev_core::history::{HistoryEntry, HistoryOutcome, HostOperation, PageChange};
use jev_core::host::{Control, Field, HostReceipt, HostRefusal, TypedText};
use jev_core::ids::RunId;
use jev_core::limits::{BUDGET, Limits};
use jev_core::policy::ActionPolicy;
use jev_core::ports::{CloseReport, Judge, JudgeKind, OpenRequest, SessionFactory, Verifier};
use jev_core::receipt::AppliedEffect;
use jev_core::redact::{Hidden, Redactor};
use jev_core::report::Report;
use jev_core::snapshot::Snapshot;
use jev_core::telemetry::Price;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::driver::{Observer, Observers, Ports, resume};
use crate::lease::Tab;
use crate::trajectory::{HostTarget, Trajectory};
use acts::Act;
use veil::VeiledJudge;

pub use acts::{Closer, Until, Waited};
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

/// A run, a wait or an act that can't be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SharedError {
    /// The contract of a run.
    #[error("{0}")]
    Contract(#[from] ContractError),
    /// A run or an act was given up half-way: its future was dropped. What it sent to the page is
    /// not known, so nothing more is sent.
    #[error(
        "an earlier run or act on this tab was given up half-way, so what it did is not known; close the session and open another"
    )]
    CutShort,
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

/// Whether something that may send actions to the page is under way. It still is when its future was
/// dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UnderWay {
    Nothing,
    Sending,
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
    under_way: UnderWay,
}

impl SharedSession {
    /// Opens the tab on its start page.
    ///
    /// # Errors
    /// [`SharedError`]; nothing stays open then.
    pub async fn open(parts: SharedParts) -> Result<Self, SharedError> {
        let factory = Trajectory::watch(parts.trajectory.as_ref(), parts.factory);
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
            under_way: UnderWay::Nothing,
        })
    }

    /// Drives the loop on the tab. Every exit leaves the tab as it is, and the next run goes on with
    /// the history intact. Cancel a run by its token: one whose future is dropped may have an action
    /// in flight that nobody will ever hear of, and no other is sent after it.
    ///
    /// # Errors
    /// [`SharedError::Contract`] and [`SharedError::CutShort`], before anything is looked at.
    pub async fn run(
        &mut self,
        task: SharedTask,
        observer: &mut dyn Observer,
        cancel: &CancellationToken,
    ) -> Result<Handback, SharedError> {
        let contract = self.contract(&task)?;
        self.begin()?;
        self.runs += 1;
        let id = RunId(self.runs);
        let identity = self.judge.identity();
        if let Some(trajectory) = &mut self.trajectory {
            trajectory.resume_run(id, &contract, &identity, &self.carried);
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
        // The history stays here too: what went before a dropped run can still be shown.
        let carried = self.carried.clone();
        let (report, carried) = resume(id, contract, carried, &ports, &mut observers, cancel).await;
        drop(observers);
        self.under_way = UnderWay::Nothing;
        self.carried = carried;
        self.metrics.run(&report);
        Ok(Handback {
            history: self.carried.history().to_vec(),
            report,
        })
    }

    /// Notes that something may be sent from here on.
    fn begin(&mut self) -> Result<(), SharedError> {
        match std::mem::replace(&mut self.under_way, UnderWay::Sending) {
            UnderWay::Nothing => Ok(()),
            UnderWay::Sending => Err(SharedError::CutShort),
        }
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
        let shown = self.request.access.allows_text(&page.url).then_some(page);
        if let Some(trajectory) = &mut self.trajectory {
            trajectory.host_looked(shown.as_deref());
        }
        Ok(shown)
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
        let waited = self.wait_until(until, Instant::now() + bound).await?;
        if let Some(trajectory) = &mut self.trajectory {
            trajectory.host_waited(&waited);
        }
        Ok(waited)
    }

    async fn wait_until(&mut self, until: &Until, end: Instant) -> Result<Waited, SharedError> {
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
    ///
    /// # Errors
    /// [`SharedError::Session`] when the tab broke before anything was done.
    pub async fn navigate(
        &mut self,
        to: &CanonicalUrl,
        deadline: Duration,
    ) -> Result<HostReceipt, SharedError> {
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
    ///
    /// # Errors
    /// As for [`SharedSession::navigate`].
    pub async fn fill(
        &mut self,
        field: &Field,
        text: &TypedText,
        deadline: Duration,
    ) -> Result<HostReceipt, SharedError> {
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
    ///
    /// # Errors
    /// As for [`SharedSession::navigate`].
    pub async fn press(
        &mut self,
        control: &Control,
        deadline: Duration,
    ) -> Result<HostReceipt, SharedError> {
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
    ) -> Result<HostReceipt, SharedError> {
        self.begin()?;
        self.acts += 1;
        if let Some(trajectory) = &mut self.trajectory {
            trajectory.host_intent(self.acts, operation, target);
        }
        let before = self.tab.meter().last();
        let done = match self.tab.session() {
            Ok(session) => act.carry_out(session.as_ref(), deadline).await,
            Err(error) => Err(error),
        };
        let receipt = match done {
            Ok(receipt) => receipt,
            Err(error) => {
                self.under_way = UnderWay::Nothing;
                if let Some(trajectory) = &mut self.trajectory {
                    trajectory.host_failed(self.acts, error);
                }
                return Err(error.into());
            }
        };
        self.under_way = UnderWay::Nothing;
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
            HostReceipt::Refused(_) => return Ok(receipt),
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
        Ok(receipt)
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
