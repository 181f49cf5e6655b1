//! Property tests of the reply's check: every lawful rounding of a true distribution is accepted,
//! and every mutation that breaks a rule is refused with that rule's name.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use jev_core::error::{AnswerFault, JudgeError};
use jev_core::question::{
    Answer, ChoiceOption, Decision, Question, QuestionKind, Questionnaire, Stage, Subject,
};
use jev_judge::validate::{ModelRule, Rules, UsageRule, validate};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// A question's kind and the true distribution behind its answer.
#[derive(Clone, Debug)]
struct Truth {
    id: String,
    kind: Kind,
    weights: Vec<f64>,
}

#[derive(Clone, Debug)]
enum Kind {
    Choice(Vec<String>),
    Noul,
    Score,
}

impl Truth {
    fn p(&self) -> Vec<f64> {
        let sum: f64 = self.weights.iter().sum();
        self.weights.iter().map(|w| w / sum).collect()
    }

    /// 255 equal options round to nothing at all: no reply of such a server could be used.
    fn is_lost(&self, decimals: Option<i32>) -> bool {
        decimals == Some(2) && self.p().iter().all(|p| *p < 0.005)
    }

    fn question(&self) -> Question {
        let instructions = "Which?".to_owned();
        let kind = match &self.kind {
            Kind::Choice(names) => QuestionKind::Choice {
                instructions,
                options: names
                    .iter()
                    .map(|name| ChoiceOption {
                        name: name.clone(),
                        description: String::new(),
                        subject: Subject::Opaque,
                    })
                    .collect(),
            },
            Kind::Noul => QuestionKind::Noul {
                instructions,
                yes: None,
                no: None,
            },
            Kind::Score => QuestionKind::Score {
                instructions,
                levels: vec!["level".to_owned(); self.weights.len()],
            },
        };
        Question {
            id: self.id.clone(),
            kind,
        }
    }

    /// What an honest server says: the choice and the score from the true distribution, the
    /// numbers rounded, the keys in any order.
    fn answer(&self, decimals: Option<i32>) -> Value {
        let round = |p: f64| match decimals {
            Some(decimals) => {
                let scale = 10_f64.powi(decimals);
                (p * scale).round() / scale
            }
            None => p,
        };
        let p = self.p();
        match &self.kind {
            Kind::Choice(names) => {
                let best = (0..p.len()).max_by(|a, b| p[*a].total_cmp(&p[*b])).unwrap();
                let mut probabilities: Vec<(String, Value)> = names
                    .iter()
                    .cloned()
                    .zip(p.iter().map(|p| number(round(*p))))
                    .collect();
                probabilities.sort_by(|a, b| b.0.cmp(&a.0));
                let probabilities: Map<String, Value> = probabilities.into_iter().collect();
                json!({
                    "choice": names[best], "type": "choice",
                    "probabilities": probabilities, "confidence": round(p[best]),
                })
            }
            Kind::Noul => json!({"type": "noul", "noul": number(round(p[0]))}),
            Kind::Score => {
                let score: f64 = p.iter().zip(0..).map(|(p, i)| p * f64::from(i)).sum();
                let probabilities: Map<String, Value> = p
                    .iter()
                    .enumerate()
                    .map(|(i, p)| (i.to_string(), number(round(*p))))
                    .collect();
                let legend: Map<String, Value> = (0..p.len())
                    .map(|i| (i.to_string(), json!("level")))
                    .collect();
                json!({
                    "type": "score", "score": round(score), "legend": legend,
                    "probabilities": probabilities, "confidence": 0.5,
                })
            }
        }
    }
}

/// Whole numbers as integers, as some servers write them.
fn number(p: f64) -> Value {
    if p == p.trunc() {
        json!(p as i64)
    } else {
        json!(p)
    }
}

fn truth() -> impl Strategy<Value = Truth> {
    // A few weights decide, many share a long tail: the shapes in which rounding matters.
    let weight = prop_oneof![3 => 0.001..0.02, 2 => 0.1..1.0, 1 => Just(0.0001)];
    let weights = |range| proptest::collection::vec(weight.clone(), range);
    prop_oneof![
        (2_usize..255)
            .prop_flat_map(move |count| {
                let names = proptest::collection::btree_set("\\PC{1,12}", count);
                (names, proptest::collection::vec(0.0001..1.0_f64, count))
            })
            .prop_map(|(names, weights)| (Kind::Choice(names.into_iter().collect()), weights)),
        weights(2..3).prop_map(|weights| (Kind::Noul, weights)),
        weights(2..11).prop_map(|weights| (Kind::Score, weights)),
    ]
    .prop_map(|(kind, weights)| Truth {
        id: String::new(),
        kind,
        weights,
    })
}

fn truths() -> impl Strategy<Value = Vec<Truth>> {
    proptest::collection::vec(truth(), 1..4).prop_map(|mut truths| {
        for (index, truth) in truths.iter_mut().enumerate() {
            truth.id = format!("q.{index} \u{1f642}");
        }
        truths
    })
}

fn asked(truths: &[Truth]) -> Questionnaire {
    Questionnaire {
        stage: Stage::Decide,
        goal: String::new(),
        state: json!("state"),
        questions: truths.iter().map(Truth::question).collect(),
    }
}

fn reply(truths: &[Truth], decimals: Option<i32>) -> Value {
    let answers: Map<String, Value> = truths
        .iter()
        .rev()
        .map(|truth| (truth.id.clone(), truth.answer(decimals)))
        .collect();
    json!({
        "usage": {"input_tokens": 130, "output_tokens": 12},
        "model": "jev-1.13.0", "answers": answers,
    })
}

fn rules() -> Rules {
    Rules {
        model: ModelRule::Requested("jev-1.13.0".to_owned()),
        usage: UsageRule::Required,
    }
}

fn check(truths: &[Truth], reply: &Value) -> Result<Decision, JudgeError> {
    validate(&asked(truths), reply.to_string().as_bytes(), &rules())
}

/// Half a unit of rounding a value, and making up for the sum moves it once more as far at most.
fn close(found: &[f64], truth: &[f64], unit: f64) -> bool {
    let room = 2.0 * unit;
    let sum: f64 = found.iter().sum();
    (sum - 1.0).abs() < 1e-6
        && found.len() == truth.len()
        && found
            .iter()
            .zip(truth)
            .all(|(a, b)| (a - b).abs() <= room + 1e-9)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_lawful_rounding_is_accepted(truths in truths(), decimals in prop_oneof![
        Just(None), (2..6_i32).prop_map(Some),
    ]) {
        prop_assume!(!truths.iter().any(|truth| truth.is_lost(decimals)));
        let decision = check(&truths, &reply(&truths, decimals));
        let decision = decision.map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(decision.odd_fields, 0);
        let unit = decimals.map_or(0.0, |decimals| 0.5 / 10_f64.powi(decimals));
        for (truth, answer) in truths.iter().zip(&decision.answers) {
            let p = truth.p();
            let fits = match (&truth.kind, answer) {
                (Kind::Choice(_), Answer::Choice(answer)) => close(&answer.probabilities, &p, unit),
                (Kind::Noul, Answer::Noul { noul }) => (noul - p[0]).abs() <= unit + 1e-9,
                (Kind::Score, Answer::Score { probabilities }) => close(probabilities, &p, unit),
                _ => false,
            };
            prop_assert!(fits, "{:?} became {:?}", p, answer);
            if let (Answer::Choice(answer), Some(decimals)) = (answer, decimals) {
                let rounded_to = answer.flags.rounded_to.map(i32::from);
                prop_assert!(rounded_to.is_some_and(|found| found <= decimals));
            }
        }
    }

    #[test]
    fn every_mutation_that_breaks_a_rule_is_refused(
        truths in truths(),
        decimals in prop_oneof![Just(None), Just(Some(2)), Just(Some(4))],
        pick in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
    ) {
        prop_assume!(!truths.iter().any(|truth| truth.is_lost(decimals)));
        let good = reply(&truths, decimals);
        prop_assert!(check(&truths, &good).is_ok());
        let victim = &truths[pick.index(truths.len())];
        for (name, fault, bad) in mutations(&good, victim, at.index(victim.weights.len())) {
            let found = check(&truths, &bad);
            let Err(JudgeError::Protocol { question, fault: found }) = found else {
                return Err(TestCaseError::fail(format!("{name}: {found:?}")));
            };
            prop_assert_eq!(found, fault, "{}", name);
            let names_it = question.as_deref() == Some(victim.id.as_str());
            prop_assert!(question.is_none() || names_it, "{name} blames {question:?}");
        }
        // Text that is cut anywhere is no reply.
        let text = good.to_string();
        let cut = at.index(text.len() - 1);
        let found = validate(&asked(&truths), &text.as_bytes()[..cut], &rules());
        let shape = JudgeError::Protocol { question: None, fault: AnswerFault::Shape };
        prop_assert_eq!(found, Err(shape));
    }

    #[test]
    fn any_bytes_give_a_decision_or_a_typed_fault(
        truths in truths(), bytes in proptest::collection::vec(any::<u8>(), 0..200)
    ) {
        let found = validate(&asked(&truths), &bytes, &rules());
        let protocol = matches!(found, Err(JudgeError::Protocol { .. }));
        prop_assert!(protocol, "{:?}", found);
    }
}

type Change<'a> = &'a dyn Fn(&mut Value);
type Mutation = (&'static str, AnswerFault, Value);

/// Every way to break a rule for one question, applied to a good reply.
fn mutations(good: &Value, victim: &Truth, at: usize) -> Vec<Mutation> {
    let mut out = Vec::new();
    let mut whole = |name, fault, change: Change<'_>| {
        let mut bad = good.clone();
        change(&mut bad);
        out.push((name, fault, bad));
    };
    whole("no model", AnswerFault::Shape, &|r| remove(r, "model"));
    whole("blank model", AnswerFault::Shape, &|r| {
        r["model"] = json!("")
    });
    whole("model of two lines", AnswerFault::Shape, &|r| {
        r["model"] = json!("jev-1.13.0\n")
    });
    whole("another model", AnswerFault::Model, &|r| {
        r["model"] = json!("jev-1.14.0")
    });
    whole("no usage", AnswerFault::Usage, &|r| remove(r, "usage"));
    for tokens in [json!(12.0), json!(-1), json!("12"), json!(null)] {
        whole("odd usage", AnswerFault::Usage, &|r| {
            r["usage"]["input_tokens"] = tokens.clone()
        });
    }
    whole("half a usage", AnswerFault::Usage, &|r| {
        remove(&mut r["usage"], "output_tokens")
    });
    whole("no answers", AnswerFault::Shape, &|r| remove(r, "answers"));
    whole("a list of answers", AnswerFault::Shape, &|r| {
        r["answers"] = json!([])
    });

    let id = victim.id.as_str();
    let mut answer = |name, fault, change: Change<'_>| {
        whole(name, fault, &|r| change(&mut r["answers"][id]));
    };
    answer("another type", AnswerFault::Type, &|a| {
        a["type"] = json!("boolean")
    });
    answer("no type", AnswerFault::Type, &|a| remove(a, "type"));
    answer("no object", AnswerFault::Shape, &|a| *a = json!(0.5));
    let odd_numbers = [
        json!(-0.01),
        json!(1.006),
        json!("0.5"),
        json!(null),
        json!([0.5]),
    ];
    if let Kind::Noul = victim.kind {
        for odd in &odd_numbers {
            answer("odd noul", AnswerFault::Range, &|a| a["noul"] = odd.clone());
        }
        answer("no noul", AnswerFault::Shape, &|a| remove(a, "noul"));
    } else {
        let key = match &victim.kind {
            Kind::Choice(names) => names[at].clone(),
            Kind::Noul | Kind::Score => at.to_string(),
        };
        for odd in &odd_numbers {
            answer("odd p", AnswerFault::Range, &|a| {
                a["probabilities"][&key] = odd.clone()
            });
        }
        answer("option missing", AnswerFault::OptionMissing, &|a| {
            remove(&mut a["probabilities"], &key)
        });
        answer("option renamed", AnswerFault::OptionMissing, &|a| {
            let p = a["probabilities"][&key].clone();
            remove(&mut a["probabilities"], &key);
            a["probabilities"][format!("{key}\u{301}")] = p;
        });
        answer("option added", AnswerFault::OptionUnknown, &|a| {
            a["probabilities"]["\u{0}never offered"] = json!(0.0)
        });
        answer("no probabilities", AnswerFault::Shape, &|a| {
            remove(a, "probabilities")
        });
        answer("a list of probabilities", AnswerFault::Shape, &|a| {
            a["probabilities"] = json!([1])
        });
        answer("nothing at all", AnswerFault::Mass, &|a| {
            scale(&mut a["probabilities"], &|_| 0.0)
        });
        // Digits enough that no rounding excuses the sum, whatever the reply's own sum was.
        let sum: f64 = good["answers"][id]["probabilities"]
            .as_object()
            .unwrap()
            .values()
            .map(|p| p.as_f64().unwrap())
            .sum();
        answer("a sum too low", AnswerFault::Sum, &|a| {
            scale(&mut a["probabilities"], &|p| p / sum * 0.899_685_840_7)
        });
        let spread = 0.100_314_159_3 / (victim.weights.len() - 1) as f64;
        answer("a sum too high", AnswerFault::Sum, &|a| {
            scale(&mut a["probabilities"], &|p| {
                p / sum + (1.0 - p / sum) * spread
            })
        });
    }
    if let Kind::Choice(names) = &victim.kind {
        answer("a choice never offered", AnswerFault::Choice, &|a| {
            a["choice"] = json!("\u{0}never offered")
        });
        answer("no choice", AnswerFault::Shape, &|a| remove(a, "choice"));
        // All mass on one option and the choice on another.
        let other = (at + 1) % names.len();
        answer("not the most probable", AnswerFault::Choice, &|a| {
            scale(&mut a["probabilities"], &|_| 0.0);
            a["probabilities"][&names[at]] = json!(1);
            a["choice"] = json!(names[other]);
        });
    }
    whole("answer missing", AnswerFault::Missing, &|r| {
        remove(&mut r["answers"], id)
    });
    out
}

fn remove(value: &mut Value, key: &str) {
    value.as_object_mut().unwrap().remove(key).unwrap();
}

fn scale(probabilities: &mut Value, change: &dyn Fn(f64) -> f64) {
    for value in probabilities.as_object_mut().unwrap().values_mut() {
        *value = json!(change(value.as_f64().unwrap()));
    }
}

#[test]
fn a_key_that_stands_twice_voids_the_reply() {
    let truths = [Truth {
        id: "q".to_owned(),
        kind: Kind::Choice(vec!["a".to_owned(), "b".to_owned()]),
        weights: vec![0.9, 0.1],
    }];
    let good = reply(&truths, Some(2)).to_string();
    for (part, twice) in [
        ("\"a\":0.9", "\"a\":0.9,\"a\":0.9"),
        ("\"choice\":\"a\"", "\"choice\":\"a\",\"choice\":\"b\""),
        ("\"model\":", "\"model\":\"x\",\"model\":"),
    ] {
        assert!(good.contains(part), "{good}");
        let bad = good.replace(part, twice);
        let found = validate(&asked(&truths), bad.as_bytes(), &rules());
        let expected = JudgeError::Protocol {
            question: None,
            fault: AnswerFault::DuplicateKey,
        };
        assert_eq!(found, Err(expected), "{bad}");
    }
}

#[test]
fn what_nothing_needs_is_counted_and_let_pass() {
    let truths = [
        Truth {
            id: "c".to_owned(),
            kind: Kind::Choice(vec!["a".to_owned(), "b".to_owned()]),
            weights: vec![0.9, 0.1],
        },
        Truth {
            id: "s".to_owned(),
            kind: Kind::Score,
            weights: vec![0.6, 0.4],
        },
    ];
    let good = reply(&truths, Some(2));
    let tolerated: [(&str, u32, u32, Change<'_>); 9] = [
        ("no confidence", 0, 1, &|r| {
            remove(&mut r["answers"]["c"], "confidence")
        }),
        ("null confidence", 0, 1, &|r| {
            r["answers"]["c"]["confidence"] = json!(null)
        }),
        ("confidence of 1.5", 0, 1, &|r| {
            r["answers"]["s"]["confidence"] = json!(1.5)
        }),
        ("no legend", 0, 1, &|r| {
            remove(&mut r["answers"]["s"], "legend")
        }),
        ("a legend from 1", 0, 1, &|r| {
            r["answers"]["s"]["legend"] = json!({"1": "level", "2": "level"})
        }),
        ("the likeliest level as score", 0, 1, &|r| {
            r["answers"]["s"]["score"] = json!(0)
        }),
        ("an answer nobody asked for", 1, 0, &|r| {
            r["answers"]["extra"] = json!({"type": "box", "box": 1})
        }),
        ("a field of their own", 1, 0, &|r| {
            r["latency_ms"] = json!(3)
        }),
        ("a field in an answer", 1, 0, &|r| {
            r["answers"]["c"]["x_why"] = json!("because")
        }),
    ];
    for (name, ignored, odd, change) in tolerated {
        let mut reply = good.clone();
        change(&mut reply);
        let decision = check(&truths, &reply).unwrap();
        assert_eq!(
            (decision.ignored_fields, decision.odd_fields),
            (ignored, odd),
            "{name}"
        );
    }
    let mut beyond = good;
    beyond["answers"]["s"]["score"] = json!(1.5);
    let expected = JudgeError::Protocol {
        question: Some("s".to_owned()),
        fault: AnswerFault::Score,
    };
    assert_eq!(check(&truths, &beyond), Err(expected));
}

#[test]
fn rounding_is_noticed() {
    let truths = [Truth {
        id: "c".to_owned(),
        kind: Kind::Choice(vec!["a".to_owned(), "b".to_owned()]),
        weights: vec![0.75, 0.25],
    }];
    for (a, b, expected) in [
        (1.0, 0.0, Some(2)),
        (0.75, 0.25, Some(2)),
        (0.7512, 0.2488, Some(4)),
        (2.0 / 3.0, 1.0 / 3.0, None),
    ] {
        let mut reply = reply(&truths, None);
        reply["answers"]["c"]["choice"] = json!("a");
        reply["answers"]["c"]["probabilities"] = json!({"a": a, "b": b});
        let decision = check(&truths, &reply).unwrap();
        let Some(Answer::Choice(answer)) = decision.answers.first() else {
            panic!("a choice");
        };
        assert_eq!(answer.flags.rounded_to, expected, "{a} {b}");
    }
}

#[test]
fn a_choice_may_trail_by_one_unit_of_rounding() {
    let truths = [Truth {
        id: "c".to_owned(),
        kind: Kind::Choice(vec!["a".to_owned(), "b".to_owned()]),
        weights: vec![0.5, 0.5],
    }];
    for (a, b, accepted) in [(0.5, 0.5, true), (0.5, 0.51, true), (0.49, 0.51, false)] {
        let mut reply = reply(&truths, None);
        reply["answers"]["c"]["choice"] = json!("a");
        reply["answers"]["c"]["probabilities"] = json!({"a": a, "b": b});
        assert_eq!(check(&truths, &reply).is_ok(), accepted, "{a} {b}");
    }
}

#[test]
fn usage_may_be_missing_where_the_server_counts_nothing() {
    let truths = [Truth {
        id: "n".to_owned(),
        kind: Kind::Noul,
        weights: vec![0.9, 0.1],
    }];
    let mut given = reply(&truths, None);
    remove(&mut given, "usage");
    let lenient = Rules {
        usage: UsageRule::Optional,
        ..rules()
    };
    let body = given.to_string();
    assert!(validate(&asked(&truths), body.as_bytes(), &lenient).is_ok());
    given["usage"] = json!({"input_tokens": 1.5, "output_tokens": 1});
    let body = given.to_string();
    assert!(validate(&asked(&truths), body.as_bytes(), &lenient).is_err());
}

#[test]
fn no_option_gains_by_the_rounding_of_the_others() {
    let names: Vec<String> = (0..135).map(|number| format!("c{number}")).collect();
    for (first, others, expected) in [
        // What 134 options lost is theirs, not that of the one that was reported.
        (0.34, 0.0, 0.344_9),
        (0.62, 0.0, 0.622_8),
        (1.0, 0.0, 1.0),
        // 134 that were rounded up to a hundredth took too much, and each gives back its part.
        (0.3, 0.01, 0.295_3),
    ] {
        let truths = [Truth {
            id: "c".to_owned(),
            kind: Kind::Choice(names.clone()),
            weights: vec![1.0; names.len()],
        }];
        let mut given = reply(&truths, None);
        scale(&mut given["answers"]["c"]["probabilities"], &|_| others);
        given["answers"]["c"]["probabilities"]["c0"] = json!(first);
        given["answers"]["c"]["choice"] = json!("c0");
        let decision = check(&truths, &given).unwrap();
        let Answer::Choice(answer) = &decision.answers[0] else {
            panic!("a choice");
        };
        let found = answer.probabilities[0];
        assert!((found - expected).abs() < 1e-4, "{first} {others}: {found}");
        let sum: f64 = answer.probabilities.iter().sum();
        assert!((sum - 1.0).abs() < 1e-9, "{sum}");
    }
}
