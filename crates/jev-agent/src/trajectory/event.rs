//! The lines of a trajectory: what each kind of event holds. No field is a plain string: page and
//! user text is [`Text`], which only a redactor makes, and names are those of closed lists.

use jev_core::ids::{DocumentId, PageVersion};
use jev_core::redact::Redacted;
use jev_core::status::Status;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// The number of this format. It changes when a field changes its meaning or goes away.
pub const FORMAT: u32 = 1;

/// A text that a redactor has seen, or that was read from a trajectory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Text(String);

impl Text {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether nothing is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<Redacted> for Text {
    fn from(text: Redacted) -> Self {
        Self(text.into_string())
    }
}

impl std::fmt::Display for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// A name from one of our own closed lists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Name(String);

impl Name {
    /// The name under which a closed enum is written. Anything that is not a short word is `other`.
    pub(crate) fn of(value: &impl Serialize) -> Self {
        let text = match serde_json::to_value(value) {
            Ok(serde_json::Value::String(text)) => text,
            _ => String::new(),
        };
        Self::word(&text)
    }

    pub(crate) fn word(text: &str) -> Self {
        let fits = (1..=40).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_');
        Self(if fits { text } else { "other" }.to_owned())
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl JsonSchema for Name {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Name".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^[A-Za-z_]{1,40}$",
            "description": "A name from a closed list."
        })
    }
}

/// A run's status by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StatusName(String);

impl StatusName {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<Status> for StatusName {
    fn from(status: Status) -> Self {
        Self(status.name().to_owned())
    }
}

impl JsonSchema for StatusName {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Status".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": Status::NAMES })
    }
}

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Jev trajectory event")]
pub struct TraceEvent {
    /// From 0 on, without gaps.
    pub seq: u64,
    /// Microseconds since the trajectory began.
    pub at_us: u64,
    /// The run it belongs to, when it belongs to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<u64>,
    /// What happened.
    #[serde(flatten)]
    pub body: Body,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Body {
    /// What is to be done, and within which bounds.
    Plan(Plan),
    /// A look at the page.
    Observe(Observe),
    /// The judge is asked, answers, or fails.
    Judge(Judge),
    /// Something is about to be done to the page.
    Intent(Intent),
    /// What became of it. Every intent has exactly one.
    Receipt(Receipt),
    /// A verdict, or none.
    Verify(Verify),
    /// A recovery was spent.
    Recover(Recover),
    /// Anything else worth knowing.
    Note(Note),
    /// The last line: how it ended.
    End(Box<End>),
}

impl Body {
    /// The kind's name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Plan(_) => "plan",
            Self::Observe(_) => "observe",
            Self::Judge(_) => "judge",
            Self::Intent(_) => "intent",
            Self::Receipt(_) => "receipt",
            Self::Verify(_) => "verify",
            Self::Recover(_) => "recover",
            Self::Note(_) => "note",
            Self::End(_) => "end",
        }
    }
}

/// `plan`: of one run, of a step of a task, or of a whole task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// [`FORMAT`].
    pub format: u32,
    /// The version of the program that writes.
    pub version: Text,
    /// When, in seconds since 1970.
    pub started: u64,
    /// What to find.
    pub goal: Text,
    /// OFF, SHADOW or ENFORCE.
    pub mode: Name,
    /// Where it starts.
    pub start: Text,
    /// Where it may go.
    pub access: Vec<Text>,
    /// Who judges, and the model asked for.
    pub judge: Text,
    /// The gate's statistic and threshold.
    pub gate: GateLine,
    /// Judged steps at most.
    pub steps: u32,
    /// Recoveries at most.
    pub recoveries: u32,
    /// The time budget in milliseconds.
    pub budget_ms: u64,
    /// The objectives of a task's steps, in order; empty for a plain run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objectives: Vec<Text>,
}

/// When a choice is acted on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateLine {
    /// `probability` or `share`.
    pub kind: Name,
    /// At least so much.
    pub threshold: f64,
}

/// A document's ordinal in the trajectory: `d1` is the first one seen.
pub(crate) fn document_name(ordinal: usize) -> Text {
    Text(format!("d{ordinal}"))
}

/// A version that is known to be a digest of ours.
pub(crate) fn version_name(version: &PageVersion) -> Text {
    Text(version.as_str().to_owned())
}

/// `observe`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Observe {
    /// Which document, counted from `d1`.
    pub document: Text,
    /// The content's digest.
    pub version: Text,
    /// The address.
    pub url: Text,
    /// The content, unless an earlier event of this trajectory holds the same version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<Page>,
    /// How far the window is from the top, in CSS pixels.
    pub scroll_offset: u32,
    /// How much lies below it, in CSS pixels.
    pub scroll_below: u32,
    /// Whether it had come to rest.
    pub settled: bool,
    /// The SHA-256 of a picture of it, kept beside the trajectory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub screenshot: Option<Text>,
}

/// What a page shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Page {
    /// The title.
    pub title: Text,
    /// The beginning of the visible text, at most 2,000 characters.
    pub text: Text,
    /// How many characters more there were.
    pub text_more: u64,
    /// What may be clicked, at most 256.
    pub candidates: Vec<CandidateLine>,
    /// How many more candidates there were.
    pub candidates_more: u64,
    /// What the session left out: candidates, refused links, frames.
    pub omitted: [u32; 3],
    /// The document's HTTP status, when known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_status: Option<u16>,
}

/// One candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CandidateLine {
    /// Its id.
    pub id: Text,
    /// What it is.
    pub role: Name,
    /// Its name.
    pub label: Text,
    /// Where it leads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub href: Option<Text>,
    /// The heading it stands under.
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub context: Text,
}

/// `judge`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Judge {
    /// It is asked.
    Asked {
        /// The content it is asked about.
        version: Text,
        /// `narrow` or `decide`.
        stage: Name,
        /// The operations offered.
        operations: Vec<Name>,
        /// How many candidates are offered.
        candidates: u64,
        /// How many were left out to make the request fit.
        trimmed: u32,
    },
    /// Many candidates were narrowed down.
    Narrowed {
        /// From so many.
        from: u64,
        /// To so many.
        to: u64,
    },
    /// It proposes.
    Proposed(Box<Proposed>),
    /// It failed.
    Failed {
        /// How.
        error: Text,
    },
}

/// What the judge proposes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Proposed {
    /// The operation.
    pub operation: Name,
    /// The target of a click.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<CandidateLine>,
    /// Its probability.
    pub p: f64,
    /// The gate's statistic.
    pub statistic: f64,
    /// Whether the gate let it pass.
    pub passed: bool,
    /// The likeliest options of each question, at most 40, most likely first.
    pub options: Vec<Vec<OptionLine>>,
    /// The model that answered, as it says itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Text>,
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
}

/// One option.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OptionLine {
    /// The candidate's id or the operation's name.
    pub option: Text,
    /// Its probability.
    pub p: f64,
}

/// Who does something to a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Actor {
    /// The loop, on the judge's proposal.
    Judge,
    /// The host, by its own hand.
    Host,
}

/// `intent`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Intent {
    /// Counted from 1 for each actor in a run.
    pub intent: u64,
    /// Whose.
    pub by: Actor,
    /// What.
    pub operation: Name,
    /// On what: a candidate, a field or an address. Never what is typed into it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<CandidateLine>,
}

/// `receipt`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    /// Of this intent.
    pub intent: u64,
    /// Whose.
    pub by: Actor,
    /// APPLIED, STALE, REJECTED or UNKNOWN.
    pub receipt: Name,
    /// The effect or the reason.
    pub detail: Name,
}

/// `verify`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verify {
    /// `passed`, `refused` or `failed`.
    pub verdict: Name,
    /// Why it did not pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Name>,
    /// The content it was made from; `unknown` when this trajectory has not shown it.
    pub version: Text,
    /// The evidence of a passed verdict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<EvidenceLine>,
}

/// One piece of evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EvidenceLine {
    /// The words.
    pub quote: Text,
    /// The words around them.
    pub context: Text,
    /// `text`, `title` or `url`.
    pub source: Name,
    /// Characters before the quote, in the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<u64>,
}

/// `recover`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Recover {
    /// What it was spent on.
    pub what: Name,
}

/// `note`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Note {
    /// The session opened.
    Opened,
    /// A step of a task begins.
    Step {
        /// From 1 on.
        number: u32,
        /// What it is to bring.
        objective: Text,
    },
    /// A wait ended.
    Waited {
        /// Whether the page changed.
        changed: bool,
    },
    /// The host waited for something by itself.
    HostWaited {
        /// `met`, `timed_out` or `left_scope`.
        outcome: Name,
    },
    /// The host looked by itself, at a page that is not allowed; nothing of it was shown.
    HostLookRefused,
    /// An answer to no pending question came and was ignored.
    Ignored {
        /// Its kind.
        input: Name,
    },
    /// The session failed.
    SessionFailed {
        /// How.
        error: Text,
    },
    /// A run ends so; closing follows.
    Ending {
        /// Its status.
        status: StatusName,
    },
    /// The session closed.
    Closed {
        /// How.
        outcome: Name,
        /// Requests answered.
        allowed: u64,
        /// Requests refused, of all kinds.
        refused: u64,
    },
    /// The size limit was reached: what follows is missing, except the end.
    Full,
}

/// `end`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct End {
    /// How it ended: a run's status, `COMPLETED` or `BLOCKED` for a task, `INTERRUPTED` when the
    /// writer went away before anything else could be said.
    pub result: Name,
    /// The status underneath, when a run was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<StatusName>,
    /// What the host should do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handoff: Option<Name>,
    /// The typed reason, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Text>,
    /// Judged steps of a run; actions tried by a task.
    pub steps: u32,
    /// Recoveries.
    pub recoveries: u32,
    /// Requests to the judge.
    pub judge_calls: u32,
    /// Permits handed out.
    pub permits: u32,
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Milliseconds of opening, observing, judging, acting, verifying, closing.
    pub timings_ms: [u64; 6],
    /// Milliseconds from the first input to the end of closing.
    pub elapsed_ms: u64,
}

/// What a conversion has to remember: which documents and contents this trajectory has shown.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    documents: Vec<DocumentId>,
    versions: std::collections::HashSet<PageVersion>,
}

/// The name of a picture: a digest of our own.
pub(crate) fn picture_name(digest: &str) -> Option<Text> {
    let ours = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    ours.then(|| Text(digest.to_owned()))
}

impl Shown {
    /// The document's ordinal name.
    pub(crate) fn document(&mut self, id: &DocumentId) -> Text {
        let at = match self.documents.iter().position(|known| known == id) {
            Some(at) => at,
            None => {
                self.documents.push(id.clone());
                self.documents.len() - 1
            }
        };
        document_name(at + 1)
    }

    /// Whether this content is new here. Versions of snapshots are digests of our own.
    pub(crate) fn is_new(&mut self, version: &PageVersion) -> bool {
        self.versions.insert(version.clone())
    }

    /// A version that came from a verifier: shown only when it is one of ours.
    pub(crate) fn version(&self, version: &PageVersion) -> Text {
        if self.versions.contains(version) {
            version_name(version)
        } else {
            Text("unknown".to_owned())
        }
    }
}
