//! The embedded judge: links by meaning, operations by rule, and every answer in time or not at all.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;

use jev_core::access::CanonicalUrl;
use jev_core::action::Operation;
use jev_core::error::JudgeError;
use jev_core::ports::{Judge, JudgeIdentity, JudgeKind};
use jev_core::question::{
    Answer, ChoiceAnswer, ChoiceOption, Decision, QuestionKind, Questionnaire, Stage, Subject,
    Usage,
};

use super::error::EmbedError;
use super::model::{Embedder, GivenUp, Model};
use super::outside::Asked;
use super::passage;
use super::rank::{Link, Ranking, SHIPPED, rank};
use super::rules::{self, NEVER, Passage, Scene, TEMPERATURE, Vain};
use super::weights::{MODEL_NAME, Weights};
use crate::situation::Situation;
use crate::text::softmax;

/// WAITs that may bring nothing on one page before something else is tried.
const PATIENCE: usize = 2;

/// Ranks links by the cosine of their meaning with the goal's; no key, no network.
///
/// Its probabilities mean an order, not a belief: gate it by share. Clones share one model.
#[derive(Clone)]
pub struct EmbeddedJudge {
    embedder: Arc<dyn Embedder>,
}

impl std::fmt::Debug for EmbeddedJudge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EmbeddedJudge")
    }
}

impl EmbeddedJudge {
    /// A judge over any embedder.
    #[must_use]
    pub fn new(embedder: Arc<dyn Embedder>) -> Self {
        Self { embedder }
    }

    /// A judge over the installed model. Blocks for about 0.1 s.
    ///
    /// # Errors
    /// [`EmbedError::Weights`] when the model is not installed; its message names the command.
    pub fn installed() -> Result<Self, EmbedError> {
        Self::load(&Weights::locate()?)
    }

    /// A judge over the model in a folder. Blocks for about 0.1 s.
    ///
    /// # Errors
    /// [`EmbedError::Weights`] when a file can't be read or is of another model.
    pub fn load(weights: &Weights) -> Result<Self, EmbedError> {
        Ok(Self::new(Arc::new(Model::load(weights)?)))
    }
}

/// Tells the computing thread when its caller is gone, by whatever way it went.
struct GiveUpOnDrop(GivenUp);

impl Drop for GiveUpOnDrop {
    fn drop(&mut self) {
        self.0.set();
    }
}

#[async_trait]
impl Judge for EmbeddedJudge {
    fn identity(&self) -> JudgeIdentity {
        JudgeIdentity {
            name: "embedded".to_owned(),
            model: Some(MODEL_NAME.to_owned()),
            kind: JudgeKind::Ranks,
        }
    }

    async fn decide(
        &self,
        questionnaire: &Questionnaire,
        deadline: Duration,
    ) -> Result<Decision, JudgeError> {
        let given_up = GivenUp::default();
        let _guard = GiveUpOnDrop(given_up.clone());
        let embedder = Arc::clone(&self.embedder);
        let questionnaire = questionnaire.clone();
        let work =
            tokio::task::spawn_blocking(move || answer(&*embedder, &questionnaire, &given_up));
        match tokio::time::timeout(deadline, work).await {
            Err(_) => Err(JudgeError::Timeout),
            Ok(Err(_)) => Err(EmbedError::Thread.into()),
            Ok(Ok(result)) => result.map_err(JudgeError::from),
        }
    }
}

fn answer(
    embedder: &dyn Embedder,
    questionnaire: &Questionnaire,
    given_up: &GivenUp,
) -> Result<Decision, EmbedError> {
    let mut situation = Situation::of(questionnaire);
    if situation.goal.trim().is_empty() {
        // From outside, the goal may stand in the state alone.
        let goal = questionnaire.state.get("goal").and_then(Value::as_str);
        situation.goal = goal.unwrap_or_default().to_owned();
    }
    let page = Page::read(embedder, questionnaire, &situation, given_up)?;
    let mut pieces = page.as_ref().map_or(0, |page| page.pieces);
    let mut links = page.iter().flat_map(|page| page.closeness.iter().copied());
    let mut answers = Vec::with_capacity(questionnaire.questions.len());
    for question in &questionnaire.questions {
        answers.push(match (&question.kind, &page) {
            (QuestionKind::Choice { options, .. }, Some(page)) if of_the_loop(options) => {
                let scores: Vec<f64> = options
                    .iter()
                    .map(|option| match &option.subject {
                        Subject::Operation(operation) => page.operation(*operation),
                        Subject::Candidate { .. } | Subject::Opaque => {
                            links.next().unwrap_or(NEVER)
                        }
                    })
                    .collect();
                Answer::Choice(ChoiceAnswer::plain(softmax(&scores, TEMPERATURE)))
            }
            (kind, _) => {
                let (answer, read) = outside(embedder, kind, &situation, given_up)?;
                pieces += read;
                answer
            }
        });
    }
    Ok(Decision {
        answers,
        model: Some(MODEL_NAME.to_owned()),
        usage: Usage {
            input_tokens: pieces,
            output_tokens: 0,
        },
        attempts: 1,
        ..Decision::default()
    })
}

fn outside(
    embedder: &dyn Embedder,
    kind: &QuestionKind,
    situation: &Situation,
    given_up: &GivenUp,
) -> Result<(Answer, u64), EmbedError> {
    let (QuestionKind::Choice { instructions, .. }
    | QuestionKind::Noul { instructions, .. }
    | QuestionKind::Score { instructions, .. }) = kind;
    let mut asked = Asked::read(embedder, instructions, situation, given_up)?;
    let answer = match kind {
        QuestionKind::Choice { options, .. } => Answer::Choice(ChoiceAnswer::plain(
            asked.choice(embedder, options, given_up)?,
        )),
        QuestionKind::Noul {
            instructions,
            yes,
            no,
        } => Answer::Noul {
            noul: asked.noul(
                embedder,
                instructions,
                yes.as_deref(),
                no.as_deref(),
                given_up,
            )?,
        },
        QuestionKind::Score { levels, .. } => Answer::Score {
            probabilities: asked.score(embedder, levels, given_up)?,
        },
    };
    Ok((answer, asked.pieces))
}

/// Whether any option is one of the loop's.
fn of_the_loop(options: &[ChoiceOption]) -> bool {
    options
        .iter()
        .any(|option| option.subject != Subject::Opaque)
}

/// The loop's questions about one page, worked out together: a target's question and the
/// operation's must agree.
struct Page {
    /// Closeness of every option that is no operation, in the order of the questions, what was
    /// tried taken off.
    closeness: Vec<f64>,
    scene: Scene,
    vain: Vec<Operation>,
    pieces: u64,
}

impl Page {
    /// `None` when no question is the loop's.
    fn read(
        embedder: &dyn Embedder,
        questionnaire: &Questionnaire,
        situation: &Situation,
        given_up: &GivenUp,
    ) -> Result<Option<Self>, EmbedError> {
        let options: Vec<&ChoiceOption> = questionnaire
            .questions
            .iter()
            .filter_map(|question| match &question.kind {
                QuestionKind::Choice { options, .. } => Some(options),
                QuestionKind::Noul { .. } | QuestionKind::Score { .. } => None,
            })
            .filter(|options| of_the_loop(options))
            .flatten()
            .collect();
        if options.is_empty() {
            return Ok(None);
        }
        let links: Vec<Link<'_>> = options
            .iter()
            .filter_map(|option| match &option.subject {
                Subject::Operation(_) => None,
                Subject::Candidate {
                    label,
                    context,
                    href,
                    ..
                } => Some(Link {
                    label,
                    context,
                    href: href.as_ref(),
                }),
                Subject::Opaque => Some(Link {
                    label: &option.description,
                    context: "",
                    href: None,
                }),
            })
            .collect();
        let title = questionnaire.state.get("title").and_then(Value::as_str);
        let title = title.unwrap_or_default();
        let ranking = rank(embedder, &SHIPPED, &situation.goal, title, &links, given_up)?;
        let Ranking {
            mut closeness,
            foreign,
            pieces,
        } = ranking;
        let near = rules::near(foreign, situation.depth());
        take_off_tried(&mut closeness, &links, near, questionnaire, situation);
        keep_one_way(&mut closeness, &links);
        let asked: Vec<Operation> = options
            .iter()
            .filter_map(|option| match option.subject {
                Subject::Operation(operation) => Some(operation),
                Subject::Candidate { .. } | Subject::Opaque => None,
            })
            .collect();
        let vain: Vec<Operation> = asked
            .iter()
            .copied()
            .filter(|operation| in_vain(*operation, situation))
            .collect();
        let may_claim = asked.contains(&Operation::Done) && !vain.contains(&Operation::Done);
        let passage = if may_claim && questionnaire.stage == Stage::Decide {
            let labels: Vec<&str> = links.iter().map(|link| link.label).collect();
            passage::look(
                embedder,
                &situation.goal,
                &situation.text,
                &labels,
                given_up,
            )?
        } else {
            Passage::Silent
        };
        let scene = Scene {
            best: closeness.iter().copied().reduce(f64::max),
            foreign,
            depth: situation.depth(),
            loading: rules::loading(&situation.text, links.len()),
            passage,
            wish: rules::wish(&situation.goal),
        };
        Ok(Some(Self {
            closeness,
            scene,
            vain,
            pieces,
        }))
    }

    fn operation(&self, operation: Operation) -> f64 {
        let vain = if self.vain.contains(&operation) {
            Vain::Yes
        } else {
            Vain::No
        };
        rules::operation(operation, vain, &self.scene)
    }
}

/// Whether an operation was tried on this very page state and brought nothing.
fn in_vain(operation: Operation, situation: &Situation) -> bool {
    let tries = situation
        .history
        .iter()
        .rev()
        .take_while(|step| !step.page_changed)
        .filter(|step| step.is(operation))
        .count();
    match operation {
        Operation::Wait => tries >= PATIENCE,
        Operation::Click
        | Operation::ScrollDown
        | Operation::ScrollUp
        | Operation::Back
        | Operation::Reload
        | Operation::Press(_)
        | Operation::Done
        | Operation::Blocked
        | Operation::None => tries > 0,
    }
}

/// Links that were clicked before, and links to the page itself.
fn take_off_tried(
    closeness: &mut [f64],
    links: &[Link<'_>],
    near: f64,
    questionnaire: &Questionnaire,
    situation: &Situation,
) {
    let here = CanonicalUrl::parse(&situation.url).ok();
    for (close, link) in closeness.iter_mut().zip(links) {
        let itself = link.href.is_some() && link.href == here.as_ref();
        if itself || dead_end(questionnaire, link.label) {
            *close = NEVER;
            continue;
        }
        match situation.clicked(link.label) {
            Some(step) if step.page_changed => *close = rules::tried(*close, near),
            Some(_) => *close = NEVER,
            None => {}
        }
    }
}

/// Of links that lead to one address only the closest one competes: sites repeat their links in
/// menus and in the text, and two equal options would share the gate's odds between them.
fn keep_one_way(closeness: &mut [f64], links: &[Link<'_>]) {
    let mut best: HashMap<&str, usize> = HashMap::new();
    for (index, link) in links.iter().enumerate() {
        let Some(href) = link.href else { continue };
        let of = |index: usize| closeness.get(index).copied().unwrap_or(NEVER);
        match best.entry(href.as_str()) {
            Entry::Vacant(entry) => {
                entry.insert(index);
            }
            Entry::Occupied(mut entry) => {
                let loser = if of(index) > of(*entry.get()) {
                    entry.insert(index)
                } else {
                    index
                };
                if let Some(close) = closeness.get_mut(loser) {
                    *close = NEVER;
                }
            }
        }
    }
}

/// Whether a click on this label led to no page that may be read.
fn dead_end(questionnaire: &Questionnaire, label: &str) -> bool {
    let steps = questionnaire.state.get("history").and_then(Value::as_array);
    steps.into_iter().flatten().any(|step| {
        step.get("target").and_then(Value::as_str) == Some(label)
            && step.get("outcome").and_then(Value::as_str) == Some("dead_end")
    })
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
