//! `cargo xtask mutants`: the mutation check. Each deliberate fault of the list is made in a copy
//! of `jev-core` under `target/mutants`, and the simulated world is built against the copy and must
//! notice it. The sources themselves are only read, so nothing is left behind by whatever ends it.

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
    /// Write what was found into the table of docs/testing.md. Rows of other faults stay.
    #[arg(long)]
    write: bool,
}

/// Where the table stands.
const DOCUMENT: &str = "docs/testing.md";
const BEGIN: &str = "<!-- mutants: begin -->";
const END: &str = "<!-- mutants: end -->";

/// The program that plays the world against the copy.
const HUNTER: &str = include_str!("hunter.rs.txt");

/// What noticed a fault first.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Caught {
    /// The invariant.
    by: String,
    /// After how much.
    after: String,
}

struct Outcome {
    mutant: &'static Mutant,
    /// What noticed it, or nothing.
    caught: Option<Caught>,
}

impl Outcome {
    fn row(&self) -> String {
        let Mutant { name, what, .. } = self.mutant;
        match &self.caught {
            Some(Caught { by, after }) => format!("| {name} | {what} | {by} | {after} |"),
            None => format!("| {name} | {what} | **not noticed** | |"),
        }
    }
}

/// `cargo xtask mutants`.
pub(crate) fn command(arguments: &Arguments) -> Result<(), Failure> {
    let bench = Bench::prepare()?;
    let unchanged = bench.play(arguments.cases)?;
    if let Some(found) = unchanged {
        return Err(Failure::Unreadable {
            what: format!("the unchanged core does not hold: {found:?}"),
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
        let played = bench.play(arguments.cases);
        bench.restore(mutant)?;
        let said = match &played {
            Ok(Some(caught)) => format!("{} after {}", caught.by, caught.after),
            Ok(None) => "NOT NOTICED".to_owned(),
            Err(failure) => format!("NOT PLAYED: {failure}"),
        };
        let seconds = began.elapsed().as_secs_f64();
        println!("{:<36} {said} ({seconds:.0} s)", mutant.name);
        let caught = played.ok().flatten();
        outcomes.push(Outcome { mutant, caught });
    }
    let missed = outcomes.iter().filter(|one| one.caught.is_none()).count();
    println!("{} of {} noticed", outcomes.len() - missed, outcomes.len());
    if arguments.write {
        let path = repo::root().join(DOCUMENT);
        store(&path, &with_rows(&read(&path)?, &outcomes)?)?;
    }
    if missed > 0 {
        return Err(Failure::Unreadable {
            what: format!("{missed} deliberate fault(s) were not noticed: a check is missing"),
        });
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
    fn play(&self, cases: u64) -> Result<Option<Caught>, Failure> {
        let mut command = run::cargo();
        command
            .current_dir(&self.root)
            .args(["run", "--quiet", "--offline", "--package", "hunter", "--"])
            .arg(cases.to_string())
            .env("CARGO_TARGET_DIR", self.root.join("target"))
            .env("RUSTFLAGS", "-Awarnings");
        let said = run::output(&mut command)?;
        match said.trim().split_once('\t') {
            None if said.trim() == "survived" => Ok(None),
            Some((by, after)) => Ok(Some(Caught {
                by: by.to_owned(),
                after: after.to_owned(),
            })),
            None => Err(Failure::Unreadable {
                what: format!("the hunter said `{}`", said.trim()),
            }),
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

/// The document with these rows in its table, in the list's order. A row of a fault that was not
/// hunted stays as it stands; a row of a fault that is not in the list goes.
fn with_rows(text: &str, outcomes: &[Outcome]) -> Result<String, Failure> {
    let (Some((before, rest)), Some((_, after))) = (text.split_once(BEGIN), text.split_once(END))
    else {
        return Err(Failure::Unreadable {
            what: format!("{DOCUMENT} has no place for the table"),
        });
    };
    let mut table = String::from(
        "| fault | what it makes the core do | noticed by | after |\n|---|---|---|---|\n",
    );
    for mutant in MUTANTS {
        let hunted = outcomes
            .iter()
            .find(|outcome| outcome.mutant.name == mutant.name);
        let start = format!("| {} | {} |", mutant.name, mutant.what);
        let kept = || rest.lines().find(|line| line.starts_with(&start));
        if let Some(row) = hunted
            .map(Outcome::row)
            .or_else(|| kept().map(str::to_owned))
        {
            table.push_str(&row);
            table.push('\n');
        }
    }
    Ok(format!("{before}{BEGIN}\n{table}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hunt takes half an hour; what it found is in the document, and this says when it is due
    /// again: when a fault is new, has another meaning, or was not noticed.
    #[test]
    fn the_document_lists_exactly_these_faults_as_noticed() {
        let text = read(&repo::root().join(DOCUMENT)).unwrap();
        let table = text.split_once(BEGIN).unwrap().1.split_once(END).unwrap().0;
        let rows: Vec<&str> = table
            .lines()
            .filter(|line| !line.is_empty())
            .skip(2)
            .collect();
        assert_eq!(rows.len(), MUTANTS.len(), "run cargo xtask mutants --write");
        let names = xtask::world::invariants::invariant_names();
        for (row, mutant) in rows.iter().zip(MUTANTS) {
            let start = format!("| {} | {} | ", mutant.name, mutant.what);
            let found = row.strip_prefix(&start).unwrap_or_else(|| panic!("{row}"));
            let (by, after) = found.split_once(" | ").unwrap();
            assert!(names.contains(&by) || by == "a panic", "{row}");
            assert!(
                after.starts_with(|first: char| first.is_ascii_digit()),
                "{row}"
            );
        }
    }

    #[test]
    fn a_row_that_was_not_hunted_stays() {
        let [first, second, ..] = MUTANTS else {
            panic!("the list is short");
        };
        let outcome = |mutant, by: &str| Outcome {
            mutant,
            caught: Some(Caught {
                by: by.to_owned(),
                after: "1 drawn cases".to_owned(),
            }),
        };
        let empty =
            format!("above\n{BEGIN}\n| gone | is not in the list | S1 | 2 |\n{END}\nbelow\n");
        let both = with_rows(&empty, &[outcome(second, "S2"), outcome(first, "S1")]).unwrap();
        let again = with_rows(&both, &[outcome(first, "S3")]).unwrap();
        assert!(again.contains(&outcome(second, "S2").row()));
        assert!(again.contains(&outcome(first, "S3").row()));
        assert!(!again.contains(&outcome(first, "S1").row()) && !again.contains("| gone |"));
        assert!(again.starts_with("above\n") && again.ends_with(&format!("{END}\nbelow\n")));
    }
}
