//! Trajectories: every run written down while it happens, one redacted JSON line an event, so that
//! a person can look at it later. Each has a folder of its own.

mod convert;
mod event;
mod file;
mod inputs;
mod pictures;
mod read;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use jev_core::carried::Carried;
use jev_core::contract::Contract;
use jev_core::error::SessionError;
use jev_core::history::HostOperation;
use jev_core::host::HostReceipt;
use jev_core::ids::{PageVersion, RunId};
use jev_core::input::Input;
use jev_core::ports::{JudgeIdentity, SessionFactory};
use jev_core::record::{Event, Record};
use jev_core::redact::{Hidden, Redactor};
use jev_core::report::Report;
use jev_core::snapshot::Snapshot;
use jev_core::status::Status;
use jev_core::time::Timestamp;
use serde::Serialize;

use crate::driver::Observer;
use crate::runtime::TaskResult;
use crate::shared_session::{Metrics, Waited};
use convert::Converter;
pub(crate) use file::private_file;
use file::{Appended, LineFile, private_folder};
use inputs::InputLog;
use pictures::Pictures;

pub(crate) use convert::HostTarget;
pub use event::{
    Actor, Body, CandidateLine, End, EvidenceLine, FORMAT, GateLine, Intent, Judge, Name, Note,
    Observe, OptionLine, Page, Plan, Proposed, Receipt, Recover, StatusName, Text, TraceEvent,
    Verify,
};
pub use inputs::{INPUTS_FILE, InputsError, RecordedRun};
pub use read::{ReadError, Reading, Summary, list, read, summary};

/// The name of the file with the events, in a trajectory's folder.
pub const EVENTS_FILE: &str = "trajectory.jsonl";
/// The size cap when nothing is said.
pub const MAX_BYTES: u64 = 16 << 20;
/// The smallest and the largest cap.
pub const MAX_BYTES_RANGE: (u64, u64) = (64 << 10, 1 << 30);
/// What is kept free for the last line. The longest has one cause of 1,000 characters, at most 4
/// bytes each.
const RESERVE: u64 = 8 << 10;

/// Whether the raw inputs are kept too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeepInputs {
    /// No.
    #[default]
    No,
    /// Yes, in [`INPUTS_FILE`]: everything every page said, unredacted. Needed for replay.
    Raw,
}

/// Whether pictures of the pages are kept too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KeepPictures {
    /// No.
    #[default]
    No,
    /// Yes, each under its SHA-256 beside the events, as far as the cap goes. They show everything
    /// the window showed, unredacted; none is taken any more once text was typed.
    Yes,
}

/// Where trajectories go.
#[derive(Clone, Debug)]
pub struct TraceOptions {
    /// The folder that gets one folder a trajectory.
    pub folder: PathBuf,
    /// Whether the raw inputs are kept too.
    pub inputs: KeepInputs,
    /// Whether pictures are kept too.
    pub pictures: KeepPictures,
    /// The size cap of each file, and of all pictures together, in bytes; see [`MAX_BYTES_RANGE`].
    pub max_bytes: u64,
}

impl TraceOptions {
    /// Redacted events only, capped at [`MAX_BYTES`].
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            inputs: KeepInputs::No,
            pictures: KeepPictures::No,
            max_bytes: MAX_BYTES,
        }
    }
}

/// Why a trajectory can't be begun.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The folder or a file in it can't be made.
    #[error("trace: {path}: {source}")]
    Folder {
        /// Which.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// The cap.
    #[error("trace: a cap of {value} bytes is outside {}..={}", MAX_BYTES_RANGE.0, MAX_BYTES_RANGE.1)]
    Cap {
        /// The value given.
        value: u64,
    },
}

/// A trajectory being written. It is an [`Observer`] of the runs it is given to; call
/// [`Trajectory::begin_run`] before a run and [`Trajectory::end_run`] after the last one. Dropped
/// without, it says that it was interrupted.
///
/// Each event is one line that is with the operating system before the next input is handled: a
/// process that dies leaves a valid file up to its last event. A write that fails is kept as
/// [`Trajectory::failure`] and ends the writing, never the run.
#[derive(Debug)]
pub struct Trajectory {
    id: String,
    folder: PathBuf,
    file: LineFile,
    inputs: Option<InputLog>,
    converter: Converter,
    began: Instant,
    /// When the present run began, on the trajectory's clock.
    run_began: Duration,
    run: Option<RunId>,
    /// The content that the host looked at last.
    looked: Option<PageVersion>,
    seq: u64,
    ending: Option<Status>,
    state: Writing,
    failure: Option<io::ErrorKind>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writing {
    Open,
    /// The cap was reached; only the end is still written.
    Full,
    Ended,
}

fn started() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

/// Makes ids of one process differ.
static NEXT: AtomicU64 = AtomicU64::new(0);

impl Trajectory {
    /// Makes the folder and its files. The redactor should know every credential of the host.
    ///
    /// # Errors
    /// [`TraceError`].
    pub fn create(options: &TraceOptions, redactor: Redactor) -> Result<Self, TraceError> {
        let (min, max) = MAX_BYTES_RANGE;
        if !(min..=max).contains(&options.max_bytes) {
            return Err(TraceError::Cap {
                value: options.max_bytes,
            });
        }
        let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        let id = format!(
            "{}-{}-{}",
            now.replace(['-', ':'], ""),
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let folder = options.folder.join(&id);
        let failed = |path: &Path, source| TraceError::Folder {
            path: path.display().to_string(),
            source,
        };
        private_folder(&folder).map_err(|source| failed(&folder, source))?;
        let events = folder.join(EVENTS_FILE);
        let file = LineFile::create(&events, options.max_bytes)
            .map_err(|source| failed(&events, source))?;
        let inputs = match options.inputs {
            KeepInputs::No => None,
            KeepInputs::Raw => Some(
                InputLog::create(&folder, options.max_bytes)
                    .map_err(|source| failed(&folder.join(INPUTS_FILE), source))?,
            ),
        };
        Ok(Self {
            id,
            file,
            inputs,
            converter: Converter {
                redactor,
                pictures: match options.pictures {
                    KeepPictures::No => None,
                    KeepPictures::Yes => Some(Pictures::new(folder.clone(), options.max_bytes)),
                },
                ..Converter::default()
            },
            folder,
            began: Instant::now(),
            run_began: Duration::ZERO,
            run: None,
            looked: None,
            seq: 0,
            ending: None,
            state: Writing::Open,
            failure: None,
        })
    }

    /// Its name: the name of its folder.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Its folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What went wrong with writing, when something did. Nothing was written after that.
    #[must_use]
    pub fn failure(&self) -> Option<io::ErrorKind> {
        self.failure
    }

    /// The same sessions; where a trajectory keeps pictures, each look at a page is kept as one too.
    #[must_use]
    pub fn watch(
        trajectory: Option<&Self>,
        factory: Arc<dyn SessionFactory>,
    ) -> Arc<dyn SessionFactory> {
        match trajectory.and_then(|trajectory| trajectory.converter.pictures.as_ref()) {
            Some(pictures) => pictures.watch(factory),
            None => factory,
        }
    }

    /// Hides a text from now on; see [`Redactor::hide`]. Typed text ends the keeping of raw
    /// inputs and of pictures, for a page may echo it.
    pub fn hide(&mut self, secret: &str, what: Hidden) {
        if what == Hidden::Typed {
            self.inputs = None;
            if let Some(pictures) = &self.converter.pictures {
                pictures.stop();
            }
        }
        self.converter.redactor.hide(secret, what);
    }

    /// A run begins under this contract. `objectives` are the steps of the task it belongs to.
    pub fn begin_run(
        &mut self,
        run: RunId,
        contract: &Contract,
        judge: &JudgeIdentity,
        objectives: &[&str],
    ) {
        self.begin(run, contract, judge, objectives, &Carried::default());
    }

    /// As [`Trajectory::begin_run`], for a run on a tab that earlier runs have used.
    pub fn resume_run(
        &mut self,
        run: RunId,
        contract: &Contract,
        judge: &JudgeIdentity,
        carried: &Carried,
    ) {
        self.begin(run, contract, judge, &[], carried);
    }

    fn begin(
        &mut self,
        run: RunId,
        contract: &Contract,
        judge: &JudgeIdentity,
        objectives: &[&str],
        carried: &Carried,
    ) {
        self.run = Some(run);
        self.looked = None;
        self.run_began = self.began.elapsed();
        self.ending = None;
        let plan = self.converter.plan(contract, judge, objectives, started());
        self.write(self.run_began, Body::Plan(plan));
        if let Some(inputs) = &mut self.inputs {
            let written = inputs.run(run, contract, carried);
            self.keep_inputs(written);
        }
    }

    /// The run is over, and so is the trajectory.
    pub fn end_run(&mut self, report: &Report) {
        let end = self.converter.end(report);
        self.end(end);
    }

    /// A task begins; its runs follow.
    pub(crate) fn begin_task(
        &mut self,
        contract: &Contract,
        judge: &JudgeIdentity,
        objectives: &[&str],
    ) {
        self.run = None;
        let plan = self.converter.plan(contract, judge, objectives, started());
        self.write(self.began.elapsed(), Body::Plan(plan));
    }

    /// A step of a task begins.
    pub(crate) fn step(&mut self, number: u32, objective: &str) {
        self.run = None;
        self.note(|converter| {
            Body::Note(Note::Step {
                number,
                objective: converter.sentence(objective),
            })
        });
    }

    /// A recovery was spent outside of a run.
    pub(crate) fn recovered(&mut self, what: &'static str) {
        self.note(|_| {
            Body::Recover(Recover {
                what: Name::word(what),
            })
        });
    }

    /// The task is over, and so is the trajectory.
    pub(crate) fn end_task(&mut self, result: &TaskResult) {
        self.run = None;
        let status = result.reason.status();
        let cause = result.reason.words();
        self.end(End {
            result: Name::word(result.state.name()),
            status: Some(status.into()),
            handoff: Some(Name::of(&result.handoff)),
            cause: cause.map(|cause| self.converter.sentence(&cause)),
            steps: result.steps,
            recoveries: result.recoveries,
            judge_calls: result.judged,
            permits: result.steps,
            input_tokens: result.usage.input_tokens,
            output_tokens: result.usage.output_tokens,
            timings_ms: [0; 6],
            elapsed_ms: convert::ms(result.elapsed),
        });
    }

    /// The host is about to act by itself. What it types is no part of this.
    pub(crate) fn host_intent(
        &mut self,
        number: u64,
        operation: HostOperation,
        target: HostTarget<'_>,
    ) {
        self.note(|converter| {
            Body::Intent(Intent {
                intent: number,
                by: Actor::Host,
                operation: Name::of(&operation),
                target: Some(converter.host_target(target)),
            })
        });
    }

    /// What became of an act of the host.
    pub(crate) fn host_receipt(&mut self, number: u64, receipt: &HostReceipt) {
        let (name, detail) = match receipt {
            HostReceipt::Applied(effect) => ("APPLIED", Name::of(effect)),
            HostReceipt::Refused(refusal) => ("REFUSED", Name::of(refusal)),
            HostReceipt::Unknown(cause) => ("UNKNOWN", Name::of(cause)),
        };
        self.note(|_| {
            Body::Receipt(Receipt {
                intent: number,
                by: Actor::Host,
                receipt: Name::word(name),
                detail,
            })
        });
    }

    /// An act of the host that surely did not happen, for the session broke before it.
    pub(crate) fn host_failed(&mut self, number: u64, error: SessionError) {
        self.note(|_| {
            Body::Receipt(Receipt {
                intent: number,
                by: Actor::Host,
                receipt: Name::word("REFUSED"),
                detail: Name::word("session_failed"),
            })
        });
        self.note(|converter| {
            Body::Note(Note::SessionFailed {
                error: converter.sentence(&error.to_string()),
            })
        });
    }

    /// The host looked at the page by itself. Of one that is not allowed nothing is written, nor of
    /// a content that was written last.
    pub(crate) fn host_looked(&mut self, page: Option<&Snapshot>) {
        let Some(page) = page else {
            self.note(|_| Body::Note(Note::HostLookRefused));
            return;
        };
        if self.looked.as_ref() != Some(page.version()) {
            self.looked = Some(page.version().clone());
            self.note(|converter| Body::Observe(converter.observe(page)));
        }
    }

    /// The host waited for something.
    pub(crate) fn host_waited(&mut self, waited: &Waited) {
        let outcome = Name::word(match waited {
            Waited::Met(_) => "met",
            Waited::TimedOut(_) => "timed_out",
            Waited::LeftScope => "left_scope",
        });
        self.note(|_| Body::Note(Note::HostWaited { outcome }));
    }

    /// A shared session is over, and so is the trajectory.
    pub(crate) fn end_session(&mut self, metrics: &Metrics) {
        self.run = None;
        self.end(End {
            result: Name::word("CLOSED"),
            status: self.ending.map(StatusName::from),
            handoff: None,
            cause: None,
            steps: metrics.decisions,
            recoveries: metrics.recoveries,
            judge_calls: metrics.decisions,
            permits: metrics.executed,
            input_tokens: metrics.usage.input_tokens,
            output_tokens: metrics.usage.output_tokens,
            timings_ms: [0, 0, convert::ms(metrics.judge_time), 0, 0, 0],
            elapsed_ms: convert::ms(self.began.elapsed()),
        });
    }

    /// A line about something that is not a record of a run.
    pub(crate) fn note(&mut self, body: impl FnOnce(&mut Converter) -> Body) {
        let body = body(&mut self.converter);
        self.write(self.began.elapsed(), body);
    }

    /// The last line.
    pub(crate) fn end(&mut self, end: End) {
        if self.state == Writing::Ended {
            return;
        }
        let was = self.state;
        self.state = Writing::Open;
        self.append(self.began.elapsed(), Body::End(Box::new(end)), 0);
        if was != Writing::Ended && self.failure.is_none() {
            let synced = self.file.sync();
            self.failed(synced);
        }
        self.state = Writing::Ended;
    }

    fn write(&mut self, at: Duration, body: Body) {
        self.append(at, body, RESERVE);
    }

    fn append(&mut self, at: Duration, body: Body, reserve: u64) {
        if self.state != Writing::Open || self.failure.is_some() {
            return;
        }
        let event = TraceEvent {
            seq: self.seq,
            at_us: u64::try_from(at.as_micros()).unwrap_or(u64::MAX),
            run: self.run.map(|run| run.0),
            body,
        };
        let appended = serde_json::to_vec(&event)
            .map_err(io::Error::from)
            .and_then(|line| self.file.append(&line, reserve));
        match appended {
            Ok(Appended::Yes) => self.seq += 1,
            Ok(Appended::Full) => {
                // Half of the reserve is for this line, half for the end.
                if reserve == RESERVE {
                    self.append(at, Body::Note(Note::Full), RESERVE / 2);
                }
                self.state = Writing::Full;
            }
            Err(error) => self.failed(Err(error)),
        }
    }

    fn keep_inputs(&mut self, written: io::Result<Appended>) {
        match written {
            Ok(Appended::Yes) => {}
            Ok(Appended::Full) => self.inputs = None,
            Err(error) => self.failed(Err(error)),
        }
    }

    fn failed(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.failure.get_or_insert(error.kind());
            self.inputs = None;
        }
    }
}

impl Observer for Trajectory {
    fn input(&mut self, input: &Input, at: Timestamp) {
        if let Some(inputs) = &mut self.inputs {
            let written = inputs.input(input, at);
            self.keep_inputs(written);
        }
    }

    fn record(&mut self, record: &Record) {
        if let Event::Ending(status, _) = &record.event {
            self.ending = Some(*status);
        }
        let body = self.converter.body(record);
        self.write(self.run_began + record.at.elapsed(), body);
    }
}

impl Drop for Trajectory {
    fn drop(&mut self) {
        if self.state == Writing::Ended {
            return;
        }
        self.end(End {
            result: Name::word("INTERRUPTED"),
            status: self.ending.map(StatusName::from),
            handoff: None,
            cause: None,
            steps: 0,
            recoveries: 0,
            judge_calls: 0,
            permits: 0,
            input_tokens: 0,
            output_tokens: 0,
            timings_ms: [0; 6],
            elapsed_ms: convert::ms(self.began.elapsed()),
        });
    }
}
