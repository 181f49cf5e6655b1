//! Tests of the embedded judge, without weights: a stand-in embedder counts shared words.

use std::time::Instant;

use serde_json::json;

use super::*;
use crate::embedded::model::Embedding;
use crate::testing::{candidate, choice, decide, flat, operation, picks, two_head, windows};

/// One direction a word: the cosine of two texts is their share of common words. Every text takes
/// two markers and a piece a word, as an English text does.
struct SharedWords;

impl Embedder for SharedWords {
    fn embed(&self, texts: &[&str], given_up: &GivenUp) -> Result<Vec<Embedding>, EmbedError> {
        if given_up.is_set() {
            return Err(EmbedError::Cancelled);
        }
        Ok(texts
            .iter()
            .map(|text| {
                let mut vector = vec![0.0_f32; 4_096];
                let words: Vec<String> = text
                    .split(|c: char| !c.is_alphanumeric())
                    .filter(|word| !word.is_empty())
                    .map(str::to_lowercase)
                    .collect();
                for word in &words {
                    let place = word.bytes().fold(7_usize, |hash, byte| {
                        (hash * 31 + usize::from(byte)) % 4_096
                    });
                    vector[place] = 1.0;
                }
                let length = vector.iter().map(|v| v * v).sum::<f32>().sqrt().max(1.0);
                vector.iter_mut().for_each(|value| *value /= length);
                Embedding {
                    vector: vector.into(),
                    pieces: words.len() as u32 + 2,
                }
            })
            .collect())
    }
}

fn judge() -> EmbeddedJudge {
    EmbeddedJudge::new(Arc::new(SharedWords))
}

fn pick(questionnaire: &Questionnaire) -> Vec<String> {
    let decision = decide(&judge(), questionnaire).unwrap();
    picks(questionnaire, &decision)
        .into_iter()
        .map(|(name, _)| name)
        .collect()
}

const GOAL: &str = "warranty term of kettles";

fn page() -> [ChoiceOption; 4] {
    [
        candidate("c1", "Home", "http://h/index.html"),
        candidate("c2", "Shipping times", "http://h/shipping.html"),
        candidate("c3", "Warranty of kettles", "http://h/warranty.html"),
        candidate("c4", "Kettles", "http://h/kettles.html"),
    ]
}

fn strangers() -> [ChoiceOption; 2] {
    [
        candidate("c1", "Xyl", "http://h/1"),
        candidate("c2", "Qum", "http://h/2"),
    ]
}

fn with_back(mut questionnaire: Questionnaire) -> Questionnaire {
    let QuestionKind::Choice { options, .. } = &mut questionnaire.questions[0].kind else {
        panic!("a choice");
    };
    options.push(operation(Operation::Back));
    questionnaire
}

#[test]
fn the_nearest_link_wins_in_every_layout() {
    assert_eq!(pick(&flat(GOAL, &page())), ["c3"]);
    assert_eq!(pick(&two_head(GOAL, &page())), ["click", "c3"]);
    assert_eq!(pick(&windows(GOAL, &page(), 2)), ["none", "c3"]);
}

#[test]
fn both_heads_agree_when_nothing_is_near() {
    assert_eq!(pick(&two_head(GOAL, &strangers())), ["scroll_down", "none"]);
}

#[test]
fn history_turns_the_judge_to_what_was_not_tried() {
    let click = |target: &str, outcome: &str, changed: bool| json!({"operation": "CLICK", "target": target, "outcome": outcome, "page_changed": changed});
    let back = || json!({"operation": "BACK", "outcome": "applied", "page_changed": true});
    for (name, history, expected) in [
        ("nothing yet", vec![], "c3"),
        (
            "clicked, seen and left again",
            vec![click("Warranty of kettles", "applied", true), back()],
            "c4",
        ),
        (
            "clicked without effect",
            vec![click("Warranty of kettles", "no_effect", false)],
            "c4",
        ),
        (
            "refused",
            vec![click("Warranty of kettles", "rejected", false)],
            "c4",
        ),
        (
            "led out of bounds",
            vec![click("Warranty of kettles", "dead_end", true), back()],
            "c4",
        ),
        (
            "all tried, nothing but scrolling left",
            vec![
                click("Warranty of kettles", "no_effect", false),
                click("Kettles", "no_effect", false),
            ],
            "scroll_down",
        ),
    ] {
        let mut asked = flat(GOAL, &page());
        asked.state["history"] = json!(history);
        assert_eq!(pick(&asked), [expected], "{name}");
    }
}

#[test]
fn a_link_to_the_page_itself_is_not_taken() {
    let mut asked = flat(GOAL, &page());
    asked.state["url"] = json!("http://h/warranty.html#top");
    assert_eq!(pick(&asked), ["c4"]);
}

#[test]
fn two_links_to_one_page_are_one_choice() {
    let mut links = page().to_vec();
    links.push(candidate(
        "c5",
        "Warranty of kettles",
        "http://h/warranty.html",
    ));
    links.push(candidate(
        "c6",
        "Warranty term",
        "http://h/warranty.html#term",
    ));
    let asked = flat(GOAL, &links);
    let decision = decide(&judge(), &asked).unwrap();
    let Answer::Choice(choice) = &decision.answers[0] else {
        panic!("a choice");
    };
    let (_, first, second) = choice.top().unwrap();
    assert!(first / (first + second) > 0.9, "{choice:?}");
}

#[test]
fn a_dead_end_is_left_by_scrolling_then_back_then_giving_up() {
    let came = json!({"operation": "CLICK", "target": "Elsewhere", "outcome": "applied", "page_changed": true});
    let scrolled =
        json!({"operation": "SCROLL_DOWN", "outcome": "no_effect", "page_changed": false});
    let mut asked = with_back(flat(GOAL, &strangers()));
    for (history, expected) in [
        (json!([came]), "scroll_down"),
        (json!([came, scrolled]), "back"),
        (json!([scrolled]), "blocked"),
    ] {
        asked.state["history"] = history;
        assert_eq!(pick(&asked), [expected]);
    }
}

#[test]
fn a_page_that_loads_is_waited_for_but_not_for_ever() {
    let mut asked = flat(GOAL, &strangers());
    asked.state["text"] = json!("Loading\u{2026}");
    let wait = json!({"operation": "WAIT", "outcome": "waited", "page_changed": false});
    for (history, expected) in [
        (json!([]), "wait"),
        (json!([wait]), "wait"),
        (json!([wait, wait]), "scroll_down"),
    ] {
        asked.state["history"] = history;
        assert_eq!(pick(&asked), [expected]);
    }
}

#[test]
fn done_is_claimed_once_and_only_beside_a_passage_that_is_close() {
    let mut asked = flat(GOAL, &page());
    asked.state["text"] =
        json!("Kettles and more\nThe warranty term of kettles: thirty-six months.");
    assert_eq!(pick(&asked), ["done"]);
    asked.state["history"] = json!([{"operation": "DONE", "outcome": "claimed_done_no_evidence", "page_changed": false}]);
    assert_eq!(pick(&asked), ["c3"]);
    let mut far = flat(GOAL, &page());
    far.state["text"] = json!(
        "The warranty term is the subject of many long pages that say nothing of any use to you or to kettles"
    );
    assert_eq!(pick(&far), ["c3"]);
}

#[test]
fn a_goal_that_asks_for_an_act_is_blocked_beside_the_nearest_link() {
    assert_eq!(pick(&flat("Buy the kettles", &page())), ["blocked"]);
}

#[test]
fn a_link_without_words_of_its_own_is_read_with_heading_and_address() {
    let mut bare = candidate("c9", "Read more", "http://h/warranty-term-kettles.html");
    if let Subject::Candidate { context, .. } = &mut bare.subject {
        *context = "Warranty".to_owned();
    }
    let mut links = page().to_vec();
    links.remove(2);
    links.push(bare);
    assert_eq!(pick(&flat(GOAL, &links)), ["c9"]);
}

#[test]
fn questions_from_outside_are_answered_each_by_itself() {
    let opaque = |name: &str, description: &str| ChoiceOption {
        name: name.to_owned(),
        description: description.to_owned(),
        subject: Subject::Opaque,
    };
    let mut asked = flat("", &[]);
    asked.state = json!({"mail": "I was charged twice and want a refund of my invoice"});
    let class = choice(
        "class",
        vec![
            opaque("billing", "invoice refund charged"),
            opaque("technical", "bug outage crash"),
            opaque("none", "no such class"),
        ],
    );
    let yes = jev_core::question::Question {
        id: "yes".to_owned(),
        kind: QuestionKind::Noul {
            instructions: "a refund of my invoice".to_owned(),
            yes: None,
            no: None,
        },
    };
    let level = jev_core::question::Question {
        id: "level".to_owned(),
        kind: QuestionKind::Score {
            instructions: "How many were charged?".to_owned(),
            levels: vec!["nobody".to_owned(), "I was charged twice".to_owned()],
        },
    };
    asked.questions = vec![class.clone()];
    let alone = decide(&judge(), &asked).unwrap();
    assert_eq!(picks(&asked, &alone)[0].0, "billing");
    asked.questions = vec![level, yes, class];
    let together = decide(&judge(), &asked).unwrap();
    assert_eq!(together.answers[2], alone.answers[0]);
    assert!(matches!(together.answers[1], Answer::Noul { noul } if noul > 0.5));
    assert!(
        matches!(&together.answers[0], Answer::Score { probabilities } if probabilities[1] > 0.5)
    );
    // Something far from every option is none of them.
    asked.state = json!({"mail": "qwert zuiop"});
    asked.questions = vec![choice(
        "class",
        vec![
            opaque("billing", "invoice refund charged"),
            opaque("none", "no such class"),
        ],
    )];
    assert_eq!(pick(&asked), ["none"]);
}

#[test]
fn usage_counts_every_text_read_cached_or_not() {
    let asked = flat(GOAL, &page());
    let first = decide(&judge(), &asked).unwrap();
    assert_eq!(first, decide(&judge(), &asked).unwrap());
    assert!(first.usage.input_tokens > 20);
    assert_eq!(first.model.as_deref(), Some(MODEL_NAME));
}

/// How long a test waits for another thread.
const PATIENCE: Duration = Duration::from_secs(20);

/// Waits until its caller has gone, and says so.
struct Patient {
    noticed: std::sync::mpsc::SyncSender<()>,
}

impl Embedder for Patient {
    fn embed(&self, _: &[&str], given_up: &GivenUp) -> Result<Vec<Embedding>, EmbedError> {
        let begun = Instant::now();
        while !given_up.is_set() {
            assert!(begun.elapsed() < PATIENCE, "nobody gave up");
            std::thread::yield_now();
        }
        self.noticed.send(()).unwrap();
        Err(EmbedError::Cancelled)
    }
}

#[test]
fn a_deadline_ends_the_decision_and_the_work() {
    let (noticed, seen) = std::sync::mpsc::sync_channel(1);
    let judge = EmbeddedJudge::new(Arc::new(Patient { noticed }));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let result = runtime.block_on(judge.decide(&flat(GOAL, &page()), Duration::from_millis(20)));
    assert_eq!(result, Err(JudgeError::Timeout));
    seen.recv_timeout(PATIENCE).unwrap();
}

#[test]
fn a_model_that_is_not_installed_is_a_typed_error_that_names_the_command() {
    let nowhere = tempfile::tempdir().unwrap();
    let error = Weights::at(nowhere.path().join("none")).unwrap_err();
    let error = JudgeError::from(EmbedError::from(error));
    assert!(
        matches!(&error, JudgeError::Config { what } if what.contains("jev judge install")),
        "{error}"
    );
}

proptest::proptest! {
    #[test]
    fn any_goal_title_text_and_labels_give_a_distribution(
        goal in ".{0,40}",
        title in ".{0,80}",
        text in "(.{0,60}\n){0,5}",
        labels in proptest::collection::vec(".{0,30}", 0..6),
    ) {
        let candidates: Vec<ChoiceOption> = labels
            .iter()
            .enumerate()
            .map(|(i, label)| candidate(&format!("c{i}"), label, &format!("http://h/{i}")))
            .collect();
        for mut asked in [flat(&goal, &candidates), two_head(&goal, &candidates)] {
            asked.state["title"] = json!(title);
            asked.state["text"] = json!(text);
            pick(&asked);
        }
    }
}
