//! Rules on documents: what they must list, so that they can't fall behind the code.

use jev_core::status::Status;
use xtask::world::invariants::invariant_names;

use super::Broken;
use crate::repo::Source;
use crate::run::Failure;

const STATUSES: &str = "docs/statuses.md";

/// Every status with its exit code: the promise that scripts around `jev read` rely on.
const EXIT_CODES: [(&str, u8); 19] = [
    ("VERIFIED", 0),
    ("OBSERVED", 10),
    ("UNVERIFIED", 3),
    ("VERIFICATION_STALE", 3),
    ("ABSTAIN", 3),
    ("BLOCKED", 3),
    ("REJECTED", 3),
    ("UNKNOWN", 7),
    ("STALE_LIMIT", 4),
    ("NO_PROGRESS", 3),
    ("STEP_LIMIT", 4),
    ("LOADING_TIMEOUT", 4),
    ("STATE_LIMIT", 4),
    ("TIMEOUT", 4),
    ("JUDGE_ERROR", 5),
    ("LEFT_SCOPE", 8),
    ("SCOPE_MISMATCH", 8),
    ("SESSION_ERROR", 6),
    ("CANCELLED", 130),
];

pub(super) fn find<'a>(sources: &'a [Source], path: &str) -> Option<&'a Source> {
    sources.iter().find(|source| source.path == path)
}

/// The table of statuses lists each one of the code, in its order, with its exit code.
pub(super) fn statuses(sources: &[Source]) -> Result<Vec<Broken>, Failure> {
    Ok(check_statuses(
        find(sources, STATUSES).map_or("", |file| &file.text),
        &Status::NAMES,
    ))
}

fn check_statuses(text: &str, names: &[&str]) -> Vec<Broken> {
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter_map(|line| line.strip_prefix("| `"))
        .map(|row| {
            row.split('|')
                .map(|cell| cell.trim().trim_matches('`'))
                .collect()
        })
        .collect();
    let mut broken = Vec::new();
    let mut found = Vec::new();
    for row in &rows {
        let Some(name) = row.first().filter(|name| names.contains(name)) else {
            continue;
        };
        found.push(*name);
        let code = EXIT_CODES
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, code)| code.to_string());
        if code.is_none() || code.as_deref() != row.get(2).copied() {
            broken.push(Broken::new(
                STATUSES,
                format!(
                    "`{name}` must have the exit code {} in its third column",
                    code.as_deref()
                        .unwrap_or("(give it one in xtask/src/tidy/documents.rs)")
                ),
            ));
        }
    }
    if found != names {
        broken.push(Broken::new(
            STATUSES,
            format!(
                "must list every status once, in the order of the code: {}",
                names.join(", ")
            ),
        ));
    }
    broken
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
    fn every_status_of_the_code_has_an_exit_code_here() {
        let known: Vec<&str> = EXIT_CODES.iter().map(|(name, _)| *name).collect();
        assert_eq!(known, Status::NAMES);
    }

    #[test]
    fn a_missing_row_and_a_wrong_code_are_named() {
        let names = ["VERIFIED", "UNKNOWN"];
        let right = "| `VERIFIED` | `none` | 0 | x |\n| `UNKNOWN` | `outcome_unknown` | 7 | y |\n| `other` | | |";
        assert!(check_statuses(right, &names).is_empty());
        let missing = check_statuses("| `VERIFIED` | `none` | 0 | x |", &names);
        assert!(missing[0].what.contains("every status once"), "{missing:?}");
        let wrong = check_statuses(&right.replace("| 7 |", "| 3 |"), &names);
        assert!(wrong[0].what.contains("exit code 7"), "{wrong:?}");
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
