//! A client for services that speak JSON and are no judges, such as a chat model that plans. It has
//! all the guards of a judge's client: https except to loopback, no redirects, capped bodies, bounded
//! retries, and a key that leaves in its header alone.

use std::time::Duration;

use jev_core::error::JudgeError;

use crate::client::{Bounds, Client};
use crate::credential::Credential;
use crate::endpoint::Endpoint;
use crate::provider::judge_status;

/// Posts JSON to one address.
#[derive(Clone, Debug)]
pub struct JsonClient(Client);

impl JsonClient {
    /// A client for one address.
    ///
    /// # Errors
    /// [`JudgeError::Config`] when TLS can't be set up.
    pub fn new(
        endpoint: Endpoint,
        credential: Credential,
        bounds: Bounds,
    ) -> Result<Self, JudgeError> {
        Client::new(endpoint, credential, &[], bounds).map(Self)
    }

    /// Posts a body and gives the reply's body, at most
    /// [`REPLY_MAX_BYTES`](crate::client::REPLY_MAX_BYTES).
    ///
    /// # Errors
    /// As a judge's client: the last try's error; [`JudgeError::Timeout`] at the deadline;
    /// [`JudgeError::KeyLeak`] and [`JudgeError::Config`] before anything is sent.
    pub async fn post(&self, body: Vec<u8>, deadline: Duration) -> Result<Vec<u8>, JudgeError> {
        let reply = self
            .0
            .post(body, deadline, |status, _| judge_status(status))
            .await?;
        Ok(reply.body)
    }
}
