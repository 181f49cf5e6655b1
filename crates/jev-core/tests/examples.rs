//! The examples of this crate do what they say.

#[path = "../examples/own_session.rs"]
mod own_session;

#[test]
fn a_run_over_a_users_own_session_is_verified() {
    let report = own_session::run().unwrap();
    assert_eq!(report.status.name(), "VERIFIED");
    assert_eq!(report.actions(), 1);
    own_session::main().unwrap();
}
