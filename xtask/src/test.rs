//! `cargo xtask test`: sets up what is missing, then runs every test, documentation examples included.

use crate::run::{self, Failure};
use crate::setup;

/// Options of `cargo xtask test`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Passed on to `cargo test`, such as a part of a test's name.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

/// `cargo xtask test`.
pub(crate) fn command(arguments: &Arguments) -> Result<(), Failure> {
    // What is missing has been said; the tests that need it fail and say it again.
    setup::prepare()?;
    tests(&arguments.rest)
}

/// Every test of the workspace with every feature. Plain `cargo test`, so that documentation
/// examples run too; and all of them, so that one round shows everything.
pub(crate) fn tests(rest: &[String]) -> Result<(), Failure> {
    let mut command = run::cargo();
    command
        .args(["test", "--workspace", "--all-features", "--no-fail-fast"])
        .args(rest);
    run::visibly(&mut command)
}
