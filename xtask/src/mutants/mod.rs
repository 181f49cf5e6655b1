//! `cargo xtask mutants`: the mutation check. Each deliberate fault of the list is made in a copy
//! of `jev-core` under `target/mutants`, and the simulated world is built against the copy and must
//! notice it.

mod list;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::repo;
use crate::run::{self, Failure};
use list::{MUTANTS, Mutant};

/// Options of `cargo xtask mutants`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only the faults whose names hold this.
    #[arg(long)]
    only: Option<String>,
    /// How many cases are played before a fault counts as unnoticed.
    #[arg(long, default_value_t = 20_000)]
    cases: u64,
    /// Write the table into docs/testing.md.
    #[arg(long)]
    write: bool,
}

/// Where the table stands.
const DOCUMENT: &str = "docs/testing.md";
const BEGIN: &str = "<!-- mutants: begin -->";
const END: &str = "<!-- mutants: end -->";

/// The program that plays the world against the copy.
const HUNTER: &str = include_str!("hunter.rs.txt");

struct Outcome {
    mutant: &'static Mutant,
    /// What noticed it, or nothing.
    caught: Option<String>,
}

/// `cargo xtask mutants`.
pub(crate) fn command(arguments: &Arguments) -> Result<(), Failure> {
    let bench = Bench::prepare()?;
    let unchanged = bench.play(arguments.cases)?;
    if let Some(found) = unchanged {
        return Err(Failure::Unreadable {
            what: format!("the unchanged core does not hold: {found}"),
        });
    }
    let wanted = |mutant: &&Mutant| {
        let only = arguments.only.as_ref();
        only.is_none_or(|part| mutant.name.contains(part.as_str()))
    };
    let mut outcomes = Vec::new();
    for mutant in MUTANTS.iter().filter(wanted) {
        let began = Instant::now();
        bench.change(mutant)?;
        let caught = bench.play(arguments.cases);
        bench.restore(mutant)?;
        let caught = caught?;
        println!(
            "{:<36} {} ({:.0} s)",
            mutant.name,
            caught.as_deref().unwrap_or("NOT NOTICED"),
            began.elapsed().as_secs_f64()
        );
        outcomes.push(Outcome { mutant, caught });
    }
    let missed = outcomes.iter().filter(|one| one.caught.is_none()).count();
    println!("{} of {} noticed", outcomes.len() - missed, outcomes.len());
    if arguments.write && arguments.only.is_none() {
        write(&outcomes)?;
    }
    if missed > 0 {
        return Err(Failure::Rules { count: missed });
    }
    Ok(())
}

/// The copy and everything around it.
struct Bench {
    root: PathBuf,
}

impl Bench {
    /// Lays out a workspace of two packages: the copy of the core, and the hunter.
    fn prepare() -> Result<Self, Failure> {
        let root = repo::root();
        let bench = Self {
            root: root.join("target/mutants"),
        };
        let core = bench.root.join("crates/jev-core");
        for folder in [&core.join("src"), &bench.root.join("hunter/src")] {
            if folder.exists() {
                fs::remove_dir_all(folder).map_err(|error| Failure::file(folder, error))?;
            }
        }
        copy(&root.join("crates/jev-core/src"), &core.join("src"))?;
        copy(
            &root.join("xtask/src/world"),
            &bench.root.join("hunter/src/world"),
        )?;
        for file in ["Cargo.lock", "crates/jev-core/Cargo.toml"] {
            let (from, to) = (root.join(file), bench.root.join(file));
            fs::copy(&from, &to).map_err(|error| Failure::file(&from, error))?;
        }
        // Versions and features are the workspace's own; its profiles are for other purposes.
        let manifest = read(&root.join("Cargo.toml"))?;
        let manifest = manifest.split("\n[profile.").next().unwrap_or(&manifest);
        let members = "members = [\"crates/*\", \"xtask\"]";
        let own = "members = [\"crates/jev-core\", \"hunter\"]";
        store(
            &bench.root.join("Cargo.toml"),
            &manifest.replace(members, own),
        )?;
        let package = "[package]\nname = \"hunter\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
             [dependencies]\njev-core = { workspace = true, features = [\"testing\"] }\n\
             serde_json.workspace = true\n";
        store(&bench.root.join("hunter/Cargo.toml"), package)?;
        store(&bench.root.join("hunter/src/main.rs"), HUNTER)?;
        // Benches and tests of the core are not copied.
        let stripped = read(&core.join("Cargo.toml"))?;
        let stripped = stripped.split("\n[dev-dependencies]").next().unwrap_or("");
        store(&core.join("Cargo.toml"), stripped)?;
        Ok(bench)
    }

    fn source(&self, file: &str) -> PathBuf {
        self.root.join("crates/jev-core/src").join(file)
    }

    fn change(&self, mutant: &Mutant) -> Result<(), Failure> {
        for edit in mutant.edits {
            let path = self.source(edit.file);
            let text = read(&path)?;
            if text.matches(edit.from).count() != 1 {
                return Err(Failure::Unreadable {
                    what: format!("{}: `{}` does not stand once", mutant.name, edit.from),
                });
            }
            store(&path, &text.replace(edit.from, edit.to))?;
        }
        Ok(())
    }

    fn restore(&self, mutant: &Mutant) -> Result<(), Failure> {
        for edit in mutant.edits {
            let from = repo::root().join("crates/jev-core/src").join(edit.file);
            store(&self.source(edit.file), &read(&from)?)?;
        }
        Ok(())
    }

    /// Builds and plays. What the hunter found, or nothing.
    fn play(&self, cases: u64) -> Result<Option<String>, Failure> {
        let mut command = run::cargo();
        command
            .current_dir(&self.root)
            .args(["run", "--quiet", "--offline", "--package", "hunter", "--"])
            .arg(cases.to_string())
            .env("CARGO_TARGET_DIR", self.root.join("target"))
            .env("RUSTFLAGS", "-Awarnings");
        let said = run::output(&mut command)?;
        match said.trim() {
            "survived" => Ok(None),
            found => Ok(Some(found.to_owned())),
        }
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::create_dir_all(to).map_err(|error| Failure::file(to, error))?;
    let entries = fs::read_dir(from).map_err(|error| Failure::file(from, error))?;
    for entry in entries {
        let entry = entry.map_err(|error| Failure::file(from, error))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            copy(&source, &target)?;
        } else {
            fs::copy(&source, &target).map_err(|error| Failure::file(&source, error))?;
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| Failure::file(path, error))
}

fn store(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| Failure::file(path, error))
}

/// Puts the table where the document keeps it.
fn write(outcomes: &[Outcome]) -> Result<(), Failure> {
    let path = repo::root().join(DOCUMENT);
    let text = read(&path)?;
    let (Some((before, _)), Some((_, after))) = (text.split_once(BEGIN), text.split_once(END))
    else {
        return Err(Failure::Unreadable {
            what: format!("{DOCUMENT} has no place for the table"),
        });
    };
    let rows: String = outcomes
        .iter()
        .map(|outcome| {
            format!(
                "| {} | {} | {} |\n",
                outcome.mutant.name,
                outcome.mutant.what,
                outcome.caught.as_deref().unwrap_or("**not noticed**")
            )
        })
        .collect();
    let head = "| fault | what it makes the core do | noticed by |\n|---|---|---|\n";
    store(&path, &format!("{before}{BEGIN}\n{head}{rows}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_lists_every_fault_as_noticed() {
        let text = read(&repo::root().join(DOCUMENT)).unwrap();
        for mutant in MUTANTS {
            let row = text
                .lines()
                .find(|line| line.starts_with(&format!("| {} |", mutant.name)));
            let row = row.unwrap_or_else(|| panic!("{} is not in {DOCUMENT}", mutant.name));
            assert!(!row.contains("not noticed"), "{row}");
        }
    }
}
