//! One `[[source]]` of the host's file: which pages the tool reads, and what proves an answer.

use std::sync::Arc;

use jev_core::access::{AccessList, AccessPattern, CanonicalUrl};
use jev_core::policy::{ActionPolicy, Discovery, NameRule, Permission, SafeKey};
use jev_core::ports::Verifier;
use jev_verify::{Criteria, VerifierSpec};
use serde::Serialize;

use super::error::ConfigError;
use super::reader::Table;

/// Most sources of one file.
pub const SOURCES_MAX: usize = 32;
/// Most characters of a source's name: `read_browser_` and the name stay within the 64 characters
/// that tool-calling interfaces allow.
pub const NAME_MAX_CHARS: usize = 32;
/// Most characters of a source's own words about itself.
pub const ABOUT_MAX_CHARS: usize = 300;

/// The pages one tool reads.
#[derive(Clone, Debug)]
pub struct SourceSettings {
    /// Its name; the tool's name carries it when there are several.
    pub name: String,
    /// What it is, in the host's words, for the agent that chooses among tools.
    pub about: Option<String>,
    /// The page every run starts on.
    pub start: CanonicalUrl,
    /// The documents a run may stand on.
    pub access: AccessList,
    /// What the judge may be offered.
    pub actions: ActionPolicy,
    /// What a page must show.
    pub verify: VerifierSpec,
}

/// What of a source decides what a run can see, for the configuration's digest.
#[derive(Serialize)]
pub(super) struct Identity<'a> {
    name: &'a str,
    start: &'a CanonicalUrl,
    access: &'a AccessList,
    actions: &'a ActionPolicy,
    verify: String,
}

pub(super) const PERMISSIONS: [(&str, Permission); 2] = [
    ("allowed", Permission::Allowed),
    ("denied", Permission::Denied),
];

const DISCOVERIES: [(&str, Discovery); 2] =
    [("off", Discovery::Off), ("low_risk", Discovery::LowRisk)];

const KEYS: [(&str, SafeKey); 7] = [
    ("Enter", SafeKey::Enter),
    ("Escape", SafeKey::Escape),
    ("Tab", SafeKey::Tab),
    ("PageUp", SafeKey::PageUp),
    ("PageDown", SafeKey::PageDown),
    ("Home", SafeKey::Home),
    ("End", SafeKey::End),
];

impl SourceSettings {
    pub(super) fn read(mut table: Table) -> Result<Self, ConfigError> {
        let name = name(&mut table)?;
        let about = about(&mut table)?;
        let start_key = table.key("start");
        let start = table.text("start")?.ok_or_else(|| ConfigError::Missing {
            key: start_key.clone(),
            why: "the page every run of this source starts on",
        })?;
        let start = CanonicalUrl::parse(&start).map_err(|error| ConfigError::Access {
            key: start_key.clone(),
            error,
        })?;
        let access = access(&mut table, &start)?;
        if !access.allows(&start) {
            return Err(ConfigError::StartNotAllowed {
                key: start_key,
                start: start.to_string(),
            });
        }
        let verify = verify(&mut table)?;
        let actions = match table.table("actions")? {
            Some(actions) => read_actions(actions)?,
            None => ActionPolicy::read_only(),
        };
        table.finish()?;
        Ok(Self {
            name,
            about,
            start,
            access,
            actions,
            verify,
        })
    }

    /// Whether a run of this source can end as VERIFIED at all.
    #[must_use]
    pub fn criteria(&self) -> Criteria {
        self.verify.criteria()
    }

    /// The verifier.
    ///
    /// # Errors
    /// None for settings that were read from a file: they were compiled when they were read.
    pub fn verifier(&self) -> Result<Arc<dyn Verifier>, jev_verify::SpecError> {
        self.verify.build()
    }

    pub(super) fn identity(&self) -> Identity<'_> {
        Identity {
            name: &self.name,
            start: &self.start,
            access: &self.access,
            actions: &self.actions,
            verify: format!("{:?}", self.verify),
        }
    }
}

fn name(table: &mut Table) -> Result<String, ConfigError> {
    let key = table.key("name");
    let name = table.text("name")?.ok_or_else(|| ConfigError::Missing {
        key: key.clone(),
        why: "a short name for this source",
    })?;
    let plain = name
        .bytes()
        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-');
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    if plain && begins && name.len() <= NAME_MAX_CHARS {
        Ok(name)
    } else {
        Err(ConfigError::Name {
            key,
            max: NAME_MAX_CHARS,
        })
    }
}

fn about(table: &mut Table) -> Result<Option<String>, ConfigError> {
    let key = table.key("about");
    let about = table.text("about")?;
    match &about {
        Some(text) if text.chars().count() > ABOUT_MAX_CHARS || text.contains(char::is_control) => {
            Err(ConfigError::Type {
                key,
                expected: "one line of at most 300 characters",
            })
        }
        Some(_) | None => Ok(about),
    }
}

/// The patterns given; without any, the start page's folder.
fn access(table: &mut Table, start: &CanonicalUrl) -> Result<AccessList, ConfigError> {
    let key = table.key("allow");
    let patterns = table.texts("allow")?;
    let list = if patterns.is_empty() {
        AccessList::new(vec![AccessPattern::folder_of(start)])
    } else {
        AccessList::parse(patterns.iter().map(String::as_str))
    };
    list.map_err(|error| ConfigError::Access { key, error })
}

fn verify(table: &mut Table) -> Result<VerifierSpec, ConfigError> {
    let key = table.key("expect");
    let mut spec = VerifierSpec::new().expect_all(table.texts("expect")?);
    if let Some(pattern) = table.text("expect_url")? {
        spec = spec.expect_url(pattern);
    }
    match spec.build() {
        Ok(_) => Ok(spec),
        Err(error) => Err(ConfigError::Expectation { key, error }),
    }
}

fn read_actions(mut table: Table) -> Result<ActionPolicy, ConfigError> {
    let base = ActionPolicy::read_only();
    let path = table.key("");
    let path = path.trim_end_matches('.').to_owned();
    let policy = ActionPolicy {
        allow: names(&mut table, "allow")?,
        discover: table
            .word("discover", &DISCOVERIES)?
            .unwrap_or(base.discover),
        deny: names(&mut table, "deny")?,
        reserve: names(&mut table, "reserve")?,
        scroll: table.word("scroll", &PERMISSIONS)?.unwrap_or(base.scroll),
        scroll_pages: match table.count("scroll_pages", 1, 5)? {
            Some(pages) => u8::try_from(pages).unwrap_or(base.scroll_pages),
            None => base.scroll_pages,
        },
        scroll_areas: names(&mut table, "scroll_areas")?,
        back: table.word("back", &PERMISSIONS)?.unwrap_or(base.back),
        reload: table.word("reload", &PERMISSIONS)?.unwrap_or(base.reload),
        keys: keys(&mut table)?,
    };
    table.finish()?;
    policy
        .check()
        .map_err(|error| ConfigError::Policy { key: path, error })?;
    Ok(policy)
}

/// Names, as [`NameRule::written`] reads them.
pub(super) fn names(table: &mut Table, key: &'static str) -> Result<Vec<NameRule>, ConfigError> {
    let texts = table.texts(key)?;
    Ok(texts.iter().map(|text| NameRule::written(text)).collect())
}

fn keys(table: &mut Table) -> Result<Vec<SafeKey>, ConfigError> {
    let key = table.key("keys");
    table
        .texts("keys")?
        .iter()
        .map(|text| {
            KEYS.iter()
                .find(|(word, _)| word == text)
                .map(|(_, key)| *key)
                .ok_or_else(|| ConfigError::Choice {
                    key: key.clone(),
                    choices: KEYS.iter().map(|(word, _)| *word).collect(),
                })
        })
        .collect()
}
