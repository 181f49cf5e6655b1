//! What the session tools answer, in the shapes that their definitions publish.

use jev_core::history::HistoryEntry;
use jev_core::host::HostReceipt;
use jev_core::snapshot::Snapshot;
use serde_json::{Map, Value, json};

use crate::shared_session::{Handback, Metrics};
use crate::tool::{UNTRUSTED_NOTE, marked};

/// The page's part of a reply. Without a page that may be shown all of it is empty.
pub(super) fn page(id: &str, page: Option<&Snapshot>, most: u32) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("session".to_owned(), json!(id));
    let (url, version, text) = match page {
        Some(page) => (
            page.url.clone(),
            json!(page.version()),
            marked(&page.text, page.omitted.text_chars, most),
        ),
        None => (String::new(), Value::Null, String::new()),
    };
    map.insert("url".to_owned(), json!(url));
    map.insert("version".to_owned(), version);
    map.insert("visibleText".to_owned(), json!(text));
    map
}

/// The history, oldest first, in the words of the tool.
pub(super) fn history(entries: &[HistoryEntry]) -> Value {
    entries
        .iter()
        .map(|entry| {
            json!({
                "operation": entry.operation,
                "target": entry.target,
                "outcome": entry.outcome,
                "pageChanged": entry.page_changed,
            })
        })
        .collect()
}

/// What a run hands back.
pub(super) fn handback(id: &str, back: &Handback, most: u32) -> (String, Value) {
    let report = &back.report;
    let mut map = page(id, report.page.as_deref(), most);
    map.insert("status".to_owned(), json!(report.status));
    map.insert("handoff".to_owned(), json!(report.handoff));
    map.insert("evidence".to_owned(), json!(report.evidence()));
    map.insert("history".to_owned(), history(&back.history));
    let meaning = if report.evidence().is_empty() {
        "Nothing is proved: look at the page yourself, do what the judge could not, and run again. \
The history is kept."
    } else {
        "The evidence below was verified independently."
    };
    let note = format!(
        "{}: {} {meaning} {UNTRUSTED_NOTE}",
        report.status.name(),
        report.status.sentence()
    );
    (note, Value::Object(map))
}

/// What came of an act of the agent's own.
pub(super) fn receipt(map: &mut Map<String, Value>, receipt: &HostReceipt) -> String {
    let (word, detail, sentence) = match receipt {
        HostReceipt::Applied(effect) => ("APPLIED", json!(effect), "It was done.".to_owned()),
        HostReceipt::Refused(refusal) => (
            "REFUSED",
            json!(refusal),
            format!("It was not done: {refusal}."),
        ),
        HostReceipt::Unknown(cause) => (
            "UNKNOWN",
            json!(cause),
            "It may have been done; look before you do anything, and never repeat it blindly."
                .to_owned(),
        ),
    };
    map.insert("receipt".to_owned(), json!(word));
    map.insert("detail".to_owned(), detail);
    format!("{word}: {sentence} {UNTRUSTED_NOTE}")
}

/// What a session has spent and done. What it cost only where a price is set.
pub(super) fn metrics(metrics: &Metrics, cost: Option<f64>) -> Value {
    let mut value = json!({
        "runs": metrics.runs,
        "decisions": metrics.decisions,
        "executed": metrics.executed,
        "retries": metrics.retries,
        "recoveries": metrics.recoveries,
        "staleDiscards": metrics.stale_discards,
        "judgeMs": u64::try_from(metrics.judge_time.as_millis()).unwrap_or(u64::MAX),
        "inputTokens": metrics.usage.input_tokens,
        "outputTokens": metrics.usage.output_tokens,
        "ownActs": metrics.host_acts,
        "ownRefusals": metrics.host_refusals,
        "handoffs": metrics.handoffs,
    });
    if let (Some(cost), Value::Object(map)) = (cost, &mut value) {
        map.insert("cost".to_owned(), json!(cost));
    }
    value
}
