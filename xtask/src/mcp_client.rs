//! `cargo xtask mcp-client`: drives `jev mcp` with a client that is not ours, in a real Chromium.

use crate::run::{self, Failure, cargo};
use crate::setup;

/// `cargo xtask mcp-client`. The test installs its client by name under the target folder; what it
/// drove and how long each part took is shown.
pub(crate) fn command() -> Result<(), Failure> {
    // What is missing has been said; the test that needs it fails and says it again.
    setup::prepare()?;
    run::visibly(cargo().args([
        "test",
        "--package",
        "jev-cli",
        "--test",
        "mcp",
        "--",
        "--nocapture",
        "a_client_that_is_not_ours",
    ]))
}
