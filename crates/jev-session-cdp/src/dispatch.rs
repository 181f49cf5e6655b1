//! Carrying out one permit, and finding out what came of it.

use std::time::Duration;

use jev_core::action::{Action, ScrollDirection};
use jev_core::error::{DispatchError, Sent, SessionError, Stage};
use jev_core::permit::Permit;
use jev_core::policy::Permission;
use jev_core::ports::OpenRequest;
use jev_core::receipt::{AppliedEffect, Receipt, RejectCause, StaleCause};
use jev_core::snapshot::Candidate;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use crate::error::CdpError;
use crate::keys;
use crate::navigate::{Expected, Mark, alive, follow, place};
use crate::network::policy::PageScripts;
use crate::page::Page;
use crate::reader::{HUNG, Lost, Reader};
use crate::snapshot::allow_list;
use crate::world::Method;

/// How long an action may stay without any effect before it counts as one without.
pub(crate) const PATIENCE: Duration = Duration::from_millis(150);
/// The same while something that the action may have asked for is being fetched.
const FETCHING: Duration = Duration::from_millis(1500);
/// How long what was fetched may take to be made use of: it has left us, and still has to reach a
/// page that may be busy.
const USING: Duration = Duration::from_millis(400);

/// What the world says of an action.
#[derive(Debug, Deserialize)]
pub(crate) struct Acted {
    stale: Option<StaleCause>,
    rejected: Option<RejectCause>,
    /// What lies over the target.
    #[serde(default)]
    by: String,
    done: Option<Done>,
    #[serde(default)]
    url: String,
    /// The navigation is the tab's own, not a frame's.
    #[serde(default)]
    own: bool,
    #[serde(default)]
    moved: bool,
    /// The address that the target said it leads to.
    href: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Done {
    Navigating,
    SameDocument,
    Vetoed,
    Changed,
    Nothing,
    Armed,
}

/// Why a dispatch ended without a receipt of the usual way.
#[derive(Debug)]
pub(crate) enum Stop {
    Receipt(Receipt),
    Error(DispatchError),
}

impl From<Receipt> for Stop {
    fn from(receipt: Receipt) -> Self {
        Self::Receipt(receipt)
    }
}

impl Stop {
    /// A call into the world of the document that was judged came to nothing.
    pub(crate) fn of_world(lost: &Lost) -> Self {
        match lost {
            Lost::Before => Self::Receipt(Receipt::Stale(StaleCause::Document)),
            Lost::During | Lost::Edge(_) => Self::Error(DispatchError {
                sent: lost.sent(),
                error: lost.at(Stage::Dispatch),
            }),
        }
    }

    pub(crate) fn of_edge(error: &CdpError) -> Self {
        Self::Error(DispatchError {
            sent: error.sent(),
            error: error.at(Stage::Dispatch),
        })
    }

    /// The same once a part of the action has been carried out: nothing that comes after it can say
    /// that nothing was sent.
    pub(crate) fn after_sending(self) -> Self {
        let error = match self {
            Self::Error(failed) => failed.error,
            Self::Receipt(Receipt::Applied(_) | Receipt::Unknown(_)) => return self,
            Self::Receipt(Receipt::Stale(_) | Receipt::Rejected(_)) => SessionError::Hung {
                stage: Stage::Dispatch,
            },
        };
        let sent = Sent::Maybe;
        Self::Error(DispatchError { sent, error })
    }
}

/// One dispatch.
pub(crate) struct Dispatch<'a> {
    pub(crate) reader: &'a Reader,
    pub(crate) request: &'a OpenRequest,
    /// The loader of the document that was judged.
    pub(crate) loader: &'a str,
    pub(crate) end: Instant,
}

impl Dispatch<'_> {
    /// Carries a permit out.
    pub(crate) async fn run(&self, permit: Permit) -> Result<Receipt, DispatchError> {
        let ground = json!({
            "epoch": permit.document().as_str(),
            "url": permit.url(),
            "allow": allow_list(&self.request.access),
            "patience": millis(PATIENCE),
            "off": self.reader.scripts() == PageScripts::Off,
        });
        let done = match permit.into_action() {
            Action::Click { target } => self.click(ground, &target).await,
            Action::Scroll { direction, pages } => self.scroll(ground, direction, pages).await,
            Action::Back => self.back(ground).await,
            Action::Reload => self.reload(ground).await,
            Action::Press { key } => {
                if self.request.actions.keys.contains(&key) {
                    self.press(ground, keys::stroke(key)).await
                } else {
                    Ok(Receipt::Rejected(RejectCause::Unsupported))
                }
            }
        };
        match done {
            Ok(receipt) | Err(Stop::Receipt(receipt)) => Ok(receipt),
            Err(Stop::Error(error)) => Err(error),
        }
    }

    fn left(&self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }

    /// Asks the world of the judged document.
    async fn enter(&self, method: Method, options: &Value) -> Result<Acted, Stop> {
        let bound = self.left().min(PATIENCE + HUNG);
        let text = self
            .reader
            .enter(self.loader, method, options, bound)
            .await
            .map_err(|lost| Stop::of_world(&lost))?;
        let acted: Acted = serde_json::from_str(&text).map_err(|_| {
            Stop::Error(DispatchError {
                sent: Sent::Maybe,
                error: SessionError::Protocol {
                    stage: Stage::Dispatch,
                },
            })
        })?;
        if let Some(cause) = acted.stale {
            return Err(Receipt::Stale(cause).into());
        }
        if let Some(cause) = acted.rejected {
            tracing::debug!(?cause, by = %acted.by, "the world refused an action");
            return Err(Receipt::Rejected(cause).into());
        }
        Ok(acted)
    }

    async fn click(&self, mut ground: Value, target: &Candidate) -> Result<Receipt, Stop> {
        let href = target.href.as_ref();
        let leads_off = || !href.is_some_and(|href| self.request.access.allows(href));
        if target.role.is_link() && leads_off() {
            return Ok(Receipt::Rejected(RejectCause::OffList));
        }
        if !self.request.actions.offers(target.role, &target.label) {
            return Ok(Receipt::Rejected(RejectCause::Unsupported));
        }
        if let Some(ground) = ground.as_object_mut() {
            ground.insert("id".into(), json!(target.id.as_str()));
            ground.insert("guard".into(), json!(target.guard));
        }
        if target.role.is_scroll_area() {
            return self.scroll_area(ground).await;
        }
        let mark = Mark::here(self.reader);
        let acted = self.enter(Method::Click, &ground).await?;
        self.outcome(acted, mark).await
    }

    pub(crate) async fn outcome(&self, acted: Acted, mut mark: Mark) -> Result<Receipt, Stop> {
        let effect = match acted.done {
            Some(Done::Navigating) => {
                let expected = Expected {
                    url: Some(acted.url),
                    wanted: acted.href,
                    own: acted.own,
                };
                return follow(self.reader, self.request, &mut mark, &expected, self.end).await;
            }
            Some(Done::SameDocument) => moved_to(&acted.url, acted.href.as_deref()),
            Some(Done::Vetoed) => return Ok(self.diverted(&mark)),
            Some(Done::Changed) => AppliedEffect::Changed,
            Some(Done::Nothing) => return self.slow_outcome(mark, acted.href).await,
            Some(Done::Armed) | None => {
                return Err(Stop::Error(DispatchError {
                    sent: Sent::Maybe,
                    error: SessionError::Protocol {
                        stage: Stage::Dispatch,
                    },
                }));
            }
        };
        Ok(Receipt::Applied(effect))
    }

    /// Nothing was seen at once. Something may have been sent for all the same, and then what
    /// comes of it is this action's doing. The world still stops what would lead elsewhere.
    async fn slow_outcome(&self, mut mark: Mark, href: Option<String>) -> Result<Receipt, Stop> {
        let mut page = self.reader.page();
        let fetched = || self.reader.tab().counters().counts().allowed > mark.allowed;
        let begun = |page: &Page| {
            page.own.count > mark.starts || page.moves > mark.moves || page.commits > mark.commits
        };
        let mut late = None;
        if *self.reader.tab().in_flight().borrow() > 0 || fetched() {
            let bound = self.end.min(Instant::now() + FETCHING);
            let settled = async {
                tokio::select! {
                    _ = page.wait_for(begun) => None,
                    late = self.late() => late,
                }
            };
            late = timeout_at(bound, settled).await.unwrap_or(None);
        }
        alive(self.reader)?;
        let done = late.as_ref().and_then(|late| late.done);
        if done == Some(Done::Vetoed) {
            return Ok(self.diverted(&mark));
        }
        let now = self.reader.page().borrow().clone();
        let moved = late
            .as_ref()
            .filter(|_| done == Some(Done::SameDocument))
            .map(|late| moved_to(&late.url, href.as_deref()))
            .or_else(|| moved_since(&now, &mark, href.as_deref()));
        let navigating = late.filter(|_| done == Some(Done::Navigating));
        if now.own.count > mark.starts || navigating.is_some() {
            let own = navigating.as_ref().is_none_or(|late| late.own);
            let expected = Expected {
                url: navigating.map(|late| late.url).or_else(|| href.clone()),
                wanted: href,
                own,
            };
            return follow(self.reader, self.request, &mut mark, &expected, self.end).await;
        }
        let effect = if let Some(moved) = moved {
            moved
        } else if now.downloads > mark.downloads {
            AppliedEffect::DestinationRefused
        } else if done == Some(Done::Changed) || now.dialogs > mark.dialogs {
            AppliedEffect::Changed
        } else {
            AppliedEffect::NoEffect
        };
        Ok(Receipt::Applied(effect))
    }

    /// The click was stopped from leading elsewhere. When the page had asked for something by then,
    /// it was carried out all the same.
    fn diverted(&self, mark: &Mark) -> Receipt {
        let asked = self.reader.page().borrow().asked > mark.asked
            || self.reader.tab().counters().counts().allowed > mark.allowed;
        if asked {
            Receipt::Applied(AppliedEffect::DestinationRefused)
        } else {
            Receipt::Rejected(RejectCause::Diverted)
        }
    }

    /// Waits until all that was asked for has come and been made use of; what the world says then.
    async fn late(&self) -> Option<Acted> {
        let mut in_flight = self.reader.tab().in_flight();
        let off = self.reader.scripts() == PageScripts::Off;
        let options = json!({"patience": millis(USING), "off": off});
        loop {
            in_flight.wait_for(|count| *count == 0).await.ok()?;
            let asked = self
                .reader
                .enter(self.loader, Method::Disarm, &options, FETCHING);
            let acted: Acted = serde_json::from_str(&asked.await.ok()?).ok()?;
            // One answer often leads to the next question.
            if acted.done != Some(Done::Nothing) || *in_flight.borrow() == 0 {
                return Some(acted);
            }
        }
    }

    /// Scrolls a part of the page by so many of its own heights as the host's policy says.
    async fn scroll_area(&self, mut ground: Value) -> Result<Receipt, Stop> {
        if let Some(ground) = ground.as_object_mut() {
            ground.insert("pages".into(), json!(self.request.actions.scroll_pages));
        }
        self.scrolled(Method::ScrollArea, &ground).await
    }

    async fn scrolled(&self, method: Method, ground: &Value) -> Result<Receipt, Stop> {
        let acted = self.enter(method, ground).await?;
        Ok(Receipt::Applied(if acted.moved {
            AppliedEffect::Scrolled
        } else {
            AppliedEffect::NoEffect
        }))
    }

    async fn scroll(
        &self,
        mut ground: Value,
        direction: ScrollDirection,
        pages: u8,
    ) -> Result<Receipt, Stop> {
        if self.request.actions.scroll == Permission::Denied || !(1..=5).contains(&pages) {
            return Ok(Receipt::Rejected(RejectCause::Unsupported));
        }
        if let Some(ground) = ground.as_object_mut() {
            ground.insert("down".into(), json!(direction == ScrollDirection::Down));
            ground.insert("pages".into(), json!(pages));
        }
        self.scrolled(Method::Scroll, &ground).await
    }

    pub(crate) async fn press(&self, ground: Value, strokes: [Value; 2]) -> Result<Receipt, Stop> {
        let mark = Mark::here(self.reader);
        self.enter(Method::Arm, &ground).await?;
        let [down, up] = strokes;
        self.stroke(down).await?;
        // From here on the page has the key.
        self.stroke(up).await.map_err(Stop::after_sending)?;
        let acted = match self.enter(Method::Disarm, &ground).await {
            Ok(acted) => acted,
            // The key led to another document before anybody could ask.
            Err(Stop::Receipt(Receipt::Stale(_))) => return self.slow_outcome(mark, None).await,
            Err(stop) => return Err(stop.after_sending()),
        };
        let outcome = self.outcome(acted, mark).await;
        outcome.map_err(Stop::after_sending)
    }

    async fn stroke(&self, stroke: Value) -> Result<(), Stop> {
        let bound = self.left().min(HUNG);
        let sent = self.reader.ask("Input.dispatchKeyEvent", stroke, bound);
        sent.await.map(drop).map_err(|error| Stop::of_edge(&error))
    }

    /// Whether the page is the one that was judged, at its address. Nothing is sent by asking.
    async fn still_here(&self, ground: &Value) -> Result<(), Stop> {
        match self.enter(Method::Ground, ground).await {
            Ok(_) => Ok(()),
            Err(Stop::Error(failed)) => Err(Stop::Error(DispatchError {
                sent: Sent::SurelyNot,
                ..failed
            })),
            Err(stop @ Stop::Receipt(_)) => Err(stop),
        }
    }

    async fn back(&self, ground: Value) -> Result<Receipt, Stop> {
        if self.request.actions.back == Permission::Denied {
            return Ok(Receipt::Rejected(RejectCause::Unsupported));
        }
        let bound = self.left().min(HUNG);
        let (ground, history) = tokio::join!(
            self.still_here(&ground),
            self.reader
                .ask("Page.getNavigationHistory", json!({}), bound)
        );
        ground?;
        let history = history.map_err(|error| Stop::of_edge(&error))?;
        let current = history.get("currentIndex").and_then(Value::as_u64);
        let before = current
            .and_then(|current| current.checked_sub(1))
            .and_then(|index| usize::try_from(index).ok())
            .and_then(|index| history.get("entries")?.get(index));
        let Some(before) = before else {
            return Ok(Receipt::Rejected(RejectCause::Unsupported));
        };
        let url = before
            .get("url")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if !self.request.access.allows_text(url) {
            return Ok(Receipt::Rejected(RejectCause::OffList));
        }
        let entry = before.get("id").cloned().unwrap_or(Value::Null);
        if self.reader.loader() != self.loader {
            return Ok(Receipt::Stale(StaleCause::Document));
        }
        let mut mark = Mark::here(self.reader);
        self.reader
            .ask(
                "Page.navigateToHistoryEntry",
                json!({"entryId": entry}),
                self.left(),
            )
            .await
            .map_err(|error| Stop::of_edge(&error))?;
        let expected = Expected::any();
        follow(self.reader, self.request, &mut mark, &expected, self.end).await
    }

    async fn reload(&self, ground: Value) -> Result<Receipt, Stop> {
        if self.request.actions.reload == Permission::Denied {
            return Ok(Receipt::Rejected(RejectCause::Unsupported));
        }
        self.still_here(&ground).await?;
        let mut mark = Mark::here(self.reader);
        let asked = self
            .reader
            .ask("Page.reload", json!({"loaderId": self.loader}), self.left())
            .await;
        match asked {
            Ok(_) => {
                let expected = Expected::any();
                follow(self.reader, self.request, &mut mark, &expected, self.end).await
            }
            // It refuses when another document stands there.
            Err(CdpError::Refused { .. }) => Ok(Receipt::Stale(StaleCause::Document)),
            Err(error) => Err(Stop::of_edge(&error)),
        }
    }
}

/// What an address within the document says of a click: a link that leads to one place and shows
/// itself at another did not do what it said.
fn moved_to(url: &str, href: Option<&str>) -> AppliedEffect {
    if href.is_none_or(|href| place(href) == place(url)) {
        AppliedEffect::SameDocument
    } else {
        AppliedEffect::DestinationRefused
    }
}

/// The same of all moves since the mark; none when the document only stayed where it was.
fn moved_since(page: &Page, mark: &Mark, href: Option<&str>) -> Option<AppliedEffect> {
    let as_said = |url: &&str| moved_to(url, href) == AppliedEffect::SameDocument;
    let left = |url: &&str| place(url) != place(&mark.url);
    let mut moves = page.moved_after(mark.moves);
    let arrived = page.moved_after(mark.moves).find(as_said);
    let url = arrived.or_else(|| moves.find(left))?;
    Some(moved_to(url, href))
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
