//! Plays a script through a navigator and writes down, in words, what each side says.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use jev_core::access::{AccessList, CanonicalUrl};
use jev_core::action::{Action, ScrollDirection};
use jev_core::contract::{ContractDraft, Goal, Mode, Reach};
use jev_core::effect::{Effect, EffectKind};
use jev_core::error::{JudgeError, SessionError, VerifyError};
use jev_core::ids::{CandidateId, DocumentId, EffectId, RunId, Scope};
use jev_core::input::Input;
use jev_core::navigator::Navigator;
use jev_core::ports::{Change, CloseOutcome, CloseReport};
use jev_core::question::{
    Answer, ChoiceAnswer, ChoiceOption, Decision, QuestionKind, Questionnaire,
};
use jev_core::receipt::Receipt;
use jev_core::record::Event;
use jev_core::report::Report;
use jev_core::snapshot::{
    Candidate, Omitted, Placement, Role, ScrollState, Settled, Snapshot, SnapshotParts,
};
use jev_core::status::Status;
use jev_core::time::Timestamp;
use jev_core::verification::{Evidence, EvidencePlace, Refusal, Verdict, Verification};

/// A page: its address, its text, and the names of its links, `c1` and on.
#[derive(Clone, Copy)]
pub(crate) struct Page {
    url: &'static str,
    text: &'static str,
    links: &'static [&'static str],
    document: u32,
}

impl Page {
    pub(crate) const fn new(
        url: &'static str,
        text: &'static str,
        links: &'static [&'static str],
    ) -> Self {
        Self {
            url,
            text,
            links,
            document: 1,
        }
    }

    /// The same in another document.
    pub(crate) const fn moved(self) -> Self {
        Self {
            document: self.document + 1,
            ..self
        }
    }

    fn snapshot(self, scope: Scope) -> Arc<Snapshot> {
        let links = self.links.iter().enumerate().map(|(place, label)| {
            let to = format!("http://help.test/{}", label.to_lowercase());
            Candidate {
                id: CandidateId::new(format!("c{}", place + 1)),
                role: Role::Link,
                label: (*label).to_owned(),
                href: Some(CanonicalUrl::parse(&to).unwrap()),
                context: String::new(),
                placement: Placement::InView,
                guard: String::new(),
            }
        });
        Arc::new(Snapshot::new(SnapshotParts {
            scope,
            document: DocumentId::new(format!("{}#{}", self.url, self.document)),
            url: self.url.to_owned(),
            title: "Help".to_owned(),
            text: self.text.to_owned(),
            candidates: links.collect(),
            scroll: ScrollState::default(),
            omitted: Omitted::default(),
            settled: Settled::Yes,
            reach: Reach::Document,
            http_status: Some(200),
        }))
    }
}

/// What the world says next.
#[derive(Clone)]
pub(crate) enum Says {
    Opens,
    Shows(Page),
    ShowsForeign(Page),
    LookFails(SessionError),
    Finds(&'static str),
    FindsNothing,
    VerifierFails(VerifyError),
    Chooses(&'static str, f64),
    JudgeFails(JudgeError),
    Receives(Receipt),
    Waits(Change),
    Closes,
    Loses(SessionError),
    Cancels,
    TimePasses,
}

struct Teller {
    navigator: Navigator,
    now: Timestamp,
    asked: Option<(EffectId, Effect)>,
    story: String,
}

/// Plays a script, and tells how it went.
pub(crate) fn tell(differs: fn(&mut ContractDraft), script: &[Says]) -> (Status, String) {
    let mut draft = ContractDraft::new(
        Goal::new("How long does the warranty last?").unwrap(),
        Scope::new("ada", "session-1", "tab-1").unwrap(),
        CanonicalUrl::parse("http://help.test/").unwrap(),
        AccessList::parse(["http://help.test/*"]).unwrap(),
    );
    draft.mode = Mode::Enforce;
    differs(&mut draft);
    let contract = draft.check().unwrap();
    let mut teller = Teller {
        story: format!("{:?}: {}\n\n", contract.mode, contract.goal.as_str()),
        navigator: Navigator::new(RunId(1), contract),
        now: Timestamp::ZERO,
        asked: None,
    };
    teller.listen();
    for says in script {
        teller.hear(says);
        teller.listen();
    }
    let report = teller.navigator.report().expect("the script ends the run");
    teller.end(&report);
    (report.status, teller.story)
}

impl Teller {
    fn line(&mut self, who: &str, what: &str) {
        let at = self.now.elapsed().as_secs_f64();
        writeln!(self.story, "{at:>6.2} s  {who:<9}  {what}").unwrap();
    }

    /// What the navigator wants and notes.
    fn listen(&mut self) {
        while let Some(record) = self.navigator.poll_record() {
            match &record.event {
                Event::Recovered(recovery) => {
                    self.line("navigator", &format!("spends a recovery: {recovery:?}"));
                }
                Event::Ignored(_, what) => {
                    self.line(
                        "navigator",
                        &format!("pays no heed to {what}: it was not asked for"),
                    );
                }
                Event::Ending(status, _) => {
                    self.line("navigator", &format!("ends the run: {}", status.name()));
                }
                // What was seen and done is told where it happens.
                Event::Opened
                | Event::Observed(_)
                | Event::Verified(_)
                | Event::VerifyFailed(_)
                | Event::Asked(_)
                | Event::Narrowed { .. }
                | Event::Proposed(_)
                | Event::JudgeFailed(_)
                | Event::Intent(..)
                | Event::Received(..)
                | Event::Waited(_)
                | Event::SessionFailed(_)
                | Event::Closed(_) => {}
            }
        }
        while let Some(effect) = self.navigator.poll_effect() {
            let wants = wants(&effect);
            self.line("navigator", &wants);
            self.asked = Some((effect.id, effect));
        }
    }

    fn hear(&mut self, says: &Says) {
        let id = self.asked.as_ref().map_or(EffectId(0), |(id, _)| *id);
        let scope = self.navigator.contract().scope.clone();
        let after = if matches!(says, Says::Chooses(..)) {
            300
        } else {
            40
        };
        self.now = self.now.after(Duration::from_millis(after));
        let (who, what, input) = match says {
            Says::Opens => ("session", "open".to_owned(), Input::Opened(id, scope)),
            Says::Shows(page) => {
                let snapshot = page.snapshot(scope);
                ("session", shows(&snapshot), Input::Observed(id, snapshot))
            }
            Says::ShowsForeign(page) => {
                let eve = Scope::new("eve", "session-9", "tab-9").unwrap();
                let snapshot = page.snapshot(eve);
                let what = format!("a page of someone else's tab: {}", shows(&snapshot));
                ("session", what, Input::Observed(id, snapshot))
            }
            Says::LookFails(error) => (
                "session",
                error.to_string(),
                Input::ObserveFailed(id, *error),
            ),
            Says::Finds(quote) => (
                "verifier",
                format!("passed, for it says \"{quote}\""),
                Input::Verified(id, self.verdict(Some(quote))),
            ),
            Says::FindsNothing => (
                "verifier",
                "no evidence here".to_owned(),
                Input::Verified(id, self.verdict(None)),
            ),
            Says::VerifierFails(error) => (
                "verifier",
                error.to_string(),
                Input::VerifyFailed(id, *error),
            ),
            Says::Chooses(option, p) => (
                "judge",
                format!("{option}, with {p}"),
                Input::Judged(id, self.decision(option, *p)),
            ),
            Says::JudgeFails(error) => (
                "judge",
                error.to_string(),
                Input::JudgeFailed(id, error.clone()),
            ),
            Says::Receives(receipt) => (
                "session",
                format!("{receipt:?}"),
                Input::Receipt(id, *receipt),
            ),
            Says::Waits(change) => (
                "session",
                format!("waited; change seen: {change:?}"),
                Input::Waited(id, *change),
            ),
            Says::Closes => ("session", "closed".to_owned(), Input::Closed(id, closed())),
            Says::Loses(error) => ("session", error.to_string(), Input::SessionLost(*error)),
            Says::Cancels => ("caller", "cancel".to_owned(), Input::Cancel),
            Says::TimePasses => {
                let (at, timer) = self.navigator.poll_timeout().expect("the run is not over");
                self.now = at;
                ("clock", format!("time is up: {timer:?}"), Input::Tick)
            }
        };
        self.line(who, &what);
        self.navigator.handle(input, self.now);
    }

    fn verdict(&self, quote: Option<&str>) -> Verification {
        let Some((_, effect)) = &self.asked else {
            panic!("nothing was asked");
        };
        let EffectKind::Verify(request) = &effect.kind else {
            panic!("{} is not a question to the verifier", effect.kind.name());
        };
        let text = request.snapshot.collapsed_text();
        Verification {
            goal: request.goal_digest.clone(),
            version: request.snapshot.version().clone(),
            verdict: match quote {
                Some(quote) => Verdict::Passed(vec![Evidence {
                    quote: quote.to_owned(),
                    context: text.to_owned(),
                    place: EvidencePlace::Text {
                        start: text.find(quote).expect("the script quotes the page"),
                    },
                }]),
                None => Verdict::Refused(Refusal::NotFound),
            },
        }
    }

    fn decision(&self, option: &str, p: f64) -> Decision {
        let Some((_, effect)) = &self.asked else {
            panic!("nothing was asked");
        };
        let EffectKind::AskJudge(ask) = &effect.kind else {
            panic!("{} is not a question to the judge", effect.kind.name());
        };
        let asked = ask.questionnaire();
        let options = options(&asked);
        let place = |name: &str| options.iter().position(|option| option.name == name);
        let mut probabilities = vec![0.0; options.len()];
        probabilities[place("none").expect("none is always offered")] = 1.0 - p;
        probabilities[place(option).expect("the script chooses what is offered")] = p;
        Decision {
            answers: vec![Answer::Choice(ChoiceAnswer::plain(probabilities))],
            ..Decision::default()
        }
    }

    fn end(&mut self, report: &Report) {
        let handoff = serde_json::to_value(report.handoff).unwrap();
        let handoff = handoff.as_str().unwrap_or_default().to_owned();
        let spent = &report.spent;
        let close = report.close.as_ref().map(|close| close.outcome);
        let (status, sentence) = (report.status.name(), report.status.sentence());
        write!(
            self.story,
            "\n{status}, handoff {handoff}: {sentence}\nevidence: {}\ndispatched or maybe: {}; \
             steps {}, looks {}, verifications {}; closing: {close:?}\n",
            report
                .evidence()
                .first()
                .map_or("none", |piece| piece.quote.as_str()),
            report.actions(),
            spent.steps,
            spent.observations,
            spent.verifications,
        )
        .unwrap();
    }
}

fn closed() -> CloseReport {
    CloseOutcome::Clean.into()
}

fn shows(page: &Snapshot) -> String {
    format!("{} says \"{}\"", page.url, page.text)
}

fn options(asked: &Questionnaire) -> &[ChoiceOption] {
    match &asked.questions[0].kind {
        QuestionKind::Choice { options, .. } => options,
        QuestionKind::Noul { .. } | QuestionKind::Score { .. } => panic!("a choice is asked"),
    }
}

fn wants(effect: &Effect) -> String {
    match &effect.kind {
        EffectKind::Open(request) => format!("open {}", request.start),
        EffectKind::Observe => "what does the page show?".to_owned(),
        EffectKind::Verify(_) => "does it hold what was asked for?".to_owned(),
        EffectKind::AskJudge(ask) => {
            let asked = ask.questionnaire();
            let names: Vec<&str> = options(&asked)
                .iter()
                .map(|option| option.name.as_str())
                .collect();
            format!("what next? {}", names.join(", "))
        }
        EffectKind::Dispatch(permit) => {
            let what = match permit.action() {
                Action::Click { target } => format!("click {} \"{}\"", target.id, target.label),
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
            };
            format!("{}, once: {what}", permit.intent())
        }
        EffectKind::Wait { bound } => format!("wait for a change, at most {bound:?}"),
        EffectKind::Close { .. } => "close".to_owned(),
    }
}
