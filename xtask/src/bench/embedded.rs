//! `cargo xtask bench embedded`: what the embedded judge's ranking costs on this machine, beside the
//! bounds it is meant to keep.

use std::fs;
use std::time::{Duration, Instant};

use jev_judge::embedded::{Embedder, GivenUp, Model, Weights};

use super::{Figures, failed};
use crate::run::Failure;

/// Labels of one question.
const LABELS: usize = 30;
/// Rounds, each with labels that no round before had.
const ROUNDS: usize = 10;
/// The bounds of the judge's issue: new labels and cached ones in milliseconds, memory in megabytes.
const BOUNDS: [f64; 3] = [450.0, 15.0, 250.0];

/// `cargo xtask bench embedded`.
pub(super) fn command() -> Result<(), Failure> {
    let begun = Instant::now();
    let weights = Weights::locate().map_err(failed)?;
    let model = Model::load(&weights).map_err(failed)?;
    let loading = begun.elapsed();
    // The first pass pays for pages that the system has not read yet.
    model
        .embed(&["Warm up"], &GivenUp::default())
        .map_err(failed)?;
    let (mut fresh, mut cached) = (Vec::new(), Vec::new());
    let before = processor_time();
    for round in 0..ROUNDS {
        let labels: Vec<String> = (0..LABELS)
            .map(|n| {
                format!("Help centre: Opening hours and holidays of branch {n} in year {round}")
            })
            .collect();
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        for times in [&mut fresh, &mut cached] {
            let begun = Instant::now();
            model.embed(&labels, &GivenUp::default()).map_err(failed)?;
            times.push(begun.elapsed());
        }
    }
    let spent = processor_time()
        .zip(before)
        .map(|(after, before)| after.saturating_sub(before) / ROUNDS as u32);
    print(loading, Figures::of(&fresh), Figures::of(&cached), spent);
    Ok(())
}

fn print(loading: Duration, fresh: Figures, cached: Figures, spent: Option<Duration>) {
    let judged = |value: f64, bound: f64| if value <= bound { "ok" } else { "OVER" };
    let [most_fresh, most_cached, most_memory] = BOUNDS;
    println!(
        "{LABELS} labels, {ROUNDS} rounds; loading took {:.0} ms",
        ms(loading)
    );
    println!(
        "new labels      min {:>7.2}  median {:>7.2}  p95 {:>7.2} ms   bound {most_fresh} ms of one core: {}",
        fresh.min,
        fresh.median,
        fresh.p95,
        judged(spent.map_or(fresh.min, ms), most_fresh)
    );
    if let Some(spent) = spent {
        println!("  processor time of a round {:.0} ms", ms(spent));
    }
    println!(
        "cached labels   min {:>7.2}  median {:>7.2}  p95 {:>7.2} ms   bound {most_cached} ms: {}",
        cached.min,
        cached.median,
        cached.p95,
        judged(cached.median, most_cached)
    );
    match peak_memory() {
        Some(peak) => println!(
            "memory          at most {peak:.0} MB of the whole process   bound {most_memory} MB: {}",
            judged(peak, most_memory)
        ),
        None => println!("memory          not told by this system"),
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

/// What this process has used of all processors, where the system tells it (Linux, in ticks of 10 ms).
fn processor_time() -> Option<Duration> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The command's name stands in parentheses and may hold anything; 12 and 13 fields after it.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(Duration::from_millis(10 * (user + system)))
}

/// The most memory this process has held, in megabytes, where the system tells it.
fn peak_memory() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes / 1_000.0)
}
