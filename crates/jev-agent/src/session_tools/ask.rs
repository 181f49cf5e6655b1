//! What each of the tools is asked: the arguments, read and checked.

use std::sync::Arc;
use std::time::Duration;

use jev_core::access::{AccessPattern, CanonicalUrl};
use jev_core::contract::Goal;
use jev_core::host::{AccessibleName, Control, Field, FieldRole, TypedText};
use jev_core::policy::Permission;
use jev_core::ports::Verifier;
use jev_core::snapshot::Role;
use jev_verify::{Case, Matcher, TextVerifier};
use serde_json::Value;

use super::arguments::Arguments;
use super::store::Sessions;
use super::{NamedSource, Verb};
use crate::shared_session::{Until, WAIT_MAX};
use crate::tool::{ToolError, checked_goal, only_known};

/// How long a wait lasts when nothing is said, in seconds.
const WAIT_SECONDS: u64 = 10;

pub(super) const FIELD_ROLES: [(&str, FieldRole); 3] = [
    ("text_box", FieldRole::TextBox),
    ("search_box", FieldRole::SearchBox),
    ("combo_box", FieldRole::ComboBox),
];
pub(super) const CONTROL_ROLES: [(&str, Role); 5] = [
    ("button", Role::Button),
    ("link", Role::Link),
    ("tab", Role::Tab),
    ("switch", Role::Switch),
    ("menu_item", Role::MenuItem),
];

/// A checked call.
pub(super) enum Ask<'a> {
    Open {
        source: NamedSource,
    },
    Run {
        session: &'a str,
        goal: Goal,
        until: Option<Arc<dyn Verifier>>,
    },
    Read {
        session: &'a str,
    },
    Wait {
        session: &'a str,
        until: Until,
        bound: Duration,
    },
    Navigate {
        session: &'a str,
        to: CanonicalUrl,
    },
    Fill {
        session: &'a str,
        field: Field,
        text: TypedText,
    },
    Press {
        session: &'a str,
        control: Control,
    },
    Status {
        session: &'a str,
    },
    Close {
        session: &'a str,
    },
}

impl<'a> Ask<'a> {
    /// Reads and checks the arguments.
    pub(super) fn read(
        verb: Verb,
        value: &'a Value,
        sessions: &Sessions,
    ) -> Result<Self, ToolError> {
        only_known(value, &known(verb, sessions))?;
        let arguments = Arguments(value);
        let session = || arguments.required("session");
        Ok(match verb {
            Verb::Open => Self::Open {
                source: source(&arguments, &sessions.parts.sources)?,
            },
            Verb::Run => Self::Run {
                session: session()?,
                goal: goal(value)?,
                until: match arguments.text("until")? {
                    Some(words) => Some(shows(words)?),
                    None => None,
                },
            },
            Verb::Read => Self::Read {
                session: session()?,
            },
            Verb::Wait => Self::Wait {
                session: session()?,
                until: until(&arguments)?,
                bound: Duration::from_secs(
                    arguments
                        .count("seconds", WAIT_MAX.as_secs(), "a whole number from 1 to 60")?
                        .unwrap_or(WAIT_SECONDS),
                ),
            },
            Verb::Navigate => Self::Navigate {
                session: session()?,
                to: CanonicalUrl::parse(arguments.required("url")?)
                    .map_err(|_| Arguments::wrong("url", "an http or https address"))?,
            },
            Verb::Fill => Self::Fill {
                session: session()?,
                field: Field {
                    role: arguments
                        .word("role", &FIELD_ROLES, "text_box, search_box or combo_box")?
                        .unwrap_or(FieldRole::TextBox),
                    name: name(&arguments)?,
                },
                text: TypedText::new(arguments.raw("text")?).map_err(|_| {
                    Arguments::wrong("text", "one text of at most 10000 characters")
                })?,
            },
            Verb::Press => Self::Press {
                session: session()?,
                control: Control {
                    role: arguments
                        .word(
                            "role",
                            &CONTROL_ROLES,
                            "button, link, tab, switch or menu_item",
                        )?
                        .unwrap_or(Role::Button),
                    name: name(&arguments)?,
                },
            },
            Verb::Status => Self::Status {
                session: session()?,
            },
            Verb::Close => Self::Close {
                session: session()?,
            },
        })
    }

    /// The session it is about, when it is about one that is there.
    pub(super) fn session(&self) -> Option<&'a str> {
        match self {
            Self::Open { .. } => None,
            Self::Run { session, .. }
            | Self::Read { session }
            | Self::Wait { session, .. }
            | Self::Navigate { session, .. }
            | Self::Fill { session, .. }
            | Self::Press { session, .. }
            | Self::Status { session }
            | Self::Close { session } => Some(session),
        }
    }

    /// What it does, for whoever is to consent. What is typed is no part of it.
    pub(super) fn words(&self) -> Option<String> {
        match self {
            Self::Open { source } => Some(format!("keep a tab open on `{}`", source.name)),
            Self::Navigate { to, .. } => Some(format!("go to {to}")),
            Self::Fill { field, .. } => Some(format!(
                "fill the {} `{}`",
                field.role.word(),
                field.name.as_str()
            )),
            Self::Press { control, .. } => Some(format!(
                "press the {} `{}`",
                control.role.word(),
                control.name.as_str()
            )),
            Self::Run { .. }
            | Self::Read { .. }
            | Self::Wait { .. }
            | Self::Status { .. }
            | Self::Close { .. } => None,
        }
    }
}

/// The arguments that a tool takes, under these settings.
pub(super) fn known(verb: Verb, sessions: &Sessions) -> Vec<&'static str> {
    let parts = &sessions.parts;
    match verb {
        Verb::Open if parts.sources.len() == 1 => Vec::new(),
        Verb::Open => vec!["source"],
        Verb::Run if parts.settings.until == Permission::Allowed => {
            vec!["session", "goal", "until"]
        }
        Verb::Run => vec!["session", "goal"],
        Verb::Wait => vec!["session", "textAppears", "textGone", "url", "seconds"],
        Verb::Navigate => vec!["session", "url"],
        Verb::Fill => vec!["session", "role", "name", "text"],
        Verb::Press => vec!["session", "role", "name"],
        Verb::Read | Verb::Status | Verb::Close => vec!["session"],
    }
}

fn source(arguments: &Arguments<'_>, sources: &[NamedSource]) -> Result<NamedSource, ToolError> {
    let wanted = arguments.text("source")?;
    match (sources, wanted) {
        ([only], None) => Ok(only.clone()),
        (_, Some(name)) => sources
            .iter()
            .find(|source| source.name == name)
            .cloned()
            .ok_or_else(|| Arguments::wrong("source", "the name of one of the sources")),
        (_, None) => Err(Arguments::wrong(
            "source",
            "given: the name of one of the sources",
        )),
    }
}

fn goal(value: &Value) -> Result<Goal, ToolError> {
    let goal = value.get("goal").and_then(Value::as_str);
    checked_goal(goal).map_err(ToolError::ScopeAndGoalRequired)
}

fn shows(words: &str) -> Result<Arc<dyn Verifier>, ToolError> {
    let matcher = Matcher::literal(words, Case::Exact)
        .map_err(|_| Arguments::wrong("until", "words of at most a line or two"))?;
    Ok(Arc::new(TextVerifier::new(matcher)))
}

fn until(arguments: &Arguments<'_>) -> Result<Until, ToolError> {
    const ONE: &str = "given, or textGone, or url: exactly one of them";
    let said = [
        arguments.text("textAppears")?,
        arguments.text("textGone")?,
        arguments.text("url")?,
    ];
    match said {
        [Some(text), None, None] => Ok(Until::TextAppears(text.to_owned())),
        [None, Some(text), None] => Ok(Until::TextGone(text.to_owned())),
        [None, None, Some(url)] => AccessPattern::parse(url)
            .map(Until::At)
            .map_err(|_| Arguments::wrong("url", "an address, a prefix ending in *, or an origin")),
        [None, None, None]
        | [Some(_), Some(_), _]
        | [Some(_), _, Some(_)]
        | [_, Some(_), Some(_)] => Err(Arguments::wrong("textAppears", ONE)),
    }
}

fn name(arguments: &Arguments<'_>) -> Result<AccessibleName, ToolError> {
    AccessibleName::new(arguments.required("name")?)
        .map_err(|_| Arguments::wrong("name", "an accessible name of 1 to 300 characters"))
}
