//! Starting and ending real browsers: nothing stays behind, whoever dies.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests may fail loudly"
)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use jev_core::access::AccessList;
use jev_core::error::Sent;
use jev_core::ports::CloseOutcome;
use jev_session_cdp::error::{CdpError, LaunchError};
use jev_session_cdp::find::Preference;
use jev_session_cdp::isolation::{IsolationState, NetworkDevice, isolation_state};
use jev_session_cdp::launch::{Browser, LaunchOptions};
use jev_session_cdp::network::policy::TabPolicy;
use jev_session_cdp::tab::{Tab, WorldScript};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

const BOUND: Duration = Duration::from_secs(30);
const GRACE: Duration = Duration::from_secs(10);
const WORLD: WorldScript = WorldScript {
    name: "test",
    source: "0",
};
/// Tells this test binary, started by itself, to hold a browser until it is killed.
const HOLD: &str = "JEV_TEST_HOLD_A_BROWSER";

const BOTH: [Preference; 2] = [Preference::Shell, Preference::Full];

async fn launch(preference: Preference) -> Browser {
    let options = LaunchOptions {
        preference,
        deadline: BOUND,
        ..LaunchOptions::default()
    };
    match Browser::launch(options).await {
        Ok(browser) => browser,
        Err(error) => panic!("{error}"),
    }
}

async fn tab(browser: &Browser) -> Tab {
    let access = AccessList::parse(["http://127.0.0.1:1"]).unwrap();
    browser
        .new_tab(TabPolicy::new(access), WORLD, BOUND)
        .await
        .unwrap()
}

/// Living processes that were started for this profile; dead ones that nobody reaped count too.
fn processes_of(profile: &Path) -> Vec<String> {
    let needle = profile.to_string_lossy().into_owned();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter_map(|entry| {
            let line = fs::read_to_string(entry.path().join("cmdline")).ok()?;
            line.contains(&needle)
                .then(|| format!("{:?} {}", entry.file_name(), line.replace('\0', " ")))
        })
        .collect()
}

fn is_process(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// Waits until a condition holds, with a bound.
async fn until(what: &str, bound: Duration, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + bound;
    while !condition() {
        assert!(Instant::now() < deadline, "not within {bound:?}: {what}");
        sleep(Duration::from_millis(5)).await;
    }
}

fn kill(pid: u32) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_browsers_leave_nothing() {
    for round in 0..50 {
        let browser = launch(BOTH[usize::from(round % 10 == 9)]).await;
        let (pid, profile) = (
            browser.pid().unwrap(),
            browser.profile().unwrap().to_path_buf(),
        );
        assert!(profile.is_dir());
        let tab = tab(&browser).await;
        if round % 2 == 0 {
            assert_eq!(tab.close(GRACE).await, CloseOutcome::Clean);
            assert_eq!(tab.close(GRACE).await, CloseOutcome::AlreadyClosed);
        }
        assert_eq!(browser.close(GRACE).await, CloseOutcome::Clean);
        assert!(!profile.exists(), "round {round}");
        assert!(!is_process(pid), "round {round}");
        until("children gone", GRACE, || processes_of(&profile).is_empty()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_profile_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let browser = launch(Preference::Shell).await;
    let mode = browser
        .profile()
        .unwrap()
        .metadata()
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
    browser.close(GRACE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hung_browser_is_killed_from_outside() {
    for preference in BOTH {
        let browser = launch(preference).await;
        let _tab = tab(&browser).await;
        let (pid, profile) = (
            browser.pid().unwrap(),
            browser.profile().unwrap().to_path_buf(),
        );
        let stopped = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        kill_process(stopped, Signal::STOP).unwrap();
        let outcome = browser.close(Duration::from_millis(200)).await;
        assert_eq!(outcome, CloseOutcome::Killed);
        assert!(!profile.exists());
        assert!(!is_process(pid));
        until("children gone", GRACE, || processes_of(&profile).is_empty()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_browser_dies() {
    let browser = launch(Preference::Shell).await;
    let tab = tab(&browser).await;
    let (pid, profile) = (
        browser.pid().unwrap(),
        browser.profile().unwrap().to_path_buf(),
    );
    drop(browser);
    let gone = || !is_process(pid) && !profile.exists();
    until("the browser gone", GRACE, gone).await;
    assert_eq!(tab.close(GRACE).await, CloseOutcome::Clean);
}

#[test]
fn a_browser_dies_with_its_runtime() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (pid, profile) = runtime.block_on(async {
        let browser = launch(Preference::Shell).await;
        let of = (
            browser.pid().unwrap(),
            browser.profile().unwrap().to_path_buf(),
        );
        // As when `main` returns early: nobody closes it, nothing runs its destructor's task.
        std::mem::forget(browser);
        of
    });
    drop(runtime);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let dead = || processes_of(&profile).is_empty();
        until("the browser dead", GRACE, dead).await;
        // Children may have written after the one try that was possible; then the next start
        // removes it.
        launch(Preference::Shell).await.close(GRACE).await;
        until("the profile gone", GRACE, || !profile.exists()).await;
        assert!(!is_process(pid));
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_browser_fails_its_calls_at_once() {
    for preference in BOTH {
        let browser = launch(preference).await;
        let tab = tab(&browser).await;
        let profile = browser.profile().unwrap().to_path_buf();
        let endless = json!({"expression": "new Promise(() => {})", "awaitPromise": true});
        let call = tab
            .connection()
            .send(Some(tab.session()), "Runtime.evaluate", endless);
        let version = json!({});
        let connection = tab.connection();
        connection
            .call(None, "Browser.getVersion", version.clone(), BOUND)
            .await
            .unwrap();
        let at = Instant::now();
        kill(browser.pid().unwrap());
        let sent = Sent::Maybe;
        assert_eq!(call.wait(BOUND).await, Err(CdpError::Disconnected { sent }));
        assert!(at.elapsed() < Duration::from_secs(5));
        let sent = Sent::SurelyNot;
        assert_eq!(
            connection
                .call(None, "Browser.getVersion", version, BOUND)
                .await,
            Err(CdpError::Disconnected { sent })
        );
        assert_eq!(tab.close(GRACE).await, CloseOutcome::Clean);
        browser.close(GRACE).await;
        assert!(!profile.exists());
        until("children gone", GRACE, || processes_of(&profile).is_empty()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crashed_tab_fails_its_calls_and_no_other() {
    for preference in BOTH {
        let browser = launch(preference).await;
        let (crashing, other) = (tab(&browser).await, tab(&browser).await);
        let call = |tab: &Tab, method: &str, params: Value| {
            tab.connection().send(Some(tab.session()), method, params)
        };
        let endless = json!({"expression": "new Promise(() => {})", "awaitPromise": true});
        let pending = call(&crashing, "Runtime.evaluate", endless);
        let crash = call(&crashing, "Page.crash", json!({}));
        assert!(matches!(
            pending.wait(BOUND).await,
            Err(CdpError::TargetGone { sent: Sent::Maybe })
        ));
        assert!(crash.wait(BOUND).await.is_err());
        let sent = Sent::SurelyNot;
        assert_eq!(
            call(&crashing, "Runtime.evaluate", json!({"expression": "1"}))
                .wait(BOUND)
                .await,
            Err(CdpError::TargetGone { sent })
        );
        let alive = call(&other, "Runtime.evaluate", json!({"expression": "6*7"}));
        let answer = alive.wait(BOUND).await.unwrap();
        assert_eq!(answer.pointer("/result/value"), Some(&json!(42)));
        assert_eq!(crashing.close(GRACE).await, CloseOutcome::Clean);
        assert_eq!(other.close(GRACE).await, CloseOutcome::Clean);
        assert_eq!(browser.close(GRACE).await, CloseOutcome::Clean);
    }
}

/// The other half of the next test: held open until it is killed. By itself it only shows that a
/// browser starts.
#[tokio::test(flavor = "multi_thread")]
async fn holds_a_browser() {
    let preference = match std::env::var(HOLD).as_deref() {
        Ok("full") => Preference::Full,
        Ok(_) | Err(_) => Preference::Shell,
    };
    let browser = launch(preference).await;
    let _tab = tab(&browser).await;
    if std::env::var_os(HOLD).is_some() {
        println!(
            "HELD {} {}",
            browser.pid().unwrap(),
            browser.profile().unwrap().display()
        );
        std::future::pending::<()>().await;
    }
    browser.close(GRACE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn when_we_are_killed_the_browser_dies_and_the_next_start_sweeps() {
    for flavour in ["shell", "full"] {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "holds_a_browser", "--nocapture"])
            .env(HOLD, flavour)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let line = output
            .lines()
            .map_while(Result::ok)
            .find(|line| line.contains("HELD "))
            .unwrap();
        let line = line.split_once("HELD ").unwrap().1;
        let (pid, profile) = line.split_once(' ').unwrap();
        let (pid, profile): (u32, PathBuf) = (pid.parse().unwrap(), profile.into());
        assert!(is_process(pid) && profile.is_dir());
        kill(child.id());
        child.wait().unwrap();
        let dead = || processes_of(&profile).is_empty();
        until("the browser dead", Duration::from_secs(5), dead).await;

        launch(Preference::Shell).await.close(GRACE).await;
        until("the profile swept", GRACE, || !profile.exists()).await;
    }
}

/// The other half of the next test, which gives it a folder for temporary files of its own.
#[tokio::test(flavor = "multi_thread")]
async fn starts_what_does_not_start() {
    let folder = tempfile::tempdir().unwrap();
    let broken = folder.path().join("broken");
    fs::write(&broken, "#!/nowhere/interpreter\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    fs::set_permissions(&broken, mode).unwrap();
    let broken = broken.to_string_lossy().into_owned();
    for program in ["/nowhere/chrome", "/etc/passwd", "/bin/true", &broken] {
        for device in [NetworkDevice::Keep, NetworkDevice::NoneIfPossible] {
            let options = LaunchOptions {
                program: Some(program.into()),
                device,
                ..LaunchOptions::default()
            };
            let error = Browser::launch(options).await.unwrap_err();
            let told = match (program, device) {
                // It starts and ends at once.
                ("/bin/true", _) => matches!(error, LaunchError::NoAnswer { .. }),
                ("/nowhere/chrome" | "/etc/passwd", _) => {
                    matches!(error, LaunchError::NotExecutable { .. })
                }
                (_, NetworkDevice::Keep) => matches!(error, LaunchError::Spawn(_)),
                // What takes the device away may start, and then can't start it.
                (_, NetworkDevice::NoneIfPossible) => {
                    matches!(error, LaunchError::Spawn(_) | LaunchError::NoAnswer { .. })
                }
            };
            assert!(told, "{program} {device:?}: {error}");
        }
    }
}

#[test]
fn what_does_not_start_is_told_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let ran = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "starts_what_does_not_start"])
        .env("TMPDIR", folder.path())
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_that_never_answers_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("chrome");
    fs::write(&script, "#!/bin/sh\necho quite hung >&2\nexec sleep 1000\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    fs::set_permissions(&script, mode).unwrap();
    let options = LaunchOptions {
        program: Some(script),
        deadline: Duration::from_millis(300),
        ..LaunchOptions::default()
    };
    match Browser::launch(options).await {
        Err(LaunchError::NoAnswer { error, stderr }) => {
            assert!(matches!(error, CdpError::Timeout { .. }));
            assert_eq!(stderr, "quite hung");
        }
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("started"),
    }
}

/// What the system itself says, without the code under test: a program is started without a network
/// device, or it is not.
fn allowed_by_the_system() -> IsolationState {
    let mut unshare = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        unshare.args(["--user", "--map-current-user"]);
    }
    match unshare.args(["--net", "true"]).output() {
        Ok(ran) if ran.status.success() => IsolationState::NoDevice,
        Ok(_) | Err(_) => IsolationState::Unavailable,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_wall_stands_where_the_system_allows_it() {
    let possible = allowed_by_the_system();
    assert_eq!(isolation_state().await, possible);
    let browser = launch(Preference::Shell).await;
    assert_eq!(browser.isolation(), possible);
    let namespace = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/net")).unwrap();
    let apart = namespace("self") != namespace(&browser.pid().unwrap().to_string());
    assert_eq!(apart, possible == IsolationState::NoDevice);
    let tab = tab(&browser).await;
    let online = json!({"expression": "navigator.onLine"});
    let answer = tab
        .connection()
        .call(Some(tab.session()), "Runtime.evaluate", online, BOUND)
        .await
        .unwrap();
    assert_eq!(answer.pointer("/result/value"), Some(&json!(true)));
    browser.close(GRACE).await;

    let options = LaunchOptions {
        device: NetworkDevice::Keep,
        ..LaunchOptions::default()
    };
    let browser = Browser::launch(options).await.unwrap();
    assert_eq!(browser.isolation(), IsolationState::NotWanted);
    assert_eq!(
        namespace("self"),
        namespace(&browser.pid().unwrap().to_string())
    );
    browser.close(GRACE).await;
}
