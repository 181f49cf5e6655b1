//! The examples of this crate do what they say.

#[path = "../examples/verify.rs"]
mod verify;

use jev_core::verification::{Refusal, Verdict};

#[test]
fn evidence_is_found_or_refused() {
    match verify::verdict("It lasts\n 24 months.").unwrap() {
        Verdict::Passed(evidence) => assert_eq!(evidence[0].quote, "24 months"),
        Verdict::Refused(refusal) => panic!("{refusal:?}"),
    }
    assert_eq!(
        verify::verdict("It lasts long.").unwrap(),
        Verdict::Refused(Refusal::NotFound)
    );
    verify::main().unwrap();
}
