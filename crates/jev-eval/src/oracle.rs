//! The oracle: a judge that knows a task's shortest way. It measures the machinery, not a judge:
//! whatever it can't reach is a fault of ours.

use std::time::Duration;

use async_trait::async_trait;
use jev_core::access::{AccessError, CanonicalUrl};
use jev_core::action::Operation;
use jev_core::contract::Reach;
use jev_core::error::JudgeError;
use jev_core::ports::{Judge, JudgeIdentity, JudgeKind};
use jev_core::question::{
    Answer, ChoiceAnswer, ChoiceOption, Decision, QuestionKind, Questionnaire, Subject,
};

/// What the oracle gives the option it knows to be right.
const SURE: f64 = 0.99;

/// Answers from a known way: on a page of the way it clicks the link to the next one, on the last
/// page it claims to be done, and anywhere else it gives up. With reach *viewport* it scrolls down
/// for a link that the window does not show, and to the end of the last page before it claims.
///
/// It holds no position: every answer follows from the address in the state, so a page judged twice
/// gets the same answer twice.
#[derive(Clone, Debug)]
pub struct OracleJudge {
    way: Vec<CanonicalUrl>,
    reach: Reach,
}

/// What the oracle wants on a page.
enum Wish<'a> {
    Follow(&'a CanonicalUrl),
    Claim,
    GiveUp,
}

impl OracleJudge {
    /// An oracle for the pages of a way, relative to the site's base address (which ends in `/`).
    ///
    /// A way of only the start page makes a judge that claims to be done at once: for unanswerable
    /// tasks, the liar that no verifier may believe.
    ///
    /// # Errors
    /// A page that makes no address with the base.
    pub fn new<'a>(
        base: &CanonicalUrl,
        pages: impl IntoIterator<Item = &'a str>,
        reach: Reach,
    ) -> Result<Self, AccessError> {
        let way: Result<Vec<_>, _> = pages
            .into_iter()
            .map(|page| {
                let url = base.url().join(page).map_err(|_| AccessError::NotAUrl {
                    text: page.to_owned(),
                })?;
                CanonicalUrl::new(url)
            })
            .collect();
        Ok(Self { way: way?, reach })
    }

    fn wish(&self, url: &str) -> Wish<'_> {
        let here = CanonicalUrl::parse(url)
            .ok()
            .and_then(|here| self.way.iter().rposition(|page| *page == here));
        match here {
            None => Wish::GiveUp,
            Some(place) => match self.way.get(place + 1) {
                Some(next) => Wish::Follow(next),
                None => Wish::Claim,
            },
        }
    }
}

#[async_trait]
impl Judge for OracleJudge {
    fn identity(&self) -> JudgeIdentity {
        JudgeIdentity {
            name: "oracle".to_owned(),
            model: None,
            kind: JudgeKind::Decides,
        }
    }

    async fn decide(
        &self,
        questionnaire: &Questionnaire,
        _deadline: Duration,
    ) -> Result<Decision, JudgeError> {
        let url = questionnaire
            .state
            .get("url")
            .and_then(serde_json::Value::as_str)
            .unwrap_or_default();
        let wish = self.wish(url);
        let answers: Result<Vec<_>, _> = questionnaire
            .questions
            .iter()
            .map(|question| match &question.kind {
                QuestionKind::Choice { options, .. } => Ok(answer(options, &wish, self.reach)),
                QuestionKind::Noul { .. } | QuestionKind::Score { .. } => {
                    Err(JudgeError::Capability {
                        what: "the oracle answers choices only".to_owned(),
                    })
                }
            })
            .collect();
        Ok(Decision {
            answers: answers?,
            attempts: 1,
            ..Decision::default()
        })
    }
}

fn answer(options: &[ChoiceOption], wish: &Wish<'_>, reach: Reach) -> Answer {
    let operation = |wanted: Operation| {
        options
            .iter()
            .position(|option| option.subject == Subject::Operation(wanted))
    };
    // Only where there is more to see than the window shows.
    let further = || match reach {
        Reach::Viewport => operation(Operation::ScrollDown),
        Reach::Document => None,
    };
    let picked = match wish {
        Wish::Follow(next) => options
            .iter()
            .position(|option| {
                matches!(&option.subject, Subject::Candidate { href: Some(href), .. } if href == *next)
            })
            .or_else(|| operation(Operation::Click))
            .or_else(further),
        Wish::Claim => further().or_else(|| operation(Operation::Done)),
        Wish::GiveUp => operation(Operation::Blocked),
    };
    // A head without the wished option (a window over other links, the target beside DONE) has
    // `none`; the last option stands in where a question from outside has not even that.
    let picked = picked
        .or_else(|| operation(Operation::None))
        .unwrap_or(options.len().saturating_sub(1));
    let others = options.len().saturating_sub(1);
    let probabilities = (0..options.len())
        .map(|index| match (index == picked, others) {
            (true, 0) => 1.0,
            (true, _) => SURE,
            (false, others) => (1.0 - SURE) / others as f64,
        })
        .collect();
    Answer::Choice(ChoiceAnswer::plain(probabilities))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jev_core::question::{Question, Stage};

    fn link(name: &str, href: &str) -> ChoiceOption {
        ChoiceOption {
            name: name.to_owned(),
            description: String::new(),
            subject: Subject::Candidate {
                id: name.to_owned(),
                label: name.to_owned(),
                context: String::new(),
                href: Some(CanonicalUrl::parse(href).unwrap()),
            },
        }
    }

    fn operation(operation: Operation) -> ChoiceOption {
        ChoiceOption {
            name: operation.option_name().to_owned(),
            description: String::new(),
            subject: Subject::Operation(operation),
        }
    }

    async fn picks(oracle: &OracleJudge, url: &str, heads: Vec<Vec<ChoiceOption>>) -> Vec<String> {
        let asked = Questionnaire {
            stage: Stage::Decide,
            goal: "g".to_owned(),
            state: serde_json::json!({ "url": url }),
            questions: heads
                .into_iter()
                .map(|options| Question {
                    id: "q".to_owned(),
                    kind: QuestionKind::Choice {
                        instructions: String::new(),
                        options,
                    },
                })
                .collect(),
        };
        let decision = oracle.decide(&asked, Duration::ZERO).await.unwrap();
        let mut names = Vec::new();
        for (question, answer) in asked.questions.iter().zip(&decision.answers) {
            let (QuestionKind::Choice { options, .. }, Answer::Choice(choice)) =
                (&question.kind, answer)
            else {
                panic!("a choice");
            };
            let sum: f64 = choice.probabilities.iter().sum();
            assert!((sum - 1.0).abs() < 1e-9, "{sum}");
            names.push(options[choice.top().unwrap().0].name.clone());
        }
        names
    }

    #[tokio::test]
    async fn every_page_of_the_way_leads_to_the_next() {
        let base = CanonicalUrl::parse("http://h:1/").unwrap();
        let way = ["en/index.html", "en/a.html", "b.html"];
        let oracle = OracleJudge::new(&base, way, Reach::Document).unwrap();
        let flat = || {
            vec![
                link("c1", "http://h:1/en/index.html"),
                link("c2", "http://h:1/en/a.html#part"),
                link("c3", "http://h:1/b.html"),
                operation(Operation::Done),
                operation(Operation::Blocked),
                operation(Operation::None),
            ]
        };
        for (url, expected) in [
            ("http://h:1/en/index.html", "c2"),
            ("http://h:1/en/a.html#top", "c3"),
            ("http://h:1/b.html", "done"),
            ("http://h:1/elsewhere", "blocked"),
            ("chrome-error://chromewebdata/", "blocked"),
        ] {
            assert_eq!(picks(&oracle, url, vec![flat()]).await, [expected], "{url}");
        }
    }

    #[tokio::test]
    async fn what_the_window_does_not_show_is_scrolled_to() {
        let base = CanonicalUrl::parse("http://h/").unwrap();
        let way = ["i.html", "b.html"];
        let options = |scrolls: bool| {
            let mut options = vec![link("c1", "http://h/x.html"), operation(Operation::Done)];
            if scrolls {
                options.push(operation(Operation::ScrollDown));
            }
            options.push(operation(Operation::None));
            vec![options]
        };
        let cases = [
            (Reach::Viewport, "http://h/i.html", true, "scroll_down"),
            (Reach::Viewport, "http://h/i.html", false, "none"),
            (Reach::Viewport, "http://h/b.html", true, "scroll_down"),
            (Reach::Viewport, "http://h/b.html", false, "done"),
            (Reach::Document, "http://h/i.html", true, "none"),
            (Reach::Document, "http://h/b.html", true, "done"),
        ];
        for (reach, url, scrolls, expected) in cases {
            let oracle = OracleJudge::new(&base, way, reach).unwrap();
            let picked = picks(&oracle, url, options(scrolls)).await;
            assert_eq!(picked, [expected], "{reach:?} {url} {scrolls}");
        }
    }

    #[tokio::test]
    async fn windows_and_two_heads_fall_back_to_none() {
        let base = CanonicalUrl::parse("http://h/").unwrap();
        let oracle = OracleJudge::new(&base, ["i.html", "b.html"], Reach::Document).unwrap();
        let windows = vec![
            vec![link("c1", "http://h/x.html"), operation(Operation::None)],
            vec![link("c2", "http://h/b.html"), operation(Operation::None)],
        ];
        assert_eq!(
            picks(&oracle, "http://h/i.html", windows).await,
            ["none", "c2"]
        );
        let heads = || {
            vec![
                vec![operation(Operation::Click), operation(Operation::Done)],
                vec![link("c2", "http://h/b.html"), operation(Operation::None)],
            ]
        };
        assert_eq!(
            picks(&oracle, "http://h/i.html", heads()).await,
            ["click", "c2"]
        );
        assert_eq!(
            picks(&oracle, "http://h/b.html", heads()).await,
            ["done", "none"]
        );
    }
}
