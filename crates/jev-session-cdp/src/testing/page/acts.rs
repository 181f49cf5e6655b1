//! The part of the table that is about acting.

use jev_core::receipt::{AppliedEffect, RejectCause, StaleCause};
use jev_core::snapshot::Settled;

use super::Expect::{Candidates, Labels, Leads, NoText, Path, Refused, Rest, Text, Title};
use super::Step::{Back, Change, Click, Crashes, Down, Look, LookUntil};
use super::{NAVIGATED, Outcome, PageCase, applied, rejected, stale};

/// What becomes of actions.
pub const CASES: &[PageCase] = &[
    PageCase::new(
        "overlay",
        "an overlay between look and click: refused, nothing clicked",
        &[
            Look(&[Labels(&["To the goal", "Other"])]),
            Change,
            Click("To the goal", rejected(RejectCause::Covered)),
            Look(&[Title("Overlay")]),
        ],
    ),
    PageCase::new(
        "href_swapped",
        "an address that changed after the look: stale",
        &[
            Look(&[Leads("To the goal", "/goal")]),
            Change,
            Click("To the goal", stale(StaleCause::TargetChanged)),
            Look(&[Leads("To the goal", "/trap")]),
        ],
    ),
    PageCase::new(
        "names_swapped",
        "names that were swapped after the look: stale",
        &[
            Look(&[Leads("To the goal", "/goal")]),
            Change,
            Click("To the goal", stale(StaleCause::TargetChanged)),
            Look(&[Title("Swapped")]),
        ],
    ),
    PageCase::new(
        "twin",
        "a node replaced by its twin is another node",
        &[
            Look(&[Labels(&["To the goal"])]),
            Change,
            Click("To the goal", stale(StaleCause::TargetGone)),
            Look(&[Labels(&["To the goal"])]),
            Click("To the goal", NAVIGATED),
        ],
    ),
    PageCase::new(
        "moving",
        "a link that moves is clicked where it is",
        &[
            Look(&[Labels(&["To the goal"])]),
            Click("To the goal", NAVIGATED),
            Look(&[Title("Goal")]),
        ],
    ),
    PageCase::new(
        "same_names",
        "one entry for one label and address, two for two addresses",
        &[
            Look(&[Labels(&["To the goal", "More", "More"])]),
            Click("To the goal", NAVIGATED),
            Look(&[Path("/goal")]),
        ],
    ),
    PageCase::new(
        "wrapped",
        "a link over two lines is hit at one of them",
        &[
            Look(&[Labels(&["To the goal by a link over lines"])]),
            Click("To the goal by a link over lines", NAVIGATED),
        ],
    ),
    PageCase::new(
        "loop_in_click",
        "a click handler that never ends leaves the outcome unknown",
        &[
            Look(&[Labels(&["To the goal"])]),
            Click("To the goal", Outcome::Hangs),
        ],
    ),
    PageCase::new(
        "single_page",
        "a view of the same document",
        &[
            Look(&[Text("first view")]),
            Click("Second", applied(AppliedEffect::SameDocument)),
            Look(&[Text("SEEN second view"), Path("/page/second-view")]),
        ],
    ),
    PageCase::new(
        "slow_router",
        "a view that is fetched first",
        &[
            Look(&[Text("first view")]),
            Click("Second", applied(AppliedEffect::SameDocument)),
            Look(&[Text("SEEN second view"), Path("/page/second-view")]),
        ],
    ),
    PageCase::new(
        "new_window",
        "a link for a new window is followed in this one",
        &[
            Look(&[Labels(&["To the goal", "Other"])]),
            Click("To the goal", NAVIGATED),
            Look(&[Title("Goal")]),
        ],
    ),
    PageCase::new(
        "attachment",
        "a link that turns out a download ends as refused",
        &[
            Look(&[Labels(&["File", "Octets"])]),
            Click("File", applied(AppliedEffect::DestinationRefused)),
            Look(&[Title("Attachment")]),
            Click("Octets", applied(AppliedEffect::DestinationRefused)),
            Look(&[Title("Attachment")]),
        ],
    ),
    PageCase::new(
        "forms",
        "controls that hand a form over are never offered, others by name",
        &[
            Look(&[
                Labels(&["Sneak", "Sneak two", "Show more", "Only new", "Second tab"]),
                NoText("SEEN more"),
                Refused(4),
            ]),
            Click("Show more", applied(AppliedEffect::Changed)),
            Look(&[Text("SEEN more")]),
            Click("Only new", applied(AppliedEffect::Changed)),
            Look(&[]),
            Click("Second tab", applied(AppliedEffect::Changed)),
            Look(&[]),
            Click("Sneak", rejected(RejectCause::Diverted)),
            Look(&[]),
            Click("Sneak two", rejected(RejectCause::Diverted)),
            Look(&[Title("Forms")]),
        ],
    )
    .with_controls(&[
        "Sneak",
        "Sneak two",
        "Show more",
        "Only new",
        "Second tab",
        "Order",
        "Submit",
        "Picture",
        "Search",
        "Off",
        "Also off",
    ]),
    PageCase::new(
        "forms",
        "no control is offered unless the host allows it",
        &[Look(&[Candidates(0)])],
    ),
    PageCase::new(
        "diverted",
        "a handler that leads elsewhere is stopped before anything leaves",
        &[
            Look(&[Labels(&["To the goal"])]),
            Click("To the goal", rejected(RejectCause::Diverted)),
            Look(&[Title("Diverted")]),
        ],
    ),
    PageCase::new(
        "diverted_later",
        "the same a moment later",
        &[
            Look(&[Labels(&["To the goal"])]),
            Click("To the goal", rejected(RejectCause::Diverted)),
            Look(&[Title("Diverted later")]),
        ],
    ),
    PageCase::new(
        "diverted_much_later",
        "the same after something was fetched first",
        &[
            Look(&[Labels(&["To the goal"])]),
            Click("To the goal", applied(AppliedEffect::DestinationRefused)),
            Look(&[Title("Diverted much later")]),
        ],
    ),
    PageCase::new(
        "diverted_again",
        "the same tried again after it was stopped",
        &[
            Look(&[Labels(&["To the goal"])]),
            Click("To the goal", rejected(RejectCause::Diverted)),
            LookUntil(&[Title("Diverted again"), Text("SEEN over")]),
        ],
    ),
    PageCase::new(
        "diverted_after_change",
        "the same after the page has changed",
        &[
            Look(&[Labels(&["To the goal"])]),
            Click("To the goal", applied(AppliedEffect::Changed)),
            LookUntil(&[Title("Diverted after a change"), Text("SEEN over")]),
        ],
    ),
    PageCase::new(
        "diverted_after_nothing",
        "the same after nothing came for a while",
        &[
            Look(&[Labels(&["To the goal"])]),
            Click("To the goal", applied(AppliedEffect::NoEffect)),
            LookUntil(&[Title("Diverted after nothing"), Text("SEEN over")]),
        ],
    ),
    PageCase::new(
        "diverted_sent",
        "a click that asked for something before it was stopped was carried out",
        &[
            Look(&[Labels(&["To the goal"])]),
            Click("To the goal", applied(AppliedEffect::DestinationRefused)),
            Look(&[Title("Diverted, sent")]),
        ],
    ),
    PageCase::new(
        "rewritten",
        "the same in a document that was opened anew, which ends all listening",
        &[
            Look(&[Text("SEEN first")]),
            Change,
            Look(&[Text("SEEN second"), Labels(&["To the goal"])]),
            Click("To the goal", rejected(RejectCause::Diverted)),
            Look(&[Text("SEEN second")]),
        ],
    ),
    PageCase::new(
        "moved_then_left",
        "an address changed in the click is not where the click led",
        &[
            Look(&[Labels(&["To the goal", "Named"])]),
            Click("To the goal", applied(AppliedEffect::DestinationRefused)),
            Look(&[Title("Moved, then left")]),
            Click("Named", applied(AppliedEffect::DestinationRefused)),
            Look(&[Title("Moved, then left")]),
        ],
    ),
    PageCase::new(
        "moved_elsewhere",
        "a view under another address than the link's is not where it leads",
        &[
            Look(&[Text("SEEN first")]),
            Click("To the goal", applied(AppliedEffect::DestinationRefused)),
            Look(&[Text("SEEN second")]),
        ],
    ),
    PageCase::new(
        "back_moved",
        "an address that moved makes going back and scrolling stale",
        &[
            Look(&[Labels(&["Next"])]),
            Click("Next", NAVIGATED),
            Look(&[Path("?next")]),
            Change,
            Back(stale(StaleCause::Url)),
            Down(1, stale(StaleCause::Url)),
            Look(&[Path("?moved")]),
            Back(applied(AppliedEffect::SameDocument)),
            Look(&[Path("?next")]),
            Back(NAVIGATED),
            Look(&[Path("/page/back_moved")]),
        ],
    ),
    PageCase::new(
        "form_by_button",
        "a form that only asks, handed over by another control, is stopped",
        &[
            Look(&[Labels(&["Show more", "In a tree", "Gone"])]),
            Click("Show more", rejected(RejectCause::Diverted)),
            Look(&[]),
            Click("In a tree", rejected(RejectCause::Diverted)),
            Look(&[]),
            Click("Gone", rejected(RejectCause::Diverted)),
            Look(&[Title("Form by a button")]),
        ],
    )
    .with_controls(&["Show more", "In a tree", "Gone"]),
    PageCase::new(
        "diverted_by_forgery",
        "events that the page made itself end nothing",
        &[
            Look(&[Labels(&["To the goal"])]),
            Click("To the goal", rejected(RejectCause::Diverted)),
            Look(&[Title("Diverted by forgery")]),
        ],
    ),
    PageCase::new(
        "slow_link",
        "a handler that fetches first and then leads where the link says",
        &[
            Look(&[Labels(&["To the goal"])]),
            Click("To the goal", NAVIGATED),
            Look(&[Title("Goal")]),
        ],
    ),
    PageCase::new(
        "diverted_by_mousedown",
        "an address exchanged within the click itself",
        &[
            Look(&[Labels(&["To the goal"])]),
            Click("To the goal", rejected(RejectCause::Diverted)),
            Look(&[Title("Diverted in capture")]),
        ],
    ),
    PageCase::new(
        "form_in_click",
        "a form handed over by a handler is stopped",
        &[
            Look(&[Labels(&["To the goal"])]),
            Click("To the goal", rejected(RejectCause::Diverted)),
            Look(&[Title("Form in click")]),
        ],
    ),
    PageCase::new(
        "redirected_out",
        "a redirect off the list is refused and the page stays; one inside is followed",
        &[
            Look(&[Labels(&["To the goal", "Inside", "Nothing"])]),
            Click("To the goal", applied(AppliedEffect::DestinationRefused)),
            Look(&[Title("Redirected out")]),
            Click("Nothing", applied(AppliedEffect::DestinationFailed)),
            Look(&[Title("Redirected out")]),
            Click("Inside", NAVIGATED),
            Look(&[Title("Goal"), Path("/goal")]),
        ],
    ),
    PageCase::new(
        "modal",
        "what lies behind a modal dialog is not offered",
        &[
            Look(&[Text("SEEN modal"), Labels(&["To the goal"])]),
            Click("To the goal", NAVIGATED),
        ],
    ),
    PageCase::new(
        "far_below",
        "a link far below is scrolled to, past what sticks",
        &[
            Look(&[Labels(&["To the goal"])]),
            Click("To the goal", NAVIGATED),
        ],
    ),
    PageCase::new(
        "inner_scroller",
        "a page that scrolls inside a box of its own",
        &[
            Look(&[Text("SEEN top"), Labels(&[])]),
            Down(5, applied(AppliedEffect::Scrolled)),
            Look(&[Labels(&["To the goal"])]),
            Click("To the goal", NAVIGATED),
        ],
    )
    .in_window(),
    PageCase::new(
        "disabled",
        "what is disabled or inert is not offered; what became so is stale",
        &[
            Look(&[Labels(&["To the goal"])]),
            Change,
            Click("To the goal", stale(StaleCause::TargetChanged)),
        ],
    ),
    PageCase::new(
        "stolen_clicks",
        "windows, beacons and posts on the side of a click never leave",
        &[
            Look(&[Labels(&["To the goal"])]),
            Click("To the goal", NAVIGATED),
            Look(&[Title("Goal")]),
        ],
    ),
    PageCase::new(
        "heavy",
        "what is too large, endless or too slow fails in time and the page stays",
        &[
            Look(&[Text("SEEN all the same")]),
            Click("Huge", applied(AppliedEffect::DestinationFailed)),
            Look(&[Title("Heavy")]),
            Click("Endless", applied(AppliedEffect::DestinationFailed)),
            Look(&[Title("Heavy")]),
            Click("Dribble", applied(AppliedEffect::DestinationFailed)),
            Look(&[Title("Heavy")]),
            Click("To the goal", NAVIGATED),
            Look(&[Title("Goal")]),
        ],
    ),
    PageCase::new(
        "hanging",
        "what a page asks for and never gets keeps nobody on it, nor the next page busy",
        &[
            Look(&[Rest(Settled::No), Labels(&["To the goal"])]),
            Click("To the goal", NAVIGATED),
            Look(&[Title("Goal"), Rest(Settled::Yes)]),
            Look(&[Title("Goal"), Rest(Settled::Yes)]),
        ],
    ),
    PageCase::new(
        "hanging",
        "what the page itself gives up is over",
        &[
            Look(&[Rest(Settled::No)]),
            Change,
            Look(&[Text("SEEN given up"), Rest(Settled::Yes)]),
        ],
    ),
    PageCase::new(
        "crashing",
        "a tab that dies is told as such, and the session still closes",
        &[Look(&[Text("SEEN before")]), Crashes("To the goal")],
    ),
];
