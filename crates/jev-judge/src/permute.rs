//! Order averaging: a decorator that asks a judge the same choice in several option orders and
//! reports how far the answers disagree.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::task::JoinSet;

use jev_core::error::{AnswerFault, JudgeError};
use jev_core::ports::{Judge, JudgeIdentity};
use jev_core::question::{
    Answer, ChoiceAnswer, ChoiceOption, Decision, QuestionKind, Questionnaire,
};

/// Most orders that make sense to pay for.
pub const ORDERS_MAX: usize = 8;

/// Asks in several option orders at once and averages.
#[derive(Clone)]
pub struct PermutedJudge {
    inner: Arc<dyn Judge>,
    orders: usize,
}

impl PermutedJudge {
    /// A judge that asks `inner` in so many orders: as given, reversed, then rotations between.
    ///
    /// # Errors
    /// [`JudgeError::Config`] outside 2..=[`ORDERS_MAX`].
    pub fn new(inner: Arc<dyn Judge>, orders: usize) -> Result<Self, JudgeError> {
        Self::check(orders)?;
        Ok(Self { inner, orders })
    }

    /// Checks a number of orders before there is a judge.
    pub(crate) fn check(orders: usize) -> Result<(), JudgeError> {
        if (2..=ORDERS_MAX).contains(&orders) {
            Ok(())
        } else {
            Err(JudgeError::Config {
                what: format!("permute: {orders} orders; 2 to {ORDERS_MAX} make sense"),
            })
        }
    }
}

impl std::fmt::Debug for PermutedJudge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PermutedJudge")
            .field("inner", &self.inner.identity())
            .field("orders", &self.orders)
            .finish()
    }
}

/// The places of `count` options in order number `order`: place `i` of the asked question holds
/// the original option `permutation[i]`.
fn permutation(order: usize, orders: usize, count: usize) -> Vec<usize> {
    let mut places: Vec<usize> = (0..count).collect();
    if order % 2 == 1 {
        places.reverse();
    }
    // Later pairs start elsewhere, so that each option meets beginning, middle and end.
    let turns = (order / 2) * count / orders.div_ceil(2);
    if count > 0 {
        places.rotate_left(turns % count);
    }
    places
}

/// Half of the summed differences of two distributions: 0 when equal, 1 when they share nothing.
pub(crate) fn disagreement(left: &[f64], right: &[f64]) -> f64 {
    let sum: f64 = left.iter().zip(right).map(|(a, b)| (a - b).abs()).sum();
    (sum / 2.0).clamp(0.0, 1.0)
}

/// The larger of two figures that need not be there.
pub(crate) fn larger(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(f64::max(a, b)),
        (a, b) => a.or(b),
    }
}

fn reordered(questionnaire: &Questionnaire, order: usize, orders: usize) -> Questionnaire {
    let mut asked = questionnaire.clone();
    for question in &mut asked.questions {
        if let QuestionKind::Choice { options, .. } = &mut question.kind {
            let given = std::mem::take(options);
            *options = permutation(order, orders, given.len())
                .into_iter()
                .filter_map(|place| given.get(place).cloned())
                .collect::<Vec<ChoiceOption>>();
        }
    }
    asked
}

/// Puts an answer's probabilities back into the options' own order.
fn restored(answer: &ChoiceAnswer, order: usize, orders: usize) -> Vec<f64> {
    let count = answer.probabilities.len();
    let mut out = vec![0.0; count];
    for (place, p) in permutation(order, orders, count)
        .into_iter()
        .zip(&answer.probabilities)
    {
        if let Some(slot) = out.get_mut(place) {
            *slot = *p;
        }
    }
    out
}

#[async_trait]
impl Judge for PermutedJudge {
    fn identity(&self) -> JudgeIdentity {
        self.inner.identity()
    }

    async fn decide(
        &self,
        questionnaire: &Questionnaire,
        deadline: Duration,
    ) -> Result<Decision, JudgeError> {
        // Dropping the set aborts what still runs, so a dropped call leaves nothing behind.
        let mut running = JoinSet::new();
        for order in 0..self.orders {
            let inner = Arc::clone(&self.inner);
            let asked = reordered(questionnaire, order, self.orders);
            running.spawn(async move { (order, inner.decide(&asked, deadline).await) });
        }
        let mut decisions: Vec<Option<Decision>> = vec![None; self.orders];
        while let Some(done) = running.join_next().await {
            let (order, decision) = done.map_err(|_| JudgeError::Capability {
                what: "one of the orders broke off".to_owned(),
            })?;
            if let Some(slot) = decisions.get_mut(order) {
                *slot = Some(decision?);
            }
        }
        let decisions: Vec<Decision> = decisions.into_iter().flatten().collect();
        merge(questionnaire, &decisions)
    }
}

fn merge(questionnaire: &Questionnaire, decisions: &[Decision]) -> Result<Decision, JudgeError> {
    let first = decisions.first().ok_or(JudgeError::Timeout)?;
    let mut answers = Vec::with_capacity(questionnaire.questions.len());
    for (number, question) in questionnaire.questions.iter().enumerate() {
        let given: Option<Vec<&Answer>> = decisions
            .iter()
            .map(|decision| decision.answers.get(number))
            .collect();
        let merged = given.as_deref().and_then(merge_answers);
        answers.push(merged.ok_or_else(|| JudgeError::Protocol {
            question: Some(question.id.clone()),
            fault: AnswerFault::Type,
        })?);
    }
    let mut merged = Decision {
        answers,
        ..first.clone()
    };
    for other in decisions.iter().skip(1) {
        merged.usage.add(other.usage);
        merged.attempts = merged.attempts.saturating_add(other.attempts);
        merged.ignored_fields = merged.ignored_fields.saturating_add(other.ignored_fields);
        merged.odd_fields = merged.odd_fields.saturating_add(other.odd_fields);
    }
    Ok(merged)
}

/// The mean of one question's answers; `None` when they are of different types or lengths.
fn merge_answers(given: &[&Answer]) -> Option<Answer> {
    let count = given.len() as f64;
    match given.first()? {
        Answer::Choice(first) => {
            let mut merged = first.clone();
            let mut lists = Vec::with_capacity(given.len());
            // A judge that averages orders itself may disagree with itself inside each of ours.
            let mut inner = 0.0;
            for (order, answer) in given.iter().enumerate() {
                let Answer::Choice(answer) = answer else {
                    return None;
                };
                let flags = &mut merged.flags;
                flags.ignored_fields = flags.ignored_fields.max(answer.flags.ignored_fields);
                flags.bounded_options = flags.bounded_options.max(answer.flags.bounded_options);
                flags.missing_mass = larger(flags.missing_mass, answer.flags.missing_mass);
                inner = f64::max(inner, answer.flags.order_disagreement.unwrap_or(0.0));
                lists.push(restored(answer, order, given.len()));
            }
            merged.probabilities = mean(&lists)?;
            // A confidence belongs to one order's distribution, not to the mean.
            merged.confidence = None;
            let pairs = lists
                .iter()
                .enumerate()
                .flat_map(|(at, left)| lists.iter().skip(at + 1).map(move |right| (left, right)));
            let apart = pairs.map(|(left, right)| disagreement(left, right));
            merged.flags.order_disagreement = Some(apart.fold(inner, f64::max));
            Some(Answer::Choice(merged))
        }
        Answer::Noul { .. } => {
            let mut sum = 0.0;
            for answer in given {
                let Answer::Noul { noul } = answer else {
                    return None;
                };
                sum += noul;
            }
            Some(Answer::Noul { noul: sum / count })
        }
        Answer::Score { .. } => {
            let lists: Option<Vec<Vec<f64>>> = given
                .iter()
                .map(|answer| match answer {
                    Answer::Score { probabilities } => Some(probabilities.clone()),
                    Answer::Choice(_) | Answer::Noul { .. } => None,
                })
                .collect();
            Some(Answer::Score {
                probabilities: mean(&lists?)?,
            })
        }
    }
}

fn mean(lists: &[Vec<f64>]) -> Option<Vec<f64>> {
    let length = lists.first()?.len();
    let mut sums = vec![0.0; length];
    for list in lists {
        if list.len() != length {
            return None;
        }
        for (sum, value) in sums.iter_mut().zip(list) {
            *sum += value;
        }
    }
    let count = lists.len() as f64;
    Some(sums.into_iter().map(|sum| sum / count).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexical::LexicalJudge;
    use crate::testing::{candidate, decide, flat, two_head};
    use jev_core::ports::JudgeKind;
    use jev_core::question::Usage;

    /// Prefers whatever stands first: pure position bias.
    struct Positional;

    #[async_trait]
    impl Judge for Positional {
        fn identity(&self) -> JudgeIdentity {
            JudgeIdentity {
                name: "positional".to_owned(),
                model: None,
                kind: JudgeKind::Decides,
            }
        }

        async fn decide(
            &self,
            questionnaire: &Questionnaire,
            _: Duration,
        ) -> Result<Decision, JudgeError> {
            let answers = questionnaire
                .questions
                .iter()
                .map(|question| {
                    let QuestionKind::Choice { options, .. } = &question.kind else {
                        panic!("choices only");
                    };
                    let mut p = vec![0.0; options.len()];
                    p[0] = 1.0;
                    Answer::Choice(ChoiceAnswer::plain(p))
                })
                .collect();
            Ok(Decision {
                answers,
                attempts: 1,
                usage: Usage {
                    input_tokens: 10,
                    output_tokens: 1,
                },
                ..Decision::default()
            })
        }
    }

    fn page() -> [ChoiceOption; 3] {
        [
            candidate("c1", "Home", "http://h/1"),
            candidate("c2", "Warranty policy", "http://h/2"),
            candidate("c3", "Contact", "http://h/3"),
        ]
    }

    #[test]
    fn every_order_is_a_permutation_and_the_second_is_the_reverse() {
        for (orders, count) in [(2, 5), (4, 8), (8, 255), (3, 2), (8, 1)] {
            for order in 0..orders {
                let mut places = permutation(order, orders, count);
                if order == 1 {
                    assert!(places.iter().rev().copied().eq(0..count));
                }
                places.sort_unstable();
                assert!(places.into_iter().eq(0..count));
            }
        }
    }

    #[test]
    fn a_judge_that_minds_the_order_is_found_out() {
        let judge = PermutedJudge::new(Arc::new(Positional), 2).unwrap();
        let asked = two_head("goal", &page());
        let decision = decide(&judge, &asked).unwrap();
        assert_eq!((decision.attempts, decision.usage.input_tokens), (2, 20));
        for answer in &decision.answers {
            let Answer::Choice(answer) = answer else {
                panic!("a choice");
            };
            assert_eq!(answer.flags.order_disagreement, Some(1.0));
            assert_eq!(
                answer.top().map(|(_, p, second)| (p, second)),
                Some((0.5, 0.5))
            );
        }
    }

    #[test]
    fn a_judge_that_does_not_is_left_as_it_is() {
        let judge = PermutedJudge::new(Arc::new(LexicalJudge::new()), 4).unwrap();
        let asked = flat("How long is the warranty?", &page());
        let (plain, averaged) = (decide(&LexicalJudge, &asked), decide(&judge, &asked));
        let (Answer::Choice(plain), Answer::Choice(averaged)) =
            (&plain.unwrap().answers[0], &averaged.unwrap().answers[0])
        else {
            panic!("choices");
        };
        assert!(disagreement(&plain.probabilities, &averaged.probabilities) < 1e-9);
        assert!(averaged.flags.order_disagreement.is_some_and(|d| d < 1e-9));
    }

    #[test]
    fn orders_have_bounds() {
        for orders in [0, 1, 9] {
            assert!(PermutedJudge::new(Arc::new(LexicalJudge), orders).is_err());
        }
    }
}
