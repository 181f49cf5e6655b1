//! Errors of the browser's edge: what a protocol call and a launch can end with, and how that maps
//! to the core's [`SessionError`].

use std::path::PathBuf;

use jev_core::error::{Sent, SessionError, Stage};

/// How a call to the browser failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CdpError {
    /// The browser answered with an error. The call had no other effect.
    #[error("the browser refused the call ({code}): {message}")]
    Refused {
        /// The protocol's error number.
        code: i64,
        /// The browser's own words; never page text.
        message: String,
    },
    /// No answer within the call's deadline.
    #[error("the browser did not answer in time")]
    Timeout {
        /// Whether the call may have reached the browser.
        sent: Sent,
    },
    /// The connection is gone.
    #[error("the connection to the browser is gone")]
    Disconnected {
        /// Whether the call may have reached the browser.
        sent: Sent,
    },
    /// The tab crashed or was closed.
    #[error("the tab is gone")]
    TargetGone {
        /// Whether the call may have reached the tab.
        sent: Sent,
    },
    /// The answer could not be read.
    #[error("the browser's answer could not be read")]
    Malformed,
}

impl CdpError {
    /// Whether the call may have had an effect.
    #[must_use]
    pub const fn sent(&self) -> Sent {
        match self {
            Self::Refused { .. } => Sent::SurelyNot,
            Self::Timeout { sent } | Self::Disconnected { sent } | Self::TargetGone { sent } => {
                *sent
            }
            Self::Malformed => Sent::Maybe,
        }
    }

    /// The same, as the core's error.
    #[must_use]
    pub const fn at(&self, stage: Stage) -> SessionError {
        match self {
            Self::Refused { .. } | Self::Malformed => SessionError::Protocol { stage },
            Self::Timeout { .. } => SessionError::Hung { stage },
            Self::Disconnected { .. } => SessionError::Disconnected,
            Self::TargetGone { .. } => SessionError::Crashed,
        }
    }
}

/// Why there is no browser.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// None was found in the places searched.
    #[error(
        "no Chromium found; install one (Debian: apt-get install -y chromium-headless-shell), or name it by JEV_CHROME or --chrome PATH"
    )]
    NotFound,
    /// The path named explicitly is not an executable file.
    #[error("{path} is not an executable file")]
    NotExecutable {
        /// The path as named.
        path: PathBuf,
    },
    /// The profile folder could not be made.
    #[error("no profile folder could be made: {0}")]
    Profile(#[source] std::io::Error),
    /// The process could not be started.
    #[error("the browser could not be started: {0}")]
    Spawn(#[source] std::io::Error),
    /// The process started and did not answer, or ended at once.
    #[error("the browser started and did not answer: {error}{}", if stderr.is_empty() { String::new() } else { format!("; it said: {stderr}") })]
    NoAnswer {
        /// What the first calls ended with.
        error: CdpError,
        /// The end of what it wrote to its error stream, bounded.
        stderr: String,
    },
    /// The network boundary could not be set up, so the browser was not used.
    #[error("the network boundary could not be set up: {0}")]
    Boundary(#[source] std::io::Error),
    /// The address to attach to is not one of a browser of this machine.
    #[error(
        "only a browser of this machine is attached to: http://127.0.0.1:PORT or ws://127.0.0.1:PORT/devtools/browser/ID"
    )]
    Address,
    /// The websocket could not be opened.
    #[error(
        "could not attach to the browser: {0}; start it with --remote-debugging-port=PORT and a --user-data-dir of its own"
    )]
    Attach(#[source] std::io::Error),
}

impl LaunchError {
    /// The same, as the core's error.
    #[must_use]
    pub const fn as_session(&self) -> SessionError {
        match self {
            Self::NotFound | Self::NotExecutable { .. } => SessionError::BrowserMissing,
            Self::Profile(_)
            | Self::Spawn(_)
            | Self::NoAnswer { .. }
            | Self::Boundary(_)
            | Self::Address
            | Self::Attach(_) => SessionError::LaunchFailed,
        }
    }
}
