//! The link-choice set and what is measured on it: which of a page's links a way of ranking puts
//! first. `docs/judges.md` holds the table that [`measure`] makes.

use std::fmt;

use serde::Deserialize;

use jev_core::access::CanonicalUrl;
use jev_core::question::{ChoiceOption, Subject};

use super::error::EmbedError;
use super::model::{Embedder, GivenUp};
use super::rank::{Form, GoalForm, Link, Method, SHIPPED, rank};
use super::rules::TEMPERATURE;
use crate::lexical;
use crate::situation::Situation;
use crate::text::softmax;

/// One choice: a goal and a page's links, one of which is right.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkChoice {
    /// Its name.
    pub id: String,
    /// The half it belongs to. Items of one page are all in one half.
    pub split: Split,
    /// The goal's language, as a two-letter code. Pages are English.
    pub lang: String,
    /// How far the goal's words are from the link's.
    pub kind: Kind,
    /// What is looked for.
    pub goal: String,
    /// The page's title.
    pub title: String,
    /// The links, in the page's order.
    pub options: Vec<LinkOption>,
    /// The right one's index.
    pub answer: usize,
}

/// One link.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkOption {
    /// Its words.
    pub label: String,
    /// The heading it stands under; may be empty.
    pub context: String,
    /// Its address.
    pub href: String,
}

/// The two halves of the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Split {
    /// Everything was tried and fitted on this half.
    A,
    /// Looked at once, for the table.
    B,
}

/// How far a goal's words are from the right link's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The goal holds the link's own words.
    Plain,
    /// It says the same in other words.
    Paraphrased,
    /// It is in another language than the page.
    Crosslingual,
}

/// A set that can't be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "line {line} of the link-choice set is not an item, or its answer is not among its options"
)]
pub struct SetError {
    /// The line, from 1.
    pub line: usize,
}

/// Reads a set: JSON Lines.
///
/// # Errors
/// [`SetError`] names the first line that is no item.
pub fn read_set(text: &str) -> Result<Vec<LinkChoice>, SetError> {
    text.lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(index, line)| {
            serde_json::from_str::<LinkChoice>(line)
                .ok()
                .filter(|item| item.answer < item.options.len())
                .ok_or(SetError { line: index + 1 })
        })
        .collect()
}

/// How often the right link stood first and among the first three.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hits {
    /// Items.
    pub items: u32,
    /// The right link first.
    pub top1: u32,
    /// The right link among the first three.
    pub top3: u32,
}

impl Hits {
    fn add(&mut self, place: usize) {
        self.items += 1;
        self.top1 += u32::from(place == 0);
        self.top3 += u32::from(place < 3);
    }
}

/// The 95 % Wilson interval of `hits` out of `items`, as shares; (0, 1) without items.
#[must_use]
pub fn wilson(hits: u32, items: u32) -> (f64, f64) {
    if items == 0 {
        return (0.0, 1.0);
    }
    let (n, z) = (f64::from(items), 1.959_964);
    let p = f64::from(hits) / n;
    let middle = p + z * z / (2.0 * n);
    let half = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + z * z / n;
    (
        ((middle - half) / scale).max(0.0),
        ((middle + half) / scale).min(1.0),
    )
}

/// One way of ranking and its hits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The way, in words.
    pub name: &'static str,
    /// On half A, all kinds.
    pub tuned: Hits,
    /// On half B by kind: plain, paraphrased, crosslingual.
    pub reported: [Hits; 3],
}

/// What the default gate lets through on half B's English items.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gated {
    /// The share of the best against the two best that is asked for.
    pub share: f64,
    /// Items.
    pub items: u32,
    /// Items acted on.
    pub acted: u32,
    /// Items acted on rightly.
    pub right: u32,
}

/// What was measured. Its display is the Markdown of `docs/judges.md`.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// One row a way of ranking.
    pub rows: Vec<Row>,
    /// The shipped way behind gates of growing strictness.
    pub gates: Vec<Gated>,
}

const fn cosine(forms: &'static [Form]) -> Way {
    Way::Embedded(Method {
        forms,
        goal: GoalForm::AsGiven,
        words: 0.0,
    })
}

/// A way of ranking that was tried.
enum Way {
    /// The lexical judge.
    Lexical,
    /// By embeddings.
    Embedded(Method),
}

/// Every way that was tried, in the table's order.
const WAYS: [(&str, Way); 10] = [
    ("the lexical judge", Way::Lexical),
    ("label", cosine(&[Form::Label])),
    ("heading: label", cosine(&[Form::ContextLabel])),
    ("title: label", cosine(&[Form::TitleLabel])),
    ("title: heading: label", cosine(&[Form::TitleContextLabel])),
    (
        "title: label (address words)",
        cosine(&[Form::TitleLabelAddress]),
    ),
    (
        "mean of three prompts",
        cosine(&[Form::TitleLabel, Form::LabelTitle, Form::TitleLabelAddress]),
    ),
    (
        "title: label, goal without its question words",
        Way::Embedded(Method {
            forms: &[Form::TitleLabel],
            goal: GoalForm::Statement,
            words: 0.0,
        }),
    ),
    (
        "title: label, and shared words",
        Way::Embedded(Method {
            forms: SHIPPED.forms,
            goal: GoalForm::AsGiven,
            words: SHIPPED.words,
        }),
    ),
    (
        "the same, foreign goals glossed (shipped)",
        Way::Embedded(SHIPPED),
    ),
];

/// The gates of the second table. The first is the command line's default.
const GATES: [f64; 5] = [0.55, 0.6, 0.7, 0.8, 0.9];

/// Ranks every item in every way that was tried. Blocks: about half a minute for 160 items.
///
/// # Errors
/// What the embedder says.
pub fn measure(set: &[LinkChoice], embedder: &dyn Embedder) -> Result<Table, EmbedError> {
    let mut rows = Vec::with_capacity(WAYS.len());
    for (name, way) in &WAYS {
        let mut row = Row {
            name,
            tuned: Hits::default(),
            reported: [Hits::default(); 3],
        };
        for item in set {
            let place = place(&closeness(item, way, embedder)?, item.answer);
            let [plain, paraphrased, crosslingual] = &mut row.reported;
            match (item.split, item.kind) {
                (Split::A, _) => row.tuned.add(place),
                (Split::B, Kind::Plain) => plain.add(place),
                (Split::B, Kind::Paraphrased) => paraphrased.add(place),
                (Split::B, Kind::Crosslingual) => crosslingual.add(place),
            }
        }
        rows.push(row);
    }
    let mut gates = GATES.map(|share| Gated {
        share,
        items: 0,
        acted: 0,
        right: 0,
    });
    for item in set {
        if item.split == Split::B && item.kind != Kind::Crosslingual {
            let closeness = closeness(item, &Way::Embedded(SHIPPED), embedder)?;
            let share = share(&closeness);
            let right = u32::from(place(&closeness, item.answer) == 0);
            for gate in &mut gates {
                gate.items += 1;
                if share >= gate.share {
                    gate.acted += 1;
                    gate.right += right;
                }
            }
        }
    }
    Ok(Table {
        rows,
        gates: gates.to_vec(),
    })
}

fn closeness(
    item: &LinkChoice,
    way: &Way,
    embedder: &dyn Embedder,
) -> Result<Vec<f64>, EmbedError> {
    let hrefs: Vec<Option<CanonicalUrl>> = item
        .options
        .iter()
        .map(|option| CanonicalUrl::parse(&option.href).ok())
        .collect();
    let method = match way {
        Way::Lexical => return Ok(lexical_closeness(item, &hrefs)),
        Way::Embedded(method) => method,
    };
    let links: Vec<Link<'_>> = item
        .options
        .iter()
        .zip(&hrefs)
        .map(|(option, href)| Link {
            label: &option.label,
            context: &option.context,
            href: href.as_ref(),
        })
        .collect();
    let given_up = GivenUp::default();
    Ok(rank(embedder, method, &item.goal, &item.title, &links, &given_up)?.closeness)
}

/// How the lexical judge sees the links.
fn lexical_closeness(item: &LinkChoice, hrefs: &[Option<CanonicalUrl>]) -> Vec<f64> {
    let options: Vec<ChoiceOption> = item
        .options
        .iter()
        .zip(hrefs)
        .map(|(option, href)| ChoiceOption {
            name: String::new(),
            description: String::new(),
            subject: Subject::Candidate {
                id: String::new(),
                label: option.label.clone(),
                context: option.context.clone(),
                href: href.clone(),
            },
        })
        .collect();
    let situation = Situation {
        goal: item.goal.clone(),
        ..Situation::default()
    };
    lexical::closeness(&options, &situation)
        .into_iter()
        .flatten()
        .collect()
}

/// Where the answer stands, from 0. Of equals the one that comes first on the page comes first,
/// as in the loop: an all-equal ranking is no hit for any but the first link.
fn place(closeness: &[f64], answer: usize) -> usize {
    let right = closeness.get(answer).copied().unwrap_or(f64::NEG_INFINITY);
    closeness
        .iter()
        .enumerate()
        .filter(|&(index, &close)| close > right || (close >= right && index < answer))
        .count()
}

/// The best one's share against the two best.
fn share(closeness: &[f64]) -> f64 {
    let mut p = softmax(closeness, TEMPERATURE);
    p.sort_by(|a, b| b.total_cmp(a));
    match p.as_slice() {
        [first, second, ..] => first / (first + second),
        [_] | [] => 1.0,
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = |hits: Option<&Hits>| hits.map_or(0, |hits| hits.items);
        let first = self.rows.first();
        let [plain, paraphrased, crosslingual] =
            first.map_or([Hits::default(); 3], |row| row.reported);
        writeln!(
            f,
            "| ranked by | half A, all ({}) | plain ({}) | paraphrased ({}) | crosslingual ({}) |",
            counted(first.map(|row| &row.tuned)),
            plain.items,
            paraphrased.items,
            crosslingual.items,
        )?;
        writeln!(f, "|---|---|---|---|---|")?;
        for row in &self.rows {
            write!(f, "| {} ", row.name)?;
            for hits in std::iter::once(&row.tuned).chain(&row.reported) {
                write!(
                    f,
                    "| {}, {} ",
                    shown(hits.top1, hits.items),
                    shown(hits.top3, hits.items)
                )?;
            }
            writeln!(f, "|")?;
        }
        writeln!(f)?;
        writeln!(f, "| gate (share) | acted on | of these right |")?;
        writeln!(f, "|---|---|---|")?;
        for gate in &self.gates {
            writeln!(
                f,
                "| {:.2} | {} of {} | {} |",
                gate.share,
                gate.acted,
                gate.items,
                shown(gate.right, gate.acted)
            )?;
        }
        Ok(())
    }
}

/// A share in per cent with its interval: `75 (61-85)`.
fn shown(hits: u32, items: u32) -> String {
    let (low, high) = wilson(hits, items);
    let share = if items == 0 {
        0.0
    } else {
        f64::from(hits) / f64::from(items)
    };
    format!(
        "{:.0} ({:.0}-{:.0})",
        share * 100.0,
        low * 100.0,
        high * 100.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answers_place_counts_equals_that_come_first() {
        for (closeness, answer, expected) in [
            (&[0.1, 0.9, 0.5][..], 1, 0),
            (&[0.1, 0.9, 0.5], 0, 2),
            (&[0.0, 0.0, 0.0], 0, 0),
            (&[0.0, 0.0, 0.0], 2, 2),
        ] {
            assert_eq!(place(closeness, answer), expected, "{closeness:?} {answer}");
        }
    }

    #[test]
    fn the_interval_is_wilsons() {
        // Textbook values: 8 of 10 is 0.490 to 0.943.
        let (low, high) = wilson(8, 10);
        assert!((low - 0.490).abs() < 0.001 && (high - 0.943).abs() < 0.001);
        assert_eq!(wilson(0, 0), (0.0, 1.0));
    }

    #[test]
    fn a_line_that_is_no_item_is_named() {
        let good = r#"{"id":"a","split":"A","lang":"en","kind":"plain","goal":"g","title":"t","options":[{"label":"l","context":"","href":"https://h.example/"}],"answer":0}"#;
        let bad = good.replace("\"answer\":0", "\"answer\":1");
        assert_eq!(read_set(good).unwrap().len(), 1);
        assert_eq!(
            read_set(&format!("{good}\n\n{bad}")),
            Err(SetError { line: 3 })
        );
    }
}
