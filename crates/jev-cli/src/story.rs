//! The story of a run for a person: a line for each step while it happens, and how it ended.

use std::io::Write;

use jev_agent::Observer;
use jev_core::action::{Action, ScrollDirection};
use jev_core::contract::Contract;
use jev_core::gate::GateKind;
use jev_core::ports::JudgeIdentity;
use jev_core::proposal::{GateResult, Proposal};
use jev_core::receipt::{AppliedEffect, Receipt};
use jev_core::record::{Event, Record};
use jev_core::report::Report;
use jev_core::telemetry::Price;
use jev_core::verification::Verdict;

use crate::output::ms;

/// Most characters of page text on one line.
const SHOWN: usize = 72;

/// Writes the story. A terminal that is gone does not disturb the run.
pub(crate) struct Story<W> {
    out: W,
    step: u32,
}

impl<W: Write + Send> Story<W> {
    /// The lines of runs alone.
    pub(crate) fn bare(out: W) -> Self {
        Self { out, step: 0 }
    }

    /// A story that begins with what was asked.
    pub(crate) fn begin(
        mut out: W,
        contract: &Contract,
        judge: &JudgeIdentity,
        notices: &[String],
    ) -> Self {
        let gate = match contract.gate.kind() {
            GateKind::Probability => "probability",
            GateKind::Share => "top-two share",
        };
        let allowed: Vec<String> = contract
            .access
            .patterns()
            .iter()
            .map(ToString::to_string)
            .collect();
        let lines = [
            format!("goal     {}", clean(contract.goal.as_str(), 400)),
            format!("allowed  {}", allowed.join(" ")),
            format!(
                "judge    {}{} (acts at {gate} >= {:.2})",
                judge.name,
                judge
                    .model
                    .as_ref()
                    .map(|model| format!(", model {model}"))
                    .unwrap_or_default(),
                contract.gate.threshold(),
            ),
        ];
        for line in lines.iter().chain(
            notices
                .iter()
                .map(|notice| format!("note     {notice}"))
                .collect::<Vec<_>>()
                .iter(),
        ) {
            let _ = writeln!(out, "{line}");
        }
        let _ = writeln!(out);
        Self { out, step: 0 }
    }

    fn line(&mut self, record: &Record, kind: &str, text: &str) {
        let at = record.at.elapsed().as_secs_f64();
        let _ = writeln!(self.out, "{at:7.2}s  {kind:<7}  {text}");
        let _ = self.out.flush();
    }

    /// Ends the story.
    pub(crate) fn end(mut self, report: &Report, price: Option<Price>) {
        let _ = writeln!(
            self.out,
            "\n{}  {}",
            report.status.name(),
            report.status.sentence()
        );
        if let Some(cause) = &report.cause {
            let _ = writeln!(self.out, "cause    {cause}");
        }
        if let Some(page) = &report.page {
            let _ = writeln!(
                self.out,
                "page     {} \u{2014} {}",
                clean(&page.title, SHOWN),
                page.url
            );
        }
        for piece in report.evidence() {
            let _ = writeln!(
                self.out,
                "evidence \u{201c}{}\u{201d}",
                clean(&piece.quote, 300)
            );
            if piece.context != piece.quote {
                let _ = writeln!(self.out, "         in: {}", clean(&piece.context, 300));
            }
        }
        let timings = &report.timings;
        let _ = writeln!(
            self.out,
            "spent    {} steps, {} actions, {} judge calls, {} ms (open {}, observe {}, judge {}, act {}, verify {}, close {})",
            report.spent.steps,
            report.actions(),
            report.spent.judge_calls,
            ms(report.elapsed),
            ms(timings.open),
            ms(timings.observe),
            ms(timings.judge),
            ms(timings.act),
            ms(timings.verify),
            ms(timings.close),
        );
        if let Some(price) = price {
            let usage = report.spent.usage;
            let _ = writeln!(
                self.out,
                "cost     {:.6} ({} tokens in, {} out)",
                price.of(usage),
                usage.input_tokens,
                usage.output_tokens,
            );
        }
        if let Some(close) = &report.close {
            let network = close.network;
            let refused = network.refused_documents
                + network.refused_resources
                + network.refused_methods
                + network.refused_kinds
                + network.refused_windows
                + network.refused_downloads;
            let _ = writeln!(
                self.out,
                "network  {} requests answered ({} kB), {refused} refused",
                network.allowed,
                network.bytes / 1024,
            );
        }
    }
}

impl<W: Write + Send> Observer for Story<W> {
    fn record(&mut self, record: &Record) {
        match &record.event {
            Event::Opened => self.line(record, "open", "browser ready"),
            Event::Observed(page) => {
                let text = format!(
                    "{} \u{2014} {} ({} links, {} characters)",
                    clean(&page.title, SHOWN),
                    page.url,
                    page.candidates.len(),
                    page.text.chars().count(),
                );
                self.line(record, "page", &text);
            }
            Event::Verified(verification) => match &verification.verdict {
                Verdict::Passed(evidence) => {
                    let quotes: Vec<String> = evidence
                        .iter()
                        .map(|piece| format!("\u{201c}{}\u{201d}", clean(&piece.quote, SHOWN)))
                        .collect();
                    self.line(
                        record,
                        "verify",
                        &format!("evidence: {}", quotes.join(", ")),
                    );
                }
                Verdict::Refused(_) => self.line(record, "verify", "no evidence here"),
            },
            Event::VerifyFailed(error) => self.line(record, "verify", &error.to_string()),
            Event::Asked(_) => {}
            Event::Narrowed { from, to } => {
                self.line(
                    record,
                    "judge",
                    &format!("narrowed {from} candidates to {to}"),
                );
            }
            Event::Proposed(proposal) => {
                self.step += 1;
                let text = propose(self.step, proposal);
                self.line(record, "judge", &text);
            }
            Event::JudgeFailed(error) => self.line(record, "judge", &error.to_string()),
            Event::Intent(_, action) => self.line(record, "act", &act(action)),
            Event::Received(_, receipt) => self.line(record, "receipt", &received(receipt)),
            Event::Waited(_) => self.line(record, "wait", "waited for the page"),
            Event::Recovered(_) => self.line(record, "recover", "trying around it"),
            Event::SessionFailed(error) => self.line(record, "browser", &error.to_string()),
            Event::Ignored(..) | Event::Ending(..) | Event::Closed(_) => {}
        }
    }
}

fn propose(step: u32, proposal: &Proposal) -> String {
    let target = proposal
        .candidate()
        .map(|candidate| format!(" \u{201c}{}\u{201d}", clean(&candidate.label, SHOWN)))
        .unwrap_or_default();
    let verdict = match proposal.gate {
        GateResult::Passed => "",
        GateResult::Failed => ", below the gate",
    };
    let apart = proposal
        .order_disagreement()
        .map(|apart| format!(", orders {apart:.2} apart"))
        .unwrap_or_default();
    format!(
        "step {step}: {}{target} (p {:.2}, gate statistic {:.2}{verdict}{apart})",
        proposal.operation.option_name(),
        proposal.p,
        proposal.statistic,
    )
}

fn act(action: &Action) -> String {
    match action {
        Action::Click { target } => {
            let to = target
                .href
                .as_ref()
                .map(|href| format!(" \u{2192} {href}"))
                .unwrap_or_default();
            format!("click \u{201c}{}\u{201d}{to}", clean(&target.label, SHOWN))
        }
        Action::Scroll {
            direction: ScrollDirection::Down,
            ..
        } => "scroll down".to_owned(),
        Action::Scroll {
            direction: ScrollDirection::Up,
            ..
        } => "scroll up".to_owned(),
        Action::Back => "go back".to_owned(),
        Action::Reload => "reload".to_owned(),
        Action::Press { key } => format!("press {key:?}"),
    }
}

fn received(receipt: &Receipt) -> String {
    let name = receipt.name();
    match receipt {
        Receipt::Applied(effect) => {
            let what = match effect {
                AppliedEffect::Navigated => "new page",
                AppliedEffect::SameDocument => "same page, new address",
                AppliedEffect::Scrolled => "scrolled",
                AppliedEffect::Changed => "page changed",
                AppliedEffect::NoEffect => "nothing happened",
                AppliedEffect::DestinationRefused => "its destination is not allowed",
                AppliedEffect::DestinationFailed => "its destination did not answer",
            };
            format!("{name}: {what}")
        }
        Receipt::Stale(cause) => format!("{name}: {}, not dispatched", cause.word()),
        Receipt::Rejected(cause) => format!("{name}: {}, not dispatched", cause.word()),
        Receipt::Unknown(cause) => format!("{name}: {}", cause.word()),
    }
}

/// Page text on one line, cut, without control characters: a page must not steer a terminal.
pub(crate) fn clean(text: &str, most: usize) -> String {
    let mut out = String::new();
    for (count, c) in text.chars().enumerate() {
        if count == most {
            out.push('\u{2026}');
            break;
        }
        let hidden = c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        out.push(if hidden { ' ' } else { c });
    }
    out.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::clean;

    #[test]
    fn a_page_can_not_steer_the_terminal() {
        assert_eq!(clean("a\u{1b}[2Jb\u{202e}c\nd", 20), "a [2Jb c d");
        assert_eq!(clean("abcdef", 3), "abc\u{2026}");
    }
}
