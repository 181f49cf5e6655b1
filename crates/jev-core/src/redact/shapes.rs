//! The shapes of secrets: one pattern a class, and the order in which they are taken out.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::replace;

/// A header's value to the end of its line.
static HEADER: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r#"(?i)\b((?:proxy-)?authori[sz]ation|(?:set-)?cookie|x-api-key)(["']?\s*[:=]\s*["']?)[^\r\n"'<>]+"#,
    )
});
static BEARER: LazyLock<Regex> =
    LazyLock::new(|| compile(r#"(?i)\b(bearer)(?:\s|%20|\+|:|=)+[a-z0-9._~+/=%-]{8,}"#));
/// A word that announces a secret, and the value behind it.
static ANNOUNCED: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r#"(?i)((?:api|access|private|secret|client|account)[_\s-]?(?:key|secret)|secret|passw(?:or)?d|passwd|passcode|pwd|passphrase|token|auth|session[_-]?id|credentials?|kennwort|passwort)(["']?(?:(?:\s|%20|\+)*(?:[:=]|%3a|%3d)(?:\s|%20|\+)*|(?:\s|%20|\+)+is(?:\s|%20|\+)+)["']?)[^\s"'&;,<>]+"#,
    )
});
static PRIVATE_KEY: LazyLock<Regex> = LazyLock::new(|| {
    compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)")
});
/// An address of a network: scheme, credentials, host with port, path, query, fragment.
static WEB: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r#"(?i)\b(https?|wss?|ftps?)://(?:[^\s"'<>/?#@]*@)?([^\s"'<>/?#@]*)([^\s"'<>?#]*)(\?[^\s"'<>#]*)?(#[^\s"'<>]*)?"#,
    )
});
/// A folder of a machine inside the path of a web address.
static PATH_IN_WEB: LazyLock<Regex> = LazyLock::new(|| {
    compile(concat!(
        r"(?i)(?:/|%2f)(?:",
        r"(?:home|users|root|tmp|var|etc|opt|usr|srv|private|volumes|work)(?:(?:/|%2f)[^/]+){2,}/?",
        r"|[a-z](?::|%3a)(?:/|%5c|%2f).*",
        r")",
    ))
});
/// An address that is no place on the web.
static OTHER_SCHEME: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r#"(?i)\b(?:file|data|blob|filesystem|javascript|vbscript|mailto|tel|view-source|chrome|chrome-extension|about):[^\s"'<>]+"#,
    )
});
/// A query behind a relative address.
static QUERY: LazyLock<Regex> = LazyLock::new(|| compile(r#"\?[\w.\-\[\]%~]+=[^\s"'<>]*"#));
static EMAIL: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r#"[^\s@<>"'(),;:/\[\]?&=]+(?:@|(?i:%40)|\s?(?:\(at\)|\[at\])\s?)[^\s@<>"'(),;:/\[\]?&=]+"#,
    )
});
/// A folder or file of a machine, or a web address, which is left alone here.
static PATH: LazyLock<Regex> = LazyLock::new(|| {
    compile(concat!(
        r#"(?P<web>(?i:https?|wss?|ftps?)://[^\s"'<>]*)"#,
        // C:\Users\some body\file and \\server\share
        r#"|(?P<windows>\b[A-Za-z]:[\\/](?:[^\\/:*?"<>|\r\n]+[\\/])*[^\\/:*?"<>|\s]*|\\\\[^\\\s]+\\(?:[^\\/:*?"<>|\r\n]+\\)*[^\\/:*?"<>|\s]*)"#,
        // ~/file and any absolute path of two parts or more
        r#"|(?P<lead>^|[^\w/.~:?=&%-])(?P<unix>~[\w.-]*/[^\s"'<>|;,()]+|/+(?:[^\s/"'<>|;,()]+/+)+[^\s"'<>|;,()]*)"#,
    ))
});
/// Keys that say by their beginning what they are.
static KEY: LazyLock<Regex> = LazyLock::new(|| {
    compile(concat!(
        r"\b(?:",
        r"(?:sk|pk|rk)[-_][A-Za-z0-9_-]{8,}",
        r"|gh[oprsu]_[A-Za-z0-9]{8,}|github_pat_\w{8,}|glpat-[\w-]{8,}",
        r"|xox[a-z]-[\w-]{8,}|xapp-[\w-]{8,}",
        r"|A(?:KIA|SIA|GPA|IDA|ROA)[A-Z0-9]{8,}|AIza[\w-]{8,}|ya29\.[\w.-]{8,}",
        r"|hf_\w{8,}|npm_\w{8,}|pypi-[\w-]{8,}|dop_v1_\w{8,}|shp[a-z]{2}_\w{8,}|whsec_\w{8,}",
        r"|SG\.[\w-]{8,}\.[\w-]{8,}",
        r"|eyJ[\w-]{6,}\.[\w-]{4,}(?:\.[\w-]*)?",
        r")",
    ))
});
/// Something long without spaces; [`is_random`] decides whether it looks like a token.
static LONG: LazyLock<Regex> =
    LazyLock::new(|| compile(r"[A-Za-z0-9_+-]{20,}={0,2}|[A-Za-z0-9+/_-]{39,}={0,2}"));

#[expect(
    clippy::expect_used,
    reason = "constants, compiled by this module's tests"
)]
fn compile(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a constant pattern")
}

/// Takes out everything that has the shape of a secret.
pub(super) fn take_out(text: &str) -> String {
    let mut text = Cow::Borrowed(text);
    text = replace(text, &PRIVATE_KEY, |_| "[key]".to_owned());
    text = replace(text, &HEADER, |found| kept(found, &[1, 2], "[bearer]"));
    text = replace(text, &BEARER, |found| kept(found, &[1], " [bearer]"));
    text = replace(text, &WEB, web);
    text = replace(text, &OTHER_SCHEME, |_| "[url]".to_owned());
    text = replace(text, &QUERY, |_| "?[query]".to_owned());
    text = replace(text, &ANNOUNCED, |found| kept(found, &[1, 2], "[key]"));
    text = replace(text, &KEY, |_| "[key]".to_owned());
    text = replace(text, &EMAIL, |_| "[email]".to_owned());
    text = replace(text, &PATH, |found| match found.name("web") {
        Some(web) => web.as_str().to_owned(),
        None => {
            let lead = found.name("lead").map_or("", |lead| lead.as_str());
            format!("{lead}[path]")
        }
    });
    text = replace(text, &LONG, |found| {
        let long = found.get(0).map_or("", |long| long.as_str());
        if is_random(long) {
            "[token]".to_owned()
        } else {
            long.to_owned()
        }
    });
    text.into_owned()
}

/// Some groups of a match, then the mark.
fn kept(found: &Captures<'_>, groups: &[usize], mark: &str) -> String {
    let mut out = String::new();
    for &group in groups {
        out.push_str(found.get(group).map_or("", |group| group.as_str()));
    }
    out.push_str(mark);
    out
}

fn web(found: &Captures<'_>) -> String {
    let group = |number| found.get(number).map_or("", |group| group.as_str());
    let query = if group(4).is_empty() { "" } else { "?[query]" };
    let fragment = if group(5).is_empty() {
        ""
    } else {
        "#[fragment]"
    };
    let path = PATH_IN_WEB.replace_all(group(3), "/[path]");
    format!("{}://{}{path}{query}{fragment}", group(1), group(2))
}

/// Whether a long run looks drawn by chance: it has a digit and a letter, and at least one of its
/// pieces between separators is neither a word nor a number nor a word with a short number.
fn is_random(run: &str) -> bool {
    let digits = run.bytes().any(|byte| byte.is_ascii_digit());
    let letters = run.bytes().any(|byte| byte.is_ascii_alphabetic());
    digits
        && letters
        && !run
            .split(['-', '_', '/', '+', '='])
            .filter(|piece| !piece.is_empty())
            .all(is_word)
}

/// `Chapter`, `chapter12`, `HTML`, `2024`.
fn is_word(piece: &str) -> bool {
    let letters = piece.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = piece.len() - letters.len();
    if letters.is_empty() {
        return digits <= 8;
    }
    let rest = letters.get(1..).unwrap_or_default();
    let one_case = rest.bytes().all(|byte| byte.is_ascii_lowercase())
        || letters.bytes().all(|byte| byte.is_ascii_uppercase());
    letters.bytes().all(|byte| byte.is_ascii_alphabetic())
        && one_case
        && letters.len() <= 24
        && digits <= 4
}
