//! Many sessions in a row, each ended in one of the ways a session can end: closed after reloads,
//! dropped, given up while opening, hung, crashed, its tab's process or the whole browser killed.
//! Nothing may be left of any of them, and memory must stay flat.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use jev_core::access::{AccessList, CanonicalUrl};
use jev_core::action::Action;
use jev_core::contract::Reach;
use jev_core::error::SessionError;
use jev_core::ids::{IntentId, Scope};
use jev_core::permit::Permit;
use jev_core::policy::{ActionPolicy, Permission};
use jev_core::ports::{CloseOutcome, OpenRequest, Session};
use jev_core::receipt::{AppliedEffect, Receipt};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use super::server::{Reply, Server};
use super::traces::{Held, Process, family, is_there};
use crate::factory::{CdpSessionFactory, Keep, SessionOptions};
use crate::find::Preference;
use crate::session::CdpSession;

/// Bound of one call. Generous, for the machine may be busy.
const BOUND: Duration = Duration::from_secs(30);
/// How long something may take to be gone. Idle threads of the runtime end after ten seconds.
const GONE: Duration = Duration::from_secs(20);
/// How far our memory may grow from the second quarter to the last: by a tenth and this, in KiB.
const GROWTH_KIB: u64 = 6 * 1024;

/// What is played.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Decides every round.
    pub seed: u64,
    /// How many.
    pub rounds: u32,
    /// Which build.
    pub preference: Preference,
}

/// How a round's session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    /// Closed after some reloads.
    Reloads,
    /// Its tab crashes.
    Crash,
    /// Its tab's process is killed.
    KilledTab,
    /// The browser is killed; only in the first half, so that one browser lives through the second.
    KilledBrowser,
    /// It is dropped without being closed.
    Dropped,
    /// Another is given up while it is being opened.
    GivenUp,
    /// Its page hangs, and it is closed.
    Hung,
}

/// What was seen.
#[derive(Clone, Debug, Default)]
pub struct Endured {
    /// Rounds by their ending.
    pub rounds: BTreeMap<Ending, u32>,
    /// Browsers that were started.
    pub browsers: usize,
    /// Processes that were seen.
    pub processes: usize,
    /// What this process held before and after.
    pub held: Option<(Held, Held)>,
    /// Our smallest resident memory in each quarter, in KiB.
    pub resident_kib: [u64; 4],
    /// Resident memory of the last browser's main process, young and at the end, in KiB.
    pub browser_kib: Option<(u64, u64)>,
    /// What was wrong; empty when nothing was left.
    pub faults: Vec<String>,
}

/// Plays a plan.
pub async fn endure(plan: Plan) -> Endured {
    let mut seen = Endured::default();
    let Ok(site) = site().await else {
        seen.faults.push("no test server".to_owned());
        return seen;
    };
    let factory = CdpSessionFactory::new(SessionOptions {
        keep: Keep::UntilClosed,
        preference: plan.preference,
        ..SessionOptions::default()
    });
    let mut run = Run {
        factory,
        site,
        chance: Chance(plan.seed),
        processes: BTreeSet::new(),
        folders: BTreeSet::new(),
        browsers: BTreeSet::new(),
    };
    let before = Held::now();
    let mut young = None;
    for round in 0..plan.rounds {
        let half = if round < plan.rounds / 2 {
            Half::First
        } else {
            Half::Second
        };
        let ending = run.chance.ending(half);
        *seen.rounds.entry(ending).or_default() += 1;
        if let Err(what) = run.round(ending).await {
            seen.faults
                .push(format!("round {round} {ending:?}: {what}"));
        }
        let quarter = usize::try_from(u64::from(round) * 4 / u64::from(plan.rounds)).unwrap_or(0);
        if let Some(least) = seen.resident_kib.get_mut(quarter) {
            let now = Held::now().resident_kib;
            *least = if *least == 0 { now } else { now.min(*least) };
        }
        if round == plan.rounds / 2 + plan.rounds / 10 {
            young = run.browser_kib().await;
        }
    }
    seen.browser_kib = young.zip(run.browser_kib().await);
    run.end(&mut seen, before).await;
    let [_, second, _, last] = seen.resident_kib;
    if last > second + second / 10 + GROWTH_KIB {
        seen.faults
            .push(format!("memory grew from {second} to {last} KiB"));
    }
    seen
}

async fn site() -> std::io::Result<Server> {
    Server::start(|asked| match asked.target.as_str() {
        "/loop" => Reply::of(
            "text/html",
            "<title>Loop</title><script>for (;;) {}</script>",
        ),
        _ => Reply::of(
            "text/html",
            "<title>Page</title><p>A page with a <a href=/next>link</a>\
             <script>document.cookie = 'a=b'; localStorage.x = 'y'.repeat(9999)</script>",
        ),
    })
    .await
}

/// The half of the rounds.
#[derive(Clone, Copy, Debug)]
enum Half {
    /// Browsers may be killed.
    First,
    /// They may not, so that what grows in one that lives long is seen.
    Second,
}

/// Numbers drawn from a seed (splitmix64).
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end.max(1)
    }

    fn ending(&mut self, half: Half) -> Ending {
        let end = match half {
            Half::First => 11,
            Half::Second => 9,
        };
        match self.below(end) {
            0..=2 => Ending::Reloads,
            3 => Ending::Dropped,
            4 => Ending::GivenUp,
            5 => Ending::Hung,
            6 | 7 => Ending::Crash,
            8 => Ending::KilledTab,
            _ => Ending::KilledBrowser,
        }
    }
}

struct Run {
    factory: CdpSessionFactory,
    site: Server,
    chance: Chance,
    /// Everything that a browser of ours ever had running.
    processes: BTreeSet<Process>,
    folders: BTreeSet<PathBuf>,
    browsers: BTreeSet<Process>,
}

impl Run {
    fn request(&self, path: &str) -> Option<OpenRequest> {
        let origin = self.site.origin();
        Some(OpenRequest {
            scope: Scope::new("endurance", "session", "tab").ok()?,
            start: CanonicalUrl::parse(&format!("{origin}{path}")).ok()?,
            access: AccessList::parse([origin.as_str()]).ok()?,
            actions: ActionPolicy {
                reload: Permission::Allowed,
                ..ActionPolicy::read_only()
            },
            reach: Reach::Document,
        })
    }

    async fn open(&self, path: &str) -> Result<CdpSession, String> {
        let request = self.request(path).ok_or("a bad request")?;
        let opened = self.factory.open_session(request, BOUND).await;
        opened.map_err(|error| format!("not opened: {error}"))
    }

    /// Takes note of everything that the browser has running now.
    async fn take_note(&mut self) -> Option<u32> {
        let browser = self.factory.running().await?;
        let pid = browser.pid()?;
        self.folders.extend(browser.profile().map(PathBuf::from));
        self.browsers.extend(Process::of(pid));
        self.processes.extend(family(pid));
        Some(pid)
    }

    async fn browser_kib(&self) -> Option<u64> {
        let browser = self.factory.running().await?;
        Process::of(browser.pid()?)?.resident_kib()
    }

    async fn round(&mut self, ending: Ending) -> Result<(), String> {
        let hung = ending == Ending::Hung;
        let session = self.open(if hung { "/loop" } else { "/" }).await?;
        let pid = self.take_note().await.ok_or("no browser")?;
        match ending {
            Ending::Reloads => {
                for _ in 0..=self.chance.below(3) {
                    let page = session.observe(BOUND).await.map_err(says)?;
                    let permit = Permit::for_testing(IntentId(1), &page, Action::Reload);
                    let receipt = session.dispatch(permit, BOUND).await;
                    same(receipt, Ok(Receipt::Applied(AppliedEffect::Navigated)))?;
                }
                close(&session).await?;
            }
            Ending::Crash => {
                session.crash(BOUND).await;
                same(
                    session.observe(BOUND).await.map(drop),
                    Err(SessionError::Crashed),
                )?;
                close(&session).await?;
            }
            Ending::KilledTab => {
                let tabs = family(pid);
                let tabs = tabs
                    .iter()
                    .filter(|process| process.was_told("--type=renderer"));
                tabs.for_each(|process| kill(process.pid));
                same(fails(&session).await, Err(SessionError::Crashed))?;
                close(&session).await?;
            }
            Ending::KilledBrowser => {
                let all = family(pid);
                kill(pid);
                same(fails(&session).await, Err(SessionError::Disconnected))?;
                session.close(BOUND).await;
                drop(session);
                gone("a killed browser", || {
                    !all.iter().any(|process| process.exists())
                })
                .await?;
                return Ok(());
            }
            Ending::Dropped => drop(session),
            Ending::GivenUp => {
                let patience = Duration::from_millis(self.chance.below(60));
                let request = self.request("/").ok_or("a bad request")?;
                let opening = self.factory.open_session(request, BOUND);
                drop(timeout(patience, opening).await);
                close(&session).await?;
            }
            Ending::Hung => {
                let patience = Duration::from_millis(100);
                drop(timeout(patience, session.observe(BOUND)).await);
                close(&session).await?;
            }
        }
        self.no_context().await
    }

    /// Waits until the browser holds no context of ours.
    async fn no_context(&self) -> Result<(), String> {
        let browser = self.factory.running().await.ok_or("no browser")?;
        let end = Instant::now() + GONE;
        loop {
            let asked = browser
                .connection()
                .call(None, "Target.getBrowserContexts", json!({}), BOUND)
                .await
                .map_err(says)?;
            let contexts = asked.get("browserContextIds").and_then(Value::as_array);
            match contexts.map_or(0, Vec::len) {
                0 => return Ok(()),
                left if Instant::now() > end => return Err(format!("{left} contexts left")),
                _ => sleep(Duration::from_millis(5)).await,
            }
        }
    }

    /// Ends the browser and looks for what is left.
    async fn end(self, seen: &mut Endured, before: Held) {
        seen.browsers = self.browsers.len();
        seen.processes = self.processes.len();
        let outcome = self.factory.close(BOUND).await;
        if !matches!(outcome, CloseOutcome::Clean | CloseOutcome::AlreadyClosed) {
            seen.faults
                .push(format!("the browser ended as {outcome:?}"));
        }
        drop(self.factory);
        let left = || self.processes.iter().filter(|process| process.exists());
        if gone("processes", || left().count() == 0).await.is_err() {
            seen.faults
                .push(format!("left running: {:?}", left().collect::<Vec<_>>()));
        }
        let left = || self.folders.iter().filter(|folder| is_there(folder));
        if gone("folders", || left().count() == 0).await.is_err() {
            seen.faults.push(format!("{} folders left", left().count()));
        }
        // The pipes of the last browser and the runtime's idle threads take their time.
        let settled = || {
            let now = Held::now();
            now.threads <= before.threads && now.files <= before.files
        };
        let held = gone("threads or files", settled).await;
        let after = Held::now();
        if held.is_err() {
            seen.faults
                .push(format!("held before {before:?}, after {after:?}"));
        }
        seen.held = Some((before, after));
    }
}

/// Reads until it fails.
async fn fails(session: &CdpSession) -> Result<(), SessionError> {
    let end = Instant::now() + GONE;
    while Instant::now() < end {
        session.observe(BOUND).await?;
    }
    Ok(())
}

async fn close(session: &CdpSession) -> Result<(), String> {
    let report = session.close(BOUND).await;
    same(report.outcome, CloseOutcome::Clean)?;
    same(report.network.breaches, 0)
}

async fn gone(what: &str, is_gone: impl Fn() -> bool) -> Result<(), String> {
    let end = Instant::now() + GONE;
    while !is_gone() {
        if Instant::now() > end {
            return Err(format!("{what} left"));
        }
        sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}

fn kill(pid: u32) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid {
        // It may be gone already, which is as good.
        let _ = kill_process(pid, Signal::KILL);
    }
}

fn same<T: PartialEq + std::fmt::Debug>(seen: T, expected: T) -> Result<(), String> {
    if seen == expected {
        Ok(())
    } else {
        Err(format!("expected {expected:?}, got {seen:?}"))
    }
}

fn says(error: impl std::fmt::Display) -> String {
    error.to_string()
}
