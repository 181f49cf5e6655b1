//! Task files, suites and scoring for the Jev navigator.
#![forbid(unsafe_code)]

mod content_type;
pub mod locate;
pub mod oracle;
pub mod site;
pub mod task;
