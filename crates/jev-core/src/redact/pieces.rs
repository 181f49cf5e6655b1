//! Pieces of known secrets: a secret that somebody cut before it was seen here, or of which a page
//! shows a line alone. White space, letter case and encodings do not count.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use super::{Hidden, SHORT_CHARS};

/// A run of so many characters of a secret is hidden wherever it stands, white space not counted.
const PIECE_CHARS: usize = 16;
/// The beginning of a secret is hidden from so many characters on where a text ends or was cut, and
/// its end where one begins.
const EDGE_CHARS: usize = 8;
/// The base of the rolling hash over a run of characters.
const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

/// What of one secret is looked for.
pub(super) struct Pieces {
    mark: &'static str,
    /// Hashes of runs, by their length.
    runs: BTreeMap<usize, HashSet<u64>>,
    /// The first characters of the secret and of each of its lines.
    starts: Vec<Vec<char>>,
    /// The last ones.
    ends: Vec<Vec<char>>,
}

/// One character as it is compared, and where it stands in its text.
struct Seen {
    c: char,
    from: usize,
    to: usize,
}

impl Pieces {
    pub(super) fn of(secret: &str, what: Hidden) -> Self {
        let mut pieces = Self {
            mark: what.mark(),
            runs: BTreeMap::new(),
            starts: Vec::new(),
            ends: Vec::new(),
        };
        let flat = |text: &str| -> Vec<char> { flatten(text).iter().map(|seen| seen.c).collect() };
        let whole = flat(secret);
        pieces.add_runs(&whole, PIECE_CHARS);
        pieces.add_edges(&whole);
        let mut lines = secret.lines().filter(|line| !line.trim().is_empty());
        if lines.clone().nth(1).is_some() {
            for line in lines.by_ref() {
                let line = flat(line);
                if (SHORT_CHARS..PIECE_CHARS).contains(&line.len()) {
                    pieces.add_runs(&line, line.len());
                }
                pieces.add_edges(&line);
            }
        }
        pieces
    }

    fn add_runs(&mut self, chars: &[char], length: usize) {
        if chars.len() >= length {
            let found = self.runs.entry(length).or_default();
            rolling(chars.iter().copied(), length, |_, hash| {
                found.insert(hash);
            });
        }
    }

    fn add_edges(&mut self, chars: &[char]) {
        if chars.len() <= EDGE_CHARS {
            return;
        }
        let most = chars.len().min(PIECE_CHARS);
        self.starts.extend(chars.get(..most).map(<[char]>::to_vec));
        self.ends
            .extend(chars.get(chars.len() - most..).map(<[char]>::to_vec));
    }

    fn cover(&self, text: &[Seen], covered: &mut [Option<&'static str>]) {
        let mut hide = |from: usize, to: usize| {
            for one in covered.get_mut(from..to).unwrap_or_default() {
                *one = Some(self.mark);
            }
        };
        for (&length, known) in &self.runs {
            rolling(text.iter().map(|seen| seen.c), length, |at, hash| {
                if known.contains(&hash) {
                    hide(at, at + length);
                }
            });
        }
        let cut = |seen: &Seen| matches!(seen.c, '\u{2026}' | '\u{201d}' | '[');
        let is = |from: usize, piece: &[char]| {
            text.get(from..from + piece.len())
                .is_some_and(|part| part.iter().map(|seen| seen.c).eq(piece.iter().copied()))
        };
        for end in (0..=text.len()).filter(|&at| text.get(at).is_none_or(cut)) {
            for start in &self.starts {
                let found = (EDGE_CHARS..=start.len().min(end))
                    .rev()
                    .find(|&most| start.get(..most).is_some_and(|piece| is(end - most, piece)));
                if let Some(most) = found {
                    hide(end - most, end);
                }
            }
        }
        let after_cut =
            |at: usize| at == 0 || text.get(at - 1).is_some_and(|seen| seen.c == '\u{2026}');
        for from in (0..text.len()).filter(|&at| after_cut(at)) {
            for end in &self.ends {
                let found = (EDGE_CHARS..=end.len()).rev().find(|&most| {
                    end.get(end.len() - most..)
                        .is_some_and(|piece| is(from, piece))
                });
                if let Some(most) = found {
                    hide(from, from + most);
                }
            }
        }
    }
}

/// The text without any piece of these secrets.
pub(super) fn take_out<'t>(text: Cow<'t, str>, secrets: &[std::sync::Arc<Pieces>]) -> Cow<'t, str> {
    if secrets.is_empty() {
        return text;
    }
    let seen = flatten(&text);
    let mut covered = vec![None; seen.len()];
    for pieces in secrets {
        pieces.cover(&seen, &mut covered);
    }
    if covered.iter().all(Option::is_none) {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let (mut copied, mut last) = (0, None);
    for (one, mark) in seen.iter().zip(&covered) {
        if let Some(mark) = mark {
            if last != Some(*mark) {
                out.push_str(text.get(copied..one.from).unwrap_or_default());
                out.push_str(mark);
            }
            copied = one.to;
        }
        last = *mark;
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(out)
}

/// Calls `with` for each run of `length` characters: where it begins, and its hash.
fn rolling(chars: impl Iterator<Item = char>, length: usize, mut with: impl FnMut(usize, u64)) {
    let top = (1..length).fold(1_u64, |power, _| power.wrapping_mul(BASE));
    let mut run = std::collections::VecDeque::with_capacity(length);
    let mut hash = 0_u64;
    for (at, c) in chars.enumerate() {
        if run.len() == length {
            let first: char = run.pop_front().unwrap_or_default();
            hash = hash.wrapping_sub(top.wrapping_mul(u64::from(first)));
        }
        run.push_back(c);
        hash = hash.wrapping_mul(BASE).wrapping_add(u64::from(c));
        if run.len() == length {
            with(at + 1 - length, hash);
        }
    }
}

/// The characters that count: without white space, in small letters, decoded.
fn flatten(text: &str) -> Vec<Seen> {
    let mut flat = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let (c, length) = percent(rest)
            .or_else(|| entity(rest))
            .or_else(|| rest.chars().next().map(|c| (c, c.len_utf8())))
            .unwrap_or((' ', rest.len()));
        if !c.is_whitespace() && c != '+' {
            flat.push(Seen {
                c: c.to_lowercase().next().unwrap_or(c),
                from: at,
                to: at + length,
            });
        }
        at += length;
    }
    flat
}

/// A percent-encoded character and how many bytes it takes.
fn percent(text: &str) -> Option<(char, usize)> {
    let mut bytes = Vec::with_capacity(4);
    while bytes.len() < 4 {
        let code = text
            .get(bytes.len() * 3..)?
            .strip_prefix('%')?
            .get(..2)
            .filter(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        bytes.push(u8::from_str_radix(code, 16).ok()?);
        if let Ok(decoded) = std::str::from_utf8(&bytes) {
            return decoded.chars().next().map(|c| (c, bytes.len() * 3));
        }
    }
    None
}

/// A character written as an HTML entity, and how many bytes it takes.
fn entity(text: &str) -> Option<(char, usize)> {
    const ENTITIES: [(&str, char); 9] = [
        ("&amp;", '&'),
        ("&lt;", '<'),
        ("&gt;", '>'),
        ("&quot;", '"'),
        ("&#34;", '"'),
        ("&#39;", '\''),
        ("&#039;", '\''),
        ("&apos;", '\''),
        ("&nbsp;", ' '),
    ];
    ENTITIES
        .iter()
        .find(|(name, _)| text.starts_with(name))
        .map(|(name, c)| (*c, name.len()))
}
