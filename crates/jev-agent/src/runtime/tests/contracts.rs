//! Task files: what is read, and what is refused with which words.

use std::path::{Path, PathBuf};

use super::*;

const TOML: &str = r#"
version = 1
goal = "How long does it last?"
start = "http://h/"
allow = ["http://h"]

[success]
expect = ['lasts \d+ months']
"#;

#[test]
fn toml_and_json_say_the_same() {
    let from_toml = Task::parse(TOML).unwrap();
    let json = serde_json::to_string(&file()).unwrap();
    assert_eq!(Task::parse(&json).unwrap(), from_toml);
    assert_eq!(from_toml, task());
}

fn refused(change: impl FnOnce(&mut TaskFile)) -> String {
    let mut file = file();
    change(&mut file);
    Task::check(file).unwrap_err().to_string()
}

fn step(expect: &[&str], allow: &[&str]) -> StepDraft {
    StepDraft {
        objective: "Find it".to_owned(),
        expect: expect.iter().map(|&text| text.to_owned()).collect(),
        expect_url: None,
        allow: allow.iter().map(|&text| text.to_owned()).collect(),
    }
}

#[test]
fn every_fault_names_its_field() {
    let cases: Vec<(&str, String)> = vec![
        ("version: 2", refused(|file| file.version = 2)),
        ("goal: blank", refused(|file| file.goal = " ".to_owned())),
        ("goal: 8001", refused(|file| file.goal = "x".repeat(8_001))),
        ("start: `x`", refused(|file| file.start = "x".to_owned())),
        (
            "start: http://other/",
            refused(|file| file.start = "http://other/".to_owned()),
        ),
        (
            "allow: the allow-list is empty",
            refused(|file| file.allow.clear()),
        ),
        (
            "allow: a URL must not carry credentials",
            refused(|file| file.allow = vec!["http://u:p@h/".to_owned()]),
        ),
        (
            "success.expect: empty",
            refused(|file| file.success.expect.clear()),
        ),
        (
            "success.expect: `(`",
            refused(|file| file.success.expect = vec!["(".to_owned()]),
        ),
        (
            "success.expect-url: `x`",
            refused(|file| file.success.expect_url = Some("x".to_owned())),
        ),
        ("limits.steps: 65", refused(|file| file.budget.steps = 65)),
        (
            "limits.recoveries: 9",
            refused(|file| file.budget.recoveries = 9),
        ),
        (
            "budget: `actions` is more",
            refused(|file| file.budget.actions = Some(9)),
        ),
        (
            "budget: `recoveries` is not less",
            refused(|file| file.budget.steps = 2),
        ),
        (
            "budget.time: `soon`",
            refused(|file| file.budget.time = "soon".to_owned()),
        ),
        (
            "budget: 0 ms",
            refused(|file| file.budget.time = "0".to_owned()),
        ),
        (
            "budget: 660000 ms",
            refused(|file| file.budget.time = "11m".to_owned()),
        ),
        (
            "actions: the control name `Save`",
            refused(|file| {
                file.actions.allow = vec!["Save".to_owned()];
                file.actions.reserve = vec!["Save".to_owned()];
            }),
        ),
        (
            "actions: the control name `Save`",
            refused(|file| {
                file.actions.allow = vec!["Save".to_owned()];
                file.actions.deny = vec!["*SAVE*".to_owned()];
            }),
        ),
        (
            "threshold: 0.3",
            refused(|file| {
                file.gate = Some(GateFile {
                    kind: jev_core::gate::GateKind::Share,
                    threshold: 0.3,
                });
            }),
        ),
        (
            "plan: step 1: no `expect`",
            refused(|file| file.plan = vec![step(&[], &[]), step(&[], &[])]),
        ),
        (
            "plan: step 1: `http://h/docs`",
            refused(|file| {
                file.allow = vec!["http://h/docs/*".to_owned(), "http://h/".to_owned()];
                file.plan = vec![step(&["x"], &["http://h/docs"])];
            }),
        ),
        (
            "plan: 17 steps",
            refused(|file| file.plan = vec![step(&["x"], &[]); 17]),
        ),
        (
            "budget: the plan has more steps",
            refused(|file| file.plan = vec![step(&["x"], &[]); 9]),
        ),
    ];
    for (words, message) in cases {
        assert!(message.starts_with(words), "{words}: {message}");
    }
}

#[test]
fn a_plan_may_narrow_and_never_widen() {
    let widens = |allow: &[&str], inner: &str| {
        let mut file = file();
        file.allow = allow.iter().map(|&text| text.to_owned()).collect();
        file.plan = vec![step(&["x"], &[inner])];
        Task::check(file).is_err()
    };
    let docs: &[&str] = &["http://h/", "http://h/docs/*"];
    for (allow, inner, wide) in [
        (docs, "http://h/docs/a", false),
        (docs, "http://h/docs/a/*", false),
        (docs, "http://h/docs/*", false),
        (docs, "http://h/doc*", true),
        (docs, "http://h/*", true),
        (docs, "http://h", true),
        (docs, "http://h/docs/../x", true),
        (docs, "https://h/docs/a", true),
        (docs, "http://h.evil/docs/*", true),
        (&["http://h"], "http://h/any/*", false),
        (&["http://h"], "http://h", false),
        (&["http://h"], "http://h:81", true),
    ] {
        assert_eq!(widens(allow, inner), wide, "{inner} in {allow:?}");
    }
}

#[test]
fn unknown_fields_and_broken_files_are_refused_with_the_place() {
    for text in [
        &TOML.replace("goal", "gaol") as &str,
        &TOML.replace("expect", "expects"),
        "nonsense",
        "{\"version\": 1",
        "",
    ] {
        let error = Task::parse(text).unwrap_err();
        assert!(matches!(error, TaskError::Shape { .. }), "{text}: {error}");
    }
    let error = Task::parse(&TOML.replace("goal", "gaol"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("gaol"), "{error}");
    assert!(matches!(
        Task::load(Path::new("there/is/none.toml")),
        Err(TaskError::Read { .. })
    ));
    let dir = TempDir::new().unwrap();
    let large = dir.path().join("large.toml");
    std::fs::write(&large, " ".repeat(300_000)).unwrap();
    assert!(matches!(
        Task::load(&large),
        Err(TaskError::TooLarge { .. })
    ));
    let good = dir.path().join("good.toml");
    std::fs::write(&good, TOML).unwrap();
    assert_eq!(Task::load(&good).unwrap(), task());
}

fn published() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/task.schema.json")
}

/// `UPDATE_SCHEMAS=1 cargo test` writes the file anew.
#[test]
fn the_published_schema_is_that_of_the_code() {
    let schema = schemars::SchemaGenerator::default().into_root_schema_for::<TaskFile>();
    let text = format!("{}\n", serde_json::to_string_pretty(&schema).unwrap());
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        std::fs::write(published(), &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(published()).unwrap(), text);
}

#[test]
fn the_schema_accepts_what_is_read_and_refuses_what_is_not() {
    let schema = std::fs::read_to_string(published()).unwrap();
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut full = file();
    full.plan = vec![step(&["x"], &["http://h/docs/*"])];
    full.gate = Some(GateFile {
        kind: jev_core::gate::GateKind::Share,
        threshold: 0.6,
    });
    let good = serde_json::to_value(&full).unwrap();
    assert!(validator.is_valid(&good), "{good}");
    let from_toml: serde_json::Value = toml::from_str(TOML).unwrap();
    assert!(validator.is_valid(&from_toml));
    for (pointer, value) in [
        ("/version", serde_json::json!(2)),
        ("/allow", serde_json::json!([])),
        ("/budget/steps", serde_json::json!(65)),
        ("/gate/threshold", serde_json::json!(0.3)),
        ("/success", serde_json::json!({"expects": []})),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap() = value;
        assert!(!validator.is_valid(&bad), "{pointer}");
    }
}

#[test]
fn names_are_written_as_in_the_configuration() {
    let mut file = file();
    file.actions.allow = vec!["Show terms".to_owned(), "*details*".to_owned()];
    file.actions.deny = vec!["Delete".to_owned()];
    let actions = Task::check(file).unwrap().actions;
    for (name, offered) in [
        ("show TERMS", true),
        ("Show terms now", false),
        ("More details here", true),
        ("Delete", false),
    ] {
        assert_eq!(actions.offers(Role::Button, name), offered, "{name}");
    }
    assert!(actions.offers(Role::Link, "Delete all"));
}

/// The examples of the document are what they say, and say all that can be said.
#[test]
fn the_documents_examples_are_read() {
    let document = include_str!("../../../../../docs/tasks.md");
    let examples: Vec<&str> = document
        .split("```toml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert_eq!(examples.len(), 2);
    for example in &examples {
        Task::parse(example).unwrap_or_else(|error| panic!("{error}\n{example}"));
    }
    let full: TaskFile = toml::from_str(examples[1]).unwrap();
    let fields = |value: serde_json::Value| -> Vec<String> {
        let object = value.as_object().unwrap().clone();
        object.into_iter().map(|(name, _)| name).collect()
    };
    let written = serde_json::to_value(&full).unwrap();
    for table in ["/success", "/budget", "/actions", "/gate", ""] {
        for name in fields(written.pointer(table).unwrap().clone()) {
            assert!(examples[1].contains(&name), "{table}: {name}");
        }
    }
    assert_eq!(full.plan.len(), 2);
}
