//! The reference: what the world has given cause for. It holds permissions ("VERIFIED is allowed
//! now", "NO_PROGRESS is allowed now") worked out from what truly happened, and counts of it. It
//! never says what a navigator should do next.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use jev_core::action::Operation;
use jev_core::contract::{Contract, Mode};
use jev_core::error::Sent;
use jev_core::ids::{GoalDigest, PageVersion};
use jev_core::input::Input;
use jev_core::policy::SafeKey;
use jev_core::question::{Decision, Questionnaire};
use jev_core::receipt::{AppliedEffect, Receipt};
use jev_core::snapshot::Snapshot;
use jev_core::status::Status;
use jev_core::verification::{Verdict, Verification};

use super::reading::{Choice, evidence, has_same_words, is_lawful};
use super::site::is_inside;

/// What a look at the page follows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum LookFor {
    Start,
    Action(Operation),
    Wait,
    Nothing,
    Claim,
    Blocked(PageVersion),
    Binding,
}

/// Whether a page state was seen before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum News {
    New,
    Seen,
}

/// What a look counts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    Action,
    Wait,
    Nothing,
}

/// What truly happened so far.
#[derive(Clone, Debug)]
pub struct Reference {
    contract: Arc<Contract>,
    goal: GoalDigest,
    look: LookFor,
    /// A verdict that counts, waiting for the last look, and the page it was made from.
    verdict: Option<(Verification, Arc<Snapshot>)>,
    /// Such a verdict whose page changed around its evidence: the verifier has to find the same
    /// words once more, on the page as it is.
    unconfirmed: Option<Verification>,
    /// The verdict counts and its evidence was seen again, just now.
    pub verified_now: bool,
    /// A verdict that counts was ever given.
    pub passed_ever: bool,
    /// The page was looked at since the judge was last heard.
    fresh: bool,
    /// DONE was claimed and not yet decided.
    claiming: bool,
    claim_refused: bool,
    /// Last looks that did not bind, since the judge was last heard or the page was acted on.
    pub unbound: u32,
    blocked_confirmed: bool,
    abstains: bool,
    /// The judge abstained, and the verifier had refused the page or was asked once more and did not
    /// pass it.
    declined: bool,
    /// The contents that the verifier refused.
    refused: HashSet<PageVersion>,
    judge_failed: bool,
    unknown: bool,
    session_failed: bool,
    left_scope: bool,
    wrong_scope: bool,
    cancelled: bool,
    late: bool,
    /// Refused claims, rejected actions and targets that led nowhere.
    pub troubles: u32,
    /// Stale pages since the last action that was applied.
    pub stale: u32,
    /// Applied actions in a row that led to nothing new.
    pub no_progress: u32,
    /// Waits in a row that brought nothing new.
    pub waits: u32,
    /// Judged steps.
    pub steps: u32,
    /// Tokens of the answers that were heard.
    pub tokens: u64,
    seen: HashSet<PageVersion>,
    places: HashSet<(PageVersion, u32)>,
}

impl Reference {
    /// Nothing has happened.
    pub fn new(contract: Arc<Contract>) -> Self {
        let goal = contract.goal.digest();
        Self {
            contract,
            goal,
            look: LookFor::Start,
            verdict: None,
            unconfirmed: None,
            verified_now: false,
            passed_ever: false,
            fresh: false,
            claiming: false,
            claim_refused: false,
            unbound: 0,
            blocked_confirmed: false,
            abstains: false,
            declined: false,
            refused: HashSet::new(),
            judge_failed: false,
            unknown: false,
            session_failed: false,
            left_scope: false,
            wrong_scope: false,
            cancelled: false,
            late: false,
            troubles: 0,
            stale: 0,
            no_progress: 0,
            waits: 0,
            steps: 0,
            tokens: 0,
            seen: HashSet::new(),
            places: HashSet::new(),
        }
    }

    /// A digest of all that later permissions may depend on.
    pub fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let into = &mut hasher;
        self.look.hash(into);
        if let Some((verification, page)) = &self.verdict {
            (format!("{verification:?}"), page.version(), &page.document).hash(into);
        }
        if let Some(verification) = &self.unconfirmed {
            format!("{verification:?}").hash(into);
        }
        (self.verified_now, self.passed_ever, self.claiming).hash(into);
        (self.fresh, self.tokens).hash(into);
        (self.claim_refused, self.unbound, self.blocked_confirmed).hash(into);
        (
            self.abstains,
            self.declined,
            self.judge_failed,
            self.unknown,
        )
            .hash(into);
        (self.session_failed, self.left_scope, self.wrong_scope).hash(into);
        (self.cancelled, self.late, self.troubles, self.stale).hash(into);
        (self.no_progress, self.waits, self.steps).hash(into);
        let mut refused: Vec<_> = self.refused.iter().collect();
        refused.sort();
        refused.hash(into);
        let mut seen: Vec<_> = self.places.iter().collect();
        seen.sort();
        seen.hash(into);
        hasher.finish()
    }

    /// The budget is spent.
    pub fn is_late(&mut self) {
        self.late = true;
        self.verified_now = false;
    }

    /// A dispatch was cut off by a cancel, a lost session or the end of the budget.
    pub fn cut_off(&mut self) {
        self.unknown = true;
    }

    /// A step was put to the judge.
    pub fn asked(&mut self) {
        self.steps += 1;
    }

    /// A wait was over, answered or not.
    pub fn waited(&mut self) {
        self.look = LookFor::Wait;
    }

    /// An answer that was due came in time. `page` is what the verifier was given, `choice` what
    /// the judge chose, `done` the action a receipt is for.
    pub fn heard(&mut self, input: &Input, heard: Heard<'_>) {
        self.verified_now = false;
        match input {
            Input::Opened(_, scope) => self.wrong_scope = *scope != self.contract.scope,
            Input::OpenFailed(..) | Input::ObserveFailed(..) | Input::WaitFailed(..) => {
                self.session_failed = true;
            }
            Input::SessionLost(_) => self.session_failed = true,
            Input::Cancel => self.cancelled = true,
            Input::Observed(_, page) => self.looked(page),
            Input::Judged(_, decision) => {
                self.tokens = self.tokens.saturating_add(decision.usage.input_tokens);
                self.judged(decision, &heard);
            }
            Input::JudgeFailed(..) => self.judge_failed = true,
            Input::Verified(_, verification) => {
                let before = self.unconfirmed.take();
                match heard.page {
                    Some(page)
                        if self.fresh && evidence(verification, &self.goal, page).is_some() =>
                    {
                        self.passed_ever = true;
                        let same = |before| has_same_words(before, verification);
                        self.verified_now = before.as_ref().is_some_and(same);
                        if !self.verified_now {
                            self.unbound += u32::from(before.is_some());
                            self.verdict = Some((verification.clone(), Arc::clone(page)));
                            self.look = LookFor::Binding;
                        }
                    }
                    Some(page) => {
                        let bound = verification.goal == self.goal
                            && verification.version == *page.version();
                        if bound && matches!(verification.verdict, Verdict::Refused(_)) {
                            self.refused.insert(page.version().clone());
                        }
                        self.unbound += u32::from(before.is_some());
                        self.not_passed();
                    }
                    None => self.not_passed(),
                }
            }
            Input::VerifyFailed(..) => {
                self.unbound += u32::from(self.unconfirmed.take().is_some());
                self.not_passed();
            }
            Input::Receipt(_, receipt) => self.received(*receipt, heard.operation),
            Input::DispatchFailed(_, error) => match error.sent {
                Sent::SurelyNot => self.session_failed = true,
                Sent::Maybe => self.unknown = true,
            },
            Input::Waited(..) => self.waited(),
            Input::Tick | Input::Closed(..) => {}
        }
    }

    fn judged(&mut self, decision: &Decision, heard: &Heard<'_>) {
        self.fresh = false;
        self.unbound = 0;
        self.blocked_confirmed = false;
        self.claim_refused = false;
        let Some(questionnaire) = heard.asked else {
            return;
        };
        if !is_lawful(questionnaire, decision) {
            self.judge_failed = true;
            return;
        }
        let Some(choice) = heard.choice else { return };
        if !choice.strong || choice.operation == Operation::None {
            self.abstains = true;
            let refused = |page: &Arc<Snapshot>| self.refused.contains(page.version());
            self.declined = heard.judged.is_some_and(refused);
            return;
        }
        match (choice.operation, heard.judged) {
            (Operation::Done, _) => {
                self.claiming = true;
                self.look = LookFor::Claim;
            }
            (Operation::Blocked, Some(page)) => {
                self.look = LookFor::Blocked(page.version().clone());
            }
            (
                Operation::Click
                | Operation::ScrollDown
                | Operation::ScrollUp
                | Operation::Back
                | Operation::Reload
                | Operation::Press(_)
                | Operation::Wait
                | Operation::Blocked
                | Operation::None,
                _,
            ) => {}
        }
    }

    fn not_passed(&mut self) {
        self.verdict = None;
        self.declined |= self.abstains;
        if std::mem::take(&mut self.claiming) {
            self.claim_refused = true;
            self.troubles += 1;
        }
    }

    fn received(&mut self, receipt: Receipt, operation: Option<Operation>) {
        match receipt {
            Receipt::Applied(effect) => {
                self.stale = 0;
                self.look = operation.map_or(LookFor::Nothing, LookFor::Action);
                match effect {
                    AppliedEffect::DestinationRefused | AppliedEffect::DestinationFailed => {
                        self.troubles += 1;
                    }
                    AppliedEffect::Navigated
                    | AppliedEffect::SameDocument
                    | AppliedEffect::Scrolled
                    | AppliedEffect::Changed
                    | AppliedEffect::NoEffect => {}
                }
            }
            Receipt::Stale(_) => {
                self.stale += 1;
                self.look = LookFor::Nothing;
            }
            Receipt::Rejected(_) => {
                self.troubles += 1;
                self.look = LookFor::Nothing;
            }
            Receipt::Unknown(_) => self.unknown = true,
        }
    }

    fn looked(&mut self, page: &Arc<Snapshot>) {
        let look = std::mem::replace(&mut self.look, LookFor::Nothing);
        self.fresh = true;
        self.wrong_scope = page.scope != self.contract.scope;
        self.left_scope = !is_inside(&page.url);
        if self.wrong_scope || self.left_scope {
            return;
        }
        if look != LookFor::Binding {
            self.declined |= self.abstains && self.refused.contains(page.version());
        }
        let new_place = self
            .places
            .insert((page.version().clone(), page.scroll.offset));
        let new_content = self.seen.insert(page.version().clone());
        let scrolled = matches!(
            look,
            LookFor::Action(
                Operation::ScrollDown
                    | Operation::ScrollUp
                    | Operation::Press(
                        SafeKey::PageDown | SafeKey::PageUp | SafeKey::Home | SafeKey::End
                    )
            )
        );
        let news = if new_content || (scrolled && new_place) {
            News::New
        } else {
            News::Seen
        };
        let verdict = self.verdict.take();
        match look {
            LookFor::Binding => match verdict {
                Some((verification, judged))
                    if judged.document == page.document
                        && judged.url == page.url
                        && evidence(&verification, &self.goal, &judged).is_some() =>
                {
                    if judged.version() == page.version() {
                        self.verified_now = true;
                    } else {
                        self.unconfirmed = Some(verification);
                    }
                }
                Some(_) | None => self.unbound += 1,
            },
            LookFor::Blocked(version) if version == *page.version() => {
                self.blocked_confirmed = true;
            }
            LookFor::Blocked(_) => {
                self.stale += 1;
                self.led_to(news, After::Nothing);
            }
            LookFor::Action(_) => self.led_to(news, After::Action),
            LookFor::Wait => self.led_to(news, After::Wait),
            LookFor::Nothing => self.led_to(news, After::Nothing),
            LookFor::Start | LookFor::Claim => {}
        }
    }

    fn led_to(&mut self, news: News, after: After) {
        if news == News::New {
            self.no_progress = 0;
            self.waits = 0;
        }
        let nothing_new = u32::from(news == News::Seen);
        match after {
            After::Action => {
                self.waits = 0;
                self.no_progress += nothing_new;
            }
            After::Wait => self.waits += nothing_new,
            After::Nothing => {}
        }
    }

    /// Whether what happened leaves a run no choice but to end at once.
    pub fn must_end(&self) -> bool {
        self.left_scope
            || self.wrong_scope
            || self.session_failed
            || self.unknown
            || self.cancelled
            || self.late
            || self.judge_failed
            || (self.abstains && self.declined)
            || self.verified_now
    }

    /// Whether the world has given cause to end so.
    pub fn allows(&self, status: Status) -> bool {
        let limits = &self.contract.limits;
        let shadow = self.contract.mode != Mode::Enforce;
        match status {
            Status::Verified(_) => self.verified_now,
            Status::Observed => shadow,
            Status::Unverified => self.claim_refused && self.troubles > limits.recoveries,
            Status::VerificationStale => self.unbound > limits.stale,
            Status::Abstain => self.abstains && self.declined,
            Status::Blocked => self.blocked_confirmed,
            Status::Rejected => self.troubles > limits.recoveries,
            Status::Unknown => self.unknown,
            Status::StaleLimit => self.stale > limits.stale,
            Status::NoProgress => self.no_progress >= limits.no_progress,
            Status::StepLimit => self.steps >= limits.steps,
            Status::LoadingTimeout => self.waits >= limits.waits,
            Status::StateLimit => limits.state_chars < 32_000,
            Status::Timeout => self.late,
            Status::JudgeError => self.judge_failed,
            Status::LeftScope => self.left_scope,
            Status::ScopeMismatch => self.wrong_scope,
            Status::SessionError => self.session_failed,
            Status::Cancelled => self.cancelled,
        }
    }
}

/// What goes with an answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Heard<'a> {
    /// The page the verifier was given.
    pub page: Option<&'a Arc<Snapshot>>,
    /// The page the judge was asked about.
    pub judged: Option<&'a Arc<Snapshot>>,
    /// What the judge was asked.
    pub asked: Option<&'a Questionnaire>,
    /// What the judge chose.
    pub choice: Option<&'a Choice>,
    /// What was dispatched.
    pub operation: Option<Operation>,
}
