//! Sessions that end in every way, in a row: nothing is left, memory stays flat. Alone in its
//! program, for it counts what the whole process holds. `cargo xtask fixtures --endurance` plays more.

use jev_session_cdp::find::Preference;
use jev_session_cdp::testing::endurance::{Plan, endure};

#[tokio::test(flavor = "multi_thread")]
async fn forty_reloads_crashes_and_kills_in_a_row_leave_nothing() {
    let seen = endure(Plan {
        seed: 1,
        rounds: 40,
        preference: Preference::Shell,
    })
    .await;
    assert!(seen.faults.is_empty(), "{seen:#?}");
    assert!(seen.rounds.len() >= 6, "{seen:#?}");
}
