//! Progress: which page states and actions a run has seen, so that circles are noticed and nothing
//! without effect is offered again.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::access::CanonicalUrl;
use crate::action::Operation;
use crate::ids::{DocumentId, PageVersion};
use crate::snapshot::{Candidate, Snapshot};

/// What an action is, across documents: candidate ids die with their document, names do not.
/// Controls of one name are told apart by the heading they stand under.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ActionKey {
    operation: Operation,
    label: String,
    context: String,
    href: String,
}

impl ActionKey {
    pub(crate) fn new(operation: Operation, target: Option<&Candidate>) -> Self {
        Self {
            operation,
            label: target.map_or_else(String::new, |target| target.label.clone()),
            context: target.map_or_else(String::new, |target| target.context.clone()),
            href: target
                .and_then(|target| target.href.as_ref())
                .map_or_else(String::new, |href| href.as_str().to_owned()),
        }
    }
}

/// What a run has seen and used up.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Progress {
    seen: HashSet<PageVersion>,
    seen_offsets: HashSet<(PageVersion, u32)>,
    refused: HashSet<PageVersion>,
    without_effect: HashSet<(PageVersion, ActionKey)>,
    rejected: HashSet<(DocumentId, ActionKey)>,
    dead_ends: HashSet<ActionKey>,
    dead_addresses: HashSet<String>,
}

/// What kind of step led to a page, for the rule of progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LedBy {
    /// A scroll: a place not yet seen is progress even when the text is equal.
    Scroll,
    /// Anything else: only a content not yet seen is.
    Other,
}

impl Progress {
    /// A digest that does not depend on the order in which anything was noted.
    #[cfg(feature = "testing")]
    pub(crate) fn fingerprint(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        fn set<T: Hash>(name: u8, items: &HashSet<T>) -> u64 {
            items.iter().fold(0, |sum, item| {
                let mut hasher = DefaultHasher::new();
                (name, item).hash(&mut hasher);
                sum.wrapping_add(hasher.finish())
            })
        }
        set(0, &self.seen)
            .wrapping_add(set(1, &self.seen_offsets))
            .wrapping_add(set(2, &self.refused))
            .wrapping_add(set(3, &self.without_effect))
            .wrapping_add(set(4, &self.rejected))
            .wrapping_add(set(5, &self.dead_ends))
            .wrapping_add(set(6, &self.dead_addresses))
    }

    /// What the next run on the same tab has to know: what led nowhere. What was seen and verified
    /// is another goal's.
    pub(crate) fn carried(&self) -> Self {
        Self {
            without_effect: self.without_effect.clone(),
            rejected: self.rejected.clone(),
            dead_ends: self.dead_ends.clone(),
            dead_addresses: self.dead_addresses.clone(),
            ..Self::default()
        }
    }

    /// The host has changed something: what had no effect or was refused may be tried again.
    pub(crate) fn host_acted(&mut self) {
        self.without_effect.clear();
        self.rejected.clear();
    }

    /// It is not known whether this action was carried out; it is never offered again.
    pub(crate) fn is_unknown(&mut self, key: ActionKey) {
        self.dead_ends.insert(key);
    }

    /// Notes a page and says whether it is a state not seen before.
    pub(crate) fn is_new(&mut self, page: &Snapshot, led_by: LedBy) -> bool {
        let new_version = self.seen.insert(page.version().clone());
        let new_offset = self
            .seen_offsets
            .insert((page.version().clone(), page.scroll.offset));
        new_version || (led_by == LedBy::Scroll && new_offset)
    }

    /// Notes that the verifier did not pass this content.
    pub(crate) fn refuse(&mut self, version: &PageVersion) {
        self.refused.insert(version.clone());
    }

    /// Whether the verifier has already looked at this content and did not pass it.
    pub(crate) fn is_refused(&self, version: &PageVersion) -> bool {
        self.refused.contains(version)
    }

    /// This action in this state did nothing.
    pub(crate) fn had_no_effect(&mut self, version: &PageVersion, key: ActionKey) {
        self.without_effect.insert((version.clone(), key));
    }

    /// This action was refused on this page.
    pub(crate) fn was_rejected(&mut self, document: &DocumentId, key: ActionKey) {
        self.rejected.insert((document.clone(), key));
    }

    /// This action leads nowhere allowed, from anywhere; nor does another link to its address.
    pub(crate) fn is_dead_end(&mut self, key: ActionKey) {
        if !key.href.is_empty() {
            self.dead_addresses.insert(key.href.clone());
        }
        self.dead_ends.insert(key);
    }

    /// What may not be offered on a page, gathered once for all of its candidates.
    pub(crate) fn barred(&self, page: &Snapshot) -> Barred<'_> {
        let without_effect = self
            .without_effect
            .iter()
            .filter(|(version, _)| version == page.version())
            .map(|(_, key)| key);
        let rejected = self
            .rejected
            .iter()
            .filter(|(document, _)| *document == page.document)
            .map(|(_, key)| key);
        Barred {
            keys: without_effect
                .chain(rejected)
                .chain(&self.dead_ends)
                .collect(),
            addresses: &self.dead_addresses,
        }
    }
}

/// What led nowhere before and is not offered on one page.
#[derive(Debug)]
pub(crate) struct Barred<'a> {
    keys: Vec<&'a ActionKey>,
    addresses: &'a HashSet<String>,
}

impl Barred<'_> {
    /// Whether an action may be offered.
    pub(crate) fn offers(&self, operation: Operation, target: Option<&Candidate>) -> bool {
        let href = target
            .and_then(|target| target.href.as_ref())
            .map_or("", CanonicalUrl::as_str);
        let named = |key: &&ActionKey| {
            key.operation == operation
                && key.href == href
                && key.label == target.map_or("", |target| target.label.as_str())
                && key.context == target.map_or("", |target| target.context.as_str())
        };
        !self.addresses.contains(href) && !self.keys.iter().any(named)
    }
}
