//! The isolated world: the script that reads and touches pages, put together once per process, and
//! the one way to call it.

use std::fmt::Write as _;
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::tab::WorldScript;

/// The world's name, as the browser knows it.
const NAME: &str = "jev";

/// What the script's files call the name that only we know.
const KEY_MARK: &str = "__JEV_WORLD_KEY__";

/// The script's files, in order; the first opens and the last closes one function.
const PARTS: &[&str] = &[
    include_str!("world/open.js"),
    include_str!("world/bind.js"),
    include_str!("world/clean.js"),
    include_str!("world/geometry.js"),
    include_str!("world/style.js"),
    include_str!("world/ground.js"),
    include_str!("world/beneath.js"),
    include_str!("world/sink.js"),
    include_str!("world/covers.js"),
    include_str!("world/walk.js"),
    include_str!("world/text.js"),
    include_str!("world/replaced.js"),
    include_str!("world/names.js"),
    include_str!("world/candidates.js"),
    include_str!("world/guard.js"),
    include_str!("world/watch.js"),
    include_str!("world/rest.js"),
    include_str!("world/areas.js"),
    include_str!("world/look.js"),
    include_str!("world/memory.js"),
    include_str!("world/hit.js"),
    include_str!("world/act.js"),
    include_str!("world/host.js"),
    include_str!("world/close.js"),
];

/// A name that no page can guess. A call that reaches a page's own world instead of ours is not seen
/// there only because of that.
static KEY: LazyLock<String> = LazyLock::new(|| {
    let mut key = String::from("jev");
    for part in 0_u8..2 {
        // Seeded by the operating system for each state.
        let _ = write!(key, "{:016x}", RandomState::new().hash_one(part));
    }
    key
});

static SOURCE: LazyLock<String> = LazyLock::new(|| PARTS.concat().replace(KEY_MARK, &KEY));

static CALL: LazyLock<String> =
    LazyLock::new(|| include_str!("world/call.js").replace(KEY_MARK, &KEY));

/// The script, for a tab to run before every page's own.
#[must_use]
pub fn script() -> WorldScript {
    WorldScript {
        name: NAME,
        source: &SOURCE,
    }
}

/// What the world can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// Comes to rest and reads the page.
    Look,
    /// Says whether a look was ended in the middle.
    State,
    /// Says where candidates lie in the window.
    Boxes,
    /// Waits for a change.
    Change,
    /// Clicks a candidate.
    Click,
    /// Expects an action from outside, such as a key.
    Arm,
    /// Says what came of it.
    Disarm,
    /// Says whether the page is the one that was judged, before an action from outside.
    Ground,
    /// Scrolls.
    Scroll,
    /// Scrolls a named part of the page.
    ScrollArea,
    /// Finds a field for the host and selects what stands in it.
    BeginFill,
    /// Says what came of the typing.
    EndFill,
    /// Presses a control for the host.
    Press,
}

impl Method {
    const fn name(self) -> &'static str {
        match self {
            Self::Look => "look",
            Self::State => "state",
            Self::Boxes => "placed",
            Self::Change => "change",
            Self::Click => "click",
            Self::Arm => "arm",
            Self::Disarm => "disarm",
            Self::Ground => "ground",
            Self::Scroll => "scroll",
            Self::ScrollArea => "scroll_area",
            Self::BeginFill => "begin_fill",
            Self::EndFill => "end_fill",
            Self::Press => "press",
        }
    }

    /// Whether it is what a user would do with a hand. Only that may count as a user's gesture: a
    /// page can see that there was one, and may do more for a while after it.
    const fn is_gesture(self) -> bool {
        match self {
            Self::Click | Self::BeginFill | Self::Press => true,
            Self::Look
            | Self::State
            | Self::Boxes
            | Self::Change
            | Self::Arm
            | Self::Disarm
            | Self::Ground
            | Self::Scroll
            | Self::ScrollArea
            | Self::EndFill => false,
        }
    }
}

/// What [`call`] answers where the world's script has not run.
pub(crate) const MISSING: &str = "missing";

/// The parameters of `Runtime.callFunctionOn` for one call into the world of a context.
pub(crate) fn call(context: i64, method: Method, options: &Value) -> Value {
    json!({
        "functionDeclaration": *CALL,
        "executionContextId": context,
        "arguments": [{"value": method.name()}, {"value": options}],
        "returnByValue": true,
        "awaitPromise": true,
        "userGesture": method.is_gesture(),
    })
}

/// The parameters of `Page.createIsolatedWorld`.
pub(crate) fn create(frame: &str) -> Value {
    json!({"frameId": frame, "worldName": NAME})
}

/// The parameters of `Runtime.evaluate` that bring the script into a context where it has not run.
pub(crate) fn install(context: i64) -> Value {
    json!({"expression": *SOURCE, "contextId": context, "returnByValue": true})
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    /// The names of all getters and methods that the script takes from prototypes.
    fn names_taken() -> BTreeSet<&'static str> {
        let word = |text: &'static str| {
            let end = text.find(|c: char| !c.is_ascii_alphanumeric());
            text.get(..end.unwrap_or(text.len())).unwrap_or_default()
        };
        let mut names = BTreeSet::new();
        for part in PARTS {
            for prototype in [".prototype.", " N.", " E.", " D."] {
                names.extend(part.split(prototype).skip(1).map(word));
            }
            for arguments in part.split("read(").skip(1) {
                let inside = arguments.split(')').next().unwrap_or_default();
                names.extend(inside.split('"').nth(1));
            }
        }
        names.remove("");
        names
    }

    #[test]
    fn every_name_that_the_script_takes_is_clobbered_in_the_hostile_page() {
        let names = names_taken();
        for known in ["firstChild", "closest", "isContentEditable", "fonts"] {
            assert!(names.contains(known), "{known} is not found in the script");
        }
        let page = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../fixtures/hostile/page/clobbering.html");
        let page = fs::read_to_string(page).unwrap();
        let missing: Vec<_> = names
            .iter()
            .filter(|name| {
                // A form answers with its inputs, a document with its named images.
                !page.contains(&format!("<input name=\"{name}\" id=\"{name}\">"))
                    || !page.contains(&format!("<img name=\"{name}\">"))
            })
            .collect();
        assert!(
            missing.is_empty(),
            "missing in clobbering.html: {missing:?}"
        );
    }

    #[test]
    fn the_key_stands_in_the_script_and_differs_from_its_mark() {
        assert!(!SOURCE.contains(KEY_MARK));
        assert!(SOURCE.contains(KEY.as_str()));
        assert_eq!(KEY.len(), 35);
    }

    #[test]
    fn a_call_into_a_foreign_world_names_nothing_that_a_page_can_exchange() {
        let body = CALL
            .split_once("\"use strict\";")
            .and_then(|(_, body)| body.split_once("return \"missing\""))
            .map(|(before, _)| before.to_owned())
            .unwrap();
        // All of it, up to where a foreign world is left. `document` is read in our world only, and
        // no page can exchange it.
        let expected = format!(
            "const world = this.{};\n  if (world === undefined || world.document !== document) ",
            *KEY
        );
        assert_eq!(body.trim_start(), expected);
    }

    #[test]
    fn only_what_a_hand_would_do_is_a_gesture() {
        for method in [Method::Click, Method::Press, Method::BeginFill] {
            assert_eq!(call(1, method, &json!({}))["userGesture"], true);
        }
        for method in [
            Method::Look,
            Method::State,
            Method::Boxes,
            Method::Change,
            Method::Arm,
            Method::Disarm,
            Method::Ground,
            Method::Scroll,
            Method::ScrollArea,
            Method::EndFill,
        ] {
            assert_eq!(call(1, method, &json!({}))["userGesture"], false);
        }
    }
}
