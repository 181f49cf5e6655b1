//! Policies: who proposes the next action. A policy speaks in roles and accessible names, never in
//! coordinates or ids, and can never decide that a task has succeeded: what it calls finished is a
//! claim that the verifier checks.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jev_core::action::{Operation, ScrollDirection};
use jev_core::error::JudgeError;
use jev_core::ids::PageVersion;
use jev_core::policy::SafeKey;
use jev_core::ports::{Judge, JudgeIdentity, JudgeKind};
use jev_core::question::{
    Answer, ChoiceAnswer, ChoiceOption, Decision, QuestionKind, Questionnaire, Stage, Subject,
};
use jev_core::snapshot::{Role, Snapshot, collapse};
use serde_json::Value;

use super::experience::Recalled;
use crate::lease::Meter;
use crate::memory::Experience;

/// What a policy may propose.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Proposed {
    /// Press or follow the one target of this role and accessible name.
    Click {
        /// Its role.
        role: Role,
        /// Its accessible name.
        name: String,
    },
    /// Scroll.
    Scroll(ScrollDirection),
    /// Go back.
    Back,
    /// Load the page again.
    Reload,
    /// Press a key.
    Press(SafeKey),
    /// Wait for the page to change.
    Wait,
    /// Claim that the objective is reached. Without evidence the claim is refused and costs a
    /// recovery.
    Finish,
    /// Say that it can't be reached.
    GiveUp,
}

/// A target that is offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offered {
    /// Its role.
    pub role: Role,
    /// Its accessible name. Page text: untrusted.
    pub name: String,
    /// The heading it stands under; may be empty.
    pub context: String,
}

/// An earlier step of the task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Past {
    /// What was done, as the judge is told it, such as `CLICK`.
    pub operation: String,
    /// On what.
    pub target: Option<String>,
    /// What came of it.
    pub outcome: String,
}

/// What a policy sees. All page content in it is untrusted.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// What the present step is to bring.
    pub objective: String,
    /// The page's address.
    pub url: String,
    /// Its title.
    pub title: String,
    /// Its visible text, as far as it fits.
    pub text: String,
    /// What may be clicked.
    pub targets: Vec<Offered>,
    /// What else may be done.
    pub operations: Vec<Operation>,
    /// What was done before.
    pub history: Vec<Past>,
    /// What this policy proposed on this very page state and was refused. Proposing it again is
    /// refused again.
    pub refused: Vec<Proposed>,
    /// What has worked before: promoted experience only.
    pub experience: Vec<Experience>,
}

/// A policy that has nothing to propose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// It is a script and has come to its end.
    #[error("the script has no action left")]
    ScriptExhausted,
    /// It failed.
    #[error("the policy failed")]
    Failed,
}

/// Proposes actions.
#[async_trait]
pub trait Policy: Send + Sync {
    /// Its name, for people.
    fn name(&self) -> &str;

    /// Proposes the next action.
    ///
    /// # Errors
    /// [`PolicyError`]; the task ends then.
    async fn propose(&self, view: &View, deadline: Duration) -> Result<Proposed, PolicyError>;

    /// The task's deadline has come or it was cancelled: stop whatever is under way.
    fn cancel(&self) {}
}

/// A policy that proposes what was written down beforehand.
#[derive(Debug)]
pub struct ScriptedPolicy(Mutex<VecDeque<Proposed>>);

impl ScriptedPolicy {
    /// A policy of these actions.
    #[must_use]
    pub fn new(actions: impl IntoIterator<Item = Proposed>) -> Self {
        Self(Mutex::new(actions.into_iter().collect()))
    }
}

#[async_trait]
impl Policy for ScriptedPolicy {
    fn name(&self) -> &str {
        "scripted"
    }

    async fn propose(&self, _view: &View, _deadline: Duration) -> Result<Proposed, PolicyError> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop_front()
            .ok_or(PolicyError::ScriptExhausted)
    }
}

/// Why a proposal was refused before it became an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Nothing of that role and name is offered, or the operation is not.
    NotOffered,
    /// Several targets have that role and name.
    Ambiguous,
    /// It was refused in this very state before.
    Repeated,
}

/// What all runs of one task remember of the policy's proposals.
#[derive(Debug, Default)]
pub(super) struct Fingerprints {
    failed: HashSet<(PageVersion, Proposed)>,
    /// Why the last answer refused its proposal; none when it did not.
    refusal: Option<Refusal>,
    /// The proposal of the present step, while many candidates are narrowed down.
    pending: Option<Proposed>,
}

/// A policy in the place of a judge: its proposal becomes the choice among what is offered, so that
/// everything that holds for a judge holds for it too.
pub(super) struct PolicyJudge {
    policy: Arc<dyn Policy>,
    meter: Arc<Meter>,
    recalled: Arc<Recalled>,
    fingerprints: Mutex<Fingerprints>,
}

impl PolicyJudge {
    pub(super) fn new(policy: Arc<dyn Policy>, meter: Arc<Meter>, recalled: Arc<Recalled>) -> Self {
        Self {
            policy,
            meter,
            recalled,
            fingerprints: Mutex::default(),
        }
    }

    fn prints(&self) -> MutexGuard<'_, Fingerprints> {
        self.fingerprints
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Why the last proposal was refused, once.
    pub(super) fn take_refusal(&self) -> Option<Refusal> {
        self.prints().refusal.take()
    }

    async fn proposal(
        &self,
        questionnaire: &Questionnaire,
        page: &Snapshot,
        deadline: Duration,
    ) -> Result<Proposed, JudgeError> {
        let pending = self.prints().pending.take();
        if let Some(pending) = pending {
            return Ok(pending);
        }
        let view = self.view(questionnaire, page);
        self.policy
            .propose(&view, deadline)
            .await
            .map_err(|error| JudgeError::Capability {
                what: error.to_string(),
            })
    }

    fn view(&self, questionnaire: &Questionnaire, page: &Snapshot) -> View {
        let mut targets = Vec::new();
        let mut operations = Vec::new();
        for option in options(questionnaire) {
            match &option.subject {
                Subject::Operation(operation) if !operations.contains(operation) => {
                    operations.push(*operation);
                }
                Subject::Candidate {
                    id, label, context, ..
                } => targets.push(Offered {
                    role: role_of(page, id),
                    name: label.clone(),
                    context: context.clone(),
                }),
                Subject::Operation(_) | Subject::Opaque => {}
            }
        }
        let refused = self
            .prints()
            .failed
            .iter()
            .filter(|(version, _)| version == page.version())
            .map(|(_, proposed)| proposed.clone())
            .collect();
        View {
            objective: questionnaire.goal.clone(),
            url: page.url.clone(),
            title: page.title.clone(),
            text: questionnaire
                .state
                .get("text")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            targets,
            operations,
            history: history(&questionnaire.state),
            refused,
            experience: self.recalled.show().to_vec(),
        }
    }
}

/// A policy's identity where a judge's is asked for.
pub(super) fn identity(policy: &dyn Policy) -> JudgeIdentity {
    JudgeIdentity {
        name: format!("policy:{}", policy.name()),
        model: None,
        kind: JudgeKind::Decides,
    }
}

fn options(questionnaire: &Questionnaire) -> impl Iterator<Item = &ChoiceOption> {
    questionnaire
        .questions
        .iter()
        .flat_map(|question| match &question.kind {
            QuestionKind::Choice { options, .. } => options.as_slice(),
            QuestionKind::Noul { .. } | QuestionKind::Score { .. } => &[],
        })
}

fn role_of(page: &Snapshot, id: &str) -> Role {
    page.candidates
        .iter()
        .find(|candidate| candidate.id.as_str() == id)
        .map_or(Role::Link, |candidate| candidate.role)
}

fn history(state: &Value) -> Vec<Past> {
    let text = |entry: &Value, name: &str| match entry.get(name) {
        Some(Value::String(text)) => Some(text.clone()),
        Some(other) => Some(other.to_string()),
        None => None,
    };
    state
        .get("history")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|entry| Past {
            operation: text(entry, "operation").unwrap_or_default(),
            target: text(entry, "target"),
            outcome: text(entry, "outcome").unwrap_or_default(),
        })
        .collect()
}

/// What is picked: an operation, or the candidate of an id.
#[derive(Clone, Debug)]
enum Pick {
    Operation(Operation),
    Candidate(String),
}

/// Turns a proposal into a pick among what is offered.
fn pick(
    proposed: &Proposed,
    questionnaire: &Questionnaire,
    page: &Snapshot,
) -> Result<Pick, Refusal> {
    let operation = match proposed {
        Proposed::Click { role, name } => return target(*role, name, questionnaire, page),
        Proposed::Scroll(ScrollDirection::Down) => Operation::ScrollDown,
        Proposed::Scroll(ScrollDirection::Up) => Operation::ScrollUp,
        Proposed::Back => Operation::Back,
        Proposed::Reload => Operation::Reload,
        Proposed::Press(key) => Operation::Press(*key),
        Proposed::Wait => Operation::Wait,
        Proposed::Finish => Operation::Done,
        Proposed::GiveUp => Operation::Blocked,
    };
    let offered = questionnaire.stage == Stage::Narrow
        || options(questionnaire).any(|option| option.subject == Subject::Operation(operation));
    if offered {
        Ok(Pick::Operation(operation))
    } else {
        Err(Refusal::NotOffered)
    }
}

fn target(
    role: Role,
    name: &str,
    questionnaire: &Questionnaire,
    page: &Snapshot,
) -> Result<Pick, Refusal> {
    let name = collapse(name);
    let mut found: Option<(&str, Option<&str>)> = None;
    for option in options(questionnaire) {
        let Subject::Candidate {
            id, label, href, ..
        } = &option.subject
        else {
            continue;
        };
        if *label != name || role_of(page, id) != role {
            continue;
        }
        let href = href.as_ref().map(|href| href.as_str());
        match found {
            None => found = Some((id, href)),
            // Two links of one name to one place are one target.
            Some((known, to)) if known == id || (href.is_some() && to == href) => {}
            Some(_) => return Err(Refusal::Ambiguous),
        }
    }
    found
        .map(|(id, _)| Pick::Candidate(id.to_owned()))
        .ok_or(Refusal::NotOffered)
}

#[async_trait]
impl Judge for PolicyJudge {
    fn identity(&self) -> JudgeIdentity {
        identity(self.policy.as_ref())
    }

    async fn decide(
        &self,
        questionnaire: &Questionnaire,
        deadline: Duration,
    ) -> Result<Decision, JudgeError> {
        let Some(page) = self.meter.last() else {
            return Err(JudgeError::Capability {
                what: "no page was seen yet".to_owned(),
            });
        };
        let proposed = self.proposal(questionnaire, &page, deadline).await?;
        let print = (page.version().clone(), proposed.clone());
        let picked = {
            let mut prints = self.prints();
            // A refusal belongs to the answer that ends a run, not to one before it.
            prints.refusal = None;
            if prints.failed.contains(&print) {
                Err(Refusal::Repeated)
            } else {
                pick(&proposed, questionnaire, &page)
            }
        };
        let picked = match (picked, questionnaire.stage) {
            (Ok(picked), Stage::Narrow) => {
                self.prints().pending = Some(proposed);
                picked
            }
            (Ok(picked), Stage::Decide) => picked,
            (Err(refusal), _) => {
                let mut prints = self.prints();
                prints.failed.insert(print);
                prints.refusal = Some(refusal);
                Pick::Operation(Operation::None)
            }
        };
        let answers = questionnaire
            .questions
            .iter()
            .map(|question| match &question.kind {
                QuestionKind::Choice { options, .. } => answer(options, &picked),
                QuestionKind::Noul { .. } | QuestionKind::Score { .. } => {
                    Err(JudgeError::Capability {
                        what: "a policy answers choices only".to_owned(),
                    })
                }
            })
            .collect::<Result<_, _>>()?;
        Ok(Decision {
            answers,
            ..Decision::default()
        })
    }
}

/// All probability on the pick; in a question that does not hold it on `none`, or else on CLICK,
/// whose target is in the other question. Nothing else is ever picked in its place.
fn answer(options: &[ChoiceOption], picked: &Pick) -> Result<Answer, JudgeError> {
    let operation = |wanted: Operation| {
        options
            .iter()
            .position(|option| option.subject == Subject::Operation(wanted))
    };
    let at = match picked {
        Pick::Operation(wanted) => operation(*wanted),
        Pick::Candidate(wanted) => options.iter().position(
            |option| matches!(&option.subject, Subject::Candidate { id, .. } if id == wanted),
        ),
    }
    .or_else(|| operation(Operation::None))
    .or_else(|| match picked {
        Pick::Candidate(_) | Pick::Operation(Operation::None) => operation(Operation::Click),
        Pick::Operation(_) => None,
    });
    let mut probabilities = vec![0.0; options.len()];
    match at.and_then(|at| probabilities.get_mut(at)) {
        Some(p) => *p = 1.0,
        None => {
            return Err(JudgeError::Capability {
                what: "the policy proposed what is not offered".to_owned(),
            });
        }
    }
    Ok(Answer::Choice(ChoiceAnswer::plain(probabilities)))
}
