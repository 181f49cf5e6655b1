//! Questions and decisions: what a judge is asked and what a valid answer is. How a page becomes
//! questions is in `asking`; how an answer becomes a proposal is in `proposal`.

use serde::{Deserialize, Serialize};

use crate::access::CanonicalUrl;
use crate::action::Operation;

/// Everything one request to a judge holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Questionnaire {
    /// Which of the two stages of a step this is.
    pub stage: Stage,
    /// The goal, for judges that work on it directly. It stands in `state` too.
    pub goal: String,
    /// What every question refers to: a JSON object. Page content stands only here and in the
    /// options' descriptions, never in instructions or option names.
    pub state: serde_json::Value,
    /// The questions; never empty, ids unique.
    pub questions: Vec<Question>,
}

/// The stages of one judged step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// More candidates than one question may hold: each question is a window over some of them,
    /// and asks which could lead to the goal.
    Narrow,
    /// The decision itself.
    Decide,
}

/// One question.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Question {
    /// Echoed in the answer, not shown to the model. Not empty.
    pub id: String,
    /// What is asked.
    pub kind: QuestionKind,
}

/// The three kinds of question.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum QuestionKind {
    /// Exactly one of the options.
    Choice {
        /// What to decide.
        instructions: String,
        /// 2 to 255 options, names unique.
        options: Vec<ChoiceOption>,
    },
    /// The probability of yes.
    Noul {
        /// What to decide.
        instructions: String,
        /// What yes means.
        yes: Option<String>,
        /// What no means.
        no: Option<String>,
    },
    /// A place on an ordered scale.
    Score {
        /// What to judge.
        instructions: String,
        /// 2 to 10 levels, lowest first.
        levels: Vec<String>,
    },
}

/// One option of a choice.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChoiceOption {
    /// A short id, unique in its question.
    pub name: String,
    /// What the option means, in words a model can read.
    pub description: String,
    /// The same in types, for judges that run in process. Not sent over a wire.
    #[serde(skip)]
    pub subject: Subject,
}

/// What an option stands for.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Subject {
    /// Only its name and description are known (a question from outside).
    #[default]
    Opaque,
    /// An operation without a target.
    Operation(Operation),
    /// A click on a candidate.
    Candidate {
        /// The candidate's id.
        id: String,
        /// Its accessible name.
        label: String,
        /// The heading it stands under; may be empty.
        context: String,
        /// Where it leads.
        href: Option<CanonicalUrl>,
    },
}

/// A judge's valid answer: the answers stand in the order of the questions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// One answer a question, in the questions' order.
    pub answers: Vec<Answer>,
    /// The model that answered, as the server says it.
    pub model: Option<String>,
    /// Tokens, where the judge counts them.
    pub usage: Usage,
    /// The server's id of the request.
    pub request_id: Option<String>,
    /// How many requests it took; 0 for a judge that asks nobody.
    pub attempts: u32,
    /// Answers and fields that are not of the protocol or were not asked for, and were ignored.
    #[serde(default)]
    pub ignored_fields: u32,
    /// Fields of the protocol that were missing or off although nothing here needs them: a
    /// server's own confidence, score or legend.
    #[serde(default)]
    pub odd_fields: u32,
}

/// Tokens of one or more decisions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Read by the model.
    pub input_tokens: u64,
    /// Written by the model.
    pub output_tokens: u64,
}

impl Usage {
    /// Adds another decision's tokens. Counts come over the wire: a sum that no number can hold
    /// stays at the largest one.
    pub fn add(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
    }
}

/// The answer to one question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Answer {
    /// To a choice.
    Choice(ChoiceAnswer),
    /// To a yes-or-no question: the probability of yes, 0 to 1.
    Noul {
        /// The probability of yes.
        noul: f64,
    },
    /// To a score: the distribution over the levels.
    Score {
        /// One probability a level; they sum to 1.
        probabilities: Vec<f64>,
    },
}

/// The answer to a choice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChoiceAnswer {
    /// One probability an option, in the question's order; finite, 0 to 1, they sum to 1.
    pub probabilities: Vec<f64>,
    /// The server's own confidence; advisory, every server computes it differently.
    pub confidence: Option<f64>,
    /// What had to be put right or was noticed.
    pub flags: AnswerFlags,
}

/// Remarks on an answer that was accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AnswerFlags {
    /// The sum that the probabilities were divided by, when it was not 1.
    pub renormalised_by: Option<f64>,
    /// The decimals that the server rounded every probability to (2 to 6), when it did.
    #[serde(default)]
    pub rounded_to: Option<u8>,
    /// Probability mass that fell on none of the options (chat models).
    pub missing_mass: Option<f64>,
    /// How far option orders disagreed: the largest total variation distance of two of them, 0 to 1.
    pub order_disagreement: Option<f64>,
    /// Options that the server said nothing of, and whose probability is an upper bound (chat
    /// models list only the likeliest tokens).
    #[serde(default)]
    pub bounded_options: u32,
    /// Fields that are not of the protocol and were ignored.
    pub ignored_fields: u32,
}

impl ChoiceAnswer {
    /// An answer without remarks.
    #[must_use]
    pub fn plain(probabilities: Vec<f64>) -> Self {
        Self {
            probabilities,
            confidence: None,
            flags: AnswerFlags::default(),
        }
    }

    /// The most probable option's index (the first of equals), its probability, and the best of
    /// the others. `None` without options.
    #[must_use]
    pub fn top(&self) -> Option<(usize, f64, f64)> {
        let mut best: Option<(usize, f64)> = None;
        let mut second = 0.0;
        for (index, &p) in self.probabilities.iter().enumerate() {
            match best {
                Some((_, top)) if p <= top => second = f64::max(second, p),
                Some((_, top)) => {
                    second = top;
                    best = Some((index, p));
                }
                None => best = Some((index, p)),
            }
        }
        best.map(|(index, p)| (index, p, second))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn top_names_the_first_of_equals_and_the_runner_up() {
        for (p, expected) in [
            (vec![], None),
            (vec![1.0], Some((0, 1.0, 0.0))),
            (vec![0.2, 0.5, 0.3], Some((1, 0.5, 0.3))),
            (vec![0.5, 0.5], Some((0, 0.5, 0.5))),
            (vec![0.6, 0.1, 0.3], Some((0, 0.6, 0.3))),
        ] {
            assert_eq!(ChoiceAnswer::plain(p.clone()).top(), expected, "{p:?}");
        }
    }
}
