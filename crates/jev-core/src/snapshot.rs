//! The snapshot: one immutable look at a page, with its digests worked out once when it is made.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::access::CanonicalUrl;
use crate::action::Operation;
use crate::contract::Reach;
use crate::digest::Digester;
use crate::ids::{CandidateId, DocumentId, PageVersion, Scope};

/// What kind of control a candidate is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A link with an http(s) address.
    Link,
    /// A button.
    Button,
    /// A tab of a tab list.
    Tab,
    /// A switch or check box.
    Switch,
    /// An entry of a menu.
    MenuItem,
    /// A named part of the page that scrolls by itself: choosing it scrolls it down.
    ScrollAreaDown,
    /// The same, up.
    ScrollAreaUp,
}

impl Role {
    /// Whether it leads to the address that it says; nothing else says one.
    #[must_use]
    pub const fn is_link(self) -> bool {
        match self {
            Self::Link => true,
            Self::Button
            | Self::Tab
            | Self::Switch
            | Self::MenuItem
            | Self::ScrollAreaDown
            | Self::ScrollAreaUp => false,
        }
    }

    /// Whether choosing it scrolls a part of the page instead of clicking.
    #[must_use]
    pub const fn is_scroll_area(self) -> bool {
        match self {
            Self::ScrollAreaDown | Self::ScrollAreaUp => true,
            Self::Link | Self::Button | Self::Tab | Self::Switch | Self::MenuItem => false,
        }
    }

    /// The word used for people and judges.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::Button => "button",
            Self::Tab => "tab",
            Self::Switch => "switch",
            Self::MenuItem => "menu item",
            Self::ScrollAreaDown => "scroll area (down)",
            Self::ScrollAreaUp => "scroll area (up)",
        }
    }
}

/// Where a candidate lies, seen from the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// Inside the window.
    InView,
    /// Above it.
    Above,
    /// Below it.
    Below,
}

/// Something on the page that the judge may choose to click.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// Stable while its node lives, and its alone. A candidate that shares its id with another, or
    /// whose id is blank or the name of an operation, is not offered.
    pub id: CandidateId,
    /// What it is.
    pub role: Role,
    /// Its accessible name, white space collapsed. Page text: untrusted.
    pub label: String,
    /// Where it leads; none for a control that is not a link.
    pub href: Option<CanonicalUrl>,
    /// The heading or region it stands under, for people and judges; may be empty.
    pub context: String,
    /// Where it lies.
    pub placement: Placement,
    /// The session's own digest of what an action on it depends on (document, address, identity,
    /// name, state). Opaque here; carried back in the permit.
    pub guard: String,
}

/// Which ways the page can still be scrolled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScrollState {
    /// How far the window's top is from the document's top, in CSS pixels.
    pub offset: u32,
    /// How many CSS pixels lie below the window.
    pub below: u32,
}

/// What a snapshot had to leave out, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Omitted {
    /// Links and controls beyond the reach or the session's cap.
    pub candidates: u32,
    /// Links whose address is not allowed, or of a kind that is never offered.
    pub refused_links: u32,
    /// Characters of text beyond the session's cap.
    pub text_chars: u32,
    /// Frames that could not be read (cross-origin, sandboxed).
    pub frames: u32,
    /// Closed shadow roots.
    pub shadow_roots: u32,
    /// Nodes that could not be read and were dropped.
    pub bad_nodes: u32,
}

/// Whether the page had come to rest when it was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settled {
    /// Nothing in flight, no changes for a while.
    #[default]
    Yes,
    /// The bound came first.
    No,
}

/// The parts of a snapshot, as a session reads them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct SnapshotParts {
    /// Whose tab it is.
    pub scope: Scope,
    /// The document's life.
    pub document: DocumentId,
    /// The address in the bar, as the browser says it.
    pub url: String,
    /// The title. Page text: untrusted.
    pub title: String,
    /// The visible text, blocks on lines of their own. Page text: untrusted.
    pub text: String,
    /// What may be clicked, in reading order.
    pub candidates: Vec<Candidate>,
    /// Scrolling.
    pub scroll: ScrollState,
    /// What was left out.
    pub omitted: Omitted,
    /// Whether the page had come to rest.
    pub settled: Settled,
    /// From where text and candidates come.
    pub reach: Reach,
    /// The HTTP status of the document, when the session knows it.
    pub http_status: Option<u16>,
}

/// One immutable look at a page. Read back from a file, its version is worked out anew.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "SnapshotParts")]
pub struct Snapshot {
    parts: SnapshotParts,
    collapsed: String,
    version: PageVersion,
    costs: Costs,
}

/// Sizes worked out once, so that asking the judge measures nothing again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Costs {
    /// Serialised characters of title and address.
    pub head: usize,
    /// Serialised characters of the text.
    pub text: usize,
    /// Serialised characters of each candidate's label, address and context.
    pub candidates: Vec<CandidateCost>,
    /// Candidates that no answer could name, in their order: the id is blank, another candidate's
    /// too, or the name of an operation.
    pub unnamed: Vec<usize>,
}

/// The candidates whose id is not theirs alone.
fn unnamed(candidates: &[Candidate]) -> Vec<usize> {
    let mut uses: HashMap<&str, u32> = HashMap::with_capacity(candidates.len());
    for candidate in candidates {
        *uses.entry(candidate.id.as_str()).or_default() += 1;
    }
    let is_unnamed = |candidate: &Candidate| {
        let id = candidate.id.as_str();
        id.trim().is_empty() || Operation::is_option_name(id) || uses.get(id) != Some(&1)
    };
    let all = candidates.iter().enumerate();
    all.filter(|(_, candidate)| is_unnamed(candidate))
        .map(|(index, _)| index)
        .collect()
}

/// Serialised sizes of one candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CandidateCost {
    /// Of the id.
    pub id: usize,
    /// Of the label.
    pub label: usize,
    /// Of the address.
    pub href: usize,
    /// Of the context.
    pub context: usize,
}

impl Snapshot {
    /// Seals the parts: works out the version digest, the collapsed text and the sizes.
    #[must_use]
    pub fn new(parts: SnapshotParts) -> Self {
        let collapsed = collapse(&parts.text);
        let mut digester = Digester::new();
        digester
            .part(&parts.url)
            .part(&parts.title)
            .part(&collapsed);
        for candidate in &parts.candidates {
            digester
                .part(candidate.role.word())
                .part(&candidate.label)
                .part(
                    candidate
                        .href
                        .as_ref()
                        .map(CanonicalUrl::as_str)
                        .unwrap_or(""),
                );
            if candidate.role.is_scroll_area() {
                // How far it is scrolled stands there: another place is another state.
                digester.part(&candidate.context);
            }
        }
        let version = PageVersion::new(digester.finish());
        let costs = Costs {
            head: json_chars(&parts.url) + json_chars(&parts.title),
            text: json_chars(&parts.text),
            unnamed: unnamed(&parts.candidates),
            candidates: parts
                .candidates
                .iter()
                .map(|candidate| CandidateCost {
                    id: json_chars(candidate.id.as_str()),
                    label: json_chars(&candidate.label),
                    href: candidate
                        .href
                        .as_ref()
                        .map(CanonicalUrl::as_str)
                        .map_or(0, json_chars),
                    context: json_chars(&candidate.context),
                })
                .collect(),
        };
        Self {
            parts,
            collapsed,
            version,
            costs,
        }
    }

    /// The content's digest; see [`PageVersion`].
    #[must_use]
    pub fn version(&self) -> &PageVersion {
        &self.version
    }

    /// The text with every run of white space as one space: what verifiers read.
    #[must_use]
    pub fn collapsed_text(&self) -> &str {
        &self.collapsed
    }

    /// The candidate of this id.
    #[must_use]
    pub fn candidate(&self, id: &CandidateId) -> Option<&Candidate> {
        self.parts
            .candidates
            .iter()
            .find(|candidate| candidate.id == *id)
    }

    pub(crate) fn costs(&self) -> &Costs {
        &self.costs
    }
}

impl From<SnapshotParts> for Snapshot {
    fn from(parts: SnapshotParts) -> Self {
        Self::new(parts)
    }
}

impl std::ops::Deref for Snapshot {
    type Target = SnapshotParts;

    fn deref(&self) -> &SnapshotParts {
        &self.parts
    }
}

/// Every run of white space (no-break spaces included) as one space, none at the ends.
#[must_use]
pub fn collapse(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// How many characters a text takes inside a JSON string, as serde_json writes it.
#[must_use]
pub(crate) fn json_chars(text: &str) -> usize {
    text.chars()
        .map(|c| match c {
            '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
            c if c < '\u{20}' => 6,
            _ => 1,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn json_chars_is_what_serde_writes(text in ".*") {
            let written = serde_json::to_string(&text).unwrap().chars().count() - 2;
            proptest::prop_assert_eq!(json_chars(&text), written);
        }

        #[test]
        fn collapsed_text_has_no_double_space(text in "[ a\u{a0}\n\tb]*") {
            let collapsed = collapse(&text);
            proptest::prop_assert!(!collapsed.contains("  ") && collapsed.trim() == collapsed);
        }
    }
}
