//! What one tab may fetch, and how much of it.

use std::time::Duration;

use jev_core::access::AccessList;

/// Whether a kind of resource is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// It is, from allowed origins.
    Fetch,
    /// It is not: reading does not need it.
    Refuse,
}

/// Whether pages may run their scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageScripts {
    /// They may.
    Run,
    /// They may not.
    Off,
}

/// Whether our own content security policy goes with every answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnCsp {
    /// It does: no popups, no downloads, no modal dialogs, no web sockets, at the source.
    On,
    /// It does not; the other walls hold alone.
    Off,
}

/// Whether a name may stand for a private network's address (RFC 1918, RFC 4193, shared address
/// space). A host written in numbers that the list names may always, and a name other than
/// `localhost` never stands for this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PrivateNames {
    /// It may not: whoever answers for a name of the open network can't lead into a private one.
    #[default]
    Refuse,
    /// It may: for hosts that read sites of their own network by name.
    Allow,
}

/// Bounds of what one tab fetches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Most decoded bytes of one answer.
    pub body_bytes: u64,
    /// Most decoded bytes of all answers together.
    pub total_bytes: u64,
    /// Most requests.
    pub requests: u64,
    /// Longest time from a request's arrival to the last byte of its answer.
    pub request: Duration,
    /// Longest silence in the middle of an answer, and longest wait for a connection.
    pub silence: Duration,
}

impl Default for Caps {
    /// 16 MiB an answer, 256 MiB and 5,000 requests a tab, 10 s a request (the default budget of a
    /// whole run), 5 s of silence.
    fn default() -> Self {
        Self {
            body_bytes: 16 * 1024 * 1024,
            total_bytes: 256 * 1024 * 1024,
            requests: 5_000,
            request: Duration::from_secs(10),
            silence: Duration::from_secs(5),
        }
    }
}

/// What one tab may do.
#[derive(Clone, Debug)]
pub struct TabPolicy {
    /// The documents it may stand on, frames included.
    pub access: AccessList,
    /// The origins of its sub-resources; none: those of `access`.
    pub resources: Option<AccessList>,
    /// Images. Fetched by default: their size decides what stands where.
    pub images: Want,
    /// Audio, video and their tracks.
    pub media: Want,
    /// Fonts.
    pub fonts: Want,
    /// The pages' scripts.
    pub scripts: PageScripts,
    /// Our own content security policy.
    pub csp: OwnCsp,
    /// Names of private networks.
    pub private: PrivateNames,
    /// Bounds.
    pub caps: Caps,
}

impl TabPolicy {
    /// The default policy for a list of documents: images but no media and no fonts, scripts run,
    /// our content security policy on.
    #[must_use]
    pub fn new(access: AccessList) -> Self {
        Self {
            access,
            resources: None,
            images: Want::Fetch,
            media: Want::Refuse,
            fonts: Want::Refuse,
            scripts: PageScripts::Run,
            csp: OwnCsp::On,
            private: PrivateNames::Refuse,
            caps: Caps::default(),
        }
    }

    /// The origins of its sub-resources.
    #[must_use]
    pub fn origins(&self) -> &AccessList {
        self.resources.as_ref().unwrap_or(&self.access)
    }
}
