//! Starts a browser behind its boundary and ends it: `Browser::launch`, `Browser::close`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jev_core::ports::{CloseOutcome, NetworkCounts};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::attach::BoundaryKind;
use crate::connection::Connection;
use crate::error::{CdpError, LaunchError};
use crate::find::{Chrome, Preference, find};
use crate::flags::{SandboxState, Walls, Window, command_line, preferences, sandbox_state};
use crate::isolation::{IsolationState, NetworkDevice, probe};
use crate::network::boundary::{Boundary, hold_everything};
use crate::network::counters::NetworkCounters;
use crate::network::tripwire::Tripwire;
use crate::pool::Shelf;
use crate::process::{End, Plan, Supervisor};
use crate::profile::{Profile, sweep};
use crate::tab::Core;

/// How long a killed browser may take to be reaped and its folder to be removed.
const AFTER_KILL: Duration = Duration::from_secs(3);

/// How to start a browser.
#[derive(Clone, Debug)]
pub struct LaunchOptions {
    /// The program; none: searched for.
    pub program: Option<PathBuf>,
    /// Which build to take when both are found.
    pub preference: Preference,
    /// The window.
    pub window: Window,
    /// The second wall.
    pub device: NetworkDevice,
    /// How long it may take to start.
    pub deadline: Duration,
}

impl Default for LaunchOptions {
    fn default() -> Self {
        Self {
            program: None,
            preference: Preference::default(),
            window: Window::default(),
            device: NetworkDevice::default(),
            deadline: Duration::from_secs(10),
        }
    }
}

/// A browser of ours. Close it with [`Browser::close`]; dropped without, it is killed in the
/// background as far as the runtime still allows.
#[derive(Debug)]
pub struct Browser {
    pub(crate) core: Arc<Core>,
    pub(crate) shelf: Arc<Shelf>,
    version: String,
    /// None when somebody else started it.
    process: Option<Process>,
}

/// What is known of a browser that we started.
#[derive(Debug)]
struct Process {
    supervisor: Supervisor,
    chrome: Chrome,
    sandbox: SandboxState,
    isolation: IsolationState,
    _tripwire: Tripwire,
}

impl Browser {
    /// Finds and starts a browser, and puts its boundary up before anything else. Needs a tokio
    /// runtime. Folders that dead owners left behind are removed on the way.
    ///
    /// # Errors
    /// [`LaunchError`]; nothing is left running then.
    pub async fn launch(options: LaunchOptions) -> Result<Self, LaunchError> {
        Self::start(options, Walls::Up).await
    }

    /// Starts a browser that can reach the network by itself, to see that a hostile page is one.
    ///
    /// # Errors
    /// As [`Browser::launch`].
    #[cfg(feature = "testing")]
    pub async fn launch_without_boundary(options: LaunchOptions) -> Result<Self, LaunchError> {
        Self::start(options, Walls::Down).await
    }

    async fn start(options: LaunchOptions, walls: Walls) -> Result<Self, LaunchError> {
        let deadline = Instant::now() + options.deadline;
        let chrome = find(options.program.as_deref(), options.preference)?;
        // Beside the start, for it touches the disk and nothing waits for it.
        drop(tokio::task::spawn_blocking(sweep));
        let counters = Arc::new(NetworkCounters::default());
        let tripwire = Tripwire::set(Arc::clone(&counters), || None)
            .await
            .map_err(LaunchError::Boundary)?;
        let unshare = match walls {
            Walls::Up => match options.device {
                NetworkDevice::NoneIfPossible => probe().await,
                NetworkDevice::Keep => None,
            },
            Walls::Attached => None,
            #[cfg(feature = "testing")]
            Walls::Down => None,
        };
        // From here to its supervisor nothing waits: a start that is given up leaves no folder.
        let profile = Profile::create(preferences(walls)).map_err(LaunchError::Profile)?;
        let sandbox = sandbox_state();
        let arguments = command_line(
            chrome.flavour,
            &profile.data(),
            options.window,
            tripwire.port(),
            sandbox,
            walls,
        );
        let isolation = match (options.device, unshare) {
            (NetworkDevice::Keep, Some(_) | None) => IsolationState::NotWanted,
            (NetworkDevice::NoneIfPossible, Some(_)) => IsolationState::NoDevice,
            (NetworkDevice::NoneIfPossible, None) => IsolationState::Unavailable,
        };
        let (program, arguments) = match unshare {
            Some(unshare) => unshare.wrap(&chrome.program, arguments),
            None => (chrome.program.clone(), arguments),
        };
        let plan = Plan {
            program,
            arguments,
            profile,
        };
        let (supervisor, source, sink) = Supervisor::start(plan).map_err(LaunchError::Spawn)?;
        let connection = Connection::start(source, sink);
        let boundary = Boundary::new(connection.clone(), counters, walls);
        let events = connection.subscribe_root();
        let patience = deadline.saturating_duration_since(Instant::now());
        match raise(&connection, walls, patience).await {
            Ok(version) => {
                match walls {
                    Walls::Up | Walls::Attached => {
                        drop(tokio::spawn(Arc::clone(&boundary).run(events)))
                    }
                    #[cfg(feature = "testing")]
                    Walls::Down => drop(events),
                }
                let core = Arc::new(Core {
                    connection,
                    boundary,
                    walls,
                });
                Ok(Self {
                    shelf: Arc::new(Shelf::new(&core)),
                    core,
                    version,
                    process: Some(Process {
                        supervisor,
                        chrome,
                        sandbox,
                        isolation,
                        _tripwire: tripwire,
                    }),
                })
            }
            Err(error) => {
                supervisor.kill();
                // Bounded; what is left then is swept at the next start.
                supervisor.ended(AFTER_KILL).await;
                let stderr = supervisor.stderr();
                Err(LaunchError::NoAnswer { error, stderr })
            }
        }
    }

    /// The browser's protocol connection.
    #[must_use]
    pub fn connection(&self) -> &Connection {
        &self.core.connection
    }

    /// The browser's own words for its version, such as `Chrome/130.0`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// How strong its boundary is.
    #[must_use]
    pub fn boundary(&self) -> BoundaryKind {
        self.core.boundary.kind()
    }

    /// Which program runs; none when somebody else started it.
    #[must_use]
    pub fn chrome(&self) -> Option<&Chrome> {
        self.process.as_ref().map(|process| &process.chrome)
    }

    /// Whether Chrome's own sandbox is on; none when somebody else started it.
    #[must_use]
    pub fn sandbox(&self) -> Option<SandboxState> {
        self.process.as_ref().map(|process| process.sandbox)
    }

    /// Whether it has a network device.
    #[must_use]
    pub fn isolation(&self) -> IsolationState {
        self.process
            .as_ref()
            .map_or(IsolationState::NotWanted, |process| process.isolation)
    }

    /// The process number of the browser; none when somebody else started it.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        let process = self.process.as_ref();
        process.map(|process| process.supervisor.pid())
    }

    /// Its profile folder, gone when it is closed; none when somebody else started it.
    #[must_use]
    pub fn profile(&self) -> Option<&Path> {
        let process = self.process.as_ref();
        process.map(|process| process.supervisor.profile())
    }

    /// What the boundary counted outside of any tab. A breach here is no page's doing.
    #[must_use]
    pub fn counts(&self) -> NetworkCounts {
        self.core.boundary.counters.counts()
    }

    /// Asks the browser to end; when it has not within the grace, kills it from outside. Process
    /// and profile folder are gone afterwards, unless the outcome is [`CloseOutcome::Unanswered`].
    /// A browser that somebody else started is only let go of.
    pub async fn close(self, grace: Duration) -> CloseOutcome {
        self.end(grace).await
    }

    /// As [`Browser::close`], for one that somebody else may still hold a handle to.
    pub(crate) async fn end(&self, grace: Duration) -> CloseOutcome {
        self.shelf.clear();
        let outcome = match &self.process {
            Some(process) => self.end_process(&process.supervisor, grace).await,
            None => self.let_go(grace).await,
        };
        self.core.connection.shut();
        outcome
    }

    /// Has the process killed in the background, whoever still holds a handle.
    pub(crate) fn forsake(&self) {
        self.shelf.clear();
        if let Some(process) = &self.process {
            process.supervisor.kill();
        }
        self.core.connection.shut();
    }

    async fn end_process(&self, supervisor: &Supervisor, grace: Duration) -> CloseOutcome {
        self.core.connection.post(None, "Browser.close", json!({}));
        let ended = match supervisor.ended(grace).await {
            Some(ended) => Some(ended),
            None => {
                supervisor.kill();
                supervisor.ended(AFTER_KILL).await
            }
        };
        match ended.map(|ended| ended.how) {
            Some(End::Itself) => CloseOutcome::Clean,
            Some(End::Killed) => CloseOutcome::Killed,
            None => CloseOutcome::Unanswered,
        }
    }

    /// Waits until what was sent last has been done. What is left of our contexts then goes with
    /// the connection.
    async fn let_go(&self, grace: Duration) -> CloseOutcome {
        let connection = &self.core.connection;
        let barrier = connection.call(None, "Browser.getVersion", json!({}), grace);
        match barrier.await {
            Ok(_) => CloseOutcome::Clean,
            Err(CdpError::Disconnected { .. }) => CloseOutcome::AlreadyClosed,
            Err(
                CdpError::Refused { .. }
                | CdpError::Timeout { .. }
                | CdpError::TargetGone { .. }
                | CdpError::Malformed,
            ) => CloseOutcome::Unanswered,
        }
    }

    /// A browser that somebody else started.
    pub(crate) fn attached(
        connection: Connection,
        boundary: Arc<Boundary>,
        version: String,
    ) -> Self {
        let core = Arc::new(Core {
            connection,
            boundary,
            walls: Walls::Attached,
        });
        Self {
            shelf: Arc::new(Shelf::new(&core)),
            core,
            version,
            process: None,
        }
    }
}

impl Drop for Browser {
    /// Ends the connection. That alone ends an attached browser's contexts; a process of ours is
    /// killed by its supervisor.
    fn drop(&mut self) {
        self.core.connection.shut();
    }
}

/// Puts the boundary up; the calls travel together. The version is the first sign of life.
pub(crate) async fn raise(
    connection: &Connection,
    walls: Walls,
    patience: Duration,
) -> Result<String, CdpError> {
    let version = connection.send(None, "Browser.getVersion", json!({}));
    let mut calls = Vec::new();
    match walls {
        Walls::Up => calls.push(connection.send(None, "Fetch.enable", hold_everything())),
        // The user's own tabs must not be held.
        Walls::Attached => {}
        #[cfg(feature = "testing")]
        Walls::Down => {}
    }
    let windows = json!({"discover": true});
    calls.push(connection.send(None, "Target.setDiscoverTargets", windows));
    let version = version.wait(patience).await?;
    for call in calls {
        call.wait(patience).await?;
    }
    let product = version.get("product").and_then(Value::as_str);
    Ok(product.unwrap_or_default().to_owned())
}
