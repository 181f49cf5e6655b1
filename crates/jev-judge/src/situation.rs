//! What a judge that works on the state directly reads from it: the page's words and what the run
//! has tried. Anything missing or of another shape reads as empty: the state may come from outside.

use serde_json::Value;

use jev_core::action::Operation;
use jev_core::question::Questionnaire;

/// Most characters of loose text that are taken from a state of unknown shape.
const LOOSE_TEXT_CHARS: usize = 64 * 1024;

/// The state of a run, as far as a judge can use it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Situation {
    /// The goal.
    pub goal: String,
    /// The page's address.
    pub url: String,
    /// The page's visible text.
    pub text: String,
    /// What was done before, oldest first.
    pub history: Vec<PastStep>,
}

/// One earlier step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PastStep {
    /// The operation's name, lower case, as its option is named.
    pub operation: String,
    /// The clicked target's label.
    pub target: Option<String>,
    /// Whether the page changed.
    pub page_changed: bool,
}

impl PastStep {
    pub(crate) fn is(&self, operation: Operation) -> bool {
        self.operation == operation.option_name()
    }
}

impl Situation {
    /// Reads the state of a questionnaire. A state that is not the loop's own object is taken as
    /// text as a whole.
    pub(crate) fn of(questionnaire: &Questionnaire) -> Self {
        let state = &questionnaire.state;
        let field = |name: &str| state.get(name).and_then(Value::as_str).unwrap_or_default();
        let text = match state.get("text").and_then(Value::as_str) {
            Some(text) => text.to_owned(),
            None => loose_text(state),
        };
        Self {
            goal: questionnaire.goal.clone(),
            url: field("url").to_owned(),
            text,
            history: state
                .get("history")
                .and_then(Value::as_array)
                .map(|steps| steps.iter().filter_map(past_step).collect())
                .unwrap_or_default(),
        }
    }

    /// Whether a target of this name was clicked before.
    pub(crate) fn clicked(&self, label: &str) -> Option<&PastStep> {
        self.history
            .iter()
            .rev()
            .find(|step| step.is(Operation::Click) && step.target.as_deref() == Some(label))
    }

    /// How many clicks led somewhere that no BACK has undone yet.
    pub(crate) fn depth(&self) -> usize {
        self.history.iter().fold(0, |depth: usize, step| {
            if !step.page_changed {
                depth
            } else if step.is(Operation::Click) {
                depth + 1
            } else if step.is(Operation::Back) {
                depth.saturating_sub(1)
            } else {
                depth
            }
        })
    }

    /// Whether the last try of an operation changed nothing, or its claim was refused.
    pub(crate) fn in_vain(&self, operation: Operation) -> bool {
        self.history
            .iter()
            .rev()
            .take_while(|step| !step.page_changed)
            .any(|step| step.is(operation))
    }

    /// Whether the operation was tried at all.
    pub(crate) fn tried(&self, operation: Operation) -> bool {
        self.history.iter().any(|step| step.is(operation))
    }
}

fn past_step(value: &Value) -> Option<PastStep> {
    Some(PastStep {
        operation: value.get("operation")?.as_str()?.to_lowercase(),
        target: value
            .get("target")
            .and_then(Value::as_str)
            .map(str::to_owned),
        page_changed: value
            .get("page_changed")
            .and_then(Value::as_bool)
            .unwrap_or(false),
    })
}

/// Every string inside a value, one a line, up to a bound. Keys of objects count as text too:
/// `{"invoice": 7}` speaks of an invoice.
pub(crate) fn loose_text(value: &Value) -> String {
    let mut out = String::new();
    collect(value, &mut out);
    out
}

fn collect(value: &Value, out: &mut String) {
    if out.len() >= LOOSE_TEXT_CHARS {
        return;
    }
    let line = |text: &str, out: &mut String| {
        out.extend(text.chars().take(LOOSE_TEXT_CHARS));
        out.push('\n');
    };
    match value {
        Value::Null => {}
        Value::Bool(b) => line(if *b { "true" } else { "false" }, out),
        Value::Number(number) => line(&number.to_string(), out),
        Value::String(text) => line(text, out),
        Value::Array(items) => items.iter().for_each(|item| collect(item, out)),
        Value::Object(fields) => {
            for (key, item) in fields {
                line(key, out);
                collect(item, out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jev_core::question::Stage;

    #[test]
    fn history_tells_depth_and_vain_tries() {
        let state = serde_json::json!({
            "url": "http://h/", "text": "words",
            "history": [
                {"operation": "CLICK", "target": "A", "outcome": "APPLIED", "page_changed": true},
                {"operation": "back", "target": null, "page_changed": true},
                {"operation": "CLICK", "target": "B", "page_changed": true},
                {"operation": "DONE", "page_changed": false},
                "rubbish", {"target": "C"},
            ],
        });
        let situation = Situation::of(&Questionnaire {
            stage: Stage::Decide,
            goal: "goal".to_owned(),
            state,
            questions: Vec::new(),
        });
        assert_eq!(situation.history.len(), 4);
        assert_eq!(situation.depth(), 1);
        assert!(situation.in_vain(Operation::Done));
        assert!(!situation.in_vain(Operation::Back));
        assert!(situation.tried(Operation::Back));
        assert!(situation.clicked("A").is_some() && situation.clicked("C").is_none());
    }

    #[test]
    fn a_state_of_any_shape_reads_as_text() {
        let value = serde_json::json!({"cart": ["two", 3, {"paid": true}], "note": null});
        assert_eq!(loose_text(&value), "cart\ntwo\n3\npaid\ntrue\nnote\n");
    }
}
