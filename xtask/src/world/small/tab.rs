//! The tab of the small world, everything that can stand in it, and every answer a judge can give.

use std::collections::HashMap;
use std::sync::Arc;

use jev_core::access::CanonicalUrl;
use jev_core::contract::Reach;
use jev_core::ids::{CandidateId, DocumentId, Scope};
use jev_core::ports::{CloseOutcome, CloseReport};
use jev_core::question::{Answer, ChoiceAnswer, Decision, Questionnaire, Stage as Asking};
use jev_core::snapshot::{
    Candidate, Omitted, Placement, Role, ScrollState, Settled, Snapshot, SnapshotParts,
};

use super::super::judge::options;

/// What the second page says.
pub(super) const ANSWER: &str = "This is the answer.";

/// The tab.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Tab {
    pub(super) page: u8,
    pub(super) flipped: bool,
    pub(super) document: u8,
}

/// Every page that can stand in the tab, made once.
pub(super) struct Pages {
    own: HashMap<Tab, Arc<Snapshot>>,
    pub(super) foreign: Arc<Snapshot>,
    pub(super) outside: Arc<Snapshot>,
}

impl Pages {
    pub(super) fn new(scope: &Scope) -> Self {
        let tabs = [0, 1].into_iter().flat_map(|page| {
            [0, 1].into_iter().flat_map(move |document| {
                [false, true].map(|flipped| Tab {
                    page,
                    flipped,
                    document,
                })
            })
        });
        let tab = Tab::default();
        Self {
            own: tabs
                .map(|tab| (tab, Arc::new(tab.look(None, scope))))
                .collect(),
            foreign: Arc::new(tab.look(None, &foreign(scope))),
            outside: Arc::new(tab.look(Some("http://large/"), scope)),
        }
    }

    pub(super) fn look(&self, tab: Tab) -> Arc<Snapshot> {
        self.own.get(&tab).unwrap_or(&self.outside).clone()
    }
}

impl Tab {
    pub(super) fn look(self, url: Option<&str>, scope: &Scope) -> Snapshot {
        let address = |page: u8| format!("http://small/{page}");
        let link = |index: u8, label: &str, page: u8| Candidate {
            id: CandidateId::new(format!("c{index}")),
            role: Role::Link,
            label: label.to_owned(),
            href: CanonicalUrl::parse(&address(page)).ok(),
            context: String::new(),
            placement: Placement::InView,
            guard: String::new(),
        };
        let text = match (self.page, self.flipped) {
            (0, _) => "Nothing here.",
            (_, false) => ANSWER,
            (_, true) => "It was here a moment ago.",
        };
        Snapshot::new(SnapshotParts {
            scope: scope.clone(),
            document: DocumentId::new(format!("d{}", self.document)),
            url: url.map_or_else(|| address(self.page), ToOwned::to_owned),
            title: format!("Page {}", self.page),
            text: text.to_owned(),
            candidates: vec![
                link(0, "Other", 1 - self.page),
                link(1, "Same", self.page),
                link(2, "Third", 2),
            ],
            scroll: ScrollState::default(),
            omitted: Omitted::default(),
            settled: Settled::Yes,
            reach: Reach::Document,
            http_status: Some(200),
        })
    }

    /// The answer comes and goes where it is; the other page has nothing to lose.
    pub(super) fn flips(&mut self) {
        self.flipped = self.page == 1 && !self.flipped;
    }

    pub(super) fn goes(&mut self) {
        self.page = 1 - self.page;
        self.flipped = false;
        self.reloads();
    }

    pub(super) fn reloads(&mut self) {
        // Two are enough to tell a document from the one before it.
        self.document = 1 - self.document;
    }
}

/// Every answer the judge may give: sure of each option of each question, not sure, and not lawful.
/// Beside a target question, an operation is chosen with the first target, which has no power.
pub(super) fn decisions(asked: &Questionnaire) -> Vec<(String, Decision)> {
    let heads = asked.questions.len();
    let sizes: Vec<usize> = (0..heads)
        .map(|number| options(asked, number).len())
        .collect();
    let mut all = Vec::new();
    for (number, size) in sizes.iter().enumerate() {
        // In a question over operations, the first one is the click, which the targets stand for.
        let from = usize::from(asked.stage == Asking::Decide && number + 1 < heads);
        for place in from..*size {
            let places = (0..heads).map(|head| if head == number { place } else { 0 });
            let name = options(asked, number)
                .get(place)
                .map_or_else(String::new, |option| format!("chooses {}", option.name));
            all.push((name, sure(&sizes, places, 1.0)));
        }
    }
    let first = || (0..heads).map(|_| 0);
    all.push(("doubts".to_owned(), sure(&sizes, first(), 0.4)));
    let longer: Vec<usize> = sizes.iter().map(|size| size + 1).collect();
    all.push(("babbles".to_owned(), sure(&longer, first(), 1.0)));
    all
}

pub(super) fn sure(sizes: &[usize], places: impl Iterator<Item = usize>, p: f64) -> Decision {
    let answers = sizes
        .iter()
        .zip(places)
        .map(|(&size, place)| {
            let rest = (1.0 - p) / size.saturating_sub(1).max(1) as f64;
            let p = (0..size).map(|index| if index == place { p } else { rest });
            Answer::Choice(ChoiceAnswer::plain(p.collect()))
        })
        .collect();
    Decision {
        answers,
        attempts: 1,
        ..Decision::default()
    }
}

pub(super) fn closed() -> CloseReport {
    CloseOutcome::Clean.into()
}

pub(super) fn foreign(scope: &Scope) -> Scope {
    Scope::new("someone else", scope.session(), scope.tab()).unwrap_or_else(|_| scope.clone())
}
