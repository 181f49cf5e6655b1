//! Tests of trajectories: order and schema of the events, secrets kept out, files that survive, and
//! recorded inputs that give the same report again.

use std::fs;
use std::sync::Arc;

use jev_core::access::{AccessList, CanonicalUrl};
use jev_core::contract::{Contract, ContractDraft, Goal, Mode};
use jev_core::error::JudgeError;
use jev_core::ids::{CandidateId, DocumentId, EffectId, Scope};
use jev_core::limits::Limits;
use jev_core::ports::JudgeKind;
use jev_core::question::{Answer, ChoiceAnswer, Decision};
use jev_core::snapshot::{
    Candidate, Omitted, Placement, Role, ScrollState, Settled, Snapshot, SnapshotParts,
};
use jev_core::verification::{Evidence, EvidencePlace, Verdict, Verification};
use jev_judge::scripted::ScriptedJudge;
use jev_verify::VerifierSpec;
use proptest::prelude::*;
use serde_json::Value;
use tempfile::TempDir;

use super::*;
use crate::pages::{Page as SitePage, PageSite};
use crate::{CancellationToken, Ports};

fn contract(goal: &str) -> Contract {
    let mut draft = ContractDraft::new(
        Goal::new(goal).unwrap(),
        Scope::new("u", "s", "t").unwrap(),
        CanonicalUrl::parse("http://h/start").unwrap(),
        AccessList::parse(["http://h/*", "http://other.test"]).unwrap(),
    );
    draft.mode = Mode::Enforce;
    draft.check().unwrap()
}

fn site() -> PageSite {
    PageSite::new([
        SitePage::new("http://h/start", "Start", "Welcome. Ask ada@example.org.")
            .unwrap()
            .link("Broken", "gone?token=tok12345678")
            .unwrap()
            .link("Warranty", "warranty")
            .unwrap(),
        SitePage::new(
            "http://h/warranty",
            "Warranty",
            "It lasts 24 months. Key sk-abcdef0123456789.",
        )
        .unwrap(),
    ])
}

const SCRIPT: &str = r#"{"operation":"DONE"}
{"operation":"CLICK","target":"Broken"}
{"operation":"CLICK","target":"Warranty","p":0.123456789012345678}
{"operation":"DONE"}"#;

fn identity() -> JudgeIdentity {
    JudgeIdentity {
        name: "scripted".to_owned(),
        model: None,
        kind: JudgeKind::Decides,
    }
}

async fn traced(options: &TraceOptions) -> (PathBuf, Report) {
    let script = SCRIPT.replace(",\"p\":0.123456789012345678", "");
    let ports = Ports {
        factory: Arc::new(site()),
        judge: Arc::new(ScriptedJudge::parse(&script).unwrap()),
        verifier: VerifierSpec::new().expect(r"\d+ months").build().unwrap(),
    };
    let contract = contract("How long? Mail ada@example.org");
    let mut trace = Trajectory::create(options, Redactor::new()).unwrap();
    trace.begin_run(RunId(7), &contract, &identity(), &[]);
    let report = crate::run(
        RunId(7),
        contract,
        &ports,
        &mut trace,
        &CancellationToken::new(),
    )
    .await;
    trace.end_run(&report);
    assert_eq!(trace.failure(), None);
    (trace.folder().to_owned(), report)
}

fn kinds(reading: &Reading) -> Vec<&'static str> {
    reading
        .events
        .iter()
        .map(|event| event.body.name())
        .collect()
}

#[tokio::test]
async fn a_run_is_written_down_in_order() {
    let dir = TempDir::new().unwrap();
    let (folder, report) = traced(&TraceOptions::new(dir.path())).await;
    assert_eq!(report.status.name(), "VERIFIED");
    let reading = read(&folder).unwrap();
    assert!(!reading.cut_off);
    assert_eq!(
        kinds(&reading),
        [
            "plan", "note", "observe", "verify", "judge", "judge", "observe", "verify", "recover",
            "judge", "judge", "intent", "receipt", "recover", "observe", "judge", "judge",
            "intent", "receipt", "observe", "verify", "observe", "note", "note", "end",
        ]
    );
    for (number, event) in (0..).zip(&reading.events) {
        assert_eq!((event.seq, event.run), (number, Some(7)));
    }
    let Some(Body::End(end)) = reading.events.last().map(|event| &event.body) else {
        panic!("no end");
    };
    assert_eq!(end.result.as_str(), "VERIFIED");
    assert_eq!((end.steps, end.recoveries, end.permits), (3, 2, 2));
    let text = fs::read_to_string(folder.join(EVENTS_FILE)).unwrap();
    for secret in ["ada@", "tok12345678", "sk-abcdef"] {
        assert!(!text.contains(secret), "{secret}");
    }
    assert!(!folder.join(INPUTS_FILE).exists());
    let summary = summary(&folder).unwrap();
    assert_eq!(summary.goal, "How long? Mail [email]");
    assert_eq!(summary.result, Some(Name::word("VERIFIED")));
    assert_eq!(list(dir.path()).unwrap(), [summary]);
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_may_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let dir = TempDir::new().unwrap();
    let mut options = TraceOptions::new(dir.path().join("new/place"));
    options.inputs = KeepInputs::Raw;
    let (folder, _) = traced(&options).await;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(mode(&folder.join(EVENTS_FILE)), 0o600);
    assert_eq!(mode(&folder.join(INPUTS_FILE)), 0o600);
}

#[tokio::test]
async fn recorded_inputs_give_the_same_report_byte_for_byte() {
    let dir = TempDir::new().unwrap();
    let mut options = TraceOptions::new(dir.path());
    options.inputs = KeepInputs::Raw;
    let (folder, report) = traced(&options).await;
    let runs = RecordedRun::read(&folder).unwrap();
    assert_eq!(runs.len(), 1);
    let again = runs[0].replay().unwrap();
    assert_eq!(
        serde_json::to_string(&report).unwrap(),
        serde_json::to_string(&again).unwrap()
    );
    // A file that was cut off is read up to its last whole line, and then reaches no end.
    let path = folder.join(INPUTS_FILE);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, &text[..text.len() - 10]).unwrap();
    let runs = RecordedRun::read(&folder).unwrap();
    assert!(runs[0].replay().is_none());
}

#[test]
fn probabilities_survive_the_file_exactly() {
    for number in [0.123_456_789_012_345_68, 0.1 + 0.2, 1.0 / 3.0, 5e-324] {
        let written = serde_json::to_string(&number).unwrap();
        let read: f64 = serde_json::from_str(&written).unwrap();
        assert_eq!(read.to_bits(), f64::to_bits(number), "{written}");
    }
}

#[test]
fn a_writer_that_goes_away_says_so() {
    let dir = TempDir::new().unwrap();
    let mut trace = Trajectory::create(&TraceOptions::new(dir.path()), Redactor::new()).unwrap();
    trace.begin_run(RunId(1), &contract("goal"), &identity(), &[]);
    let folder = trace.folder().to_owned();
    drop(trace);
    let reading = read(&folder).unwrap();
    assert_eq!(kinds(&reading), ["plan", "end"]);
    assert_eq!(
        summary(&folder).unwrap().result,
        Some(Name::word("INTERRUPTED"))
    );
}

#[test]
fn a_file_whose_writer_was_killed_is_valid_up_to_its_last_line() {
    let dir = TempDir::new().unwrap();
    let mut trace = Trajectory::create(&TraceOptions::new(dir.path()), Redactor::new()).unwrap();
    trace.begin_run(RunId(1), &contract("goal"), &identity(), &[]);
    trace.record(&record(Event::Opened));
    let path = trace.folder().join(EVENTS_FILE);
    // What is on disk now is all that a killed process leaves behind.
    let text = fs::read_to_string(&path).unwrap();
    std::mem::forget(trace);
    for end in 0..=text.len() {
        fs::write(&path, &text[..end]).unwrap();
        let reading = read(path.parent().unwrap()).unwrap();
        let whole = text[..end].matches('\n').count();
        assert_eq!(reading.events.len(), whole, "cut at {end}");
        assert_eq!(
            reading.cut_off,
            !text[..end].is_empty() && !text[..end].ends_with('\n')
        );
        assert_eq!(summary(path.parent().unwrap()).unwrap().result, None);
    }
    fs::write(&path, "nonsense\n").unwrap();
    assert!(matches!(
        read(path.parent().unwrap()),
        Err(ReadError::Line { line: 1, .. })
    ));
}

#[test]
fn the_cap_holds_and_the_end_is_still_written() {
    let dir = TempDir::new().unwrap();
    let mut options = TraceOptions::new(dir.path());
    options.max_bytes = 1;
    assert!(matches!(
        Trajectory::create(&options, Redactor::new()),
        Err(TraceError::Cap { value: 1 })
    ));
    options.max_bytes = MAX_BYTES_RANGE.0;
    options.inputs = KeepInputs::Raw;
    let mut trace = Trajectory::create(&options, Redactor::new()).unwrap();
    trace.begin_run(RunId(1), &contract("goal"), &identity(), &[]);
    for number in 0..200 {
        let page = page(&format!("{number} {}", "long words ".repeat(400)));
        trace.input(
            &Input::Observed(EffectId(number), Arc::clone(&page)),
            Timestamp::ZERO,
        );
        trace.record(&record(Event::Observed(page)));
    }
    let folder = trace.folder().to_owned();
    drop(trace);
    let reading = read(&folder).unwrap();
    let kinds = kinds(&reading);
    assert_eq!(kinds.last(), Some(&"end"));
    assert_eq!(reading.events[kinds.len() - 2].body, Body::Note(Note::Full));
    for file in [EVENTS_FILE, INPUTS_FILE] {
        let bytes = fs::metadata(folder.join(file)).unwrap().len();
        assert!(bytes <= options.max_bytes, "{file} has {bytes} bytes");
        assert!(bytes > options.max_bytes / 2, "{file} has {bytes} bytes");
    }
}

#[test]
fn a_folder_that_can_not_be_written_is_an_error_before_the_run() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let error = Trajectory::create(&TraceOptions::new(&file), Redactor::new()).unwrap_err();
    assert!(error.to_string().starts_with("trace: "), "{error}");
    assert!(matches!(
        list(&dir.path().join("none")),
        Err(ReadError::File { .. })
    ));
    assert!(matches!(read(dir.path()), Err(ReadError::Missing { .. })));
}

fn record(event: Event) -> Record {
    Record {
        at: Timestamp::ZERO,
        event,
    }
}

fn page(text: &str) -> Arc<Snapshot> {
    Arc::new(everywhere(text))
}

/// A snapshot with one text in every field that a page or a session fills.
fn everywhere(text: &str) -> Snapshot {
    Snapshot::new(SnapshotParts {
        scope: Scope::new("u", "s", "t").unwrap(),
        document: DocumentId::new(text),
        url: format!("http://h/{text}"),
        title: text.to_owned(),
        text: text.to_owned(),
        candidates: vec![Candidate {
            id: CandidateId::new(text),
            role: Role::Link,
            label: text.to_owned(),
            href: CanonicalUrl::parse(&format!("http://h/{text}")).ok(),
            context: text.to_owned(),
            placement: Placement::InView,
            guard: text.to_owned(),
        }],
        scroll: ScrollState::default(),
        omitted: Omitted::default(),
        settled: Settled::Yes,
        reach: jev_core::contract::Reach::Viewport,
        http_status: None,
    })
}

fn schema() -> Value {
    let schema = schemars::SchemaGenerator::default().into_root_schema_for::<TraceEvent>();
    serde_json::to_value(schema).unwrap()
}

fn published() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/trajectory.schema.json")
}

/// `UPDATE_SCHEMAS=1 cargo test` writes the file anew.
#[test]
fn the_published_schema_is_that_of_the_code() {
    let text = format!("{}\n", serde_json::to_string_pretty(&schema()).unwrap());
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        fs::write(published(), &text).unwrap();
    }
    assert_eq!(fs::read_to_string(published()).unwrap(), text);
}

#[tokio::test]
async fn every_line_is_valid_by_the_published_schema() {
    let schema: Value = serde_json::from_str(&fs::read_to_string(published()).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let dir = TempDir::new().unwrap();
    let (folder, _) = traced(&TraceOptions::new(dir.path())).await;
    let text = fs::read_to_string(folder.join(EVENTS_FILE)).unwrap();
    for line in text.lines() {
        let value: Value = serde_json::from_str(line).unwrap();
        assert!(validator.is_valid(&value), "{line}");
        let mut broken = value;
        broken["event"] = "other".into();
        assert!(!validator.is_valid(&broken));
    }
}

fn secret() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{6}[0-9]{2}@[a-z]{6}\\.org",
        "/(home|root|tmp)/[a-z]{6}[0-9]{2}/[a-z]{6}\\.txt",
        "http://h\\.test/p\\?k=[a-z]{6}[0-9]{2}[A-Z]{4}",
        "sk-[A-Za-z0-9]{20}",
        "ghp_[A-Za-z0-9]{24}",
        "Bearer [a-z]{6}[0-9]{2}[A-Za-z0-9]{12}",
        "[a-z][0-9][A-Z][0-9][a-z0-9A-Z]{20}",
        "password: [a-z]{6}[0-9]{2}",
        "typed-[a-z]{6}[0-9]{2} words",
    ]
}

/// The part of a planted secret that must be found nowhere.
fn core_of(secret: &str) -> &str {
    let secret = secret.strip_suffix(" words").unwrap_or(secret);
    let tail = secret
        .rsplit_once(['=', ' '])
        .map_or(secret, |(_, tail)| tail);
    tail.split(['@', '/', '-', '_'])
        .find(|piece| piece.len() >= 6 && piece.bytes().any(|b| b.is_ascii_digit()))
        .unwrap_or(tail)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn planted_secrets_never_reach_the_file(secret in secret(), around in "[ a-z.,]{0,10}") {
        let dir = TempDir::new().unwrap();
        let mut trace =
            Trajectory::create(&TraceOptions::new(dir.path()), Redactor::new()).unwrap();
        if secret.starts_with("typed-") {
            trace.hide(&secret, Hidden::Typed);
        }
        let text = format!("{around} {secret} {around}");
        let contract = contract(&text);
        let mut named = identity();
        named.name = text.clone();
        named.model = Some(text.clone());
        trace.begin_run(RunId(1), &contract, &named, &[&text]);
        for event in events(&text, contract) {
            trace.record(&record(event));
        }
        let folder = trace.folder().to_owned();
        drop(trace);
        let file = fs::read_to_string(folder.join(EVENTS_FILE)).unwrap();
        prop_assert!(read(&folder).unwrap().events.len() > 8);
        prop_assert!(!file.contains(core_of(&secret)), "{secret} in {file}");
    }
}

/// Records with a text in every field that can hold one, as a real run makes them.
fn events(text: &str, contract: Contract) -> Vec<Event> {
    use jev_core::effect::EffectKind;
    use jev_core::navigator::Navigator;
    let mut events = Vec::new();
    let goal = contract.goal.digest();
    let mut contract = (*contract).clone();
    contract.limits = Limits {
        recoveries: 8,
        ..Limits::default()
    };
    contract.actions = jev_core::policy::ActionPolicy::read_only();
    let snapshot = page(text);
    let mut answers = 0;
    let mut navigator = Navigator::new(RunId(1), contract.check().unwrap());
    while !navigator.is_closed() {
        let mut inputs = Vec::new();
        while let Some(effect) = navigator.poll_effect() {
            let id = effect.id;
            inputs.push(match effect.kind {
                EffectKind::Open(request) => Input::Opened(id, request.scope),
                EffectKind::Observe => Input::Observed(id, Arc::clone(&snapshot)),
                EffectKind::Verify(_) => Input::Verified(
                    id,
                    Verification {
                        goal: goal.clone(),
                        version: jev_core::ids::PageVersion::new(text),
                        verdict: Verdict::Passed(vec![Evidence {
                            quote: text.to_owned(),
                            context: text.to_owned(),
                            place: EvidencePlace::Text { start: 0 },
                        }]),
                    },
                ),
                EffectKind::AskJudge(ask) => {
                    answers += 1;
                    let options = 1 + ask.operations().len() + ask.candidates().count();
                    let mut p = vec![0.0; options];
                    if answers > 3 {
                        Input::JudgeFailed(
                            id,
                            JudgeError::Config {
                                what: text.to_owned(),
                            },
                        )
                    } else {
                        p[0] = 1.0;
                        Input::Judged(
                            id,
                            Decision {
                                answers: vec![Answer::Choice(ChoiceAnswer::plain(p))],
                                model: Some(text.to_owned()),
                                request_id: Some(text.to_owned()),
                                ..Decision::default()
                            },
                        )
                    }
                }
                EffectKind::Dispatch(_) => Input::Receipt(
                    id,
                    jev_core::receipt::Receipt::Applied(
                        jev_core::receipt::AppliedEffect::Navigated,
                    ),
                ),
                EffectKind::Wait { .. } => Input::Waited(id, jev_core::ports::Change::None),
                EffectKind::Close { .. } => Input::Closed(
                    id,
                    jev_core::ports::CloseReport {
                        outcome: jev_core::ports::CloseOutcome::Clean,
                        network: jev_core::ports::NetworkCounts::default(),
                    },
                ),
            });
        }
        for input in inputs {
            navigator.handle(input, Timestamp::ZERO);
        }
        while let Some(record) = navigator.poll_record() {
            events.push(record.event);
        }
    }
    // A verdict of our own version too, so that its evidence is shown.
    events.push(Event::Verified(Verification {
        goal,
        version: snapshot.version().clone(),
        verdict: Verdict::Passed(vec![Evidence {
            quote: text.to_owned(),
            context: text.to_owned(),
            place: EvidencePlace::Title,
        }]),
    }));
    events
}
