//! The site: a handful of pages that link to each other, some long, some slow, one with the answer.

use std::collections::VecDeque;
use std::sync::OnceLock;

use jev_core::access::CanonicalUrl;
use jev_core::contract::Reach;
use jev_core::ids::{CandidateId, DocumentId, Scope};
use jev_core::policy::{ActionPolicy, Discovery};
use jev_core::snapshot::{
    Candidate, Omitted, Placement, Role, ScrollState, Settled, Snapshot, SnapshotParts,
};

use super::chance::Chance;
use super::mix::{Fault, Mix};

/// A word of every page, address, label, goal and scope. No telemetry may hold it (S16).
pub const MARK: &str = "quokka";
/// What every contract allows.
pub const ALLOWED: &str = "http://site/quokka/*";
/// The sentence that answers the goal.
pub const ANSWER: &str = "The quokka warranty lasts 24 months.";
/// Addresses that are not allowed, most of them near one that is.
const OUTSIDE: [&str; 6] = [
    "http://elsewhere/quokka/",
    "https://site/quokka/1",
    "http://site:81/quokka/1",
    "http://site.elsewhere/quokka/1",
    "http://site/quokka/%2e%2e/secret",
    "http://site/quokk",
];
/// Where a page stands that has left the allowed addresses, as the browser says it. No link can
/// lead to the last three.
const LEFT: [&str; 6] = [
    "http://elsewhere/quokka/",
    "https://site/quokka/1",
    "http://site/quokka/../secret",
    "http://quokka@site/quokka/1",
    "about:blank",
    "data:text/html,quokka",
];
/// Most pages of a site.
const PAGES: usize = 6;
/// The height of one window.
const WINDOW: u32 = 800;

/// The address of a page.
pub fn address(page: usize) -> String {
    format!("http://site/{MARK}/{page}")
}

/// Whether the host allows an address of this world or of the small one. Told by its text: the code
/// that is tried out is not asked.
pub fn is_inside(url: &str) -> bool {
    let page = ["http://site/quokka/", "http://small/"]
        .iter()
        .find_map(|start| url.strip_prefix(start));
    page.is_some_and(|page| page.len() == 1 && page.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether the host allows the judge a control, as whoever wrote the pages and the policies knows.
pub fn is_permitted(candidate: &Candidate, actions: &ActionPolicy) -> bool {
    let (named, discovers) = (
        !actions.allow.is_empty(),
        actions.discover == Discovery::LowRisk,
    );
    match (candidate.role, candidate.label.as_str()) {
        (Role::Link, _) => candidate
            .href
            .as_ref()
            .is_some_and(|href| is_inside(href.as_str())),
        (Role::Button, "Show details" | "More details") => named,
        (Role::Tab, "Overview") => discovers,
        (
            Role::Button
            | Role::Tab
            | Role::MenuItem
            | Role::Switch
            | Role::ScrollAreaDown
            | Role::ScrollAreaUp,
            _,
        ) => false,
    }
}

fn addresses() -> &'static [Option<CanonicalUrl>] {
    static ADDRESSES: OnceLock<Vec<Option<CanonicalUrl>>> = OnceLock::new();
    ADDRESSES.get_or_init(|| {
        (0..PAGES)
            .map(address)
            .chain(OUTSIDE.map(str::to_owned))
            .map(|text| CanonicalUrl::parse(&text).ok())
            .collect()
    })
}

/// Where a control leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leads {
    /// To a page.
    Page(usize),
    /// To an address that is not allowed.
    Elsewhere,
    /// It shows the answer.
    Reveals,
    /// Nowhere.
    Nowhere,
}

#[derive(Clone, Debug)]
struct Control {
    label: String,
    leads: Leads,
    fold: u32,
    role: Role,
}

#[derive(Clone, Debug, Default)]
struct Page {
    controls: Vec<Control>,
    folds: u32,
    /// In which fold the answer stands.
    answer: Option<u32>,
    /// Whether a control must be pressed before the answer shows.
    hidden: bool,
    /// How many waits until the page has loaded.
    loading: u32,
}

/// A site and the one tab on it.
#[derive(Clone, Debug)]
pub struct Site {
    pages: Vec<Page>,
    at: usize,
    elsewhere: bool,
    document: u32,
    fold: u32,
    ticks: u32,
    revealed: bool,
    vanished: bool,
    back: Vec<usize>,
    reach: Reach,
    scope: Scope,
}

/// What a person who knows the site would do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Click the control of this label and address.
    Click(String, Option<CanonicalUrl>),
    /// Scroll down.
    Down,
    /// Scroll up.
    Up,
    /// Wait.
    Wait,
    /// The answer is in view.
    Done,
    /// There is no way.
    Blocked,
}

impl Site {
    /// Draws a site. The answer can be reached from every page of the chain 0, 1, 2, ...
    pub fn draw(chance: &mut Chance, reach: Reach, scope: Scope) -> Self {
        let count = 2 + chance.below(PAGES as u32 - 1) as usize;
        let answer = count - 1 - (chance.below(8) / 7) as usize;
        let mut pages: Vec<Page> = Vec::with_capacity(count);
        for number in 0..count {
            let mut page = Page {
                folds: 1 + chance.below(3),
                ..Page::default()
            };
            if chance.below(6) == 5 {
                page.loading = 1 + chance.below(2);
            }
            for index in 0..chance.below(5) as usize {
                page.draw_control(chance, count, index);
            }
            if number == answer {
                page.answer = Some(chance.below(page.folds));
                page.hidden = chance.below(6) == 5;
                if page.hidden {
                    let fold = chance.below(page.folds);
                    page.controls
                        .push(control("Show details", Leads::Reveals, fold));
                }
            } else if number < answer {
                let fold = chance.below(page.folds);
                let label = format!("Next {MARK} chapter");
                page.controls
                    .push(control(&label, Leads::Page(number + 1), fold));
            } else {
                // Beside the chain: one link back onto it.
                page.controls.push(control("Contents", Leads::Page(0), 0));
            }
            pages.push(page);
        }
        Self {
            pages,
            at: 0,
            elsewhere: false,
            document: 1,
            fold: 0,
            ticks: 0,
            revealed: false,
            vanished: false,
            back: Vec::new(),
            reach,
            scope,
        }
    }

    /// What the page does by itself before it is looked at.
    pub fn stir(&mut self, chance: &mut Chance, mix: &Mix) {
        if chance.hits(mix.rate(Fault::Ticks)) {
            self.ticks += 1;
        }
        if chance.hits(mix.rate(Fault::Reloads)) {
            self.document += 1;
        }
        self.vanished = chance.hits(mix.rate(Fault::Vanishes));
        if chance.hits(mix.rate(Fault::Navigates)) {
            let page = chance.below(self.pages.len() as u32) as usize;
            self.go(page);
        }
        if chance.hits(mix.rate(Fault::Leaves)) {
            self.elsewhere = true;
            self.document += 1;
        } else if self.elsewhere {
            self.elsewhere = false;
            self.document += 1;
        }
    }

    fn go(&mut self, page: usize) {
        self.at = page;
        self.fold = 0;
        self.revealed = false;
        self.document += 1;
    }

    /// The document in the tab.
    pub fn document(&self) -> DocumentId {
        DocumentId::new(format!("d{}", self.document))
    }

    /// Follows a control of the page in the tab; what it led to.
    pub fn press(&mut self, id: &CandidateId) -> Option<Leads> {
        let index: usize = id.as_str().rsplit('-').next()?.parse().ok()?;
        let leads = self.pages.get(self.at)?.controls.get(index)?.leads;
        match leads {
            Leads::Page(page) => {
                self.back.push(self.at);
                self.go(page);
            }
            Leads::Reveals => self.revealed = true,
            Leads::Elsewhere | Leads::Nowhere => {}
        }
        Some(leads)
    }

    /// Goes back; whether there was a page to go to.
    pub fn go_back(&mut self) -> bool {
        match self.back.pop() {
            Some(page) => {
                self.go(page);
                true
            }
            None => false,
        }
    }

    /// The host goes to a page by its own hand.
    pub fn host_goes(&mut self, chance: &mut Chance) {
        let page = chance.below(self.pages.len() as u32) as usize;
        self.go(page);
    }

    /// Loads the page again.
    pub fn reload(&mut self) {
        self.go(self.at);
    }

    /// Scrolls by windows; whether the window moved.
    pub fn scroll(&mut self, by: i64) -> bool {
        let last = self.page().map_or(0, |page| i64::from(page.folds) - 1);
        let to = (i64::from(self.fold) + by).clamp(0, last.max(0)) as u32;
        let moved = to != self.fold;
        self.fold = to;
        moved
    }

    /// Time passes on a page that is loading; whether something was seen to change.
    pub fn load(&mut self) -> bool {
        match self.pages.get_mut(self.at) {
            Some(page) if page.loading > 0 => {
                page.loading -= 1;
                true
            }
            Some(_) | None => false,
        }
    }

    fn page(&self) -> Option<&Page> {
        self.pages.get(self.at)
    }

    fn in_view(&self, fold: u32) -> bool {
        match self.reach {
            Reach::Document => true,
            Reach::Viewport => fold == self.fold,
        }
    }

    fn shows_answer(&self) -> bool {
        self.page().is_some_and(|page| {
            page.loading == 0
                && !self.vanished
                && !self.elsewhere
                && (!page.hidden || self.revealed)
                && page.answer.is_some_and(|fold| self.in_view(fold))
        })
    }

    /// Looks at the page.
    pub fn look(&self, settled: Settled) -> Snapshot {
        let empty = Page::default();
        let page = self.page().unwrap_or(&empty);
        let mut text = format!("Chapter {} of the {MARK} manual.\n", self.at);
        if page.loading > 0 {
            text.push_str("Loading\n");
        }
        if self.ticks > 0 {
            text.push_str(&format!("Seen {} times.\n", self.ticks));
        }
        for fold in (0..page.folds).filter(|&fold| self.in_view(fold)) {
            text.push_str(&format!("Part {fold} of {}.\n", page.folds));
        }
        if self.shows_answer() {
            text.push_str(ANSWER);
        }
        let candidates = if page.loading > 0 {
            Vec::new()
        } else {
            page.controls
                .iter()
                .enumerate()
                .filter(|(_, control)| self.in_view(control.fold))
                .map(|(index, control)| self.candidate(index, control))
                .collect()
        };
        let last = page.folds.saturating_sub(1);
        Snapshot::new(SnapshotParts {
            scope: self.scope.clone(),
            document: self.document(),
            url: if self.elsewhere {
                let place = self.document as usize % LEFT.len();
                LEFT.get(place).copied().unwrap_or_default().to_owned()
            } else {
                address(self.at)
            },
            title: format!("The {MARK} manual, {}", self.at),
            text,
            candidates,
            scroll: ScrollState {
                offset: self.fold * WINDOW,
                below: (last - self.fold.min(last)) * WINDOW,
            },
            omitted: Omitted::default(),
            settled,
            reach: self.reach,
            http_status: Some(200),
        })
    }

    fn candidate(&self, index: usize, control: &Control) -> Candidate {
        let place = match control.leads {
            Leads::Page(page) => Some(page),
            Leads::Elsewhere => Some(PAGES + index % OUTSIDE.len()),
            Leads::Reveals | Leads::Nowhere => None,
        };
        Candidate {
            id: CandidateId::new(format!("c{}-{index}", self.document)),
            role: control.role,
            label: control.label.clone(),
            href: place.and_then(|place| addresses().get(place).cloned().flatten()),
            context: String::new(),
            placement: Placement::InView,
            guard: String::new(),
        }
    }

    /// What leads to the answer from here.
    pub fn next(&self) -> Next {
        let Some(page) = self.page() else {
            return Next::Blocked;
        };
        if self.shows_answer() {
            return Next::Done;
        }
        if page.loading > 0 {
            return Next::Wait;
        }
        let wanted = if page.answer.is_some() {
            if page.hidden && !self.revealed {
                page.controls
                    .iter()
                    .find(|control| control.leads == Leads::Reveals)
            } else {
                return self.towards(page.answer.unwrap_or(0));
            }
        } else {
            self.hop().and_then(|target| {
                let mut ways = page.controls.iter();
                ways.find(|control| control.leads == Leads::Page(target))
            })
        };
        match wanted {
            None => Next::Blocked,
            Some(control) if self.in_view(control.fold) => {
                let candidate = self.candidate(0, control);
                Next::Click(candidate.label, candidate.href)
            }
            Some(control) => self.towards(control.fold),
        }
    }

    fn towards(&self, fold: u32) -> Next {
        match fold.cmp(&self.fold) {
            std::cmp::Ordering::Greater => Next::Down,
            std::cmp::Ordering::Less => Next::Up,
            // Already there, and the answer is gone for the moment.
            std::cmp::Ordering::Equal => Next::Wait,
        }
    }

    /// The next page on a shortest way to the answer.
    fn hop(&self) -> Option<usize> {
        let mut from: Vec<Option<usize>> = vec![None; self.pages.len()];
        let mut queue = VecDeque::from([self.at]);
        while let Some(number) = queue.pop_front() {
            let page = self.pages.get(number)?;
            if page.answer.is_some() {
                let mut step = number;
                while let Some(Some(before)) = from.get(step).copied() {
                    if before == self.at {
                        return Some(step);
                    }
                    step = before;
                }
                return None;
            }
            for control in &page.controls {
                if let Leads::Page(target) = control.leads
                    && target != self.at
                    && from.get(target) == Some(&None)
                {
                    if let Some(slot) = from.get_mut(target) {
                        *slot = Some(number);
                    }
                    queue.push_back(target);
                }
            }
        }
        None
    }
}

impl Page {
    fn draw_control(&mut self, chance: &mut Chance, pages: usize, index: usize) {
        let fold = chance.below(self.folds);
        let page = chance.below(pages as u32) as usize;
        self.controls.push(match chance.below(12) {
            0..=4 => control(&format!("{MARK} part {index}"), Leads::Page(page), fold),
            5 => control("Contents", Leads::Page(0), fold),
            6 => control("Partner site", Leads::Elsewhere, fold),
            7 => control("Delete details", Leads::Nowhere, fold),
            8 => control("More details", Leads::Nowhere, fold),
            9 => control("Pay details", Leads::Nowhere, fold),
            10 => Control {
                role: Role::Tab,
                ..control("Overview", Leads::Nowhere, fold)
            },
            _ => Control {
                role: Role::MenuItem,
                ..control("Sign out", Leads::Nowhere, fold)
            },
        });
    }
}

fn control(label: &str, leads: Leads, fold: u32) -> Control {
    Control {
        label: label.to_owned(),
        leads,
        fold,
        role: match leads {
            Leads::Page(_) | Leads::Elsewhere => Role::Link,
            Leads::Reveals | Leads::Nowhere => Role::Button,
        },
    }
}
