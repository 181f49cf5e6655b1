//! The scripted judge: answers from a list of decisions written beforehand, one a step. For tests,
//! demonstrations and the oracle of an evaluation; it proves the chain, never a model's accuracy.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use serde::Deserialize;

use jev_core::access::CanonicalUrl;
use jev_core::action::Operation;
use jev_core::error::{AnswerFault, JudgeError};
use jev_core::ports::{Judge, JudgeIdentity, JudgeKind};
use jev_core::question::{
    Answer, ChoiceAnswer, ChoiceOption, Decision, Question, QuestionKind, Questionnaire, Stage,
    Subject,
};

/// The probability of a line that names none.
pub const DEFAULT_P: f64 = 0.97;

/// Largest script that is read, in bytes.
const SCRIPT_MAX_BYTES: u64 = 4 * 1024 * 1024;

/// What a scripted decision picks.
#[derive(Clone, Debug, PartialEq)]
pub enum ScriptedStep {
    /// A click on a target. A target that is not offered is answered with `none`.
    Click(ScriptedTarget),
    /// An operation without a target. One that is not offered is answered with `none`.
    Operation(Operation),
    /// An answer that breaks the protocol. The text says what is meant to be wrong; it is shown
    /// nowhere.
    Invalid(String),
}

/// How a scripted click names its target.
#[derive(Clone, Debug, PartialEq)]
pub enum ScriptedTarget {
    /// The candidate's id or, failing that, its accessible name (then without regard to case).
    Named(String),
    /// The end of the candidate's address, from a `/` or `?` on.
    Href(String),
}

/// One decision of a script.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptedDecision {
    /// What it picks.
    pub step: ScriptedStep,
    /// The probability of the picked option, 0 to 1; the others share the rest evenly.
    pub p: f64,
    /// How long the judge takes.
    pub delay: Duration,
}

impl ScriptedDecision {
    /// A click on a candidate by id or name, with [`DEFAULT_P`] and no delay.
    #[must_use]
    pub fn click(target: &str) -> Self {
        Self::of(ScriptedStep::Click(ScriptedTarget::Named(
            target.to_owned(),
        )))
    }

    /// An operation without a target.
    #[must_use]
    pub fn operation(operation: Operation) -> Self {
        Self::of(ScriptedStep::Operation(operation))
    }

    fn of(step: ScriptedStep) -> Self {
        Self {
            step,
            p: DEFAULT_P,
            delay: Duration::ZERO,
        }
    }
}

/// A line of a script file, as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    operation: Option<String>,
    target: Option<String>,
    href: Option<String>,
    invalid: Option<String>,
    p: Option<f64>,
    #[serde(default)]
    delay_ms: u64,
}

/// The operation of an option's name, without regard to case.
pub(crate) fn operation_of(name: &str) -> Option<Operation> {
    Operation::ALL
        .into_iter()
        .find(|operation| operation.option_name().eq_ignore_ascii_case(name))
}

impl Line {
    fn decision(self) -> Result<ScriptedDecision, String> {
        let p = self.p.unwrap_or(DEFAULT_P);
        if !(0.0..=1.0).contains(&p) {
            return Err(format!("`p` is {p}; it must be from 0 to 1"));
        }
        let step = match (self.invalid, self.operation, self.target, self.href) {
            (Some(what), None, None, None) => ScriptedStep::Invalid(what),
            (Some(_), _, _, _) => return Err("`invalid` stands alone".to_owned()),
            (None, None, _, _) => {
                return Err("`operation` is missing (or `invalid`)".to_owned());
            }
            (None, Some(name), target, href) => {
                let operation = operation_of(&name).ok_or_else(|| {
                    format!("`{name}` is no operation; one of CLICK, SCROLL_DOWN, SCROLL_UP, BACK, RELOAD, WAIT, DONE, BLOCKED, NONE, PRESS_ENTER, ...")
                })?;
                match (operation, target, href) {
                    (Operation::Click, Some(target), None) => {
                        ScriptedStep::Click(ScriptedTarget::Named(target))
                    }
                    (Operation::Click, None, Some(href)) => {
                        ScriptedStep::Click(ScriptedTarget::Href(href))
                    }
                    (Operation::Click, _, _) => {
                        return Err("CLICK needs either `target` or `href`".to_owned());
                    }
                    (other, None, None) => ScriptedStep::Operation(other),
                    (_, _, _) => return Err(format!("{name} takes no target")),
                }
            }
        };
        Ok(ScriptedDecision {
            step,
            p,
            delay: Duration::from_millis(self.delay_ms),
        })
    }
}

/// Answers from a script, one decision a step.
///
/// Questions of [`Stage::Narrow`] are answered from the next decision without using it up.
#[derive(Debug)]
pub struct ScriptedJudge {
    decisions: Vec<(usize, ScriptedDecision)>,
    end: usize,
    next: AtomicUsize,
}

impl ScriptedJudge {
    /// A judge that gives these decisions in turn.
    #[must_use]
    pub fn new(decisions: Vec<ScriptedDecision>) -> Self {
        let end = decisions.len() + 1;
        Self {
            decisions: (1..).zip(decisions).collect(),
            end,
            next: AtomicUsize::new(0),
        }
    }

    /// Reads a script: JSON Lines, one decision a line; blank lines are skipped.
    ///
    /// # Errors
    /// [`JudgeError::Config`] naming the line and what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, JudgeError> {
        Self::read(text).map_err(|what| JudgeError::Config {
            what: format!("script {what}"),
        })
    }

    fn read(text: &str) -> Result<Self, String> {
        let mut decisions = Vec::new();
        let mut end = 1;
        for (number, line) in (1..).zip(text.lines()) {
            end = number + 1;
            if line.trim().is_empty() {
                continue;
            }
            let bad = |what: String| format!("line {number}: {what}");
            let line: Line = serde_json::from_str(line).map_err(|error| bad(json_fault(&error)))?;
            decisions.push((number, line.decision().map_err(bad)?));
        }
        Ok(Self {
            decisions,
            end,
            next: AtomicUsize::new(0),
        })
    }

    /// Reads a script file; see [`ScriptedJudge::parse`].
    ///
    /// # Errors
    /// [`JudgeError::Config`] when the file can't be read (or is larger than 4 MiB), or as for
    /// [`ScriptedJudge::parse`].
    pub fn load(path: &Path) -> Result<Self, JudgeError> {
        let config = |what: String| JudgeError::Config {
            what: format!("script {}: {what}", path.display()),
        };
        let size = std::fs::metadata(path)
            .map_err(|error| config(error.kind().to_string()))?
            .len();
        if size > SCRIPT_MAX_BYTES {
            return Err(config(format!(
                "{size} bytes; at most {SCRIPT_MAX_BYTES} are read"
            )));
        }
        let text = std::fs::read_to_string(path).map_err(|e| config(e.kind().to_string()))?;
        Self::read(&text).map_err(config)
    }

    /// How many decisions are left.
    #[must_use]
    pub fn left(&self) -> usize {
        self.decisions
            .len()
            .saturating_sub(self.next.load(Ordering::Relaxed))
    }

    fn take(&self, stage: Stage) -> Result<&ScriptedDecision, JudgeError> {
        let at = match stage {
            Stage::Narrow => self.next.load(Ordering::Relaxed),
            Stage::Decide => self.next.fetch_add(1, Ordering::Relaxed),
        };
        self.decisions
            .get(at)
            .map(|(_, decision)| decision)
            .ok_or(JudgeError::ScriptExhausted { line: self.end })
    }
}

/// serde_json's message without the place inside the line's text.
fn json_fault(error: &serde_json::Error) -> String {
    let message = error.to_string();
    match message.rsplit_once(" at line ") {
        Some((what, _)) => what.to_owned(),
        None => message,
    }
}

#[async_trait]
impl Judge for ScriptedJudge {
    fn identity(&self) -> JudgeIdentity {
        JudgeIdentity {
            name: "scripted".to_owned(),
            model: None,
            kind: JudgeKind::Decides,
        }
    }

    async fn decide(
        &self,
        questionnaire: &Questionnaire,
        deadline: Duration,
    ) -> Result<Decision, JudgeError> {
        let decision = self.take(questionnaire.stage)?;
        if questionnaire.stage == Stage::Decide && !decision.delay.is_zero() {
            // The delay is the scripted behaviour itself, not a wait for something.
            tokio::time::sleep(decision.delay.min(deadline)).await;
            if decision.delay >= deadline {
                return Err(JudgeError::Timeout);
            }
        }
        let answers = questionnaire
            .questions
            .iter()
            .map(|question| answer(question, decision))
            .collect::<Result<_, _>>()?;
        Ok(Decision {
            answers,
            ..Decision::default()
        })
    }
}

fn answer(question: &Question, decision: &ScriptedDecision) -> Result<Answer, JudgeError> {
    let QuestionKind::Choice { options, .. } = &question.kind else {
        return Err(JudgeError::Capability {
            what: "the scripted judge answers choices only".to_owned(),
        });
    };
    let picked = match &decision.step {
        ScriptedStep::Invalid(_) => {
            return Err(JudgeError::Protocol {
                question: Some(question.id.clone()),
                fault: AnswerFault::Shape,
            });
        }
        ScriptedStep::Click(target) => {
            find_target(options, target).or_else(|| find_operation(options, Operation::Click))
        }
        ScriptedStep::Operation(operation) => find_operation(options, *operation),
    };
    let picked = picked.or_else(|| find_operation(options, Operation::None));
    Ok(Answer::Choice(ChoiceAnswer::plain(peak(
        options.len(),
        picked,
        decision.p,
    ))))
}

/// `p` on the picked option and the rest shared evenly; even shares when nothing is picked.
fn peak(count: usize, picked: Option<usize>, p: f64) -> Vec<f64> {
    let others = count.saturating_sub(1).max(1) as f64;
    (0..count)
        .map(|index| match picked {
            Some(_) if count == 1 => 1.0,
            Some(at) if at == index => p,
            Some(_) => (1.0 - p) / others,
            None => 1.0 / count as f64,
        })
        .collect()
}

fn find_operation(options: &[ChoiceOption], wanted: Operation) -> Option<usize> {
    options.iter().position(|option| match &option.subject {
        Subject::Operation(operation) => *operation == wanted,
        Subject::Candidate { .. } => false,
        // A question from outside is understood by its options' names.
        Subject::Opaque => option.name == wanted.option_name(),
    })
}

fn find_target(options: &[ChoiceOption], target: &ScriptedTarget) -> Option<usize> {
    let by = |matches: &dyn Fn(&str, &str, Option<&CanonicalUrl>) -> bool| {
        options.iter().position(|option| match &option.subject {
            Subject::Candidate {
                id, label, href, ..
            } => matches(id, label, href.as_ref()),
            Subject::Operation(_) => false,
            Subject::Opaque => matches(&option.name, &option.description, None),
        })
    };
    match target {
        ScriptedTarget::Named(name) => {
            let name = jev_core::snapshot::collapse(name);
            let folded = name.to_lowercase();
            by(&|id, _, _| id == name)
                .or_else(|| by(&|_, label, _| label == name))
                .or_else(|| by(&|_, label, _| label.to_lowercase() == folded))
        }
        ScriptedTarget::Href(suffix) => {
            let suffix = suffix.split('#').next().unwrap_or(suffix);
            by(&|_, _, href| href.is_some_and(|href| ends_at_boundary(href.as_str(), suffix)))
        }
    }
}

/// Whether `url` ends with `suffix`, and the suffix begins where a part of the address does.
fn ends_at_boundary(url: &str, suffix: &str) -> bool {
    match url.strip_suffix(suffix) {
        Some(_) if suffix.is_empty() => false,
        Some(head) => {
            head.is_empty() || head.ends_with(['/', '?']) || suffix.starts_with(['/', '?'])
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{candidate, decide, flat, two_head, windows};

    fn judge(script: &str) -> ScriptedJudge {
        ScriptedJudge::parse(script).unwrap()
    }

    fn picked(judge: &ScriptedJudge, questionnaire: &Questionnaire) -> Vec<(String, f64)> {
        crate::testing::picks(questionnaire, &decide(judge, questionnaire).unwrap())
    }

    #[test]
    fn both_layouts_get_the_target_the_operation_or_none() {
        let page = [
            candidate("c1", "Home", "http://h/index.html"),
            candidate("c2", "Warranty policy", "http://h/docs/climits.html"),
            candidate("c3", "Limits", "http://h/docs/limits.html"),
        ];
        for (line, in_flat, in_heads) in [
            (
                r#"{"operation":"CLICK","target":"Warranty policy","p":0.9}"#,
                "c2",
                ["click", "c2"],
            ),
            (
                r#"{"operation":"CLICK","target":"c3","p":0.9}"#,
                "c3",
                ["click", "c3"],
            ),
            (
                r#"{"operation":"CLICK","target":"warranty  POLICY","p":0.9}"#,
                "c2",
                ["click", "c2"],
            ),
            (
                r#"{"operation":"CLICK","href":"limits.html","p":0.9}"#,
                "c3",
                ["click", "c3"],
            ),
            (
                r#"{"operation":"CLICK","target":"Elsewhere","p":0.9}"#,
                "none",
                ["click", "none"],
            ),
            (r#"{"operation":"DONE","p":0.9}"#, "done", ["done", "none"]),
        ] {
            assert_eq!(
                picked(&judge(line), &flat("goal", &page)),
                [(in_flat.to_owned(), 0.9)],
                "{line}"
            );
            assert_eq!(
                picked(&judge(line), &two_head("goal", &page)),
                in_heads.map(|name| (name.to_owned(), 0.9)),
                "{line}"
            );
        }
    }

    #[test]
    fn narrowing_uses_no_line_up() {
        let script = judge("{\"operation\":\"CLICK\",\"target\":\"c3\",\"p\":0.9}\n");
        let page = [
            candidate("c1", "Home", "http://h/1"),
            candidate("c2", "Two", "http://h/2"),
            candidate("c3", "Three", "http://h/3"),
        ];
        let narrow = windows("goal", &page, 2);
        for _ in 0..2 {
            let expected = [("none".to_owned(), 0.9), ("c3".to_owned(), 0.9)];
            assert_eq!(picked(&script, &narrow), expected);
        }
        assert_eq!(script.left(), 1);
        assert_eq!(
            picked(&script, &flat("goal", &page)),
            [("c3".to_owned(), 0.9)]
        );
        assert_eq!(
            decide(&script, &flat("goal", &page)),
            Err(JudgeError::ScriptExhausted { line: 2 })
        );
    }

    #[test]
    fn bad_lines_are_named() {
        for (script, line, word) in [
            ("{\"operation\":\"DONE\"}\n\nnonsense", 3, "expected"),
            ("{\"operation\":\"FLY\"}", 1, "FLY"),
            ("{\"operation\":\"CLICK\"}", 1, "target"),
            ("{\"operation\":\"DONE\",\"target\":\"x\"}", 1, "no target"),
            ("{\"operation\":\"DONE\",\"p\":1.5}", 1, "`p`"),
            ("{\"p\":0.5}", 1, "operation"),
            ("{\"operation\":\"DONE\",\"q\":1}", 1, "q"),
            ("{\"invalid\":\"x\",\"operation\":\"DONE\"}", 1, "alone"),
        ] {
            let error = ScriptedJudge::parse(script).unwrap_err().to_string();
            assert!(error.contains(&format!("line {line}:")), "{error}");
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn an_invalid_line_voids_the_answer() {
        let page = [candidate("c1", "Home", "http://h/1")];
        let error = decide(
            &judge("{\"invalid\":\"sums to two\"}"),
            &flat("goal", &page),
        );
        assert!(
            matches!(error, Err(JudgeError::Protocol { .. })),
            "{error:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_delay_past_the_deadline_is_a_timeout() {
        let page = [candidate("c1", "Home", "http://h/1")];
        let script = judge(
            "{\"operation\":\"DONE\",\"delay_ms\":300}\n{\"operation\":\"DONE\",\"delay_ms\":300}",
        );
        let questionnaire = flat("goal", &page);
        let before = tokio::time::Instant::now();
        let answered = script.decide(&questionnaire, Duration::from_secs(1)).await;
        assert!(answered.is_ok());
        assert_eq!(before.elapsed(), Duration::from_millis(300));
        let late = script
            .decide(&questionnaire, Duration::from_millis(100))
            .await;
        assert_eq!(late, Err(JudgeError::Timeout));
        assert_eq!(before.elapsed(), Duration::from_millis(400));
    }
}
