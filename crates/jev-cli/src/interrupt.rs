//! Ctrl-C and SIGTERM: the first cancels the run, which then closes its browser; the second leaves at once.

use jev_agent::CancellationToken;
use tokio::task::JoinHandle;

use crate::exit_code::Exit;

/// Cancels `cancel` at the first signal, and exits at the second.
pub(crate) fn watch(cancel: CancellationToken) -> JoinHandle<()> {
    tokio::spawn(async move {
        signal().await;
        // First of all: whatever becomes of the words, the run ends.
        cancel.cancel();
        aside!("cancelling; the browser is being closed (once more to leave at once)");
        signal().await;
        std::process::exit(i32::from(Exit::Cancelled as u8));
    })
}

/// Returns at the next Ctrl-C or SIGTERM.
#[cfg(unix)]
pub(crate) async fn signal() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
        }
        Err(_) => {
            let _ = tokio::signal::ctrl_c().await;
        }
    }
}

/// Returns at the next Ctrl-C.
#[cfg(not(unix))]
pub(crate) async fn signal() {
    let _ = tokio::signal::ctrl_c().await;
}
