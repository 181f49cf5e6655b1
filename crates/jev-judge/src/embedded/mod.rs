//! The embedded judge: sentence embeddings in process, no key, no network.
