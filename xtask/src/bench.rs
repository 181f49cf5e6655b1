//! `cargo xtask bench`: what things cost, as ratios to a raw floor measured in the same run. A
//! program with a report, never a timed test.

mod core;
#[cfg(feature = "embedded")]
mod embedded;
mod floor;
mod start;
mod step;

use std::time::Duration;

use serde::Serialize;

use crate::run::{self, Failure};

/// Options of `cargo xtask bench`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(clap::Subcommand)]
enum What {
    /// What is measured when nothing is named: one step (look, guarded click, new document at rest,
    /// look) against the raw protocol: one evaluate that looks and clicks, and the new document's
    /// DOMContentLoaded.
    Step(step::Arguments),
    /// Thirty labels through the embedded judge's model, new and cached, and its memory.
    Embedded,
    /// One input to the navigator: `handle` and draining on a page of 100 candidates, with its bound.
    Core,
    /// Ten starts of `jev mcp` until its first answer, with their bound.
    Start,
}

/// `cargo xtask bench`.
pub(crate) fn command(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.what {
        Some(What::Core) => core::command(),
        Some(What::Start) => start::command(),
        #[cfg(feature = "embedded")]
        Some(What::Embedded) => embedded::command(),
        #[cfg(not(feature = "embedded"))]
        Some(What::Embedded) => crate::eval::with_embedded(),
        // What users run is built for speed, and so is what is measured.
        Some(What::Step(_)) | None if cfg!(debug_assertions) => {
            run::again("for speed", &["--release"])
        }
        Some(What::Step(arguments)) => step::command(arguments),
        None => step::command(&run::unnamed()?),
    }
}

fn failed(what: impl std::fmt::Display) -> Failure {
    Failure::Unreadable {
        what: format!("bench: {what}"),
    }
}

/// Durations of one kind, in milliseconds.
#[derive(Clone, Copy, Debug, Serialize)]
struct Figures {
    min: f64,
    median: f64,
    p95: f64,
}

impl Figures {
    fn of(samples: &[Duration]) -> Self {
        let mut ms: Vec<f64> = samples
            .iter()
            .map(|sample| sample.as_secs_f64() * 1_000.0)
            .collect();
        ms.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let place = (ms.len().saturating_sub(1) as f64 * share).round() as usize;
            ms.get(place).copied().unwrap_or(f64::NAN)
        };
        Self {
            min: at(0.0),
            median: at(0.5),
            p95: at(0.95),
        }
    }
}
