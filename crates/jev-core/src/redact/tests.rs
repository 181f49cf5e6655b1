//! Tests of redaction: every class, what is left alone, and that secrets stay out wherever they
//! stand.

use proptest::prelude::*;

use super::*;

fn redacted(text: &str) -> String {
    Redactor::new().text(text).into_string()
}

#[test]
fn every_class_is_taken_out() {
    let cases = [
        ("mail ada@example.org now", "mail [email] now"),
        ("ada%40example.org", "[email]"),
        ("ada (at) example.org", "[email]"),
        (
            "at http://h/a/b?token=1#x.",
            "at http://h/a/b?[query]#[fragment]",
        ),
        ("http://ada:pw@h:8080/a", "http://h:8080/a"),
        ("page.html?q=ada%20l", "page.html?[query]"),
        ("see file:///etc/passwd", "see [url]"),
        ("data:text/html,hi", "[url]"),
        ("in /var/lib/x.db.", "in [path]"),
        ("(~/notes.txt)", "([path])"),
        (r"C:\Users\Ada L\x.txt is", "[path] is"),
        (r"\\server\share\x", "[path]"),
        ("Authorization: Basic YTpi", "Authorization: [bearer]"),
        ("use Bearer abcdefgh1", "use Bearer [bearer]"),
        ("password: hunter2, ok", "password: [key], ok"),
        ("The API key is hunter2", "The API key is [key]"),
        ("MY_TOKEN=hunter2", "MY_TOKEN=[key]"),
        ("sk-abcdefgh12345678", "[key]"),
        ("key AKIAIOSFODNN7EXAMPLE", "key [key]"),
        ("eyJhbGciOi.eyJzdWIi.sflKxw", "[key]"),
        ("9f86d081884c7d659a2feaa0c55ad015", "[token]"),
        ("id 550e8400-e29b-41d4-a716-446655440000", "id [token]"),
        (
            "http://h/9f86d081884c7d659a2feaa0c55ad015/x",
            "http://h/[token]/x",
        ),
        ("http://h/x/home/ada/x.txt", "http://h/x/[path]"),
        ("http://h/%2Fhome%2Fada%2Fx.txt", "http://h//[path]"),
        ("http://h/C:/Users/ada", "http://h/[path]"),
        ("http://h/password:%20hunter2", "http://h/password:%20[key]"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----",
            "[key]",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(redacted(text), expected, "{text}");
    }
}

#[test]
fn ordinary_text_stays() {
    for text in [
        "The warranty covers defects for 24 months from the date of purchase.",
        "and/or, 24/7, km/h, 3.5\u{a0}%",
        "http://h/en/home/products.html",
        "http://127.0.0.1:8080/docs/a-long-article-slug-about-2024-something.html",
        "getElementsByTagNameAndSomethingElse",
        "internationalization-and-localization",
        "Preis: 12,90 \u{20ac}; Gr\u{f6}\u{df}e 4",
        "Is this it? Yes.",
    ] {
        assert_eq!(redacted(text), text);
    }
}

#[test]
fn what_was_typed_is_hidden_in_every_spelling() {
    let mut redactor = Redactor::new();
    redactor.hide("J\u{fc}rgen & S\u{f6}hne", Hidden::Typed);
    for text in [
        "J\u{fc}rgen & S\u{f6}hne",
        "J\u{dc}RGEN  &\nS\u{d6}HNE",
        "J%C3%BCrgen+%26+S%C3%B6hne",
        "J%c3%bcrgen%20&amp;%20S\u{f6}hne",
    ] {
        assert_eq!(redactor.text(text).as_str(), "[typed]", "{text}");
        assert_eq!(redactor.known_only(text), "[typed]", "{text}");
    }
    assert_eq!(redactor.text("J\u{fc}rgen").as_str(), "J\u{fc}rgen");
}

#[test]
fn a_short_typed_text_is_hidden_as_a_word_only() {
    let mut redactor = Redactor::new();
    redactor.hide("a7", Hidden::Typed);
    redactor.hide("  \n", Hidden::Typed);
    assert_eq!(
        redactor.text("room A7, a75, q=a7").as_str(),
        "room [typed], a75, q=[typed]"
    );
}

#[test]
fn a_cut_never_goes_through_a_secret() {
    let text = format!("{} ada@example.org and more", "x ".repeat(10));
    for most in 0..60 {
        let (shown, more) = Redactor::new().cut(&text, most);
        assert!(!shown.as_str().contains("ada"), "{most}: {shown}");
        let whole = redacted(&text).chars().count();
        assert_eq!(shown.as_str().chars().count() + more as usize, whole);
    }
}

/// A secret and the text that carries it.
pub(crate) fn secret() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{3,8}[0-9]{2}(\\.[a-z]{2,6})?@[a-z]{3,8}\\.(org|com|de)",
        "/(home|Users|root|tmp|var|srv|work)/[a-z]{3,8}[0-9]{2}/[a-z]{2,8}\\.(txt|db|pem)",
        "C:\\\\Users\\\\[A-Za-z]{3,8}[0-9]{2}\\\\[a-z]{2,8}\\.txt",
        "http://h\\.test/p\\?[a-z]{1,6}=[A-Za-z0-9]{8,20}",
        "sk-[A-Za-z0-9]{16,32}",
        "gh[pousr]_[A-Za-z0-9]{20,36}",
        "AKIA[A-Z0-9]{16}",
        "eyJ[A-Za-z0-9]{12,20}\\.eyJ[A-Za-z0-9]{12,20}\\.[A-Za-z0-9_-]{20,30}",
        "Bearer [A-Za-z0-9._~+/-]{16,40}",
        "[a-z][0-9][A-Z][0-9][a-z0-9A-Z]{20,40}",
        "password: [A-Za-z0-9!]{8,20}",
        "api_key=[A-Za-z0-9]{12,24}",
    ]
}

/// The longest run of letters and digits of a secret: what must not be found again.
fn core_of(secret: &str) -> String {
    let tail = match secret.rsplit_once(['=', ' ']) {
        Some((_, tail)) => tail,
        None => secret,
    };
    tail.split(|c: char| !c.is_ascii_alphanumeric())
        .max_by_key(|piece| (piece.bytes().any(|b| b.is_ascii_digit()), piece.len()))
        .unwrap_or_default()
        .to_owned()
}

proptest! {
    #[test]
    fn planted_secrets_never_stay(
        before in "[ a-zA-Z.,:;!?()\u{e4}\n-]{0,30}",
        secret in secret(),
        after in "[ .,;!?()\u{e4}\n][ a-zA-Z.,:;!?()\n-]{0,30}",
    ) {
        let text = format!("{before} {secret}{after}");
        let shown = redacted(&text);
        let core = core_of(&secret);
        prop_assume!(core.len() >= 4);
        prop_assert!(!shown.contains(&core), "{text:?} gave {shown:?}");
    }

    #[test]
    fn typed_text_never_stays(
        before in ".{0,20}", typed in "[a-zA-Z0-9 &\u{e4}\u{df}'\"<>.-]{4,40}", after in ".{0,20}",
    ) {
        let mut redactor = Redactor::new();
        redactor.hide(&typed, Hidden::Typed);
        let words: Vec<&str> = typed.split_whitespace().collect();
        prop_assume!(words.concat().chars().count() >= 4);
        let shown = redactor.text(&format!("{before}{typed}{after}")).into_string();
        // The words around it may by chance hold it once more, in which case it is hidden too.
        prop_assert!(!shown.to_lowercase().contains(&words.join(" ").to_lowercase()));
    }
}

/// Without white space, in small letters.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<String>().to_lowercase()
}

/// Whether any run of so many characters of the secret stands in the text.
fn shares(text: &str, secret: &str, most: usize) -> bool {
    let (text, secret) = (flat(text), flat(secret).chars().collect::<Vec<_>>());
    secret
        .windows(most)
        .any(|run| text.contains(&run.iter().collect::<String>()))
}

#[test]
fn a_secret_that_was_cut_before_is_hidden_too() {
    let secret: String = (0..100).map(|n| format!("w{n:02}x ")).collect();
    let mut redactor = Redactor::new();
    redactor.hide(&secret, Hidden::Typed);
    let cut = |most: usize| secret.chars().take(most).collect::<String>();
    for text in [
        format!("You wrote: {}", cut(120)),
        format!(
            "Follow the link \u{201c}{}\u{2026}\u{201d} under x",
            cut(199)
        ),
        format!("Follow the link \u{201c}Note {}\u{2026}\u{201d}", cut(12)),
        format!("{} was cut before", &secret[350..]),
        secret[490..].to_owned(),
        format!("of {} the middle", &secret[100..130].to_uppercase()),
        format!("http://h/?note={}", cut(60).replace(' ', "%20")),
    ] {
        let shown = redactor.known_only(&text);
        assert!(shown.contains("[typed]"), "{text}: {shown}");
        assert!(!shares(&shown, &secret, 8), "{text}: {shown}");
    }
    let plain = "Nothing of w00x stands here, only w01x \u{2026} and w02x.";
    assert_eq!(redactor.known_only(plain), plain);
}

#[test]
fn each_line_of_a_secret_is_hidden_alone() {
    let mut redactor = Redactor::new();
    redactor.hide(
        "Ada Lovelace\r\n12 Elm St\n\nab\nSpringfield",
        Hidden::Typed,
    );
    for (text, shown) in [
        ("To: ada  lovelace, here", "To: [typed], here"),
        ("12 Elm St; Springfield.", "[typed]; [typed]."),
        ("at?to=12%20Elm+St&x", "at?to=[typed]&x"),
        ("a cab and Elm Street", "a cab and Elm Street"),
    ] {
        assert_eq!(redactor.known_only(text), shown);
    }
}

proptest! {
    #[test]
    fn no_window_of_a_text_shows_a_long_piece(
        secret in "[a-z0-9 \n\u{e4}]{24,300}",
        before in "[A-Z. ]{0,40}",
        after in "[A-Z. ]{0,40}",
        from in 0_usize..300,
        most in 0_usize..300,
    ) {
        prop_assume!(flat(&secret).chars().count() >= 20);
        let mut redactor = Redactor::new();
        redactor.hide(&secret, Hidden::Typed);
        let text = format!("{before}{secret}{after}");
        let window: String = text.chars().skip(from).take(most).collect();
        let shown = redactor.known_only(&window).into_owned();
        prop_assert!(!shares(&shown, &secret, 16), "{window:?}: {shown:?}");
    }
}
