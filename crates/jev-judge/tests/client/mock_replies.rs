//! Replies of the public conformance tool's mock, recorded fault by fault, replayed through the
//! whole client. The same table runs against the tool itself in the example `mock_suite`, which
//! also records these files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::common::{Reply, Stub};
use jev_judge::conformance::{Case, cases, run};
use serde_json::Value;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mock")
}

async fn replay(case: &Case) -> Result<(), String> {
    let path = folder().join(format!("{}.json", case.name));
    let fixture: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let recorded = fixture.clone();
    let stub = Stub::start(move |_, _| {
        let text = |name: &str| recorded[name].as_str().unwrap().to_owned();
        let status = u16::try_from(recorded["status"].as_u64().unwrap()).unwrap();
        let headers = vec![("content-type", text("content_type"))];
        Reply::Http(status, headers, text("reply").into_bytes())
    })
    .await;
    let outcome = run(case, &stub.base).await;
    for request in stub.received() {
        let path = request.head.split(' ').nth(1);
        assert_eq!(path, fixture["path"].as_str(), "{}", case.name);
        if fixture["request"].is_null() {
            assert!(request.body.is_empty(), "{}", case.name);
        } else {
            // The reply belongs to this very request.
            assert_eq!(request.json(), fixture["request"], "{}", case.name);
        }
        let key = request.header("authorization");
        let sent = case.sends.map(|key| format!("Bearer {key}"));
        assert_eq!(key.map(str::to_owned), sent, "{}", case.name);
    }
    outcome.map_err(|found| {
        let name = case.name;
        format!("{name}: expected {:?}, found {found:?}", case.expected)
    })
}

#[tokio::test]
async fn every_recorded_fault_ends_as_the_table_says() {
    let mut failures = Vec::new();
    for case in cases() {
        if let Err(failure) = replay(&case).await {
            failures.push(failure);
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn there_is_a_recording_for_every_case_and_no_other() {
    let files: BTreeSet<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let cases: BTreeSet<String> = cases()
        .iter()
        .map(|case| format!("{}.json", case.name))
        .collect();
    assert_eq!(files, cases);
}
