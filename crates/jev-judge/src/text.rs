//! Words, stems and character trigrams: the plain text arithmetic behind the lexical judge.

use std::collections::{BTreeMap, BTreeSet};

use rust_stemmers::{Algorithm, Stemmer};

/// The commonest function words of a language: they say which language a text is in, and carry no
/// topic of their own. Own lists, kept short on purpose.
struct Language {
    algorithm: Algorithm,
    function_words: &'static [&'static str],
}

const LANGUAGES: [Language; 8] = [
    Language {
        algorithm: Algorithm::English,
        function_words: &[
            "a", "about", "after", "all", "also", "an", "and", "any", "are", "as", "at", "be",
            "been", "before", "between", "both", "but", "by", "can", "could", "did", "do", "does",
            "each", "find", "for", "from", "get", "give", "had", "has", "have", "how", "i", "if",
            "in", "into", "is", "it", "its", "many", "may", "me", "more", "most", "much", "must",
            "my", "no", "not", "of", "on", "one", "only", "or", "other", "our", "out", "own",
            "page", "say", "should", "so", "some", "such", "tell", "than", "that", "the", "their",
            "them", "then", "there", "these", "they", "this", "those", "to", "under", "up", "us",
            "use", "was", "we", "were", "what", "when", "where", "which", "while", "who", "whose",
            "why", "will", "with", "would", "you", "your",
        ],
    },
    Language {
        algorithm: Algorithm::German,
        function_words: &[
            "aber", "als", "am", "an", "auch", "auf", "aus", "bei", "bis", "das", "dass", "dem",
            "den", "der", "des", "die", "ein", "eine", "einem", "einen", "einer", "es", "für",
            "hat", "ich", "im", "in", "ist", "kann", "man", "mit", "nach", "nicht", "oder", "sich",
            "sie", "sind", "über", "um", "und", "von", "vor", "was", "welche", "welcher", "wenn",
            "werden", "wie", "wird", "wo", "zu", "zum", "zur",
        ],
    },
    Language {
        algorithm: Algorithm::French,
        function_words: &[
            "au", "aux", "avec", "ce", "ces", "comment", "dans", "de", "des", "du", "elle", "en",
            "est", "et", "il", "je", "la", "le", "les", "leur", "lorsque", "mais", "ne", "on",
            "ou", "où", "par", "pas", "pour", "qu", "quand", "que", "quel", "quelle", "quelles",
            "quels", "qui", "sa", "se", "ses", "son", "sont", "sur", "un", "une", "vous",
        ],
    },
    Language {
        algorithm: Algorithm::Spanish,
        function_words: &[
            "al", "como", "con", "cual", "cuál", "cuando", "cómo", "de", "del", "donde", "dónde",
            "el", "en", "es", "esta", "este", "hay", "la", "las", "lo", "los", "más", "no", "o",
            "para", "pero", "por", "puede", "que", "qué", "se", "si", "sin", "sobre", "son", "su",
            "sus", "un", "una", "y",
        ],
    },
    Language {
        algorithm: Algorithm::Italian,
        function_words: &[
            "a", "che", "chi", "come", "con", "cosa", "da", "dal", "dalla", "dei", "del", "della",
            "di", "dove", "e", "gli", "ha", "il", "in", "la", "le", "lo", "nel", "nella", "non",
            "o", "per", "più", "quale", "quali", "quando", "questo", "se", "si", "sono", "su",
            "un", "una", "è",
        ],
    },
    Language {
        algorithm: Algorithm::Portuguese,
        function_words: &[
            "a", "ao", "as", "como", "com", "da", "das", "de", "do", "dos", "e", "em", "essa",
            "esta", "mais", "na", "no", "nos", "não", "o", "onde", "os", "ou", "para", "pela",
            "pelo", "por", "qual", "quais", "quando", "que", "se", "sem", "sua", "são", "um",
            "uma", "é",
        ],
    },
    Language {
        algorithm: Algorithm::Dutch,
        function_words: &[
            "aan", "als", "bij", "dat", "de", "die", "dit", "door", "een", "en", "er", "het",
            "hoe", "ik", "in", "is", "je", "kan", "maar", "met", "naar", "niet", "of", "om", "ook",
            "op", "te", "tot", "uit", "van", "voor", "waar", "wanneer", "wat", "welke", "wie",
            "wordt", "worden", "zijn",
        ],
    },
    Language {
        algorithm: Algorithm::Russian,
        function_words: &[
            "а",
            "в",
            "во",
            "где",
            "для",
            "до",
            "и",
            "из",
            "или",
            "к",
            "как",
            "какая",
            "какие",
            "какой",
            "когда",
            "кто",
            "ли",
            "можно",
            "на",
            "не",
            "о",
            "от",
            "по",
            "при",
            "с",
            "со",
            "у",
            "что",
            "это",
        ],
    },
];

/// The language whose function words the text has most of; English when none has any.
fn language_of(text: &str) -> &'static Language {
    let words: Vec<String> = raw_words(text).collect();
    let mut best = &LANGUAGES[0];
    let mut most = 0;
    for language in &LANGUAGES {
        let count = words
            .iter()
            .filter(|word| language.function_words.contains(&word.as_str()))
            .count();
        if count > most {
            most = count;
            best = language;
        }
    }
    best
}

/// Which language's stems fit a text.
#[cfg(feature = "embedded")]
pub(crate) fn stems_of(text: &str) -> Algorithm {
    language_of(text).algorithm
}

/// Splits text into stems of one language.
pub(crate) struct Analyser {
    stemmer: Stemmer,
    function_words: &'static [&'static str],
}

impl Analyser {
    /// An analyser for the language whose function words the text has most of; English when none
    /// has any.
    pub(crate) fn for_text(text: &str) -> Self {
        let best = language_of(text);
        Self {
            stemmer: Stemmer::create(best.algorithm),
            function_words: best.function_words,
        }
    }

    /// The distinct stems of a text, function words left out.
    pub(crate) fn stems(&self, text: &str) -> BTreeSet<String> {
        self.content_words(text)
            .filter(|word| word.chars().count() > 1 || word.chars().all(char::is_numeric))
            .map(|word| self.stemmer.stem(&word).into_owned())
            .collect()
    }

    /// How often each run of three characters stands in the text's words, a space before and
    /// after every word, function words left out.
    pub(crate) fn trigrams(&self, text: &str) -> BTreeMap<[char; 3], f64> {
        let mut counts = BTreeMap::new();
        for word in self.content_words(text) {
            let padded: Vec<char> = [' '].into_iter().chain(word.chars()).chain([' ']).collect();
            for gram in padded.windows(3) {
                if let [a, b, c] = gram {
                    *counts.entry([*a, *b, *c]).or_insert(0.0) += 1.0;
                }
            }
        }
        counts
    }

    fn content_words(&self, text: &str) -> impl Iterator<Item = String> {
        raw_words(text).filter(|word| !self.function_words.contains(&word.as_str()))
    }
}

/// Lower-case runs of letters and digits; a change from small to capital letters parts words too,
/// as in the last segment of many addresses.
fn raw_words(text: &str) -> impl Iterator<Item = String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut small = false;
    for c in text.chars() {
        let camel = small && c.is_uppercase();
        if (camel || !c.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        small = c.is_lowercase();
    }
    if !word.is_empty() {
        words.push(word);
    }
    words.into_iter()
}

/// Cosine of two sparse count vectors, 0 when either is empty.
pub(crate) fn cosine<K: Ord>(left: &BTreeMap<K, f64>, right: &BTreeMap<K, f64>) -> f64 {
    let dot: f64 = left
        .iter()
        .filter_map(|(key, value)| right.get(key).map(|other| value * other))
        .sum();
    let norm = |vector: &BTreeMap<K, f64>| vector.values().map(|v| v * v).sum::<f64>().sqrt();
    let scale = norm(left) * norm(right);
    if scale > 0.0 { dot / scale } else { 0.0 }
}

/// Probabilities from scores: the lower the temperature, the more the best one gets.
pub(crate) fn softmax(scores: &[f64], temperature: f64) -> Vec<f64> {
    let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = scores
        .iter()
        .map(|score| ((score - top) / temperature).exp())
        .collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stems_follow_the_language_of_the_text() {
        for (text, expected) in [
            ("What are the warranties?", vec!["warranti"]),
            (
                "Wie lange gelten die Garantien?",
                vec!["garanti", "gelt", "lang"],
            ),
            ("warrantyPolicy.html", vec!["html", "polici", "warranti"]),
            ("", vec![]),
        ] {
            let stems: Vec<String> = Analyser::for_text(text).stems(text).into_iter().collect();
            assert_eq!(stems, expected, "{text}");
        }
    }

    #[test]
    fn cosine_is_one_for_itself_and_nought_for_strangers() {
        let english = Analyser::for_text("the");
        let one = english.trigrams("warranty");
        assert!((cosine(&one, &one) - 1.0).abs() < 1e-12);
        assert_eq!(cosine(&one, &english.trigrams("of the")), 0.0);
        assert!(cosine(&one, &english.trigrams("warranties")) > 0.6);
    }

    proptest::proptest! {
        #[test]
        fn softmax_is_a_distribution(scores in proptest::collection::vec(-1.0..1.0f64, 1..50)) {
            let p = softmax(&scores, 0.02);
            let sum: f64 = p.iter().sum();
            proptest::prop_assert!((sum - 1.0).abs() < 1e-9);
            proptest::prop_assert!(p.iter().all(|p| (0.0..=1.0).contains(p)));
        }
    }
}
