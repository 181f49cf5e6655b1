//! Verifiers: independent code that says whether a page holds what a goal asks for, and where.
//!
//! A judge's DONE is a claim; a run ends as VERIFIED only when a verifier passes the page with
//! evidence. Everything here is deterministic and reads nothing but the snapshot it is given. This
//! crate knows no browser, no network and no clock.
//!
//! ```
//! use jev_verify::{Criteria, VerifierSpec};
//!
//! let spec = VerifierSpec::new().expect(r"(?i)24 months").expect_url("http://help.test/policy/*");
//! assert_eq!(spec.criteria(), Criteria::Evidence);
//! let verifier = spec.build().unwrap();
//! # let _ = verifier;
//! // Nothing to look for: such a verifier refuses every page, so nothing can be VERIFIED.
//! assert_eq!(VerifierSpec::new().criteria(), Criteria::None);
//! ```
#![forbid(unsafe_code)]

mod combine;
mod evidence;
mod matcher;
mod spec;
mod text;
mod title;
mod url;

pub use combine::{All, Any, NoCriteria, Not};
pub use evidence::{CONTEXT_CHARS, QUOTE_MAX_CHARS};
pub use matcher::{COMPILED_MAX_BYTES, Case, Matcher, PATTERN_MAX_CHARS, PatternError};
pub use spec::{Criteria, SpecError, VerifierSpec};
pub use text::TextVerifier;
pub use title::TitleVerifier;
pub use url::UrlVerifier;

use jev_core::ports::VerifyRequest;
use jev_core::verification::{Verdict, Verification};

/// Binds a verdict to the goal it was asked for and the snapshot it was made from.
fn bind(request: &VerifyRequest, verdict: Verdict) -> Verification {
    Verification {
        goal: request.goal_digest.clone(),
        version: request.snapshot.version().clone(),
        verdict,
    }
}

#[cfg(test)]
mod testing;
