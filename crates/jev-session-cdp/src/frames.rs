//! Locks a tab before its first byte, and watches it: its frames are made known to the boundary,
//! its dialogs are dismissed, frames with a process of their own are followed.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::connection::{Connection, EventStream, PendingCall, SessionId};
use crate::flags::Walls;
use crate::network::boundary::{Boundary, hold_everything};
use crate::network::counters::Counted;
use crate::network::policy::PageScripts;
use crate::network::tabs::TabNet;
use crate::tab::WorldScript;

/// How deep frames in processes of their own are followed.
const MAX_DEPTH: u32 = 8;
/// How long a frame may take to say what it holds.
const FRAME_ANSWER: Duration = Duration::from_secs(2);
/// Takes peer connections away from pages of an attached browser: there they could send datagrams,
/// which no flag of ours forbids.
const NO_WEBRTC: &str = include_str!("network/no_webrtc.js");

/// What the task of one session needs.
#[derive(Clone)]
pub(crate) struct Watcher {
    pub(crate) connection: Connection,
    pub(crate) session: SessionId,
    pub(crate) boundary: Arc<Boundary>,
    pub(crate) net: Arc<TabNet>,
    pub(crate) walls: Walls,
}

impl Watcher {
    /// Sends everything a tab needs before its first page, together. The last call is the barrier:
    /// what was sent before it is in force when it answers.
    pub(crate) fn lock(&self, world: WorldScript) -> Vec<PendingCall> {
        let mut calls = vec![
            self.send("Page.enable", json!({})),
            self.send("Page.setLifecycleEventsEnabled", json!({"enabled": true})),
            self.send("Inspector.enable", json!({})),
            self.send(
                "Page.addScriptToEvaluateOnNewDocument",
                json!({"source": world.source, "worldName": world.name, "runImmediately": true}),
            ),
            self.send(
                "Page.setInterceptFileChooserDialog",
                json!({"enabled": true, "cancel": true}),
            ),
            self.send(
                "Network.enable",
                json!({"maxTotalBufferSize": 0, "maxResourceBufferSize": 0}),
            ),
            self.send("Network.setBypassServiceWorker", json!({"bypass": true})),
        ];
        calls.extend(self.lock_session());
        calls.push(self.send("Page.getFrameTree", json!({})));
        calls
    }

    /// What the tab's session and that of every frame of it need alike.
    fn lock_session(&self) -> Vec<PendingCall> {
        let mut calls = vec![
            self.send("Network.overrideNetworkState", online()),
            self.send("Target.setAutoAttach", self.auto_attach()),
        ];
        let policy = self.net.policy.get();
        if policy.is_some_and(|policy| policy.scripts == PageScripts::Off) {
            calls.push(self.send(
                "Emulation.setScriptExecutionDisabled",
                json!({"value": true}),
            ));
        }
        if self.walls.hold_by_session() {
            calls.push(self.send("Fetch.enable", hold_everything()));
            calls.push(self.send(
                "Page.addScriptToEvaluateOnNewDocument",
                json!({"source": NO_WEBRTC, "runImmediately": true}),
            ));
        }
        calls
    }

    fn send(&self, method: &str, params: Value) -> PendingCall {
        self.connection.send(Some(&self.session), method, params)
    }

    fn post(&self, method: &str, params: Value) {
        self.connection.post(Some(&self.session), method, params);
    }

    /// Where requests are held by session, a new target must not run before it is held too.
    fn auto_attach(&self) -> Value {
        json!({
            "autoAttach": true,
            "waitForDebuggerOnStart": self.walls.hold_by_session(),
            "flatten": true,
        })
    }

    /// Watches until the session ends.
    pub(crate) async fn watch(self, mut events: EventStream, depth: u32) {
        while let Some(event) = events.next().await {
            let params = &event.params;
            let field = |name: &str| params.get(name).and_then(Value::as_str);
            match event.method.as_str() {
                "Page.frameAttached" | "Page.frameRequestedNavigation" => {
                    if let Some(frame) = field("frameId") {
                        self.boundary.tabs.add_frame(frame.to_owned(), &self.net);
                    }
                }
                "Page.frameDetached" => {
                    // A frame that only moves into another process keeps its id.
                    if let (Some(frame), Some("remove")) = (field("frameId"), field("reason")) {
                        self.boundary.tabs.remove_frame(frame);
                        self.net.documents.forget(frame);
                    }
                }
                "Page.frameNavigated" => {
                    let frame = params.get("frame").unwrap_or(&Value::Null);
                    let of = |name: &str| frame.get(name).and_then(Value::as_str);
                    if let (Some(id), Some(loader)) = (of("id"), of("loaderId"))
                        && id == self.net.main_frame
                    {
                        self.net.committed(loader);
                    }
                }
                "Network.loadingFailed" => {
                    let canceled = params.get("canceled").and_then(Value::as_bool);
                    if let (Some(id), Some(true)) = (field("requestId"), canceled) {
                        self.net.give_up(id);
                    }
                }
                "Page.javascriptDialogOpening" => self.dismiss(field("type")),
                // Only where requests are held by session.
                "Fetch.requestPaused" => self.boundary.paused(params, Some(&self.session)),
                "Target.attachedToTarget" => {
                    if let Some(session) = field("sessionId").filter(|_| depth < MAX_DEPTH) {
                        let inner = Self {
                            session: SessionId::new(session),
                            ..self.clone()
                        };
                        let kind = params.pointer("/targetInfo/type").and_then(Value::as_str);
                        inner.follow(kind, depth + 1);
                    }
                }
                _ => {}
            }
        }
    }

    /// Follows a target inside the tab.
    fn follow(self, kind: Option<&str>, depth: u32) {
        let events = self.connection.subscribe(&self.session);
        match kind {
            Some("iframe") => drop(tokio::spawn(self.follow_frame(events, depth))),
            _ if self.walls.hold_by_session() => {
                self.post("Fetch.enable", hold_everything());
                self.post("Target.setAutoAttach", self.auto_attach());
                self.post("Runtime.runIfWaitingForDebugger", json!({}));
                drop(tokio::spawn(self.boxed_watch(events, depth)));
            }
            // A worker, held like everything else of this browser.
            _ => {}
        }
    }

    /// Follows a frame that lives in a process of its own.
    async fn follow_frame(self, events: EventStream, depth: u32) {
        let mut calls = vec![self.send("Page.enable", json!({}))];
        calls.extend(self.lock_session());
        let tree = self.send("Page.getFrameTree", json!({}));
        if self.walls.hold_by_session() {
            calls.push(self.send("Runtime.runIfWaitingForDebugger", json!({})));
        }
        for call in calls {
            // A frame that is gone already has nothing to follow; its requests are refused.
            let _ = call.wait(FRAME_ANSWER).await;
        }
        if let Ok(tree) = tree.wait(FRAME_ANSWER).await {
            let mut open = vec![tree.get("frameTree").unwrap_or(&Value::Null)];
            while let Some(node) = open.pop() {
                if let Some(frame) = node.pointer("/frame/id").and_then(Value::as_str) {
                    self.boundary.tabs.add_frame(frame.to_owned(), &self.net);
                }
                let children = node.get("childFrames").and_then(Value::as_array);
                open.extend(children.into_iter().flatten());
            }
        }
        self.boxed_watch(events, depth).await;
    }

    /// Boxed, since watching follows and following watches.
    fn boxed_watch(
        self,
        events: EventStream,
        depth: u32,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(self.watch(events, depth))
    }

    /// Dialogs are dismissed, for while one is open nothing else is answered. Leaving a page is
    /// confirmed: a page must not be able to keep us.
    fn dismiss(&self, kind: Option<&str>) {
        self.net.counters.count(Counted::Dialog);
        let accept = kind == Some("beforeunload");
        self.post("Page.handleJavaScriptDialog", json!({"accept": accept}));
    }
}

/// Without a network device a page would take itself for offline. The figures say "fast".
fn online() -> Value {
    json!({
        "offline": false,
        "latency": 0,
        "downloadThroughput": 1e9,
        "uploadThroughput": 1e9,
        "connectionType": "ethernet",
    })
}
