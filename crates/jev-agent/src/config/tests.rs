//! What a configuration accepts and refuses, and that no refusal shows a value.

use std::path::Path;
use std::time::Duration;

use jev_core::contract::Mode;
use jev_core::gate::GateKind;
use jev_core::limits::{CANDIDATES, NO_PROGRESS, RECOVERIES, STALE, STATE_CHARS, STEPS, WAITS};
use jev_core::policy::NameRule;
use jev_core::ports::JudgeKind;
use jev_core::telemetry::Price;
use jev_judge::spec::JudgeSpec;
use serde_json::json;

use super::*;

const FULL: &str = r#"
version = 1
[judge]
provider = "scripted"
path = "script.jsonl"
model = "m"
env_file = ".env"
key_variable = "MY_KEY"
permute = 1
price = { input = 0.5, output = 2 }
[[source]]
name = "help"
about = "The help centre."
start = "http://h/help/index.html"
allow = ["http://h/help/*"]
expect = ['\d+ months']
expect_url = "http://h/help/*"
[source.actions]
allow = ["*details*"]
deny = ["Delete"]
discover = "low_risk"
scroll_areas = ["Reviews"]
scroll_pages = 2
back = "denied"
keys = ["Escape"]
[[source]]
name = "manual"
start = "http://h/manual/"
[browser]
chrome = "chromium"
build = "full"
private_names = "allowed"
[trace]
dir = "runs"
pictures = "on"
[read]
mode = "enforce"
version = 1
budget = "5s"
gate = "share"
threshold = 0.6
reach = "viewport"
layout = "two_head"
verify_first = "off"
text_chars = 1000
limits = { steps = 4, stale = 1, no_progress = 2, waits = 1, recoveries = 0, state_chars = 9000, candidates = 50 }
[permission]
rule = "deny"
reason = "not today"
[mcp]
running = 2
waiting = 3
user = "ada"
[session]
tools = "allowed"
open = 3
total = 5
idle = "90s"
until = "allowed"
navigate = "allowed"
fill = ["*search*"]
press = ["Go"]
"#;

fn parse(text: &str) -> Result<Config, ConfigError> {
    Config::parse(text, Path::new("/etc/jev"))
}

#[test]
fn every_key_is_read() {
    let config = parse(FULL).unwrap();
    assert_eq!(
        config.judge,
        JudgeSettings {
            price: Some(Price::per_million(0.5, 2.0).unwrap()),
            spec: JudgeSpec::Scripted {
                file: "/etc/jev/script.jsonl".into()
            },
            model: Some("m".to_owned()),
            env_file: Some("/etc/jev/.env".into()),
            key_variable: Some("MY_KEY".to_owned()),
            permute: Some(1),
            endpoint: None,
        }
    );
    assert_eq!(config.browser.chrome, Some("chromium".into()));
    assert_eq!(config.browser.build, Build::Full);
    assert_eq!(config.browser.private_names, Permission::Allowed);
    assert_eq!(config.trace.dir, Some("/etc/jev/runs".into()));
    assert_eq!(config.trace.pictures, KeepPictures::Yes);
    assert_eq!(
        config.permission,
        Ruling::Deny {
            reason: "not today".to_owned()
        }
    );
    assert_eq!((config.mcp.running, config.mcp.waiting), (2, 3));
    assert_eq!(
        config.session,
        SessionSettings {
            tools: Permission::Allowed,
            open: 3,
            total: 5,
            idle: Duration::from_secs(90),
            until: Permission::Allowed,
            navigate: Permission::Allowed,
            fill: vec![NameRule::Contains("search".into())],
            press: vec![NameRule::Exact("Go".into())],
        }
    );
    assert_eq!(
        parse("").unwrap().session,
        SessionSettings::default(),
        "off when nothing is said"
    );
    let read = &config.read;
    assert_eq!(read.mode, Mode::Enforce);
    assert_eq!(read.budget, Duration::from_secs(5));
    assert_eq!((read.limits.steps, read.limits.recoveries), (4, 0));
    assert_eq!(read.gate(JudgeKind::Decides).kind(), GateKind::Share);
    let [help, manual] = config.sources.as_slice() else {
        panic!("two sources");
    };
    assert_eq!(help.criteria(), jev_verify::Criteria::Evidence);
    assert_eq!(help.actions.allow, [NameRule::Contains("details".into())]);
    assert_eq!(manual.access.patterns()[0].to_string(), "http://h/manual/*");
    assert_eq!(manual.criteria(), jev_verify::Criteria::None);
}

/// The document has a row for every key that the full example uses.
#[test]
fn every_key_is_documented() {
    let document = include_str!("../../../../docs/configuration.md");
    let entries: Map<String, Value> = toml::from_str(FULL).unwrap();
    let mut keys = Vec::new();
    names("", &Value::Object(entries), &mut keys);
    assert!(keys.len() > 40, "{keys:?}");
    for key in keys {
        assert!(document.contains(&format!("`{key}`")), "{key}");
    }
}

/// The document says each limit's own default and range.
#[test]
fn the_limits_are_documented_as_they_are() {
    let document = include_str!("../../../../docs/configuration.md");
    for bound in [
        STEPS,
        STALE,
        NO_PROGRESS,
        WAITS,
        RECOVERIES,
        STATE_CHARS,
        CANDIDATES,
    ] {
        let key = format!("| `read.{}` |", bound.field);
        let row = document.lines().find(|line| line.starts_with(&key));
        let says = format!("| {} [{}..{}] |", bound.default, bound.min, bound.max);
        assert!(row.is_some_and(|row| row.ends_with(&says)), "{key} {says}");
    }
}

fn names(path: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                let key = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                names(&key, value, found);
            }
        }
        Value::Array(items) if items.iter().all(Value::is_object) => {
            items.iter().for_each(|item| names(path, item, found));
        }
        Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            found.push(path.to_owned())
        }
    }
}

#[test]
fn off_is_the_default_and_needs_nothing() {
    let config = parse("").unwrap();
    assert_eq!(config.read, ReadSettings::default());
    assert_eq!(config.read.mode, Mode::Off);
    assert_eq!(config.read.budget, Duration::from_secs(10));
    assert!(config.sources.is_empty());
}

#[test]
fn faults_name_their_key() {
    let cases = [
        ("x = 1", "x", "is not a key"),
        ("version = 2", "version", "outside 1..=1"),
        (
            "[read]\nmod = 'off'",
            "read.mod",
            "known here: version, mode",
        ),
        ("[read]\nmode = 'on'", "read.mode", "off, shadow, enforce"),
        ("[read]\nmode = 'enforce'", "read.threshold", "missing"),
        ("[read]\nmode = 'shadow'", "read.threshold", "missing"),
        (
            "[read]\nthreshold = 0.5",
            "read.threshold",
            "outside 0.55..=1",
        ),
        ("[read]\nthreshold = nan", "read.threshold", "a number"),
        (
            "[read]\nbudget = '31s'",
            "read.budget",
            "31000 ms is outside 1 ms..=30000 ms",
        ),
        ("[read]\nbudget = 10", "read.budget", "a duration"),
        ("[read]\nversion = 2", "read.version", "outside"),
        (
            "[read]\nlimits = { steps = 65 }",
            "read.limits.steps",
            "65 is outside 1..=64",
        ),
        (
            "[read]\nlimits = { steps = 1.5 }",
            "read.limits.steps",
            "a whole number",
        ),
        (
            "[read]\nlimits = { steps = -1 }",
            "read.limits.steps",
            "-1 is outside",
        ),
        (
            "[read]\nlimits = { step = 1 }",
            "read.limits.step",
            "is not a key",
        ),
        (
            "[judge]\napi_key = 'sk-planted'",
            "judge.api_key",
            "credential",
        ),
        ("[judge]\npath = 'x'", "judge.provider", "missing"),
        (
            "[judge]\nprovider = 'oracle'",
            "judge.provider",
            "unknown judge",
        ),
        (
            "[judge]\nprovider = 'systemone'\nurl = 'http://example.com'",
            "judge.provider",
            "only https",
        ),
        (
            "[judge]\nprovider = 'typesafe'\nurl = 'https://u:planted@example.com'",
            "judge.url",
            "credentials",
        ),
        ("[judge]\nurl = 'https://x'", "judge.provider", "missing"),
        (
            "[judge]\nprovider = 'scripted'\npath = 'x'\nurl = 'https://x'",
            "judge.path",
            "exclude",
        ),
        (
            "[judge]\nprice = { input = -1, output = 2 }",
            "judge.price.input",
            "outside",
        ),
        (
            "[judge]\nprice = { input = 1 }",
            "judge.price.output",
            "missing",
        ),
        ("[trace]\npictures = 'yes'", "trace.pictures", "off, on"),
        ("[judge]\npermute = 9", "judge.permute", "outside 1..=8"),
        (
            "[judge]\nprovider = 'a:b'\npath = 'x'",
            "judge.path",
            "exclude",
        ),
        ("[mcp]\ntoken = 'planted'", "mcp.token", "credential"),
        ("[mcp]\nrunning = 0", "mcp.running", "outside 1..=64"),
        ("[session]\ntools = 'yes'", "session.tools", "allowed"),
        ("[session]\nopen = 0", "session.open", "outside 1..=16"),
        ("[session]\ntotal = 65", "session.total", "outside 1..=64"),
        ("[session]\nidle = '0s'", "session.idle", ""),
        ("[session]\nfill = [' ']", "session.fill", "not blank"),
        ("[session]\ntype = 'allowed'", "session.type", "known here"),
        (
            "[permission]\nrule = 'deny'",
            "permission.reason",
            "missing",
        ),
        (
            "[permission]\nreason = 'x'",
            "permission.reason",
            "left out",
        ),
        (
            "[[source]]\nstart = 'http://h/'",
            "source[1].name",
            "missing",
        ),
        (
            "[[source]]\nname = 'A'\nstart = 'http://h/'",
            "source[1].name",
            "small letters",
        ),
        ("[[source]]\nname = 'a'", "source[1].start", "missing"),
        (
            "[[source]]\nname = 'a'\nstart = 'ftp://h/'",
            "source[1].start",
            "`ftp:` is not read",
        ),
        (
            "[[source]]\nname = 'a'\nstart = 'http://u:planted@h/'",
            "source[1].start",
            "credentials",
        ),
        (
            "[[source]]\nname = 'a'\nstart = 'http://h/a'\nallow = ['http://i/*']",
            "source[1].start",
            "allow-list",
        ),
        (
            "[[source]]\nname = 'a'\nstart = 'http://h/a'\nallow = ['*']",
            "source[1].allow",
            "`*`",
        ),
        (
            "[[source]]\nname = 'a'\nstart = 'http://h/a'\nexpect = ['(']",
            "source[1].expect",
            "expression",
        ),
        (
            "[[source]]\nname = 'a'\nstart = 'http://h/a'\n[source.actions]\nallow = ['Go']\ndeny = ['Go']",
            "source[1].actions",
            "`Go` is allowed and also denied",
        ),
        (
            "[[source]]\nname = 'a'\nstart = 'http://h/a'\n[[source]]\nname = 'a'\nstart = 'http://h/a'",
            "source[2].name",
            "taken",
        ),
        ("source = 1", "source", "double brackets"),
    ];
    for (text, key, says) in cases {
        let error = parse(text).unwrap_err();
        assert_eq!(error.key(), Some(key), "{text}: {error}");
        assert!(error.to_string().contains(says), "{text}: {error}");
        assert!(!format!("{error} {error:?}").contains("planted"), "{error}");
    }
}

#[test]
fn broken_text_names_the_line_and_shows_none_of_it() {
    for text in [
        "[read]\nmode = \"off\"\napi_key = sk-planted-1\n",
        "[read]\nmode = \"off\"\nplanted\n",
        "a = 1\n[read]\nx = \"planted\n",
        "[read]\nplanted = 1\nplanted = 2\n",
    ] {
        let error = parse(text).unwrap_err();
        assert!(
            matches!(error, ConfigError::Syntax { line: 2.., .. }),
            "{error:?}"
        );
        assert!(!format!("{error} {error:?}").contains("planted"), "{error}");
    }
}

#[test]
fn a_file_that_is_not_there_names_init() {
    let error = Config::load(Path::new("/nowhere/jev.toml")).unwrap_err();
    assert!(error.to_string().contains("jev init"), "{error}");
}

#[test]
fn overrides_are_only_ever_stricter() {
    let host = parse(FULL).unwrap().read;
    let narrowed = |value: serde_json::Value| host.narrowed(&Overrides::parse(&value)?);
    let strict = narrowed(json!({
        "mode": "shadow", "version": 1, "budget": "1s", "threshold": 0.9, "reach": "viewport",
        "layout": "flat", "text_chars": 500, "limits": {"steps": 2}
    }))
    .unwrap();
    assert_eq!(strict.mode, Mode::Shadow);
    assert_eq!((strict.limits.steps, strict.limits.stale), (2, 1));
    assert_eq!(strict.threshold, Some(0.9));
    for (value, key, host_only) in [
        (json!({"budget": "6s"}), "budget", false),
        (json!({"threshold": 0.59}), "threshold", false),
        (json!({"gate": "probability"}), "gate", false),
        (json!({"limits": {"steps": 5}}), "limits.steps", false),
        (json!({"text_chars": 2000}), "text_chars", false),
        (json!({"reach": "document"}), "reach", false),
        (json!({"start": "x"}), "start", true),
        (json!({"judge": {"provider": "x"}}), "judge", true),
        (json!({"Base-URL": "x"}), "Base-URL", true),
        (json!({"mode": "http://evil/planted"}), "mode", true),
        (
            json!({"limits": {"steps": "https://evil/planted"}}),
            "limits.steps",
            true,
        ),
    ] {
        let error = narrowed(value).unwrap_err();
        assert_eq!(error.key(), Some(key), "{error}");
        assert_eq!(
            matches!(error, ConfigError::HostOnly { .. }),
            host_only,
            "{error}"
        );
        assert!(!format!("{error:?}").contains("planted"));
    }
    for (value, key) in [
        (json!({"api_key": "sk-planted"}), "api_key"),
        (json!({"limits": {"token": "planted"}}), "limits.token"),
    ] {
        let error = narrowed(value).unwrap_err();
        assert_eq!(
            error,
            ConfigError::Credential {
                key: key.to_owned()
            }
        );
    }
    for value in [
        json!([]),
        json!({"mood": 1}),
        json!({"limits": {"steps": 0}}),
    ] {
        assert!(narrowed(value).is_err());
    }
    let off = ReadSettings::default();
    let error = off.narrowed(&Overrides::parse(&json!({"mode": "enforce"})).unwrap());
    assert_eq!(
        error.unwrap_err(),
        ConfigError::Wider { key: "mode".into() }
    );
}

#[test]
fn the_digest_changes_with_what_a_run_may_do() {
    let base = parse(FULL).unwrap().digest();
    assert_eq!(base, parse(FULL).unwrap().digest());
    for (from, to) in [
        ("threshold = 0.6", "threshold = 0.7"),
        ("steps = 4", "steps = 5"),
        ("path = \"script.jsonl\"", "path = \"other.jsonl\""),
        ("http://h/help/*\"]", "http://h/*\"]"),
        (r"\d+ months", r"\d+ years"),
        ("deny = [\"Delete\"]", "deny = []"),
    ] {
        let changed = FULL.replace(from, to);
        assert_ne!(changed, FULL, "{from}");
        assert_ne!(parse(&changed).unwrap().digest(), base, "{from}");
    }
    let elsewhere = FULL.replace("dir = \"runs\"", "dir = \"other\"");
    assert_eq!(parse(&elsewhere).unwrap().digest(), base);
}

proptest::proptest! {
    #[test]
    fn no_override_ever_widens(
        steps in 1..65u32, millis in 1..30_000u64, threshold in 0.55..1.0f64, mode in 0..3usize,
    ) {
        let host = parse(FULL).unwrap().read;
        let mode = ["off", "shadow", "enforce"][mode];
        let overrides = Overrides::parse(&json!({
            "mode": mode, "budget": format!("{millis}ms"), "threshold": threshold,
            "limits": {"steps": steps},
        })).unwrap();
        if let Ok(narrowed) = host.narrowed(&overrides) {
            proptest::prop_assert!(narrowed.limits.steps <= host.limits.steps);
            proptest::prop_assert!(narrowed.budget <= host.budget);
            proptest::prop_assert!(narrowed.threshold >= host.threshold);
        }
    }
}
