//! Combining verifiers: all of them, any of them, none of it, and the one that has nothing to go by.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jev_core::error::VerifyError;
use jev_core::ports::{Verifier, VerifyRequest};
use jev_core::verification::{Evidence, Refusal, Verdict, Verification};

use crate::bind;

/// Refuses every page: the host gave nothing to check against, so nothing can be VERIFIED.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCriteria;

#[async_trait]
impl Verifier for NoCriteria {
    async fn verify(
        &self,
        request: VerifyRequest,
        _deadline: Duration,
    ) -> Result<Verification, VerifyError> {
        Ok(bind(&request, Verdict::Refused(Refusal::NoCriteria)))
    }
}

/// Passes when every part passes; the evidence is all of theirs, each piece once.
///
/// The first part that refuses or fails ends it. Without parts it refuses with
/// [`Refusal::NoCriteria`]: an empty list must not mean "anything goes".
#[derive(Clone)]
pub struct All(Vec<Arc<dyn Verifier>>);

impl All {
    /// Of these parts.
    #[must_use]
    pub fn new(parts: Vec<Arc<dyn Verifier>>) -> Self {
        Self(parts)
    }
}

impl fmt::Debug for All {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "All({} parts)", self.0.len())
    }
}

#[async_trait]
impl Verifier for All {
    async fn verify(
        &self,
        request: VerifyRequest,
        deadline: Duration,
    ) -> Result<Verification, VerifyError> {
        if self.0.is_empty() {
            return Ok(bind(&request, Verdict::Refused(Refusal::NoCriteria)));
        }
        let mut all: Vec<Evidence> = Vec::new();
        for part in &self.0 {
            match ask(part.as_ref(), &request, deadline).await? {
                Verdict::Passed(evidence) => {
                    for piece in evidence {
                        if !all.contains(&piece) {
                            all.push(piece);
                        }
                    }
                }
                Verdict::Refused(refusal) => {
                    return Ok(bind(&request, Verdict::Refused(refusal)));
                }
            }
        }
        Ok(bind(&request, Verdict::Passed(all)))
    }
}

/// Passes with the evidence of the first part that passes.
///
/// When none passes: a part that failed makes the whole fail, else a part that could not decide
/// makes it undecided, else it is not found. Without parts: [`Refusal::NoCriteria`].
#[derive(Clone)]
pub struct Any(Vec<Arc<dyn Verifier>>);

impl Any {
    /// Of these parts.
    #[must_use]
    pub fn new(parts: Vec<Arc<dyn Verifier>>) -> Self {
        Self(parts)
    }
}

impl fmt::Debug for Any {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Any({} parts)", self.0.len())
    }
}

#[async_trait]
impl Verifier for Any {
    async fn verify(
        &self,
        request: VerifyRequest,
        deadline: Duration,
    ) -> Result<Verification, VerifyError> {
        let mut refusal = Refusal::NoCriteria;
        let mut failure = None;
        for part in &self.0 {
            match ask(part.as_ref(), &request, deadline).await {
                Ok(Verdict::Passed(evidence)) => {
                    return Ok(bind(&request, Verdict::Passed(evidence)));
                }
                Ok(Verdict::Refused(next)) => refusal = weaker(refusal, next),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        match failure {
            Some(error) => Err(error),
            None => Ok(bind(&request, Verdict::Refused(refusal))),
        }
    }
}

/// The refusal that says less about the page: undecided beats not found, which beats no criteria.
fn weaker(one: Refusal, other: Refusal) -> Refusal {
    match (one, other) {
        (Refusal::Undecided, _) | (_, Refusal::Undecided) => Refusal::Undecided,
        (Refusal::NotFound, _) | (_, Refusal::NotFound) => Refusal::NotFound,
        (Refusal::NoCriteria, Refusal::NoCriteria) => Refusal::NoCriteria,
    }
}

/// Passes when its part finds nothing.
///
/// Absence can't be quoted, so it passes without evidence, and a pass without evidence never ends a
/// run: inside [`All`] it is a veto, alone it verifies nothing.
#[derive(Clone)]
pub struct Not(Arc<dyn Verifier>);

impl Not {
    /// Of this part.
    #[must_use]
    pub fn new(part: Arc<dyn Verifier>) -> Self {
        Self(part)
    }
}

impl fmt::Debug for Not {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Not")
    }
}

#[async_trait]
impl Verifier for Not {
    async fn verify(
        &self,
        request: VerifyRequest,
        deadline: Duration,
    ) -> Result<Verification, VerifyError> {
        let verdict = match ask(self.0.as_ref(), &request, deadline).await? {
            Verdict::Passed(_) => Verdict::Refused(Refusal::NotFound),
            Verdict::Refused(Refusal::NotFound) => Verdict::Passed(Vec::new()),
            Verdict::Refused(refusal @ (Refusal::NoCriteria | Refusal::Undecided)) => {
                Verdict::Refused(refusal)
            }
        };
        Ok(bind(&request, verdict))
    }
}

/// A part's verdict. One that is bound to another goal or another page is no verdict on this one.
async fn ask(
    part: &dyn Verifier,
    request: &VerifyRequest,
    deadline: Duration,
) -> Result<Verdict, VerifyError> {
    let said = part.verify(request.clone(), deadline).await?;
    if said.goal == request.goal_digest && said.version == *request.snapshot.version() {
        Ok(said.verdict)
    } else {
        Err(VerifyError::Failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{page, result_of};
    use jev_core::ids::PageVersion;
    use jev_core::verification::EvidencePlace;

    #[derive(Clone)]
    enum Says {
        Pass(&'static str),
        Refuse(Refusal),
        Fail,
        Foreign,
    }

    #[async_trait]
    impl Verifier for Says {
        async fn verify(
            &self,
            request: VerifyRequest,
            _: Duration,
        ) -> Result<Verification, VerifyError> {
            let evidence = |quote: &str| Evidence {
                quote: quote.to_owned(),
                context: String::new(),
                place: EvidencePlace::Title,
            };
            match self {
                Self::Pass(quote) => Ok(bind(&request, Verdict::Passed(vec![evidence(quote)]))),
                Self::Refuse(refusal) => Ok(bind(&request, Verdict::Refused(*refusal))),
                Self::Fail => Err(VerifyError::Timeout),
                Self::Foreign => Ok(Verification {
                    version: PageVersion::new("other"),
                    ..bind(&request, Verdict::Passed(vec![evidence("x")]))
                }),
            }
        }
    }

    fn parts(says: &[Says]) -> Vec<Arc<dyn Verifier>> {
        says.iter()
            .map(|one| Arc::new(one.clone()) as Arc<dyn Verifier>)
            .collect()
    }

    /// A verdict in one word, with quotes.
    fn said(verifier: &dyn Verifier) -> String {
        match result_of(verifier, &page("http://h/", "", "")) {
            Ok(Verdict::Passed(evidence)) => {
                let quotes: Vec<_> = evidence.iter().map(|e| e.quote.as_str()).collect();
                format!("passed[{}]", quotes.join(","))
            }
            Ok(Verdict::Refused(refusal)) => format!("{refusal:?}"),
            Err(error) => format!("error {error:?}"),
        }
    }

    #[test]
    fn tables_of_all_and_any() {
        use Refusal::{NoCriteria, NotFound, Undecided};
        use Says::{Fail, Foreign, Pass, Refuse};
        let cases: [(&[Says], &str, &str); 9] = [
            (&[], "NoCriteria", "NoCriteria"),
            (&[Pass("a"), Pass("b")], "passed[a,b]", "passed[a]"),
            (&[Pass("a"), Pass("a")], "passed[a]", "passed[a]"),
            (&[Pass("a"), Refuse(NotFound)], "NotFound", "passed[a]"),
            (
                &[Refuse(NotFound), Refuse(Undecided)],
                "NotFound",
                "Undecided",
            ),
            (
                &[Refuse(NoCriteria), Refuse(NotFound)],
                "NoCriteria",
                "NotFound",
            ),
            (&[Fail, Pass("a")], "error Timeout", "passed[a]"),
            (&[Fail, Refuse(NotFound)], "error Timeout", "error Timeout"),
            (&[Foreign], "error Failed", "error Failed"),
        ];
        for (says, all, any) in cases {
            assert_eq!(said(&All::new(parts(says))), all);
            assert_eq!(said(&Any::new(parts(says))), any);
        }
    }

    #[test]
    fn absence_is_a_veto_and_never_evidence() {
        let not = |says: Says| Arc::new(Not::new(Arc::new(says))) as Arc<dyn Verifier>;
        assert_eq!(said(not(Says::Pass("a")).as_ref()), "NotFound");
        assert_eq!(
            said(not(Says::Refuse(Refusal::NotFound)).as_ref()),
            "passed[]"
        );
        assert_eq!(
            said(not(Says::Refuse(Refusal::Undecided)).as_ref()),
            "Undecided"
        );
        assert_eq!(said(not(Says::Fail).as_ref()), "error Timeout");
        let vetoed = All::new(vec![Arc::new(Says::Pass("a")), not(Says::Pass("sold out"))]);
        assert_eq!(said(&vetoed), "NotFound");
        let clear = All::new(vec![
            Arc::new(Says::Pass("a")),
            not(Says::Refuse(Refusal::NotFound)),
        ]);
        assert_eq!(said(&clear), "passed[a]");
        assert_eq!(said(&NoCriteria), "NoCriteria");
    }
}
