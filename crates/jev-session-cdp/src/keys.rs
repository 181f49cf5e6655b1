//! The keys that may be pressed, as the browser's input takes them.

use jev_core::policy::SafeKey;
use serde_json::{Value, json};

/// Down and up of one key.
pub(crate) fn stroke(key: SafeKey) -> [Value; 2] {
    // Name and virtual key code, UI Events KeyboardEvent key and code values.
    let (name, code, text) = match key {
        SafeKey::Enter => ("Enter", 13, "\r"),
        SafeKey::Escape => ("Escape", 27, ""),
        SafeKey::Tab => ("Tab", 9, ""),
        SafeKey::PageUp => ("PageUp", 33, ""),
        SafeKey::PageDown => ("PageDown", 34, ""),
        SafeKey::Home => ("Home", 36, ""),
        SafeKey::End => ("End", 35, ""),
    };
    let kind = if text.is_empty() {
        "rawKeyDown"
    } else {
        "keyDown"
    };
    let down = json!({
        "type": kind, "key": name, "code": name, "text": text, "unmodifiedText": text,
        "windowsVirtualKeyCode": code, "nativeVirtualKeyCode": code,
    });
    let up = json!({
        "type": "keyUp", "key": name, "code": name,
        "windowsVirtualKeyCode": code, "nativeVirtualKeyCode": code,
    });
    [down, up]
}
