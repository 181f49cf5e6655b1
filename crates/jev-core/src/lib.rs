//! The sans-IO navigator: the rules of a bounded, evidence-gated run over web pages.
//!
//! Everything that decides lives in [`navigator::Navigator`], one synchronous machine that knows
//! no clock, no runtime and no I/O. Everything that touches the world is one of three
//! [`ports`]: a session (a browser tab), a judge (a decision model) and a verifier.
//!
//! # The law of use
//! Take one [`input::Input`] at a time with [`handle`](navigator::Navigator::handle), which cannot
//! fail. Then drain [`poll_effect`](navigator::Navigator::poll_effect) and
//! [`poll_record`](navigator::Navigator::poll_record) to `None`, then ask
//! [`poll_timeout`](navigator::Navigator::poll_timeout) when to come back with
//! [`Input::Tick`](input::Input::Tick). Nothing else changes a run.
//!
//! ```
//! use jev_core::access::{AccessList, CanonicalUrl};
//! use jev_core::contract::{ContractDraft, Goal};
//! use jev_core::effect::EffectKind;
//! use jev_core::error::SessionError;
//! use jev_core::ids::{RunId, Scope};
//! use jev_core::input::Input;
//! use jev_core::navigator::Navigator;
//! use jev_core::time::Timestamp;
//!
//! let contract = ContractDraft::new(
//!     Goal::new("How long is the warranty?")?,
//!     Scope::new("ada", "session-1", "tab-1")?,
//!     CanonicalUrl::parse("http://127.0.0.1:8080/help/")?,
//!     AccessList::parse(["http://127.0.0.1:8080/help/*"])?,
//! )
//! .check()?;
//! let mut navigator = Navigator::new(RunId(1), contract);
//! let mut now = Timestamp::ZERO;
//! while !navigator.is_closed() {
//!     while let Some(effect) = navigator.poll_effect() {
//!         let answer = match effect.kind {
//!             // A driver would start a browser here; see `jev-agent`.
//!             EffectKind::Open(_) => Input::OpenFailed(effect.id, SessionError::BrowserMissing),
//!             EffectKind::Observe
//!             | EffectKind::AskJudge(_)
//!             | EffectKind::Dispatch(_)
//!             | EffectKind::Verify(_)
//!             | EffectKind::Wait { .. }
//!             | EffectKind::Close { .. } => continue,
//!         };
//!         navigator.handle(answer, now);
//!     }
//!     if let Some((at, _timer)) = navigator.poll_timeout() {
//!         now = at;
//!         navigator.handle(Input::Tick, now);
//!     }
//! }
//! let report = navigator.report().expect("a closed run has a report");
//! assert_eq!(report.status.name(), "SESSION_ERROR");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Two truths are kept apart by type: a judge's answer is a [`proposal::Proposal`], only a verifier
//! makes a [`verification::Verification`], and [`status::Status::Verified`] needs a
//! [`verification::Proof`] that only this crate can make from a passed one.
#![forbid(unsafe_code)]

pub mod access;
pub mod action;
pub mod asking;
pub mod carried;
pub mod contract;
pub mod digest;
pub mod effect;
pub mod error;
pub mod gate;
pub mod history;
pub mod host;
pub mod ids;
pub mod input;
pub mod ledger;
pub mod limits;
pub mod navigator;
pub mod permit;
pub mod policy;
pub mod ports;
mod progress;
pub mod proposal;
pub mod question;
pub mod receipt;
pub mod record;
pub mod redact;
pub mod report;
pub mod snapshot;
pub mod status;
pub mod telemetry;
#[cfg(feature = "testing")]
pub mod testing;
pub mod time;
pub mod verification;
