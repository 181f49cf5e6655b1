//! One story for each status of a run: what the navigator asks for, what the world says, and how it
//! ends. The stories are kept under snapshot, to be read.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "clippy exempts functions that are tests, not their helpers"
)]

#[path = "stories/teller.rs"]
mod teller;

use std::time::Duration;

use jev_core::contract::{ContractDraft, Mode, VerifyFirst};
use jev_core::error::{AnswerFault, JudgeError, SessionError, Stage, VerifyError};
use jev_core::ports::Change;
use jev_core::receipt::{AppliedEffect, Receipt, RejectCause, StaleCause};
use jev_core::status::Status;
use teller::Says::{
    Cancels, Chooses, Closes, Finds, FindsNothing, JudgeFails, Loses, Opens, Receives, Shows,
    ShowsForeign, TimePasses, VerifierFails, Waits,
};
use teller::{Page, Says, tell};

const HELP: Page = Page::new(
    "http://help.test/",
    "How can we help?",
    &["Warranty", "Returns"],
);
const WARRANTY: Page = Page::new(
    "http://help.test/warranty",
    "The warranty lasts 24 months.",
    &[],
);
const RETURNS: Page = Page::new(
    "http://help.test/returns",
    "Returns take 14 days.",
    &["Warranty"],
);
const BUSY: Page = Page::new(
    "http://help.test/",
    "How can we help? Loading ...",
    &["Warranty", "Returns"],
);
const ELSEWHERE: Page = Page::new("http://evil.test/", "Free warranty!", &[]);
const NAVIGATED: Says = Receives(Receipt::Applied(AppliedEffect::Navigated));
const NO_EFFECT: Says = Receives(Receipt::Applied(AppliedEffect::NoEffect));
const STALE: Says = Receives(Receipt::Stale(StaleCause::TargetGone));
const COVERED: Says = Receives(Receipt::Rejected(RejectCause::Covered));
const ANSWER: Says = Finds("24 months");

/// A status, what differs from the ordinary contract, and what the world says in turn.
type Scenario = (&'static str, fn(&mut ContractDraft), &'static [Says]);

fn ordinary(_: &mut ContractDraft) {}

const SCENARIOS: [Scenario; 19] = [
    (
        "VERIFIED",
        ordinary,
        &[
            Opens,
            Shows(HELP),
            FindsNothing,
            Chooses("c1", 0.95),
            NAVIGATED,
            Shows(WARRANTY),
            ANSWER,
            Shows(WARRANTY),
            Closes,
        ],
    ),
    (
        "OBSERVED",
        |draft| draft.mode = Mode::Shadow,
        &[Opens, Shows(HELP), Chooses("c1", 0.95), Closes],
    ),
    (
        "UNVERIFIED",
        |draft| draft.limits.recoveries = 1,
        &[
            Opens,
            Shows(HELP),
            FindsNothing,
            Chooses("done", 0.99),
            Shows(HELP),
            FindsNothing,
            Chooses("done", 0.99),
            Shows(HELP),
            FindsNothing,
            Closes,
        ],
    ),
    (
        "VERIFICATION_STALE",
        |draft| draft.limits.stale = 1,
        &[
            Opens,
            Shows(WARRANTY),
            ANSWER,
            Shows(HELP),
            Finds("help"),
            Shows(BUSY.moved()),
            Closes,
        ],
    ),
    (
        "ABSTAIN",
        ordinary,
        &[Opens, Shows(HELP), FindsNothing, Chooses("c1", 0.6), Closes],
    ),
    (
        "BLOCKED",
        ordinary,
        &[
            Opens,
            Shows(HELP),
            FindsNothing,
            Chooses("blocked", 0.9),
            Shows(BUSY),
            FindsNothing,
            Chooses("blocked", 0.9),
            Shows(BUSY),
            Closes,
        ],
    ),
    (
        "REJECTED",
        |draft| draft.limits.recoveries = 1,
        &[
            Opens,
            Shows(HELP),
            FindsNothing,
            Chooses("c1", 0.95),
            COVERED,
            Shows(HELP),
            Chooses("c2", 0.95),
            COVERED,
            Shows(HELP),
            Closes,
        ],
    ),
    (
        "UNKNOWN",
        ordinary,
        &[
            Opens,
            Shows(HELP),
            FindsNothing,
            Chooses("c1", 0.95),
            Loses(SessionError::Crashed),
            Closes,
        ],
    ),
    (
        "STALE_LIMIT",
        |draft| draft.limits.stale = 1,
        &[
            Opens,
            Shows(HELP),
            FindsNothing,
            Chooses("c1", 0.95),
            STALE,
            Shows(BUSY),
            FindsNothing,
            Chooses("c1", 0.95),
            STALE,
            Shows(HELP),
            Closes,
        ],
    ),
    (
        "NO_PROGRESS",
        |draft| draft.limits.no_progress = 2,
        &[
            Opens,
            Shows(HELP),
            FindsNothing,
            Chooses("c1", 0.95),
            NO_EFFECT,
            Shows(HELP),
            Chooses("c2", 0.95),
            NO_EFFECT,
            Shows(HELP),
            Closes,
        ],
    ),
    (
        "STEP_LIMIT",
        |draft| draft.limits.steps = 1,
        &[
            Opens,
            Shows(HELP),
            FindsNothing,
            Chooses("c2", 0.95),
            NAVIGATED,
            Shows(RETURNS),
            FindsNothing,
            Closes,
        ],
    ),
    (
        "LOADING_TIMEOUT",
        |draft| draft.limits.waits = 2,
        &[
            Opens,
            Shows(BUSY),
            FindsNothing,
            Chooses("wait", 0.9),
            Waits(Change::None),
            Shows(BUSY),
            Chooses("wait", 0.9),
            TimePasses,
            Shows(BUSY),
            Closes,
        ],
    ),
    (
        "STATE_LIMIT",
        |draft| draft.limits.state_chars = 1_000,
        &[Opens, Shows(HELP), FindsNothing, Closes],
    ),
    (
        "TIMEOUT",
        |draft| draft.budget = Duration::from_secs(3),
        &[Opens, Shows(HELP), FindsNothing, TimePasses, Closes],
    ),
    (
        "JUDGE_ERROR",
        ordinary,
        &[
            Opens,
            Shows(HELP),
            FindsNothing,
            JudgeFails(JudgeError::Protocol {
                question: None,
                fault: AnswerFault::Sum,
            }),
            Closes,
        ],
    ),
    (
        "LEFT_SCOPE",
        ordinary,
        &[
            Opens,
            Shows(HELP),
            FindsNothing,
            Chooses("c1", 0.95),
            NAVIGATED,
            Shows(ELSEWHERE),
            Closes,
        ],
    ),
    (
        "SCOPE_MISMATCH",
        ordinary,
        &[Opens, ShowsForeign(HELP), Closes],
    ),
    (
        "SESSION_ERROR",
        |draft| draft.verify_first = VerifyFirst::Off,
        &[
            Opens,
            Shows(HELP),
            Chooses("c1", 0.95),
            NAVIGATED,
            Says::LookFails(SessionError::Hung {
                stage: Stage::Observe,
            }),
            Closes,
        ],
    ),
    (
        "CANCELLED",
        ordinary,
        &[
            Opens,
            Shows(HELP),
            FindsNothing,
            Chooses("c1", 0.95),
            NAVIGATED,
            Cancels,
            Shows(WARRANTY),
            TimePasses,
        ],
    ),
];

const FIVE_DAYS: Page = Page::new(
    "http://help.test/returns",
    "Returned within 5 days",
    &["Warranty"],
);
const FIFTEEN_DAYS: Page = Page::new(
    "http://help.test/returns",
    "Returned within 15 days",
    &["Warranty"],
);
const CLOCK_LATER: Page = Page::new(
    "http://help.test/warranty",
    "The warranty lasts 24 months. It is now 12:01.",
    &[],
);

/// What once went wrong, each as the shortest history that shows it.
const FOUND: [Scenario; 4] = [
    // The quote of the verdict also stands in words that mean something else.
    (
        "words around the evidence change",
        ordinary,
        &[
            Opens,
            Shows(FIVE_DAYS),
            Finds("5 days"),
            Shows(FIFTEEN_DAYS),
            FindsNothing,
            Chooses("c1", 0.6),
            Closes,
        ],
    ),
    (
        "a clock beside the evidence",
        |draft| draft.limits.stale = 0,
        &[
            Opens,
            Shows(WARRANTY),
            ANSWER,
            Shows(CLOCK_LATER),
            ANSWER,
            Closes,
        ],
    ),
    // An answer in front of us was thrown away because the verifier had failed once.
    (
        "the verifier failed before the judge abstained",
        ordinary,
        &[
            Opens,
            Shows(WARRANTY),
            VerifierFails(VerifyError::Timeout),
            Chooses("wait", 0.6),
            Shows(WARRANTY),
            ANSWER,
            Shows(WARRANTY),
            Closes,
        ],
    ),
    // A receipt that had arrived lost to a cancel.
    (
        "a cancel after the receipt",
        ordinary,
        &[
            Opens,
            Shows(HELP),
            FindsNothing,
            Chooses("c1", 0.95),
            NAVIGATED,
            Cancels,
            Closes,
        ],
    ),
];

#[test]
fn what_once_went_wrong_does_not_again() {
    for (name, differs, script) in FOUND {
        let (_, story) = tell(differs, script);
        insta::assert_snapshot!(name.replace(' ', "_"), story);
    }
}

#[test]
fn every_status_has_its_story() {
    let told = SCENARIOS.map(|(name, ..)| name);
    assert_eq!(told, Status::NAMES);
    for (name, differs, script) in SCENARIOS {
        let (status, story) = tell(differs, script);
        assert_eq!(status.name(), name, "{story}");
        insta::assert_snapshot!(name, story);
    }
}
