//! The end of a command: nothing of its browsers is left behind.

use tokio::runtime::Runtime;

/// Ends a runtime once every browser that was started in it is gone with its folder, also one whose
/// opening was given up; bounded as a close is.
pub(crate) fn end(runtime: Runtime) {
    runtime.block_on(jev_session_cdp::all_ended(jev_core::limits::CLOSE_GRACE));
    runtime.shutdown_background();
}
