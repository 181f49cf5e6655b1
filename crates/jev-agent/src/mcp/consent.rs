//! The gate of a call: the host's own gate, and when that is to ask, the question goes to the person
//! behind the client, through the protocol's elicitation.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use rmcp::model::{
    ClientCapabilities, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationSchema, InputRequest, InputRequiredResult, InputResponses, ProtocolVersion,
};
use rmcp::service::{Peer, RequestContext, RoleServer};

use crate::permission::{Consent, PermissionGate, PermissionRequest, Ruling};

/// How long a person may think. No browser is open and no turn is taken meanwhile.
const PATIENCE: Duration = Duration::from_secs(300);

/// Most characters of the goal in the question.
const GOAL_SHOWN_CHARS: usize = 500;

/// The question's name in a call that is answered in several rounds.
const QUESTION: &str = "permission";

/// How this client can be asked.
enum Way {
    /// It declared no way.
    None,
    /// By a request of the server's own.
    Request(Peer<RoleServer>),
    /// By ending the call with a question, to be called again with the answer.
    Round { answer: Option<Consent> },
}

/// The gate of one call.
pub(super) struct ClientGate {
    host: Arc<dyn PermissionGate>,
    way: Way,
    question: std::sync::Mutex<Option<String>>,
    asked: AtomicBool,
}

impl ClientGate {
    pub(super) fn new(
        host: Arc<dyn PermissionGate>,
        context: &RequestContext<RoleServer>,
        answers: Option<&InputResponses>,
    ) -> Self {
        let declared = context
            .client_capabilities()
            .is_some_and(|capabilities| takes_forms(&capabilities));
        let rounds = context
            .protocol_version()
            .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str());
        let way = match (declared, rounds) {
            (false, _) => Way::None,
            (true, false) => Way::Request(context.peer.clone()),
            (true, true) => Way::Round {
                answer: answers
                    .and_then(|answers| answers.get(QUESTION))
                    .map(consent),
            },
        };
        Self {
            host,
            way,
            question: std::sync::Mutex::default(),
            asked: AtomicBool::new(false),
        }
    }

    /// The result that asks, when the call ended only because nobody had been asked yet.
    pub(super) fn to_be_asked(&self) -> Option<InputRequiredResult> {
        if !self.asked.load(Ordering::Acquire) {
            return None;
        }
        let message = self.question.lock().ok()?.take()?;
        let request = ElicitRequest::new(form(message));
        Some(InputRequiredResult::from_input_requests(BTreeMap::from([
            (QUESTION.to_owned(), InputRequest::Elicitation(request)),
        ])))
    }
}

fn takes_forms(capabilities: &ClientCapabilities) -> bool {
    capabilities
        .elicitation
        .as_ref()
        // A client that names neither kind means forms: the first versions knew no other.
        .is_some_and(|kinds| kinds.form.is_some() || kinds.url.is_none())
}

#[async_trait]
impl PermissionGate for ClientGate {
    async fn rule(&self, request: &PermissionRequest<'_>) -> Ruling {
        self.host.rule(request).await
    }

    async fn ask(&self, request: &PermissionRequest<'_>) -> Consent {
        let message = question(request);
        match &self.way {
            Way::None => self.host.ask(request).await,
            Way::Request(peer) => {
                let asked = peer
                    .create_elicitation_with_timeout(form(message), Some(PATIENCE))
                    .await;
                match asked {
                    Ok(answer) => agreed(&answer),
                    Err(_) => Consent::Unavailable,
                }
            }
            Way::Round {
                answer: Some(answer),
            } => answer.clone(),
            Way::Round { answer: None } => {
                if let Ok(mut question) = self.question.lock() {
                    *question = Some(message);
                }
                self.asked.store(true, Ordering::Release);
                Consent::Unavailable
            }
        }
    }
}

fn question(request: &PermissionRequest<'_>) -> String {
    let shown = |text: &str| -> String {
        text.chars()
            .take(GOAL_SHOWN_CHARS)
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect()
    };
    match (request.goal, request.act) {
        (None, Some(act)) => {
            format!("May the agent call `{}` to {}?", request.tool, shown(act))
        }
        (goal, _) => format!(
            "May the agent call `{}` to find this out? {}",
            request.tool,
            shown(goal.unwrap_or_default())
        ),
    }
}

/// A form without fields: accepting it is the answer.
fn form(message: String) -> ElicitRequestParams {
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message,
        requested_schema: ElicitationSchema::new(BTreeMap::new()),
    }
}

fn consent(answer: &serde_json::Value) -> Consent {
    match serde_json::from_value::<ElicitResult>(answer.clone()) {
        Ok(answer) => agreed(&answer),
        Err(_) => Consent::Refused,
    }
}

fn agreed(answer: &ElicitResult) -> Consent {
    if answer.action == ElicitationAction::Accept {
        Consent::Given
    } else {
        Consent::Refused
    }
}
