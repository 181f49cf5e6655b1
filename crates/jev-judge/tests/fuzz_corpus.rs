//! The fuzz target's seed corpus, replayed by an ordinary test.

#[expect(clippy::panic, reason = "a promise that does not hold is to be seen")]
#[path = "../../../fuzz/check.rs"]
mod check;

use std::path::Path;

#[test]
fn the_seed_corpus_of_the_fuzz_target_holds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/validate");
    let mut seeds = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        check::reply(&std::fs::read(entry.unwrap().path()).unwrap());
        seeds += 1;
    }
    assert!(seeds >= 30, "{seeds} seeds");
}
