//! Texts to vectors: the encoder behind a bounded cache, in passes of bounded size.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use lru::LruCache;

use super::encoder::{Encoder, Pieces};
use super::error::EmbedError;
use super::weights::Weights;

/// Vectors kept: 1.5 KB each, so 8,192 of them take 13 MB with their texts. A label is met again
/// on every page of a site; this holds a few hundred pages.
const CACHED: NonZeroUsize = match NonZeroUsize::new(8_192) {
    Some(size) => size,
    None => NonZeroUsize::MIN,
};

/// Word pieces in one pass of the network. Bounds the memory of a pass (about 25 MB) and the time
/// between two looks at whether anybody still waits (about 0.3 s of one core).
const PASS_PIECES: usize = 256;

/// Characters of a text that are looked at; far more than the pieces that are read.
const MAX_CHARS: usize = 1_000;

/// A text's meaning: a unit vector, shared by all who ask for the same text.
#[derive(Clone, Debug)]
pub struct Embedding {
    /// The unit vector.
    pub vector: Arc<[f32]>,
    /// How many word pieces were read.
    pub pieces: u32,
}

impl Embedding {
    /// The cosine of the angle between two texts' vectors, -1 to 1.
    #[must_use]
    pub fn cosine(&self, other: &Self) -> f32 {
        self.vector
            .iter()
            .zip(other.vector.iter())
            .map(|(a, b)| a * b)
            .sum()
    }
}

/// Says that nobody waits for a result any more. Clones share one state.
#[derive(Clone, Debug, Default)]
pub struct GivenUp(Arc<AtomicBool>);

impl GivenUp {
    /// From now on work for this caller stops at the next pass.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was set.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Turns texts into vectors. Blocks the thread while it computes.
pub trait Embedder: Send + Sync {
    /// One embedding a text, in the texts' order.
    ///
    /// # Errors
    /// [`EmbedError::Cancelled`] once `given_up` is set; otherwise what failed.
    fn embed(&self, texts: &[&str], given_up: &GivenUp) -> Result<Vec<Embedding>, EmbedError>;
}

/// all-MiniLM-L6-v2 with its cache. Share it: loading takes 92 MB.
pub struct Model {
    encoder: Encoder,
    cache: Mutex<LruCache<String, Embedding>>,
}

impl Model {
    /// Reads the weights. Blocks for about 0.1 s.
    ///
    /// # Errors
    /// [`EmbedError::Weights`] when a file is missing, can't be read or is of another model.
    pub fn load(weights: &Weights) -> Result<Self, EmbedError> {
        Ok(Self {
            encoder: Encoder::load(weights)?,
            cache: Mutex::new(LruCache::new(CACHED)),
        })
    }

    fn cached(&self, texts: &[&str]) -> Vec<Option<Embedding>> {
        // A thread that died while it held the lock leaves a whole cache: every entry is complete.
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        texts.iter().map(|text| cache.get(*text).cloned()).collect()
    }

    fn keep(&self, text: &str, embedding: &Embedding) {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.put(text.to_owned(), embedding.clone());
    }
}

impl Embedder for Model {
    fn embed(&self, texts: &[&str], given_up: &GivenUp) -> Result<Vec<Embedding>, EmbedError> {
        let texts: Vec<&str> = texts.iter().map(|text| cut(text)).collect();
        let mut found = self.cached(&texts);
        // New texts, each once, by length: what is packed together then differs little in length.
        let mut new: Vec<(&str, Pieces)> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for (text, found) in texts.iter().zip(&found) {
            if found.is_none() && seen.insert(*text) {
                new.push((text, self.encoder.pieces(text)?));
            }
        }
        new.sort_by_key(|(_, pieces)| pieces.len());
        let mut fresh = std::collections::HashMap::new();
        let mut rest = new.as_slice();
        while !rest.is_empty() {
            if given_up.is_set() {
                return Err(EmbedError::Cancelled);
            }
            let (pass, later) = rest.split_at(pass_size(rest));
            rest = later;
            let pieces: Vec<&Pieces> = pass.iter().map(|(_, pieces)| pieces).collect();
            for ((text, pieces), vector) in pass.iter().zip(self.encoder.forward(&pieces)?) {
                let embedding = Embedding {
                    vector: vector.into(),
                    pieces: u32::try_from(pieces.len()).unwrap_or(u32::MAX),
                };
                self.keep(text, &embedding);
                fresh.insert(*text, embedding);
            }
        }
        for (text, found) in texts.iter().zip(&mut found) {
            if found.is_none() {
                *found = fresh.get(text).cloned();
            }
        }
        found
            .into_iter()
            .map(|embedding| embedding.ok_or(EmbedError::Compute))
            .collect()
    }
}

/// How many of the texts go into the next pass: at least one.
fn pass_size(texts: &[(&str, Pieces)]) -> usize {
    let mut pieces = 0;
    let fitting = texts
        .iter()
        .take_while(|(_, text)| {
            pieces += text.len();
            pieces <= PASS_PIECES
        })
        .count();
    fitting.max(1)
}

fn cut(text: &str) -> &str {
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => text.get(..end).unwrap_or(text),
        None => text,
    }
}
