//! No input makes the navigator copy the page: what it allocates does not grow with the page, and
//! every effect, record and report holds the very snapshot that the session read.
//!
//! Alone in its file, since it counts what the whole program allocates.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy exempts functions that are tests, not their helpers"
)]

#[path = "large/page.rs"]
mod page;

use std::alloc::System;
use std::sync::Arc;

use jev_core::effect::EffectKind;
use jev_core::record::Event;
use jev_core::snapshot::Snapshot;
use page::Large;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Bytes allocated by `handle` and drain, for each input of a run.
fn allocated(links: usize, chars: usize) -> Vec<(&'static str, usize)> {
    let mut large = Large::new(links, chars);
    let mut costs = Vec::new();
    while let Some((name, input)) = large.next() {
        let region = Region::new(ALLOCATOR);
        large.take(input);
        costs.push((name, region.change().bytes_allocated));
    }
    assert!(large.navigator.is_closed());
    costs
}

#[test]
fn no_input_copies_the_page() {
    // Equal in all but the text: a megabyte of it costs not a byte more.
    let (short, long) = (allocated(100, 1_000), allocated(100, 1_000_000));
    assert_eq!(short.len(), 18);
    for ((name, few), (_, many)) in short.iter().zip(&long) {
        assert!(many <= few, "{name}: {few} bytes, on a long page {many}");
    }
    // Asking names candidates by their places: a few words each, not their labels and addresses.
    for (name, bytes) in &short {
        assert!(*bytes < 16_000, "{name}: {bytes} bytes");
    }
    pages_are_shared();
}

fn pages_are_shared() {
    let mut large = Large::new(100, 1_000);
    let pages = large.pages.clone();
    let ours = |page: &Arc<Snapshot>| pages.iter().any(|ours| Arc::ptr_eq(ours, page));
    while let Some((name, input)) = large.next() {
        // A fork hears the same and shows what it would say.
        let mut fork = large.navigator.fork().unwrap();
        fork.handle(input.clone(), large.now);
        while let Some(effect) = fork.poll_effect() {
            match &effect.kind {
                EffectKind::Verify(request) => assert!(ours(&request.snapshot), "{name}"),
                EffectKind::AskJudge(ask) => assert!(ours(ask.snapshot()), "{name}"),
                EffectKind::Open(_)
                | EffectKind::Observe
                | EffectKind::Dispatch(_)
                | EffectKind::Wait { .. }
                | EffectKind::Close { .. } => {}
            }
        }
        while let Some(record) = fork.poll_record() {
            if let Event::Observed(page) = &record.event {
                assert!(ours(page), "{name}");
            }
        }
        large.take(input);
    }
    let report = large.navigator.report().unwrap();
    assert!(report.page.is_some_and(|page| ours(&page)));
    assert_eq!(report.status.name(), "VERIFIED");
}
