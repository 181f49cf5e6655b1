//! The reference scenario as a host would write it: a chat model calls `read_browser`, the loop
//! clicks once, the verifier confirms, the model answers from the evidence. Scripted turns prove the
//! chain, not a model's accuracy; put a `LiveChat` and a real judge in their place.
//!
//! `cargo run -p jev-agent --example reference_scenario`

use std::sync::Arc;
use std::time::Duration;

use jev_agent::scenario::{
    Cast, IN_MEMORY, Played, help_centre, play, scripted_chat, scripted_judge,
};
use jev_agent::{CancellationToken, Unobserved};
use jev_core::access::CanonicalUrl;
use jev_core::contract::VerifyFirst;

type Failure = Box<dyn std::error::Error>;

/// Plays it on pages in memory. A `CdpSessionFactory` and a real address play it in Chromium.
pub(crate) async fn scenario() -> Result<Played, Failure> {
    let cast = Cast {
        factory: Arc::new(help_centre()?),
        base: CanonicalUrl::parse(IN_MEMORY)?,
        chat: Arc::new(scripted_chat()),
        judge: Arc::new(scripted_judge()),
        verify_first: VerifyFirst::Off,
        budget: Duration::from_secs(10),
    };
    Ok(play(cast, &mut Unobserved, &CancellationToken::new()).await?)
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Failure> {
    let played = scenario().await?;
    println!("{}", played.answer.text);
    println!("{}", played.counts);
    Ok(())
}
