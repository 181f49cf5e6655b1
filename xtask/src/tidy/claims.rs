//! The rule on claims of security: each names what shows it, and that exists.

use super::Broken;
use super::documents::find;
use crate::repo::Source;
use crate::run::Failure;

const SECURITY: &str = "docs/security.md";
/// How the last column of a table of claims is headed.
const PROOF: &str = "shown by";

/// Every row of a table of claims names a fixture or a test, and every one named exists.
pub(super) fn proven(sources: &[Source]) -> Result<Vec<Broken>, Failure> {
    let text = find(sources, SECURITY).map_or("", |file| &file.text);
    let mut broken: Vec<Broken> = check(text, |proof| exists(sources, proof))
        .into_iter()
        .map(|(line, what)| Broken::new(format!("{SECURITY}:{line}"), what))
        .collect();
    if text.matches(PROOF).count() == 0 {
        broken.push(Broken::new(SECURITY, "has no table of claims"));
    }
    Ok(broken)
}

/// A hostile page (`network/NAME`, `page/NAME`) or a function of a file (`FILE.rs::NAME`).
fn exists(sources: &[Source], proof: &str) -> bool {
    match proof.split_once("::") {
        Some((file, function)) => sources.iter().any(|source| {
            let path = format!("/{}", source.path);
            let starts = format!("fn {function}(");
            path.ends_with(&format!("/{file}")) && source.text.contains(&starts)
        }),
        None => {
            let path = format!("fixtures/hostile/{proof}.html");
            sources.iter().any(|source| source.path == path)
        }
    }
}

/// What a word in code stands for, when it names a proof.
fn is_proof(word: &str) -> bool {
    let plain = |text: &str| {
        !text.is_empty()
            && text
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
    };
    let page = ["network/", "page/"]
        .iter()
        .find_map(|folder| word.strip_prefix(folder));
    page.is_some_and(plain)
        || word
            .split_once("::")
            .is_some_and(|(file, function)| file.ends_with(".rs") && plain(function))
}

fn check(text: &str, exists: impl Fn(&str) -> bool) -> Vec<(usize, String)> {
    let mut broken = Vec::new();
    let mut claims = false;
    for (index, line) in text.lines().enumerate() {
        let proofs: Vec<&str> = code(line).filter(|word| is_proof(word)).collect();
        for proof in &proofs {
            if !exists(proof) {
                broken.push((index + 1, format!("`{proof}` is no fixture and no test")));
            }
        }
        let last = line.trim().trim_matches('|').rsplit('|').next();
        let last = last.unwrap_or_default().trim();
        if !line.starts_with('|') {
            claims = false;
        } else if last == PROOF {
            claims = true;
        } else if claims && !last.starts_with("---") && !code(last).any(is_proof) {
            broken.push((index + 1, "a claim that nothing shows".to_owned()));
        }
    }
    broken
}

/// What stands in code marks.
fn code(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_without_a_proof_and_proofs_that_are_not_there_are_named() {
        let page = "| wall | shown by |\n|---|---|\n| one | `network/image`, `a.rs::holds` |\n\
                    | two | words |\n| three | `page/gone` |\n\n| other | table |\n|---|---|\n| x | y |";
        let there = |proof: &str| matches!(proof, "network/image" | "a.rs::holds");
        let broken = check(page, there);
        let lines: Vec<usize> = broken.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [4, 5], "{broken:?}");
        assert!(check(page, |_| true).len() == 1);
    }

    #[test]
    fn a_proof_is_told_from_other_code() {
        for proof in [
            "network/iframe-data",
            "page/leak",
            "tests/fetch.rs::certificates_are_verified",
        ] {
            assert!(is_proof(proof), "{proof}");
        }
        for other in [
            "network/fetch.rs",
            "page/",
            "a::b",
            "network/a/b",
            "flags.rs",
        ] {
            assert!(!is_proof(other), "{other}");
        }
    }
}
