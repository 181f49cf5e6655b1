//! The title verifier: the words or the pattern stand in the page's title.

use std::time::Duration;

use async_trait::async_trait;
use jev_core::error::VerifyError;
use jev_core::ports::{Verifier, VerifyRequest};
use jev_core::verification::{Evidence, EvidencePlace, Refusal, Verdict, Verification};

use crate::bind;
use crate::matcher::Matcher;

/// Passes a page whose title holds a match. Titles are matched as the browser reports them, which
/// is with ordinary white space already collapsed.
#[derive(Clone, Debug)]
pub struct TitleVerifier {
    matcher: Matcher,
}

impl TitleVerifier {
    /// A verifier that looks for this.
    #[must_use]
    pub fn new(matcher: Matcher) -> Self {
        Self { matcher }
    }
}

#[async_trait]
impl Verifier for TitleVerifier {
    async fn verify(
        &self,
        request: VerifyRequest,
        _deadline: Duration,
    ) -> Result<Verification, VerifyError> {
        let verdict = match self.matcher.find(&request.snapshot.title) {
            Some(found) => Verdict::Passed(vec![Evidence {
                quote: found.quote,
                context: found.context,
                place: EvidencePlace::Title,
            }]),
            None => Verdict::Refused(Refusal::NotFound),
        };
        Ok(bind(&request, verdict))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{page, passed, verdict_of};

    #[test]
    fn the_title_is_quoted_and_the_text_is_not_read() {
        let verifier = TitleVerifier::new(Matcher::pattern("(?i)warranty").unwrap());
        let evidence = passed(verdict_of(
            &verifier,
            &page("http://h/", "Our Warranty terms", "nothing"),
        ));
        assert_eq!(evidence[0].quote, "Warranty");
        assert_eq!(evidence[0].place, EvidencePlace::Title);
        assert_eq!(
            verdict_of(&verifier, &page("http://h/", "Home", "warranty")),
            Verdict::Refused(Refusal::NotFound)
        );
    }

    proptest::proptest! {
        #[test]
        fn a_title_quote_is_still_on_the_page(title in "[a-c  \u{a0}]{0,60}") {
            let page = page("http://h/", &title, "");
            let verifier = TitleVerifier::new(Matcher::pattern("a.*b|c+").unwrap());
            if let Verdict::Passed(evidence) = verdict_of(&verifier, &page) {
                proptest::prop_assert!(evidence.iter().all(|piece| piece.still_on(&page)));
            }
        }
    }
}
