//! Scoring: what one run was worth, and what all runs of a judge come to.

use std::collections::BTreeMap;
use std::time::Duration;

use jev_core::access::CanonicalUrl;
use jev_core::ledger::Timings;
use jev_core::report::Report;
use serde::{Deserialize, Serialize};

use crate::task::{Kind, Task};

/// What a run was worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// VERIFIED, and the site answers the task.
    Success,
    /// VERIFIED, and the site does not answer it. Must never happen.
    FalseSuccess,
    /// Not VERIFIED, although the site answers it.
    Missed,
    /// Not VERIFIED, and rightly so.
    Declined,
}

/// What the site served during a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Requests.
    pub requests: u64,
    /// Bytes of their bodies.
    pub bytes: u64,
}

/// Where a run left the shortest way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Detour {
    /// The click that left it, from 1 on.
    pub click: usize,
    /// The page it led to, relative to the site.
    pub to: String,
}

/// One task, run once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The task.
    pub id: String,
    /// Its site.
    pub site: String,
    /// Whether the site answers it.
    pub kind: Kind,
    /// Clicks on the shortest way to the answer; 0 when there is no answer.
    pub hops: u32,
    /// What the run was worth.
    pub outcome: Outcome,
    /// How it ended.
    pub status: String,
    /// The typed reason, in words.
    pub cause: Option<String>,
    /// The first piece of evidence.
    pub quote: Option<String>,
    /// The pages that were judged or ended on, relative to the site, without repeats in a row.
    pub pages: Vec<String>,
    /// Where it left the shortest way, when it did.
    pub detour: Option<Detour>,
    /// VERIFIED on another page than the task names: for a person to look at.
    pub elsewhere: bool,
    /// Judged steps.
    pub steps: u32,
    /// Actions dispatched.
    pub actions: usize,
    /// Requests to the judge.
    pub judge_calls: u32,
    /// Tokens read by the judge; 0 for judges that count none.
    pub input_tokens: u64,
    /// Characters of all requests to the judge.
    pub asked_chars: u64,
    /// What the site served.
    pub traffic: Traffic,
    /// Where the time went.
    pub times: Times,
}

/// Where a run's time went, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// From the first input to the end of closing.
    pub total: f64,
    /// Opening, observing, acting and closing.
    pub browser: f64,
    /// Waiting for the judge.
    pub judge: f64,
    /// Verifying.
    pub verify: f64,
}

impl Times {
    fn of(timings: &Timings, elapsed: Duration) -> Self {
        let ms = |time: Duration| time.as_secs_f64() * 1_000.0;
        Self {
            total: ms(elapsed),
            browser: ms(timings.open + timings.observe + timings.act + timings.close),
            judge: ms(timings.judge),
            verify: ms(timings.verify),
        }
    }
}

/// Scores one run.
#[must_use]
pub fn trial(
    task: &Task,
    base: &CanonicalUrl,
    report: &Report,
    asked_chars: u64,
    traffic: Traffic,
) -> Trial {
    let verified = !report.evidence().is_empty();
    let pages = pages(base, report);
    let on_answer = task
        .answer_page
        .as_ref()
        .is_none_or(|answer| pages.last() == Some(answer));
    Trial {
        id: task.id.clone(),
        site: task.site.clone(),
        kind: task.kind,
        hops: task.hops,
        outcome: match (task.kind, verified) {
            (Kind::Answerable, true) => Outcome::Success,
            (Kind::Unanswerable, true) => Outcome::FalseSuccess,
            (Kind::Answerable, false) => Outcome::Missed,
            (Kind::Unanswerable, false) => Outcome::Declined,
        },
        status: report.status.name().to_owned(),
        cause: report.cause.as_ref().map(ToString::to_string),
        quote: report.evidence().first().map(|piece| piece.quote.clone()),
        detour: detour(&task.shortest_path, &pages),
        elsewhere: verified && !on_answer,
        pages,
        steps: report.spent.steps,
        actions: report.actions(),
        judge_calls: report.spent.judge_calls,
        input_tokens: report.spent.usage.input_tokens,
        asked_chars,
        traffic,
        times: Times::of(&report.timings, report.elapsed),
    }
}

fn pages(base: &CanonicalUrl, report: &Report) -> Vec<String> {
    let last = report.page.as_ref().map(|page| page.url.as_str());
    let mut pages: Vec<String> = report
        .steps
        .iter()
        .map(|step| step.url.as_str())
        .chain(last)
        .map(|url| match CanonicalUrl::parse(url) {
            Ok(url) => url
                .as_str()
                .strip_prefix(base.as_str())
                .map_or_else(|| url.to_string(), str::to_owned),
            Err(_) => url.to_owned(),
        })
        .collect();
    pages.dedup();
    pages
}

/// Only the first departure counts; what comes after it follows from it.
fn detour(way: &[String], pages: &[String]) -> Option<Detour> {
    if way.is_empty() {
        return None;
    }
    pages
        .iter()
        .enumerate()
        .find(|(click, page)| way.get(*click) != Some(page))
        .map(|(click, page)| Detour {
            click,
            to: page.clone(),
        })
}

/// Answerable tasks with one length of the shortest way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AtDistance {
    /// Tasks.
    pub answerable: usize,
    /// VERIFIED among them.
    pub successes: usize,
}

/// What all runs of one judge come to. Every rate has all runs in its denominator: abstentions and
/// errors are not left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Runs.
    pub runs: usize,
    /// Runs whose site answers the task.
    pub answerable: usize,
    /// VERIFIED among those.
    pub successes: usize,
    /// VERIFIED among the others. Must be 0.
    pub false_successes: usize,
    /// VERIFIED on another page than the task names.
    pub elsewhere: usize,
    /// Runs that the judge itself brought to an end with a claim (VERIFIED, UNVERIFIED, BLOCKED).
    pub covered: usize,
    /// How far the judge gets: answerable tasks by the clicks of their shortest way.
    pub by_hops: BTreeMap<u32, AtDistance>,
    /// How many runs ended with each status.
    pub statuses: BTreeMap<String, usize>,
    /// Judged steps of all runs.
    pub steps: u64,
    /// Actions of all runs.
    pub actions: u64,
    /// Requests to the judge of all runs.
    pub judge_calls: u64,
    /// Tokens read by the judge in all runs.
    pub input_tokens: u64,
    /// Characters of all requests to the judge.
    pub asked_chars: u64,
    /// What the sites served.
    pub traffic: Traffic,
    /// Browser time of all runs, in milliseconds.
    pub browser_ms: f64,
    /// Judge time of all runs, in milliseconds.
    pub judge_ms: f64,
    /// The middle run's wall time, in milliseconds.
    pub wall_p50_ms: f64,
    /// The wall time that 95 of 100 runs do not exceed, in milliseconds.
    pub wall_p95_ms: f64,
}

impl Score {
    /// Adds up the runs.
    #[must_use]
    pub fn of(trials: &[Trial]) -> Self {
        let count = |keep: &dyn Fn(&Trial) -> bool| trials.iter().filter(|t| keep(t)).count();
        let sum = |part: &dyn Fn(&Trial) -> u64| trials.iter().map(part).sum();
        let mut statuses = BTreeMap::new();
        let mut by_hops: BTreeMap<u32, AtDistance> = BTreeMap::new();
        for trial in trials {
            *statuses.entry(trial.status.clone()).or_insert(0) += 1;
            if trial.kind == Kind::Answerable {
                let there = by_hops.entry(trial.hops).or_default();
                there.answerable += 1;
                there.successes += usize::from(trial.outcome == Outcome::Success);
            }
        }
        let mut wall: Vec<f64> = trials.iter().map(|trial| trial.times.total).collect();
        wall.sort_by(f64::total_cmp);
        Self {
            runs: trials.len(),
            answerable: count(&|t| t.kind == Kind::Answerable),
            successes: count(&|t| t.outcome == Outcome::Success),
            false_successes: count(&|t| t.outcome == Outcome::FalseSuccess),
            elsewhere: count(&|t| t.elsewhere),
            covered: count(&|t| matches!(t.status.as_str(), "VERIFIED" | "UNVERIFIED" | "BLOCKED")),
            by_hops,
            statuses,
            steps: sum(&|t| u64::from(t.steps)),
            actions: sum(&|t| t.actions as u64),
            judge_calls: sum(&|t| u64::from(t.judge_calls)),
            input_tokens: sum(&|t| t.input_tokens),
            asked_chars: sum(&|t| t.asked_chars),
            traffic: Traffic {
                requests: sum(&|t| t.traffic.requests),
                bytes: sum(&|t| t.traffic.bytes),
            },
            browser_ms: trials.iter().map(|t| t.times.browser).sum(),
            judge_ms: trials.iter().map(|t| t.times.judge).sum(),
            wall_p50_ms: percentile(&wall, 50),
            wall_p95_ms: percentile(&wall, 95),
        }
    }
}

/// The nearest-rank percentile of sorted values; 0 without values.
#[must_use]
pub fn percentile(sorted: &[f64], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        for (values, percent, expected) in [
            (&ten[..], 50, 5.0),
            (&ten[..], 95, 10.0),
            (&ten[..1], 95, 1.0),
            (&ten[..], 0, 1.0),
            (&[], 50, 0.0),
        ] {
            assert_eq!(percentile(values, percent), expected, "{percent}");
        }
    }

    #[test]
    fn a_detour_is_the_first_page_off_the_way() {
        let words = |text: &str| {
            text.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let cases = [
            ("a b c", "a b c", None),
            ("a b c", "a", None),
            ("a b c", "a x b", Some((1, "x"))),
            ("a b c", "x", Some((0, "x"))),
            ("a b", "a b c", Some((2, "c"))),
            ("", "a x", None),
        ];
        for (way, pages, expected) in cases {
            let found = detour(&words(way), &words(pages));
            let expected = expected.map(|(click, to): (usize, &str)| Detour {
                click,
                to: to.to_owned(),
            });
            assert_eq!(found, expected, "{way} / {pages}");
        }
    }
}
