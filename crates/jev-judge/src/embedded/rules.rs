//! When something other than a link is right: the rules for waiting, scrolling, going back,
//! claiming and giving up, on the same scale as links' closeness.

use jev_core::action::Operation;

use super::rank::Foreign;

/// How sharply differences of closeness become probabilities. Fitted on half A of the link-choice
/// set (lowest log loss at 0.025) and rounded towards the 0.037 that was measured elsewhere: a
/// difference of 0.006 passes a share of 0.55.
pub(super) const TEMPERATURE: f64 = 0.03;

/// Closeness below which nothing is near. On half A no right link lies below, and an eighth of
/// the best links of pages that have nothing to do with the goal: on a start page a wrong click
/// costs a step, giving up costs the run.
const NEAR: f64 = 0.05;
/// The same on a page that a click led to, where going back is the other way out: 2 % and 45 %.
const NEAR_DEEP: f64 = 0.12;
/// For goals in languages that the model does not know: their right links lie around 0.04, so
/// closeness can't tell that nothing is near.
const NEAR_FOREIGN: f64 = -0.05;

/// Lower than anything a page can bring about: an option that must not be taken.
pub(super) const NEVER: f64 = -1.5;

/// The steps between what competes when nothing is near. Each passes a share of 0.55 against the
/// next one with room to spare.
const STEP: f64 = 0.025;

/// What the rules look at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scene {
    /// Closeness of the best link, what was tried taken off; `None` without links.
    pub(super) best: Option<f64>,
    /// Whether the model knows the goal's language.
    pub(super) foreign: Foreign,
    /// Clicks that led here and were not taken back.
    pub(super) depth: usize,
    /// Whether the page is still being filled.
    pub(super) loading: Loading,
    /// Whether the visible text seems to answer the goal.
    pub(super) passage: Passage,
    /// Whether the goal asks for an act, such as buying.
    pub(super) wish: Wish,
}

/// Whether the page says, or looks as if, more is to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loading {
    No,
    Yes,
}

/// What the visible text says about the goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passage {
    /// Nothing close enough.
    Silent,
    /// A passage close to the goal.
    Answers,
}

/// What kind of goal it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// To read something.
    Read,
    /// To do something that reading can't do.
    Act,
}

/// Whether an operation was tried on this page state and brought nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Vain {
    No,
    Yes,
}

/// The closeness below which a link leads nowhere, so many clicks from the start.
pub(super) fn near(foreign: Foreign, depth: usize) -> f64 {
    match (foreign, depth) {
        (Foreign::Yes, _) => NEAR_FOREIGN,
        (Foreign::No, 0) => NEAR,
        (Foreign::No, _) => NEAR_DEEP,
    }
}

/// Where a link stands that was clicked before and led somewhere: whatever it says, it is not
/// near any more, so that every untried link that is near and every way out comes first. Among
/// such links the order stays.
pub(super) fn tried(closeness: f64, near: f64) -> f64 {
    closeness.min(near - 2.0 * STEP + 0.01 * closeness)
}

impl Scene {
    fn near(&self) -> f64 {
        near(self.foreign, self.depth)
    }

    /// What wins against every link and every way out when its time has come.
    fn above_all(&self) -> f64 {
        self.best.unwrap_or(NEVER).max(self.near() + 3.0 * STEP) + STEP
    }

    fn lost(&self) -> bool {
        self.best.is_none_or(|best| best < self.near())
    }
}

/// Where an operation stands among the links. When nothing is near the order is: scroll on, go
/// back, give up, none; when something is, each of them stands below it.
pub(super) fn operation(operation: Operation, vain: Vain, scene: &Scene) -> f64 {
    let lost_at = |steps: f64| {
        if scene.lost() {
            scene.near() + steps * STEP
        } else {
            scene.near() - (4.0 - steps) * STEP
        }
    };
    match (operation, vain) {
        (Operation::Click, _) => scene.best.unwrap_or(NEVER),
        (Operation::None, _) => scene.near() - STEP,
        (Operation::Blocked, _) => match scene.wish {
            Wish::Act => scene.above_all(),
            Wish::Read => lost_at(1.0),
        },
        (_, Vain::Yes) => NEVER,
        (Operation::Wait, Vain::No) => match scene.loading {
            Loading::Yes => scene.above_all() + STEP,
            Loading::No => NEVER,
        },
        (Operation::Done, Vain::No) => match scene.passage {
            Passage::Answers => scene.above_all(),
            Passage::Silent => NEVER,
        },
        (Operation::ScrollDown, Vain::No) => lost_at(3.0),
        (Operation::Back, Vain::No) if scene.depth > 0 => lost_at(2.0),
        // Loading again helps only where waiting did not.
        (Operation::Reload, Vain::No) if scene.loading == Loading::Yes => scene.above_all(),
        (
            Operation::Back | Operation::Reload | Operation::ScrollUp | Operation::Press(_),
            Vain::No,
        ) => NEVER,
    }
}

/// Phrases by which a page says that it is not ready. Own list, whole words, lower case.
const LOADING_PHRASES: [&str; 14] = [
    "loading",
    "please wait",
    "one moment",
    "just a moment",
    "fetching",
    "wird geladen",
    "bitte warten",
    "chargement",
    "cargando",
    "caricamento",
    "carregando",
    "laden...",
    "загрузка",
    "\u{52a0}\u{8f7d}\u{4e2d}",
];
/// Visible text of at most so many characters with such a phrase: the phrase is about the page.
const LOADING_CHARS: usize = 300;
/// Visible text of less than this, with nothing to click: the page is still blank.
const BLANK_CHARS: usize = 40;
/// A page that loads shows at most its frame: so many links.
const FRAME_LINKS: usize = 6;

/// Whether the page says, or looks as if, more is to come.
pub(super) fn loading(text: &str, links: usize) -> Loading {
    let chars = text.trim().chars().count();
    let says_so = || {
        let text = text.to_lowercase();
        LOADING_PHRASES.iter().any(|phrase| text.contains(phrase))
    };
    let blank = links == 0 && chars < BLANK_CHARS;
    if blank || (links <= FRAME_LINKS && chars < LOADING_CHARS && says_so()) {
        Loading::Yes
    } else {
        Loading::No
    }
}

/// Verbs that ask for an act when a goal begins with them. Own list.
const ACTS: [&str; 20] = [
    "add",
    "book",
    "buy",
    "cancel",
    "check out",
    "create",
    "delete",
    "enter",
    "log in",
    "order",
    "pay",
    "post",
    "purchase",
    "register",
    "reserve",
    "send",
    "sign in",
    "sign up",
    "submit",
    "upload",
];
/// What follows the verb of an act: "order two tickets", not "order of operations".
const OBJECTS: [&str; 18] = [
    "a", "an", "the", "my", "me", "this", "that", "these", "one", "two", "three", "it", "for",
    "with", "us", "our", "to", "and",
];

/// Whether the goal asks for something that reading can't do. English only: in other languages a
/// goal of this kind ends by the other rules.
pub(super) fn wish(goal: &str) -> Wish {
    let lower = goal.trim().to_lowercase();
    let lower = lower.strip_prefix("please ").unwrap_or(&lower);
    let asks = ACTS.iter().any(|verb| {
        lower
            .strip_prefix(verb)
            .and_then(|rest| rest.strip_prefix(' '))
            .and_then(|rest| rest.split([' ', ',', '.']).next())
            .is_some_and(|next| OBJECTS.contains(&next) || next.chars().all(|c| c.is_ascii_digit()))
    });
    if asks { Wish::Act } else { Wish::Read }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENE: Scene = Scene {
        best: Some(0.4),
        foreign: Foreign::No,
        depth: 1,
        loading: Loading::No,
        passage: Passage::Silent,
        wish: Wish::Read,
    };
    const OFFERED: [Operation; 10] = [
        Operation::Click,
        Operation::ScrollDown,
        Operation::ScrollUp,
        Operation::Back,
        Operation::Reload,
        Operation::Wait,
        Operation::Done,
        Operation::Blocked,
        Operation::None,
        Operation::Press(jev_core::policy::SafeKey::Escape),
    ];

    /// The order of what is offered, those that must not be taken left out, and whether each
    /// passes the default share against the next.
    fn order(scene: &Scene, vain: &[Operation]) -> Vec<Operation> {
        let mut scored: Vec<(Operation, f64)> = OFFERED
            .iter()
            .map(|&offered| {
                let vain = if vain.contains(&offered) {
                    Vain::Yes
                } else {
                    Vain::No
                };
                (offered, operation(offered, vain, scene))
            })
            .filter(|(_, score)| *score > NEVER)
            .collect();
        scored.sort_by(|a, b| b.1.total_cmp(&a.1));
        if let [first, second, ..] = scored.as_slice() {
            let odds = ((first.1 - second.1) / TEMPERATURE).exp();
            assert!(odds / (1.0 + odds) > 0.55, "{scored:?}");
        }
        scored.into_iter().map(|(operation, _)| operation).collect()
    }

    #[test]
    fn the_order_of_operations_follows_the_scene() {
        use Operation::{Back, Blocked, Click, Done, None, Reload, ScrollDown, Wait};
        let lost = Scene {
            best: Some(0.03),
            ..SCENE
        };
        let start = Scene { depth: 0, ..lost };
        for (name, scene, vain, expected) in [
            ("a near link", SCENE, &[][..], Click),
            ("nothing near", lost, &[], ScrollDown),
            ("nothing near, at the end", lost, &[ScrollDown], Back),
            (
                "nothing near, no way on",
                lost,
                &[ScrollDown, Back],
                Blocked,
            ),
            ("nothing near at the start", start, &[ScrollDown], Blocked),
            (
                "no links at all",
                Scene {
                    best: Option::None,
                    ..start
                },
                &[ScrollDown],
                Blocked,
            ),
            (
                "loading",
                Scene {
                    loading: Loading::Yes,
                    ..SCENE
                },
                &[],
                Wait,
            ),
            (
                "loading for ever",
                Scene {
                    loading: Loading::Yes,
                    ..SCENE
                },
                &[Wait],
                Reload,
            ),
            (
                "loading and nothing near",
                Scene {
                    loading: Loading::Yes,
                    ..lost
                },
                &[],
                Wait,
            ),
            (
                "an act and nothing near",
                Scene {
                    wish: Wish::Act,
                    ..lost
                },
                &[],
                Blocked,
            ),
            (
                "an answer in sight",
                Scene {
                    passage: Passage::Answers,
                    ..SCENE
                },
                &[],
                Done,
            ),
            (
                "a refused answer",
                Scene {
                    passage: Passage::Answers,
                    ..SCENE
                },
                &[Done],
                Click,
            ),
            (
                "an act",
                Scene {
                    wish: Wish::Act,
                    ..SCENE
                },
                &[],
                Blocked,
            ),
        ] {
            assert_eq!(order(&scene, vain)[0], expected, "{name}");
        }
        assert_eq!(order(&lost, &[]), [ScrollDown, Back, Blocked, None, Click]);
        // A foreign goal is never given up for being far.
        let foreign = Scene {
            foreign: Foreign::Yes,
            best: Some(0.02),
            ..start
        };
        assert_eq!(order(&foreign, &[])[0], Click);
    }

    #[test]
    fn pages_that_load_and_pages_that_speak_of_loading() {
        for (text, links, expected) in [
            ("", 0, Loading::Yes),
            ("Loading\u{2026}", 3, Loading::Yes),
            ("Bitte warten, die Liste wird geladen", 2, Loading::Yes),
            ("", 4, Loading::No),
            ("Loading zones of the town", 40, Loading::No),
            (
                "A page of forty characters and more than that.",
                0,
                Loading::No,
            ),
        ] {
            assert_eq!(loading(text, links), expected, "{text}");
        }
        let long = format!(
            "Loading data into tables. {}",
            "Text of a manual. ".repeat(30)
        );
        assert_eq!(loading(&long, 0), Loading::No);
    }

    #[test]
    fn acts_are_told_from_questions_about_them() {
        for (goal, expected) in [
            ("Buy the blue kettle", Wish::Act),
            ("Please order two tickets for Friday", Wish::Act),
            ("Sign in and show my orders", Wish::Act),
            ("Order of operations in the shell", Wish::Read),
            ("How do I book a table?", Wish::Read),
            ("Register allocation", Wish::Read),
            ("Create-time options", Wish::Read),
        ] {
            assert_eq!(wish(goal), expected, "{goal}");
        }
    }
}
