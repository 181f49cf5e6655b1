//! The host's own acts on a tab: going to an address, filling a field, pressing a control. They are
//! explicit calls of the host with receipts of their own; a judge has no path to them.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::access::CanonicalUrl;
use crate::error::DispatchError;
use crate::receipt::{AppliedEffect, UnknownCause};
use crate::snapshot::{Role, collapse};

/// Most characters that are typed into one field.
pub const TYPED_MAX_CHARS: usize = 10_000;
/// Most characters of a name.
pub const NAME_MAX_CHARS: usize = 300;

/// What the host types. Shown nowhere, written nowhere, sent to no judge.
#[derive(Clone, PartialEq, Eq)]
pub struct TypedText(String);

/// A name or a text that can't be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostActError {
    /// The text is too long.
    #[error("the text to type has {chars} characters; at most {TYPED_MAX_CHARS} are typed")]
    LongText {
        /// Its length.
        chars: usize,
    },
    /// The name is blank.
    #[error("the name is blank; give the accessible name as a screen reader says it")]
    BlankName,
    /// The name is too long.
    #[error("the name has {chars} characters; at most {NAME_MAX_CHARS} are compared")]
    LongName {
        /// Its length.
        chars: usize,
    },
}

impl TypedText {
    /// Takes a text; an empty one empties the field.
    ///
    /// # Errors
    /// [`HostActError::LongText`].
    pub fn new(text: impl Into<String>) -> Result<Self, HostActError> {
        let text = text.into();
        let chars = text.chars().count();
        if chars > TYPED_MAX_CHARS {
            return Err(HostActError::LongText { chars });
        }
        Ok(Self(text))
    }

    /// The text, for whoever types it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for TypedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TypedText(..)")
    }
}

/// What kind of field something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FieldRole {
    /// A text field of one or more lines, of whatever type (text, e-mail, number, password, ...).
    TextBox,
    /// A search field.
    SearchBox,
    /// A text field with suggestions.
    ComboBox,
}

impl FieldRole {
    /// The word used for people.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::TextBox => "text field",
            Self::SearchBox => "search field",
            Self::ComboBox => "combo box",
        }
    }
}

/// An accessible name, white space collapsed. It is compared exactly.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct AccessibleName(String);

impl AccessibleName {
    /// Takes a name.
    ///
    /// # Errors
    /// [`HostActError`] for a blank or long one.
    pub fn new(name: &str) -> Result<Self, HostActError> {
        let name = collapse(name);
        let chars = name.chars().count();
        match chars {
            0 => Err(HostActError::BlankName),
            1..=NAME_MAX_CHARS => Ok(Self(name)),
            _ => Err(HostActError::LongName { chars }),
        }
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The one field of this role and name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Field {
    /// Its role.
    pub role: FieldRole,
    /// Its accessible name.
    pub name: AccessibleName,
}

/// The one control of this role and name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Control {
    /// Its role.
    pub role: Role,
    /// Its accessible name.
    pub name: AccessibleName,
}

/// Why an act of the host was not carried out. Nothing was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum HostRefusal {
    /// Nothing visible has that role and name.
    #[error("nothing visible has that role and name")]
    NotFound,
    /// Several have.
    #[error("several things have that role and name")]
    Ambiguous,
    /// It is disabled or can't be written.
    #[error("it is disabled or read-only")]
    Disabled,
    /// Something else lies over it.
    #[error("something else lies over it")]
    Covered,
    /// It can't be brought into view.
    #[error("it can't be brought into view")]
    NotVisible,
    /// The address is not allowed.
    #[error("the address is not on the allow-list")]
    OffList,
    /// The page's handler led elsewhere or would have sent something, and was stopped.
    #[error("it would have led off the allow-list or sent something, and was stopped")]
    Diverted,
    /// The session does not do this, or not here.
    #[error("the session does not do this here")]
    Unsupported,
    /// The host's own policy denies the name.
    #[error("the host's policy denies that name")]
    Denied,
}

/// What became of an act of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(
    tag = "receipt",
    content = "detail",
    rename_all = "SCREAMING_SNAKE_CASE"
)]
pub enum HostReceipt {
    /// Done, and seen to be done.
    Applied(AppliedEffect),
    /// Surely not done.
    Refused(HostRefusal),
    /// May have been done.
    Unknown(UnknownCause),
}

/// A session on which the host can act by itself.
#[async_trait]
pub trait HostActs: Send + Sync {
    /// Goes to an address of the allow-list and waits for its document.
    async fn navigate(
        &self,
        to: &CanonicalUrl,
        deadline: Duration,
    ) -> Result<HostReceipt, DispatchError>;

    /// Puts a text in the place of what stands in a field, as a person's typing would, without
    /// sending the form.
    async fn fill(
        &self,
        field: &Field,
        text: &TypedText,
        deadline: Duration,
    ) -> Result<HostReceipt, DispatchError>;

    /// Presses a control, also one that the judge is never offered. A form that is sent this way is
    /// a GET to an allowed address, or it is stopped.
    async fn press(
        &self,
        control: &Control,
        deadline: Duration,
    ) -> Result<HostReceipt, DispatchError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_text_is_not_shown() {
        let text = TypedText::new("hunter2").unwrap();
        assert_eq!(format!("{text:?}"), "TypedText(..)");
        assert_eq!(text.reveal(), "hunter2");
        assert_eq!(
            TypedText::new("x".repeat(10_001)),
            Err(HostActError::LongText { chars: 10_001 })
        );
    }

    #[test]
    fn names_are_collapsed_and_bounded() {
        assert_eq!(AccessibleName::new(" a\n b ").unwrap().as_str(), "a b");
        assert_eq!(AccessibleName::new(" "), Err(HostActError::BlankName));
        assert_eq!(
            AccessibleName::new(&"x".repeat(301)),
            Err(HostActError::LongName { chars: 301 })
        );
    }
}
