//! Which content type a file is served with.

use std::path::Path;

/// The type by the file's name, for text with its encoding when that is surely UTF-8.
///
/// Manuals in other encodings say so inside the page; a header would overrule them.
pub(crate) fn content_type(file: &Path, body: &[u8]) -> &'static str {
    let name = file
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default()
        .to_ascii_lowercase();
    // `page.html.en` is a page: a language or an encoding may follow the real ending.
    let by_name = name.rsplit('.').take(3).find_map(known);
    let utf8 = || std::str::from_utf8(body).is_ok();
    match by_name {
        Some(Known::Binary(kind)) => kind,
        Some(Known::Text { plain, utf8: with }) => {
            if utf8() {
                with
            } else {
                plain
            }
        }
        None if utf8() => "text/plain; charset=utf-8",
        None => "application/octet-stream",
    }
}

enum Known {
    Binary(&'static str),
    Text {
        plain: &'static str,
        utf8: &'static str,
    },
}

fn known(ending: &str) -> Option<Known> {
    let text = |plain, utf8| Some(Known::Text { plain, utf8 });
    match ending {
        "html" | "htm" => text("text/html", "text/html; charset=utf-8"),
        "xhtml" => text(
            "application/xhtml+xml",
            "application/xhtml+xml; charset=utf-8",
        ),
        "css" => text("text/css", "text/css; charset=utf-8"),
        "js" | "mjs" => text("text/javascript", "text/javascript; charset=utf-8"),
        "json" | "map" => Some(Known::Binary("application/json")),
        "xml" => text("application/xml", "application/xml; charset=utf-8"),
        "txt" | "rst" | "md" => text("text/plain", "text/plain; charset=utf-8"),
        "svg" => Some(Known::Binary("image/svg+xml")),
        "png" => Some(Known::Binary("image/png")),
        "gif" => Some(Known::Binary("image/gif")),
        "jpg" | "jpeg" => Some(Known::Binary("image/jpeg")),
        "webp" => Some(Known::Binary("image/webp")),
        "ico" => Some(Known::Binary("image/x-icon")),
        "woff" => Some(Known::Binary("font/woff")),
        "woff2" => Some(Known::Binary("font/woff2")),
        "ttf" => Some(Known::Binary("font/ttf")),
        "pdf" => Some(Known::Binary("application/pdf")),
        "gz" => Some(Known::Binary("application/gzip")),
        "zip" => Some(Known::Binary("application/zip")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_follow_the_name_and_encodings_follow_the_bytes() {
        let latin = b"caf\xe9";
        for (name, body, expected) in [
            ("a.html", &b"x"[..], "text/html; charset=utf-8"),
            ("a.HTML", latin, "text/html"),
            ("a.html.en", b"x", "text/html; charset=utf-8"),
            ("a.html.ja.utf8", b"x", "text/html; charset=utf-8"),
            ("a.png", b"x", "image/png"),
            ("a.html.gz", b"\x1f\x8b", "application/gzip"),
            (
                "jquery-3.6.0.min.js",
                b"x",
                "text/javascript; charset=utf-8",
            ),
            ("README", b"x", "text/plain; charset=utf-8"),
            ("blob", b"\xff\xfe\x00", "application/octet-stream"),
        ] {
            assert_eq!(content_type(Path::new(name), body), expected, "{name}");
        }
    }
}
