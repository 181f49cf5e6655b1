//! Judges one request: pure, closed, and everything it does not know is refused.

use jev_core::access::CanonicalUrl;

use super::counters::Counted;
use super::paused::{Paused, ResourceKind};
use super::policy::{TabPolicy, Want};

/// Why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// A document whose address is not on the list.
    Document,
    /// A sub-resource whose origin is not on the list.
    Resource,
    /// A method other than GET.
    Method,
    /// A kind that is not fetched.
    Kind,
    /// A scheme other than http and https, or an address that is none.
    Scheme,
    /// A frame of no tab of ours.
    UnknownFrame,
    /// The tab has fetched as much as it may.
    Spent,
    /// It would have become a download.
    Download,
}

impl Refusal {
    pub(crate) const fn counted(self) -> Counted {
        match self {
            Self::Document => Counted::Document,
            Self::Resource | Self::UnknownFrame | Self::Spent => Counted::Resource,
            Self::Method => Counted::Method,
            Self::Kind | Self::Scheme => Counted::Kind,
            Self::Download => Counted::Download,
        }
    }
}

/// Whether the request may be fetched; if so, at which address.
pub(crate) fn judge(paused: &Paused, policy: &TabPolicy) -> Result<CanonicalUrl, Refusal> {
    if paused.request.method != "GET" {
        return Err(Refusal::Method);
    }
    let url = CanonicalUrl::parse(&paused.request.url).map_err(|_| Refusal::Scheme)?;
    if paused.is_speculative()
        || paused.is_event_stream()
        || want(paused.resource_type, policy) == Want::Refuse
    {
        return Err(Refusal::Kind);
    }
    if paused.resource_type == ResourceKind::Document {
        if policy.access.allows(&url) {
            Ok(url)
        } else {
            Err(Refusal::Document)
        }
    } else {
        if policy.origins().allows_origin_of(&url) {
            Ok(url)
        } else {
            Err(Refusal::Resource)
        }
    }
}

const fn want(kind: ResourceKind, policy: &TabPolicy) -> Want {
    match kind {
        ResourceKind::Document
        | ResourceKind::Stylesheet
        | ResourceKind::Script
        | ResourceKind::XHR
        | ResourceKind::Fetch
        | ResourceKind::Other => Want::Fetch,
        ResourceKind::Image => policy.images,
        ResourceKind::Media | ResourceKind::TextTrack => policy.media,
        ResourceKind::Font => policy.fonts,
        ResourceKind::Prefetch
        | ResourceKind::EventSource
        | ResourceKind::WebSocket
        | ResourceKind::Manifest
        | ResourceKind::SignedExchange
        | ResourceKind::Ping
        | ResourceKind::CSPViolationReport
        | ResourceKind::Preflight
        | ResourceKind::FedCM
        | ResourceKind::Unknown => Want::Refuse,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jev_core::access::AccessList;
    use serde_json::json;

    fn verdict(method: &str, url: &str, kind: &str, headers: serde_json::Value) -> Option<Refusal> {
        let event = json!({
            "requestId": "1", "frameId": "f", "resourceType": kind,
            "request": {"method": method, "url": url, "headers": headers},
        });
        let policy = TabPolicy::new(AccessList::parse(["http://h/docs/*"]).unwrap());
        judge(&Paused::read(&event, None).unwrap(), &policy).err()
    }

    #[test]
    fn only_reads_from_the_list_pass() {
        let cases = [
            ("GET", "http://h/docs/a", "Document", None),
            ("GET", "http://h/a", "Document", Some(Refusal::Document)),
            ("GET", "http://h/style.css", "Stylesheet", None),
            (
                "GET",
                "http://h:81/style.css",
                "Stylesheet",
                Some(Refusal::Resource),
            ),
            ("GET", "http://h/api", "XHR", None),
            ("GET", "http://h/api", "Fetch", None),
            ("GET", "http://h/image", "Image", None),
            ("GET", "http://h/icon", "Other", None),
            ("GET", "http://h/font", "Font", Some(Refusal::Kind)),
            ("GET", "http://h/film", "Media", Some(Refusal::Kind)),
            ("GET", "http://h/x", "EventSource", Some(Refusal::Kind)),
            ("GET", "http://h/x", "Ping", Some(Refusal::Kind)),
            ("GET", "http://h/x", "SomethingNew", Some(Refusal::Kind)),
            ("POST", "http://h/docs/a", "Document", Some(Refusal::Method)),
            ("HEAD", "http://h/api", "Fetch", Some(Refusal::Method)),
            ("get", "http://h/api", "Fetch", Some(Refusal::Method)),
            ("", "http://h/api", "Fetch", Some(Refusal::Method)),
            ("GET", "ftp://h/docs/a", "Document", Some(Refusal::Scheme)),
            (
                "GET",
                "file:///etc/passwd",
                "Document",
                Some(Refusal::Scheme),
            ),
            (
                "GET",
                "http://u:p@h/docs/a",
                "Document",
                Some(Refusal::Scheme),
            ),
            ("GET", "", "Document", Some(Refusal::Scheme)),
        ];
        for (method, url, kind, expected) in cases {
            assert_eq!(
                verdict(method, url, kind, json!({})),
                expected,
                "{method} {url} {kind}"
            );
        }
        let speculative = json!({"Sec-Purpose": "prefetch"});
        assert_eq!(
            verdict("GET", "http://h/docs/a", "Document", speculative),
            Some(Refusal::Kind)
        );
    }

    #[test]
    fn an_event_that_is_not_understood_still_gives_its_id() {
        assert_eq!(
            Paused::read(&json!({"requestId": "7"}), None)
                .unwrap_err()
                .as_deref(),
            Some("7")
        );
        assert!(Paused::read(&json!({}), None).unwrap_err().is_none());
    }
}
