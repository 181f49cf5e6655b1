//! The embedded judge with its real weights. These tests fail when the weights are not installed,
//! and say how to install them; they are never skipped.
#![cfg(feature = "embedded")]
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "clippy exempts functions that are tests, not their helpers"
)]

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use jev_core::ports::{Judge, JudgeKind};
use jev_core::question::{
    Answer, ChoiceOption, Question, QuestionKind, Questionnaire, Stage, Subject,
};
use jev_core::testing::{self, Clock};
use jev_judge::embedded::linkset::{self, Kind, Split};
use jev_judge::embedded::{
    DIMENSIONS, EmbeddedJudge, Embedder, GivenUp, InstallSource, Installed, Model, Weights,
    install_into,
};

/// The installed model, loaded once for all tests.
fn model() -> Arc<Model> {
    static MODEL: OnceLock<Arc<Model>> = OnceLock::new();
    Arc::clone(MODEL.get_or_init(|| {
        let weights = weights();
        Arc::new(Model::load(&weights).unwrap_or_else(|error| panic!("{error}")))
    }))
}

fn weights() -> Weights {
    Weights::locate().unwrap_or_else(|error| panic!("{error} (developers: `cargo xtask setup`)"))
}

fn set() -> Vec<linkset::LinkChoice> {
    linkset::read_set(include_str!("../../../fixtures/link-choice/set.jsonl")).unwrap()
}

#[test]
fn vectors_are_those_the_models_makers_publish() {
    let texts = [
        "The weather is lovely today.",
        "It's so sunny outside!",
        "He drove to the stadium.",
    ];
    let embeddings = model().embed(&texts, &GivenUp::default()).unwrap();
    for (left, right, expected) in [(0, 1, 0.6660), (0, 2, 0.1046), (1, 2, 0.1411)] {
        let cosine = embeddings[left].cosine(&embeddings[right]);
        assert!(
            (cosine - expected).abs() < 0.000_2,
            "{left} {right}: {cosine}"
        );
    }
    for embedding in &embeddings {
        assert_eq!(embedding.vector.len(), DIMENSIONS);
        assert!((embedding.cosine(embedding) - 1.0).abs() < 1e-5);
    }
}

#[test]
fn a_vector_does_not_depend_on_what_it_is_computed_with() {
    let model = model();
    let alone = Model::load(&weights()).unwrap();
    let texts: Vec<String> = (0..40)
        .map(|n| format!("batch {n} {}", "of words ".repeat(n % 7)))
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let together = model.embed(&texts, &GivenUp::default()).unwrap();
    for (text, embedding) in texts.iter().zip(&together).step_by(9) {
        let single = alone.embed(&[*text], &GivenUp::default()).unwrap();
        assert!(single[0].cosine(embedding) > 0.999_99, "{text}");
        assert_eq!(single[0].pieces, embedding.pieces);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_embedded_judge_keeps_the_promises_of_its_port() {
    let clock = Clock::new(tokio::time::sleep).with_patience(Duration::from_secs(120));
    let judge = EmbeddedJudge::new(model());
    let answered = testing::judge(&judge, &clock).await.unwrap();
    assert!(answered.refused.is_empty(), "{answered:?}");
}

#[test]
fn any_text_has_a_vector() {
    let long = "word ".repeat(10_000);
    let texts = [
        "",
        " ",
        "\u{0}\u{fffd}",
        "一张表最多可以有多少列?",
        "🙂🙂🙂",
        &long,
        "\u{202e}ab",
    ];
    for embedding in model().embed(&texts, &GivenUp::default()).unwrap() {
        assert!(embedding.vector.iter().all(|value| value.is_finite()));
        assert!((embedding.cosine(&embedding) - 1.0).abs() < 1e-4);
    }
}

#[test]
fn work_that_nobody_waits_for_stops() {
    let given_up = GivenUp::default();
    given_up.set();
    let result = model().embed(&["a text that is not in the cache"], &given_up);
    assert!(result.is_err());
}

/// A question as the loop asks it: an item's links and nothing else to do.
fn questionnaire(item: &linkset::LinkChoice) -> Questionnaire {
    let options = item
        .options
        .iter()
        .enumerate()
        .map(|(index, option)| ChoiceOption {
            name: format!("c{index}"),
            description: option.label.clone(),
            subject: Subject::Candidate {
                id: format!("c{index}"),
                label: option.label.clone(),
                context: option.context.clone(),
                href: None,
            },
        })
        .collect();
    Questionnaire {
        stage: Stage::Decide,
        goal: item.goal.clone(),
        state: serde_json::json!({"goal": item.goal, "title": item.title, "url": "https://h.example/", "text": "", "history": []}),
        questions: vec![Question {
            id: "click_target".to_owned(),
            kind: QuestionKind::Choice {
                instructions: "Which one?".to_owned(),
                options,
            },
        }],
    }
}

#[tokio::test]
async fn the_judge_chooses_rightly_far_more_often_than_by_words() {
    let judge = EmbeddedJudge::new(model());
    assert_eq!(judge.identity().kind, JudgeKind::Ranks);
    let (mut items, mut right) = (0, 0);
    for item in set() {
        if item.split == Split::B && item.kind == Kind::Paraphrased {
            let decision = judge
                .decide(&questionnaire(&item), Duration::from_secs(60))
                .await
                .unwrap();
            let Answer::Choice(choice) = &decision.answers[0] else {
                panic!("a choice");
            };
            items += 1;
            right += usize::from(choice.top().unwrap().0 == item.answer);
        }
    }
    // The lexical judge has 10 %; the measured share stands in docs/judges.md.
    assert!(right * 10 >= items * 6, "{right} of {items}");
}

#[test]
fn cached_labels_are_not_computed_again() {
    let model = model();
    let labels: Vec<String> = (0..30)
        .map(|n| format!("Help centre: Opening hours and holidays of branch {n}"))
        .collect();
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    let start = Instant::now();
    model.embed(&labels, &GivenUp::default()).unwrap();
    let new = start.elapsed();
    let start = Instant::now();
    model.embed(&labels, &GivenUp::default()).unwrap();
    let cached = start.elapsed();
    // A ratio: what is computed again takes as long as before. `cargo xtask bench embedded` has
    // the times.
    assert!(cached * 10 < new, "{new:?} {cached:?}");
}

#[test]
fn what_is_installed_can_be_installed_from_its_folder_and_is_then_already_there() {
    let weights = weights();
    let place = tempfile::tempdir().unwrap();
    let target = place.path().join("deeper").join("model");
    let source = InstallSource::Folder(weights.folder().to_owned());
    let first = install_into(&target, &source).unwrap();
    assert!(matches!(&first, Installed::Now(weights) if weights.folder() == target));
    Model::load(first.weights()).unwrap();
    let again = install_into(&target, &source).unwrap();
    assert!(matches!(again, Installed::AlreadyThere(_)));
    // A damaged file is found and replaced.
    std::fs::write(target.join("config.json"), "{}").unwrap();
    assert!(matches!(
        install_into(&target, &source).unwrap(),
        Installed::Now(_)
    ));
}
