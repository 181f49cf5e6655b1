//! The real driver in simulated worlds, on paused time: whatever the ports do, the inputs that the
//! driver hands to the navigator keep every invariant, and at the ports nothing happens twice.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy exempts functions that are tests, not their helpers"
)]
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a port knows the inputs that answer its effect; any other is odd, also one yet to come"
)]

#[path = "driver/ports.rs"]
mod ports;
#[path = "driver/twin.rs"]
mod twin;

use std::time::Duration;

use jev_agent::run;
use jev_core::contract::{Contract, Mode};
use jev_core::ids::RunId;
use jev_core::status::Status;
use tokio_util::sync::CancellationToken;
use xtask::world::mix::{self, Kind, Mix};
use xtask::world::site::Site;
use xtask::world::{Chance, World};

use ports::Hub;
use twin::Twin;

/// Longer than any run: its budget, an open that comes after it, a close, and the slack of both.
fn bound(contract: &Contract) -> Duration {
    contract.budget + Duration::from_secs(7)
}

fn world(seed: u64, case: u64) -> (Mix, Contract, World, Chance) {
    let mut chance = Chance::of_case(seed, case);
    let mix = Mix::draw(&mut chance);
    let contract = mix::contract(&mut chance, mix.kind).unwrap();
    let site = Site::draw(&mut chance, contract.reach, contract.scope.clone());
    let world = World::new(chance.clone(), mix.clone(), site, contract.budget);
    (mix, contract, world, chance)
}

#[tokio::test(start_paused = true)]
async fn the_driver_keeps_every_promise_in_any_world() {
    let mut verified = 0;
    for case in 0..2_000 {
        let (mix, contract, world, _) = world(2, case);
        let cancel = CancellationToken::new();
        let hub = Hub::new(world, cancel.clone());
        let mut twin = Twin::new(contract.clone());
        let ports = hub.ports();
        let running = run(RunId(1), contract.clone(), &ports, &mut twin, &cancel);
        let report = tokio::time::timeout(bound(&contract), running)
            .await
            .unwrap_or_else(|_| panic!("case {case}: the driver did not come to an end"));
        twin.ended(&report, &mix);
        assert_eq!(twin.failures, Vec::<String>::new(), "case {case}");
        assert_eq!(hub.broken(), Vec::<&str>::new(), "case {case}");
        let honest = mix.kind == Kind::Honest && contract.mode == Mode::Enforce;
        let is_verified = matches!(report.status, Status::Verified(_));
        assert!(is_verified || !honest, "case {case}: {:?}", report.status);
        verified += u32::from(is_verified);
        let (opened, closes, dropped) = hub.sessions().await;
        assert_eq!((closes, dropped), (opened, 0), "case {case}");
    }
    assert!(verified > 200, "only {verified} runs were verified");
}

/// A caller who drops a run half-way leaves no session behind.
#[tokio::test(start_paused = true)]
async fn a_dropped_run_closes_its_session() {
    for case in 0..600 {
        let (_, contract, world, mut chance) = world(3, case);
        let cancel = CancellationToken::new();
        let hub = Hub::new(world, cancel.clone());
        let mut twin = Twin::new(contract.clone());
        let patience = Duration::from_millis(u64::from(chance.below(3_000)));
        let ports = hub.ports();
        let running = run(RunId(1), contract, &ports, &mut twin, &cancel);
        let _ = tokio::time::timeout(patience, running).await;
        assert_eq!(twin.failures, Vec::<String>::new(), "case {case}");
        assert_eq!(hub.broken(), Vec::<&str>::new(), "case {case}");
        let (opened, closes, dropped) = hub.sessions().await;
        // A close that was under way is given up with the run, and asked for again.
        assert!(
            dropped == 0 && (opened..=2 * opened).contains(&closes),
            "case {case}: {opened} opened, {closes} closes, {dropped} dropped open"
        );
    }
}
