//! The hunt: many cases on all processors until one fails, all have been played, or time is up.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::Chance;
use super::case::{self, Failure, Orders, Played};
use super::coverage::Coverage;

/// Which cases to play.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The seed of all of them.
    pub seed: u64,
    /// The first one's number.
    pub first: u64,
    /// How many.
    pub cases: u64,
    /// No new ones are begun after so long.
    pub time: Option<Duration>,
}

/// What a case did wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It broke an invariant.
    Broke(Failure),
    /// The navigator or the world panicked.
    Crashed(String),
}

impl Fault {
    /// The invariant that was broken.
    pub fn invariant(&self) -> &'static str {
        match self {
            Self::Broke(failure) => failure.invariant,
            Self::Crashed(_) => "a panic",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broke(failure) => failure.fmt(f),
            Self::Crashed(words) => write!(f, "a panic: {words}"),
        }
    }
}

/// What came of a hunt.
#[derive(Debug)]
pub struct Hunt {
    /// How many cases were played.
    pub cases: u64,
    /// How long it took.
    pub took: Duration,
    /// What they reached.
    pub coverage: Coverage,
    /// The failing case with the lowest number among those found.
    pub fault: Option<(u64, Fault)>,
}

impl Hunt {
    /// Cases a second.
    pub fn rate(&self) -> f64 {
        self.cases as f64 / self.took.as_secs_f64().max(1e-9)
    }
}

/// Cases are handed out in so large pieces.
const PIECE: u64 = 64;

/// Plays one case, and catches it when it panics.
pub fn play(seed: u64, case: u64, orders: Orders) -> Result<Played, Fault> {
    let chance = Chance::of_case(seed, case);
    let played = caught(|| case::play(chance, orders))?;
    match played.failure {
        Some(failure) => Err(Fault::Broke(failure)),
        None => Ok(played),
    }
}

/// What some work gives, or what it said when it panicked.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Fault> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| Fault::Crashed(message(&*payload)))
}

fn message(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without words".to_owned())
}

/// Plays the cases of a plan.
pub fn hunt(plan: Plan) -> Hunt {
    let began = Instant::now();
    let next = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    let played = AtomicU64::new(0);
    let shared: Mutex<(Coverage, Option<(u64, Fault)>)> = Mutex::default();
    let work = || {
        let mut coverage = Coverage::default();
        let mut found: Option<(u64, Fault)> = None;
        while !stop.load(Ordering::Relaxed) && plan.time.is_none_or(|time| began.elapsed() < time) {
            let piece = next.fetch_add(PIECE, Ordering::Relaxed);
            if piece >= plan.cases {
                break;
            }
            for number in piece..(piece + PIECE).min(plan.cases) {
                let case = plan.first + number;
                played.fetch_add(1, Ordering::Relaxed);
                match play(plan.seed, case, Orders::default()) {
                    Ok(one) => coverage.add(&one.coverage),
                    Err(fault) => {
                        found = Some((case, fault));
                        stop.store(true, Ordering::Relaxed);
                        break;
                    }
                }
            }
        }
        if let Ok(mut shared) = shared.lock() {
            shared.0.add(&coverage);
            let earlier = shared.1.as_ref().map_or(u64::MAX, |(case, _)| *case);
            if let Some(found) = found.filter(|(case, _)| *case < earlier) {
                shared.1 = Some(found);
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let (coverage, fault) = shared.into_inner().unwrap_or_default();
    Hunt {
        cases: played.into_inner(),
        took: began.elapsed(),
        coverage,
        fault,
    }
}
