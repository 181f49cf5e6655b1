//! Content digests: the one way this crate turns text into a short, comparable name.

use sha2::{Digest as _, Sha256};

/// A SHA-256 over length-prefixed parts, so that `("ab", "c")` and `("a", "bc")` differ.
#[derive(Debug, Default)]
pub struct Digester(Sha256);

impl Digester {
    /// An empty digest.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one part.
    pub fn part(&mut self, part: &str) -> &mut Self {
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part.as_bytes());
        self
    }

    /// The first 128 bits as 32 hexadecimal digits: enough that two pages never share a name by chance.
    #[must_use]
    pub fn finish(&self) -> String {
        let bytes = self.0.clone().finalize();
        let mut text = String::with_capacity(32);
        for byte in bytes.iter().take(16) {
            text.push(char::from_digit(u32::from(byte >> 4), 16).unwrap_or('0'));
            text.push(char::from_digit(u32::from(byte & 15), 16).unwrap_or('0'));
        }
        text
    }
}

/// The digest of one text.
#[must_use]
pub fn digest(text: &str) -> String {
    Digester::new().part(text).finish()
}

/// The SHA-256 of some bytes, as 64 hexadecimal digits: what other tools call a file of them.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        text.push(char::from_digit(u32::from(byte >> 4), 16).unwrap_or('0'));
        text.push(char::from_digit(u32::from(byte & 15), 16).unwrap_or('0'));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_together() {
        let one = Digester::new().part("ab").part("c").finish();
        let two = Digester::new().part("a").part("bc").finish();
        assert_ne!(one, two);
        assert_eq!(one.len(), 32);
    }

    #[test]
    fn bytes_have_the_digest_that_other_tools_give_them() {
        assert_eq!(
            sha256(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
