//! Actions: what the judge may choose, and what a session may be told to do.

use serde::{Deserialize, Serialize};

use crate::policy::SafeKey;
use crate::snapshot::Candidate;

/// What a judge may choose to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Operation {
    /// Click a target.
    Click,
    /// Scroll down.
    ScrollDown,
    /// Scroll up.
    ScrollUp,
    /// Go back in the history.
    Back,
    /// Load the page again.
    Reload,
    /// Press a key.
    Press(SafeKey),
    /// Wait for the page to change.
    Wait,
    /// Claim that the page answers the goal.
    Done,
    /// Claim that the goal can't be reached read-only.
    Blocked,
    /// None of what is offered is right.
    None,
}

impl Operation {
    /// The short name of the option, as a judge sees it.
    #[must_use]
    pub const fn option_name(self) -> &'static str {
        match self {
            Self::Click => "click",
            Self::ScrollDown => "scroll_down",
            Self::ScrollUp => "scroll_up",
            Self::Back => "back",
            Self::Reload => "reload",
            Self::Press(SafeKey::Enter) => "press_enter",
            Self::Press(SafeKey::Escape) => "press_escape",
            Self::Press(SafeKey::Tab) => "press_tab",
            Self::Press(SafeKey::PageUp) => "press_page_up",
            Self::Press(SafeKey::PageDown) => "press_page_down",
            Self::Press(SafeKey::Home) => "press_home",
            Self::Press(SafeKey::End) => "press_end",
            Self::Wait => "wait",
            Self::Done => "done",
            Self::Blocked => "blocked",
            Self::None => "none",
        }
    }

    /// Whether what it does is to scroll.
    #[must_use]
    pub const fn scrolls(self) -> bool {
        match self {
            Self::ScrollDown | Self::ScrollUp => true,
            Self::Press(key) => key.scrolls(),
            Self::Click
            | Self::Back
            | Self::Reload
            | Self::Wait
            | Self::Done
            | Self::Blocked
            | Self::None => false,
        }
    }

    /// Every operation.
    pub const ALL: [Self; 16] = [
        Self::Click,
        Self::ScrollDown,
        Self::ScrollUp,
        Self::Back,
        Self::Reload,
        Self::Press(SafeKey::Enter),
        Self::Press(SafeKey::Escape),
        Self::Press(SafeKey::Tab),
        Self::Press(SafeKey::PageUp),
        Self::Press(SafeKey::PageDown),
        Self::Press(SafeKey::Home),
        Self::Press(SafeKey::End),
        Self::Wait,
        Self::Done,
        Self::Blocked,
        Self::None,
    ];

    /// Whether an operation's option is called so.
    pub(crate) fn is_option_name(name: &str) -> bool {
        Self::ALL
            .iter()
            .any(|operation| operation.option_name() == name)
    }
}

/// Which way a scroll goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScrollDirection {
    /// Towards the end.
    Down,
    /// Towards the beginning.
    Up,
}

/// What a permit allows, once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Action {
    /// Click this candidate, as it was judged.
    Click {
        /// The candidate, guard included.
        target: Candidate,
    },
    /// Scroll the window.
    Scroll {
        /// Which way.
        direction: ScrollDirection,
        /// How many window heights.
        pages: u8,
    },
    /// Go back one entry.
    Back,
    /// Load the page again.
    Reload,
    /// Press a key.
    Press {
        /// The key.
        key: SafeKey,
    },
}

impl Action {
    /// The operation this action carries out.
    #[must_use]
    pub const fn operation(&self) -> Operation {
        match self {
            Self::Click { .. } => Operation::Click,
            Self::Scroll {
                direction: ScrollDirection::Down,
                ..
            } => Operation::ScrollDown,
            Self::Scroll {
                direction: ScrollDirection::Up,
                ..
            } => Operation::ScrollUp,
            Self::Back => Operation::Back,
            Self::Reload => Operation::Reload,
            Self::Press { key } => Operation::Press(*key),
        }
    }

    /// What is clicked; none for an action without a target.
    #[must_use]
    pub const fn target(&self) -> Option<&Candidate> {
        match self {
            Self::Click { target } => Some(target),
            Self::Scroll { .. } | Self::Back | Self::Reload | Self::Press { .. } => None,
        }
    }
}
