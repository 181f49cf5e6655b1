//! From arguments to a contract and its ports: every check that can be made before a browser
//! starts.

use std::fs::{File, OpenOptions};
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jev_agent::trajectory::Trajectory;
use jev_core::access::{AccessList, AccessPattern, CanonicalUrl};
use jev_core::contract::{Contract, ContractDraft, Goal, Layout, Mode, Reach};
use jev_core::ids::Scope;
use jev_core::limits::{Bound, CANDIDATES, NO_PROGRESS, STALE, STATE_CHARS, STEPS};
use jev_core::ports::{JudgeKind, Verifier};
use jev_session_cdp::SessionOptions;
use jev_session_cdp::network::policy::{PageScripts, PrivateNames};
use jev_verify::{Criteria, VerifierSpec};

use crate::args::{LayoutArg, ModeArg, ReachArg, ReadArgs};
use crate::error::UsageError;
use crate::judge::{self, Chosen};
use crate::trace;

/// A run that is ready to begin.
pub(crate) struct Prepared {
    /// The contract.
    pub contract: Contract,
    /// Who judges, and what goes with it.
    pub chosen: Chosen,
    /// Who verifies.
    pub verifier: Arc<dyn Verifier>,
    /// The browser, and what pages may do in it.
    pub session: SessionOptions,
    /// Where the report goes, opened.
    pub report_file: Option<File>,
    /// Where the trajectory goes, begun.
    pub trajectory: Option<Trajectory>,
    /// What the user should know before the run begins.
    pub notices: Vec<String>,
}

/// Checks everything.
pub(crate) fn prepare(args: &ReadArgs) -> Result<Prepared, UsageError> {
    let mut notices = Vec::new();
    let goal = Goal::new(&args.goal)?;
    let start = CanonicalUrl::parse(&args.start).map_err(UsageError::Start)?;
    let access = access(args, &start, &mut notices)?;
    let session = session(args, &mut notices)?;
    let spec = VerifierSpec::new().expect_all(args.expect.iter().cloned());
    let spec = match &args.expect_url {
        Some(pattern) => spec.expect_url(pattern),
        None => spec,
    };
    let verifier = spec.build()?;
    if spec.criteria() == Criteria::None {
        notices.push("nothing can be VERIFIED without --expect".to_owned());
    }
    let scope = Scope::new("local", format!("jev-{}", std::process::id()), "tab-1")?;
    let mut draft = ContractDraft::new(goal, scope, start, access);
    draft.mode = match args.mode {
        ModeArg::Off => Mode::Off,
        ModeArg::Shadow => Mode::Shadow,
        ModeArg::Enforce => Mode::Enforce,
    };
    draft.reach = match args.reach {
        ReachArg::Viewport => Reach::Viewport,
        ReachArg::Document => Reach::Document,
    };
    draft.layout = match args.layout {
        LayoutArg::Flat => Layout::Flat,
        LayoutArg::TwoHead => Layout::TwoHead,
    };
    draft.budget = duration("budget", &args.budget)?;
    draft.limits.steps = limit("max-steps", args.max_steps.as_deref(), &STEPS)?;
    draft.limits.stale = limit("max-stale", args.max_stale.as_deref(), &STALE)?;
    draft.limits.no_progress = limit(
        "max-no-progress",
        args.max_no_progress.as_deref(),
        &NO_PROGRESS,
    )?;
    draft.limits.state_chars = limit(
        "max-state-chars",
        args.max_state_chars.as_deref(),
        &STATE_CHARS,
    )?;
    draft.limits.candidates = limit(
        "max-candidates",
        args.max_candidates.as_deref(),
        &CANDIDATES,
    )?;
    // Whatever does not hang on the judge is checked before there is one: making a judge may make
    // a recording, which is never written over. The report and the trajectory are opened before the
    // run, so that a run is never made for files that can't be written.
    let threshold = args.threshold.as_deref();
    judge::gate(args.gate, threshold, JudgeKind::Ranks)?;
    draft.clone().check()?;
    let named = args.judge.named()?;
    let report_file = args.report.as_deref().map(open_report).transpose()?;
    let trajectory = args.trace.begin(trace::redactor_hiding(named.key()))?;
    let chosen = named.build()?;
    draft.gate = judge::gate(args.gate, threshold, chosen.judge.identity().kind)?;
    notices.extend(chosen.notice.clone());
    Ok(Prepared {
        contract: draft.check()?,
        chosen,
        verifier,
        session,
        report_file,
        trajectory,
        notices,
    })
}

/// What stands in the file stays until there is something to take its place: the run may yet be refused.
fn open_report(path: &Path) -> Result<File, UsageError> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map_err(|source| UsageError::Write {
            field: "report",
            path: path.display().to_string(),
            source,
        })
}

fn session(args: &ReadArgs, notices: &mut Vec<String>) -> Result<SessionOptions, UsageError> {
    let connect = args.connect.as_deref().map(str::parse).transpose();
    let connect = connect.map_err(UsageError::Connect)?;
    if connect.is_some() {
        if args.chrome.is_some() {
            return Err(UsageError::TwoBrowsers);
        }
        notices.push(
            "with --connect the network boundary is weaker than in a browser of ours: docs/security.md"
                .to_owned(),
        );
    }
    Ok(SessionOptions {
        chrome: args.chrome.clone(),
        connect,
        private: if args.private_names {
            PrivateNames::Allow
        } else {
            PrivateNames::Refuse
        },
        scripts: if args.no_page_scripts {
            PageScripts::Off
        } else {
            PageScripts::Run
        },
        ..SessionOptions::default()
    })
}

fn access(
    args: &ReadArgs,
    start: &CanonicalUrl,
    notices: &mut Vec<String>,
) -> Result<AccessList, UsageError> {
    if args.allow.is_empty() {
        let folder = AccessPattern::folder_of(start);
        notices.push(format!(
            "without --allow only the start page's folder may be read: {folder}"
        ));
        return AccessList::new(vec![folder]).map_err(UsageError::Allow);
    }
    AccessList::parse(args.allow.iter().map(String::as_str)).map_err(UsageError::Allow)
}

/// A duration as people write it.
pub(crate) fn duration(field: &'static str, text: &str) -> Result<Duration, UsageError> {
    // A bare 0 is a duration to a user, and out of range like `0s`.
    if text.trim() == "0" {
        return Ok(Duration::ZERO);
    }
    humantime::parse_duration(text.trim()).map_err(|_| UsageError::Duration {
        field,
        text: text.to_owned(),
    })
}

/// What a flag of a run's limits says, else the limit's default.
fn limit(flag: &'static str, text: Option<&str>, bound: &Bound) -> Result<u32, UsageError> {
    text.map_or(Ok(bound.default), |text| {
        whole(flag, text, bound.min..=bound.max)
    })
}

/// A whole number inside a range. A fault is told in the words of the command line: the flag, the
/// range, and what was given. However many digits a whole number has, it is one.
pub(crate) fn whole(
    field: &'static str,
    text: &str,
    range: RangeInclusive<u32>,
) -> Result<u32, UsageError> {
    let text = text.trim();
    let (min, max) = (*range.start(), *range.end());
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(UsageError::Number {
            field,
            text: text.to_owned(),
            min: f64::from(min),
            max: f64::from(max),
        });
    }
    text.parse()
        .ok()
        .filter(|value| range.contains(value))
        .ok_or_else(|| UsageError::OutOfRange {
            field,
            text: text.to_owned(),
            min,
            max,
        })
}
