//! The host's own acts on a tab: going to an address, filling a field, pressing a control.

use std::time::Duration;

use async_trait::async_trait;
use jev_core::access::CanonicalUrl;
use jev_core::error::{DispatchError, Sent, SessionError, Stage};
use jev_core::host::{Control, Field, HostActs, HostReceipt, HostRefusal, TypedText};
use jev_core::ports::Session;
use jev_core::receipt::{AppliedEffect, Receipt, RejectCause};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::dispatch::{Acted, Dispatch, PATIENCE, Stop, millis};
use crate::navigate::{Expected, Mark, follow};
use crate::network::policy::PageScripts;
use crate::reader::HUNG;
use crate::session::CdpSession;
use crate::snapshot::allow_list;
use crate::world::Method;

/// What the world says of an act.
#[derive(Debug, Deserialize)]
struct Answer {
    refused: Option<HostRefusal>,
}

/// Why an act ended before its usual way.
enum Ended {
    Receipt(HostReceipt),
    Error(DispatchError),
}

impl From<HostRefusal> for Ended {
    fn from(refusal: HostRefusal) -> Self {
        Self::Receipt(HostReceipt::Refused(refusal))
    }
}

impl From<Stop> for Ended {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Receipt(receipt) => Self::Receipt(of_receipt(receipt)),
            Stop::Error(error) => Self::Error(error),
        }
    }
}

impl Ended {
    /// The same once text has been typed.
    fn after_typing(self) -> Self {
        let error = match self {
            Self::Error(failed) => failed.error,
            Self::Receipt(_) => SessionError::Hung {
                stage: Stage::Dispatch,
            },
        };
        let sent = Sent::Maybe;
        Self::Error(DispatchError { sent, error })
    }
}

fn of_receipt(receipt: Receipt) -> HostReceipt {
    match receipt {
        Receipt::Applied(effect) => HostReceipt::Applied(effect),
        // The document went before the act reached it.
        Receipt::Stale(_) => HostReceipt::Refused(HostRefusal::NotFound),
        Receipt::Rejected(cause) => HostReceipt::Refused(match cause {
            RejectCause::Covered => HostRefusal::Covered,
            RejectCause::Disabled => HostRefusal::Disabled,
            RejectCause::NotVisible => HostRefusal::NotVisible,
            RejectCause::OffList => HostRefusal::OffList,
            RejectCause::Diverted => HostRefusal::Diverted,
            RejectCause::Unsupported | RejectCause::SessionFailed => HostRefusal::Unsupported,
        }),
        Receipt::Unknown(cause) => HostReceipt::Unknown(cause),
    }
}

fn malformed() -> Ended {
    Ended::Error(DispatchError {
        sent: Sent::Maybe,
        error: SessionError::Protocol {
            stage: Stage::Dispatch,
        },
    })
}

impl CdpSession {
    /// Asks the world of the document that stands in the tab now.
    async fn ask_world(
        &self,
        loader: &str,
        method: Method,
        options: &Value,
        end: Instant,
    ) -> Result<Value, Ended> {
        let bound = end
            .saturating_duration_since(Instant::now())
            .min(PATIENCE + HUNG);
        let text = self
            .reader()
            .enter(loader, method, options, bound)
            .await
            .map_err(|lost| Ended::from(Stop::of_world(&lost)))?;
        let value: Value = serde_json::from_str(&text).map_err(|_| malformed())?;
        let answer = Answer::deserialize(&value).map_err(|_| malformed())?;
        match answer.refused {
            Some(refusal) => Err(refusal.into()),
            None => Ok(value),
        }
    }

    async fn type_into(&self, field: &Field, text: &str, end: Instant) -> Result<Value, Ended> {
        let loader = self.reader().loader();
        let wanted = json!({
            "role": field.role,
            "name": field.name.as_str(),
            "allow": allow_list(&self.request().access),
        });
        self.ask_world(&loader, Method::BeginFill, &wanted, end)
            .await?;
        let left = || end.saturating_duration_since(Instant::now()).min(HUNG);
        // All that stands there is selected: what is typed takes its place, and nothing typed
        // deletes it.
        let typed = if text.is_empty() {
            let key = json!({
                "type": "keyDown", "key": "Delete", "code": "Delete",
                "windowsVirtualKeyCode": 46, "nativeVirtualKeyCode": 46,
            });
            self.reader()
                .ask("Input.dispatchKeyEvent", key, left())
                .await
        } else {
            self.reader()
                .ask("Input.insertText", json!({"text": text}), left())
                .await
        };
        // The field is let go of whatever came of the typing.
        let ended = self
            .ask_world(&loader, Method::EndFill, &json!({"text": text}), end)
            .await;
        typed.map_err(|error| Ended::from(Stop::of_edge(&error)))?;
        match ended {
            Ok(value) => Ok(value),
            // What the world stopped went nowhere; all else can't say any more that nothing was typed.
            Err(Ended::Receipt(HostReceipt::Refused(HostRefusal::Diverted))) => {
                Err(HostRefusal::Diverted.into())
            }
            Err(ended) => Err(ended.after_typing()),
        }
    }

    async fn press_on(&self, control: &Control, end: Instant) -> Result<HostReceipt, Ended> {
        let loader = self.reader().loader();
        let wanted = json!({
            "role": control.role,
            "name": control.name.as_str(),
            "allow": allow_list(&self.request().access),
            "patience": millis(PATIENCE),
            "off": self.reader().scripts() == PageScripts::Off,
        });
        let mark = Mark::here(self.reader());
        let value = self.ask_world(&loader, Method::Press, &wanted, end).await?;
        let acted = Acted::deserialize(&value).map_err(|_| malformed())?;
        let dispatch = Dispatch {
            reader: self.reader(),
            request: self.request(),
            loader: &loader,
            end,
        };
        Ok(of_receipt(dispatch.outcome(acted, mark).await?))
    }

    async fn go(&self, to: &CanonicalUrl, end: Instant) -> Result<HostReceipt, Ended> {
        if !self.request().access.allows(to) {
            return Err(HostRefusal::OffList.into());
        }
        let mut mark = Mark::here(self.reader());
        let left = end.saturating_duration_since(Instant::now());
        self.reader()
            .ask("Page.navigate", json!({"url": to.as_str()}), left)
            .await
            .map_err(|error| Ended::from(Stop::of_edge(&error)))?;
        let expected = Expected::to(to.as_str().to_owned());
        let followed = follow(self.reader(), self.request(), &mut mark, &expected, end).await?;
        Ok(of_receipt(followed))
    }

    /// Lets the page come to rest, so that what an act does can be told from what loads.
    async fn rested(&self, deadline: Duration) -> Result<(), DispatchError> {
        self.observe(deadline)
            .await
            .map(drop)
            .map_err(|error| DispatchError {
                sent: Sent::SurelyNot,
                error,
            })
    }

    async fn host_act(
        &self,
        doing: impl Future<Output = Result<HostReceipt, Ended>>,
    ) -> Result<HostReceipt, DispatchError> {
        let surely_not = |error| DispatchError {
            sent: Sent::SurelyNot,
            error,
        };
        self.usable().map_err(surely_not)?;
        match self.unless_closed(doing).await {
            Some(Ok(receipt) | Err(Ended::Receipt(receipt))) => Ok(receipt),
            Some(Err(Ended::Error(failed))) => Err(DispatchError {
                error: self.explained(failed.error),
                ..failed
            }),
            None => Err(DispatchError {
                sent: Sent::Maybe,
                error: SessionError::Closed,
            }),
        }
    }
}

#[async_trait]
impl HostActs for CdpSession {
    async fn navigate(
        &self,
        to: &CanonicalUrl,
        deadline: Duration,
    ) -> Result<HostReceipt, DispatchError> {
        let end = Instant::now() + deadline;
        self.host_act(self.go(to, end)).await
    }

    async fn fill(
        &self,
        field: &Field,
        text: &TypedText,
        deadline: Duration,
    ) -> Result<HostReceipt, DispatchError> {
        let end = Instant::now() + deadline;
        self.rested(deadline).await?;
        let doing = async {
            let value = self.type_into(field, text.reveal(), end).await?;
            let changed = value.get("done").and_then(Value::as_str) == Some("changed");
            Ok(HostReceipt::Applied(if changed {
                AppliedEffect::Changed
            } else {
                AppliedEffect::NoEffect
            }))
        };
        self.host_act(doing).await
    }

    async fn press(
        &self,
        control: &Control,
        deadline: Duration,
    ) -> Result<HostReceipt, DispatchError> {
        let end = Instant::now() + deadline;
        self.rested(deadline).await?;
        self.host_act(self.press_on(control, end)).await
    }
}
