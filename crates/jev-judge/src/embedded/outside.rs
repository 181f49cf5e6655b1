//! Questions that are not the loop's: from another program through the compatible server. A
//! sentence model compares meanings and does not reason; these answers are as good as that.

use jev_core::question::ChoiceOption;

use super::error::EmbedError;
use super::model::{Embedder, Embedding, GivenUp};
use super::rank::{Wanted, head};
use crate::situation::Situation;
use crate::text::softmax;

/// Passages of a state that are read.
const MOST_PASSAGES: usize = 8;
/// Words of one passage: about the encoder's cut.
const PASSAGE_WORDS: usize = 40;
/// Passages among which those are chosen.
const MOST_LOOKED_AT: usize = 400;
/// How sharply a choice among an outside question's options is made.
const CHOICE_TEMPERATURE: f64 = 0.05;
/// The same for neighbouring levels of a scale, which differ less.
const SCORE_TEMPERATURE: f64 = 0.06;
/// Where `none of these` stands: closer options win.
const NONE: f64 = 0.15;
/// Closeness of statement and text that is worth an even chance, and how fast the chance grows.
const EVEN: f64 = 0.42;
const SLOPE: f64 = 0.1;
/// A sentence model is never certain of a yes or a no.
const CERTAIN: f64 = 0.97;

/// What the options are compared with: the question's words and the state's.
pub(super) struct Asked {
    vector: Vec<f64>,
    pub(super) pieces: u64,
}

impl Asked {
    /// Reads a question. Its answer must not depend on other questions, so each is read alone.
    pub(super) fn read(
        embedder: &dyn Embedder,
        instructions: &str,
        situation: &Situation,
        given_up: &GivenUp,
    ) -> Result<Self, EmbedError> {
        let question = match (situation.goal.trim(), instructions.trim()) {
            (goal, "") => goal.to_owned(),
            ("", instructions) => instructions.to_owned(),
            (goal, instructions) => format!("{instructions} {goal}"),
        };
        let passages = passages(&question, &situation.text);
        let mut texts: Vec<&str> = vec![&question];
        texts.extend(passages.iter().map(String::as_str));
        let embeddings = embedder.embed(&texts, given_up)?;
        let pieces = embeddings.iter().map(|e| u64::from(e.pieces)).sum();
        let (question, state) = embeddings.split_first().ok_or(EmbedError::Compute)?;
        let mut vector = mean(state);
        if vector.is_empty() {
            vector = mean(std::slice::from_ref(question));
        } else {
            // The state says what is judged, the question only what is asked about it.
            for (value, asked) in vector.iter_mut().zip(question.vector.iter()) {
                *value = 0.75 * *value + 0.25 * f64::from(*asked);
            }
            unit(&mut vector);
        }
        Ok(Self { vector, pieces })
    }

    fn closeness(
        &mut self,
        embedder: &dyn Embedder,
        texts: &[&str],
        given_up: &GivenUp,
    ) -> Result<Vec<f64>, EmbedError> {
        let embeddings = embedder.embed(texts, given_up)?;
        self.pieces += embeddings.iter().map(|e| u64::from(e.pieces)).sum::<u64>();
        Ok(embeddings
            .iter()
            .map(|embedding| {
                embedding
                    .vector
                    .iter()
                    .zip(&self.vector)
                    .map(|(a, b)| f64::from(*a) * b)
                    .sum()
            })
            .collect())
    }

    /// One probability an option.
    pub(super) fn choice(
        &mut self,
        embedder: &dyn Embedder,
        options: &[ChoiceOption],
        given_up: &GivenUp,
    ) -> Result<Vec<f64>, EmbedError> {
        let texts: Vec<String> = options
            .iter()
            .map(|option| match option.description.trim() {
                "" => option.name.clone(),
                description => format!("{}: {description}", option.name),
            })
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let mut scores = self.closeness(embedder, &texts, given_up)?;
        for (option, score) in options.iter().zip(&mut scores) {
            if means_none(&option.name) {
                *score = NONE;
            }
        }
        Ok(softmax(&scores, CHOICE_TEMPERATURE))
    }

    /// The probability of yes.
    pub(super) fn noul(
        &mut self,
        embedder: &dyn Embedder,
        instructions: &str,
        yes: Option<&str>,
        no: Option<&str>,
        given_up: &GivenUp,
    ) -> Result<f64, EmbedError> {
        let yes = yes.map_or_else(
            || instructions.to_owned(),
            |yes| format!("{instructions} {yes}"),
        );
        let p = match no {
            Some(no) => {
                let no = format!("{instructions} {no}");
                let scores = self.closeness(embedder, &[&yes, &no], given_up)?;
                softmax(&scores, CHOICE_TEMPERATURE)
                    .first()
                    .copied()
                    .unwrap_or(0.5)
            }
            None => {
                let close = self.closeness(embedder, &[&yes], given_up)?;
                let close = close.first().copied().unwrap_or(EVEN);
                1.0 / (1.0 + ((EVEN - close) / SLOPE).exp())
            }
        };
        Ok(p.clamp(1.0 - CERTAIN, CERTAIN))
    }

    /// One probability a level.
    pub(super) fn score(
        &mut self,
        embedder: &dyn Embedder,
        levels: &[String],
        given_up: &GivenUp,
    ) -> Result<Vec<f64>, EmbedError> {
        let texts: Vec<&str> = levels.iter().map(String::as_str).collect();
        let scores = self.closeness(embedder, &texts, given_up)?;
        Ok(softmax(&scores, SCORE_TEMPERATURE))
    }
}

/// Option names that stand for "nothing of this". Own list.
fn means_none(name: &str) -> bool {
    let bare: String = name
        .chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect();
    matches!(
        bare.as_str(),
        "none" | "noneofthese" | "noneoftheabove" | "other" | "unknown" | "na" | "neither"
    )
}

/// A state's text in passages of a length that the encoder reads whole; of many those that share
/// most words with the question.
fn passages(question: &str, text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut words = 0;
    let mut passage = String::new();
    for word in text.split_whitespace() {
        if words == PASSAGE_WORDS {
            all.push(std::mem::take(&mut passage));
            words = 0;
            if all.len() == MOST_LOOKED_AT {
                break;
            }
        }
        if words > 0 {
            passage.push(' ');
        }
        passage.push_str(head(word, 60));
        words += 1;
    }
    if words > 0 {
        all.push(passage);
    }
    if all.len() > MOST_PASSAGES {
        let wanted = Wanted::new(question);
        let mut ranked: Vec<(f64, String)> = all
            .into_iter()
            .map(|passage| (wanted.covered_by(&passage), passage))
            .collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
        ranked.truncate(MOST_PASSAGES);
        all = ranked.into_iter().map(|(_, passage)| passage).collect();
    }
    all
}

/// The mean direction; empty without embeddings.
fn mean(embeddings: &[Embedding]) -> Vec<f64> {
    let mut sum: Vec<f64> = Vec::new();
    for embedding in embeddings {
        sum.resize(embedding.vector.len(), 0.0);
        for (total, value) in sum.iter_mut().zip(embedding.vector.iter()) {
            *total += f64::from(*value);
        }
    }
    unit(&mut sum);
    sum
}

fn unit(vector: &mut [f64]) {
    let length = vector.iter().map(|value| value * value).sum::<f64>().sqrt();
    if length > 0.0 {
        for value in vector {
            *value /= length;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_state_is_read_in_passages_that_share_the_questions_words() {
        let filler = "word ".repeat(PASSAGE_WORDS);
        let text = format!("{}refund of the invoice {filler}", filler.repeat(20));
        let read = passages("Is a refund asked for?", &text);
        assert_eq!(read.len(), MOST_PASSAGES);
        assert!(read[0].contains("refund"));
        assert_eq!(passages("q", ""), Vec::<String>::new());
        assert_eq!(passages("q", " a  b\nc "), ["a b c"]);
    }

    #[test]
    fn options_that_mean_none_are_known_by_name() {
        for (name, expected) in [
            ("none", true),
            ("None of the above", true),
            ("n/a", true),
            ("Other", true),
            ("others pay", false),
            ("nonesuch", false),
        ] {
            assert_eq!(means_none(name), expected, "{name}");
        }
    }
}
