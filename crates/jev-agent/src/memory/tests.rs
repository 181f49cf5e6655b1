//! Tests of the experience memory: the lifecycle, what is recalled, what is never kept, and a broken
//! file.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jev_core::ids::{CandidateId, PageVersion};
use jev_core::redact::Hidden;
use jev_core::snapshot::{Candidate, Placement};
use tempfile::TempDir;

use super::*;

const GOAL: &str = "How long does the warranty last?";

fn start() -> CanonicalUrl {
    CanonicalUrl::parse("http://h/help/").unwrap()
}

fn click(role: Role, label: &str, href: Option<&str>) -> StepReport {
    StepReport {
        number: 1,
        url: "http://h/help/".to_owned(),
        version: PageVersion::new("v"),
        offered: 1,
        proposal: None,
        error: None,
        intent: None,
        action: Some(Action::Click {
            target: Candidate {
                id: CandidateId::new("c1"),
                role,
                label: label.to_owned(),
                href: href.map(|href| CanonicalUrl::parse(href).unwrap()),
                context: "A heading".to_owned(),
                placement: Placement::InView,
                guard: String::new(),
            },
        }),
        receipt: Some(Receipt::Applied(AppliedEffect::Navigated)),
        usage: jev_core::question::Usage::default(),
        judge_time: Duration::ZERO,
        act_time: Duration::ZERO,
    }
}

fn trail(goal: &str, path: &str) -> Trail {
    let step = click(Role::Link, "A label", Some(&format!("http://h{path}")));
    Trail::of(
        goal,
        &start(),
        [&step],
        &ActionPolicy::read_only(),
        &Redactor::new(),
    )
}

fn memory() -> Memory {
    Memory::in_memory(Redactor::new()).unwrap()
}

#[test]
fn it_takes_repeated_successes_without_a_failure_to_be_recalled() {
    let mut memory = memory();
    let way = trail(GOAL, "/help/warranty");
    for round in 1..=PROMOTE_SUCCESSES {
        assert!(memory.recall(GOAL, &start()).unwrap().is_empty(), "{round}");
        memory.succeeded(&way).unwrap();
    }
    let found = memory.recall("warranty of a kettle", &start()).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].state, Lifecycle::Promoted);
    assert_eq!(
        found[0].steps,
        [TrailStep::Follow {
            path: "/help/warranty".to_owned()
        }]
    );
    // Another site, another subject, nothing to search for.
    let elsewhere = CanonicalUrl::parse("http://other/").unwrap();
    assert!(memory.recall(GOAL, &elsewhere).unwrap().is_empty());
    assert!(memory.recall("opening hours", &start()).unwrap().is_empty());
    assert!(memory.recall("?! a \"\" OR", &start()).unwrap().is_empty());
    assert!(memory.recall("the NEAR(warranty*) -x", &start()).is_ok());

    // A failure of somebody who was not shown it says nothing of it.
    memory.failed(GOAL, &start(), &[]).unwrap();
    assert_eq!(memory.recall(GOAL, &start()).unwrap(), found);
    memory.failed(GOAL, &start(), &found).unwrap();
    assert!(memory.recall(GOAL, &start()).unwrap().is_empty());
    for _ in 0..5 {
        memory.succeeded(&way).unwrap();
    }
    let known = memory.show(1).unwrap();
    assert_eq!((known.state, known.failures), (Lifecycle::Retired, 1));
    assert!(matches!(
        memory.promote(1),
        Err(MemoryError::Retired { id: 1 })
    ));
}

#[test]
fn a_contradicted_candidate_is_not_promoted() {
    let mut memory = memory();
    let way = trail(GOAL, "/help/warranty");
    memory.succeeded(&way).unwrap();
    memory.failed(&GOAL.to_uppercase(), &start(), &[]).unwrap();
    for _ in 0..5 {
        memory.succeeded(&way).unwrap();
    }
    assert_eq!(memory.show(1).unwrap().state, Lifecycle::Candidate);
    assert!(matches!(
        memory.promote(1),
        Err(MemoryError::Unproved {
            successes: 6,
            failures: 1,
            ..
        })
    ));
}

#[test]
fn a_goal_is_the_same_in_other_letters_and_spaces() {
    let mut memory = memory();
    let kept = "Wie lange gilt die GEW\u{c4}HR?";
    memory.succeeded(&trail(kept, "/help/warranty")).unwrap();
    let spelt = "  wie lange  gilt die gew\u{e4}hr? ";
    memory.failed(spelt, &start(), &[]).unwrap();
    memory.succeeded(&trail(spelt, "/help/warranty")).unwrap();
    let known = memory.list().unwrap();
    assert_eq!(known.len(), 1);
    assert_eq!((known[0].successes, known[0].failures), (2, 1));
}

#[test]
fn the_host_promotes_retires_and_purges_by_hand() {
    let mut memory = memory();
    let way = trail(GOAL, "/help/warranty");
    memory.succeeded(&way).unwrap();
    assert!(matches!(
        memory.promote(1),
        Err(MemoryError::Unproved { successes: 1, .. })
    ));
    memory.succeeded(&way).unwrap();
    assert_eq!(memory.promote(1).unwrap().state, Lifecycle::Promoted);
    assert_eq!(memory.promote(1).unwrap().state, Lifecycle::Promoted);
    memory
        .succeeded(&trail("Opening hours?", "/help/hours"))
        .unwrap();
    assert_eq!(memory.list().unwrap().len(), 2);
    assert_eq!(memory.retire(1).unwrap().state, Lifecycle::Retired);
    assert_eq!(memory.purge(Purge::Retired).unwrap(), 1);
    assert!(matches!(
        memory.show(1),
        Err(MemoryError::Missing { id: 1 })
    ));
    assert!(matches!(
        memory.purge(Purge::One(1)),
        Err(MemoryError::Missing { .. })
    ));
    assert_eq!(memory.purge(Purge::One(2)).unwrap(), 1);
    assert_eq!(memory.purge(Purge::All).unwrap(), 0);
}

#[test]
fn what_was_shown_and_failed_is_retired() {
    let mut memory = memory();
    for _ in 0..PROMOTE_SUCCESSES {
        memory.succeeded(&trail(GOAL, "/help/warranty")).unwrap();
    }
    let other = "Is the warranty of a kettle long?";
    let shown = memory.recall(other, &start()).unwrap();
    assert_eq!(shown.len(), 1);
    memory.failed(other, &start(), &shown).unwrap();
    assert_eq!(memory.show(1).unwrap().state, Lifecycle::Retired);
}

#[test]
fn no_page_text_nothing_typed_and_no_credential_is_kept() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("experience.db");
    let mut redactor = Redactor::new();
    redactor.hide("hunter2 secret", Hidden::Credential);
    let mut memory = Memory::open(&path, redactor.clone()).unwrap().memory;
    let policy = ActionPolicy {
        allow: vec![
            NameRule::Exact("Show terms".to_owned()),
            NameRule::Contains("details".to_owned()),
        ],
        ..ActionPolicy::read_only()
    };
    let steps = [
        click(
            Role::Link,
            "PAGELABEL",
            Some("http://h/a/hunter2%20secret/b?token=abcdefgh12345#frag"),
        ),
        click(Role::Button, "show TERMS", None),
        click(Role::Button, "PAGELABEL details", None),
    ];
    let goal = "Mail ada@example.org about hunter2 SECRET";
    let way = Trail::of(goal, &start(), &steps, &policy, &redactor);
    memory.succeeded(&way).unwrap();
    memory.failed(goal, &start(), &[]).unwrap();
    let known = memory.show(1).unwrap();
    assert_eq!(known.goal, "Mail [email] about [key]");
    assert_eq!(
        known.steps,
        [
            TrailStep::Follow {
                path: "/a/[key]/b".to_owned()
            },
            TrailStep::Press {
                role: Role::Button,
                name: "Show terms".to_owned()
            }
        ]
    );
    assert_eq!(known.failures, 1);
    drop(memory);
    let bytes = every_file(dir.path());
    for secret in ["PAGELABEL", "heading", "hunter2", "ada@", "abcdefgh12345"] {
        assert!(!contains(&bytes, secret), "{secret}");
    }
}

fn every_file(folder: &Path) -> Vec<u8> {
    fs::read_dir(folder)
        .unwrap()
        .flat_map(|entry| fs::read(entry.unwrap().path()).unwrap())
        .collect()
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes
        .windows(text.len())
        .any(|window| window == text.as_bytes())
}

#[test]
fn what_was_purged_is_gone_from_the_file() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("experience.db");
    let mut memory = Memory::open(&path, Redactor::new()).unwrap().memory;
    memory
        .succeeded(&trail("quixotic goal", "/help/gone"))
        .unwrap();
    memory.purge(Purge::All).unwrap();
    drop(memory);
    let bytes = every_file(dir.path());
    assert!(!contains(&bytes, "quixotic") && !contains(&bytes, "/help/gone"));
}

#[test]
fn a_broken_file_is_put_aside_and_never_deleted() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("experience.db");
    for number in 1..=2 {
        let broken = format!("this is no database {number}").repeat(100);
        fs::write(&path, &broken).unwrap();
        let opened = Memory::open(&path, Redactor::new()).unwrap();
        let aside: PathBuf = opened.set_aside.unwrap();
        assert_eq!(fs::read_to_string(&aside).unwrap(), broken);
        let mut memory = opened.memory;
        memory.succeeded(&trail(GOAL, "/help/warranty")).unwrap();
        assert_eq!(memory.list().unwrap().len(), 1);
    }
    // A database whose pages were overwritten.
    let mut memory = Memory::open(&path, Redactor::new()).unwrap().memory;
    for number in 0..200 {
        memory
            .succeeded(&trail(&format!("goal {number}"), "/help/x"))
            .unwrap();
    }
    drop(memory);
    let mut bytes = fs::read(&path).unwrap();
    let length = bytes.len();
    bytes[4_096..length - 100].fill(0x5a);
    fs::write(&path, &bytes).unwrap();
    let opened = Memory::open(&path, Redactor::new()).unwrap();
    assert_eq!(fs::read(opened.set_aside.unwrap()).unwrap(), bytes);
    assert!(opened.memory.list().unwrap().is_empty());
}

#[test]
fn files_of_others_are_left_alone() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("other.db");
    let other = rusqlite::Connection::open(&path).unwrap();
    other
        .execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (1);")
        .unwrap();
    drop(other);
    let before = fs::read(&path).unwrap();
    let error = Memory::open(&path, Redactor::new()).unwrap_err();
    assert!(matches!(error, MemoryError::Foreign { .. }), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);

    let path = dir.path().join("newer.db");
    drop(Memory::open(&path, Redactor::new()).unwrap());
    let newer = rusqlite::Connection::open(&path).unwrap();
    newer.execute_batch("PRAGMA user_version = 99").unwrap();
    drop(newer);
    let error = Memory::open(&path, Redactor::new()).unwrap_err();
    assert!(
        matches!(error, MemoryError::Newer { format: 99, .. }),
        "{error}"
    );
    // A folder that can't be made.
    fs::write(dir.path().join("file"), "").unwrap();
    let error = Memory::open(&dir.path().join("file/x.db"), Redactor::new()).unwrap_err();
    assert!(matches!(error, MemoryError::File { .. }), "{error}");
}

#[cfg(unix)]
#[test]
fn only_the_owner_may_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("new/place/experience.db");
    let opened = Memory::open(&path, Redactor::new()).unwrap();
    assert!(opened.set_aside.is_none());
    let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
}

#[test]
fn two_processes_share_a_file() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("experience.db");
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let path = path.clone();
            std::thread::spawn(move || {
                let mut memory = Memory::open(&path, Redactor::new()).unwrap().memory;
                for _ in 0..10 {
                    memory.succeeded(&trail(GOAL, "/help/warranty")).unwrap();
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    let memory = Memory::open(&path, Redactor::new()).unwrap().memory;
    let known = memory.list().unwrap();
    assert_eq!((known.len(), known[0].successes), (1, 40));
}
