//! From the core's records to lines of a trajectory: everything a page or a user wrote goes through
//! the redactor here, and nowhere else.

use jev_core::access::CanonicalUrl;
use jev_core::action::Operation;
use jev_core::contract::{Contract, Mode};
use jev_core::host::{Control, Field};
use jev_core::ids::PageVersion;
use jev_core::ports::{Change, CloseReport, JudgeIdentity};
use jev_core::proposal::{GateResult, Proposal};
use jev_core::record::{Event, Record};
use jev_core::redact::Redactor;
use jev_core::report::Report;
use jev_core::snapshot::{Candidate, Settled, Snapshot};
use jev_core::status::Cause;
use jev_core::verification::{EvidencePlace, Verdict, Verification};

use super::event::{
    Actor, Body, CandidateLine, End, EvidenceLine, FORMAT, GateLine, Intent, Judge, Name, Note,
    Observe, OptionLine, Page, Plan, Proposed, Receipt, Recover, Shown, Text, Verify, picture_name,
};
use super::pictures::Pictures;

/// Most characters of page text in one event.
pub(crate) const TEXT_CHARS: usize = 2_000;
/// Most candidates in one event.
const CANDIDATES: usize = 256;
/// Most options of one question in one event.
const OPTIONS: usize = 40;
/// Most characters of a name, a title or a heading.
const LABEL_CHARS: usize = 120;
/// Most characters of an address.
const URL_CHARS: usize = 500;
/// Most characters of a goal, a quote or an error.
const SENTENCE_CHARS: usize = 1_000;

/// What an act of the host is aimed at.
#[derive(Clone, Copy, Debug)]
pub(crate) enum HostTarget<'a> {
    /// An address.
    Address(&'a CanonicalUrl),
    /// A field.
    Field(&'a Field),
    /// A control.
    Control(&'a Control),
}

impl HostTarget<'_> {
    /// Its name or address.
    pub(crate) fn words(&self) -> &str {
        match self {
            Self::Address(url) => url.as_str(),
            Self::Field(field) => field.name.as_str(),
            Self::Control(control) => control.name.as_str(),
        }
    }
}

/// Turns records into lines.
#[derive(Debug, Default)]
pub(crate) struct Converter {
    pub redactor: Redactor,
    pub shown: Shown,
    /// The pictures that are kept, where they are.
    pub(super) pictures: Option<Pictures>,
}

impl Converter {
    pub(crate) fn label(&self, text: &str) -> Text {
        self.redactor.cut(text, LABEL_CHARS).0.into()
    }

    pub(crate) fn url(&self, text: &str) -> Text {
        self.redactor.cut(text, URL_CHARS).0.into()
    }

    pub(crate) fn sentence(&self, text: &str) -> Text {
        self.redactor.cut(text, SENTENCE_CHARS).0.into()
    }

    /// The line that begins a run or a task.
    pub(crate) fn plan(
        &self,
        contract: &Contract,
        judge: &JudgeIdentity,
        objectives: &[&str],
        started: u64,
    ) -> Plan {
        let judge = match &judge.model {
            Some(model) => format!("{} {model}", judge.name),
            None => judge.name.clone(),
        };
        Plan {
            format: FORMAT,
            version: self.label(env!("CARGO_PKG_VERSION")),
            started,
            goal: self.sentence(contract.goal.as_str()),
            mode: mode_name(contract.mode),
            start: self.url(contract.start.as_str()),
            access: contract
                .access
                .patterns()
                .iter()
                .map(|pattern| self.url(&pattern.to_string()))
                .collect(),
            judge: self.label(&judge),
            gate: GateLine {
                kind: Name::of(&contract.gate.kind()),
                threshold: contract.gate.threshold(),
            },
            steps: contract.limits.steps,
            recoveries: contract.limits.recoveries,
            budget_ms: ms(contract.budget),
            objectives: objectives.iter().map(|text| self.sentence(text)).collect(),
        }
    }

    /// The line of a record, when it has one.
    pub(crate) fn body(&mut self, record: &Record) -> Body {
        match &record.event {
            Event::Opened => Body::Note(Note::Opened),
            Event::Observed(page) => Body::Observe(self.observe(page)),
            Event::Verified(verification) => Body::Verify(self.verify(verification)),
            Event::VerifyFailed(error) => Body::Verify(Verify {
                verdict: Name::word("failed"),
                reason: Some(Name::of(error)),
                version: self.version("unknown"),
                evidence: Vec::new(),
            }),
            Event::Asked(ask) => Body::Judge(Judge::Asked {
                version: self.shown.version(ask.snapshot().version()),
                stage: Name::of(&ask.stage()),
                operations: ask.operations().iter().copied().map(operation).collect(),
                candidates: ask.candidates().count() as u64,
                trimmed: ask.trimmed(),
            }),
            Event::Narrowed { from, to } => Body::Judge(Judge::Narrowed {
                from: *from as u64,
                to: *to as u64,
            }),
            Event::Proposed(proposal) => {
                Body::Judge(Judge::Proposed(Box::new(self.proposed(proposal))))
            }
            Event::JudgeFailed(error) => Body::Judge(Judge::Failed {
                error: self.sentence(&error.to_string()),
            }),
            Event::Intent(intent, action) => Body::Intent(Intent {
                intent: intent.0,
                by: Actor::Judge,
                operation: operation(action.operation()),
                target: action.target().map(|target| self.candidate(target)),
            }),
            Event::Received(intent, receipt) => {
                Body::Receipt(received(intent.0, Actor::Judge, receipt))
            }
            Event::Waited(change) => Body::Note(Note::Waited {
                changed: *change == Change::Seen,
            }),
            Event::Recovered(recovery) => Body::Recover(Recover {
                what: Name::of(recovery),
            }),
            Event::Ignored(_, input) => Body::Note(Note::Ignored {
                input: Name::word(input),
            }),
            Event::SessionFailed(error) => Body::Note(Note::SessionFailed {
                error: self.sentence(&error.to_string()),
            }),
            Event::Ending(status, _) => Body::Note(Note::Ending {
                status: (*status).into(),
            }),
            Event::Closed(report) => Body::Note(closed(report)),
        }
    }

    fn version(&self, text: &str) -> Text {
        self.shown.version(&PageVersion::new(text))
    }

    pub(crate) fn observe(&mut self, page: &Snapshot) -> Observe {
        let is_new = self.shown.is_new(page.version());
        Observe {
            document: self.shown.document(&page.document),
            version: self.shown.version(page.version()),
            url: self.url(&page.url),
            page: is_new.then(|| self.page(page)),
            scroll_offset: page.scroll.offset,
            scroll_below: page.scroll.below,
            settled: page.settled == Settled::Yes,
            screenshot: self
                .pictures
                .as_ref()
                .and_then(|pictures| pictures.digest(page))
                .and_then(|digest| picture_name(&digest)),
        }
    }

    fn page(&self, page: &Snapshot) -> Page {
        let (text, more) = self.redactor.cut(&page.text, TEXT_CHARS);
        let candidates = &page.candidates;
        Page {
            title: self.label(&page.title),
            text: text.into(),
            text_more: more + u64::from(page.omitted.text_chars),
            candidates: candidates
                .iter()
                .take(CANDIDATES)
                .map(|candidate| self.candidate(candidate))
                .collect(),
            candidates_more: candidates.len().saturating_sub(CANDIDATES) as u64,
            omitted: [
                page.omitted.candidates,
                page.omitted.refused_links,
                page.omitted.frames,
            ],
            http_status: page.http_status,
        }
    }

    pub(crate) fn host_target(&self, target: HostTarget<'_>) -> CandidateLine {
        let (role, href) = match target {
            HostTarget::Address(url) => (Name::word("address"), Some(self.url(url.as_str()))),
            HostTarget::Field(field) => (Name::of(&field.role), None),
            HostTarget::Control(control) => (Name::of(&control.role), None),
        };
        CandidateLine {
            id: Text::default(),
            role,
            label: match target {
                HostTarget::Address(_) => Text::default(),
                HostTarget::Field(_) | HostTarget::Control(_) => self.label(target.words()),
            },
            href,
            context: Text::default(),
        }
    }

    pub(crate) fn candidate(&self, candidate: &Candidate) -> CandidateLine {
        CandidateLine {
            id: self.label(candidate.id.as_str()),
            role: Name::of(&candidate.role),
            label: self.label(&candidate.label),
            href: candidate.href.as_ref().map(|href| self.url(href.as_str())),
            context: self.label(&candidate.context),
        }
    }

    fn proposed(&self, proposal: &Proposal) -> Proposed {
        let options = proposal
            .distributions()
            .into_iter()
            .map(|options| {
                options
                    .into_iter()
                    .take(OPTIONS)
                    .map(|(option, p)| OptionLine {
                        option: self.label(&option),
                        p,
                    })
                    .collect()
            })
            .collect();
        Proposed {
            operation: operation(proposal.operation),
            target: proposal.candidate().map(|target| self.candidate(target)),
            p: proposal.p,
            statistic: proposal.statistic,
            passed: proposal.gate == GateResult::Passed,
            options,
            model: proposal
                .decision
                .model
                .as_deref()
                .map(|model| self.label(model)),
            input_tokens: proposal.decision.usage.input_tokens,
            output_tokens: proposal.decision.usage.output_tokens,
        }
    }

    fn verify(&self, verification: &Verification) -> Verify {
        let version = self.shown.version(&verification.version);
        match &verification.verdict {
            Verdict::Passed(evidence) => Verify {
                verdict: Name::word("passed"),
                reason: None,
                version,
                evidence: evidence
                    .iter()
                    .map(|piece| {
                        let (source, start) = match piece.place {
                            EvidencePlace::Text { start } => ("text", Some(start as u64)),
                            EvidencePlace::Title => ("title", None),
                            EvidencePlace::Url => ("url", None),
                        };
                        EvidenceLine {
                            quote: self.sentence(&piece.quote),
                            context: self.sentence(&piece.context),
                            source: Name::word(source),
                            start,
                        }
                    })
                    .collect(),
            },
            Verdict::Refused(refusal) => Verify {
                verdict: Name::word("refused"),
                reason: Some(Name::of(refusal)),
                version,
                evidence: Vec::new(),
            },
        }
    }

    /// The last line of a plain run.
    pub(crate) fn end(&self, report: &Report) -> End {
        let timings = &report.timings;
        End {
            result: Name::word(report.status.name()),
            status: Some(report.status.into()),
            handoff: Some(Name::of(&report.handoff)),
            cause: report.cause.as_ref().map(|cause| self.cause(cause)),
            steps: report.spent.steps,
            recoveries: report.spent.recoveries,
            judge_calls: report.spent.judge_calls,
            permits: report.spent.permits,
            input_tokens: report.spent.usage.input_tokens,
            output_tokens: report.spent.usage.output_tokens,
            timings_ms: [
                timings.open,
                timings.observe,
                timings.judge,
                timings.act,
                timings.verify,
                timings.close,
            ]
            .map(ms),
            elapsed_ms: ms(report.elapsed),
        }
    }

    pub(crate) fn cause(&self, cause: &Cause) -> Text {
        self.sentence(&cause.to_string())
    }
}

/// The receipt of an intent.
pub(crate) fn received(intent: u64, by: Actor, receipt: &jev_core::receipt::Receipt) -> Receipt {
    use jev_core::receipt::Receipt as Core;
    let detail = match receipt {
        Core::Applied(effect) => Name::of(effect),
        Core::Stale(cause) => Name::of(cause),
        Core::Rejected(cause) => Name::of(cause),
        Core::Unknown(cause) => Name::of(cause),
    };
    Receipt {
        intent,
        by,
        receipt: Name::word(receipt.name()),
        detail,
    }
}

fn closed(report: &CloseReport) -> Note {
    let network = &report.network;
    Note::Closed {
        outcome: Name::of(&report.outcome),
        allowed: network.allowed,
        refused: network.refused_documents
            + network.refused_resources
            + network.refused_methods
            + network.refused_kinds
            + network.refused_windows
            + network.refused_downloads,
    }
}

fn operation(operation: Operation) -> Name {
    Name::word(operation.option_name())
}

fn mode_name(mode: Mode) -> Name {
    Name::of(&mode)
}

/// Whole milliseconds.
pub(crate) fn ms(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
