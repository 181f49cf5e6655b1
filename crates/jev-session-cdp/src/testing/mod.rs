//! What the tests of this crate and `cargo xtask fixtures` share: hostile pages, their table, the
//! two servers, the runner.

pub mod endurance;
pub mod network_cases;
pub mod page;
pub mod run;
pub mod server;
pub mod site;
pub mod traces;
