//! Rules on files: how they begin, how long they are, and what must not stand in them.

use super::Broken;
use crate::repo::{FILE_MAX_BYTES, Source, root};
use crate::run::Failure;

/// Most lines of a source file.
const LINES_MAX: usize = 600;

/// What must not stay in a Rust file, in pieces so that this file does not break its own rule.
const WORDS: [(&str, &str); 6] = [
    (concat!("to", "do!("), "unfinished code"),
    (concat!("unimplemented", "!("), "unfinished code"),
    (concat!("db", "g!("), "debugging output"),
    (concat!("#[ig", "nore"), "a test that does not run"),
    (
        concat!("#[al", "low("),
        "a lint switched off without an end; use #[expect(lint, reason = \"...\")]",
    ),
    (
        concat!("#![al", "low("),
        "a lint switched off without an end; use #![expect(lint, reason = \"...\")]",
    ),
];

/// What the core must not touch.
const CORE_WORDS: [&str; 8] = [
    "Instant::now",
    "SystemTime",
    "std::env",
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
    "std::io",
];

/// What gives a script in a Rust string away.
const SCRIPT_SIGNS: [&str; 4] = [
    "document.query",
    "document.body",
    "addEventListener(",
    "=> {return ",
];

/// How the path of a person's folder begins, in pieces as above. In code and fixtures such a path
/// can be data; in documents and settings it is a slip.
const HOMES: [&str; 3] = [
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
    concat!(":\\Us", "ers\\"),
];

fn rust(sources: &[Source]) -> impl Iterator<Item = &Source> {
    sources.iter().filter(|source| source.has_ending("rs"))
}

fn code(sources: &[Source]) -> impl Iterator<Item = &Source> {
    sources.iter().filter(|source| {
        // Pages of fixtures bring scripts that are theirs.
        let ours = source.path.starts_with("crates/") || source.path.starts_with("xtask/");
        let script = source.has_ending("js") && ours;
        source.has_ending("rs") || script
    })
}

/// Every source file says first what it owns.
pub(super) fn first_line(sources: &[Source]) -> Result<Vec<Broken>, Failure> {
    Ok(code(sources)
        .filter(|source| {
            let first = source.text.lines().next().unwrap_or_default().trim_start();
            let script = source.has_ending("js") || source.path.ends_with("build.rs");
            let mark = if script { "// " } else { "//! " };
            !first.starts_with(mark) || first.len() < mark.len() + 10
        })
        .map(|source| {
            Broken::at(source, 1, "the first line does not say what this file owns (`//! ...`, or `// ...` in a script)")
        })
        .collect())
}

/// No source file is longer than a reader's patience.
pub(super) fn length(sources: &[Source]) -> Result<Vec<Broken>, Failure> {
    Ok(code(sources)
        .filter_map(|source| {
            let lines = source.text.lines().count();
            (lines > LINES_MAX).then(|| {
                Broken::at(
                    source,
                    LINES_MAX + 1,
                    format!("{lines} lines; at most {LINES_MAX}"),
                )
            })
        })
        .collect())
}

/// Nothing unfinished, switched off or left behind.
pub(super) fn words(sources: &[Source]) -> Result<Vec<Broken>, Failure> {
    Ok(rust(sources)
        .flat_map(|source| {
            source.lines().flat_map(move |(line, text)| {
                WORDS
                    .iter()
                    .filter(move |(word, _)| text.contains(word))
                    .map(move |(word, why)| Broken::at(source, line, format!("`{word}`: {why}")))
            })
        })
        .collect())
}

/// The core reads no clock, no file, no environment.
pub(super) fn core_words(sources: &[Source]) -> Result<Vec<Broken>, Failure> {
    Ok(rust(sources)
        .filter(|source| source.path.starts_with("crates/jev-core/src/"))
        .flat_map(|source| {
            source
                .lines()
                .filter(|(_, text)| !text.trim_start().starts_with("//"))
                .flat_map(move |(line, text)| {
                    CORE_WORDS
                        .iter()
                        .filter(move |word| text.contains(**word))
                        .map(move |word| Broken::at(source, line, format!("`{word}` in jev-core")))
                })
        })
        .collect())
}

/// Scripts for the browser are files that tests can load.
pub(super) fn scripts(sources: &[Source]) -> Result<Vec<Broken>, Failure> {
    Ok(rust(sources)
        .filter(|source| source.path.starts_with("crates/jev-session-cdp/src/"))
        .flat_map(|source| {
            source.lines().flat_map(move |(line, text)| {
                SCRIPT_SIGNS
                    .iter()
                    .filter(move |sign| text.contains(**sign))
                    .map(move |sign| {
                        Broken::at(
                            source,
                            line,
                            format!(
                                "`{sign}` looks like a script inside Rust; put it into a .js file"
                            ),
                        )
                    })
            })
        })
        .collect())
}

/// No large file: they stay in every clone for ever.
pub(super) fn size(sources: &[Source]) -> Result<Vec<Broken>, Failure> {
    Ok(sources
        .iter()
        .filter(|source| source.bytes > FILE_MAX_BYTES)
        .map(|source| {
            Broken::new(
                &source.path,
                format!("{} bytes; at most {FILE_MAX_BYTES}", source.bytes),
            )
        })
        .collect())
}

/// Nothing that is true on one machine only: neither the machine that this runs on, nor, in
/// documents and settings, anybody's home.
pub(super) fn machine_paths(sources: &[Source]) -> Result<Vec<Broken>, Failure> {
    let mut here = Vec::new();
    if let Ok(root) = root().canonicalize() {
        here.push(root.to_string_lossy().into_owned());
    }
    if let Some(home) = std::env::var_os("HOME") {
        here.push(format!(
            "{}/.",
            home.to_string_lossy().trim_end_matches('/')
        ));
    }
    // `/src` or `/.` would be found in half of all texts.
    here.retain(|path| path.matches('/').count() >= 2 && path.len() > 4);
    Ok(sources
        .iter()
        .flat_map(|source| {
            let prose = ["md", "toml", "yml", "yaml", "sh"]
                .iter()
                .any(|ending| source.has_ending(ending));
            let homes = HOMES.iter().filter(move |_| prose).copied();
            let signs: Vec<&str> = here.iter().map(String::as_str).chain(homes).collect();
            source
                .lines()
                .flat_map(|(line, text)| {
                    signs
                        .iter()
                        .filter(move |sign| text.contains(**sign))
                        .map(move |sign| {
                            Broken::at(source, line, format!("`{sign}` is a path of one machine"))
                        })
                })
                .collect::<Vec<_>>()
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source {
            path: path.to_owned(),
            bytes: text.len() as u64,
            text: text.to_owned(),
        }
    }

    type Check = fn(&[Source]) -> Result<Vec<Broken>, Failure>;

    #[test]
    fn every_rule_finds_its_fault_and_passes_its_opposite() {
        let long = "//! A file that is long.\n".repeat(LINES_MAX + 1);
        let lint = concat!("#[al", "low(dead_code)]");
        let home = concat!("see /ho", "me/someone/notes");
        let cases: [(Check, &str, &str, usize); 14] = [
            (
                first_line,
                "crates/a/src/b.rs",
                "//! What this file owns.\n",
                0,
            ),
            (first_line, "crates/a/src/b.rs", "use x;\n", 1),
            (first_line, "crates/a/src/b.rs", "//! x\n", 1),
            (
                first_line,
                "crates/a/src/b.js",
                "// What this script does.\n",
                0,
            ),
            (first_line, "fixtures/a/b.js", "let x;\n", 0),
            (length, "crates/a/src/b.rs", &long, 1),
            (words, "crates/a/src/b.rs", lint, 1),
            (words, "docs/a.md", lint, 0),
            (
                core_words,
                "crates/jev-core/src/a.rs",
                "let t = Instant::now();",
                1,
            ),
            (
                core_words,
                "crates/jev-core/src/a.rs",
                "// no Instant::now here",
                0,
            ),
            (
                core_words,
                "crates/jev-agent/src/a.rs",
                "let t = Instant::now();",
                0,
            ),
            (
                scripts,
                "crates/jev-session-cdp/src/a.rs",
                "\"document.querySelector\"",
                1,
            ),
            (machine_paths, "docs/a.md", home, 1),
            (machine_paths, "crates/a/src/b.rs", home, 0),
        ];
        for (check, path, text, faults) in cases {
            let broken = check(&[source(path, text)]).unwrap();
            assert_eq!(broken.len(), faults, "{path}: {text:.60}: {broken:?}");
        }
    }
}
