//! The raw floor: a Chrome on a pipe, one evaluate and one event a step, nothing around them. No
//! boundary, no isolated world, no checks: what no tool that reads and clicks can be below.

use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use command_fds::{CommandFdExt, FdMapping};
use serde_json::{Value, json};

use crate::run::Failure;

const LOOK: &str = include_str!("look.js");
const CLICK: &str = include_str!("click.js");
const LOOK_AND_CLICK: &str = include_str!("look_and_click.js");

/// How long a raw click took to what.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clicked {
    /// To the new document's commit.
    pub(super) committed: Duration,
    /// To its DOMContentLoaded.
    pub(super) parsed: Duration,
}

/// A browser with nothing around it.
pub(super) struct RawChrome {
    child: Child,
    to: PipeWriter,
    from: BufReader<PipeReader>,
    last: u64,
    session: String,
    _profile: tempfile::TempDir,
}

impl RawChrome {
    /// Starts it with one page.
    pub(super) fn launch(program: &Path) -> Result<Self, Failure> {
        let profile = tempfile::tempdir().map_err(super::failed)?;
        let (theirs_in, to) = std::io::pipe().map_err(super::failed)?;
        let (from, theirs_out) = std::io::pipe().map_err(super::failed)?;
        let mut command = Command::new(program);
        command
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--disable-extensions",
                "--window-size=1280,900",
                "--remote-debugging-pipe",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .fd_mappings(vec![
                FdMapping {
                    parent_fd: theirs_in.into(),
                    child_fd: 3,
                },
                FdMapping {
                    parent_fd: theirs_out.into(),
                    child_fd: 4,
                },
            ])
            .map_err(super::failed)?;
        let child = command.spawn().map_err(super::failed)?;
        // The command holds the child's ends of the pipes; only the child may.
        drop(command);
        let mut raw = Self {
            child,
            to,
            from: BufReader::new(from),
            last: 0,
            session: String::new(),
            _profile: profile,
        };
        let target = raw.call("Target.createTarget", &json!({"url": "about:blank"}))?;
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = raw.call("Target.attachToTarget", &attach)?;
        raw.session = session["sessionId"].as_str().unwrap_or_default().to_owned();
        raw.call("Page.enable", &json!({}))?;
        Ok(raw)
    }

    /// Opens a page and waits until it is loaded.
    pub(super) fn open(&mut self, url: &str) -> Result<(), Failure> {
        self.send("Page.navigate", &json!({"url": url}))?;
        self.until(|message| message["method"] == "Page.loadEventFired")?;
        Ok(())
    }

    /// Reads the page, timed.
    pub(super) fn look(&mut self) -> Result<Duration, Failure> {
        let begun = Instant::now();
        self.call("Runtime.evaluate", &evaluating(LOOK))?;
        Ok(begun.elapsed())
    }

    /// Clicks the first link, timed.
    pub(super) fn click(&mut self) -> Result<Clicked, Failure> {
        let begun = Instant::now();
        self.send("Runtime.evaluate", &evaluating(CLICK))?;
        self.until(|message| message["method"] == "Page.frameNavigated")?;
        let committed = begun.elapsed();
        self.until(|message| message["method"] == "Page.domContentEventFired")?;
        let parsed = begun.elapsed();
        self.until(|message| message["method"] == "Page.loadEventFired")?;
        Ok(Clicked { committed, parsed })
    }

    /// A whole run of so many hops: open, read and click on each page, read the last. Timed.
    pub(super) fn run(&mut self, url: &str, hops: u32) -> Result<Duration, Failure> {
        let begun = Instant::now();
        self.open(url)?;
        for _ in 0..hops {
            self.step()?;
        }
        self.look()?;
        Ok(begun.elapsed())
    }

    /// One step, timed.
    pub(super) fn step(&mut self) -> Result<Duration, Failure> {
        let begun = Instant::now();
        self.send("Runtime.evaluate", &evaluating(LOOK_AND_CLICK))?;
        self.until(|message| message["method"] == "Page.domContentEventFired")?;
        let took = begun.elapsed();
        self.until(|message| message["method"] == "Page.loadEventFired")?;
        Ok(took)
    }

    fn send(&mut self, method: &str, params: &Value) -> Result<u64, Failure> {
        self.last += 1;
        let mut message = json!({"id": self.last, "method": method, "params": params});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).map_err(super::failed)?;
        Ok(self.last)
    }

    fn call(&mut self, method: &str, params: &Value) -> Result<Value, Failure> {
        let id = self.send(method, params)?;
        let answer = self.until(|message| message["id"] == id)?;
        Ok(answer["result"].clone())
    }

    fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Result<Value, Failure> {
        loop {
            let mut bytes = Vec::new();
            let read = self.from.read_until(0, &mut bytes).map_err(super::failed)?;
            if read == 0 {
                return Err(super::failed("the raw browser is gone"));
            }
            bytes.pop();
            let message: Value = serde_json::from_slice(&bytes).map_err(super::failed)?;
            if wanted(&message) {
                return Ok(message);
            }
        }
    }
}

fn evaluating(script: &str) -> Value {
    json!({"expression": script, "returnByValue": true, "userGesture": true})
}

impl Drop for RawChrome {
    fn drop(&mut self) {
        self.session.clear();
        let _ = self.send("Browser.close", &json!({}));
        let _ = self.child.wait();
    }
}
