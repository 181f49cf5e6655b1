//! Whether the visible text seems to answer the goal. Never reads a whole page: a few passages
//! that share words with the goal are looked at, and on most pages there is none.

use super::error::EmbedError;
use super::model::{Embedder, GivenUp};
use super::rank::{Wanted, head};
use super::rules::Passage;

/// Passages that are embedded for one decision.
const MOST_PASSAGES: usize = 12;
/// Lines of the text that are looked at for shared words.
const MOST_LINES: usize = 2_000;
/// A passage has at least so many characters: shorter lines are headings and links.
const SHORTEST: usize = 40;
/// Characters of a passage; what is beyond the encoder's cut is not read.
const LONGEST: usize = 400;
/// The share of the goal's words that a passage must hold to be looked at.
const COVERED: f64 = 0.5;
/// Fewest content words of a goal for which that share says anything.
const GOAL_WORDS: usize = 2;
/// Cosine from which on a passage counts as an answer. A claim that is refused costs a recovery,
/// and a text that only speaks of the topic reaches 0.5 easily.
const CLOSE: f64 = 0.65;

/// The passages worth reading, best first.
fn candidates<'a>(goal: &str, text: &'a str, labels: &[&str]) -> Vec<&'a str> {
    let wanted = Wanted::new(goal);
    if wanted.len() < GOAL_WORDS {
        return Vec::new();
    }
    let mut found: Vec<(f64, &str)> = text
        .lines()
        .take(MOST_LINES)
        .map(str::trim)
        .filter(|line| line.chars().count() >= SHORTEST && !labels.contains(line))
        .map(|line| head(line, LONGEST))
        .map(|line| (wanted.covered_by(line), line))
        .filter(|(share, _)| *share >= COVERED)
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found
        .into_iter()
        .take(MOST_PASSAGES)
        .map(|(_, line)| line)
        .collect()
}

/// Looks for a passage close to the goal. `labels` are the page's links, which are no passages.
pub(super) fn look(
    embedder: &dyn Embedder,
    goal: &str,
    text: &str,
    labels: &[&str],
    given_up: &GivenUp,
) -> Result<Passage, EmbedError> {
    let lines = candidates(goal, text, labels);
    if lines.is_empty() {
        return Ok(Passage::Silent);
    }
    let mut asked = vec![goal];
    asked.extend(lines);
    let embeddings = embedder.embed(&asked, given_up)?;
    let answers = embeddings.split_first().is_some_and(|(goal, passages)| {
        passages
            .iter()
            .any(|passage| f64::from(passage.cosine(goal)) >= CLOSE)
    });
    Ok(if answers {
        Passage::Answers
    } else {
        Passage::Silent
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_that_share_the_goals_words_are_read_and_few_of_them() {
        let goal = "How long does the warranty on kettles last?";
        let answer = "The warranty on all our kettles lasts for two long years.";
        let page = format!(
            "Home\nWarranty\n{answer}\n{}\nThe warranty on kettles, explained at length on a page of its own\n",
            "A line about something else entirely, such as tea.\n".repeat(50)
        );
        let labels = ["The warranty on kettles, explained at length on a page of its own"];
        assert_eq!(candidates(goal, &page, &labels), [answer]);
        let many = format!("{answer}\n").repeat(100);
        assert_eq!(candidates(goal, &many, &[]).len(), MOST_PASSAGES);
        assert!(candidates("Why?", &page, &[]).is_empty());
    }
}
