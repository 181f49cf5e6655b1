//! What is said of an action that was cut short, over a scripted connection: once a part of it has
//! gone out, nothing may say any more that nothing was sent.

use std::time::Duration;

use jev_core::access::{AccessList, CanonicalUrl};
use jev_core::contract::Reach;
use jev_core::error::{DispatchError, Sent, SessionError};
use jev_core::host::{AccessibleName, Field, FieldRole, HostActs, HostReceipt, TypedText};
use jev_core::ids::Scope;
use jev_core::policy::{ActionPolicy, SafeKey};
use jev_core::ports::OpenRequest;
use jev_core::receipt::Receipt;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::connection::Connection;
use crate::connection_tests::{Other, pair};
use crate::dispatch::{Dispatch, Stop};
use crate::keys;
use crate::session::CdpSession;
use crate::tab::Tab;

const BOUND: Duration = Duration::from_secs(30);

/// What becomes of one call.
#[derive(Clone, Copy)]
enum Say {
    /// It is answered as usual.
    Well,
    /// The tab crashes instead.
    Crash,
    /// It is refused in these words.
    Refuse(&'static str),
}

/// Plays the browser: the call of this name, as [`name_of`] says it, ends as it is said, all others
/// well.
async fn play(mut other: Other, cut: &str, say: Say) {
    other.permit(1000);
    loop {
        let call = other.hear().await;
        let say = if name_of(&call) == cut {
            say
        } else {
            Say::Well
        };
        match say {
            Say::Well => other.answer(&json!({"id": call["id"], "result": answer(&call)})),
            Say::Refuse(message) => {
                let error = json!({"code": -32000, "message": message});
                other.answer(&json!({"id": call["id"], "error": error}));
            }
            Say::Crash => {
                other.answer(&json!({"method": "Inspector.targetCrashed", "sessionId": "tab"}));
            }
        }
    }
}

/// The method; for a call into the world what is called there, for a key its stroke.
fn name_of(call: &Value) -> String {
    let inner = match call["method"].as_str() {
        Some("Runtime.callFunctionOn") => call.pointer("/params/arguments/0/value"),
        Some("Input.dispatchKeyEvent") => call.pointer("/params/type"),
        _ => call.get("method"),
    };
    inner.and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn answer(call: &Value) -> Value {
    let text = match name_of(call).as_str() {
        "Page.createIsolatedWorld" => return json!({"executionContextId": 5}),
        "look" => {
            "{\"epoch\":\"d\",\"news\":0,\"url\":\"http://h/\",\"title\":\"\",\"text\":\"\",\
             \"found\":[],\"scroll\":[0,0],\"over\":0,\"refused\":0,\"omitted\":0,\"frames\":0,\
             \"closed\":0,\"bad\":0,\"settled\":true,\"still\":true,\"took\":0}"
        }
        "arm" => "{\"done\":\"armed\"}",
        "disarm" => "{\"done\":\"nothing\"}",
        "begin_fill" => "{\"epoch\":\"d\"}",
        "end_fill" => "{\"epoch\":\"d\",\"done\":\"changed\"}",
        _ => return json!({}),
    };
    json!({"result": {"type": "string", "value": text}})
}

/// A session on whatever the other end of the connection says.
pub(crate) fn scripted(connection: &Connection) -> CdpSession {
    let request = OpenRequest {
        scope: Scope::new("u", "s", "t").unwrap(),
        start: CanonicalUrl::parse("http://h/").unwrap(),
        access: AccessList::parse(["http://h"]).unwrap(),
        actions: ActionPolicy::read_only(),
        reach: Reach::Document,
    };
    CdpSession::scripted(Tab::scripted(connection), request)
}

/// A session on a document of the loader `L`, whose calls end as it is said.
fn session(cut: &'static str, say: Say) -> CdpSession {
    let (connection, other) = pair();
    let session = scripted(&connection);
    let frame = json!({"id": "tab", "loaderId": "L", "url": "http://h/"});
    other.answer(
        &json!({"method": "Page.frameNavigated", "sessionId": "tab", "params": {"frame": frame}}),
    );
    tokio::spawn(play(other, cut, say));
    session
}

async fn standing(session: &CdpSession) {
    let mut page = session.reader().page();
    page.wait_for(|page| page.main.loader == "L").await.unwrap();
}

/// Presses a key; none where it ended as a receipt.
async fn press(cut: &'static str, say: Say) -> Result<Receipt, Option<DispatchError>> {
    let session = session(cut, say);
    standing(&session).await;
    let dispatch = Dispatch {
        reader: session.reader(),
        request: session.request(),
        loader: "L",
        end: Instant::now() + BOUND,
    };
    match dispatch
        .press(json!({}), keys::stroke(SafeKey::Escape))
        .await
    {
        Ok(receipt) => Ok(receipt),
        Err(Stop::Error(error)) => Err(Some(error)),
        Err(Stop::Receipt(_)) => Err(None),
    }
}

fn sent(pressed: &Result<Receipt, Option<DispatchError>>) -> Option<Sent> {
    let failed = pressed.as_ref().err().and_then(Option::as_ref);
    failed.map(|failed| failed.sent)
}

#[tokio::test]
async fn a_key_that_is_down_has_been_sent() {
    for (cut, say, expected) in [
        ("arm", Say::Refuse("no"), Sent::SurelyNot),
        ("rawKeyDown", Say::Refuse("no"), Sent::SurelyNot),
        ("rawKeyDown", Say::Crash, Sent::Maybe),
        ("keyUp", Say::Refuse("no"), Sent::Maybe),
        ("keyUp", Say::Crash, Sent::Maybe),
        ("disarm", Say::Refuse("no"), Sent::Maybe),
        ("disarm", Say::Crash, Sent::Maybe),
    ] {
        let pressed = press(cut, say).await;
        assert_eq!(sent(&pressed), Some(expected), "{cut}: {pressed:?}");
    }
    // Another document stands there: the key may have led to it, which is no failure.
    let pressed = press("disarm", Say::Refuse("Cannot find context")).await;
    assert!(matches!(pressed, Ok(Receipt::Applied(_))), "{pressed:?}");
}

async fn fill(cut: &'static str, say: Say) -> Result<HostReceipt, DispatchError> {
    let session = session(cut, say);
    standing(&session).await;
    let field = Field {
        role: FieldRole::TextBox,
        name: AccessibleName::new("Name").unwrap(),
    };
    let text = TypedText::new("text").unwrap();
    session.fill(&field, &text, BOUND).await
}

#[tokio::test]
async fn text_that_is_typed_has_been_sent() {
    for (cut, say, expected) in [
        ("begin_fill", Say::Refuse("no"), Sent::SurelyNot),
        ("Input.insertText", Say::Refuse("no"), Sent::SurelyNot),
        ("Input.insertText", Say::Crash, Sent::Maybe),
        ("end_fill", Say::Refuse("no"), Sent::Maybe),
        ("end_fill", Say::Refuse("Cannot find context"), Sent::Maybe),
        ("end_fill", Say::Crash, Sent::Maybe),
    ] {
        let filled = fill(cut, say).await;
        let sent = filled.as_ref().err().map(|failed| failed.sent);
        assert_eq!(sent, Some(expected), "{cut}: {filled:?}");
    }
    let crashed = fill("end_fill", Say::Crash).await;
    let error = SessionError::Crashed;
    let sent = Sent::Maybe;
    assert_eq!(crashed, Err(DispatchError { sent, error }));
}
