//! Progress: one short, neutral line a step. No page content and no goal is in it.

use jev_core::record::{Event, Record};
use tokio::sync::mpsc;

use crate::driver::Observer;

/// Most notices that wait to be sent; a client that reads slowly misses some, the run never waits.
const WAITING_MAX: usize = 64;

/// Something that a client is told of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Notice {
    /// Grows with every notice.
    pub progress: f64,
    /// What happened.
    pub message: &'static str,
}

/// Turns a run's records into notices.
pub(super) struct Progress {
    sender: mpsc::Sender<Notice>,
    count: u32,
}

impl Progress {
    pub(super) fn new() -> (Self, mpsc::Receiver<Notice>) {
        let (sender, receiver) = mpsc::channel(WAITING_MAX);
        (Self { sender, count: 0 }, receiver)
    }

    fn tell(&mut self, message: &'static str) {
        self.count += 1;
        let notice = Notice {
            progress: f64::from(self.count),
            message,
        };
        // Full or gone: the notice is lost, and nothing depends on it.
        let _ = self.sender.try_send(notice);
    }
}

impl Observer for Progress {
    fn record(&mut self, record: &Record) {
        if let Some(message) = message(&record.event) {
            self.tell(message);
        }
    }
}

const fn message(event: &Event) -> Option<&'static str> {
    match event {
        Event::Opened => Some("the browser is ready"),
        Event::Observed(_) => Some("a page was read"),
        Event::Verified(_) | Event::VerifyFailed(_) => Some("the page was checked"),
        Event::Asked(_) => Some("the judge is asked"),
        Event::Narrowed { .. } => Some("many links were narrowed down"),
        Event::Proposed(_) => Some("the judge has chosen"),
        Event::JudgeFailed(_) => Some("the judge gave no valid answer"),
        Event::Intent(..) => Some("an action is carried out"),
        Event::Received(..) => Some("the action has its receipt"),
        Event::Waited(_) => Some("waited for the page"),
        Event::Recovered(_) => Some("trying around an obstacle"),
        Event::SessionFailed(_) => Some("the browser failed"),
        Event::Ending(..) => Some("the run ends; the browser is being closed"),
        Event::Closed(_) => Some("the browser is closed"),
        Event::Ignored(..) => None,
    }
}
