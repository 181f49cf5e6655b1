//! The chat judge against a scripted OpenAI-compatible server: both orders, two stages, the probe
//! that adapts, and replies that are no answers.

use std::time::Duration;

use jev_core::error::{AnswerFault, JudgeError};
use jev_core::ports::Judge as _;
use jev_core::question::{Answer, ChoiceAnswer, Decision, Question, QuestionKind};
use jev_judge::credential::Credential;
use jev_judge::endpoint::Endpoint;
use jev_judge::provider::chat::ChatJudge;
use serde_json::{Value, json};

use crate::common::{Received, Reply, Stub, asked_with, bounds};

const DEADLINE: Duration = Duration::from_secs(60);

fn judge(stub: &Stub) -> ChatJudge {
    let endpoint = Endpoint::parse(&stub.base).unwrap();
    let endpoint = endpoint.with_tail("chat/completions");
    ChatJudge::new("qwen3", endpoint, Credential::None, &[], bounds()).unwrap()
}

/// The lettered lines of a request, letter and text.
fn options(request: &Received) -> Vec<(char, String)> {
    let body = request.json();
    let text = body["messages"][1]["content"].as_str().unwrap().to_owned();
    text.lines()
        .filter_map(|line| {
            let (letter, rest) = line.split_once(") ")?;
            let mut chars = letter.chars();
            let letter = chars.next().filter(char::is_ascii_uppercase)?;
            chars.next().is_none().then(|| (letter, rest.to_owned()))
        })
        .collect()
}

/// A reply that gives each letter the weight of its line.
fn reply(request: &Received, weight: impl Fn(usize, &str) -> f64) -> Value {
    let options = options(request);
    let weights: Vec<f64> = options
        .iter()
        .enumerate()
        .map(|(place, (_, line))| weight(place, line))
        .collect();
    let sum: f64 = weights.iter().sum();
    let mut top: Vec<(String, f64)> = options
        .iter()
        .zip(&weights)
        .map(|((letter, _), weight)| (format!(" {letter}"), (weight / sum).ln()))
        .collect();
    top.sort_by(|a, b| b.1.total_cmp(&a.1));
    let listed: Vec<Value> = top
        .iter()
        .map(|(token, logprob)| json!({"token": token, "logprob": logprob}))
        .collect();
    json!({
        "id": "chatcmpl-1", "model": "qwen3-4b".replace("-4b", ""),
        "choices": [{"index": 0, "message": {"role": "assistant", "content": top[0].0},
            "logprobs": {"content": [{
                "token": top[0].0, "logprob": top[0].1, "top_logprobs": listed,
            }]}}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 1},
    })
}

/// What an honest model of these tests prefers.
fn honest(line: &str) -> f64 {
    if line.contains("apple") || line.contains("wanted") {
        50.0
    } else {
        1.0
    }
}

fn choice(decision: &Decision) -> &ChoiceAnswer {
    let Answer::Choice(choice) = &decision.answers[0] else {
        panic!("a choice");
    };
    choice
}

#[tokio::test]
async fn both_orders_are_asked_and_averaged() {
    let stub = Stub::start(|_, request| {
        // Likes the first place, and what is wanted more.
        let body = reply(request, |place, line| {
            honest(line) * if place == 0 { 3.0 } else { 1.0 }
        });
        Reply::json(200, &body)
    })
    .await;
    let judge = judge(&stub);
    let asked = asked_with(json!({"text": "page"}), &["other", "wanted", "none"]);
    let decision = judge.decide(&asked, DEADLINE).await.unwrap();
    let answer = choice(&decision);
    assert_eq!(answer.top().map(|(index, _, _)| index), Some(1));
    assert!(answer.flags.order_disagreement.is_some_and(|d| d > 0.01));
    assert_eq!(answer.flags.bounded_options, 0);
    // Two for the probe, whose tokens the first decision pays, and two orders.
    assert_eq!(stub.received().len(), 4);
    assert_eq!((decision.attempts, decision.usage.input_tokens), (2, 400));
    assert_eq!(decision.model.as_deref(), Some("qwen3"));
    let orders: Vec<Vec<String>> = stub.received()[2..]
        .iter()
        .map(|request| options(request).into_iter().map(|(_, line)| line).collect())
        .collect();
    assert!(orders[0].iter().eq(orders[1].iter().rev()));
    let sent = stub.received()[2].json();
    assert_eq!(sent["max_tokens"], 1);
    assert_eq!(
        (&sent["logprobs"], &sent["top_logprobs"]),
        (&json!(true), &json!(20))
    );
    assert_eq!(sent["chat_template_kwargs"]["enable_thinking"], false);
    // The probe is neither asked nor paid again.
    let again = judge.decide(&asked, DEADLINE).await.unwrap();
    assert_eq!(stub.received().len(), 6);
    assert_eq!(again.usage.input_tokens, 200);
}

#[tokio::test]
async fn the_chat_judge_keeps_the_promises_of_its_port() {
    let stub =
        Stub::start(|_, request| Reply::json(200, &reply(request, |_, line| honest(line)))).await;
    crate::port::conforms("chat", &judge(&stub)).await;
}

#[tokio::test]
async fn more_than_20_options_go_through_two_stages() {
    let stub =
        Stub::start(|_, request| Reply::json(200, &reply(request, |_, line| honest(line)))).await;
    let judge = judge(&stub);
    let names: Vec<String> = (0..254)
        .map(|index| match index {
            137 => "wanted".to_owned(),
            _ => format!("link{index}"),
        })
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).chain(["none"]).collect();
    let decision = judge
        .decide(&asked_with(json!({}), &names), DEADLINE)
        .await
        .unwrap();
    let answer = choice(&decision);
    assert_eq!(answer.probabilities.len(), 255);
    let (index, p, second) = answer.top().unwrap();
    assert_eq!(index, 137);
    assert!(p > 0.5 && second < 0.1, "{p} {second}");
    let sum: f64 = answer.probabilities.iter().sum();
    assert!((sum - 1.0).abs() < 1e-9);
    assert!(answer.probabilities.iter().all(|p| *p > 0.0));
    // Groups in two orders, then one group's members in two orders; the rest is marked.
    assert_eq!(decision.attempts, 4);
    assert!(answer.flags.bounded_options > 200);
    for request in stub.received() {
        assert!(options(&request).len() <= 20);
    }
}

#[tokio::test]
async fn the_other_kinds_are_read_from_letters_too() {
    let stub = Stub::start(|_, request| {
        Reply::json(
            200,
            &reply(request, |_, line| match line {
                line if line.starts_with("yes") => 9.0,
                "furious" => 8.0,
                line => honest(line),
            }),
        )
    })
    .await;
    let mut asked = asked_with(json!("The buyer shouts."), &["a", "b"]);
    let question = |kind| Question {
        id: "q".to_owned(),
        kind,
    };
    asked.questions = vec![
        question(QuestionKind::Noul {
            instructions: "Does the buyer shout?".to_owned(),
            yes: Some("loud words".to_owned()),
            no: None,
        }),
        question(QuestionKind::Score {
            instructions: "How angry?".to_owned(),
            levels: vec!["calm".to_owned(), "cross".to_owned(), "furious".to_owned()],
        }),
    ];
    let decision = judge(&stub).decide(&asked, DEADLINE).await.unwrap();
    let [Answer::Noul { noul }, Answer::Score { probabilities }] = &decision.answers[..] else {
        panic!("{decision:?}");
    };
    assert!((noul - 0.9).abs() < 1e-9);
    assert!((probabilities[2] - 0.8).abs() < 1e-9);
}

#[tokio::test]
async fn the_probe_learns_what_the_server_takes() {
    // At most 5 log-probabilities, no template switch, and another name for the bound.
    let stub = Stub::start(|_, request| {
        let body = request.json();
        let refuse = |message: &str| Reply::json(400, &json!({"error": {"message": message}}));
        if body.get("max_tokens").is_some() {
            refuse("Unsupported parameter: use 'max_completion_tokens' instead.")
        } else if body["top_logprobs"].as_u64() > Some(5) {
            refuse("top_logprobs must be less than or equal to 5")
        } else if body.get("chat_template_kwargs").is_some() {
            refuse("Unrecognized request argument")
        } else {
            Reply::json(200, &reply(request, |_, line| honest(line)))
        }
    })
    .await;
    let judge = judge(&stub);
    judge.probe(DEADLINE).await.unwrap();
    assert_eq!(stub.received().len(), 5);
    let names = ["a", "b", "c", "d", "e", "f", "wanted", "none"];
    let decision = judge
        .decide(&asked_with(json!({}), &names), DEADLINE)
        .await
        .unwrap();
    assert_eq!(choice(&decision).top().map(|(index, _, _)| index), Some(6));
    for request in &stub.received()[5..] {
        assert!(options(request).len() <= 5);
        assert_eq!(request.json()["max_completion_tokens"], 1);
    }
    // With five letters, what a page offers takes groups of groups.
    let many: Vec<String> = (0..130)
        .map(|index| match index {
            97 => "wanted".to_owned(),
            _ => format!("link{index}"),
        })
        .collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let asked = asked_with(json!({}), &many);
    let decision = judge.decide(&asked, DEADLINE).await.unwrap();
    let answer = choice(&decision);
    assert_eq!(answer.top().map(|(index, _, _)| index), Some(97));
    let sum: f64 = answer.probabilities.iter().sum();
    assert!((sum - 1.0).abs() < 1e-9, "{sum}");
    for request in &stub.received()[5..] {
        assert!(options(request).len() <= 5);
    }
}

#[tokio::test]
async fn a_server_without_log_probabilities_is_told_so() {
    for body in [
        json!({"choices": [{"message": {"content": "A"}}], "model": "qwen3"}),
        json!({"choices": [{"message": {"content": "A"}, "logprobs": null}]}),
        json!({"choices": []}),
    ] {
        let stub = Stub::start(move |_, _| Reply::json(200, &body)).await;
        let found = judge(&stub).probe(DEADLINE).await;
        assert!(
            matches!(found, Err(JudgeError::Capability { .. })),
            "{found:?}"
        );
    }
    // A model that does not read is found out too, whichever place it likes.
    for liked in [0, 1] {
        let stub = Stub::start(move |_, request| {
            let weight = |place, _: &str| if place == liked { 9.0 } else { 1.0 };
            Reply::json(200, &reply(request, weight))
        })
        .await;
        let found = judge(&stub).probe(DEADLINE).await;
        assert!(
            matches!(found, Err(JudgeError::Capability { .. })),
            "{found:?}"
        );
    }
    // A server that is not there is no question of capability.
    let stub = Stub::start(|_, _| Reply::json(401, &json!({}))).await;
    assert_eq!(
        judge(&stub).probe(DEADLINE).await,
        Err(JudgeError::Auth { status: 401 })
    );
}

#[tokio::test]
async fn thinking_is_switched_off_in_whichever_way_works() {
    for (deaf, fine) in [(false, true), (true, false)] {
        let stub = Stub::start(move |_, request| {
            let mut body = reply(request, |_, line| honest(line));
            // Ignores the template's switch without a word.
            if deaf || request.json()["reasoning_effort"] != "none" {
                body["choices"][0]["logprobs"]["content"][0]["token"] = json!("<think>");
            }
            Reply::json(200, &body)
        })
        .await;
        let found = judge(&stub).probe(DEADLINE).await;
        assert_eq!(found.is_ok(), fine, "{found:?}");
        if let Err(error) = found {
            assert!(
                error.to_string().contains("does not think first"),
                "{error}"
            );
        }
        assert_eq!(stub.received().len(), 3);
    }
}

#[tokio::test]
async fn replies_that_are_no_answers_are_refused() {
    for (change, question, fault) in [
        // Thinking aloud.
        ("think", Some("q"), AnswerFault::Choice),
        // Mass outside the letters.
        ("mass", Some("q"), AnswerFault::Mass),
        ("positive", Some("q"), AnswerFault::Range),
        ("model", None, AnswerFault::Model),
        ("no model's name", None, AnswerFault::Model),
        ("usage", Some("q"), AnswerFault::Usage),
    ] {
        let stub = Stub::start(move |number, request| {
            let mut body = reply(request, |_, line| honest(line));
            if number > 1 {
                let first = &mut body["choices"][0]["logprobs"]["content"][0];
                match change {
                    "think" => first["token"] = json!("<think>"),
                    "mass" => {
                        for entry in first["top_logprobs"].as_array_mut().unwrap() {
                            entry["logprob"] = json!(entry["logprob"].as_f64().unwrap() - 1.0);
                        }
                    }
                    "positive" => first["top_logprobs"][0]["logprob"] = json!(0.5),
                    "model" => body["model"] = json!("another"),
                    "no model's name" => body["model"] = json!("qwen3\u{0}"),
                    _ => body["usage"]["prompt_tokens"] = json!(1.5),
                }
            }
            Reply::json(200, &body)
        })
        .await;
        let asked = asked_with(json!({}), &["wanted", "b"]);
        let found = judge(&stub).decide(&asked, DEADLINE).await;
        let expected = JudgeError::Protocol {
            question: question.map(str::to_owned),
            fault,
        };
        assert_eq!(found, Err(expected), "{change}");
    }
}

#[tokio::test]
async fn a_letter_that_is_not_listed_is_never_nought() {
    let stub = Stub::start(|number, request| {
        let mut body = reply(request, |_, line| honest(line));
        if number > 1 {
            let first = &mut body["choices"][0]["logprobs"]["content"][0];
            first["top_logprobs"].as_array_mut().unwrap().truncate(1);
        }
        Reply::json(200, &body)
    })
    .await;
    let asked = asked_with(json!({}), &["wanted", "b", "c"]);
    let decision = judge(&stub).decide(&asked, DEADLINE).await.unwrap();
    let answer = choice(&decision);
    assert_eq!(answer.flags.bounded_options, 2);
    assert!(answer.probabilities.iter().all(|p| *p > 0.0), "{answer:?}");
}
