//! Small identifiers: who a run belongs to, which run, which effect, which candidate.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Who a session or a snapshot belongs to. All three parts are non-blank (checked by [`Scope::new`]).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "ScopeParts")]
pub struct Scope {
    user: String,
    session: String,
    tab: String,
}

/// A scope as it is written, before it is checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScopeParts {
    user: String,
    session: String,
    tab: String,
}

impl TryFrom<ScopeParts> for Scope {
    type Error = BlankScope;

    fn try_from(parts: ScopeParts) -> Result<Self, BlankScope> {
        Self::new(parts.user, parts.session, parts.tab)
    }
}

/// A scope with a blank part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("scope: `{part}` is blank; name the user, the session and the tab this run belongs to")]
pub struct BlankScope {
    /// The blank part: `user`, `session` or `tab`.
    pub part: &'static str,
}

impl Scope {
    /// Builds a scope.
    ///
    /// # Errors
    /// [`BlankScope`] when a part is empty or only white space.
    pub fn new(
        user: impl Into<String>,
        session: impl Into<String>,
        tab: impl Into<String>,
    ) -> Result<Self, BlankScope> {
        let scope = Self {
            user: user.into(),
            session: session.into(),
            tab: tab.into(),
        };
        for (part, value) in [
            ("user", &scope.user),
            ("session", &scope.session),
            ("tab", &scope.tab),
        ] {
            if value.trim().is_empty() {
                return Err(BlankScope { part });
            }
        }
        Ok(scope)
    }

    /// The user.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The session.
    #[must_use]
    pub fn session(&self) -> &str {
        &self.session
    }

    /// The tab.
    #[must_use]
    pub fn tab(&self) -> &str {
        &self.tab
    }
}

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    };
}

number_id!(
    /// One run of the navigator. The host chooses it; a permit is bound to it.
    RunId,
    "run-"
);
number_id!(
    /// One effect. Its answer carries the same number; an answer with another number is ignored.
    EffectId,
    "e"
);
number_id!(
    /// One intent to dispatch, numbered from 1 within a run.
    IntentId,
    "i"
);

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Wraps the text as it is.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id!(
    /// A candidate's id, given by the session: stable while its node lives, dead with its document.
    CandidateId
);
text_id!(
    /// One document's life in one tab: a new document, even of the same address, has another id.
    DocumentId
);
text_id!(
    /// The digest of all that a snapshot shows (address, title, text, candidates). Equal content,
    /// equal version, whatever the document.
    PageVersion
);
text_id!(
    /// The digest of a goal. A verification is bound to it.
    GoalDigest
);
