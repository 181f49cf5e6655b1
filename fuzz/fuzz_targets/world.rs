//! Fuzzes the navigator: any bytes draw a world full of faults, in which every invariant holds.
#![no_main]

#[expect(dead_code, reason = "the target plays drawn cases only")]
#[path = "../../xtask/src/world/mod.rs"]
mod world;

use world::Chance;
use world::case::{Orders, play};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let played = play(Chance::of_bytes(bytes.to_vec()), Orders::default());
    if let Some(failure) = played.failure {
        panic!("{failure}");
    }
});
