//! A chat model with log-probabilities as a decision model: one question a request, lettered
//! options, the first token's distribution over the letters, forward and reversed order averaged.
//!
//! `prompt` writes the requests, `logprobs` reads the replies; both are pure. The judge here puts
//! them together: the probe that finds out what the server takes, two orders, two stages.

mod logprobs;
mod prompt;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use tokio::time::Instant;

use jev_core::error::{AnswerFault, JudgeError};
use jev_core::ports::{Judge, JudgeIdentity, JudgeKind};
use jev_core::question::{
    Answer, AnswerFlags, ChoiceAnswer, Decision, Question, QuestionKind, Questionnaire, Usage,
};

use self::logprobs::ReadOut;
use self::prompt::{Asked, Settings};
use super::judge_status;
use crate::client::{Bounds, Client, Verdict};
use crate::credential::Credential;
use crate::endpoint::Endpoint;
use crate::model::{answers_to, is_model_name};
use crate::permute::{disagreement, larger};

/// Members of a group are asked one by one only when the group got this much.
const GROUP_WORTH_A_LOOK: f64 = 0.1;
/// Most ways of asking that the probe tries.
const PROBE_TRIES: usize = 5;
/// Largest request body, in bytes: about 64,000 tokens of text.
const BODY_MAX_BYTES: usize = 256 * 1024;

/// A chat model behind an OpenAI-compatible endpoint.
#[derive(Debug)]
pub struct ChatJudge {
    model: String,
    client: Client,
    settings: OnceCell<Settings>,
    /// What the probe cost, until a decision has counted it.
    probe_cost: Mutex<Usage>,
}

/// What one distribution cost and how sure it is.
#[derive(Clone, Debug, Default)]
struct Asking {
    usage: Usage,
    attempts: u32,
    request_id: Option<String>,
    model: Option<String>,
}

impl ChatJudge {
    /// A judge at an address whose path ends in `/chat/completions`.
    ///
    /// # Errors
    /// [`JudgeError::Config`] for a name that no model can have, or a client that can't be set up.
    pub fn new(
        model: &str,
        endpoint: Endpoint,
        credential: Credential,
        headers: &[(String, String)],
        bounds: Bounds,
    ) -> Result<Self, JudgeError> {
        if !is_model_name(model) {
            return Err(JudgeError::Config {
                what: "the model's name is empty, too long or not plain text".to_owned(),
            });
        }
        Ok(Self {
            model: model.to_owned(),
            client: Client::new(endpoint, credential, headers, bounds)?,
            settings: OnceCell::new(),
            probe_cost: Mutex::new(Usage::default()),
        })
    }

    /// Finds out how the server wants to be asked, once: one tiny question in both orders, checked
    /// strictly.
    ///
    /// # Errors
    /// [`JudgeError::Capability`] when no way of asking brings log-probabilities of letters.
    pub async fn probe(&self, deadline: Duration) -> Result<(), JudgeError> {
        self.settings(Instant::now() + deadline).await.map(|_| ())
    }

    async fn settings(&self, end: Instant) -> Result<Settings, JudgeError> {
        self.settings
            .get_or_try_init(|| self.negotiate(end))
            .await
            .copied()
    }

    async fn negotiate(&self, end: Instant) -> Result<Settings, JudgeError> {
        let lines = ["an apple".to_owned(), "a hammer".to_owned()];
        let turned = ["a hammer".to_owned(), "an apple".to_owned()];
        let mut settings = Settings::default();
        let mut last = JudgeError::Timeout;
        for _ in 0..PROBE_TRIES {
            let hint = Mutex::new(None);
            let judge = |status: u16, body: &[u8]| {
                if matches!(status, 400 | 422)
                    && let Ok(mut hint) = hint.lock()
                {
                    *hint = settings.adapted(body);
                }
                judge_status(status)
            };
            // In both orders: a model that always says "A" chooses nothing.
            let mut right = Ok(true);
            for (lines, at) in [(&lines, 0), (&turned, 1)] {
                let question = Asked {
                    state: &json!({}),
                    instructions: "Which of these is a fruit?",
                    lines,
                };
                right = self
                    .once(&settings, &question, end, judge, &mut Asking::default())
                    .await
                    .map(|read| {
                        self.owe(read.usage);
                        read.p.get(at).is_some_and(|p| *p > 0.5)
                    });
                if right != Ok(true) {
                    break;
                }
            }
            match right {
                Ok(true) => return Ok(settings),
                Ok(false) => {
                    return Err(JudgeError::Capability {
                        what: "the model does not answer a plain question by its letter".to_owned(),
                    });
                }
                Err(error) => last = error,
            }
            let adapted = if is_no_letter(&last) {
                settings.otherwise_unthinking()
            } else {
                hint.into_inner().ok().flatten()
            };
            match adapted {
                Some(adapted) => settings = adapted,
                None => break,
            }
        }
        // Such a server is there and answers, only not so that it could be used.
        let what = if is_no_letter(&last) {
            "the model does not begin its answer with a letter, with thinking switched off in every \
             known way; choose a model that does not think first"
                .to_owned()
        } else if matches!(
            last,
            JudgeError::Protocol { .. } | JudgeError::InvalidRequest { .. }
        ) {
            format!("no log-probabilities of letters from this server ({last})")
        } else {
            return Err(last);
        };
        Err(JudgeError::Capability { what })
    }

    fn owe(&self, usage: Usage) {
        let mut cost = self
            .probe_cost
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        cost.add(usage);
    }

    /// What the probe cost, once.
    fn unpaid(&self) -> Usage {
        let mut cost = self
            .probe_cost
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *cost)
    }

    /// One request: the distribution over its lines, in the order in which they stand.
    async fn once(
        &self,
        settings: &Settings,
        asked: &Asked<'_>,
        end: Instant,
        judge: impl Fn(u16, &[u8]) -> Verdict,
        asking: &mut Asking,
    ) -> Result<ReadOut, JudgeError> {
        let body = prompt::body(&self.model, settings, asked);
        if body.len() > BODY_MAX_BYTES {
            return Err(JudgeError::TooLarge);
        }
        let left = end.saturating_duration_since(Instant::now());
        let reply = self.client.post(body, left, judge).await?;
        let read = logprobs::read(&reply.body, asked.lines.len()).map_err(|fault| {
            JudgeError::Protocol {
                question: None,
                fault,
            }
        })?;
        if let Some(model) = &read.model
            && !answers_to(&self.model, model)
        {
            return Err(JudgeError::Protocol {
                question: None,
                fault: AnswerFault::Model,
            });
        }
        asking.attempts = asking.attempts.saturating_add(reply.attempts);
        asking.usage.add(read.usage);
        asking.request_id = reply.request_id.or_else(|| asking.request_id.take());
        asking.model = read.model.clone().or_else(|| asking.model.take());
        Ok(read)
    }

    /// Forward and reversed, averaged.
    async fn both_orders(
        &self,
        asked: &Asked<'_>,
        end: Instant,
        asking: &mut Asking,
    ) -> Result<ChoiceAnswer, JudgeError> {
        let settings = self.settings(end).await?;
        let reversed: Vec<String> = asked.lines.iter().rev().cloned().collect();
        let backward = Asked {
            lines: &reversed,
            ..*asked
        };
        let mut other = Asking::default();
        let plain = |status: u16, _: &[u8]| judge_status(status);
        let (forward, backward) = tokio::join!(
            self.once(&settings, asked, end, plain, asking),
            self.once(&settings, &backward, end, plain, &mut other),
        );
        let (forward, mut backward) = (forward?, backward?);
        backward.p.reverse();
        asking.attempts = asking.attempts.saturating_add(other.attempts);
        asking.usage.add(other.usage);
        let missing = f64::max(forward.missing_mass, backward.missing_mass);
        let probabilities = forward
            .p
            .iter()
            .zip(&backward.p)
            .map(|(a, b)| f64::midpoint(*a, *b))
            .collect();
        Ok(ChoiceAnswer {
            probabilities,
            confidence: None,
            flags: AnswerFlags {
                missing_mass: (missing > 0.0).then_some(missing),
                order_disagreement: Some(disagreement(&forward.p, &backward.p)),
                bounded_options: forward.bounded.max(backward.bounded),
                ..AnswerFlags::default()
            },
        })
    }

    /// The distribution over any number of lines: at once where every letter can be seen, else
    /// first over groups and then inside those that got something, which may be grouped again: a
    /// server that lists five letters takes three stages for a hundred options.
    async fn distribution(
        &self,
        asked: &Asked<'_>,
        end: Instant,
        asking: &mut Asking,
    ) -> Result<ChoiceAnswer, JudgeError> {
        let most = self.settings(end).await?.labels();
        let count = asked.lines.len();
        if count <= most {
            return self.both_orders(asked, end, asking).await;
        }
        let size = count.div_ceil(count.div_ceil(most).min(most));
        let titles: Vec<String> = asked.lines.chunks(size).map(prompt::group).collect();
        let over_groups = Asked {
            lines: &titles,
            ..*asked
        };
        let mut whole = self.both_orders(&over_groups, end, asking).await?;
        let best = whole.top().map(|(index, _, _)| index);
        let shares = std::mem::take(&mut whole.probabilities);
        for (index, (members, share)) in asked.lines.chunks(size).zip(shares).enumerate() {
            if Some(index) != best && share < GROUP_WORTH_A_LOOK {
                // Not worth a request: the share stands, spread evenly, and is marked as a bound.
                let each = share / members.len() as f64;
                whole.probabilities.extend(members.iter().map(|_| each));
                whole.flags.bounded_options += u32::try_from(members.len()).unwrap_or(u32::MAX);
                continue;
            }
            let inside = Asked {
                lines: members,
                ..*asked
            };
            let answer = Box::pin(self.distribution(&inside, end, asking)).await?;
            let part = answer.probabilities.iter().map(|p| p * share);
            whole.probabilities.extend(part);
            let flags = &mut whole.flags;
            flags.bounded_options += answer.flags.bounded_options;
            flags.missing_mass = larger(flags.missing_mass, answer.flags.missing_mass);
            flags.order_disagreement =
                larger(flags.order_disagreement, answer.flags.order_disagreement);
        }
        Ok(whole)
    }

    async fn answer(
        &self,
        state: &Value,
        question: &Question,
        end: Instant,
        asking: &mut Asking,
    ) -> Result<Answer, JudgeError> {
        let (instructions, lines) = prompt::lines(&question.kind);
        let asked = Asked {
            state,
            instructions,
            lines: &lines,
        };
        let answer = self
            .distribution(&asked, end, asking)
            .await
            .map_err(|error| name_question(error, &question.id))?;
        Ok(match &question.kind {
            QuestionKind::Choice { .. } => Answer::Choice(answer),
            QuestionKind::Noul { .. } => Answer::Noul {
                noul: answer.probabilities.first().copied().unwrap_or_default(),
            },
            QuestionKind::Score { .. } => Answer::Score {
                probabilities: answer.probabilities,
            },
        })
    }
}

/// Whether a model answered, but by something else than a letter: as one that thinks aloud does.
fn is_no_letter(error: &JudgeError) -> bool {
    matches!(
        error,
        JudgeError::Protocol {
            fault: AnswerFault::Choice | AnswerFault::Mass,
            ..
        }
    )
}

fn name_question(error: JudgeError, id: &str) -> JudgeError {
    if let JudgeError::Protocol {
        question: None,
        fault,
    } = error
        && fault != AnswerFault::Model
    {
        return JudgeError::Protocol {
            question: Some(id.to_owned()),
            fault,
        };
    }
    error
}

#[async_trait]
impl Judge for ChatJudge {
    fn identity(&self) -> JudgeIdentity {
        JudgeIdentity {
            name: "chat".to_owned(),
            model: Some(self.model.clone()),
            kind: JudgeKind::Decides,
        }
    }

    /// Asks question by question: several in one prompt would bias each other.
    async fn decide(
        &self,
        questionnaire: &Questionnaire,
        deadline: Duration,
    ) -> Result<Decision, JudgeError> {
        let end = Instant::now() + deadline;
        // The first decision pays for the probe.
        self.settings(end).await?;
        let mut asking = Asking::default();
        asking.usage.add(self.unpaid());
        let mut answers = Vec::with_capacity(questionnaire.questions.len());
        for question in &questionnaire.questions {
            let state = &questionnaire.state;
            answers.push(self.answer(state, question, end, &mut asking).await?);
        }
        Ok(Decision {
            answers,
            model: asking.model,
            usage: asking.usage,
            request_id: asking.request_id,
            attempts: asking.attempts,
            ..Decision::default()
        })
    }
}
