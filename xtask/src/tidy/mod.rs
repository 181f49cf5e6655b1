//! `cargo xtask tidy`: the rules of this repository that no compiler knows, each with the place
//! where it is written down.

mod claims;
mod documents;
mod edges;
mod sources;

use crate::repo::{self, Source};
use crate::run::Failure;

/// One broken rule.
#[derive(Debug)]
pub(crate) struct Broken {
    /// Where, as `path` or `path:line`.
    place: String,
    /// What is wrong there.
    what: String,
}

impl Broken {
    fn new(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            what: what.into(),
        }
    }

    fn at(source: &Source, line: usize, what: impl Into<String>) -> Self {
        Self::new(format!("{}:{line}", source.path), what)
    }
}

type Check = fn(&[Source]) -> Result<Vec<Broken>, Failure>;

/// A rule: its name is a heading of CONTRIBUTING.md, where its reason stands.
struct Rule {
    name: &'static str,
    check: Check,
}

const RULES: [Rule; 14] = [
    Rule {
        name: "Arrows between crates",
        check: edges::workspace,
    },
    Rule {
        name: "A pure core",
        check: edges::core,
    },
    Rule {
        name: "First line",
        check: sources::first_line,
    },
    Rule {
        name: "File length",
        check: sources::length,
    },
    Rule {
        name: "Words that do not stay",
        check: sources::words,
    },
    Rule {
        name: "No clock in the core",
        check: sources::core_words,
    },
    Rule {
        name: "Scripts in their own files",
        check: sources::scripts,
    },
    Rule {
        name: "File size",
        check: sources::size,
    },
    Rule {
        name: "No paths of one machine",
        check: sources::machine_paths,
    },
    Rule {
        name: "Statuses in the documents",
        check: documents::statuses,
    },
    Rule {
        name: "Invariants in the documents",
        check: documents::invariants,
    },
    Rule {
        name: "Two commands in the README",
        check: documents::readme,
    },
    Rule {
        name: "Decisions are numbered",
        check: documents::decisions,
    },
    Rule {
        name: "Claims with their proof",
        check: claims::proven,
    },
];

/// `cargo xtask tidy`.
pub(crate) fn command() -> Result<(), Failure> {
    let sources = repo::sources()?;
    let handbook = documents::find(&sources, "CONTRIBUTING.md").map_or("", |file| &file.text);
    let mut count = 0;
    for rule in &RULES {
        let mut broken = (rule.check)(&sources)?;
        let heading = format!("### {}", rule.name);
        if !handbook.lines().any(|line| line == heading) {
            broken.push(Broken::new(
                "CONTRIBUTING.md",
                format!("has no heading `{heading}`, so nobody can read why this rule holds"),
            ));
        }
        for one in &broken {
            eprintln!(
                "{}: {}\n    rule: {} (CONTRIBUTING.md#{})",
                one.place,
                one.what,
                rule.name,
                anchor(rule.name)
            );
        }
        count += broken.len();
    }
    if count > 0 {
        return Err(Failure::Rules { count });
    }
    eprintln!(
        "tidy: {} rules hold over {} files",
        RULES.len(),
        sources.len()
    );
    Ok(())
}

/// The anchor that a heading gets.
fn anchor(heading: &str) -> String {
    heading.to_lowercase().replace(' ', "-")
}
