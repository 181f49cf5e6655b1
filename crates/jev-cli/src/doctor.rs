//! `jev doctor`: checks everything a run needs, and says what is missing and how to get it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use jev_agent::config::{Config, FILE_NAME, JudgeSettings, SourceSettings};
use jev_core::contract::Mode;
use jev_judge::credential::Credential;
use jev_judge::probe::{ProbeVerdict, probe};
use jev_judge::spec::JudgeSpec;
use jev_session_cdp::find::Preference;
use jev_session_cdp::flags::SandboxState;
use jev_session_cdp::isolation::IsolationState;
use jev_session_cdp::launch::{Browser, LaunchOptions};
use jev_verify::Criteria;
use serde::{Serialize, Serializer};

use crate::error::UsageError;
use crate::exit_code::Exit;
use crate::mcp::preference;
use crate::output::{Form, ms};
use crate::story::clean;

/// How long the judge may take over its tiny question.
const JUDGE_PATIENCE: Duration = Duration::from_secs(15);

/// How long a browser may take to end.
const CLOSE_GRACE: Duration = Duration::from_secs(2);

/// Most characters of one finding.
const SHOWN: usize = 400;

/// `jev doctor`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 all is well (there may be warnings); 2 the configuration; 5 the judge or its key;
6 the browser.")]
pub(crate) struct DoctorArgs {
    /// The host's configuration. Default: jev.toml here, when there is one.
    #[arg(long, value_name = "FILE", env = "JEV_CONFIG")]
    pub config: Option<PathBuf>,
    /// The browser to check instead of the configuration's.
    #[arg(long, value_name = "PATH")]
    pub chrome: Option<PathBuf>,
    /// Print one JSON object instead of lines.
    #[arg(long)]
    pub json: bool,
}

/// What came of one check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// In order.
    Ok,
    /// It works, and you should know something.
    Warning,
    /// It does not work; a run that needs it ends so.
    Failed(Exit),
}

impl Outcome {
    const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "WARNING",
            Self::Failed(_) => "FAILED",
        }
    }
}

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Failed(_) => "failed",
        })
    }
}

/// One check.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Check {
    /// What was looked at.
    pub name: String,
    /// What came of it.
    pub outcome: Outcome,
    /// What was found, and the way out when it failed. Never a key.
    pub says: String,
}

impl Check {
    fn new(name: impl Into<String>, outcome: Outcome, says: impl fmt::Display) -> Self {
        Self {
            name: name.into(),
            outcome,
            says: clean(&says.to_string(), SHOWN),
        }
    }
}

#[derive(Serialize)]
struct Findings<'a> {
    ok: bool,
    version: &'static str,
    checks: &'a [Check],
}

/// Runs the command.
pub(crate) fn doctor(args: &DoctorArgs) -> Result<Exit, UsageError> {
    let mut checks = Vec::new();
    let file = args.config.clone().unwrap_or_else(|| FILE_NAME.into());
    let config = match (&args.config, file.is_file()) {
        (None, false) => {
            let says = format!("there is no {FILE_NAME} here; `jev init` writes one");
            checks.push(Check::new("configuration", Outcome::Warning, says));
            Config::default()
        }
        (Some(_), _) | (None, true) => match Config::load(&file) {
            Ok(config) => {
                checks.push(configuration(&file, &config));
                config
            }
            Err(error) => {
                let failed = Outcome::Failed(Exit::Usage);
                checks.push(Check::new("configuration", failed, error));
                // The rest is checked as if nothing had been said, so that one round shows all.
                Config::default()
            }
        },
    };
    let runtime = tokio::runtime::Runtime::new().map_err(UsageError::Runtime)?;
    let chrome = args.chrome.as_ref().or(config.browser.chrome.as_ref());
    checks.extend(runtime.block_on(examine(&config, chrome.map(PathBuf::as_path))));
    crate::ending::end(runtime);
    Ok(tell(&checks, Form::from(args.json)))
}

/// Every check that a configuration which can be read calls for.
pub(crate) async fn examine(config: &Config, chrome: Option<&Path>) -> Vec<Check> {
    let mut checks = browser(chrome, preference(config.browser.build)).await;
    let (key, usable) = key(&config.judge.credential());
    checks.push(key);
    if usable {
        checks.push(judge(&config.judge).await);
    }
    checks.extend(config.sources.iter().map(source));
    checks
}

/// Prints the checks; the exit code is that of the first failure.
pub(crate) fn tell(checks: &[Check], form: Form) -> Exit {
    let failure = checks.iter().find_map(|check| match check.outcome {
        Outcome::Failed(exit) => Some(exit),
        Outcome::Ok | Outcome::Warning => None,
    });
    if form == Form::Json {
        let findings = Findings {
            ok: failure.is_none(),
            version: env!("CARGO_PKG_VERSION"),
            checks,
        };
        say!("{}", serde_json::to_string(&findings).unwrap_or_default());
    } else {
        for check in checks {
            say!(
                "{:<8} {:<14} {}",
                check.outcome.word(),
                check.name,
                check.says
            );
        }
    }
    failure.unwrap_or(Exit::Success)
}

fn configuration(file: &Path, config: &Config) -> Check {
    let shown = file.display();
    let digest = config.digest();
    let digest = digest.as_str();
    if config.sources.is_empty() {
        let says = format!("{shown} has no [[source]]: `jev mcp` has nothing to offer");
        return Check::new("configuration", Outcome::Warning, says);
    }
    match config.read.mode {
        Mode::Off => Check::new(
            "configuration",
            Outcome::Warning,
            format!(
                "{shown} ({digest}): the mode is off, so a call reads the start page once and follows nothing"
            ),
        ),
        Mode::Shadow | Mode::Enforce => {
            Check::new("configuration", Outcome::Ok, format!("{shown} ({digest})"))
        }
    }
}

async fn browser(chrome: Option<&Path>, preference: Preference) -> Vec<Check> {
    let began = Instant::now();
    let options = LaunchOptions {
        program: chrome.map(Path::to_path_buf),
        preference,
        ..LaunchOptions::default()
    };
    let browser = match Browser::launch(options).await {
        Ok(browser) => browser,
        Err(error) => {
            return vec![Check::new("browser", Outcome::Failed(Exit::Browser), error)];
        }
    };
    let place = browser
        .chrome()
        .map(|chrome| format!(" at {}", chrome.program.display()));
    let says = format!(
        "{}{}, started in {} ms",
        browser.version(),
        place.unwrap_or_default(),
        ms(began.elapsed()),
    );
    let mut checks = vec![Check::new("browser", Outcome::Ok, says)];
    checks.extend(browser.sandbox().map(|sandbox| match sandbox {
        SandboxState::On => Check::new("sandbox", Outcome::Ok, "Chrome's own sandbox is on"),
        SandboxState::OffAsRoot => Check::new(
            "sandbox",
            Outcome::Warning,
            "CHROME'S OWN SANDBOX IS OFF, BECAUSE THIS RUNS AS ROOT: a page that breaks into the \
             renderer has root's rights. Run jev as another user.",
        ),
    }));
    checks.push(match browser.isolation() {
        IsolationState::NoDevice => Check::new(
            "network",
            Outcome::Ok,
            "the browser has no network device; what is allowed is fetched for it",
        ),
        IsolationState::Unavailable | IsolationState::NotWanted => Check::new(
            "network",
            Outcome::Warning,
            "what is allowed is fetched for the browser; the second wall, a browser without any \
             network device, is not to be had here (it needs Linux, util-linux and user namespaces)",
        ),
    });
    browser.close(CLOSE_GRACE).await;
    checks
}

/// Whether the key is there, and whether asking the judge makes sense.
fn key(credential: &Credential) -> (Check, bool) {
    let (outcome, says) = match (credential, credential.read()) {
        (Credential::None, Ok(_)) => (Outcome::Ok, "none is needed".to_owned()),
        (_, Ok(Some(_))) => (Outcome::Ok, format!("there, from {}", place(credential))),
        (_, Ok(None)) => (
            Outcome::Ok,
            format!("none in {}; none is sent", place(credential)),
        ),
        (_, Err(error)) => (Outcome::Failed(Exit::Judge), error.to_string()),
    };
    let usable = outcome == Outcome::Ok;
    (Check::new("key", outcome, says), usable)
}

fn place(credential: &Credential) -> String {
    match credential {
        Credential::None => "nowhere".to_owned(),
        Credential::Given { .. } => "the program itself".to_owned(),
        Credential::OptionalEnvironment { variable } | Credential::Environment { variable } => {
            format!("the variable {variable}")
        }
        Credential::Dotenv { file, variable } => format!("{variable} in {}", file.display()),
    }
}

async fn judge(settings: &JudgeSettings) -> Check {
    let failed = Outcome::Failed(Exit::Judge);
    let judge = match settings.build() {
        Ok(judge) => judge,
        Err(error) => return Check::new("judge", failed, error),
    };
    let identity = judge.identity();
    let model = identity.model.map(|model| format!(", {model}"));
    let named = format!("{}{}", identity.name, model.unwrap_or_default());
    if writes(&settings.spec) {
        // A question would be written into the cassette.
        return Check::new(
            "judge",
            Outcome::Ok,
            format!("{named}; not asked, it records"),
        );
    }
    match probe(judge.as_ref(), JUDGE_PATIENCE).await {
        Err(error) => Check::new("judge", failed, format!("{named}: {error}")),
        Ok(found) => {
            let took = ms(found.elapsed);
            match (found.verdict, scripted(&settings.spec)) {
                (ProbeVerdict::Right, _) => Check::new(
                    "judge",
                    Outcome::Ok,
                    format!("{named}: answered a tiny question rightly in {took} ms"),
                ),
                (ProbeVerdict::Wrong, true) => Check::new(
                    "judge",
                    Outcome::Ok,
                    format!("{named}: answers as its script says"),
                ),
                (ProbeVerdict::Wrong, false) => Check::new(
                    "judge",
                    Outcome::Warning,
                    format!("{named}: answered in order in {took} ms, but wrongly"),
                ),
            }
        }
    }
}

fn writes(spec: &JudgeSpec) -> bool {
    matches!(spec, JudgeSpec::Record { .. })
}

fn scripted(spec: &JudgeSpec) -> bool {
    matches!(spec, JudgeSpec::Scripted { .. })
}

fn source(source: &SourceSettings) -> Check {
    let name = format!("source {}", source.name);
    // A file with a start page outside its list is refused as a whole; looked at again here, so
    // that this holds for settings of any origin.
    if !source.access.allows(&source.start) {
        let says = format!("{} is not inside its own allow-list", source.start);
        return Check::new(name, Outcome::Failed(Exit::Usage), says);
    }
    let patterns = source.access.patterns().len();
    let inside = format!(
        "{} is inside its allow-list ({patterns} pattern(s))",
        source.start
    );
    match source.criteria() {
        Criteria::Evidence => Check::new(name, Outcome::Ok, inside),
        Criteria::None => Check::new(
            name,
            Outcome::Warning,
            format!("{inside}; without `expect` no run can end as VERIFIED"),
        ),
    }
}
