//! What one input costs the navigator: `handle`, and draining effects, records and the timer, on a
//! page of 100 candidates. The bound is 5 microseconds for each.
//!
//! `cargo bench -p jev-core`
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a run that does not go as written has no cost"
)]

#[path = "../tests/large/page.rs"]
mod page;

use std::hint::black_box;

use criterion::{BatchSize, Criterion};
use jev_core::input::Input;
use jev_core::navigator::Navigator;
use jev_core::time::Timestamp;
use page::{Large, drain};

/// One input to a run that waits for it.
fn cost(criterion: &mut Criterion, name: &str, run: &Navigator, input: &Input, at: Timestamp) {
    criterion.bench_function(name, |bencher| {
        bencher.iter_batched(
            || (run.fork(), input.clone()),
            |(mut run, input)| {
                if let Some(run) = &mut run {
                    run.handle(black_box(input), at);
                    drain(run);
                }
                run
            },
            BatchSize::SmallInput,
        );
    });
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let mut large = Large::new(100, 4_000);
    while let Some((name, input)) = large.next() {
        let at = large.now;
        cost(&mut criterion, name, &large.navigator, &input, at);
        large.take(input);
    }
    criterion.final_summary();
}
