//! `--chat`: how a chat model of the user's own is named on the command line.

use std::sync::Arc;

use clap::Args;
use jev_agent::chat::{ChatModel, LiveChat};
use jev_judge::credential::{Credential, Secret};

use crate::error::UsageError;

/// A chat model behind an OpenAI-compatible endpoint.
#[derive(Debug, Default, Args)]
pub(crate) struct ChatArgs {
    /// The chat model, as URL#MODEL of an OpenAI-compatible endpoint.
    #[arg(long, value_name = "URL#MODEL")]
    pub chat: Option<String>,
    /// The environment variable that holds its key. No key is sent without this.
    #[arg(long, value_name = "VARIABLE", requires = "chat")]
    pub chat_key: Option<String>,
}

impl ChatArgs {
    /// The model, when one is named.
    pub(crate) fn model(&self) -> Result<Option<Arc<dyn ChatModel>>, UsageError> {
        let Some(text) = &self.chat else {
            return Ok(None);
        };
        let (url, model) = text
            .split_once('#')
            .filter(|(_, model)| !model.is_empty())
            .ok_or(UsageError::ChatName)?;
        let model = LiveChat::new(url, model, self.credential())?;
        Ok(Some(Arc::new(model)))
    }

    /// The model's key, only to be kept out of what is written.
    pub(crate) fn key(&self) -> Option<Secret> {
        // A key that is missing is the model's own error, at the first request.
        self.credential().read().unwrap_or_default()
    }

    fn credential(&self) -> Credential {
        match &self.chat_key {
            Some(variable) => Credential::Environment {
                variable: variable.clone(),
            },
            None => Credential::None,
        }
    }
}
