//! Exit codes: one for each way a command can end, documented in `docs/statuses.md`.

use std::process::ExitCode;

use jev_core::status::Status;

/// A stable process exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// VERIFIED, or a command that did what it was asked.
    Success = 0,
    /// Wrong usage or a contract that can't be run; no browser was started.
    Usage = 2,
    /// The run ended without verification.
    NotVerified = 3,
    /// A budget or limit ended the run.
    Limit = 4,
    /// The judge failed.
    Judge = 5,
    /// The browser failed.
    Browser = 6,
    /// An action's outcome is not known.
    Unknown = 7,
    /// A page or session outside the scope.
    Scope = 8,
    /// OFF or SHADOW: looked once.
    Observed = 10,
    /// Cancelled.
    Cancelled = 130,
}

impl From<Status> for Exit {
    fn from(status: Status) -> Self {
        match status {
            Status::Verified(_) => Self::Success,
            Status::Observed => Self::Observed,
            Status::Unverified
            | Status::VerificationStale
            | Status::Abstain
            | Status::Blocked
            | Status::Rejected
            | Status::NoProgress => Self::NotVerified,
            Status::StaleLimit
            | Status::StepLimit
            | Status::LoadingTimeout
            | Status::StateLimit
            | Status::Timeout => Self::Limit,
            Status::JudgeError => Self::Judge,
            Status::SessionError => Self::Browser,
            Status::Unknown => Self::Unknown,
            Status::LeftScope | Status::ScopeMismatch => Self::Scope,
            Status::Cancelled => Self::Cancelled,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every status but the verified one, which only the core can make; it stands in the test.
    const OTHERS: [Status; 18] = [
        Status::Observed,
        Status::Unverified,
        Status::VerificationStale,
        Status::Abstain,
        Status::Blocked,
        Status::Rejected,
        Status::Unknown,
        Status::StaleLimit,
        Status::NoProgress,
        Status::StepLimit,
        Status::LoadingTimeout,
        Status::StateLimit,
        Status::Timeout,
        Status::JudgeError,
        Status::LeftScope,
        Status::ScopeMismatch,
        Status::SessionError,
        Status::Cancelled,
    ];

    #[test]
    fn every_status_exits_as_its_document_says() {
        let document = include_str!("../../../docs/statuses.md");
        let documented: Vec<(&str, &str, &str)> = document
            .lines()
            .filter_map(|line| {
                let mut cells = line.strip_prefix("| `")?.split('|').map(str::trim);
                let name = cells.next()?.trim_matches('`');
                let handoff = cells.next()?.trim_matches('`');
                Some((name, handoff, cells.next()?))
            })
            .collect();
        let names: Vec<&str> = documented.iter().map(|(name, ..)| *name).collect();
        assert_eq!(names, Status::NAMES);
        let mut rows = documented.iter();
        // Scripts rely on 0 meaning verified, and on nothing else meaning it.
        let verified = rows.next().unwrap();
        assert_eq!(verified, &("VERIFIED", "none", "0"));
        for status in OTHERS {
            let (name, handoff, code) = rows.next().unwrap();
            assert_eq!(*name, status.name());
            assert_eq!(serde_json::json!(status.handoff()), *handoff, "{name}");
            assert_eq!((Exit::from(status) as u8).to_string(), *code, "{name}");
            assert_ne!(Exit::from(status), Exit::Success, "{name}");
        }
        assert_eq!(rows.next(), None);
    }
}
