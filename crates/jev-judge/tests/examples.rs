//! The examples of this crate do what they say.

#[path = "../examples/decide.rs"]
mod decide;

#[test]
fn the_judge_prefers_the_warranty() {
    let options = decide::decide().unwrap();
    let (best, p) = options.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    assert!(best.contains("Warranty policy") && *p > 0.5, "{options:?}");
    decide::main().unwrap();
}
