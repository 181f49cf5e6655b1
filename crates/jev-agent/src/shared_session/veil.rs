//! The veil before the judge: whatever the host has typed is taken out of every question, wherever a
//! page shows it and however it is spelt there.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use jev_core::access::CanonicalUrl;
use jev_core::error::JudgeError;
use jev_core::host::TypedText;
use jev_core::ports::{Judge, JudgeIdentity};
use jev_core::question::{ChoiceOption, Decision, Question, QuestionKind, Questionnaire, Subject};
use jev_core::redact::{Hidden, Redactor};
use serde_json::Value;

/// A judge behind the veil.
pub(super) struct VeiledJudge {
    judge: Arc<dyn Judge>,
    redactor: RwLock<Redactor>,
}

impl VeiledJudge {
    pub(super) fn new(judge: Arc<dyn Judge>, redactor: Redactor) -> Self {
        Self {
            judge,
            redactor: RwLock::new(redactor),
        }
    }

    pub(super) fn hide(&self, text: &TypedText) {
        self.redactor
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .hide(text.reveal(), Hidden::Typed);
    }

    fn veil(&self, questionnaire: &Questionnaire) -> Option<Questionnaire> {
        let redactor = self.redactor.read().unwrap_or_else(PoisonError::into_inner);
        if !redactor.knows_secrets() {
            return None;
        }
        let text = |text: &str| redactor.known_only(text).into_owned();
        Some(Questionnaire {
            stage: questionnaire.stage,
            goal: text(&questionnaire.goal),
            state: value(&questionnaire.state, &redactor),
            questions: questionnaire
                .questions
                .iter()
                .map(|question| Question {
                    id: question.id.clone(),
                    kind: kind(&question.kind, &redactor),
                })
                .collect(),
        })
    }
}

/// A value with every string in it veiled, keys included.
fn value(value: &Value, redactor: &Redactor) -> Value {
    match value {
        Value::String(text) => Value::String(redactor.known_only(text).into_owned()),
        Value::Array(items) => items
            .iter()
            .map(|item| self::value(item, redactor))
            .collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, field)| {
                let key = redactor.known_only(key).into_owned();
                (key, self::value(field, redactor))
            })
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn kind(kind: &QuestionKind, redactor: &Redactor) -> QuestionKind {
    match kind {
        QuestionKind::Choice {
            instructions,
            options,
        } => QuestionKind::Choice {
            instructions: instructions.clone(),
            options: options
                .iter()
                .map(|known| option(known, redactor))
                .collect(),
        },
        // The loop asks no other kind; instructions are its own words.
        QuestionKind::Noul { .. } | QuestionKind::Score { .. } => kind.clone(),
    }
}

fn option(option: &ChoiceOption, redactor: &Redactor) -> ChoiceOption {
    let text = |text: &str| redactor.known_only(text).into_owned();
    ChoiceOption {
        name: option.name.clone(),
        description: text(&option.description),
        subject: match &option.subject {
            Subject::Candidate {
                id,
                label,
                context,
                href,
            } => Subject::Candidate {
                id: id.clone(),
                label: text(label),
                context: text(context),
                href: href
                    .as_ref()
                    .and_then(|href| CanonicalUrl::parse(&text(href.as_str())).ok()),
            },
            Subject::Operation(_) | Subject::Opaque => option.subject.clone(),
        },
    }
}

#[async_trait]
impl Judge for VeiledJudge {
    fn identity(&self) -> JudgeIdentity {
        self.judge.identity()
    }

    async fn decide(
        &self,
        questionnaire: &Questionnaire,
        deadline: Duration,
    ) -> Result<Decision, JudgeError> {
        match self.veil(questionnaire) {
            Some(veiled) => self.judge.decide(&veiled, deadline).await,
            None => self.judge.decide(questionnaire, deadline).await,
        }
    }
}

#[cfg(test)]
mod conformance {
    use jev_core::testing::{self, Clock};
    use jev_judge::lexical::LexicalJudge;

    use super::*;

    #[tokio::test]
    async fn a_veiled_judge_conforms() {
        let veiled = VeiledJudge::new(Arc::new(LexicalJudge), Redactor::new());
        let clock = Clock::new(tokio::time::sleep);
        assert!(testing::judge(&veiled, &clock).await.is_ok());
        veiled.hide(&TypedText::new("Warranty and returns").unwrap());
        let answered = testing::judge(&veiled, &clock).await.unwrap();
        assert!(answered.refused.is_empty(), "{answered:?}");
    }
}
