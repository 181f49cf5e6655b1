//! The Choice protocol of System One decision models, and the judges that speak it.
//!
//! A judge answers multiple-choice questions: it gets a [`Questionnaire`] and gives a [`Decision`],
//! one probability an option, or a typed error. All judges implement the one port
//! [`jev_core::ports::Judge`]; [`spec::JudgeSpec`] makes one of the name a user writes:
//!
//! | name | judge | needs |
//! |---|---|---|
//! | `lexical` | [`lexical`]: shared words and trigrams, ranks | nothing |
//! | `embedded` | `embedded`: sentence embeddings, ranks (feature `embedded`) | installed weights |
//! | `scripted:FILE` | [`scripted`]: answers written beforehand | a file |
//! | `systemone:URL` | [`provider::compatible`]: any server of the protocol | a server |
//! | `chat:URL#MODEL` | [`provider::chat`]: a chat model with log-probabilities | a server |
//! | `typesafe`, `openrouter` | [`provider::typesafe`], [`provider::openrouter`]: hosted | a key |
//! | `record:FILE=JUDGE`, `replay:FILE` | [`recorded`]: cassettes | a file |
//!
//! What a server says is checked completely by one pure function, [`validate::validate`]; any
//! fault voids the whole reply. [`client`] bounds time, size and retries, follows no redirect and
//! keeps keys out of everything that is written. [`permute`] asks in several option orders. The
//! feature `server` serves any judge to other tools; the feature `conformance` holds the client's
//! behaviour at every fault of a public conformance tool as data.
//!
//! A judge used alone:
//!
//! ```
//! use std::time::Duration;
//!
//! use jev_core::question::{
//!     Answer, ChoiceOption, Question, QuestionKind, Questionnaire, Stage, Subject,
//! };
//! use jev_judge::spec::{BuildOptions, JudgeSpec};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), jev_core::error::JudgeError> {
//! let judge = JudgeSpec::parse("lexical")?.build(&BuildOptions::default())?;
//! let option = |name: &str, description: &str| ChoiceOption {
//!     name: name.to_owned(),
//!     description: description.to_owned(),
//!     subject: Subject::Opaque,
//! };
//! let questionnaire = Questionnaire {
//!     stage: Stage::Decide,
//!     goal: String::new(),
//!     state: serde_json::json!({"ticket": "I was charged twice and want my refund"}),
//!     questions: vec![Question {
//!         id: "team".to_owned(),
//!         kind: QuestionKind::Choice {
//!             instructions: "Which team should handle the ticket?".to_owned(),
//!             options: vec![
//!                 option("billing", "payments, invoices, refunds"),
//!                 option("technical", "bugs and outages"),
//!             ],
//!         },
//!     }],
//! };
//! let decision = judge.decide(&questionnaire, Duration::from_secs(2)).await?;
//! let Some(Answer::Choice(team)) = decision.answers.first() else {
//!     unreachable!("a choice is answered by a choice");
//! };
//! assert_eq!(team.top().map(|(index, _, _)| index), Some(0));
//! # Ok(())
//! # }
//! ```
//!
//! [`Questionnaire`]: jev_core::question::Questionnaire
//! [`Decision`]: jev_core::question::Decision
#![forbid(unsafe_code)]

pub mod client;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod credential;
#[cfg(feature = "embedded")]
pub mod embedded;
pub mod endpoint;
mod json;
pub mod json_client;
pub mod lexical;
pub mod model;
pub mod permute;
pub mod probe;
pub mod provider;
pub mod recorded;
pub mod retry;
pub mod scripted;
#[cfg(feature = "server")]
pub mod server;
mod situation;
pub mod spec;
#[cfg(test)]
mod testing;
mod text;
pub mod validate;
pub mod wire;
