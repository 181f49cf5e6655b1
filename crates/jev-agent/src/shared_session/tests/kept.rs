//! What a shared session keeps: its whole history for the host, inputs that replay every run, a line
//! for each look and wait of the host; and how a broken tab answers.

use super::*;
use crate::trajectory::{self, KeepInputs, Note, RecordedRun};

#[tokio::test]
async fn the_host_has_the_whole_history_and_the_judge_the_end_of_it() {
    let judge = judge("{\"operation\":\"NONE\"}");
    let mut session = open(Arc::new(site()), Arc::clone(&judge) as Arc<dyn Judge>, None).await;
    let panel = CanonicalUrl::parse("http://shop.test/panel").unwrap();
    let start = CanonicalUrl::parse("http://shop.test/").unwrap();
    for round in 0..60 {
        let to = if round % 2 == 0 { &panel } else { &start };
        session.navigate(to, SECOND).await.unwrap();
    }
    let back = run(&mut session, "Find the terms", "no such text").await;
    assert_eq!(back.history.len(), 60);
    assert_eq!(session.history().len(), 60);
    assert_eq!(back.history[0].target.as_deref(), Some(panel.as_str()));
    let asked = judge.1.lock().unwrap();
    let (_, state) = asked[0].rsplit_once(" {\"").unwrap();
    let told = state.matches("HOST_NAVIGATE").count();
    assert_eq!(told, jev_core::carried::HISTORY_MAX);
}

#[tokio::test]
async fn recorded_inputs_replay_every_run_of_a_session() {
    let dir = TempDir::new().unwrap();
    let mut options = TraceOptions::new(dir.path());
    options.inputs = KeepInputs::Raw;
    let trace = Trajectory::create(&options, Redactor::new()).unwrap();
    let folder = trace.folder().to_owned();
    let click = |target: &str| format!("{{\"operation\":\"CLICK\",\"target\":\"{target}\"}}\n");
    // The second run goes back over the first one's step, and is not offered what led nowhere.
    let script = format!(
        "{}{}{{\"operation\":\"BACK\"}}\n{}",
        click("Warranty of your kettle"),
        click("Nothing here"),
        click("Contact"),
    );
    let pages = PageSite::new([
        Page::new("http://shop.test/", "Shop", "Welcome.")
            .unwrap()
            .link("Warranty of your kettle", "warranty")
            .unwrap()
            .link("Contact", "contact")
            .unwrap(),
        Page::new(
            "http://shop.test/warranty",
            "Warranty",
            "It lasts 24 months.",
        )
        .unwrap()
        .link("Nothing here", "gone")
        .unwrap(),
        Page::new("http://shop.test/contact", "Contact", "Call 555.").unwrap(),
    ]);
    let mut session = open(Arc::new(pages), judge(&script), Some(trace)).await;
    let first = run(&mut session, "How long is the warranty?", r"\d+ months").await;
    let second = run(&mut session, "What is the number?", r"Call \d+").await;
    assert_eq!(first.report.status.name(), "VERIFIED");
    assert_eq!(second.report.status.name(), "VERIFIED");
    let third = run(&mut session, "Anything else", "no such text").await;
    session.close(SECOND).await;
    let runs = RecordedRun::read(&folder).unwrap();
    assert_eq!(runs.len(), 3);
    for (run, back) in runs.iter().zip([first, second, third]) {
        let again = run.replay().unwrap();
        assert_eq!(
            serde_json::to_string(&again).unwrap(),
            serde_json::to_string(&back.report).unwrap()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn looks_and_waits_of_the_host_are_written_down() {
    let dir = TempDir::new().unwrap();
    let trace = Trajectory::create(&TraceOptions::new(dir.path()), Redactor::new()).unwrap();
    let folder = trace.folder().to_owned();
    let loading = ("http://shop.test/", "Loading");
    let ready = ("http://shop.test/", "Ready");
    let outside = ("http://other.test/", "Elsewhere SECRETWORD");
    let world = factory(wanders(&[loading, loading, ready, outside]));
    let mut session = open(world, judge(""), Some(trace)).await;
    let until = Until::TextAppears("Ready".to_owned());
    session.wait_for(&until, 10 * SECOND).await.unwrap();
    assert_eq!(session.observe(SECOND).await.unwrap(), None);
    session.close(SECOND).await;
    let events = trajectory::read(&folder).unwrap().events;
    let words: Vec<String> = events
        .iter()
        .map(|event| {
            if let Body::Note(Note::HostWaited { outcome }) = &event.body {
                outcome.as_str().to_owned()
            } else if event.body == Body::Note(Note::HostLookRefused) {
                "refused".to_owned()
            } else {
                event.body.name().to_owned()
            }
        })
        .collect();
    assert_eq!(words, ["observe", "observe", "met", "refused", "end"]);
    let text = std::fs::read_to_string(folder.join(EVENTS_FILE)).unwrap();
    assert!(!text.contains("SECRETWORD"));
}

/// A tab on which nothing works any more; closing it never ends.
struct Dead(Scope);

#[async_trait]
impl jev_core::host::HostActs for Dead {
    async fn navigate(&self, _: &CanonicalUrl, _: Duration) -> Result<HostReceipt, DispatchError> {
        Err(crashed())
    }

    async fn fill(
        &self,
        _: &Field,
        _: &TypedText,
        _: Duration,
    ) -> Result<HostReceipt, DispatchError> {
        Err(crashed())
    }

    async fn press(&self, _: &Control, _: Duration) -> Result<HostReceipt, DispatchError> {
        Err(crashed())
    }
}

fn crashed() -> DispatchError {
    DispatchError {
        sent: jev_core::error::Sent::SurelyNot,
        error: SessionError::Crashed,
    }
}

#[async_trait]
impl Session for Dead {
    fn scope(&self) -> &Scope {
        &self.0
    }

    fn host_acts(&self) -> Option<&dyn jev_core::host::HostActs> {
        Some(self)
    }

    async fn observe(&self, _: Duration) -> Result<Snapshot, SessionError> {
        Err(SessionError::Crashed)
    }

    async fn dispatch(&self, _: Permit, _: Duration) -> Result<Receipt, DispatchError> {
        Err(crashed())
    }

    async fn wait(&self, _: Duration) -> Result<Change, SessionError> {
        Err(SessionError::Crashed)
    }

    async fn close(&self, _: Duration) -> CloseReport {
        std::future::pending().await
    }
}

struct DeadFactory;

#[async_trait]
impl SessionFactory for DeadFactory {
    async fn open(
        &self,
        request: OpenRequest,
        _: Duration,
    ) -> Result<Arc<dyn Session>, SessionError> {
        Ok(Arc::new(Dead(request.scope)))
    }
}

#[tokio::test(start_paused = true)]
async fn a_broken_tab_is_an_error_and_its_close_is_bounded() {
    let dir = TempDir::new().unwrap();
    let trace = Trajectory::create(&TraceOptions::new(dir.path()), Redactor::new()).unwrap();
    let folder = trace.folder().to_owned();
    let mut session = open(Arc::new(DeadFactory), judge(""), Some(trace)).await;
    let crashed = Err(SharedError::Session(SessionError::Crashed));
    let start = CanonicalUrl::parse("http://shop.test/").unwrap();
    assert_eq!(session.navigate(&start, SECOND).await, crashed);
    let text = TypedText::new("x").unwrap();
    let note = field(FieldRole::TextBox, "Note");
    assert_eq!(session.fill(&note, &text, SECOND).await, crashed);
    assert_eq!(session.press(&control("Go"), SECOND).await, crashed);
    assert!(session.history().is_empty());
    let before = Instant::now();
    let closer = session.closer();
    assert_eq!(closer.close(SECOND).await.outcome, CloseOutcome::Unanswered);
    assert_eq!(
        session.close(SECOND).await.outcome,
        CloseOutcome::Unanswered
    );
    assert!(before.elapsed() < 6 * SECOND);
    // Every intent has its receipt all the same.
    let events = trajectory::read(&folder).unwrap().events;
    let count = |name: &str| {
        events
            .iter()
            .filter(|event| event.body.name() == name)
            .count()
    };
    assert_eq!((count("intent"), count("receipt")), (3, 3));
}
