//! Reading a call's arguments: strict, each fault with the argument's name.

use serde_json::Value;

use crate::tool::{ArgumentFault, ToolError};

/// Most characters of an argument that is no goal and no typed text.
pub(super) const TEXT_MAX_CHARS: usize = 2_000;

/// The arguments of one call.
pub(super) struct Arguments<'a>(pub(super) &'a Value);

impl<'a> Arguments<'a> {
    pub(super) fn wrong(field: &'static str, expected: &'static str) -> ToolError {
        ToolError::Arguments(ArgumentFault::Value { field, expected })
    }

    /// A text of 1 to 2,000 characters that is not blank, where it is given.
    pub(super) fn text(&self, field: &'static str) -> Result<Option<&'a str>, ToolError> {
        match self.0.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text))
                if !text.trim().is_empty() && text.chars().count() <= TEXT_MAX_CHARS =>
            {
                Ok(Some(text))
            }
            Some(_) => Err(Self::wrong(
                field,
                "one text of 1 to 2000 characters that is not blank",
            )),
        }
    }

    /// The same, and it must be there.
    pub(super) fn required(&self, field: &'static str) -> Result<&'a str, ToolError> {
        self.text(field)?
            .ok_or_else(|| Self::wrong(field, "given: one text of 1 to 2000 characters"))
    }

    /// A text of any length, empty too, that must be there.
    pub(super) fn raw(&self, field: &'static str) -> Result<&'a str, ToolError> {
        self.0
            .get(field)
            .and_then(Value::as_str)
            .ok_or_else(|| Self::wrong(field, "given: one text"))
    }

    /// One of several words, where it is given.
    pub(super) fn word<T: Copy>(
        &self,
        field: &'static str,
        words: &[(&str, T)],
        expected: &'static str,
    ) -> Result<Option<T>, ToolError> {
        let Some(text) = self.text(field)? else {
            return Ok(None);
        };
        words
            .iter()
            .find(|(word, _)| *word == text)
            .map(|(_, meant)| Some(*meant))
            .ok_or_else(|| Self::wrong(field, expected))
    }

    /// A whole number within a bound, where it is given.
    pub(super) fn count(
        &self,
        field: &'static str,
        most: u64,
        expected: &'static str,
    ) -> Result<Option<u64>, ToolError> {
        match self.0.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_u64() {
                Some(number) if (1..=most).contains(&number) => Ok(Some(number)),
                Some(_) | None => Err(Self::wrong(field, expected)),
            },
        }
    }
}
