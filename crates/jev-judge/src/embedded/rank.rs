//! How close links are to a goal: cosine of the goal with what a link says in its page's words,
//! and a little of shared words. The forms that were tried and lost stay for the table in
//! `docs/judges.md`.

use std::collections::BTreeSet;

use jev_core::access::CanonicalUrl;

use super::error::EmbedError;
use super::glossary;
use super::model::{Embedder, Embedding, GivenUp};
use crate::lexical::{Weights, coverage, href_words};
use crate::text::Analyser;

/// Characters of a page's title that are put before its labels. Titles name the site and the
/// topic first; every further word costs time for every link.
const TITLE_CHARS: usize = 60;
/// Characters of a label and of a heading.
const LABEL_CHARS: usize = 160;
/// Links that are embedded for one decision. Of more, those that share words with the goal come
/// first; about 2.5 s of one core when all are new.
pub(super) const MOST_LINKS: usize = 384;
/// Below the closeness of anything: for links beyond [`MOST_LINKS`].
const UNSEEN: f64 = -0.2;
/// Word pieces a word above which a goal counts as foreign to the model. Of the link-choice set's
/// English goals 98 % lie below, of the others 2 %. A wrong guess only makes the judge slower to
/// give up.
const FOREIGN_PIECES: f64 = 1.45;

/// A link's words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link<'a> {
    pub(super) label: &'a str,
    pub(super) context: &'a str,
    pub(super) href: Option<&'a CanonicalUrl>,
}

/// What of a link is embedded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Label,
    TitleLabel,
    LabelTitle,
    ContextLabel,
    TitleContextLabel,
    TitleLabelAddress,
}

/// What of the goal is embedded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GoalForm {
    AsGiven,
    /// In English as far as the glossary goes, else as given.
    Glossed,
    /// Without "how do I", "what is the" and the like.
    Statement,
}

/// A way to rank.
#[derive(Clone, Copy, Debug)]
pub(super) struct Method {
    /// The cosines of these forms are averaged. Empty: shared words alone.
    pub(super) forms: &'static [Form],
    pub(super) goal: GoalForm,
    /// What shared words count beside the cosine.
    pub(super) words: f64,
}

/// The way the judge ranks: what measured best for its cost.
pub(super) const SHIPPED: Method = Method {
    forms: &[Form::TitleLabel],
    goal: GoalForm::Glossed,
    words: 0.1,
};

/// How close each link is, in the links' order, and how the goal reads to the model.
#[derive(Clone, Debug)]
pub(super) struct Ranking {
    pub(super) closeness: Vec<f64>,
    pub(super) foreign: Foreign,
    /// Word pieces read, the goal's included.
    pub(super) pieces: u64,
}

/// Whether the goal is in a language that the model knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Foreign {
    No,
    Yes,
}

pub(super) fn rank(
    embedder: &dyn Embedder,
    method: &Method,
    goal: &str,
    title: &str,
    links: &[Link<'_>],
    given_up: &GivenUp,
) -> Result<Ranking, EmbedError> {
    let query = match method.goal {
        GoalForm::AsGiven => goal.to_owned(),
        GoalForm::Glossed => glossary::in_english(goal).unwrap_or_else(|| goal.to_owned()),
        GoalForm::Statement => statement(goal),
    };
    let shared = shared_words(&query, links);
    let chosen = chosen(&shared);
    let title = head(title.trim(), TITLE_CHARS);
    let texts: Vec<String> = chosen
        .iter()
        .filter_map(|&index| links.get(index))
        .flat_map(|link| method.forms.iter().map(|form| form.text(title, link)))
        .collect();
    let mut asked: Vec<&str> = vec![&query];
    asked.extend(texts.iter().map(String::as_str));
    let embeddings = embedder.embed(&asked, given_up)?;
    let (query_embedding, found) = embeddings.split_first().ok_or(EmbedError::Compute)?;
    let mut closeness: Vec<f64> = shared
        .iter()
        .map(|shared| UNSEEN + method.words * shared)
        .collect();
    for (place, &index) in chosen.iter().enumerate() {
        let forms = method.forms.len();
        let cosines = found.get(place * forms..(place + 1) * forms).unwrap_or(&[]);
        let mean = cosines
            .iter()
            .map(|embedding| f64::from(embedding.cosine(query_embedding)))
            .sum::<f64>()
            / forms.max(1) as f64;
        if let (Some(close), Some(shared)) = (closeness.get_mut(index), shared.get(index)) {
            *close = mean + method.words * shared;
        }
    }
    Ok(Ranking {
        closeness,
        foreign: if method.goal != GoalForm::Glossed || query == goal {
            foreign(goal, query_embedding)
        } else {
            Foreign::Yes
        },
        pieces: embeddings.iter().map(|e| u64::from(e.pieces)).sum(),
    })
}

/// Which links are embedded: all, or the first ones by shared words when there are too many.
fn chosen(shared: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..shared.len()).collect();
    if order.len() > MOST_LINKS {
        let of = |index: &usize| shared.get(*index).copied().unwrap_or(0.0);
        // Stable: among equals the page's order holds.
        order.sort_by(|a, b| of(b).total_cmp(&of(a)));
        order.truncate(MOST_LINKS);
    }
    order
}

/// How many of the goal's words each link's label and address hold, words that every link holds
/// counting little; 0 to 1.
fn shared_words(goal: &str, links: &[Link<'_>]) -> Vec<f64> {
    let analyser = Analyser::for_text(goal);
    let wanted = analyser.stems(goal);
    let documents: Vec<_> = links
        .iter()
        .map(|link| {
            let mut stems = analyser.stems(link.label);
            if let Some(href) = link.href {
                stems.extend(analyser.stems(&href_words(href)));
            }
            stems
        })
        .collect();
    let weights = Weights::of(&documents);
    documents
        .iter()
        .map(|stems| weights.cosine(&wanted, stems))
        .collect()
}

impl Form {
    /// The link's words in this form.
    pub(super) fn text(self, title: &str, link: &Link<'_>) -> String {
        let label = head(link.label, LABEL_CHARS);
        let context = head(link.context, LABEL_CHARS);
        // A label that says nothing by itself is read with its heading and its address.
        if says_nothing(label) {
            let address = link.href.map(href_words).unwrap_or_default();
            return joined(&[title, context, label, address.trim()]);
        }
        match self {
            Self::Label => label.to_owned(),
            Self::TitleLabel => joined(&[title, label]),
            Self::LabelTitle if title.is_empty() => label.to_owned(),
            Self::LabelTitle => format!("{label} | {title}"),
            Self::ContextLabel => joined(&[context, label]),
            Self::TitleContextLabel => joined(&[title, context, label]),
            Self::TitleLabelAddress => {
                let address = link.href.map(href_words).unwrap_or_default();
                match address.trim() {
                    "" => joined(&[title, label]),
                    address => format!("{} ({address})", joined(&[title, label])),
                }
            }
        }
    }
}

fn joined(parts: &[&str]) -> String {
    let parts: Vec<&str> = parts
        .iter()
        .copied()
        .filter(|part| !part.is_empty())
        .collect();
    parts.join(": ")
}

/// Labels of links whose words stand elsewhere. Own list.
const EMPTY_LABELS: [&str; 16] = [
    "click here",
    "continue",
    "continue reading",
    "details",
    "go",
    "here",
    "learn more",
    "link",
    "more",
    "more info",
    "next",
    "open",
    "read",
    "read more",
    "see more",
    "view",
];

fn says_nothing(label: &str) -> bool {
    let bare: String = label
        .chars()
        .filter(|c| c.is_alphabetic() || *c == ' ')
        .collect();
    let bare = bare.trim().to_lowercase();
    bare.chars().count() < 2 || EMPTY_LABELS.contains(&bare.as_str())
}

/// Openings of questions that say nothing about the topic. Own list; longest first.
const OPENINGS: [&str; 24] = [
    "is there a way to",
    "i would like to",
    "how do i",
    "how can i",
    "how do you",
    "how can we",
    "how does the",
    "what are the",
    "what is the",
    "what does the",
    "where can i",
    "where do i",
    "i want to",
    "i need to",
    "how many",
    "how much",
    "what do i",
    "which",
    "what is",
    "what are",
    "why does",
    "can i",
    "do i",
    "how",
];

/// The goal without question words and question marks.
pub(super) fn statement(goal: &str) -> String {
    let trimmed = goal.trim().trim_end_matches(['?', '.', '!']);
    let lower = trimmed.to_lowercase();
    let opening = OPENINGS
        .iter()
        .find(|opening| {
            lower
                .strip_prefix(**opening)
                .is_some_and(|rest| rest.starts_with(' '))
        })
        .map_or(0, |opening| opening.len());
    let rest = trimmed.get(opening..).unwrap_or(trimmed).trim();
    if rest.is_empty() { goal } else { rest }.to_owned()
}

/// A goal that falls into many pieces a word is in no language of the model's vocabulary.
fn foreign(goal: &str, embedding: &Embedding) -> Foreign {
    let words = goal
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .count();
    let marks = goal.chars().filter(|c| c.is_ascii_punctuation()).count();
    let pieces = f64::from(embedding.pieces.saturating_sub(2)) - marks as f64;
    if words > 0 && pieces / words as f64 > FOREIGN_PIECES {
        Foreign::Yes
    } else {
        Foreign::No
    }
}

/// The content words of a goal or a question, read once.
pub(super) struct Wanted {
    analyser: Analyser,
    stems: BTreeSet<String>,
}

impl Wanted {
    pub(super) fn new(text: &str) -> Self {
        let analyser = Analyser::for_text(text);
        Self {
            stems: analyser.stems(text),
            analyser,
        }
    }

    /// How many content words there are.
    pub(super) fn len(&self) -> usize {
        self.stems.len()
    }

    /// The share of them that a text holds, 0 to 1.
    pub(super) fn covered_by(&self, text: &str) -> f64 {
        coverage(&self.stems, &self.analyser.stems(text))
    }
}

/// At most so many characters, cut at the end.
pub(super) fn head(text: &str, most: usize) -> &str {
    match text.char_indices().nth(most) {
        Some((end, _)) => text.get(..end).unwrap_or(text),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_says_what_its_name_says_and_a_bare_label_borrows() {
        let href = CanonicalUrl::parse("https://h.example/docs/billing/late-fees.html").unwrap();
        let link = |label| Link {
            label,
            context: "Billing",
            href: Some(&href),
        };
        for (form, label, expected) in [
            (Form::Label, "Late fees", "Late fees"),
            (Form::TitleLabel, "Late fees", "Help: Late fees"),
            (Form::LabelTitle, "Late fees", "Late fees | Help"),
            (Form::ContextLabel, "Late fees", "Billing: Late fees"),
            (
                Form::TitleContextLabel,
                "Late fees",
                "Help: Billing: Late fees",
            ),
            (
                Form::TitleLabelAddress,
                "Late fees",
                "Help: Late fees (billing late-fees)",
            ),
            (
                Form::TitleLabel,
                "Read more \u{bb}",
                "Help: Billing: Read more \u{bb}: billing late-fees",
            ),
            (
                Form::TitleLabel,
                "4.",
                "Help: Billing: 4.: billing late-fees",
            ),
        ] {
            assert_eq!(form.text("Help", &link(label)), expected, "{form:?}");
        }
        assert_eq!(Form::TitleLabel.text("", &link("Late fees")), "Late fees");
    }

    #[test]
    fn a_statement_loses_only_its_opening() {
        for (goal, expected) in [
            ("How do I renew a book?", "renew a book"),
            ("What is the fee?", "fee"),
            ("Howling wind", "Howling wind"),
            ("How?", "How"),
            ("Der Preis?", "Der Preis"),
        ] {
            assert_eq!(statement(goal), expected, "{goal}");
        }
    }

    #[test]
    fn of_too_many_links_those_that_share_words_are_read() {
        let mut shared = vec![0.0; MOST_LINKS + 10];
        shared[MOST_LINKS + 5] = 0.4;
        let read = chosen(&shared);
        assert_eq!(read.len(), MOST_LINKS);
        assert_eq!(read[0], MOST_LINKS + 5);
        assert_eq!(read[1], 0);
    }
}
