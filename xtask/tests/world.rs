//! The simulated world as ordinary tests: what it reaches, the shape of the machine, and cases that
//! shrink.

use std::path::Path;

use proptest::prelude::*;
use xtask::world::Chance;
use xtask::world::cancels;
use xtask::world::case::{Orders, play};
use xtask::world::coverage::Coverage;
use xtask::world::hunt::{Plan, hunt};
use xtask::world::small::{VARIANTS, search};

/// More than enough to reach every transition: 2,000 cases do.
const CASES: u64 = 20_000;

/// Every phase, status, receipt, timer, input and effect is reached, and what leads where in the
/// machine is what the architecture page shows.
#[test]
fn everything_is_reached_and_the_machine_has_its_shape() {
    let plan = Plan {
        seed: 1,
        first: 0,
        cases: CASES,
        time: None,
    };
    let hunt = hunt(plan);
    assert_eq!(hunt.fault, None);
    assert_eq!(hunt.coverage.missing(), Vec::<String>::new());
    let mut coverage = hunt.coverage;
    for variant in VARIANTS {
        let found = search(variant, 5_000).expect("the contract of a small world is sound");
        assert_eq!(found.failure, None, "{variant}");
        coverage.add(&found.coverage);
    }
    let matrix = coverage.matrix();
    insta::assert_snapshot!("transitions", matrix);
    let page = include_str!("../../docs/architecture.md");
    assert!(
        page.contains(&matrix),
        "docs/architecture.md does not show this matrix:\n{matrix}"
    );
}

#[test]
fn a_cancel_at_any_input_of_an_honest_run_breaks_nothing() {
    let cancelled = cancels::inject(60);
    assert_eq!(cancelled.failure, None);
    assert_eq!(cancelled.runs, 60);
    assert!(cancelled.cancels > 60 * 6, "{}", cancelled.cancels);
}

/// The fuzz target's seed corpus: `cargo fuzz run world` begins with it.
#[test]
fn the_seed_corpus_of_the_fuzz_target_holds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus/world");
    let mut coverage = Coverage::default();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let played = play(Chance::of_bytes(bytes), Orders::default());
        assert_eq!(played.failure, None, "{}", path.display());
        coverage.add(&played.coverage);
    }
    let counts = coverage.counts();
    let reached = |kind: &str| {
        let of = counts.iter().filter(|(of, ..)| *of == kind);
        of.filter(|(_, _, count)| *count > 0).count()
    };
    assert_eq!((reached("phase"), reached("effect")), (8, 7), "{counts:?}");
    assert!(reached("status") >= 8, "{counts:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    /// The same worlds from bytes, so that a failing one shrinks to its shortest history. All
    /// invariants are asked, S1 to S17 and L1 to L3.
    #[test]
    fn any_bytes_make_a_world_in_which_every_invariant_holds(
        bytes in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        let played = play(Chance::of_bytes(bytes), Orders::default());
        prop_assert!(played.failure.is_none(), "{}", played.failure.map_or(String::new(), |failure| failure.to_string()));
    }
}
