//! What has worked before, in a task: who is shown it, and what the task teaches. It is data beside
//! the page, never an instruction, and widens nothing: whatever it names must be offered anyway.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jev_core::error::JudgeError;
use jev_core::ports::{Judge, JudgeIdentity, JudgeKind};
use jev_core::question::{Decision, Questionnaire};
use jev_core::status::Status;
use serde_json::{Value, json};

use super::task::Task;
use super::{Reason, Runtime, Work};
use crate::memory::{Experience, Memory, MemoryError, Trail};

/// Most characters of what a judge is told of it, as JSON.
const HINT_CHARS: usize = 2_000;
/// Under which name it stands in a judge's state.
const FIELD: &str = "experience";

/// The promoted experience of one task, and whether anybody was shown it.
#[derive(Debug, Default)]
pub(super) struct Recalled {
    experience: Vec<Experience>,
    /// The part of it that a judge is told.
    hint: Vec<Value>,
    shown: AtomicBool,
}

impl Recalled {
    fn new(experience: Vec<Experience>) -> Self {
        let mut left = HINT_CHARS;
        let hint = experience
            .iter()
            .map(|known| json!({"goal": known.goal, "steps": known.steps}))
            .take_while(
                |hint| match left.checked_sub(hint.to_string().chars().count()) {
                    Some(rest) => {
                        left = rest;
                        true
                    }
                    None => false,
                },
            )
            .collect();
        Self {
            experience,
            hint,
            shown: AtomicBool::new(false),
        }
    }

    /// All of it, for somebody who looks at it now.
    pub(super) fn show(&self) -> &[Experience] {
        self.shown.store(true, Ordering::Release);
        &self.experience
    }

    /// What somebody has looked at; nothing when nobody did.
    fn shown(&self) -> &[Experience] {
        if self.shown.load(Ordering::Acquire) {
            &self.experience
        } else {
            &[]
        }
    }
}

/// A judge that is told what has worked before, as one more field of the state.
pub(super) struct HintedJudge {
    judge: Arc<dyn Judge>,
    recalled: Arc<Recalled>,
}

impl HintedJudge {
    /// Puts the hint before a judge that can read it, and says how many characters it takes.
    pub(super) fn before(
        judge: &Arc<dyn Judge>,
        recalled: &Arc<Recalled>,
    ) -> (Arc<dyn Judge>, u32) {
        let reads = match judge.identity().kind {
            JudgeKind::Decides => true,
            // It compares words; it would make nothing of a way.
            JudgeKind::Ranks => false,
        };
        if !reads || recalled.hint.is_empty() {
            return (Arc::clone(judge), 0);
        }
        let field = json!({FIELD: recalled.hint}).to_string();
        let chars = u32::try_from(field.chars().count()).unwrap_or(u32::MAX);
        let hinted = Self {
            judge: Arc::clone(judge),
            recalled: Arc::clone(recalled),
        };
        (Arc::new(hinted), chars)
    }
}

#[async_trait]
impl Judge for HintedJudge {
    fn identity(&self) -> JudgeIdentity {
        self.judge.identity()
    }

    async fn decide(
        &self,
        questionnaire: &Questionnaire,
        deadline: Duration,
    ) -> Result<Decision, JudgeError> {
        let mut told = questionnaire.clone();
        if let Value::Object(state) = &mut told.state {
            state.insert(FIELD.to_owned(), json!(self.recalled.hint));
            self.recalled.show();
        }
        self.judge.decide(&told, deadline).await
    }
}

impl Runtime {
    pub(super) async fn recall(&self, task: &Task) -> Recalled {
        let (goal, start) = (task.goal.as_str().to_owned(), task.start.clone());
        let found = self
            .with_memory(move |memory| memory.recall(&goal, &start))
            .await;
        Recalled::new(found.unwrap_or_default())
    }

    /// Keeps what the task taught: a verified way, or that a way does not lead there.
    pub(super) async fn learn(&self, work: &Work<'_>, reason: &Reason, recalled: &Recalled) {
        let (goal, start) = (work.task.goal.as_str().to_owned(), work.task.start.clone());
        match reason.status() {
            Status::Verified(_) => {
                let trail = Trail::of(
                    &goal,
                    &start,
                    work.reports.iter().flat_map(|report| &report.steps),
                    &work.task.actions,
                    &self.parts.redactor,
                );
                self.with_memory(move |memory| memory.succeeded(&trail))
                    .await;
            }
            Status::Unverified
            | Status::Abstain
            | Status::Blocked
            | Status::Rejected
            | Status::NoProgress
            | Status::StepLimit => {
                let shown = recalled.shown().to_vec();
                self.with_memory(move |memory| memory.failed(&goal, &start, &shown))
                    .await;
            }
            // The world failed, not the way.
            Status::Observed
            | Status::VerificationStale
            | Status::Unknown
            | Status::StaleLimit
            | Status::LoadingTimeout
            | Status::StateLimit
            | Status::Timeout
            | Status::JudgeError
            | Status::LeftScope
            | Status::ScopeMismatch
            | Status::SessionError
            | Status::Cancelled => {}
        }
    }

    /// A memory that fails is said to the log; the task goes on without it.
    async fn with_memory<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Memory) -> Result<T, MemoryError> + Send + 'static,
    ) -> Option<T> {
        let memory = Arc::clone(self.parts.memory.as_ref()?);
        let done = tokio::task::spawn_blocking(move || {
            work(&mut memory.lock().unwrap_or_else(PoisonError::into_inner))
        })
        .await;
        match done {
            Ok(Ok(done)) => Some(done),
            Ok(Err(error)) => {
                tracing::warn!(%error, "the experience memory was not used");
                None
            }
            Err(_) => None,
        }
    }
}
