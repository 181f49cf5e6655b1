//! From a host's words to a verifier: expressions that must all stand on the page, and an address.

use std::sync::Arc;

use jev_core::access::AccessError;
use jev_core::ports::Verifier;

use crate::combine::{All, NoCriteria};
use crate::matcher::{Matcher, PatternError};
use crate::text::TextVerifier;
use crate::url::UrlVerifier;

/// Most expressions of one spec.
const EXPRESSIONS_MAX: usize = 32;

/// A spec that can't be used. The message names the setting.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// One of the expressions.
    #[error("expect: {0}")]
    Expect(#[from] PatternError),
    /// The address pattern.
    #[error("expect-url: {0}")]
    ExpectUrl(#[from] AccessError),
    /// Too many expressions.
    #[error("expect: {count} expressions; at most {EXPRESSIONS_MAX} are read")]
    TooMany {
        /// How many were given.
        count: usize,
    },
}

/// What a spec can prove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Criteria {
    /// Nothing: no run with it can end as VERIFIED. Tell the user before the run begins.
    None,
    /// That every expression stands on the page (and the page at the address, when one is given).
    Evidence,
}

/// What a page must show. See [`VerifierSpec::build`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifierSpec {
    expect: Vec<String>,
    expect_url: Option<String>,
}

impl VerifierSpec {
    /// Nothing asked for yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a regular expression that must match the page's visible text.
    #[must_use]
    pub fn expect(mut self, pattern: impl Into<String>) -> Self {
        self.expect.push(pattern.into());
        self
    }

    /// Adds several; see [`VerifierSpec::expect`].
    #[must_use]
    pub fn expect_all(mut self, patterns: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.expect.extend(patterns.into_iter().map(Into::into));
        self
    }

    /// Sets the address the page must stand at: exact, prefix ending in `*`, or origin.
    #[must_use]
    pub fn expect_url(mut self, pattern: impl Into<String>) -> Self {
        self.expect_url = Some(pattern.into());
        self
    }

    /// What it can prove. An address without an expression proves nothing about what a page says.
    #[must_use]
    pub fn criteria(&self) -> Criteria {
        if self.expect.is_empty() {
            Criteria::None
        } else {
            Criteria::Evidence
        }
    }

    /// Compiles it. Every expression must match, each in one piece of visible text, and the address
    /// must fit; without an expression the verifier refuses every page.
    ///
    /// # Errors
    /// The first expression or the address that can't be read, whether or not it would be used.
    pub fn build(&self) -> Result<Arc<dyn Verifier>, SpecError> {
        if self.expect.len() > EXPRESSIONS_MAX {
            return Err(SpecError::TooMany {
                count: self.expect.len(),
            });
        }
        let mut parts: Vec<Arc<dyn Verifier>> = Vec::new();
        for pattern in &self.expect {
            parts.push(Arc::new(TextVerifier::new(Matcher::pattern(pattern)?)));
        }
        if let Some(pattern) = &self.expect_url {
            parts.push(Arc::new(UrlVerifier::parse(pattern)?));
        }
        Ok(match self.criteria() {
            Criteria::None => Arc::new(NoCriteria),
            Criteria::Evidence => Arc::new(All::new(parts)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{page, verdict_of, verification_of};
    use jev_core::contract::Goal;
    use jev_core::ids::PageVersion;
    use jev_core::verification::{Refusal, Verdict};

    fn spec() -> VerifierSpec {
        VerifierSpec::new()
            .expect_all([r"\d+ months", "(?i)WARRANTY"])
            .expect_url("http://h/policy/*")
    }

    #[test]
    fn every_criterion_must_hold() {
        let verifier = spec().build().unwrap();
        let cases = [
            ("http://h/policy/a", "The warranty lasts 24 months.", true),
            ("http://h/policy/a", "The warranty lasts long.", false),
            ("http://h/policy/a", "It lasts 24 months.", false),
            ("http://h/elsewhere", "The warranty lasts 24 months.", false),
        ];
        for (url, text, expected) in cases {
            let page = page(url, "", text);
            match verdict_of(verifier.as_ref(), &page) {
                Verdict::Passed(evidence) => {
                    assert!(expected, "{url} {text}");
                    assert_eq!(evidence.len(), 3);
                }
                Verdict::Refused(refusal) => {
                    assert!(!expected, "{url} {text}");
                    assert_eq!(refusal, Refusal::NotFound);
                }
            }
        }
    }

    #[test]
    fn without_an_expression_nothing_passes() {
        let page = page("http://h/policy/a", "", "anything");
        for spec in [
            VerifierSpec::new(),
            VerifierSpec::new().expect_url("http://h/policy/*"),
        ] {
            assert_eq!(spec.criteria(), Criteria::None);
            assert_eq!(
                verdict_of(spec.build().unwrap().as_ref(), &page),
                Verdict::Refused(Refusal::NoCriteria)
            );
        }
    }

    #[test]
    fn a_verification_is_bound_to_its_goal_and_page() {
        let page = page("http://h/policy/a", "", "The warranty lasts 24 months.");
        let verification = verification_of(spec().build().unwrap().as_ref(), &page);
        let goal = Goal::new(crate::testing::GOAL).unwrap().digest();
        assert!(verification.evidence_for(&goal, page.version()).is_some());
        let other = Goal::new("another goal").unwrap().digest();
        assert!(verification.evidence_for(&other, page.version()).is_none());
        let moved = PageVersion::new("moved");
        assert!(verification.evidence_for(&goal, &moved).is_none());
    }

    #[test]
    fn faults_name_the_setting() {
        let bad = VerifierSpec::new().expect("ok").expect("(").build();
        assert!(
            bad.err()
                .unwrap()
                .to_string()
                .starts_with("expect: `(` is not a regular expression"),
        );
        let bad = VerifierSpec::new().expect_url("policy").build();
        assert!(
            bad.err()
                .unwrap()
                .to_string()
                .starts_with("expect-url: `policy`")
        );
        let many = VerifierSpec::new().expect_all(vec!["a"; 33]).build();
        assert_eq!(many.err(), Some(SpecError::TooMany { count: 33 }));
    }
}
