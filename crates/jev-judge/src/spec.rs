//! How a user names a judge (`--judge`, configuration), and how that name becomes a judge.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use jev_core::error::JudgeError;
use jev_core::ports::Judge;

use crate::lexical::LexicalJudge;
use crate::scripted::ScriptedJudge;

/// A judge by name, as a user writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JudgeSpec {
    /// Shared words and trigrams.
    Lexical,
    /// Answers from a file.
    Scripted {
        /// The script, JSON Lines.
        file: PathBuf,
    },
}

const KNOWN: &str = "lexical, scripted:FILE";

impl JudgeSpec {
    /// Reads a judge's name.
    ///
    /// # Errors
    /// [`JudgeError::Config`] that says what is wrong and what is known.
    pub fn parse(text: &str) -> Result<Self, JudgeError> {
        let unknown = || JudgeError::Config {
            what: format!("unknown judge `{text}`; one of {KNOWN}"),
        };
        match text.trim().split_once(':') {
            None if text.trim() == "lexical" => Ok(Self::Lexical),
            Some(("scripted", file)) if !file.is_empty() => {
                Ok(Self::Scripted { file: file.into() })
            }
            _ => Err(unknown()),
        }
    }

    /// Builds the judge: reads its files, asks nothing of a network.
    ///
    /// # Errors
    /// [`JudgeError::Config`] for a file that can't be read or is malformed.
    pub fn build(&self, _options: &BuildOptions) -> Result<Arc<dyn Judge>, JudgeError> {
        Ok(match self {
            Self::Lexical => Arc::new(LexicalJudge::new()),
            Self::Scripted { file } => Arc::new(ScriptedJudge::load(file)?),
        })
    }
}

impl fmt::Display for JudgeSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lexical => f.write_str("lexical"),
            Self::Scripted { file } => write!(f, "scripted:{}", file.display()),
        }
    }
}

/// What a host may set beside a judge's name.
#[derive(Clone, Debug, Default)]
pub struct BuildOptions {}
