//! Every verifier of this crate keeps the promises of its port.
#![expect(
    clippy::unwrap_used,
    reason = "clippy exempts functions that are tests, not their helpers"
)]

use std::sync::Arc;

use jev_core::ports::Verifier;
use jev_core::snapshot::Snapshot;
use jev_core::testing::{self, Clock, VerifierCase, page};
use jev_verify::{
    All, Any, Case, Matcher, Not, TextVerifier, TitleVerifier, UrlVerifier, VerifierSpec,
};

fn text() -> Arc<dyn Verifier> {
    Arc::new(TextVerifier::new(
        Matcher::literal("24 months", Case::Folded).unwrap(),
    ))
}

fn title() -> Arc<dyn Verifier> {
    Arc::new(TitleVerifier::new(Matcher::pattern("^Warranty").unwrap()))
}

fn url() -> Arc<dyn Verifier> {
    Arc::new(UrlVerifier::parse("http://shop.test/help/*").unwrap())
}

fn warranty() -> Arc<Snapshot> {
    page(
        "http://shop.test/help/warranty",
        "Warranty terms",
        "The warranty\u{a0}lasts\n24  MONTHS from the day of purchase.",
    )
}

fn start() -> Arc<Snapshot> {
    page("http://shop.test/", "Start", "Twenty-four offers a month.")
}

#[tokio::test]
async fn every_verifier_conforms() {
    let clock = Clock::new(tokio::time::sleep);
    let regex = VerifierSpec::new().expect(r"(?i)\d+ months");
    let spec = regex.clone().expect_url("http://shop.test/help/*");
    let titled = |title: &str| -> Arc<dyn Verifier> {
        let matcher = Matcher::literal(title, Case::Exact).unwrap();
        Arc::new(TitleVerifier::new(matcher))
    };
    let no_start: Arc<dyn Verifier> = Arc::new(Not::new(titled("Start")));
    let verifiers: [(&str, Arc<dyn Verifier>); 8] = [
        ("text", text()),
        ("title", title()),
        ("address", url()),
        ("expression", regex.build().unwrap()),
        ("specification", spec.build().unwrap()),
        ("all", Arc::new(All::new(vec![text(), title(), url()]))),
        ("any", Arc::new(Any::new(vec![titled("Nowhere"), text()]))),
        (
            "all, one of them not",
            Arc::new(All::new(vec![text(), no_start])),
        ),
    ];
    for (name, verifier) in verifiers {
        let case = VerifierCase {
            goal: "How long does the warranty last?".to_owned(),
            holds: warranty(),
            lacks: start(),
        };
        if let Err(broken) = testing::verifier(verifier.as_ref(), &case, &clock).await {
            panic!("{name}: {broken}");
        }
    }
}
