//! A chat model behind an OpenAI-compatible endpoint: one request, one reply, nothing kept.

use std::time::Duration;

use async_trait::async_trait;
use jev_core::error::{AnswerFault, JudgeError};
use jev_core::question::Usage;
use jev_judge::client::Bounds;
use jev_judge::credential::Credential;
use jev_judge::endpoint::Endpoint;
use jev_judge::json_client::JsonClient;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{ChatError, ChatModel, ChatRequest, Message, Reply, ToolUse};

/// A chat model somewhere else.
#[derive(Clone, Debug)]
pub struct LiveChat {
    client: JsonClient,
    model: String,
}

impl LiveChat {
    /// A model of a server. An address that ends in `/v1/chat/completions` is used as it is; see
    /// [`Endpoint::with_tail`].
    ///
    /// # Errors
    /// [`ChatError::Call`] for a bad address.
    pub fn new(url: &str, model: &str, credential: Credential) -> Result<Self, ChatError> {
        let endpoint = Endpoint::parse(url)
            .map_err(ChatError::Call)?
            .with_tail("chat/completions");
        let bounds = Bounds {
            // A plan takes longer to write than a decision.
            attempt: Duration::from_secs(60),
            ..Bounds::default()
        };
        Ok(Self {
            client: JsonClient::new(endpoint, credential, bounds).map_err(ChatError::Call)?,
            model: model.to_owned(),
        })
    }

    fn body(&self, request: &ChatRequest) -> Value {
        let mut body = json!({
            "model": self.model,
            "messages": request.messages.iter().map(message).collect::<Vec<_>>(),
            "temperature": 0,
        });
        if !request.tools.is_empty() {
            body["tools"] = Value::Array(request.tools.clone());
        }
        if let Some(schema) = &request.schema {
            body["response_format"] = json!({
                "type": "json_schema",
                "json_schema": {
                    "name": schema.name,
                    "schema": schema.schema,
                    "strict": true,
                },
            });
        }
        body
    }
}

fn message(message: &Message) -> Value {
    match message {
        Message::System(text) => json!({"role": "system", "content": text}),
        Message::User(text) => json!({"role": "user", "content": text}),
        Message::Assistant(reply) => {
            let mut value = json!({"role": "assistant", "content": reply.content});
            if !reply.calls.is_empty() {
                let calls = reply.calls.iter().map(|call| {
                    json!({
                        "id": call.id,
                        "type": "function",
                        "function": {"name": call.name, "arguments": call.arguments.to_string()},
                    })
                });
                value["tool_calls"] = calls.collect();
            }
            value
        }
        Message::Tool { call, content } => {
            json!({"role": "tool", "tool_call_id": call, "content": content})
        }
    }
}

#[derive(Deserialize)]
struct Body {
    choices: Vec<Choice>,
    #[serde(default)]
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
struct Choice {
    message: WireMessage,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct WireMessage {
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    refusal: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<WireCall>>,
}

#[derive(Deserialize)]
struct WireCall {
    id: String,
    function: WireFunction,
}

#[derive(Deserialize)]
struct WireFunction {
    name: String,
    #[serde(default)]
    arguments: String,
}

#[derive(Deserialize)]
struct WireUsage {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
}

fn read(body: &[u8]) -> Result<Reply, ChatError> {
    let body: Body = serde_json::from_slice(body).map_err(|_| {
        ChatError::Call(JudgeError::Protocol {
            question: None,
            fault: AnswerFault::Shape,
        })
    })?;
    let choice = body
        .choices
        .into_iter()
        .next()
        .ok_or(ChatError::Malformed { missing: "choice" })?;
    match choice.finish_reason.as_deref() {
        Some("length") => return Err(ChatError::Incomplete { reason: "length" }),
        Some("content_filter") => return Err(ChatError::Incomplete { reason: "filter" }),
        Some(_) | None => {}
    }
    if choice.message.refusal.is_some() {
        return Err(ChatError::Incomplete { reason: "refusal" });
    }
    let calls: Vec<ToolUse> = choice
        .message
        .tool_calls
        .unwrap_or_default()
        .into_iter()
        .map(|call| ToolUse {
            id: call.id,
            name: call.function.name,
            // What is no JSON is no valid argument either; the tool says so.
            arguments: serde_json::from_str(&call.function.arguments).unwrap_or(Value::Null),
        })
        .collect();
    let content = choice.message.content.filter(|text| !text.is_empty());
    if calls.is_empty() && content.is_none() {
        return Err(ChatError::Malformed { missing: "content" });
    }
    let usage = body.usage.map_or_else(Usage::default, |usage| Usage {
        input_tokens: usage.prompt_tokens,
        output_tokens: usage.completion_tokens,
    });
    Ok(Reply {
        content,
        calls,
        usage,
    })
}

#[async_trait]
impl ChatModel for LiveChat {
    fn name(&self) -> String {
        self.model.clone()
    }

    async fn complete(
        &self,
        request: &ChatRequest,
        deadline: Duration,
    ) -> Result<Reply, ChatError> {
        let body = self.body(request).to_string().into_bytes();
        let reply = self
            .client
            .post(body, deadline)
            .await
            .map_err(ChatError::Call)?;
        read(&reply)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_read_or_refused_with_a_reason() {
        let reply = |text: &str| read(text.as_bytes());
        assert_eq!(
            reply(r#"{"choices":[{"message":{"content":"hi"}}],"usage":{"prompt_tokens":3}}"#),
            Ok(Reply {
                content: Some("hi".to_owned()),
                calls: Vec::new(),
                usage: Usage {
                    input_tokens: 3,
                    output_tokens: 0
                },
            })
        );
        let called = reply(
            r#"{"choices":[{"message":{"content":null,"tool_calls":[
                {"id":"a","type":"function","function":{"name":"t","arguments":"{\"goal\":1}"}},
                {"id":"b","function":{"name":"t","arguments":"{"}}]}}]}"#,
        )
        .unwrap();
        assert_eq!(called.calls[0].arguments, json!({"goal": 1}));
        assert_eq!(called.calls[1].arguments, Value::Null);
        for (text, error) in [
            (
                r#"{"choices":[]}"#,
                ChatError::Malformed { missing: "choice" },
            ),
            (
                r#"{"choices":[{"message":{}}]}"#,
                ChatError::Malformed { missing: "content" },
            ),
            (
                r#"{"choices":[{"message":{"content":"x"},"finish_reason":"length"}]}"#,
                ChatError::Incomplete { reason: "length" },
            ),
            (
                r#"{"choices":[{"message":{"refusal":"no"}}]}"#,
                ChatError::Incomplete { reason: "refusal" },
            ),
        ] {
            assert_eq!(reply(text), Err(error), "{text}");
        }
        assert!(matches!(reply("<html>"), Err(ChatError::Call(_))));
    }
}
