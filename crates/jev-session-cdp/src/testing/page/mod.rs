//! The hostile pages of `fixtures/hostile/page`: what each must look like to a session and what must
//! become of what is tried on it, in one table; the site that serves them; the runner.

pub mod acts;
pub mod looks;
pub mod run;
pub mod site;

use jev_core::contract::Reach;
use jev_core::ports::Change;
use jev_core::receipt::{AppliedEffect, Receipt, RejectCause, StaleCause};
use jev_core::snapshot::Settled;

/// One page and what is done with it.
#[derive(Clone, Copy, Debug)]
pub struct PageCase {
    /// The file's name without its ending.
    pub name: &'static str,
    /// The point it shows.
    pub shows: &'static str,
    /// From where text and candidates come.
    pub reach: Reach,
    /// Names of controls that the host allows.
    pub controls: &'static [&'static str],
    /// What is done, in order.
    pub steps: &'static [Step],
    /// Paths that the server must never be asked for.
    pub never_asked: &'static [&'static str],
}

impl PageCase {
    const fn new(name: &'static str, shows: &'static str, steps: &'static [Step]) -> Self {
        Self {
            name,
            shows,
            reach: Reach::Document,
            controls: &[],
            steps,
            never_asked: &["/trap"],
        }
    }

    const fn in_window(mut self) -> Self {
        self.reach = Reach::Viewport;
        self
    }

    const fn with_controls(mut self, controls: &'static [&'static str]) -> Self {
        self.controls = controls;
        self
    }
}

/// One thing done with a page.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Reads it.
    Look(&'static [Expect]),
    /// Waits and reads until all holds, a few times.
    LookUntil(&'static [Expect]),
    /// Reading must end as a page that hangs.
    Hangs,
    /// The page's process dies; reading and clicking the candidate of this label must say so.
    Crashes(&'static str),
    /// The page's own `change()` runs.
    Change,
    /// Calls into every context of the tab, the page's own world too.
    Knock,
    /// Clicks the candidate of this label.
    Click(&'static str, Outcome),
    /// Scrolls down by so many windows.
    Down(u8, Outcome),
    /// Goes back.
    Back(Outcome),
    /// Waits for a change, at most half a second.
    Wait(Change),
}

/// What must become of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// This receipt.
    Is(Receipt),
    /// No receipt: the page hangs, and something may have been done.
    Hangs,
}

/// The outcome of an applied action.
const fn applied(effect: AppliedEffect) -> Outcome {
    Outcome::Is(Receipt::Applied(effect))
}

/// The outcome of an action that was no longer the one judged.
const fn stale(cause: StaleCause) -> Outcome {
    Outcome::Is(Receipt::Stale(cause))
}

/// The outcome of an action that guard or policy refused.
const fn rejected(cause: RejectCause) -> Outcome {
    Outcome::Is(Receipt::Rejected(cause))
}

/// The outcome of a click that brought its document.
const NAVIGATED: Outcome = applied(AppliedEffect::Navigated);

/// What must hold for a look.
#[derive(Clone, Copy, Debug)]
pub enum Expect {
    /// The title.
    Title(&'static str),
    /// A part of the title.
    TitleHas(&'static str),
    /// The whole text.
    Reads(&'static str),
    /// A part of the text.
    Text(&'static str),
    /// What the text must not hold.
    NoText(&'static str),
    /// Every word of the page's file that begins with `SEEN-` is in the text.
    Marks,
    /// Exactly these labels, in order.
    Labels(&'static [&'static str]),
    /// A candidate with this label leads to this path.
    Leads(&'static str, &'static str),
    /// A candidate with this label stands under this context.
    Under(&'static str, &'static str),
    /// No candidate has this label.
    NoLabel(&'static str),
    /// So many candidates.
    Candidates(usize),
    /// The longest label has at most so many characters.
    LabelChars(usize),
    /// Path and query of the address.
    Path(&'static str),
    /// So many refused links.
    Refused(u32),
    /// At least so many candidates omitted.
    Omitted(u32),
    /// So many unreadable frames.
    Frames(u32),
    /// So many closed shadow trees.
    ShadowRoots(u32),
    /// At least so many bad nodes.
    BadNodes(u32),
    /// Whether it came to rest.
    Rest(Settled),
}

/// All cases.
#[must_use]
pub fn cases() -> Vec<&'static PageCase> {
    looks::CASES.iter().chain(acts::CASES).collect()
}
