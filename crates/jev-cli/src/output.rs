//! What `jev read --json` prints: one object, its fields stable.

use std::time::Duration;

use jev_core::ids::PageVersion;
use jev_core::ports::JudgeIdentity;
use jev_core::report::Report;
use jev_core::status::{Cause, Handoff, Status};
use jev_core::telemetry::Price;
use serde::Serialize;

/// How a command prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Lines for people.
    Lines,
    /// JSON for programs.
    Json,
}

impl From<bool> for Form {
    /// The form that a `--json` asks for.
    fn from(json: bool) -> Self {
        if json { Self::Json } else { Self::Lines }
    }
}

/// The object.
#[derive(Debug, Serialize)]
pub(crate) struct Output<'a> {
    status: Status,
    handoff: Handoff,
    cause: Option<String>,
    url: &'a str,
    title: &'a str,
    version: Option<&'a PageVersion>,
    #[serde(rename = "visibleText")]
    visible_text: &'a str,
    evidence: Vec<Quote<'a>>,
    steps: u32,
    actions: usize,
    judge: Judge<'a>,
    elapsed_ms: u64,
    timings: TimingsMs,
    notices: &'a [String],
}

#[derive(Debug, Serialize)]
struct Quote<'a> {
    quote: &'a str,
    context: &'a str,
}

#[derive(Debug, Serialize)]
struct Judge<'a> {
    name: &'a str,
    model: Option<&'a str>,
    /// The model that the last reply named, where the server names one: an alias answers with a
    /// version, and thresholds belong to versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    answered_by: Option<&'a str>,
    calls: u32,
    input_tokens: u64,
    output_tokens: u64,
    /// What those tokens cost; null without a price.
    cost: Option<f64>,
}

#[derive(Debug, Serialize)]
struct TimingsMs {
    open: u64,
    observe: u64,
    judge: u64,
    act: u64,
    verify: u64,
    close: u64,
}

impl<'a> Output<'a> {
    /// The object of a report.
    pub(crate) fn new(
        report: &'a Report,
        judge: &'a JudgeIdentity,
        price: Option<Price>,
        notices: &'a [String],
    ) -> Self {
        let page = report.page.as_deref();
        Self {
            status: report.status,
            handoff: report.handoff,
            cause: report.cause.as_ref().map(Cause::to_string),
            url: page.map_or("", |page| &page.url),
            title: page.map_or("", |page| &page.title),
            version: page.map(|page| page.version()),
            visible_text: page.map_or("", |page| &page.text),
            evidence: report
                .evidence()
                .iter()
                .map(|piece| Quote {
                    quote: &piece.quote,
                    context: &piece.context,
                })
                .collect(),
            steps: report.spent.steps,
            actions: report.actions(),
            judge: Judge {
                name: &judge.name,
                model: judge.model.as_deref(),
                answered_by: report
                    .steps
                    .iter()
                    .rev()
                    .filter_map(|step| step.proposal.as_ref())
                    .find_map(|proposal| proposal.decision.model.as_deref()),
                calls: report.spent.judge_calls,
                input_tokens: report.spent.usage.input_tokens,
                output_tokens: report.spent.usage.output_tokens,
                cost: price.map(|price| price.of(report.spent.usage)),
            },
            elapsed_ms: ms(report.elapsed),
            timings: TimingsMs {
                open: ms(report.timings.open),
                observe: ms(report.timings.observe),
                judge: ms(report.timings.judge),
                act: ms(report.timings.act),
                verify: ms(report.timings.verify),
                close: ms(report.timings.close),
            },
            notices,
        }
    }
}

/// Whole milliseconds.
pub(crate) fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
