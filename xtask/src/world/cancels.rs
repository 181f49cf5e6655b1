//! Cancel everywhere: honest runs are played once to the end, then again with a cancel in place of
//! each of their inputs.

use jev_core::contract::Contract;

use super::Chance;
use super::case::{Orders, Played, play_under};
use super::coverage::Coverage;
use super::hunt::{Fault, caught};
use super::mix::{self, Kind, Mix};

/// What came of it.
#[derive(Debug, Default)]
pub struct Cancelled {
    /// Honest runs that were recorded.
    pub runs: u32,
    /// Runs with a cancel.
    pub cancels: u32,
    /// What was reached.
    pub coverage: Coverage,
    /// The first failure: the run, where the cancel came, and what it broke.
    pub failure: Option<(u64, Option<u32>, Fault)>,
}

/// The source of chance and the contract of a recorded run. Each layout, reach and size of
/// question occurs among the first few dozen.
fn recorded(run: u64) -> Option<(Chance, Contract)> {
    let mut chance = Chance::of_case(0xCA_9CE1, run);
    let contract = mix::contract(&mut chance, Kind::Honest)?;
    Some((chance, contract))
}

/// Injects a cancel at every input of so many honest runs.
pub fn inject(runs: u32) -> Cancelled {
    let mut done = Cancelled::default();
    for run in 0..u64::from(runs) {
        let Some((chance, contract)) = recorded(run) else {
            continue;
        };
        let play = |cancel_at| {
            let orders = Orders {
                cancel_at,
                ..Orders::default()
            };
            let (chance, contract) = (chance.clone(), contract.clone());
            let played = caught(|| play_under(chance, Mix::honest(), contract, orders))?;
            match played.failure {
                Some(failure) => Err(Fault::Broke(failure)),
                None => Ok::<Played, Fault>(played),
            }
        };
        let whole = match play(None) {
            Ok(whole) => whole,
            Err(fault) => {
                done.failure = Some((run, None, fault));
                return done;
            }
        };
        done.runs += 1;
        done.coverage.add(&whole.coverage);
        for at in 0..whole.inputs {
            done.cancels += 1;
            match play(Some(at)) {
                Ok(cut) => done.coverage.add(&cut.coverage),
                Err(fault) => {
                    done.failure = Some((run, Some(at), fault));
                    return done;
                }
            }
        }
    }
    done
}
