//! What a shared session has spent and done, over all its runs.

use std::collections::BTreeMap;
use std::time::Duration;

use jev_core::host::HostReceipt;
use jev_core::question::Usage;
use jev_core::receipt::Receipt;
use jev_core::report::Report;
use serde::Serialize;

/// Sums over the runs and acts of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Metrics {
    /// Runs.
    pub runs: u32,
    /// Judged steps.
    pub decisions: u32,
    /// The judge's actions that reached a page, or may have.
    pub executed: u32,
    /// Requests to the judge that had to be sent again.
    pub retries: u32,
    /// Recoveries.
    pub recoveries: u32,
    /// Decisions that were void because the page had moved on.
    pub stale_discards: u32,
    /// Time spent waiting for the judge.
    pub judge_time: Duration,
    /// Tokens.
    pub usage: Usage,
    /// The host's own acts that reached a page, or may have.
    pub host_acts: u32,
    /// The host's own acts that were refused.
    pub host_refusals: u32,
    /// How often the host was handed the tab, by reason.
    pub handoffs: BTreeMap<String, u32>,
}

impl Metrics {
    pub(super) fn run(&mut self, report: &Report) {
        self.runs += 1;
        self.decisions += report.spent.steps;
        self.recoveries += report.spent.recoveries;
        self.judge_time += report.timings.judge;
        self.usage.add(report.spent.usage);
        for step in &report.steps {
            let attempts = step
                .proposal
                .as_ref()
                .map_or(0, |proposal| proposal.decision.attempts);
            self.retries += attempts.saturating_sub(1);
            match step.receipt {
                Some(Receipt::Stale(_)) => self.stale_discards += 1,
                Some(Receipt::Applied(_) | Receipt::Unknown(_)) => self.executed += 1,
                Some(Receipt::Rejected(_)) | None => {}
            }
        }
        let handoff = serde_json::to_value(report.handoff)
            .ok()
            .and_then(|name| name.as_str().map(str::to_owned))
            .unwrap_or_default();
        *self.handoffs.entry(handoff).or_default() += 1;
    }

    pub(super) fn act(&mut self, receipt: &HostReceipt) {
        match receipt {
            HostReceipt::Applied(_) | HostReceipt::Unknown(_) => self.host_acts += 1,
            HostReceipt::Refused(_) => self.host_refusals += 1,
        }
    }
}
