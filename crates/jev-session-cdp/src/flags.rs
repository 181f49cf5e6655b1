//! The command line of the browser: what is switched off, and the two walls that stand in flags.

use std::ffi::OsString;
use std::path::Path;

use crate::find::Flavour;

/// The window, in CSS pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its width.
    pub width: u32,
    /// Its height.
    pub height: u32,
}

impl Default for Window {
    fn default() -> Self {
        Self {
            width: 1280,
            height: 900,
        }
    }
}

/// Whether Chrome's own process sandbox is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxState {
    /// It is on.
    On,
    /// It is off because Chrome refuses to start with it as root.
    OffAsRoot,
}

/// Whether Chrome's own sandbox will be on for browsers that this process starts.
#[must_use]
pub fn sandbox_state() -> SandboxState {
    if rustix::process::geteuid().is_root() {
        SandboxState::OffAsRoot
    } else {
        SandboxState::On
    }
}

/// Features that cost memory or start traffic of the browser's own.
const DISABLED_FEATURES: &[&str] = &[
    "WebUIOmniboxPopup",
    "WebUIOmniboxFullPopup",
    "WebUIOmniboxAimPopup",
    "SpareRendererForSitePerProcess",
    "BackForwardCache",
    "IsolateSandboxedIframes",
    "HttpsUpgrades",
    "Translate",
    "MediaRouter",
    "OptimizationHints",
    // Asks a server of the vendor for the time.
    "NetworkTimeServiceQuerying",
    // Asks a server of the vendor about every form.
    "AutofillServerCommunication",
];

/// Features of pages that make the browser itself fetch, which is not held for us.
const WALLED_FEATURES: &[&str] = &["Prerender2"];

/// Preferences of the whole browser; the shell has none. 2 is "never": the browser then predicts
/// no connections and preloads nothing, neither for itself nor when a page asks for it.
const PREFERENCES: &str = r#"{"net":{"network_prediction_options":2},"signin":{"allowed":false,"allowed_on_next_startup":false}}"#;

const FLAGS: &[&str] = &[
    "--remote-debugging-pipe",
    "--no-startup-window",
    "--disable-gpu",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-default-apps",
    "--disable-breakpad",
    "--disable-domain-reliability",
    "--metrics-recording-only",
    "--mute-audio",
    "--password-store=basic",
    "--use-mock-keychain",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    // Sign-in and component updates can't be switched off whole. Port 9 is one of those that the
    // browser never connects to, so what would still be asked for ends before a connection.
    "--gaia-url=http://127.0.0.1:9",
    "--component-updater=url-source=http://127.0.0.1:9/",
];

/// The walls that stand in flags.
const WALLS: &[&str] = &[
    "--disable-quic",
    "--no-pings",
    // As above, for what has its switch inside the engine.
    "--disable-blink-features=FedCm",
    // The first is read by the whole browser, the second by the shell: without a proxy that speaks
    // UDP, WebRTC then sends nothing.
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    // The proxy is for loopback addresses too.
    "--proxy-bypass-list=<-loopback>",
];

/// Whether the browser stands behind its boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Walls {
    /// It does: it was started so.
    Up,
    /// Somebody else started it: each tab of ours has its own walls.
    Attached,
    /// It does not: the control of the hostile pages, which shows that they would reach the network.
    #[cfg(feature = "testing")]
    Down,
}

impl Walls {
    /// Whether requests are held by each session rather than by the browser as a whole.
    pub(crate) const fn hold_by_session(self) -> bool {
        match self {
            Self::Attached => true,
            Self::Up => false,
            #[cfg(feature = "testing")]
            Self::Down => false,
        }
    }
}

/// What stands in the profile before the first start.
pub(crate) const fn preferences(walls: Walls) -> &'static str {
    match walls {
        Walls::Up | Walls::Attached => PREFERENCES,
        #[cfg(feature = "testing")]
        Walls::Down => "{}",
    }
}

/// The whole command line. `tripwire` is the port on which nothing is ever answered.
pub(crate) fn command_line(
    flavour: Flavour,
    profile: &Path,
    window: Window,
    tripwire: u16,
    sandbox: SandboxState,
    walls: Walls,
) -> Vec<OsString> {
    let mut line: Vec<OsString> = FLAGS.iter().map(OsString::from).collect();
    let mut disabled = DISABLED_FEATURES.to_vec();
    line.push(format!("--window-size={},{}", window.width, window.height).into());
    match walls {
        Walls::Up | Walls::Attached => {
            disabled.extend(WALLED_FEATURES);
            line.extend(WALLS.iter().map(OsString::from));
            line.push(format!("--proxy-server=http://127.0.0.1:{tripwire}").into());
        }
        #[cfg(feature = "testing")]
        Walls::Down => {}
    }
    line.push(format!("--disable-features={}", disabled.join(",")).into());
    let mut folder = OsString::from("--user-data-dir=");
    folder.push(profile);
    line.push(folder);
    match flavour {
        Flavour::Shell => {}
        Flavour::Full => line.push("--headless=new".into()),
    }
    match sandbox {
        SandboxState::On => {}
        SandboxState::OffAsRoot => line.push("--no-sandbox".into()),
    }
    line
}
