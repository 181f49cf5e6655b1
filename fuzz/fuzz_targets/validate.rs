//! Fuzzes the check of a judge's reply with any bytes.
#![no_main]

#[path = "../check.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check::reply(bytes));
