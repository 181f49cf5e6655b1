//! The text verifier: the words or the pattern stand in the page's visible text.

use std::time::Duration;

use async_trait::async_trait;
use jev_core::error::VerifyError;
use jev_core::ports::{Verifier, VerifyRequest};
use jev_core::verification::{Evidence, EvidencePlace, Refusal, Verdict, Verification};

use crate::bind;
use crate::matcher::Matcher;

/// Passes a page whose visible text, white space collapsed, holds a match.
///
/// What it reads is [`jev_core::snapshot::Snapshot::collapsed_text`]: with reach *viewport* that is
/// what the window shows, with reach *document* the whole rendered page.
#[derive(Clone, Debug)]
pub struct TextVerifier {
    matcher: Matcher,
}

impl TextVerifier {
    /// A verifier that looks for this.
    #[must_use]
    pub fn new(matcher: Matcher) -> Self {
        Self { matcher }
    }
}

#[async_trait]
impl Verifier for TextVerifier {
    async fn verify(
        &self,
        request: VerifyRequest,
        _deadline: Duration,
    ) -> Result<Verification, VerifyError> {
        let verdict = match self.matcher.find(request.snapshot.collapsed_text()) {
            Some(found) => Verdict::Passed(vec![Evidence {
                quote: found.quote,
                context: found.context,
                place: EvidencePlace::Text { start: found.start },
            }]),
            None => Verdict::Refused(Refusal::NotFound),
        };
        Ok(bind(&request, verdict))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matcher::Case;
    use crate::testing::{page, passed, verdict_of};

    #[test]
    fn a_match_across_lines_is_quoted_collapsed_with_its_place() {
        let page = page(
            "http://h/",
            "T",
            "Intro\n\n  lasts\u{a0}for\n24   months from",
        );
        let verifier = TextVerifier::new(Matcher::pattern(r"for \d+ months").unwrap());
        let evidence = passed(verdict_of(&verifier, &page));
        assert_eq!(evidence[0].quote, "for 24 months");
        assert_eq!(evidence[0].context, "Intro lasts for 24 months from");
        assert_eq!(evidence[0].place, EvidencePlace::Text { start: 12 });
    }

    #[test]
    fn nothing_is_read_but_the_text() {
        let page = page("http://h/needle", "needle", "hay");
        let verifier = TextVerifier::new(Matcher::literal("needle", Case::Exact).unwrap());
        assert_eq!(
            verdict_of(&verifier, &page),
            Verdict::Refused(Refusal::NotFound)
        );
    }

    proptest::proptest! {
        #[test]
        fn evidence_stands_where_it_says_and_is_still_there(
            text in "[a-d \n\u{a0}é一]{0,1200}",
            pattern in proptest::sample::select(vec![
                "[a-d]", "[a-d] [a-d]", "[a-d].*[a-d]", "é+", "(?i)[A-D]{2,}", ".*", "一", r"\w+ \w+", r"\s?b\s?",
            ]),
        ) {
            let page = page("http://h/", "", &text);
            let verifier = TextVerifier::new(Matcher::pattern(pattern).unwrap());
            if let Verdict::Passed(evidence) = verdict_of(&verifier, &page) {
                proptest::prop_assert_eq!(evidence.len(), 1);
                let EvidencePlace::Text { start } = evidence[0].place else { panic!("place") };
                let rest: String = page.collapsed_text().chars().skip(start).collect();
                proptest::prop_assert!(rest.starts_with(&evidence[0].quote));
                proptest::prop_assert!(evidence[0].quote.chars().count() <= crate::QUOTE_MAX_CHARS);
                proptest::prop_assert!(evidence[0].still_on(&page));
            }
        }
    }
}
