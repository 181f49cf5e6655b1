//! Task files, suites and scoring for the Jev navigator.
//!
//! A [`task`] names a site, a start page, a goal and what the page that answers it must show. A
//! [`suite`] serves each [`site`] on loopback, runs every task against a judge and [`score`]s what
//! came of it; [`report`] writes it down. The [`oracle`] is the judge that knows the way: it measures
//! the machinery.
//!
//! ```
//! let line = r#"{"id": "a-1", "site": "a", "root": ".", "start": "index.html", "goal": "How long?",
//!                "lang": "en", "evidence": "\\d+ months", "kind": "answerable"}"#;
//! let tasks = jev_eval::task::parse(&line.replace('\n', " ")).unwrap();
//! assert_eq!(tasks[0].start, "index.html");
//! ```
#![forbid(unsafe_code)]

mod content_type;
pub mod locate;
pub mod oracle;
pub mod report;
pub mod score;
pub mod site;
pub mod suite;
pub mod task;
