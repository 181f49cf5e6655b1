//! Reports of a suite: JSON for programs, a table for a terminal.

use std::fmt::Write as _;

use jev_core::contract::Reach;
use serde::{Deserialize, Serialize};

use crate::score::{Outcome, Score, Trial};

/// One judge over one suite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SuiteReport {
    /// The judge.
    pub judge: String,
    /// Viewport or whole document.
    pub reach: Reach,
    /// What all runs come to.
    pub score: Score,
    /// Every run.
    pub trials: Vec<Trial>,
}

impl SuiteReport {
    /// Scores the runs.
    #[must_use]
    pub fn new(judge: String, reach: Reach, trials: Vec<Trial>) -> Self {
        Self {
            judge,
            reach,
            score: Score::of(&trials),
            trials,
        }
    }

    /// The whole report as JSON.
    ///
    /// # Errors
    /// Never in practice; the error is serde's.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }

    /// The table and the sums, for a terminal.
    #[must_use]
    pub fn table(&self) -> String {
        let rows: Vec<String> = self.trials.iter().map(row).collect();
        format!("{}\n{}\n\n{}", header(), rows.join("\n"), self.sums())
    }

    /// The sums and what went wrong, for a terminal that has shown every [`row`] already.
    #[must_use]
    pub fn sums(&self) -> String {
        let mut out = String::new();
        // Writing to a string can't fail.
        let _ = self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        let score = &self.score;
        writeln!(out, "judge: {}   reach: {}", self.judge, reach(self.reach))?;
        writeln!(
            out,
            "VERIFIED {}/{} answerable   false {}/{} unanswerable   on another page {}   covered {}/{}",
            score.successes,
            score.answerable,
            score.false_successes,
            score.runs - score.answerable,
            score.elsewhere,
            score.covered,
            score.runs
        )?;
        let statuses: Vec<String> = score
            .statuses
            .iter()
            .map(|(status, count)| format!("{status} {count}"))
            .collect();
        writeln!(out, "ends: {}", statuses.join(", "))?;
        let distances: Vec<String> = score
            .by_hops
            .iter()
            .map(|(hops, at)| format!("{hops}: {}/{}", at.successes, at.answerable))
            .collect();
        writeln!(
            out,
            "VERIFIED by clicks to the answer: {}",
            distances.join(", ")
        )?;
        writeln!(
            out,
            "steps {}   actions {}   judge calls {}   asked {} characters, {} tokens   loaded {} requests, {:.1} MB",
            score.steps,
            score.actions,
            score.judge_calls,
            score.asked_chars,
            score.input_tokens,
            score.traffic.requests,
            score.traffic.bytes as f64 / 1e6
        )?;
        writeln!(
            out,
            "time a run: P50 {:.0} ms, P95 {:.0} ms   browser {:.1} s, judge {:.1} s in all",
            score.wall_p50_ms,
            score.wall_p95_ms,
            score.browser_ms / 1e3,
            score.judge_ms / 1e3
        )?;
        self.failures(out)
    }

    /// What went wrong and where each run left the way.
    fn failures(&self, out: &mut String) -> std::fmt::Result {
        for trial in &self.trials {
            let what = match trial.outcome {
                Outcome::Missed => "missed",
                Outcome::FalseSuccess => "FALSE SUCCESS",
                // It ended rightly, but not by anybody's choice.
                Outcome::Declined if trial.cause.is_some() => "broken",
                Outcome::Success | Outcome::Declined => continue,
            };
            write!(out, "{what}: {} {}", trial.id, trial.status)?;
            if let Some(detour) = &trial.detour {
                write!(
                    out,
                    ", left the way at click {} to {}",
                    detour.click, detour.to
                )?;
            }
            if let Some(cause) = &trial.cause {
                write!(out, " ({cause})")?;
            }
            writeln!(out)?;
        }
        Ok(())
    }
}

fn reach(reach: Reach) -> &'static str {
    match reach {
        Reach::Viewport => "viewport",
        Reach::Document => "document",
    }
}

/// The header of [`row`]s.
#[must_use]
pub fn header() -> String {
    format!(
        "{:<22} {:<18} {:<13} {:>5} {:>5} {:>8} {:>8}  {}",
        "task", "status", "outcome", "steps", "calls", "judge", "total", "evidence or last page"
    )
}

/// One run on one line.
#[must_use]
pub fn row(trial: &Trial) -> String {
    let outcome = match trial.outcome {
        Outcome::Success => "success",
        Outcome::FalseSuccess => "FALSE SUCCESS",
        Outcome::Missed => "missed",
        Outcome::Declined => "declined",
    };
    let last = match (&trial.quote, trial.pages.last()) {
        (Some(quote), _) => format!("\u{201c}{}\u{201d}", cut(quote, 60)),
        (None, Some(page)) => cut(page, 60),
        (None, None) => String::new(),
    };
    format!(
        "{:<22} {:<18} {:<13} {:>5} {:>5} {:>5.0} ms {:>5.0} ms  {}",
        trial.id,
        trial.status,
        outcome,
        trial.steps,
        trial.judge_calls,
        trial.times.judge,
        trial.times.total,
        last
    )
}

fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(most - 1).collect();
    short.push('\u{2026}');
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::{Detour, Times, Traffic};
    use crate::task::Kind;

    fn trial(id: &str, kind: Kind, outcome: Outcome, status: &str) -> Trial {
        Trial {
            id: id.to_owned(),
            site: "s".to_owned(),
            kind,
            hops: u32::from(kind == Kind::Answerable),
            outcome,
            status: status.to_owned(),
            cause: None,
            quote: (outcome == Outcome::Success).then(|| "the answer".to_owned()),
            pages: vec!["i.html".to_owned(), "x.html".to_owned()],
            detour: (outcome == Outcome::Missed).then(|| Detour {
                click: 1,
                to: "x.html".to_owned(),
            }),
            elsewhere: false,
            steps: 2,
            actions: 1,
            judge_calls: 2,
            input_tokens: 10,
            asked_chars: 100,
            traffic: Traffic {
                requests: 4,
                bytes: 4_000,
            },
            times: Times {
                total: 250.0,
                browser: 200.0,
                judge: 40.0,
                verify: 1.0,
            },
        }
    }

    #[test]
    fn abstentions_stay_in_the_denominator_and_failures_are_listed() {
        let report = SuiteReport::new(
            "lexical".to_owned(),
            Reach::Document,
            vec![
                trial("a-1", Kind::Answerable, Outcome::Success, "VERIFIED"),
                trial("a-2", Kind::Answerable, Outcome::Missed, "ABSTAIN"),
                trial("a-3", Kind::Unanswerable, Outcome::Declined, "UNVERIFIED"),
            ],
        );
        let table = report.table();
        for line in [
            "judge: lexical   reach: document",
            "VERIFIED 1/2 answerable   false 0/1 unanswerable   on another page 0   covered 2/3",
            "ends: ABSTAIN 1, UNVERIFIED 1, VERIFIED 1",
            "VERIFIED by clicks to the answer: 1: 1/2",
            "missed: a-2 ABSTAIN, left the way at click 1 to x.html",
        ] {
            assert!(table.contains(line), "{line}\n{table}");
        }
        let back: SuiteReport = serde_json::from_str(&report.json().unwrap()).unwrap();
        assert_eq!(back, report);
    }
}
