//! The lexical judge: ranks by shared stems and character trigrams. No model, no network, no key;
//! deterministic. It knows no synonyms, and says `lexical` in every output.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use async_trait::async_trait;

use jev_core::access::CanonicalUrl;
use jev_core::action::Operation;
use jev_core::error::JudgeError;
use jev_core::ports::{Judge, JudgeIdentity, JudgeKind};
use jev_core::question::{
    Answer, ChoiceAnswer, ChoiceOption, Decision, Question, QuestionKind, Questionnaire, Stage,
    Subject,
};

use crate::situation::Situation;
use crate::text::{Analyser, cosine, softmax};

/// Closeness from which on a candidate speaks of the goal. One shared stem between a goal of
/// fifteen and a label of three gives about 0.08.
const NEAR: f64 = 0.06;
/// How sharply differences of closeness become probabilities: 0.004 apart passes a share of 0.55.
const TEMPERATURE: f64 = 0.02;
/// What is left of the closeness of a target that was clicked before and led somewhere.
const CLICKED_BEFORE: f64 = 0.3;
/// Share of the goal's stems that a passage must hold to make DONE thinkable.
const PASSAGE_COVERAGE: f64 = 0.6;
/// Fewest stems of a goal for which that share says anything.
const PASSAGE_STEMS: usize = 3;
/// Visible text shorter than this many characters, and nothing to click: the page may be loading.
const BLANK_PAGE_CHARS: usize = 40;

/// How much each part of a candidate counts.
const LABEL_WORDS: f64 = 0.5;
const LABEL_TRIGRAMS: f64 = 0.25;
const HREF_WORDS: f64 = 0.15;
const CONTEXT_WORDS: f64 = 0.1;

/// Ranks candidates by the words and trigrams they share with the goal.
///
/// Its probabilities mean an order, not a belief: gate it by share.
#[derive(Clone, Copy, Debug, Default)]
pub struct LexicalJudge;

impl LexicalJudge {
    /// The judge.
    #[must_use]
    pub const fn new() -> Self {
        Self
    }
}

#[async_trait]
impl Judge for LexicalJudge {
    fn identity(&self) -> JudgeIdentity {
        JudgeIdentity {
            name: "lexical".to_owned(),
            model: None,
            kind: JudgeKind::Ranks,
        }
    }

    async fn decide(
        &self,
        questionnaire: &Questionnaire,
        _deadline: Duration,
    ) -> Result<Decision, JudgeError> {
        Ok(Decision {
            answers: answers(questionnaire),
            ..Decision::default()
        })
    }
}

fn answers(questionnaire: &Questionnaire) -> Vec<Answer> {
    let situation = Situation::of(questionnaire);
    // In the two-head layout the operation `click` is as good as the best target of the other head.
    // A narrowing window has no other head: there `none` marks what is not worth a look, at the
    // same height in every window, so that windows compare.
    let reach = match questionnaire.stage {
        Stage::Decide => best_closeness(&questionnaire.questions, &situation),
        Stage::Narrow => 0.0,
    };
    let none = match questionnaire.stage {
        Stage::Decide => NEAR * 0.3,
        Stage::Narrow => NEAR,
    };
    questionnaire
        .questions
        .iter()
        .map(|question| match &question.kind {
            QuestionKind::Choice {
                instructions,
                options,
            } => {
                let scores = if options
                    .iter()
                    .all(|option| option.subject == Subject::Opaque)
                {
                    opaque_scores(instructions, options, &situation)
                } else {
                    option_scores(options, &situation, reach, none)
                };
                Answer::Choice(ChoiceAnswer::plain(softmax(&scores, TEMPERATURE)))
            }
            QuestionKind::Noul {
                instructions,
                yes,
                no,
            } => Answer::Noul {
                noul: noul(instructions, yes.as_deref(), no.as_deref(), &situation),
            },
            QuestionKind::Score {
                instructions,
                levels,
            } => {
                let query = format!("{instructions}\n{}", situation.text);
                let texts: Vec<&str> = levels.iter().map(String::as_str).collect();
                Answer::Score {
                    probabilities: softmax(&closeness_of_all(&query, &texts), TEMPERATURE),
                }
            }
        })
        .collect()
}

/// The stems and trigrams of a goal, and what each stem is worth on this page.
struct Goal {
    analyser: Analyser,
    stems: BTreeSet<String>,
    grams: BTreeMap<[char; 3], f64>,
}

impl Goal {
    fn new(text: &str) -> Self {
        let analyser = Analyser::for_text(text);
        Self {
            stems: analyser.stems(text),
            grams: analyser.trigrams(text),
            analyser,
        }
    }
}

/// Inverse document frequency over the options of one question: a word that every label holds
/// tells nothing.
pub(crate) struct Weights {
    frequency: BTreeMap<String, usize>,
    documents: f64,
}

impl Weights {
    pub(crate) fn of(documents: &[BTreeSet<String>]) -> Self {
        let mut frequency = BTreeMap::new();
        for stem in documents.iter().flatten() {
            *frequency.entry(stem.clone()).or_insert(0) += 1;
        }
        Self {
            frequency,
            documents: documents.len() as f64,
        }
    }

    /// At least a little even for a word in every document, 1 for a word in none.
    fn weight(&self, stem: &str) -> f64 {
        let count = self.frequency.get(stem).copied().unwrap_or(0) as f64;
        let most = (2.0 + self.documents).ln();
        ((2.0 + self.documents) / (1.0 + count)).ln() / most
    }

    /// Cosine of two stem sets under these weights.
    pub(crate) fn cosine(&self, left: &BTreeSet<String>, right: &BTreeSet<String>) -> f64 {
        let square = |stem: &String| self.weight(stem).powi(2);
        let shared: f64 = left.intersection(right).map(square).sum();
        let norm = |stems: &BTreeSet<String>| stems.iter().map(square).sum::<f64>().sqrt();
        let scale = norm(left) * norm(right);
        if scale > 0.0 { shared / scale } else { 0.0 }
    }
}

/// The words that tell an address from its neighbours: its last two path segments and its query.
pub(crate) fn href_words(href: &CanonicalUrl) -> String {
    let url = href.url();
    let segments: Vec<&str> = url
        .path_segments()
        .map(|parts| parts.filter(|part| !part.is_empty()).collect())
        .unwrap_or_default();
    let tail = segments.len().saturating_sub(2);
    let path = segments.get(tail..).unwrap_or_default().join(" ");
    let path = path
        .rsplit_once('.')
        .map_or(path.as_str(), |(stem, _)| stem);
    format!("{path} {}", url.query().unwrap_or_default())
}

/// How close each candidate is to the goal, history and self-links taken off; `None` for options
/// that are no candidates.
pub(crate) fn closeness(options: &[ChoiceOption], situation: &Situation) -> Vec<Option<f64>> {
    let goal = Goal::new(&situation.goal);
    let documents: Vec<BTreeSet<String>> = options
        .iter()
        .filter_map(|option| match &option.subject {
            Subject::Candidate { label, .. } => Some(goal.analyser.stems(label)),
            Subject::Operation(_) | Subject::Opaque => None,
        })
        .collect();
    let weights = Weights::of(&documents);
    let here = CanonicalUrl::parse(&situation.url).ok();
    let mut labels = documents.iter();
    options
        .iter()
        .map(|option| match &option.subject {
            Subject::Candidate {
                label,
                context,
                href,
                ..
            } => {
                let stems = labels.next()?;
                let address = href.as_ref().map(href_words).unwrap_or_default();
                let mut near = LABEL_WORDS * weights.cosine(&goal.stems, stems)
                    + LABEL_TRIGRAMS * cosine(&goal.grams, &goal.analyser.trigrams(label))
                    + HREF_WORDS * weights.cosine(&goal.stems, &goal.analyser.stems(&address))
                    + CONTEXT_WORDS * weights.cosine(&goal.stems, &goal.analyser.stems(context));
                match situation.clicked(label) {
                    Some(step) if step.page_changed => near *= CLICKED_BEFORE,
                    Some(_) => near = 0.0,
                    None => {}
                }
                if href.is_some() && *href == here {
                    near = 0.0;
                }
                Some(near)
            }
            Subject::Operation(_) | Subject::Opaque => None,
        })
        .collect()
}

fn best_closeness(questions: &[Question], situation: &Situation) -> f64 {
    questions
        .iter()
        .filter_map(|question| match &question.kind {
            QuestionKind::Choice { options, .. } => Some(options),
            QuestionKind::Noul { .. } | QuestionKind::Score { .. } => None,
        })
        .flat_map(|options| closeness(options, situation))
        .flatten()
        .fold(0.0, f64::max)
}

fn option_scores(
    options: &[ChoiceOption],
    situation: &Situation,
    reach: f64,
    none: f64,
) -> Vec<f64> {
    options
        .iter()
        .zip(closeness(options, situation))
        .map(|(option, near)| match (&option.subject, near) {
            (_, Some(near)) => near,
            (Subject::Operation(Operation::None), None) if reach < NEAR => none,
            (Subject::Operation(operation), None) => operation_score(*operation, situation, reach),
            (Subject::Opaque | Subject::Candidate { .. }, None) => 0.0,
        })
        .collect()
}

/// How an operation compares with candidates, whose closeness is `reach` at best. The order when
/// nothing is near: scroll, go back, give up, abstain; when something is, none of them wins.
fn operation_score(operation: Operation, situation: &Situation, reach: f64) -> f64 {
    let lost = reach < NEAR;
    match operation {
        Operation::Click => reach,
        Operation::ScrollDown if lost && !situation.in_vain(operation) => NEAR,
        Operation::Back if lost && situation.depth() > 0 && !situation.in_vain(operation) => {
            NEAR * 0.9
        }
        Operation::Wait
            if situation.text.trim().chars().count() < BLANK_PAGE_CHARS
                && reach == 0.0
                && !situation.in_vain(operation) =>
        {
            NEAR * 1.1
        }
        Operation::Done if !situation.tried(operation) && answered(situation) => {
            f64::max(reach, NEAR) + TEMPERATURE
        }
        Operation::Blocked if lost => NEAR * 0.4,
        Operation::ScrollDown
        | Operation::ScrollUp
        | Operation::Back
        | Operation::Reload
        | Operation::Press(_)
        | Operation::Wait
        | Operation::Done
        | Operation::Blocked
        | Operation::None => -2.0 * TEMPERATURE,
    }
}

/// Whether a passage of the page's text holds most of the goal's stems.
fn answered(situation: &Situation) -> bool {
    let goal = Goal::new(&situation.goal);
    goal.stems.len() >= PASSAGE_STEMS
        && situation
            .text
            .lines()
            .any(|line| coverage(&goal.stems, &goal.analyser.stems(line)) >= PASSAGE_COVERAGE)
}

/// The share of `wanted` that stands in `found`, 0 when nothing is wanted.
pub(crate) fn coverage(wanted: &BTreeSet<String>, found: &BTreeSet<String>) -> f64 {
    if wanted.is_empty() {
        return 0.0;
    }
    wanted.intersection(found).count() as f64 / wanted.len() as f64
}

/// A question from outside: each option's own words against instructions, goal and state.
fn opaque_scores(instructions: &str, options: &[ChoiceOption], situation: &Situation) -> Vec<f64> {
    let query = format!("{}\n{instructions}\n{}", situation.goal, situation.text);
    let texts: Vec<String> = options
        .iter()
        .map(|option| format!("{} {}", option.name, option.description))
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    closeness_of_all(&query, &texts)
}

/// How close each text is to the query, each weighed against the others.
fn closeness_of_all(query: &str, texts: &[&str]) -> Vec<f64> {
    let query = Goal::new(query);
    let documents: Vec<BTreeSet<String>> = texts
        .iter()
        .map(|text| query.analyser.stems(text))
        .collect();
    let weights = Weights::of(&documents);
    documents
        .iter()
        .zip(texts)
        .map(|(stems, text)| {
            (LABEL_WORDS + HREF_WORDS + CONTEXT_WORDS) * weights.cosine(&query.stems, stems)
                + LABEL_TRIGRAMS * cosine(&query.grams, &query.analyser.trigrams(text))
        })
        .collect()
}

/// The probability of yes: whether the state speaks of what is asked, and of yes more than of no.
fn noul(instructions: &str, yes: Option<&str>, no: Option<&str>, situation: &Situation) -> f64 {
    let asked = Goal::new(&format!("{instructions} {}", yes.unwrap_or_default()));
    let text = asked.analyser.stems(&situation.text);
    let spoken = coverage(&asked.stems, &text);
    let against = no.map_or(0.0, |no| coverage(&asked.analyser.stems(no), &text));
    (0.1 + 0.8 * spoken - 0.4 * against).clamp(0.02, 0.98)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{candidate, choice, decide, flat, operation, picks, two_head, windows};
    use serde_json::json;

    fn page() -> [ChoiceOption; 4] {
        [
            candidate("c1", "Home", "http://h/index.html"),
            candidate("c2", "Shipping times", "http://h/docs/shipping.html"),
            candidate("c3", "Warranty policy", "http://h/docs/warranty.html"),
            candidate("c4", "Returns", "http://h/docs/returns.html"),
        ]
    }

    fn pick(questionnaire: &Questionnaire) -> Vec<String> {
        let decision = decide(&LexicalJudge, questionnaire).unwrap();
        picks(questionnaire, &decision)
            .into_iter()
            .map(|(name, _)| name)
            .collect()
    }

    #[test]
    fn the_label_that_shares_the_goals_words_wins_in_every_layout() {
        let goal = "How long does the warranty last?";
        assert_eq!(pick(&flat(goal, &page())), ["c3"]);
        assert_eq!(pick(&two_head(goal, &page())), ["click", "c3"]);
        assert_eq!(pick(&windows(goal, &page(), 2)), ["none", "c3"]);
    }

    #[test]
    fn nothing_near_means_scrolling_before_giving_up() {
        let strangers = [
            candidate("c1", "Xyl", "http://h/1"),
            candidate("c2", "Qum", "http://h/2"),
        ];
        let mut asked = flat("How long does the warranty last?", &strangers);
        assert_eq!(pick(&asked), ["scroll_down"]);
        asked.state["history"] = json!([{"operation": "SCROLL_DOWN", "page_changed": false}]);
        assert_eq!(pick(&asked), ["blocked"]);
        asked.state["history"] = json!([
            {"operation": "CLICK", "target": "Elsewhere", "page_changed": true},
            {"operation": "SCROLL_DOWN", "page_changed": false},
        ]);
        let QuestionKind::Choice { options, .. } = &mut asked.questions[0].kind else {
            panic!("a choice");
        };
        options.push(operation(Operation::Back));
        assert_eq!(pick(&asked), ["back"]);
    }

    #[test]
    fn a_target_tried_in_vain_or_the_page_itself_is_not_taken_again() {
        let goal = "How long does the warranty on returns last?";
        let mut asked = flat(goal, &page());
        let first = pick(&asked);
        let label = if first == ["c3"] {
            "Warranty policy"
        } else {
            "Returns"
        };
        let second = if first == ["c3"] { "c4" } else { "c3" };
        for changed in [true, false] {
            asked.state["history"] =
                json!([{"operation": "CLICK", "target": label, "page_changed": changed}]);
            assert_eq!(pick(&asked), [second]);
        }
        asked.state["history"] = json!([]);
        asked.state["url"] = json!("http://h/docs/warranty.html");
        assert_eq!(pick(&asked), ["c4"]);
    }

    #[test]
    fn done_only_beside_a_passage_that_speaks_of_the_goal() {
        let mut asked = flat("How long does the warranty last?", &page());
        asked.state["text"] = json!("The warranty lasts long: two years.\nBuy more.");
        assert_eq!(pick(&asked), ["done"]);
        asked.state["history"] = json!([{"operation": "DONE", "page_changed": false}]);
        assert_eq!(pick(&asked), ["c3"]);
    }

    #[test]
    fn questions_from_outside_are_answered_from_their_words() {
        let opaque = |name: &str, description: &str| ChoiceOption {
            name: name.to_owned(),
            description: description.to_owned(),
            subject: Subject::Opaque,
        };
        let options = vec![
            opaque("Billing", "payments, invoices, refunds"),
            opaque("Technical", "bugs, outages"),
        ];
        let mut asked = flat("", &[]);
        asked.state = json!("I was charged twice and wait for a refund of my invoice");
        asked.questions = vec![choice("q", options)];
        assert_eq!(pick(&asked), ["Billing"]);
    }

    #[test]
    fn an_answer_depends_on_its_own_question_only() {
        let question = |id: &str| Question {
            id: id.to_owned(),
            kind: QuestionKind::Noul {
                instructions: "Is a refund asked for?".to_owned(),
                yes: None,
                no: None,
            },
        };
        let mut asked = flat("", &[]);
        asked.state = json!("please send the refund");
        asked.questions = vec![question("a")];
        let alone = answers(&asked);
        asked.questions = vec![
            Question {
                id: "s".to_owned(),
                kind: QuestionKind::Score {
                    instructions: "How angry?".to_owned(),
                    levels: vec!["calm".to_owned(), "angry".to_owned()],
                },
            },
            question("other name"),
        ];
        assert_eq!(answers(&asked)[1], alone[0]);
    }

    proptest::proptest! {
        #[test]
        fn any_goal_and_label_give_a_distribution(
            goal in ".{0,40}", labels in proptest::collection::vec(".{0,20}", 1..6)
        ) {
            let candidates: Vec<ChoiceOption> = labels
                .iter()
                .enumerate()
                .map(|(i, label)| candidate(&format!("c{i}"), label, &format!("http://h/{i}")))
                .collect();
            pick(&flat(&goal, &candidates));
            pick(&two_head(&goal, &candidates));
        }
    }
}
