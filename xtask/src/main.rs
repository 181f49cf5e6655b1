//! Developer commands: `cargo xtask COMMAND`.
#![forbid(unsafe_code)]

mod bench;
mod ci;
mod conformance;
mod demo;
mod eval;
mod fixtures;
mod mcp_client;
mod mutants;
mod picture;
mod repo;
mod run;
mod setup;
mod sim;
mod test;
mod tidy;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Developer commands of the Jev navigator.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Fetch what runs need: Chromium and the documentation that the tasks are about.
    Setup,
    /// Set up what is missing, then show the main job in a real Chromium.
    Demo(demo::Arguments),
    /// Run tasks on real documentation sites in a real Chromium, and score them.
    Eval(eval::Arguments),
    /// Show every hostile page to a real Chromium, beside a forbidden server that counts.
    Fixtures(fixtures::Arguments),
    /// Set up what is missing, then run every test of the workspace.
    Test(test::Arguments),
    /// Measure what things cost, as ratios to a floor measured in the same run.
    Bench(bench::Arguments),
    /// Test the judge server and the judge client with a suite that is not ours (needs Python).
    Conformance,
    /// Drive `jev mcp` with a client that is not ours, in a real Chromium.
    McpClient,
    /// Check the rules of this repository that no compiler knows.
    Tidy,
    /// Play the navigator through simulated worlds full of faults.
    Sim(sim::Arguments),
    /// Make deliberate faults in a copy of the core; the simulated worlds must notice each.
    Mutants(mutants::Arguments),
    /// Format, lints, tidy and tests, as continuous integration runs them.
    Ci,
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Setup => setup::command(),
        Command::Demo(arguments) => demo::command(&arguments),
        Command::Eval(arguments) => eval::command(&arguments),
        Command::Fixtures(arguments) => fixtures::command(&arguments),
        Command::Test(arguments) => test::command(&arguments),
        Command::Bench(arguments) => bench::command(&arguments),
        Command::Conformance => conformance::command(),
        Command::McpClient => mcp_client::command(),
        Command::Tidy => tidy::command(),
        Command::Sim(arguments) => sim::command(&arguments),
        Command::Mutants(arguments) => mutants::command(&arguments),
        Command::Ci => ci::command(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("cargo xtask: {failure}");
            ExitCode::from(failure.code())
        }
    }
}
