//! Runs one hostile page in a session and compares what is seen with the table.

use std::fmt;
use std::fs;
use std::path::Path;
use std::time::Duration;

use jev_core::access::{AccessList, CanonicalUrl};
use jev_core::action::{Action, ScrollDirection};
use jev_core::contract::Reach;
use jev_core::error::{DispatchError, Sent, SessionError, Stage};
use jev_core::ids::{IntentId, Scope};
use jev_core::permit::Permit;
use jev_core::policy::{ActionPolicy, NameRule};
use jev_core::ports::{CloseOutcome, OpenRequest, Session};
use jev_core::receipt::Receipt;
use jev_core::snapshot::{Candidate, Snapshot};

use super::site::PageSite;
use super::{Expect, Outcome, PageCase, Step};
use crate::factory::CdpSessionFactory;
use crate::session::CdpSession;

/// Bound of one call. Generous, for the machine may be busy.
const BOUND: Duration = Duration::from_secs(20);
/// Bound of a wait.
const WAIT: Duration = Duration::from_millis(500);
/// Waits before a page that is expected to change is given up.
const WAITS: u32 = 40;

/// What was not as the table says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The case.
    pub case: &'static str,
    /// The step, from 1; 0 for what holds of the whole case.
    pub step: usize,
    /// What was expected and what was seen.
    pub what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} step {}: {}", self.case, self.step, self.what)
    }
}

/// Runs one case; every step is bounded.
///
/// # Errors
/// The first [`Fault`].
pub async fn run_page_case(
    factory: &CdpSessionFactory,
    site: &PageSite,
    folder: &Path,
    case: &PageCase,
) -> Result<(), Fault> {
    let fault = |step: usize, what: String| Fault {
        case: case.name,
        step,
        what,
    };
    let asked_before = site.allowed.asked().len();
    let request = request(site, case).ok_or_else(|| fault(0, "a bad table".into()))?;
    let session = factory
        .open_session(request, BOUND)
        .await
        .map_err(|error| fault(0, error.to_string()))?;
    let mut page = None;
    let mut result = Ok(());
    for (index, step) in case.steps.iter().enumerate() {
        let done = run_step(&session, folder, case, step, &mut page).await;
        if let Err(what) = done {
            result = Err(fault(index + 1, what));
            break;
        }
    }
    let report = session.close(BOUND).await;
    result?;
    if report.outcome != CloseOutcome::Clean {
        return Err(fault(0, format!("closed as {:?}", report.outcome)));
    }
    let reached = site.forbidden.connections() + site.forbidden.datagrams();
    if report.network.breaches > 0 || reached > 0 {
        return Err(fault(0, "the boundary was crossed".into()));
    }
    let asked = site.allowed.asked();
    let fresh = asked.get(asked_before..).unwrap_or_default();
    match fresh.iter().find(|asked| {
        case.never_asked
            .iter()
            .any(|path| asked.target.starts_with(path))
    }) {
        Some(asked) => Err(fault(
            0,
            format!("{} {} was asked for", asked.method, asked.target),
        )),
        None => Ok(()),
    }
}

fn request(site: &PageSite, case: &PageCase) -> Option<OpenRequest> {
    let origin = site.allowed.origin();
    let actions = ActionPolicy {
        allow: case
            .controls
            .iter()
            .map(|name| NameRule::Exact((*name).to_owned()))
            .collect(),
        ..ActionPolicy::read_only()
    };
    Some(OpenRequest {
        scope: Scope::new("fixture", case.name, "tab").ok()?,
        start: CanonicalUrl::parse(&format!("{origin}/page/{}", case.name)).ok()?,
        access: AccessList::parse([origin.as_str()]).ok()?,
        actions,
        reach: match case.reach {
            Reach::Viewport => Reach::Viewport,
            Reach::Document => Reach::Document,
        },
    })
}

async fn run_step(
    session: &CdpSession,
    folder: &Path,
    case: &PageCase,
    step: &Step,
    page: &mut Option<Snapshot>,
) -> Result<(), String> {
    match step {
        Step::Look(expected) => {
            let seen = look(session).await?;
            let held = holds(&seen, expected, folder, case);
            *page = Some(seen);
            held
        }
        Step::LookUntil(expected) => {
            let mut held = Ok(());
            for _ in 0..WAITS {
                let seen = look(session).await?;
                held = holds(&seen, expected, folder, case);
                *page = Some(seen);
                if held.is_ok() {
                    break;
                }
                session
                    .wait(WAIT)
                    .await
                    .map_err(|error| error.to_string())?;
            }
            held
        }
        Step::Hangs => match session.observe(BOUND).await {
            Err(SessionError::Hung {
                stage: Stage::Observe,
            }) => Ok(()),
            other => Err(format!("not hung: {other:?}")),
        },
        Step::Crashes(label) => {
            let seen = page.as_ref().ok_or("no look yet")?;
            session.crash(Duration::from_secs(2)).await;
            let read = session.observe(BOUND).await.map(drop);
            if read != Err(SessionError::Crashed) {
                return Err(format!("not crashed: {read:?}"));
            }
            let target = candidate(seen, label)?;
            let permit = Permit::for_testing(IntentId(1), seen, Action::Click { target });
            let acted = session.dispatch(permit, BOUND).await;
            let crashed = DispatchError {
                sent: Sent::SurelyNot,
                error: SessionError::Crashed,
            };
            (acted == Err(crashed))
                .then_some(())
                .ok_or_else(|| format!("not crashed: {acted:?}"))
        }
        Step::Change => session
            .run_in_page("change()", BOUND)
            .await
            .map_err(|error| error.to_string()),
        Step::Knock => {
            session.knock(BOUND).await;
            Ok(())
        }
        Step::Click(label, outcome) => {
            let seen = page.as_ref().ok_or("no look yet")?;
            let target = candidate(seen, label)?;
            let action = Action::Click { target };
            act(session, seen, action, outcome).await
        }
        Step::Down(pages, outcome) => {
            let seen = page.as_ref().ok_or("no look yet")?;
            let action = Action::Scroll {
                direction: ScrollDirection::Down,
                pages: *pages,
            };
            act(session, seen, action, outcome).await
        }
        Step::Back(outcome) => {
            let seen = page.as_ref().ok_or("no look yet")?;
            act(session, seen, Action::Back, outcome).await
        }
        Step::Wait(change) => {
            let seen = session.wait(WAIT).await;
            (seen == Ok(*change))
                .then_some(())
                .ok_or_else(|| format!("waited: {seen:?}"))
        }
    }
}

fn candidate(seen: &Snapshot, label: &str) -> Result<Candidate, String> {
    let mut all = seen.candidates.iter();
    let found = all.find(|candidate| candidate.label == label);
    found
        .cloned()
        .ok_or_else(|| format!("no candidate `{label}`"))
}

async fn look(session: &CdpSession) -> Result<Snapshot, String> {
    let seen = session.observe(BOUND).await;
    seen.map_err(|error| format!("not read: {error}"))
}

async fn act(
    session: &CdpSession,
    seen: &Snapshot,
    action: Action,
    expected: &Outcome,
) -> Result<(), String> {
    let permit = Permit::for_testing(IntentId(1), seen, action);
    let receipt: Result<Receipt, DispatchError> = session.dispatch(permit, BOUND).await;
    let ok = match expected {
        Outcome::Is(expected) => receipt.as_ref() == Ok(expected),
        Outcome::Hangs => {
            receipt
                == Err(DispatchError {
                    sent: Sent::Maybe,
                    error: SessionError::Hung {
                        stage: Stage::Dispatch,
                    },
                })
        }
    };
    ok.then_some(())
        .ok_or_else(|| format!("expected {expected:?}, got {receipt:?}"))
}

fn holds(
    seen: &Snapshot,
    expected: &[Expect],
    folder: &Path,
    case: &PageCase,
) -> Result<(), String> {
    for expect in expected {
        if !one_holds(seen, expect, folder, case) {
            return Err(format!("expected {expect:?}, saw {}", shown(seen)));
        }
    }
    Ok(())
}

fn one_holds(seen: &Snapshot, expect: &Expect, folder: &Path, case: &PageCase) -> bool {
    let labels = || {
        seen.candidates
            .iter()
            .map(|candidate| candidate.label.as_str())
    };
    let candidate = |label: &str| {
        let mut all = seen.candidates.iter();
        all.find(|candidate| candidate.label == label)
    };
    match *expect {
        Expect::Title(title) => seen.title == title,
        Expect::TitleHas(part) => seen.title.contains(part),
        Expect::Reads(text) => seen.text == text,
        Expect::Text(text) => seen.text.contains(text),
        Expect::NoText(text) => !seen.text.contains(text),
        Expect::Marks => marks(folder, case)
            .iter()
            .all(|mark| seen.text.contains(mark.as_str())),
        Expect::Labels(expected) => labels().eq(expected.iter().copied()),
        Expect::Leads(label, path) => candidate(label)
            .and_then(|candidate| candidate.href.as_ref())
            .is_some_and(|href| href.as_str().ends_with(path)),
        Expect::Under(label, context) => {
            candidate(label).is_some_and(|candidate| candidate.context == context)
        }
        Expect::NoLabel(label) => labels().all(|known| known != label),
        Expect::Candidates(count) => seen.candidates.len() == count,
        Expect::LabelChars(most) => labels().all(|label| label.chars().count() <= most),
        Expect::Path(path) => seen.url.ends_with(path),
        Expect::Refused(count) => seen.omitted.refused_links == count,
        Expect::Omitted(least) => seen.omitted.candidates >= least,
        Expect::Frames(count) => seen.omitted.frames == count,
        Expect::ShadowRoots(count) => seen.omitted.shadow_roots == count,
        Expect::BadNodes(least) => seen.omitted.bad_nodes >= least,
        Expect::Rest(settled) => seen.settled == settled,
    }
}

/// The words of the page's file that begin with `SEEN-`.
fn marks(folder: &Path, case: &PageCase) -> Vec<String> {
    let text = fs::read_to_string(folder.join(format!("{}.html", case.name))).unwrap_or_default();
    text.match_indices("SEEN-")
        .filter_map(|(at, _)| {
            let rest = text.get(at..)?;
            let end = rest
                .find(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
                .unwrap_or(rest.len());
            rest.get(..end).map(str::to_owned)
        })
        .collect()
}

fn shown(seen: &Snapshot) -> String {
    let text: String = seen.text.chars().take(1500).collect();
    let candidates: Vec<_> = seen
        .candidates
        .iter()
        .take(15)
        .map(|candidate| (&candidate.label, &candidate.context, candidate.placement))
        .collect();
    format!(
        "`{}` {} {:?} {:?} {} candidates {candidates:?} text {text:?}",
        seen.title,
        seen.url,
        seen.settled,
        seen.omitted,
        seen.candidates.len()
    )
}
