//! A terminal's text as an SVG: the picture in the README is drawn from a real run's own words.

use std::fmt::Write as _;

const COLUMNS: usize = 122;
const ADVANCE: f64 = 7.83;
const LINE: usize = 20;
const TOP: usize = 58;
const LEFT: usize = 24;

/// Draws the lines. Long ones are folded at a space; nothing else is changed.
pub(crate) fn terminal(title: &str, text: &str) -> String {
    let lines: Vec<String> = text.lines().flat_map(fold).collect();
    let height = TOP + lines.len() * LINE + 16;
    let width = LEFT * 2 + (COLUMNS as f64 * ADVANCE) as usize;
    let mut svg = String::new();
    // Writing to a string can't fail.
    let _ = writeln!(
        svg,
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" aria-label="{label}">
<style>text{{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d7dee7;white-space:pre}}.c{{fill:#f2f6fa;font-weight:700}}.k{{fill:#7fb4e0}}.d{{fill:#8b98a5}}.g{{fill:#7bd88f;font-weight:700}}.t{{fill:#8b98a5;font-size:12px}}</style>
<rect width="{width}" height="{height}" rx="10" fill="#161b22"/>
<circle cx="24" cy="22" r="6" fill="#ff5f57"/><circle cx="44" cy="22" r="6" fill="#febc2e"/><circle cx="64" cy="22" r="6" fill="#28c840"/>
<text class="t" x="{middle}" y="26" text-anchor="middle">{label}</text>"##,
        label = escaped(title),
        middle = width / 2,
    );
    for (number, line) in lines.iter().enumerate() {
        let y = TOP + number * LINE;
        let _ = writeln!(svg, r#"<text x="{LEFT}" y="{y}">{}</text>"#, coloured(line));
    }
    svg.push_str("</svg>\n");
    svg
}

/// Which part of a line stands out: the command, a step's kind, the status, the small print.
fn coloured(line: &str) -> String {
    let span =
        |class: &str, text: &str| format!(r#"<tspan class="{class}">{}</tspan>"#, escaped(text));
    if line.starts_with("$ ") || line.starts_with("    --") {
        return span("c", line);
    }
    if let Some(rest) = line.strip_prefix("VERIFIED") {
        return format!("{}{}", span("g", "VERIFIED"), escaped(rest));
    }
    // `   0.42s  verify   words`
    let time = line
        .trim_start()
        .split_once("s  ")
        .filter(|(time, _)| time.parse::<f64>().is_ok());
    if let Some((_, rest)) = time {
        let split = rest.find("  ").unwrap_or(rest.len());
        let (head, kind) = (line.len() - rest.len(), rest.get(..split).unwrap_or(rest));
        let class = if kind == "verify" && rest.contains('\u{201c}') {
            "g"
        } else {
            "k"
        };
        return format!(
            "{}{}{}",
            span("d", line.get(..head).unwrap_or_default()),
            span(class, kind),
            escaped(rest.get(split..).unwrap_or_default())
        );
    }
    for word in [
        "goal", "allowed", "judge", "note", "page", "evidence", "spent", "network", "cause",
    ] {
        if let Some(rest) = line.strip_prefix(word).filter(|rest| rest.starts_with(' ')) {
            return format!("{}{}", span("k", word), escaped(rest));
        }
    }
    escaped(line)
}

/// A line in pieces of at most [`COLUMNS`] characters, the later ones set in by four.
fn fold(line: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest: Vec<char> = line.chars().collect();
    while rest.len() > COLUMNS {
        let space = rest.iter().take(COLUMNS).rposition(|c| *c == ' ');
        let at = space.filter(|at| *at > COLUMNS / 2).unwrap_or(COLUMNS);
        let tail = rest.split_off(at);
        pieces.push(rest.iter().collect());
        rest = "    "
            .chars()
            .chain(tail.into_iter().skip_while(|c| *c == ' '))
            .collect();
    }
    pieces.push(rest.into_iter().collect());
    pieces
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_can_not_write_into_the_picture() {
        let svg = terminal(
            "a & b",
            "   0.42s  page     <script>alert(\"x\")</script>\nVERIFIED  yes",
        );
        assert!(!svg.contains("<script"), "{svg}");
        assert!(svg.contains("&lt;script&gt;") && svg.contains("a &amp; b"));
        assert!(svg.contains(r#"<tspan class="k">page</tspan>"#), "{svg}");
        assert!(svg.contains(r#"<tspan class="g">VERIFIED</tspan>"#));
    }

    #[test]
    fn long_lines_are_folded_and_lose_nothing() {
        let words = "word ".repeat(60);
        let pieces = fold(words.trim_end());
        assert!(pieces.iter().all(|piece| piece.chars().count() <= COLUMNS));
        let count: usize = pieces
            .iter()
            .map(|piece| piece.split_whitespace().count())
            .sum();
        assert_eq!(count, 60);
        assert_eq!(fold(&"x".repeat(300)).len(), 3);
    }
}
