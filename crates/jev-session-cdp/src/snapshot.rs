//! What a look brings back: read as page data, every size and type checked, and made a snapshot.

use jev_core::access::{AccessList, CanonicalUrl};
use jev_core::contract::Reach;
use jev_core::ids::{CandidateId, DocumentId};
use jev_core::policy::ActionPolicy;
use jev_core::ports::OpenRequest;
use jev_core::snapshot::{
    Candidate, Omitted, Placement, Role, ScrollState, Settled, Snapshot, SnapshotParts,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::CdpError;

/// Most candidates of a snapshot; the rest are counted.
pub(crate) const CANDIDATES: usize = 1_000;
/// Most characters of a label; the world cuts at the same.
const LABEL_CHARS: usize = 300;
/// Most characters of a candidate's context.
const CONTEXT_CHARS: usize = 240;
/// Most characters of the text.
const TEXT_CHARS: usize = 400_000;
/// Most characters of the title.
const TITLE_CHARS: usize = 1_000;
/// Most characters of the address.
const URL_CHARS: usize = 20_000;
/// Most characters of an id or a guard's name.
const NAME_CHARS: usize = 64;

/// What the world says about the page.
#[derive(Debug, Deserialize)]
pub(crate) struct Look {
    pub(crate) epoch: String,
    /// How many changes the document has had, tickers left out.
    pub(crate) news: f64,
    pub(crate) url: String,
    title: String,
    text: String,
    found: Vec<Found>,
    scroll: (f64, f64),
    over: f64,
    refused: f64,
    omitted: f64,
    frames: f64,
    closed: f64,
    bad: f64,
    pub(crate) settled: bool,
    /// Nothing in the document can change it by itself.
    pub(crate) still: bool,
    /// How long the walk took, in milliseconds.
    pub(crate) took: f64,
}

/// id, role, label, address, context, placement, guard.
#[derive(Debug, Deserialize)]
struct Found(
    String,
    Role,
    String,
    Option<String>,
    String,
    Placement,
    String,
);

/// What the world is asked.
pub(crate) fn question(request: &OpenRequest, quiet_ms: u64, cap_ms: u64) -> Value {
    let mut origins: Vec<String> = Vec::new();
    for pattern in request.access.patterns() {
        let origin = pattern_url(pattern).origin().ascii_serialization();
        if !origins.contains(&origin) {
            origins.push(origin);
        }
    }
    json!({
        "reach": match request.reach {
            Reach::Viewport => "viewport",
            Reach::Document => "document",
        },
        "controls": request.actions.wants_controls(),
        "areas": !request.actions.scroll_areas.is_empty(),
        "origins": origins,
        "quiet": quiet_ms,
        "cap": cap_ms,
    })
}

fn pattern_url(pattern: &jev_core::access::AccessPattern) -> &CanonicalUrl {
    use jev_core::access::AccessPattern::{Exact, Origin, Prefix};
    match pattern {
        Exact(url) | Prefix(url) | Origin(url) => url,
    }
}

/// The list of documents, as the world can compare it.
pub(crate) fn allow_list(access: &AccessList) -> Value {
    use jev_core::access::AccessPattern::{Exact, Origin, Prefix};
    access
        .patterns()
        .iter()
        .map(|pattern| match pattern {
            Exact(url) => json!(["exact", url.as_str()]),
            Prefix(url) | Origin(url) => json!(["prefix", url.as_str()]),
        })
        .collect()
}

/// Reads the world's answer.
pub(crate) fn read(text: &str) -> Result<Look, CdpError> {
    let look: Look = serde_json::from_str(text).map_err(|_| CdpError::Malformed)?;
    let named = |text: &str| !text.is_empty() && text.len() <= NAME_CHARS;
    let ok = named(&look.epoch)
        && look.url.chars().count() <= URL_CHARS
        && look.found.iter().all(|found| {
            named(&found.0)
                && named(&found.6)
                && found.3.as_ref().is_none_or(|href| !href.is_empty())
        });
    if ok {
        Ok(look)
    } else {
        Err(CdpError::Malformed)
    }
}

/// Makes the snapshot: candidates that policy and list allow, cuts, counts.
pub(crate) fn seal(
    look: Look,
    request: &OpenRequest,
    settled: Settled,
    http_status: Option<u16>,
) -> Snapshot {
    let mut omitted = Omitted {
        candidates: count(look.omitted),
        refused_links: count(look.refused),
        text_chars: count(look.over),
        frames: count(look.frames),
        shadow_roots: count(look.closed),
        bad_nodes: count(look.bad),
    };
    let mut candidates = Vec::with_capacity(look.found.len().min(CANDIDATES));
    for found in look.found {
        match offered(found, &request.access, &request.actions) {
            None => omitted.refused_links = omitted.refused_links.saturating_add(1),
            Some(_) if candidates.len() == CANDIDATES => {
                omitted.candidates = omitted.candidates.saturating_add(1);
            }
            Some(candidate) => candidates.push(candidate),
        }
    }
    let text = cut(look.text, TEXT_CHARS);
    Snapshot::new(SnapshotParts {
        scope: request.scope.clone(),
        document: DocumentId::new(look.epoch),
        url: look.url,
        title: cut(look.title, TITLE_CHARS),
        text,
        candidates,
        scroll: ScrollState {
            offset: count(look.scroll.0),
            below: count(look.scroll.1),
        },
        omitted,
        settled,
        reach: request.reach,
        http_status,
    })
}

/// The candidate, when list and policy allow it.
fn offered(found: Found, access: &AccessList, actions: &ActionPolicy) -> Option<Candidate> {
    let Found(id, role, label, href, context, placement, guard) = found;
    let href = if role.is_link() {
        let url = CanonicalUrl::parse(&href?).ok()?;
        Some(access.allows(&url).then_some(url)?)
    } else {
        None
    };
    actions.offers(role, &label).then(|| Candidate {
        id: CandidateId::new(id),
        role,
        label: cut(label, LABEL_CHARS),
        href,
        context: cut(context, CONTEXT_CHARS),
        placement,
        guard,
    })
}

/// A number of page data, made a count.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, and not-a-number becomes 0"
)]
fn count(number: f64) -> u32 {
    number as u32
}

fn cut(mut text: String, most: usize) -> String {
    if text.len() > most
        && let Some((end, _)) = text.char_indices().nth(most)
    {
        text.truncate(end);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use jev_core::ids::Scope;

    fn request() -> OpenRequest {
        OpenRequest {
            scope: Scope::new("u", "s", "t").unwrap(),
            start: CanonicalUrl::parse("http://h/docs/").unwrap(),
            access: AccessList::parse(["http://h/docs/*"]).unwrap(),
            actions: ActionPolicy::read_only(),
            reach: Reach::Document,
        }
    }

    fn answer() -> Value {
        json!({
            "epoch": "d1", "news": 0, "url": "http://h/docs/", "title": "T", "text": "x",
            "found": [
                ["c1", "link", "A", "http://h/docs/a#x", "H", "in_view", "g1"],
                ["c2", "link", "B", "http://h/b", "H", "in_view", "g2"],
                ["c3", "button", "C", null, "H", "below", "g3"],
                ["c4", "link", "D", "javascript:x", "H", "below", "g4"],
            ],
            "scroll": [-3, 1e99], "over": 0, "refused": 1, "omitted": 0, "frames": 0,
            "closed": 0, "bad": 0, "settled": true, "still": true, "took": 1.5,
        })
    }

    #[test]
    fn what_list_or_policy_forbid_is_counted_and_never_listed() {
        let look = read(&answer().to_string()).unwrap();
        let snapshot = seal(look, &request(), Settled::Yes, Some(200));
        let labels: Vec<_> = snapshot
            .candidates
            .iter()
            .map(|candidate| candidate.label.as_str())
            .collect();
        assert_eq!(labels, ["A"]);
        assert_eq!(snapshot.omitted.refused_links, 4);
        assert_eq!(snapshot.scroll.offset, 0);
        assert_eq!(snapshot.scroll.below, u32::MAX);
    }

    #[test]
    fn a_malformed_answer_is_no_snapshot() {
        for (name, value) in [
            ("epoch", json!("")),
            ("epoch", json!("x".repeat(65))),
            ("url", json!(5)),
            ("url", json!("u".repeat(20_001))),
            (
                "found",
                json!([["c1", "window", "A", null, "", "in_view", "g"]]),
            ),
            (
                "found",
                json!([["", "link", "A", null, "", "in_view", "g"]]),
            ),
            ("settled", json!("yes")),
            ("scroll", json!([1])),
        ] {
            let mut bad = answer();
            bad[name] = value;
            assert!(read(&bad.to_string()).is_err(), "{name}");
        }
        assert!(read("missing").is_err());
    }

    #[test]
    fn cutting_keeps_whole_characters() {
        assert_eq!(cut("aéb".into(), 2), "aé");
        assert_eq!(cut("aé".into(), 2), "aé");
    }
}
