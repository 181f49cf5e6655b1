//! The action policy: which kinds of action the judge may be offered, by the host's word alone.

use serde::{Deserialize, Serialize};

use crate::snapshot::Role;

/// A policy that contradicts itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// One name is both allowed and denied or reserved.
    #[error("the control name `{name}` is allowed and also denied or reserved; keep one")]
    Contradiction {
        /// The name.
        name: String,
    },
    /// A blank name.
    #[error("a control name is blank")]
    BlankName,
    /// Pages of one scroll.
    #[error("scroll pages: {pages} is outside 1..=5")]
    ScrollPages {
        /// The value given.
        pages: u8,
    },
}

/// How a control's accessible name is matched. White space is collapsed, case is ignored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NameRule {
    /// The whole name.
    Exact(String),
    /// A part of the name.
    Contains(String),
}

impl NameRule {
    /// The rule as files write it: `Save` is a whole name, `*save*` a part of one.
    #[must_use]
    pub fn written(text: &str) -> Self {
        match text
            .strip_prefix('*')
            .and_then(|rest| rest.strip_suffix('*'))
        {
            Some(part) => Self::Contains(part.to_owned()),
            None => Self::Exact(text.to_owned()),
        }
    }

    /// Whether the rule matches a name.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        let name = fold(name);
        match self {
            Self::Exact(text) => name == fold(text),
            Self::Contains(text) => name.contains(&fold(text)),
        }
    }

    /// The name, or the part of one.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Exact(text) | Self::Contains(text) => text,
        }
    }
}

fn fold(text: &str) -> String {
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .to_lowercase()
}

/// A key that changes nothing by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SafeKey {
    /// Enter.
    Enter,
    /// Escape.
    Escape,
    /// Tab.
    Tab,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// Home.
    Home,
    /// End.
    End,
}

impl SafeKey {
    /// Whether what it does is to scroll.
    #[must_use]
    pub const fn scrolls(self) -> bool {
        match self {
            Self::PageUp | Self::PageDown | Self::Home | Self::End => true,
            Self::Enter | Self::Escape | Self::Tab => false,
        }
    }
}

/// Whether an optional action is offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// Not offered.
    #[default]
    Denied,
    /// Offered.
    Allowed,
}

/// Whether controls are found by their kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Discovery {
    /// No: only controls that are named.
    #[default]
    Off,
    /// Tabs and menu entries, unless their name speaks of buying, sending, deleting and the like.
    LowRisk,
}

/// Beginnings of words that speak of consequences, in the languages most pages are written in. A
/// name with one of them is never discovered; it has to be named.
const CONSEQUENTIAL: [&str; 61] = [
    "buy",
    "order",
    "pay",
    "purchas",
    "checkout",
    "subscrib",
    "book",
    "reserv",
    "donat",
    "bid",
    "delet",
    "remov",
    "eras",
    "clear",
    "reset",
    "discard",
    "cancel",
    "close account",
    "send",
    "submit",
    "post",
    "publish",
    "share",
    "reply",
    "save",
    "apply",
    "confirm",
    "accept",
    "agree",
    "approv",
    "reject",
    "transfer",
    "withdraw",
    "sign",
    "log",
    "download",
    "install",
    "upload",
    "print",
    "bestell",
    "kauf",
    "bezahl",
    "zahl",
    "l\u{f6}sch",
    "entfern",
    "absend",
    "speicher",
    "abmeld",
    "anmeld",
    "k\u{fc}ndig",
    "achet",
    "command",
    "payer",
    "supprim",
    "envoy",
    "enregistr",
    "compr",
    "pagar",
    "elimin",
    "borrar",
    "enviar",
];

fn is_consequential(name: &str) -> bool {
    let name = fold(name);
    name.split(|c: char| !c.is_alphanumeric())
        .any(|word| CONSEQUENTIAL.iter().any(|start| word.starts_with(start)))
}

/// What the judge may be offered. Links are always offered, typing never.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionPolicy {
    /// Controls (buttons, tabs, switches, menu items) that may be clicked, by name. Empty: none.
    pub allow: Vec<NameRule>,
    /// Whether controls are offered that are not named, too.
    #[serde(default)]
    pub discover: Discovery,
    /// Names never offered; wins over `allow`, and over links too.
    pub deny: Vec<NameRule>,
    /// Names kept for the host's own hand; never offered.
    pub reserve: Vec<NameRule>,
    /// Scrolling.
    pub scroll: Permission,
    /// Pages one scroll moves, 1 to 5.
    pub scroll_pages: u8,
    /// Parts of a page that scroll by themselves and may be scrolled, by name.
    #[serde(default)]
    pub scroll_areas: Vec<NameRule>,
    /// History back.
    pub back: Permission,
    /// Reloading.
    pub reload: Permission,
    /// Keys that may be pressed.
    pub keys: Vec<SafeKey>,
}

impl ActionPolicy {
    /// The read-only profile: links, scroll, back, wait.
    #[must_use]
    pub fn read_only() -> Self {
        Self {
            allow: Vec::new(),
            discover: Discovery::Off,
            deny: Vec::new(),
            reserve: Vec::new(),
            scroll: Permission::Allowed,
            scroll_pages: 1,
            scroll_areas: Vec::new(),
            back: Permission::Allowed,
            reload: Permission::Denied,
            keys: Vec::new(),
        }
    }

    /// Whether a candidate of this role and accessible name may be offered.
    #[must_use]
    pub fn offers(&self, role: Role, name: &str) -> bool {
        let named = |rules: &[NameRule]| rules.iter().any(|rule| rule.matches(name));
        if named(&self.deny) || named(&self.reserve) {
            return false;
        }
        match role {
            Role::Link => true,
            Role::Button | Role::Tab | Role::Switch | Role::MenuItem => {
                named(&self.allow) || self.discovers(role, name)
            }
            Role::ScrollAreaDown | Role::ScrollAreaUp => named(&self.scroll_areas),
        }
    }

    /// Whether any control could be offered at all.
    #[must_use]
    pub fn wants_controls(&self) -> bool {
        !self.allow.is_empty() || self.discover == Discovery::LowRisk
    }

    fn discovers(&self, role: Role, name: &str) -> bool {
        let low_risk = match role {
            Role::Tab | Role::MenuItem => true,
            // What a button or a switch does can't be told from outside.
            Role::Button
            | Role::Switch
            | Role::Link
            | Role::ScrollAreaDown
            | Role::ScrollAreaUp => false,
        };
        self.discover == Discovery::LowRisk && low_risk && !is_consequential(name)
    }

    /// Checks the lists against each other.
    ///
    /// # Errors
    /// [`PolicyError`] naming what contradicts.
    pub fn check(&self) -> Result<(), PolicyError> {
        if !(1..=5).contains(&self.scroll_pages) {
            return Err(PolicyError::ScrollPages {
                pages: self.scroll_pages,
            });
        }
        let all = self
            .allow
            .iter()
            .chain(&self.deny)
            .chain(&self.reserve)
            .chain(&self.scroll_areas);
        if all.clone().any(|rule| rule.text().trim().is_empty()) {
            return Err(PolicyError::BlankName);
        }
        // Whatever the kinds of the two rules and the letters they are written in.
        let contradicted = self.allow.iter().map(NameRule::text).find(|name| {
            let mut against = self.deny.iter().chain(&self.reserve);
            against.any(|other| other.matches(name))
        });
        match contradicted {
            Some(name) => Err(PolicyError::Contradiction {
                name: name.to_owned(),
            }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_beginning_stands_once() {
        let once: std::collections::BTreeSet<&str> = CONSEQUENTIAL.into();
        assert_eq!(once.len(), CONSEQUENTIAL.len());
    }

    #[test]
    fn deny_and_reserve_win_over_allow() {
        let policy = ActionPolicy {
            allow: vec![NameRule::Contains("details".into())],
            deny: vec![NameRule::Contains("delete".into())],
            reserve: vec![NameRule::Exact("Buy details".into())],
            ..ActionPolicy::read_only()
        };
        assert!(policy.check().is_ok());
        for (role, name, offered) in [
            (Role::Link, "Home", true),
            (Role::Link, "Delete account", false),
            (Role::Button, "Show  Details", true),
            (Role::Button, "Delete details", false),
            (Role::Button, "buy DETAILS", false),
            (Role::Button, "Home", false),
            (Role::ScrollAreaDown, "Home", false),
        ] {
            assert_eq!(policy.offers(role, name), offered, "{role:?} {name}");
        }
    }

    #[test]
    fn discovery_finds_low_risk_controls_only_and_the_lists_win() {
        let policy = ActionPolicy {
            discover: Discovery::LowRisk,
            allow: vec![NameRule::Exact("Delete draft".into())],
            reserve: vec![NameRule::Contains("plan".into())],
            ..ActionPolicy::read_only()
        };
        assert!(policy.wants_controls() && !ActionPolicy::read_only().wants_controls());
        for (role, name, offered) in [
            (Role::Tab, "Details", true),
            (Role::MenuItem, "Opening hours", true),
            (Role::Tab, "Change plan", false),
            (Role::MenuItem, "Delete account", false),
            (Role::MenuItem, "Konto l\u{f6}schen", false),
            (Role::MenuItem, "Sign out", false),
            (Role::Tab, "Bestellungen", false),
            (Role::Button, "Details", false),
            (Role::Switch, "Notifications", false),
            (Role::Button, "Delete draft", true),
        ] {
            assert_eq!(policy.offers(role, name), offered, "{role:?} {name}");
        }
        let off = ActionPolicy::read_only();
        assert!(!off.offers(Role::Tab, "Details"));
    }

    #[test]
    fn one_name_cannot_be_both() {
        for (allow, against) in [
            ("Save", "Save"),
            ("Save", "  SAVE "),
            ("Save draft", "*save*"),
            ("*Save*", "Save"),
            ("*save draft*", "*Save*"),
        ] {
            let rule = || vec![NameRule::written(against)];
            for (deny, reserve) in [(rule(), Vec::new()), (Vec::new(), rule())] {
                let policy = ActionPolicy {
                    allow: vec![NameRule::written("Open"), NameRule::written(allow)],
                    deny,
                    reserve,
                    ..ActionPolicy::read_only()
                };
                let name = allow.trim_matches('*').to_owned();
                assert_eq!(
                    policy.check(),
                    Err(PolicyError::Contradiction { name }),
                    "{allow} {against}"
                );
            }
        }
        // A wide name of which a part is denied is none.
        let policy = ActionPolicy {
            allow: vec![NameRule::written("*details*")],
            deny: vec![NameRule::written("Delete details")],
            ..ActionPolicy::read_only()
        };
        assert_eq!(policy.check(), Ok(()));
    }
}
