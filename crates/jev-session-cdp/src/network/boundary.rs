//! The browser's one way to the network: every request is held, judged, fetched by us or refused.
//! One task per browser reads the root session's events.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jev_core::access::CanonicalUrl;
use jev_core::error::FetchFault;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::counters::{Counted, NetworkCounters};
use super::documents::{DocumentFate, DocumentNews, FrameKind};
use super::fetch::{Fetched, Fetcher, Lane};
use super::filter::{Refusal, judge};
use super::paused::{Paused, ResourceKind};
use super::policy::{OwnCsp, PageScripts, TabPolicy};
use super::tabs::{InFlight, Owner, TabNet, Tabs};
use crate::attach::BoundaryKind;
use crate::connection::{Connection, EventStream, SessionId};
use crate::flags::Walls;

/// How long the browser may take to accept an answer.
const ANSWER: Duration = Duration::from_secs(10);

/// How long a request may take from one hop to the next before it is taken for given up.
const BETWEEN_HOPS: Duration = Duration::from_millis(250);

/// Goes with every answer, since any may become a document or a worker. It grants what reading
/// needs and leaves out popups, downloads and modal dialogs; the second part leaves out web
/// sockets and web transport, which never pass through us.
const OWN_CSP: &str =
    "sandbox allow-scripts allow-same-origin allow-forms; connect-src http: https: data: blob:";

/// Goes with every answer where pages may not run scripts. They are switched off in the browser as
/// well; but a frame in a process of its own may begin before that has reached it.
const NO_SCRIPTS: &str = "script-src 'none'";

/// Goes with every answer too, in place of the page's own: nothing that makes the browser itself
/// ask somebody, and nothing that needs a person.
const OWN_PERMISSIONS: &str = "attribution-reporting=(), bluetooth=(), browsing-topics=(), camera=(), \
     deferred-fetch=(), deferred-fetch-minimal=(), display-capture=(), encrypted-media=(), \
     fullscreen=(), geolocation=(), hid=(), identity-credentials-get=(), idle-detection=(), \
     join-ad-interest-group=(), local-fonts=(), local-network-access=(), loopback-network=(), \
     microphone=(), midi=(), otp-credentials=(), payment=(), private-aggregation=(), \
     private-state-token-issuance=(), private-state-token-redemption=(), \
     publickey-credentials-create=(), publickey-credentials-get=(), run-ad-auction=(), \
     screen-wake-lock=(), serial=(), shared-storage=(), shared-storage-select-url=(), \
     speaker-selection=(), storage-access=(), usb=(), window-management=(), \
     xr-spatial-tracking=()";

/// What one browser's boundary is made of.
#[derive(Debug)]
pub(crate) struct Boundary {
    connection: Connection,
    walls: Walls,
    pub(crate) tabs: Tabs,
    /// What belongs to no tab.
    pub(crate) counters: Arc<NetworkCounters>,
    /// Requests answered with a redirect whose next hop has not arrived yet.
    hops: Mutex<HashMap<String, Hop>>,
}

/// A request between two hops. Its other end hears when this goes.
#[derive(Debug)]
struct Hop {
    _in_flight: InFlight,
    _waits: oneshot::Sender<()>,
}

/// What follows a request.
enum Next {
    Done,
    /// The same request at another address.
    Hop,
}

impl Boundary {
    pub(crate) fn new(
        connection: Connection,
        counters: Arc<NetworkCounters>,
        walls: Walls,
    ) -> Arc<Self> {
        Arc::new(Self {
            connection,
            walls,
            tabs: Tabs::new(),
            counters,
            hops: Mutex::default(),
        })
    }

    /// How strong it is.
    pub(crate) const fn kind(&self) -> BoundaryKind {
        if self.walls.hold_by_session() {
            BoundaryKind::Attached
        } else {
            BoundaryKind::Whole
        }
    }

    /// Reads root events until the connection ends.
    pub(crate) async fn run(self: Arc<Self>, mut events: EventStream) {
        while let Some(event) = events.next().await {
            match event.method.as_str() {
                "Fetch.requestPaused" => self.paused(&event.params, None),
                "Target.targetCreated" => self.target_created(&event.params),
                "Target.targetDestroyed" => {
                    if let Some(target) = event.params.get("targetId").and_then(Value::as_str) {
                        self.tabs.remove_target(target);
                    }
                }
                "Browser.downloadWillBegin" => self.download(&event.params),
                _ => {}
            }
        }
    }

    /// Takes a held request up. `session` is the one that holds it, none for the browser.
    pub(crate) fn paused(self: &Arc<Self>, params: &Value, session: Option<&SessionId>) {
        let paused = match Paused::read(params, session) {
            Ok(paused) => paused,
            Err(id) => {
                // Without an id it stays held for ever, which is as good.
                if let Some(id) = id {
                    self.counters.count(Counted::Kind);
                    self.fail(session, &id);
                }
                return;
            }
        };
        // The next hop is counted from here on, so the last one need not be kept any longer.
        let last_hop = paused
            .redirected_request_id
            .as_ref()
            .and_then(|id| self.lock_hops().remove(id));
        let boundary = Arc::clone(self);
        match self.tabs.of_frame(&paused.frame_id) {
            Some(tab) => {
                // Counted before anything else is read, so that a page is never taken for quiet.
                let in_flight = InFlight::begin(&tab, paused.network_id.as_deref());
                tokio::spawn(async move { boundary.handle(paused, tab, in_flight).await });
                drop(last_hop);
            }
            None => {
                tokio::spawn(async move {
                    match boundary.tabs.owner_of(&paused.frame_id).await {
                        Owner::Tab(tab) => {
                            let in_flight = InFlight::begin(&tab, paused.network_id.as_deref());
                            boundary.handle(paused, tab, in_flight).await;
                        }
                        Owner::Stranger(from) => {
                            let counters = from.as_ref().map(|tab| &tab.counters);
                            let counters = counters.unwrap_or(&boundary.counters);
                            counters.count(Refusal::UnknownFrame.counted());
                            boundary.fail(paused.session.as_ref(), &paused.request_id);
                        }
                    }
                });
            }
        }
    }

    /// Decides, unless the tab is closed or the page gives the request up meanwhile: then it is failed
    /// at once.
    async fn handle(&self, paused: Paused, tab: Arc<TabNet>, in_flight: InFlight) {
        let next = tokio::select! {
            next = self.decide(&paused, &tab) => next,
            () = tab.closed() => {
                self.fail(paused.session.as_ref(), &paused.request_id);
                Next::Done
            }
            () = in_flight.given_up() => {
                self.fail(paused.session.as_ref(), &paused.request_id);
                Next::Done
            }
        };
        match next {
            Next::Done => drop(in_flight),
            Next::Hop => {
                // Between two hops nothing is held, and still the page is not quiet.
                let id = paused.request_id;
                let (waits, gone) = oneshot::channel();
                let hop = Hop {
                    _in_flight: in_flight,
                    _waits: waits,
                };
                self.lock_hops().insert(id.clone(), hop);
                let _ = tokio::time::timeout(BETWEEN_HOPS, gone).await;
                self.lock_hops().remove(&id);
            }
        }
    }

    fn lock_hops(&self) -> MutexGuard<'_, HashMap<String, Hop>> {
        self.hops.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn decide(&self, paused: &Paused, tab: &TabNet) -> Next {
        let allowed = match (tab.policy.get(), tab.fetcher.get()) {
            (Some(policy), Some(fetcher)) => judge(paused, policy)
                .and_then(|url| within_caps(tab, policy).map(|()| (url, policy, fetcher))),
            _ => Err(Refusal::UnknownFrame),
        };
        match allowed {
            Ok((url, policy, fetcher)) => self.bring(paused, tab, &url, policy, fetcher).await,
            Err(refusal) => {
                self.refuse(paused, tab, refusal).await;
                Next::Done
            }
        }
    }

    async fn bring(
        &self,
        paused: &Paused,
        tab: &TabNet,
        url: &CanonicalUrl,
        policy: &TabPolicy,
        fetcher: &Fetcher,
    ) -> Next {
        let lane = if paused.resource_type == ResourceKind::Document
            && tab.frame_kind(&paused.frame_id) == FrameKind::Main
        {
            Lane::Document
        } else {
            Lane::Rest
        };
        let headers = &paused.request.headers;
        match fetcher
            .fetch(url, headers, &policy.caps, &tab.counters, lane)
            .await
        {
            Ok(fetched) if is_download(paused, &fetched) => {
                self.refuse(paused, tab, Refusal::Download).await;
                Next::Done
            }
            Ok(fetched) => {
                let status = fetched.status;
                tab.counters.count(Counted::Allowed);
                let (fate, next) = if fetched.is_redirect() {
                    (DocumentFate::Redirected { status }, Next::Hop)
                } else {
                    (DocumentFate::Answered { status }, Next::Done)
                };
                if lane == Lane::Document {
                    tab.documents.read(paused.loader(), &fetched.body);
                    tab.answered(paused.loader());
                }
                self.report(paused, tab, fate);
                self.fulfil(paused, fetched, policy).await;
                next
            }
            Err(fault) => {
                self.report(paused, tab, DocumentFate::Failed(fault));
                self.turn_away(paused, tab, reason_of(fault)).await;
                Next::Done
            }
        }
    }

    async fn refuse(&self, paused: &Paused, tab: &TabNet, refusal: Refusal) {
        tracing::debug!(?refusal, kind = ?paused.resource_type, "request refused");
        tab.counters.count(refusal.counted());
        self.report(paused, tab, DocumentFate::Refused(refusal));
        self.turn_away(paused, tab, "BlockedByClient").await;
    }

    /// Ends a request without an answer. A document of the tab itself is answered with 204 (no
    /// content), which leaves the tab where it is instead of on an error page; so is one of a frame
    /// that shows a page already, and an event stream, which would otherwise try again for ever.
    /// A frame's first document fails: what can't be read is then counted as omitted.
    async fn turn_away(&self, paused: &Paused, tab: &TabNet, reason: &str) {
        let stays = match tab.frame_kind(&paused.frame_id) {
            FrameKind::Main => true,
            FrameKind::Child => tab.documents.has_stood(&paused.frame_id),
        };
        let quietly =
            paused.is_event_stream() || (paused.resource_type == ResourceKind::Document && stays);
        if quietly {
            let params = json!({
                "requestId": paused.request_id,
                "responseCode": 204,
                "responseHeaders": [],
            });
            self.answer(paused, "Fetch.fulfillRequest", params).await;
        } else {
            let params = json!({"requestId": paused.request_id, "errorReason": reason});
            self.answer(paused, "Fetch.failRequest", params).await;
        }
    }

    async fn fulfil(&self, paused: &Paused, fetched: Fetched, policy: &TabPolicy) {
        let Fetched {
            status,
            headers,
            body,
            slot,
        } = fetched;
        let mut headers: Vec<Value> = headers
            .iter()
            .map(|(name, value)| json!({"name": name, "value": value}))
            .collect();
        match policy.csp {
            OwnCsp::On => {
                headers.push(json!({"name": "content-security-policy", "value": OWN_CSP}));
                headers.push(json!({"name": "permissions-policy", "value": OWN_PERMISSIONS}));
            }
            OwnCsp::Off => {}
        }
        match policy.scripts {
            PageScripts::Run => {}
            PageScripts::Off => {
                headers.push(json!({"name": "content-security-policy", "value": NO_SCRIPTS}));
            }
        }
        let params = json!({
            "requestId": paused.request_id,
            "responseCode": status,
            "responseHeaders": headers,
            "body": STANDARD.encode(&body),
        });
        drop(body);
        self.answer(paused, "Fetch.fulfillRequest", params).await;
        drop(slot);
    }

    async fn answer(&self, paused: &Paused, method: &str, params: Value) {
        let session = paused.session.as_ref();
        // An error means that the page no longer wants it, or that the browser is gone.
        if let Err(error) = self.connection.call(session, method, params, ANSWER).await {
            tracing::debug!(%error, method, "an answer was not accepted");
        }
    }

    fn fail(&self, session: Option<&SessionId>, request_id: &str) {
        let params = json!({"requestId": request_id, "errorReason": "BlockedByClient"});
        self.connection.post(session, "Fetch.failRequest", params);
    }

    fn report(&self, paused: &Paused, tab: &TabNet, fate: DocumentFate) {
        if paused.resource_type == ResourceKind::Document {
            tab.documents.publish(DocumentNews {
                frame: tab.frame_kind(&paused.frame_id),
                frame_id: paused.frame_id.clone(),
                loader: paused.loader().to_owned(),
                url: paused.request.url.clone(),
                fate,
            });
        }
    }

    /// Says whose a new target is. A window that a page opened is closed; its requests are refused
    /// meanwhile. Workers ask under the id of their own target.
    fn target_created(&self, params: &Value) {
        let info = params.get("targetInfo").unwrap_or(&Value::Null);
        let text = |name: &str| info.get(name).and_then(Value::as_str);
        let (Some(target), Some(kind)) = (text("targetId"), text("type")) else {
            return;
        };
        let owner = || {
            ["openerId", "parentFrameId"]
                .iter()
                .find_map(|name| self.tabs.of_frame(text(name)?))
                .or_else(|| self.tabs.of_context(text("browserContextId")?))
        };
        let opened = text("openerId").is_some() || text("openerFrameId").is_some();
        match kind {
            "page" | "tab" if opened => {
                let owner = owner();
                if owner.is_none() && self.walls == Walls::Attached {
                    // The user's own window.
                    return;
                }
                let counters = owner.as_ref().map_or(&self.counters, |tab| &tab.counters);
                counters.count(Counted::Window);
                self.tabs.add_stranger(target.to_owned(), owner);
                self.connection
                    .post(None, "Target.closeTarget", json!({"targetId": target}));
            }
            "worker" | "shared_worker" => {
                if let Some(tab) = owner() {
                    self.tabs.add_worker(target.to_owned(), &tab);
                }
            }
            "service_worker" => self.tabs.add_stranger(target.to_owned(), owner()),
            _ => {}
        }
    }

    fn download(&self, params: &Value) {
        let frame = params.get("frameId").and_then(Value::as_str);
        let tab = frame.and_then(|frame| self.tabs.of_frame(frame));
        let counters = tab.as_ref().map_or(&self.counters, |tab| &tab.counters);
        counters.count(Counted::Download);
    }
}

/// The parameters that have every request held.
pub(crate) fn hold_everything() -> Value {
    json!({"patterns": [{"urlPattern": "*"}]})
}

fn within_caps(tab: &TabNet, policy: &TabPolicy) -> Result<(), Refusal> {
    let spent = tab.next_request() > policy.caps.requests
        || tab.counters.counts().bytes >= policy.caps.total_bytes;
    if spent { Err(Refusal::Spent) } else { Ok(()) }
}

/// Whether a document says of itself that it is a file to keep.
fn is_download(paused: &Paused, fetched: &Fetched) -> bool {
    paused.resource_type == ResourceKind::Document
        && fetched.header("content-disposition").is_some_and(|value| {
            value
                .trim_start()
                .to_ascii_lowercase()
                .starts_with("attachment")
        })
}

const fn reason_of(fault: FetchFault) -> &'static str {
    match fault {
        FetchFault::Refused => "ConnectionRefused",
        FetchFault::Dns => "NameNotResolved",
        FetchFault::Tls => "ConnectionFailed",
        FetchFault::Timeout => "TimedOut",
        FetchFault::TooLarge | FetchFault::Broken => "Failed",
        FetchFault::Boundary => "AddressUnreachable",
    }
}
