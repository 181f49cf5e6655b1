//! The excerpt: the part of a long page's text that the judge is shown. Long irrelevant state
//! makes decisions worse and dearer, so it is the beginning and the lines most like the goal.

use super::fit::words;
use crate::snapshot::json_chars;

/// What stands where lines were left out.
const GAP: &str = "[\u{2026}]";

/// At most `most` serialised characters of a text, and how many of its characters are missing.
pub(super) fn excerpt(text: &str, goal: &str, most: usize) -> (String, u64) {
    if json_chars(text) <= most {
        return (text.to_owned(), 0);
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut kept = vec![false; lines.len()];
    // A kept line costs itself, its line break, and perhaps a gap mark with its own break.
    let cost = |line: &str| json_chars(line) + 2 + GAP.chars().count() + 2;
    let mut left = most.saturating_sub(GAP.chars().count() + 2);
    let beginning = left / 2;
    let mut used = 0;
    for (line, kept) in lines.iter().zip(&mut kept) {
        used += cost(line);
        if used > beginning {
            break;
        }
        *kept = true;
        left -= cost(line);
    }
    let goal_words: Vec<String> = words(goal).collect();
    let mut ranked: Vec<(usize, usize)> = lines
        .iter()
        .enumerate()
        .filter(|(index, _)| kept.get(*index) == Some(&false))
        .map(|(index, line)| {
            let line = line.to_lowercase();
            let hits = goal_words
                .iter()
                .filter(|word| line.contains(word.as_str()))
                .count();
            (hits, index)
        })
        .collect();
    ranked.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    for (_, index) in ranked {
        let (Some(line), Some(kept)) = (lines.get(index), kept.get_mut(index)) else {
            continue;
        };
        if let Some(rest) = left.checked_sub(cost(line)) {
            left = rest;
            *kept = true;
        }
    }
    join(&lines, &kept, text, left, most)
}

fn join(lines: &[&str], kept: &[bool], text: &str, left: usize, most: usize) -> (String, u64) {
    let mut out = String::new();
    let mut shown = 0_u64;
    let mut gap = false;
    for (line, kept) in lines.iter().zip(kept) {
        if !kept {
            gap = true;
            continue;
        }
        if gap {
            out.push_str(GAP);
            out.push('\n');
            gap = false;
        }
        shown += line.chars().count() as u64 + 1;
        out.push_str(line);
        out.push('\n');
    }
    if out.is_empty() {
        // One line longer than the room: its beginning is better than nothing.
        out = beginning(text, most.min(left));
        shown = out.chars().count() as u64;
    } else if gap {
        out.push_str(GAP);
    }
    let all = text.chars().count() as u64;
    (out, all.saturating_sub(shown))
}

fn beginning(text: &str, most: usize) -> String {
    let mut used = 0;
    text.chars()
        .take_while(|c| {
            let mut buffer = [0; 4];
            used += json_chars(c.encode_utf8(&mut buffer));
            used <= most
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_and_the_lines_like_the_goal_are_kept_in_order() {
        let mut lines: Vec<String> = (0..200).map(|n| format!("Line {n} says little.")).collect();
        lines[150] = "The warranty lasts 24 months.".to_owned();
        let (shown, missing) = excerpt(&lines.join("\n"), "How long is the warranty?", 600);
        assert!(shown.starts_with("Line 0 says little.\nLine 1 "), "{shown}");
        assert!(
            shown.contains("[\u{2026}]\nThe warranty lasts 24 months.\n[\u{2026}]"),
            "{shown}"
        );
        assert!(missing > 3_000);
        assert_eq!(
            excerpt("short\ntext", "goal", 600),
            ("short\ntext".to_owned(), 0)
        );
        assert_eq!(excerpt(&"x".repeat(99), "goal", 40).0.len(), 35);
    }

    proptest::proptest! {
        #[test]
        fn an_excerpt_never_exceeds_its_room(text in "[a-z\"\\\\ \n]{0,800}", most in 0_usize..400) {
            let (shown, _) = excerpt(&text, "any goal", most);
            proptest::prop_assert!(json_chars(&shown) <= most, "{} > {most}", json_chars(&shown));
        }
    }
}
