//! The examples of this crate do what they say.

#[path = "../examples/read_page.rs"]
mod read_page;

use jev_core::ports::CloseOutcome;

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_read_as_a_person_sees_it() {
    let (page, closed) = read_page::look().await.unwrap();
    assert_eq!(page.title, "Help centre");
    assert!(page.text.contains("How can we help?"), "{}", page.text);
    assert!(!page.text.contains("Nobody"), "{}", page.text);
    assert_eq!(page.candidates[0].label, "about the warranty");
    assert_eq!(closed.outcome, CloseOutcome::Clean);
    assert_eq!(closed.network.breaches, 0);
}

#[test]
fn its_story_is_told() {
    read_page::main().unwrap();
}
