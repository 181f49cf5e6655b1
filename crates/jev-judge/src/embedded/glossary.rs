//! Common words of nine languages in English, so that a model that knows only English hears at
//! least the nouns of a goal in another language. Word by word, no grammar: no translation.

use std::collections::HashMap;
use std::sync::OnceLock;

use rust_stemmers::{Algorithm, Stemmer};

use crate::text::stems_of;

/// `english;de;fr;es;it;pt;nl;ru;zh;ja`, alternatives parted by `/`.
const TABLE: &str = include_str!("glossary.txt");

/// The table's languages in the order of its columns, after English.
const LANGUAGES: [Script; 9] = [
    Script::Stems(Algorithm::German),
    Script::Stems(Algorithm::French),
    Script::Stems(Algorithm::Spanish),
    Script::Stems(Algorithm::Italian),
    Script::Stems(Algorithm::Portuguese),
    Script::Stems(Algorithm::Dutch),
    Script::Stems(Algorithm::Russian),
    Script::Unspaced,
    Script::Unspaced,
];
const RUSSIAN: usize = 6;
const CHINESE: usize = 7;
const JAPANESE: usize = 8;

/// How words are found in a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    /// Between spaces, by stem.
    Stems(Algorithm),
    /// Anywhere: the longest entry that stands at a place.
    Unspaced,
}

/// Words in one entry at most.
const ENTRY_WORDS: usize = 4;
/// Characters in one entry of an unspaced language at most.
const ENTRY_CHARS: usize = 8;
/// The first part of a compound has at least so many letters, and so many follow.
const COMPOUND_HEAD: usize = 4;
const COMPOUND_REST: usize = 3;
/// Characters of a goal that are read.
const GOAL_CHARS: usize = 600;

struct Glossary {
    script: Script,
    entries: HashMap<String, &'static str>,
}

/// The goal's known words in English, the others as they stand; `None` for a goal in English, in a
/// language without a column, or without a known word.
pub(super) fn in_english(goal: &str) -> Option<String> {
    let goal = super::rank::head(goal, GOAL_CHARS);
    glossary(column(goal)?)?.gloss(goal)
}

/// The column of the goal's language: by script, else by function words. `None` for English.
fn column(goal: &str) -> Option<usize> {
    let has = |range: std::ops::RangeInclusive<char>| goal.chars().any(|c| range.contains(&c));
    if has('\u{3040}'..='\u{30ff}') {
        Some(JAPANESE)
    } else if has('\u{4e00}'..='\u{9fff}') {
        Some(CHINESE)
    } else if has('\u{0400}'..='\u{04ff}') {
        Some(RUSSIAN)
    } else {
        let script = Script::Stems(stems_of(goal));
        LANGUAGES.iter().position(|known| *known == script)
    }
}

fn glossary(column: usize) -> Option<&'static Glossary> {
    static ALL: [OnceLock<Glossary>; 9] = [const { OnceLock::new() }; 9];
    let script = *LANGUAGES.get(column)?;
    Some(ALL.get(column)?.get_or_init(|| {
        let mut glossary = Glossary {
            script,
            entries: HashMap::new(),
        };
        for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
            let mut cells = line.split(';');
            if let (Some(english), Some(words)) = (cells.next(), cells.nth(column)) {
                for word in words.split('/') {
                    let key = glossary.key(word);
                    glossary.entries.entry(key).or_insert(english);
                }
            }
        }
        glossary
    }))
}

impl Glossary {
    fn key(&self, words: &str) -> String {
        match self.script {
            Script::Unspaced => words.trim().to_owned(),
            Script::Stems(algorithm) => stems(words, algorithm)
                .into_iter()
                .map(|(stem, _)| stem)
                .collect::<Vec<_>>()
                .join(" "),
        }
    }

    fn gloss(&self, goal: &str) -> Option<String> {
        let (known, words) = match self.script {
            Script::Unspaced => self.unspaced(goal),
            Script::Stems(algorithm) => self.spaced(&stems(goal, algorithm)),
        };
        (known > 0).then(|| words.join(" "))
    }

    fn spaced(&self, words: &[(String, String)]) -> (usize, Vec<String>) {
        let (mut known, mut out, mut at) = (0, Vec::new(), 0);
        while let Some((stem, word)) = words.get(at) {
            let entry = (1..=ENTRY_WORDS).rev().find_map(|length| {
                let run = words.get(at..at + length)?;
                let key: Vec<&str> = run.iter().map(|(stem, _)| stem.as_str()).collect();
                Some((length, *self.entries.get(&key.join(" "))?))
            });
            let entry = entry.or_else(|| Some((1, self.compound(stem)?)));
            match entry {
                Some((length, english)) => {
                    known += 1;
                    out.push(english.to_owned());
                    at += length;
                }
                None => {
                    // Names, numbers and loan words read as they are; short words are grammar.
                    if word.chars().count() > 3 || word.chars().all(char::is_numeric) {
                        out.push(word.clone());
                    }
                    at += 1;
                }
            }
        }
        (known, out)
    }

    /// The longest known beginning of a compound.
    fn compound(&self, word: &str) -> Option<&'static str> {
        // Only these write compounds as one word.
        if !matches!(
            self.script,
            Script::Stems(Algorithm::German | Algorithm::Dutch)
        ) {
            return None;
        }
        let count = word.chars().count();
        (COMPOUND_HEAD..=count.saturating_sub(COMPOUND_REST))
            .rev()
            .find_map(|length| self.entries.get(super::rank::head(word, length)).copied())
    }

    fn unspaced(&self, goal: &str) -> (usize, Vec<String>) {
        let chars: Vec<char> = goal.chars().collect();
        let (mut known, mut out, mut at) = (0, Vec::new(), 0);
        while let Some(&c) = chars.get(at) {
            let entry = (1..=ENTRY_CHARS).rev().find_map(|length| {
                let text: String = chars.get(at..at + length)?.iter().collect();
                Some((length, *self.entries.get(&text)?))
            });
            if let Some((length, english)) = entry {
                known += 1;
                out.push(english.to_owned());
                at += length;
            } else if c.is_ascii_alphanumeric() {
                let word: String = chars
                    .iter()
                    .skip(at)
                    .take_while(|c| c.is_ascii_alphanumeric())
                    .collect();
                at += word.len();
                out.push(word);
            } else {
                at += 1;
            }
        }
        (known, out)
    }
}

/// A text's words in small letters, each with its stem.
fn stems(text: &str, algorithm: Algorithm) -> Vec<(String, String)> {
    let stemmer = Stemmer::create(algorithm);
    text.to_lowercase()
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(|word| (stemmer.stem(word).into_owned(), word.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_has_a_word_in_every_language() {
        let lines: Vec<&str> = TABLE
            .lines()
            .filter(|line| !line.starts_with('#'))
            .collect();
        assert!(lines.len() > 250);
        for line in lines {
            let cells: Vec<&str> = line.split(';').collect();
            assert_eq!(cells.len(), 1 + LANGUAGES.len(), "{line}");
            for word in cells.iter().flat_map(|cell| cell.split('/')) {
                assert!(!word.trim().is_empty(), "{line}");
            }
        }
    }

    #[test]
    fn goals_read_in_english_word_by_word() {
        for (goal, expected) in [
            ("How do I renew a book?", None),
            ("", None),
            (
                "Wie lange gilt die Garantie?",
                Some("how long gilt warranty"),
            ),
            ("Was kostet der Versand?", Some("what price cost delivery")),
            (
                "Rechnungsadresse von Kestrel \u{e4}ndern",
                Some("invoice kestrel change"),
            ),
            (
                "\u{bf}D\u{f3}nde est\u{e1} la factura?",
                Some("where est\u{e1} invoice"),
            ),
            (
                "\u{5bc6}\u{7801}\u{5fd8}\u{8bb0}\u{4e86}TLS 12",
                Some("password forgotten TLS 12"),
            ),
            (
                "\u{8fd4}\u{54c1}\u{306e}\u{6599}\u{91d1}",
                Some("return price cost"),
            ),
        ] {
            assert_eq!(in_english(goal).as_deref(), expected, "{goal}");
        }
    }
}
