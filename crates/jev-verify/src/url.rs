//! The address verifier: the page in front of us stands where the host said it must.

use std::time::Duration;

use async_trait::async_trait;
use jev_core::access::{AccessError, AccessList, AccessPattern};
use jev_core::error::VerifyError;
use jev_core::ports::{Verifier, VerifyRequest};
use jev_core::verification::{Evidence, EvidencePlace, Refusal, Verdict, Verification};

use crate::bind;

/// Passes a page whose address fits a pattern of the allow-list's kind: an exact URL, a prefix
/// ending in `*`, or an origin. Compared parsed, never as text.
///
/// An address alone proves nothing about what a page says; use it beside a text verifier.
#[derive(Clone, Debug)]
pub struct UrlVerifier {
    allowed: AccessList,
}

impl UrlVerifier {
    /// Reads the pattern.
    ///
    /// # Errors
    /// [`AccessError`] as for [`AccessPattern::parse`].
    pub fn parse(pattern: &str) -> Result<Self, AccessError> {
        Ok(Self {
            allowed: AccessList::new(vec![AccessPattern::parse(pattern)?])?,
        })
    }
}

#[async_trait]
impl Verifier for UrlVerifier {
    async fn verify(
        &self,
        request: VerifyRequest,
        _deadline: Duration,
    ) -> Result<Verification, VerifyError> {
        let url = &request.snapshot.url;
        let verdict = if self.allowed.allows_text(url) {
            Verdict::Passed(vec![Evidence {
                quote: url.clone(),
                context: url.clone(),
                place: EvidencePlace::Url,
            }])
        } else {
            Verdict::Refused(Refusal::NotFound)
        };
        Ok(bind(&request, verdict))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{page, verdict_of};

    #[test]
    fn addresses_are_compared_parsed() {
        let cases = [
            ("http://h/a", "http://h/a#part", true),
            ("http://h/a", "http://h/ab", false),
            ("http://h/docs/*", "http://h/docs/x", true),
            ("http://h/docs/*", "http://h.evil/docs/x", false),
            ("http://h", "http://h/anything?q", true),
            ("http://h", "about:blank", false),
        ];
        for (pattern, url, expected) in cases {
            let verifier = UrlVerifier::parse(pattern).unwrap();
            let page = page(url, "", "");
            match verdict_of(&verifier, &page) {
                Verdict::Passed(evidence) => {
                    assert!(expected, "{pattern} on {url}");
                    assert!(evidence.iter().all(|piece| piece.still_on(&page)));
                }
                Verdict::Refused(_) => assert!(!expected, "{pattern} on {url}"),
            }
        }
    }
}
