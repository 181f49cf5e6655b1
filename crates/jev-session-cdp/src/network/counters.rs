//! What the boundary counts for one tab.

use std::sync::atomic::{AtomicU64, Ordering};

use jev_core::ports::NetworkCounts;

/// Live counts of one tab; see [`NetworkCounts`] for what each means.
#[derive(Debug, Default)]
pub struct NetworkCounters {
    allowed: AtomicU64,
    bytes: AtomicU64,
    refused_documents: AtomicU64,
    refused_resources: AtomicU64,
    refused_methods: AtomicU64,
    refused_kinds: AtomicU64,
    refused_windows: AtomicU64,
    refused_downloads: AtomicU64,
    dismissed_dialogs: AtomicU64,
    breaches: AtomicU64,
}

/// One thing that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    Allowed,
    Document,
    Resource,
    Method,
    Kind,
    Window,
    Download,
    Dialog,
    Breach,
}

impl NetworkCounters {
    pub(crate) fn count(&self, what: Counted) {
        let counter = match what {
            Counted::Allowed => &self.allowed,
            Counted::Document => &self.refused_documents,
            Counted::Resource => &self.refused_resources,
            Counted::Method => &self.refused_methods,
            Counted::Kind => &self.refused_kinds,
            Counted::Window => &self.refused_windows,
            Counted::Download => &self.refused_downloads,
            Counted::Dialog => &self.dismissed_dialogs,
            Counted::Breach => &self.breaches,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts bytes that arrived; how many there are in all.
    pub(crate) fn receive(&self, bytes: u64) -> u64 {
        let before = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        before.saturating_add(bytes)
    }

    /// The counts now.
    #[must_use]
    pub fn counts(&self) -> NetworkCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        NetworkCounts {
            allowed: read(&self.allowed),
            bytes: read(&self.bytes),
            refused_documents: read(&self.refused_documents),
            refused_resources: read(&self.refused_resources),
            refused_methods: read(&self.refused_methods),
            refused_kinds: read(&self.refused_kinds),
            refused_windows: read(&self.refused_windows),
            refused_downloads: read(&self.refused_downloads),
            dismissed_dialogs: read(&self.dismissed_dialogs),
            breaches: read(&self.breaches),
        }
    }
}
