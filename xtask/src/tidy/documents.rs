//! Rules on documents: what they must list, so that they can't fall behind the code.

use jev_core::status::Status;
use xtask::world::invariants::invariant_names;

use super::Broken;
use crate::repo::Source;
use crate::run::Failure;

const STATUSES: &str = "docs/statuses.md";

pub(super) fn find<'a>(sources: &'a [Source], path: &str) -> Option<&'a Source> {
    sources.iter().find(|source| source.path == path)
}

/// The table of statuses lists each one of the code, in its order. A test of `jev-cli` compares the
/// exit codes.
pub(super) fn statuses(sources: &[Source]) -> Result<Vec<Broken>, Failure> {
    Ok(check_statuses(
        find(sources, STATUSES).map_or("", |file| &file.text),
        &Status::NAMES,
    ))
}

fn check_statuses(text: &str, names: &[&str]) -> Vec<Broken> {
    let found: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .collect();
    if found == names {
        return Vec::new();
    }
    vec![Broken::new(
        STATUSES,
        format!(
            "must list every status once, in the order of the code: {}",
            names.join(", ")
        ),
    )]
}

const INVARIANTS: &str = "docs/invariants.md";

/// The files whose functions are the invariants.
const INVARIANT_CODE: [&str; 2] = [
    "xtask/src/world/invariants.rs",
    "xtask/src/world/liveness.rs",
];

/// The list of invariants, their functions and their page agree.
pub(super) fn invariants(sources: &[Source]) -> Result<Vec<Broken>, Failure> {
    let code: String = INVARIANT_CODE
        .iter()
        .filter_map(|path| find(sources, path))
        .map(|file| file.text.as_str())
        .collect();
    let page = find(sources, INVARIANTS).map_or("", |file| &file.text);
    Ok(check_invariants(page, &code, &invariant_names()))
}

fn check_invariants(page: &str, code: &str, names: &[&str]) -> Vec<Broken> {
    let mut broken: Vec<Broken> = names
        .iter()
        .filter(|name| !code.contains(&format!("pub fn {}(", name.to_lowercase())))
        .map(|name| {
            Broken::new(
                INVARIANT_CODE[0],
                format!("no function is called `{}`", name.to_lowercase()),
            )
        })
        .collect();
    let listed: Vec<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .collect();
    if listed != names {
        broken.push(Broken::new(
            INVARIANTS,
            format!(
                "must list every invariant once, in the order of the code: {}",
                names.join(", ")
            ),
        ));
    }
    broken
}

/// The README shows the two commands that a newcomer needs.
pub(super) fn readme(sources: &[Source]) -> Result<Vec<Broken>, Failure> {
    let text = find(sources, "README.md").map_or("", |file| &file.text);
    Ok(["cargo xtask demo", "cargo xtask test"]
        .iter()
        .filter(|command| {
            !text
                .lines()
                .any(|line| line.trim_start().starts_with(**command))
        })
        .map(|command| {
            Broken::new(
                "README.md",
                format!("does not show `{command}` on a line of its own"),
            )
        })
        .collect())
}

/// Decisions are numbered without gaps, so that a link to one stays right.
pub(super) fn decisions(sources: &[Source]) -> Result<Vec<Broken>, Failure> {
    let numbers: Vec<&str> = sources
        .iter()
        .filter_map(|source| source.path.strip_prefix("docs/decisions/"))
        .map(|name| name.split('-').next().unwrap_or_default())
        .collect();
    Ok(numbers
        .iter()
        .enumerate()
        .filter(|(index, number)| **number != format!("{:04}", index + 1))
        .map(|(index, number)| {
            Broken::new(
                "docs/decisions",
                format!("`{number}` stands where {:04} is due", index + 1),
            )
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_row_and_a_wrong_order_are_named() {
        let names = ["VERIFIED", "UNKNOWN"];
        let (first, second) = ("| `VERIFIED` | 0 | x |", "| `UNKNOWN` | 7 | y |");
        assert!(check_statuses(&format!("{first}\n{second}"), &names).is_empty());
        for wrong in [first.to_owned(), format!("{second}\n{first}")] {
            let broken = check_statuses(&wrong, &names);
            assert!(broken[0].what.contains("every status once"), "{broken:?}");
        }
    }

    #[test]
    fn an_invariant_without_a_row_or_a_function_is_named() {
        let names = ["S1", "L1"];
        let page = "| `S1` | x | y |\n\n| id | what |\n| `L1` | x | y |";
        let code = "pub fn s1(w: &Witness)\npub fn l1(";
        assert!(check_invariants(page, code, &names).is_empty());
        assert_eq!(check_invariants("| `S1` |", code, &names).len(), 1);
        assert_eq!(check_invariants(page, "pub fn s10(", &names).len(), 2);
    }

    #[test]
    fn the_invariants_are_those_of_the_contract_of_behaviour() {
        let mut names: Vec<String> = (1..=17).map(|n| format!("S{n}")).collect();
        names.extend(["E1", "E2", "E3", "E4", "L1", "L2", "L3"].map(str::to_owned));
        assert_eq!(invariant_names(), names);
    }
}
