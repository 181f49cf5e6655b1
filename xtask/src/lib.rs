//! The simulated world as a library, for the command, its tests, the fuzz target and the mutation
//! check.
#![forbid(unsafe_code)]

pub mod world;
