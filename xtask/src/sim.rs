//! `cargo xtask sim`: plays cases of the simulated world until one fails, all are played, or time
//! is up; a failure names the one command that repeats it.
//!
//! Exit codes: 0 all held, 1 the command itself failed, 11 a safety invariant was broken, 12 a
//! liveness invariant was broken, 13 something panicked, 14 the cases did not reach all that they
//! should have.

use std::time::Duration;

use xtask::world::cancels;
use xtask::world::case::{Broken, Orders};
use xtask::world::hunt::{self, Fault, Hunt, Plan};
use xtask::world::small;

use crate::run::Failure;

/// Options of `cargo xtask sim`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How many cases to play.
    #[arg(long, default_value_t = 50_000)]
    cases: u64,
    /// The seed of all cases. The same seed and number give the same case on every machine.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The number of the first case.
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Begin no new case after so many minutes.
    #[arg(long)]
    minutes: Option<u64>,
    /// Tell the story of each case; for a few cases.
    #[arg(long)]
    story: bool,
    /// In place of drawn cases: a cancel at every input of recorded honest runs, and every order of
    /// events in the small worlds.
    #[arg(long)]
    exhaustive: bool,
}

/// So many cases reach everything; fewer may miss something by chance.
const COVERING: u64 = 20_000;
/// Honest runs that are cut by a cancel at each of their inputs.
const CANCELLED_RUNS: u32 = 200;
/// More states than any small world has.
const STATES_MOST: usize = 2_000_000;

/// What continuous integration plays: 50,000 cases and the exhaustive part.
pub(crate) fn all() -> Result<(), Failure> {
    let plan = Arguments {
        cases: 50_000,
        seed: 1,
        first: 0,
        minutes: None,
        story: false,
        exhaustive: false,
    };
    command(&plan)?;
    exhaustive()
}

/// `cargo xtask sim`.
pub(crate) fn command(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.exhaustive {
        return exhaustive();
    }
    if arguments.story {
        for number in 0..arguments.cases {
            tell(arguments.seed, arguments.first + number, |line| {
                println!("{line}")
            });
        }
    }
    let hunt = hunt::hunt(Plan {
        seed: arguments.seed,
        first: arguments.first,
        cases: arguments.cases,
        time: arguments
            .minutes
            .map(|minutes| Duration::from_secs(60 * minutes)),
    });
    report(&hunt);
    verdict(arguments.seed, &hunt)
}

fn verdict(seed: u64, hunt: &Hunt) -> Result<(), Failure> {
    if let Some((case, fault)) = &hunt.fault {
        return Err(explain(seed, *case, fault));
    }
    let missing = hunt.coverage.missing();
    if hunt.cases >= COVERING && !missing.is_empty() {
        return Err(Failure::Simulation {
            code: 14,
            what: format!("never reached: {}", missing.join(", ")),
        });
    }
    Ok(())
}

fn exhaustive() -> Result<(), Failure> {
    let cancelled = cancels::inject(CANCELLED_RUNS);
    println!(
        "{} honest runs, cancelled at {} inputs",
        cancelled.runs, cancelled.cancels
    );
    if let Some((run, at, fault)) = cancelled.failure {
        let when = at.map_or("not cancelled".to_owned(), |at| {
            format!("cancelled at input {at}")
        });
        return Err(Failure::Simulation {
            code: code(&fault),
            what: format!(
                "recorded run {run}, {when}: {fault}\n\
                 repeat it with: cargo xtask sim --exhaustive"
            ),
        });
    }
    for (variant, found) in small::search_all(STATES_MOST) {
        let found = found.map_err(|fault| Failure::Simulation {
            code: code(&fault),
            what: format!(
                "{variant}: {fault}\n\
                 repeat it with: cargo xtask sim --exhaustive"
            ),
        })?;
        println!(
            "{variant}: {} distinct states, {} steps, longest history {}",
            found.states, found.steps, found.depth
        );
        if let Some((fault, history)) = found.failure {
            return Err(Failure::Simulation {
                code: code(&fault),
                what: format!(
                    "{variant}: {fault}\nhistory: {}\n\
                     repeat it with: cargo xtask sim --exhaustive",
                    history.join("; ")
                ),
            });
        }
        if found.states >= STATES_MOST {
            return Err(Failure::Simulation {
                code: 14,
                what: format!(
                    "{variant}: more than {STATES_MOST} states; the search is not complete"
                ),
            });
        }
    }
    Ok(())
}

fn code(fault: &Fault) -> u8 {
    match fault {
        Fault::Broke(failure) => match failure.broken {
            Broken::Safety => 11,
            Broken::Liveness => 12,
        },
        Fault::Crashed(_) => 13,
    }
}

/// Tells the story of one case as it is played, so that one that panics is told up to there.
fn tell(seed: u64, case: u64, line: fn(&str)) {
    line(&format!("case {case} of seed {seed}"));
    let orders = Orders {
        tell: Some(line),
        ..Orders::default()
    };
    if let Err(fault) = hunt::play(seed, case, orders) {
        line(&fault.to_string());
    }
    line("");
}

fn explain(seed: u64, case: u64, fault: &Fault) -> Failure {
    Failure::Simulation {
        code: code(fault),
        what: format!(
            "case {case} of seed {seed}: {fault}\n\
             repeat it with: cargo xtask sim --seed {seed} --first {case} --cases 1 --story"
        ),
    }
}

fn report(hunt: &Hunt) {
    println!(
        "{} cases, {} inputs in {:.1} s: {:.0} cases a second",
        hunt.cases,
        hunt.coverage.inputs,
        hunt.took.as_secs_f64(),
        hunt.rate()
    );
    let mut kind = "";
    for (of, name, count) in hunt.coverage.counts() {
        if of != kind {
            println!("{of}:");
            kind = of;
        }
        println!("  {count:>10}  {name}");
    }
}

#[cfg(test)]
mod tests {
    use xtask::world::case::Failure as Found;
    use xtask::world::coverage::Coverage;

    use super::*;

    fn hunt(cases: u64, fault: Option<Fault>) -> Hunt {
        Hunt {
            cases,
            took: Duration::from_secs(1),
            coverage: Coverage::default(),
            fault: fault.map(|fault| (4_711, fault)),
        }
    }

    fn broke(invariant: &'static str, broken: Broken) -> Option<Fault> {
        Some(Fault::Broke(Found {
            invariant,
            why: "why",
            broken,
            input: 3,
        }))
    }

    /// The codes are documented, and scripts tell the kinds of failure apart by them.
    #[test]
    fn each_kind_of_failure_has_its_exit_code_and_the_command_that_repeats_it() {
        for (fault, code) in [
            (broke("S3", Broken::Safety), 11),
            (broke("L2", Broken::Liveness), 12),
            (Some(Fault::Crashed("overflow".to_owned())), 13),
        ] {
            let failure = verdict(7, &hunt(1, fault)).unwrap_err();
            assert_eq!(failure.code(), code);
            let repeat = "cargo xtask sim --seed 7 --first 4711 --cases 1 --story";
            assert!(failure.to_string().contains(repeat), "{failure}");
        }
        assert_eq!(verdict(7, &hunt(COVERING, None)).unwrap_err().code(), 14);
        assert!(verdict(7, &hunt(COVERING - 1, None)).is_ok());
    }

    #[test]
    fn the_document_lists_the_exit_codes() {
        let page = include_str!("../../docs/testing.md");
        let words: Vec<&str> = page.split_whitespace().collect();
        let page = words.join(" ");
        for code in [
            "11 a safety invariant was broken",
            "12 a liveness invariant was broken",
            "13 something panicked",
            "14 the cases did not reach",
        ] {
            assert!(page.contains(code), "{code}");
        }
    }
}
