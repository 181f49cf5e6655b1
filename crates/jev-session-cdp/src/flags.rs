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
    "Prerender2",
];

const FLAGS: &[&str] = &[
    "--remote-debugging-pipe",
    "--no-startup-window",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-default-apps",
    "--disable-breakpad",
    "--no-pings",
    "--disable-domain-reliability",
    "--metrics-recording-only",
    "--mute-audio",
    "--password-store=basic",
    "--use-mock-keychain",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    // The first is read by the whole browser, the second by the shell: without a proxy that speaks
    // UDP, WebRTC then sends nothing.
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    // The proxy below is for loopback addresses too.
    "--proxy-bypass-list=<-loopback>",
];

/// The whole command line. `tripwire` is the port on which nothing is ever answered.
pub(crate) fn command_line(
    flavour: Flavour,
    profile: &Path,
    window: Window,
    tripwire: u16,
    sandbox: SandboxState,
) -> Vec<OsString> {
    let mut line: Vec<OsString> = FLAGS.iter().map(OsString::from).collect();
    line.push(format!("--disable-features={}", DISABLED_FEATURES.join(",")).into());
    line.push(format!("--window-size={},{}", window.width, window.height).into());
    line.push(format!("--proxy-server=http://127.0.0.1:{tripwire}").into());
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
