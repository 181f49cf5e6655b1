//! Cassettes: every exchange with a judge as a line of JSON, keyed by the SHA-256 of the canonical
//! request, so that a run can be repeated without the judge.
//!
//! A cassette holds page text, goal and answers. It never holds a key: of a request that carries
//! the judge's own, only the digest is written, whatever came of it.

use std::collections::HashMap;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use jev_core::error::JudgeError;
use jev_core::ports::{Judge, JudgeIdentity};
use jev_core::question::{Decision, Questionnaire};

use crate::credential::Credential;

/// The first line of a cassette: who was recorded.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    cassette: u32,
    judge: JudgeIdentity,
}

/// Any later line: one exchange.
#[derive(Debug, Serialize, Deserialize)]
struct Exchange {
    key: String,
    /// Null when it was withheld.
    request: Value,
    outcome: Outcome,
}

/// What came of a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Decision(Decision),
    Error(JudgeError),
}

impl Outcome {
    fn result(self) -> Result<Decision, JudgeError> {
        match self {
            Self::Decision(decision) => Ok(decision),
            Self::Error(error) => Err(error),
        }
    }
}

/// The only layout there is.
const VERSION: u32 = 1;

/// The request with its objects' keys in order: equal questionnaires have equal texts. The order
/// of options stays, since it may change an answer.
fn canonical(questionnaire: &Questionnaire) -> Result<Value, JudgeError> {
    let mut value = serde_json::to_value(questionnaire).map_err(|_| JudgeError::Capability {
        what: "a request that can't be written as JSON".to_owned(),
    })?;
    value.sort_all_objects();
    Ok(value)
}

fn key(request: &Value) -> String {
    let digest = Sha256::digest(request.to_string().as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Asks another judge and writes every exchange down.
pub struct RecordingJudge {
    inner: Arc<dyn Judge>,
    credential: Credential,
    file: Mutex<File>,
}

impl RecordingJudge {
    /// Records `inner` into a new file. `credential` is where `inner` has its key from: nothing that
    /// holds that key is written.
    ///
    /// # Errors
    /// [`JudgeError::Config`] when the file exists already or can't be written.
    pub fn create(
        path: &Path,
        inner: Arc<dyn Judge>,
        credential: Credential,
    ) -> Result<Self, JudgeError> {
        let config = |what: String| JudgeError::Config {
            what: format!("cassette {}: {what}", path.display()),
        };
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(path)
            .map_err(|error| config(error.kind().to_string()))?;
        let judge = Self {
            file: Mutex::new(file),
            credential,
            inner,
        };
        let header = Header {
            cassette: VERSION,
            judge: judge.inner.identity(),
        };
        judge
            .write(&header)
            .map_err(|error| config(error.kind().to_string()))?;
        Ok(judge)
    }

    /// Writes what came of a request, without what would show the key.
    fn keep(&self, request: Value, outcome: Outcome) -> std::io::Result<()> {
        let key_of = key(&request);
        let refused = matches!(outcome, Outcome::Error(JudgeError::KeyLeak));
        // A key that can't be read now was not sent either.
        let secret = self.credential.read().ok().flatten();
        let shows = |value: &Value| {
            let secret = secret.as_ref();
            secret.is_some_and(|secret| secret.leaks_into(value.to_string().as_bytes()))
        };
        let withheld = refused || shows(&request);
        let outcome = if shows(&serde_json::to_value(&outcome)?) {
            Outcome::Error(JudgeError::KeyLeak)
        } else {
            outcome
        };
        self.write(&Exchange {
            key: key_of,
            request: if withheld { Value::Null } else { request },
            outcome,
        })
    }

    /// One line, whole and at once, so that a run that dies leaves a valid file.
    fn write(&self, line: &impl Serialize) -> std::io::Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(text.as_bytes())
    }
}

impl fmt::Debug for RecordingJudge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordingJudge")
            .field("inner", &self.inner.identity())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Judge for RecordingJudge {
    fn identity(&self) -> JudgeIdentity {
        self.inner.identity()
    }

    async fn decide(
        &self,
        questionnaire: &Questionnaire,
        deadline: Duration,
    ) -> Result<Decision, JudgeError> {
        let cut_off = CutOff {
            recording: self,
            questionnaire: Some(questionnaire),
        };
        let result = self.inner.decide(questionnaire, deadline).await;
        cut_off.disarm();
        let outcome = match &result {
            Ok(decision) => Outcome::Decision(decision.clone()),
            Err(error) => Outcome::Error(error.clone()),
        };
        // The user asked for a recording: one with a hole in it is an error, not a surprise later.
        self.keep(canonical(questionnaire)?, outcome)
            .map_err(|error| JudgeError::Config {
                what: format!("the cassette can't be written ({})", error.kind()),
            })?;
        result
    }
}

/// Writes down that a call was dropped before its answer: to the run it was a timeout, and so it is
/// to a replay.
struct CutOff<'a> {
    recording: &'a RecordingJudge,
    questionnaire: Option<&'a Questionnaire>,
}

impl CutOff<'_> {
    fn disarm(mut self) {
        self.questionnaire = None;
    }
}

impl Drop for CutOff<'_> {
    fn drop(&mut self) {
        let Some(Ok(request)) = self.questionnaire.map(canonical) else {
            return;
        };
        // Nobody is left to be told of a failure; the run has ended by its own clock.
        let timeout = Outcome::Error(JudgeError::Timeout);
        let _ = self.recording.keep(request, timeout);
    }
}

/// Answers from a cassette. The same request asked again gets the next of its recorded answers,
/// and the last one ever after.
pub struct ReplayJudge {
    identity: JudgeIdentity,
    requests: Vec<Value>,
    outcomes: HashMap<String, Mutex<Takes>>,
}

struct Takes {
    all: Vec<Outcome>,
    next: usize,
}

impl ReplayJudge {
    /// Reads a cassette.
    ///
    /// # Errors
    /// [`JudgeError::Config`] naming the file, the line and what is wrong.
    pub fn load(path: &Path) -> Result<Self, JudgeError> {
        let config = |what: String| JudgeError::Config {
            what: format!("cassette {}: {what}", path.display()),
        };
        let file = File::open(path).map_err(|error| config(error.kind().to_string()))?;
        let mut lines = (1..).zip(BufReader::new(file).lines());
        let header: Header = match lines.next() {
            Some((_, Ok(line))) => serde_json::from_str(&line)
                .map_err(|_| config("line 1 is no cassette's header".to_owned()))?,
            Some(_) | None => return Err(config("it has no header".to_owned())),
        };
        if header.cassette != VERSION {
            let found = header.cassette;
            return Err(config(format!("layout {found}; {VERSION} is read")));
        }
        let mut judge = Self {
            identity: header.judge,
            requests: Vec::new(),
            outcomes: HashMap::new(),
        };
        for (number, line) in lines {
            let line = line.map_err(|error| config(format!("line {number}: {}", error.kind())))?;
            if line.trim().is_empty() {
                continue;
            }
            let exchange: Exchange = serde_json::from_str(&line)
                .map_err(|_| config(format!("line {number} is no exchange")))?;
            let withheld = exchange.request.is_null();
            if !withheld && exchange.key != key(&exchange.request) {
                return Err(config(format!(
                    "line {number}: the key does not belong to the request"
                )));
            }
            let takes = judge.outcomes.entry(exchange.key).or_insert_with(|| {
                Mutex::new(Takes {
                    all: Vec::new(),
                    next: 0,
                })
            });
            let takes = takes.get_mut().unwrap_or_else(PoisonError::into_inner);
            takes.all.push(exchange.outcome);
            judge.requests.push(exchange.request);
        }
        Ok(judge)
    }
}

impl fmt::Debug for ReplayJudge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplayJudge")
            .field("identity", &self.identity)
            .field("exchanges", &self.requests.len())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Judge for ReplayJudge {
    /// The recorded judge's: what its answers mean has not changed.
    fn identity(&self) -> JudgeIdentity {
        JudgeIdentity {
            name: format!("replay:{}", self.identity.name),
            ..self.identity.clone()
        }
    }

    async fn decide(
        &self,
        questionnaire: &Questionnaire,
        _deadline: Duration,
    ) -> Result<Decision, JudgeError> {
        let request = canonical(questionnaire)?;
        if let Some(takes) = self.outcomes.get(&key(&request)) {
            let mut takes = takes.lock().unwrap_or_else(PoisonError::into_inner);
            let last = takes.all.len().saturating_sub(1);
            let outcome = takes.all.get(takes.next.min(last)).cloned();
            takes.next += 1;
            if let Some(outcome) = outcome {
                return outcome.result();
            }
        }
        Err(JudgeError::NotRecorded {
            what: nearest_difference(&self.requests, &request),
        })
    }
}

/// The path of the first difference to the recorded request that agrees longest. Never a value:
/// those are page content.
fn nearest_difference(recorded: &[Value], request: &Value) -> String {
    recorded
        .iter()
        .filter_map(|other| {
            let mut agreed = 0;
            let path = first_difference(other, request, "", &mut agreed)?;
            Some((agreed, path))
        })
        .reduce(|best, next| if next.0 > best.0 { next } else { best })
        .map_or_else(|| "nothing is recorded".to_owned(), |(_, path)| path)
}

/// Walks both in the same order, counting leaves that agree, up to the first that does not.
fn first_difference(left: &Value, right: &Value, path: &str, agreed: &mut usize) -> Option<String> {
    let here = || if path.is_empty() { "." } else { path }.to_owned();
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            for (name, value) in right {
                let inner = format!("{path}.{name}");
                match left.get(name) {
                    Some(other) => {
                        if let Some(found) = first_difference(other, value, &inner, agreed) {
                            return Some(found);
                        }
                    }
                    None => return Some(format!("{inner} (new)")),
                }
            }
            let gone = left.keys().find(|name| !right.contains_key(*name))?;
            Some(format!("{path}.{gone} (gone)"))
        }
        (Value::Array(left), Value::Array(right)) => {
            for (index, (other, value)) in left.iter().zip(right).enumerate() {
                let inner = format!("{path}[{index}]");
                if let Some(found) = first_difference(other, value, &inner, agreed) {
                    return Some(found);
                }
            }
            (left.len() != right.len())
                .then(|| format!("{} (length {} became {})", here(), left.len(), right.len()))
        }
        (left, right) if left == right => {
            *agreed += 1;
            None
        }
        (Value::String(left), Value::String(right)) => {
            let at = left
                .chars()
                .zip(right.chars())
                .take_while(|(a, b)| a == b)
                .count();
            Some(format!("{} (from character {at})", here()))
        }
        _ => Some(here()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credential::Secret;
    use crate::lexical::LexicalJudge;
    use crate::scripted::{ScriptedDecision, ScriptedJudge};
    use crate::testing::{candidate, decide, flat};
    use jev_core::action::Operation;
    use serde_json::json;

    fn asked(goal: &str) -> Questionnaire {
        flat(goal, &[candidate("c1", "Warranty", "http://h/warranty")])
    }

    #[test]
    fn what_was_recorded_is_replayed_errors_included() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cassette.jsonl");
        let script = ScriptedJudge::new(vec![
            ScriptedDecision::operation(Operation::Wait),
            ScriptedDecision::click("c1"),
        ]);
        let recording = RecordingJudge::create(&path, Arc::new(script), Credential::None).unwrap();
        let live: Vec<_> = (0..3).map(|_| decide(&recording, &asked("goal"))).collect();
        assert!(live[0].is_ok() && live[0] != live[1] && live[2].is_err());
        drop(recording);

        let replay = ReplayJudge::load(&path).unwrap();
        assert_eq!(replay.identity().name, "replay:scripted");
        for expected in live.iter().chain([&live[2]]) {
            assert_eq!(&decide(&replay, &asked("goal")), expected);
        }
        // A recording is never written over.
        assert!(RecordingJudge::create(&path, Arc::new(LexicalJudge), Credential::None).is_err());
    }

    /// Refuses as the client does when the body holds the key.
    struct Leaking;

    #[async_trait]
    impl Judge for Leaking {
        fn identity(&self) -> JudgeIdentity {
            LexicalJudge.identity()
        }

        async fn decide(&self, _: &Questionnaire, _: Duration) -> Result<Decision, JudgeError> {
            Err(JudgeError::KeyLeak)
        }
    }

    /// Never answers.
    struct Silent;

    #[async_trait]
    impl Judge for Silent {
        fn identity(&self) -> JudgeIdentity {
            LexicalJudge.identity()
        }

        async fn decide(&self, _: &Questionnaire, _: Duration) -> Result<Decision, JudgeError> {
            std::future::pending().await
        }
    }

    #[tokio::test]
    async fn a_call_that_was_dropped_is_replayed_as_a_timeout() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cassette.jsonl");
        let recording = RecordingJudge::create(&path, Arc::new(Silent), Credential::None).unwrap();
        let asked = asked("goal");
        tokio::select! {
            biased;
            _ = recording.decide(&asked, Duration::from_secs(9)) => unreachable!("it never answers"),
            () = tokio::task::yield_now() => {}
        }
        drop(recording);
        let replay = ReplayJudge::load(&path).unwrap();
        let found = replay.decide(&asked, Duration::from_secs(9)).await;
        assert_eq!(found, Err(JudgeError::Timeout));
    }

    #[test]
    fn a_request_that_carries_the_key_is_written_as_its_digest_alone() {
        let folder = tempfile::tempdir().unwrap();
        let key = Credential::Given {
            secret: Secret::new("sk-planted-0123456789").unwrap(),
        };
        let script = ScriptedJudge::new(vec![ScriptedDecision::operation(Operation::Wait)]);
        // Whatever came of it: other faults are found before the key is looked for.
        let judges: [(Arc<dyn Judge>, Credential); 3] = [
            (Arc::new(Leaking), Credential::None),
            (Arc::new(ScriptedJudge::new(Vec::new())), key.clone()),
            (Arc::new(script), key),
        ];
        for (number, (judge, key)) in judges.into_iter().enumerate() {
            let path = folder.path().join(format!("{number}.jsonl"));
            let recording = RecordingJudge::create(&path, judge, key).unwrap();
            let asked = asked("what does sk-planted-0123456789 do?");
            let live = decide(&recording, &asked);
            drop(recording);
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(!text.contains("sk-planted"), "{text}");
            let replay = ReplayJudge::load(&path).unwrap();
            assert_eq!(decide(&replay, &asked), live);
        }
    }

    #[test]
    fn an_answer_that_holds_the_key_is_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cassette.jsonl");
        let secret = Secret::new("lexical-planted-0123456789").unwrap();
        struct Echo;
        #[async_trait]
        impl Judge for Echo {
            fn identity(&self) -> JudgeIdentity {
                LexicalJudge.identity()
            }
            async fn decide(&self, _: &Questionnaire, _: Duration) -> Result<Decision, JudgeError> {
                Ok(Decision {
                    model: Some("lexical-planted-0123456789".to_owned()),
                    ..Decision::default()
                })
            }
        }
        let key = Credential::Given { secret };
        let recording = RecordingJudge::create(&path, Arc::new(Echo), key).unwrap();
        assert!(decide(&recording, &asked("goal")).is_ok());
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains("planted"), "{text}");
        let replay = ReplayJudge::load(&path).unwrap();
        assert_eq!(decide(&replay, &asked("goal")), Err(JudgeError::KeyLeak));
    }

    #[test]
    fn a_miss_names_the_first_difference_and_no_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cassette.jsonl");
        let recording =
            RecordingJudge::create(&path, Arc::new(LexicalJudge), Credential::None).unwrap();
        decide(&recording, &asked("goal")).unwrap();
        decide(&recording, &asked("another goal")).unwrap();
        drop(recording);
        let replay = ReplayJudge::load(&path).unwrap();
        let mut changed = asked("goal");
        changed.state["text"] = json!("Welcome to that page, secret words");
        let mut longer = asked("goal");
        longer.state["history"] = json!([1]);
        let mut new = asked("goal");
        new.state["zebra"] = json!(1);
        for (asked, what) in [
            (changed, ".state.text (from character 13)"),
            (longer, ".state.history (length 0 became 1)"),
            (new, ".state.zebra (new)"),
        ] {
            let expected = JudgeError::NotRecorded {
                what: what.to_owned(),
            };
            assert_eq!(decide(&replay, &asked), Err(expected));
        }
    }

    #[test]
    fn key_order_makes_no_other_request_but_option_order_does() {
        let mut one = asked("goal");
        let mut two = asked("goal");
        one.state = json!({"a": 1, "b": 2});
        two.state = json!({"b": 2, "a": 1});
        let of = |q: &Questionnaire| key(&canonical(q).unwrap());
        assert_eq!(of(&one), of(&two));
        assert_eq!(of(&one).len(), 64);
        let jev_core::question::QuestionKind::Choice { options, .. } = &mut two.questions[0].kind
        else {
            panic!("a choice");
        };
        options.reverse();
        assert_ne!(of(&one), of(&two));
    }

    #[test]
    fn a_broken_cassette_is_named_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cassette.jsonl");
        let head = r#"{"cassette":1,"judge":{"name":"lexical","model":null,"kind":"ranks"}}"#;
        let exchange = r#"{"key":"00","request":{},"outcome":{"error":{"kind":"timeout"}}}"#;
        for (text, word) in [
            (String::new(), "header"),
            ("{}\n".to_owned(), "line 1"),
            (head.replace(":1,", ":2,"), "layout 2"),
            (format!("{head}\n\nnonsense\n"), "line 3"),
            (format!("{head}\n{exchange}\n"), "line 2"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = ReplayJudge::load(&path).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
        assert!(ReplayJudge::load(&folder.path().join("absent")).is_err());
    }
}
