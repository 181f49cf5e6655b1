//! Long and many-lined typed text: no piece of it is left, wherever a page shows a cut of it.

use super::*;

/// A page that shows what was typed, as pages do: whole, by line, and in names and headings that are
/// cut where a session cuts them.
struct Echo(String, Scope);

struct EchoFactory(String);

#[async_trait]
impl SessionFactory for EchoFactory {
    async fn open(
        &self,
        request: OpenRequest,
        _: Duration,
    ) -> Result<Arc<dyn Session>, SessionError> {
        Ok(Arc::new(Echo(self.0.clone(), request.scope)))
    }
}

fn cut(text: &str, most: usize) -> String {
    jev_core::snapshot::collapse(text)
        .chars()
        .take(most)
        .collect()
}

#[async_trait]
impl Session for Echo {
    fn scope(&self) -> &Scope {
        &self.1
    }

    async fn observe(&self, _: Duration) -> Result<Snapshot, SessionError> {
        let typed = self.0.as_str();
        let encoded: String = url::form_urlencoded::byte_serialize(typed.as_bytes()).collect();
        let candidate = |id: &str, label: String, context: String| jev_core::snapshot::Candidate {
            id: jev_core::ids::CandidateId::new(id),
            role: Role::Link,
            label,
            href: CanonicalUrl::parse(&format!("http://shop.test/{id}?q={encoded}")).ok(),
            context,
            placement: jev_core::snapshot::Placement::InView,
            guard: String::new(),
        };
        let lines: Vec<String> = typed.lines().map(|line| format!("Line: {line}.")).collect();
        // Enough of it that the judge is shown an excerpt alone.
        let filler = "Words that say nothing at all. ".repeat(2_000);
        Ok(Snapshot::new(SnapshotParts {
            scope: self.1.clone(),
            document: DocumentId::new("d"),
            url: format!("http://shop.test/?q={encoded}"),
            title: cut(&format!("Results for {typed}"), 300),
            text: format!(
                "You typed: {typed}\n{}\n{filler}\n{}",
                lines.join("\n"),
                cut(typed, 90)
            ),
            candidates: vec![
                candidate("c1", cut(typed, 300), cut(&format!("In {typed}"), 240)),
                candidate(
                    "c2",
                    cut(&format!("More about {typed}"), 300),
                    cut(typed, 77),
                ),
                candidate(
                    "c3",
                    cut(&format!("{}{typed}", "x".repeat(190)), 300),
                    String::new(),
                ),
            ],
            scroll: ScrollState::default(),
            omitted: Omitted::default(),
            settled: Settled::Yes,
            reach: Reach::Document,
            http_status: None,
        }))
    }

    async fn dispatch(&self, _: Permit, _: Duration) -> Result<Receipt, DispatchError> {
        Ok(Receipt::Applied(AppliedEffect::NoEffect))
    }

    async fn wait(&self, bound: Duration) -> Result<Change, SessionError> {
        tokio::time::sleep(bound).await;
        Ok(Change::None)
    }

    async fn close(&self, _: Duration) -> CloseReport {
        CloseOutcome::Clean.into()
    }
}

/// The first words of the secret that stand in a text: none of them stands anywhere else.
fn found<'s>(text: &str, secret: &'s str) -> Option<&'s str> {
    let text = text.to_lowercase();
    secret
        .split_whitespace()
        .find(|word| word.chars().count() > 3 && text.contains(&word.to_lowercase()))
}

#[tokio::test]
async fn no_piece_of_a_long_text_reaches_the_judge_or_the_disk() {
    let long: String = (0..50).map(|n| format!("zq{n:03}wxyk ")).collect();
    assert_eq!(long.chars().count(), 500);
    let address = "Qzada Wxlovelace\nZx 12 Wqelm Street\r\n\nWxspringfield ZQ9-4WX\nKyzland";
    for typed in [long.trim_end(), address] {
        let dir = TempDir::new().unwrap();
        let trace = Trajectory::create(&TraceOptions::new(dir.path()), Redactor::new()).unwrap();
        let folder = trace.folder().to_owned();
        let judge = judge(&"{\"operation\":\"NONE\"}\n".repeat(2));
        let mut session = open(
            Arc::new(EchoFactory(typed.to_owned())),
            Arc::clone(&judge) as Arc<dyn Judge>,
            Some(trace),
        )
        .await;
        let text = TypedText::new(typed).unwrap();
        let note = field(FieldRole::TextBox, "Note");
        session.fill(&note, &text, SECOND).await.unwrap();
        session.observe(SECOND).await.unwrap().unwrap();
        for layout in [Layout::Flat, Layout::TwoHead] {
            let task = SharedTask {
                layout,
                ..task("Find the terms", "no such text")
            };
            session
                .run(task, &mut Unobserved, &CancellationToken::new())
                .await
                .unwrap();
        }
        session.close(SECOND).await;
        let asked = judge.1.lock().unwrap();
        assert!(asked.len() >= 2);
        for asked in asked.iter() {
            assert!(asked.contains("[typed]"));
            assert_eq!(found(asked, typed), None, "{asked}");
        }
        for file in std::fs::read_dir(&folder).unwrap() {
            let written = std::fs::read_to_string(file.unwrap().path()).unwrap();
            assert_eq!(found(&written, typed), None);
        }
    }
}
