//! What the client must do at each fault that the public conformance tool's mock server
//! (`jevcompat mock`, 0.1.1) can inject: one table, run against recorded replies in this crate's
//! tests and against the tool itself where Python is there.

use std::time::Duration;

use serde_json::{Value, json};

use jev_core::error::{AnswerFault, JudgeError};
use jev_core::ports::Judge as _;
use jev_core::question::{ChoiceOption, Question, QuestionKind, Questionnaire, Stage, Subject};

use crate::client::Bounds;
use crate::credential::{Credential, Secret};
use crate::endpoint::Endpoint;
use crate::provider::HttpJudge;
use crate::provider::compatible::Compatible;
use crate::retry::RetryPolicy;
use crate::wire::Capabilities;

/// The key of a mock that wants one.
pub const MOCK_KEY: &str = "mock-key-0123456789";

/// One situation and what must come of it.
#[derive(Clone, Debug)]
pub struct Case {
    /// A name of its own, fit for a file.
    pub name: &'static str,
    /// The mock's fault, none for the faultless mock.
    pub fault: Option<&'static str>,
    /// Whether the mock wants [`MOCK_KEY`].
    pub wants_key: WantsKey,
    /// The key that is sent.
    pub sends: Option<&'static str>,
    /// The model that is asked for.
    pub model: &'static str,
    /// What is asked.
    pub asks: Asks,
    /// What must come of it.
    pub expected: Expected,
}

/// Whether a mock wants a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WantsKey {
    /// It does.
    Yes,
    /// It does not.
    No,
}

/// What a case asks.
#[derive(Clone, Debug)]
pub enum Asks {
    /// A decision.
    Decision(Box<Questionnaire>),
    /// The list of models.
    Models,
}

/// What must come of a case.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// An accepted decision with so many remarks.
    Decision {
        /// Fields nobody asked for.
        ignored: u32,
        /// Fields that are missing or off and not needed.
        odd: u32,
    },
    /// A list of models.
    Models,
    /// Exactly this error.
    Error(JudgeError),
}

/// Runs one case against a server.
///
/// # Errors
/// What came instead of what was expected.
pub async fn run(case: &Case, base: &str) -> Result<(), Expected> {
    let found = outcome(case, base).await;
    if found == case.expected {
        Ok(())
    } else {
        Err(found)
    }
}

/// The adapter of a case, for whoever wants the request itself.
///
/// # Errors
/// [`JudgeError::Config`] for a model that can't be one.
pub fn provider(case: &Case) -> Result<Compatible, JudgeError> {
    Compatible::new(case.model, Capabilities::default())
}

async fn outcome(case: &Case, base: &str) -> Expected {
    let deadline = Duration::from_secs(20);
    let judge = match judge(case, base) {
        Ok(judge) => judge,
        Err(error) => return Expected::Error(error),
    };
    match &case.asks {
        Asks::Decision(asked) => match judge.decide(asked, deadline).await {
            Ok(decision) => Expected::Decision {
                ignored: decision.ignored_fields,
                odd: decision.odd_fields,
            },
            Err(error) => Expected::Error(error),
        },
        Asks::Models => match judge.models(deadline).await {
            Ok(_) => Expected::Models,
            Err(error) => Expected::Error(error),
        },
    }
}

fn judge(case: &Case, base: &str) -> Result<HttpJudge<Compatible>, JudgeError> {
    let bounds = Bounds {
        retry: RetryPolicy {
            base: Duration::from_millis(1),
            ..RetryPolicy::default()
        },
        ..Bounds::default()
    };
    let credential = match case.sends.and_then(Secret::new) {
        Some(secret) => Credential::Given { secret },
        None => Credential::None,
    };
    let endpoint = Endpoint::parse(base)?.with_tail("systemone");
    HttpJudge::new(provider(case)?, endpoint, credential, &[], bounds)
}

const CHOICE: &str = "next.step \u{1f3af}";
const NOUL: &str = "paid";
const SCORE: &str = "mood";

fn question(id: &str, kind: QuestionKind) -> Question {
    Question {
        id: id.to_owned(),
        kind,
    }
}

fn choice(names: &[&str]) -> Question {
    let options = names.iter().map(|name| ChoiceOption {
        name: (*name).to_owned(),
        description: format!("what {name} stands for"),
        subject: Subject::Opaque,
    });
    question(
        CHOICE,
        QuestionKind::Choice {
            instructions: "Which element opens the checkout?".to_owned(),
            options: options.collect(),
        },
    )
}

fn noul(yes: Option<&str>) -> Question {
    question(
        NOUL,
        QuestionKind::Noul {
            instructions: "Is the order paid?".to_owned(),
            yes: yes.map(str::to_owned),
            no: None,
        },
    )
}

fn score(levels: usize) -> Question {
    let levels = (0..levels).map(|level| format!("mood number {level} of the buyer"));
    question(
        SCORE,
        QuestionKind::Score {
            instructions: "How content is the buyer?".to_owned(),
            levels: levels.collect(),
        },
    )
}

fn asks(state: Value, questions: Vec<Question>) -> Asks {
    Asks::Decision(Box::new(Questionnaire {
        stage: Stage::Decide,
        goal: String::new(),
        state,
        questions,
    }))
}

/// All three kinds, with capitals and composed letters in the options.
fn everything() -> Asks {
    asks(
        json!({"page": "Cart, 2 items"}),
        vec![
            choice(&["Pay", "caf\u{e9}", "\u{d658}\u{bd88}", "none"]),
            noul(None),
            score(3),
        ],
    )
}

fn only(question: Question) -> Asks {
    asks(json!({"page": "Cart, 2 items"}), vec![question])
}

fn void(question: Option<&str>, fault: AnswerFault) -> Expected {
    Expected::Error(JudgeError::Protocol {
        question: question.map(str::to_owned),
        fault,
    })
}

const FINE: Expected = Expected::Decision { ignored: 0, odd: 0 };

/// Every case: each of the 47 faults at least once, and the faultless mock's own refusals.
#[must_use]
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |name, fault, asks: Asks, expected: Expected| {
        cases.push(Case {
            name,
            fault,
            wants_key: WantsKey::No,
            sends: None,
            model: "jev-latest",
            asks,
            expected,
        });
    };
    let refused = |status| Expected::Error(JudgeError::InvalidRequest { status });
    let absent = |status| Expected::Error(JudgeError::NotFound { status });
    let bare_array = asks(json!(["Cart", 2]), vec![noul(None)]);
    let no_state = || asks(Value::Null, vec![noul(None)]);
    let many: Vec<String> = (0..65).map(|index| format!("option {index}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();

    add("clean", None, everything(), FINE);
    add("clean-models", None, Asks::Models, Expected::Models);
    add("clean-no-state", None, no_state(), refused(422));

    // The address is wrong, or is not what it seems.
    add(
        "wrong-route",
        Some("wrong-route"),
        everything(),
        absent(404),
    );
    add("models-404", Some("models-404"), Asks::Models, absent(404));
    add(
        "reject-jev-latest",
        Some("reject-jev-latest"),
        everything(),
        absent(404),
    );

    // The reply breaks a rule that an answer hangs on.
    for (name, question, fault) in [
        ("xssi-200", None, AnswerFault::Shape),
        ("nan", None, AnswerFault::Shape),
        ("no-usage", None, AnswerFault::Usage),
        ("float-usage", None, AnswerFault::Usage),
        ("first-question-only", Some(NOUL), AnswerFault::Missing),
        ("boolean-type", Some(NOUL), AnswerFault::Type),
        ("noul-range", Some(NOUL), AnswerFault::Range),
        ("choice-key-case", Some(CHOICE), AnswerFault::OptionMissing),
        ("nfd-keys", Some(CHOICE), AnswerFault::OptionMissing),
        ("choice-sum", Some(CHOICE), AnswerFault::Sum),
        ("choice-second", Some(CHOICE), AnswerFault::Choice),
        (
            "score-keys-1-based",
            Some(SCORE),
            AnswerFault::OptionMissing,
        ),
        ("score-sum", Some(SCORE), AnswerFault::Sum),
    ] {
        add(name, Some(name), everything(), void(question, fault));
    }

    // The reply is odd in something that nothing hangs on.
    for (name, ignored, odd) in [
        ("plain-content-type", 0, 0),
        ("confidence-margin", 0, 0),
        ("unprefixed-extra", 1, 0),
        ("extra-answer", 1, 0),
        ("choice-no-confidence", 0, 1),
        ("confidence-over", 0, 2),
        ("score-no-legend", 0, 1),
        ("legend-1-based", 0, 1),
        ("score-argmax", 0, 1),
    ] {
        let expected = Expected::Decision { ignored, odd };
        add(name, Some(name), everything(), expected);
    }

    // The server takes less than the protocol promises.
    let strange_id = only(choice(&["a", "b"]));
    add("strict-ids", Some("strict-ids"), strange_id, refused(422));
    add(
        "reject-array-state",
        Some("reject-array-state"),
        bare_array,
        refused(422),
    );
    add(
        "noul-two-sided",
        Some("noul-two-sided"),
        only(noul(Some("so"))),
        refused(422),
    );
    add("cap-64", Some("cap-64"), only(choice(&many)), refused(422));
    add(
        "cap-5-levels",
        Some("cap-5-levels"),
        only(score(6)),
        refused(422),
    );
    add(
        "validation-400",
        Some("validation-400"),
        no_state(),
        refused(400),
    );

    // Faults that our requests never touch, and leaks that a client can't see.
    for name in [
        "forbid-extra",
        "string-only-text",
        "noul-needs-instructions",
        "no-null-description",
        "accept-map-score",
        "accept-boolean",
        "500-on-unknown-type",
        "id-leaks",
        "batch-leaks",
        "order-leaks",
    ] {
        add(name, Some(name), everything(), FINE);
    }

    add_unknown_models(&mut cases);
    add_keys(&mut cases);
    cases
}

fn add_unknown_models(cases: &mut Vec<Case>) {
    for (name, fault) in [
        ("clean-unknown-model", None),
        ("text-errors", Some("text-errors")),
        ("error-flat", Some("error-flat")),
    ] {
        cases.push(Case {
            name,
            fault,
            wants_key: WantsKey::No,
            sends: None,
            model: "no-such-model",
            asks: everything(),
            expected: Expected::Error(JudgeError::InvalidRequest { status: 400 }),
        });
    }
    // The mock answers a pinned model under its own name.
    cases.push(Case {
        name: "clean-pinned-model",
        fault: None,
        wants_key: WantsKey::No,
        sends: None,
        model: "jev-1.13.0",
        asks: everything(),
        expected: void(None, AnswerFault::Model),
    });
}

fn add_keys(cases: &mut Vec<Case>) {
    use WantsKey::{No, Yes};
    let refused = |status| Expected::Error(JudgeError::Auth { status });
    let wrong = Some("wrong-key-0123456789");
    for (name, fault, wants_key, sends, expected) in [
        ("clean-key", None, Yes, Some(MOCK_KEY), FINE),
        ("clean-no-key", None, Yes, None, refused(403)),
        ("clean-wrong-key", None, Yes, wrong, refused(401)),
        ("auth-plain", Some("auth-plain"), Yes, None, refused(401)),
        (
            "auth-invalid-403-text",
            Some("auth-invalid-403-text"),
            Yes,
            wrong,
            refused(401),
        ),
        (
            "auth-x-api-key",
            Some("auth-x-api-key"),
            Yes,
            Some(MOCK_KEY),
            refused(403),
        ),
        (
            "auth-rejects-header",
            Some("auth-rejects-header"),
            No,
            Some(MOCK_KEY),
            refused(401),
        ),
    ] {
        cases.push(Case {
            name,
            fault,
            wants_key,
            sends,
            model: "jev-latest",
            asks: everything(),
            expected,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn all_47_faults_stand_in_the_table_and_names_are_unique() {
        let cases = cases();
        let faults: BTreeSet<&str> = cases.iter().filter_map(|case| case.fault).collect();
        assert_eq!(faults.len(), 47, "{faults:?}");
        let names: BTreeSet<&str> = cases.iter().map(|case| case.name).collect();
        assert_eq!(names.len(), cases.len());
    }
}
