//! The simulated world: a seeded, clock-free machine around one navigator. It answers effects with
//! an honest site, session, judge and verifier, or with the faults of its case, while a witness
//! keeps what was truly seen and the invariants are asked after every step.
//!
//! It knows `jev-core` alone, so that it can be built against a changed copy of it, and it reads
//! all its draws from one [`Chance`], so that a seed or a fuzzer's bytes decide everything.

pub mod browser;
pub mod cancels;
pub mod case;
pub mod chance;
pub mod coverage;
pub mod ending;
pub mod hunt;
pub mod inbox;
pub mod invariants;
pub mod judge;
pub mod liveness;
pub mod mix;
pub mod offers;
pub mod reading;
pub mod reference;
pub mod site;
pub mod small;
pub mod verifier;
pub mod witness;

use std::time::Duration;

use jev_core::effect::{Effect, EffectKind};
use jev_core::error::SessionError;
use jev_core::ids::{EffectId, IntentId, PageVersion};
use jev_core::input::Input;
use jev_core::permit::Permit;
use jev_core::ports::{Change, OpenRequest, VerifyRequest};
use jev_core::question::{Decision, Questionnaire};
use jev_core::receipt::{AppliedEffect, Receipt};
use jev_core::snapshot::Settled;
use jev_core::time::Timestamp;

pub use chance::Chance;
use inbox::Inbox;
use mix::{Fault, Kind, Mix};
use site::Site;

/// Everything outside the navigator.
#[derive(Debug)]
pub struct World {
    chance: Chance,
    mix: Mix,
    site: Site,
    inbox: Inbox,
    budget: Duration,
    /// Answers do not come any more.
    silent: bool,
    /// Every action that really reached the page, in order.
    reached: Vec<IntentId>,
    earlier: Option<Decision>,
    cancelled: bool,
}

/// What the world can be asked to do.
#[derive(Debug)]
pub enum Call<'a> {
    /// Open a session.
    Open(OpenRequest),
    /// Look at the page.
    Observe,
    /// Verify a page.
    Verify(VerifyRequest),
    /// Answer a question.
    Judge(&'a Questionnaire),
    /// Carry out a permit.
    Dispatch(Permit),
    /// Wait for a change.
    Wait,
    /// Close the session.
    Close,
}

/// What a call brings.
#[derive(Debug, Default)]
pub struct Replies {
    /// The answer and when it comes.
    pub answer: Option<(Timestamp, Input)>,
    /// When the caller cancels.
    pub cancel: Option<Timestamp>,
    /// When the session is lost, and how.
    pub lost: Option<(Timestamp, SessionError)>,
}

impl World {
    /// A world around a site.
    pub fn new(chance: Chance, mix: Mix, site: Site, budget: Duration) -> Self {
        Self {
            chance,
            mix,
            site,
            inbox: Inbox::default(),
            budget,
            silent: false,
            reached: Vec::new(),
            earlier: None,
            cancelled: false,
        }
    }

    /// Another run begins on the same tab. What was on its way to the run before is lost with it.
    pub(crate) fn begin_again(&mut self, mix: Mix, budget: Duration) {
        self.mix = mix;
        self.budget = budget;
        self.inbox = Inbox::default();
        self.silent = false;
        self.cancelled = false;
        self.reached.clear();
    }

    fn hits(&mut self, fault: Fault) -> bool {
        self.chance.hits(self.mix.rate(fault))
    }

    /// Takes an effect and sends its answer, as its faults let it. `asked` is the question of an
    /// effect that asks the judge.
    pub fn take(&mut self, effect: Effect, asked: Option<&Questionnaire>, now: Timestamp) {
        let call = match effect.kind {
            EffectKind::Open(request) => Call::Open(request),
            EffectKind::Observe => Call::Observe,
            EffectKind::Verify(request) => Call::Verify(request),
            EffectKind::AskJudge(_) => match asked {
                Some(asked) => Call::Judge(asked),
                None => return,
            },
            EffectKind::Dispatch(permit) => Call::Dispatch(permit),
            EffectKind::Wait { .. } => Call::Wait,
            EffectKind::Close { .. } => Call::Close,
        };
        self.hear(effect.id, call, now);
    }

    fn hear(&mut self, id: EffectId, call: Call<'_>, now: Timestamp) {
        let (most_ms, answer) = match call {
            Call::Open(request) => (300, self.open(id, &request)),
            Call::Observe => {
                let look = self.observe(id);
                let restless =
                    matches!(&look, Input::Observed(_, page) if page.settled == Settled::No);
                (if restless { 3_000 } else { 60 }, look)
            }
            Call::Verify(request) => {
                let answer = verifier::answer(&mut self.chance, &self.mix, &request);
                let input = match answer {
                    Ok(verification) => Input::Verified(id, verification),
                    Err(error) => Input::VerifyFailed(id, error),
                };
                (20, input)
            }
            Call::Judge(asked) => {
                let next = self.site.next();
                let earlier = self.earlier.as_ref();
                let answer = judge::answer(&mut self.chance, &self.mix, asked, &next, earlier);
                let input = match answer {
                    Ok(decision) => {
                        self.earlier = Some(decision.clone());
                        Input::Judged(id, decision)
                    }
                    Err(error) => Input::JudgeFailed(id, error),
                };
                (300, input)
            }
            Call::Dispatch(permit) => (60, self.dispatch(id, permit)),
            Call::Wait => (400, self.wait(id)),
            Call::Close => (200, self.close(id)),
        };
        let latency = self.millis(most_ms);
        self.post(now, latency, answer);
    }

    /// As one of the three ports, for a driver: what a call brings and when, or nothing when its
    /// answer is lost, when the caller cancels, and when the session is lost. What a port can't say
    /// is not said: answers that nobody asked for, doubles.
    pub fn call(&mut self, number: u32, call: Call<'_>, now: Timestamp) -> Replies {
        self.disturb(now, number);
        let id = EffectId(u64::MAX);
        self.hear(id, call, now);
        let mut replies = Replies::default();
        while let Some((at, input)) = self.inbox.take() {
            if input.effect() == Some(id) {
                replies.answer.get_or_insert((at, input));
            } else if input == Input::Cancel {
                replies.cancel = Some(at);
            } else if let Input::SessionLost(error) = input {
                replies.lost = Some((at, error));
            }
        }
        replies
    }

    /// The actions that really reached the page, in order.
    pub fn reached(&self) -> &[IntentId] {
        &self.reached
    }

    fn millis(&mut self, most: u32) -> Duration {
        Duration::from_millis(u64::from(self.chance.below(most)))
    }

    /// A moment within a while that is longer than the budget.
    fn sometime(&mut self) -> Duration {
        let most = u32::try_from(self.budget.as_millis()).unwrap_or(u32::MAX / 4);
        self.millis(most.saturating_mul(2).clamp(10, 20_000))
    }

    /// The way back, on which answers are lost, late and doubled.
    fn post(&mut self, now: Timestamp, mut latency: Duration, answer: Input) {
        if self.silent || self.hits(Fault::Loses) {
            return;
        }
        if self.hits(Fault::Delays) {
            latency = match self.chance.below(4) {
                // In the very moment in which the budget ends.
                3 => self.budget.saturating_sub(now.elapsed()),
                _ => latency + self.sometime(),
            };
        }
        if self.hits(Fault::Duplicates) {
            for _ in 0..=self.chance.below(3) {
                let later = latency + self.sometime();
                self.inbox.send(now, later, answer.clone());
            }
        }
        self.inbox.send(now, latency, answer);
    }

    /// What happens without being asked for.
    fn disturb(&mut self, now: Timestamp, inputs: u32) {
        if inputs == self.mix.turn {
            match self.mix.kind {
                Kind::Silent => {
                    self.silent = true;
                    self.inbox = Inbox::default();
                }
                Kind::Mixed => self.mix.heal(),
                Kind::Honest | Kind::Calm => {}
            }
        }
        // A flood would only make the case long.
        if self.inbox.waiting() > 12 {
            return;
        }
        if self.hits(Fault::Foreign) {
            let garbage = self.garbage();
            let after = self.millis(100);
            self.inbox.send(now, after, garbage);
        }
        if self.hits(Fault::OddTicks) {
            let after = self.millis(100);
            self.inbox.send(now, after, Input::Tick);
        }
        if self.hits(Fault::SessionLost) {
            let after = self.millis(400);
            let errors = [SessionError::Crashed, SessionError::Disconnected];
            let error = self.chance.pick(&errors).unwrap_or(SessionError::Crashed);
            self.inbox.send(now, after, Input::SessionLost(error));
        }
        if !self.cancelled && self.hits(Fault::Cancels) {
            self.cancelled = true;
            let after = self.millis(400);
            self.inbox.send(now, after, Input::Cancel);
        }
    }

    /// An answer nobody asked for, with an id that may be anybody's.
    fn garbage(&mut self) -> Input {
        let id = EffectId(u64::from(self.chance.below(24)));
        match self.chance.below(10) {
            0 => Input::Receipt(id, Receipt::Applied(AppliedEffect::Navigated)),
            1 => Input::Observed(id, std::sync::Arc::new(self.site.look(Settled::Yes))),
            2 => Input::Judged(id, self.earlier.clone().unwrap_or_default()),
            3 => Input::JudgeFailed(id, jev_core::error::JudgeError::Timeout),
            4 => Input::Waited(id, Change::Seen),
            5 => Input::OpenFailed(id, SessionError::LaunchFailed),
            6 => Input::ObserveFailed(id, SessionError::Crashed),
            7 => Input::VerifyFailed(id, jev_core::error::VerifyError::Failed),
            8 => self.close(id),
            _ => Input::Verified(
                id,
                jev_core::verification::Verification {
                    goal: jev_core::ids::GoalDigest::new("any"),
                    version: PageVersion::new("any"),
                    verdict: jev_core::verification::Verdict::Passed(Vec::new()),
                },
            ),
        }
    }
}
