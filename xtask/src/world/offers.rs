//! Offers: what may be offered to a judge on a page, and what may not be offered again.

use std::hash::{DefaultHasher, Hash, Hasher};

use jev_core::action::{Action, Operation};
use jev_core::asking::Ask;
use jev_core::contract::Contract;
use jev_core::ids::{CandidateId, DocumentId, IntentId, PageVersion};
use jev_core::policy::Permission;
use jev_core::question::Stage;
use jev_core::receipt::{AppliedEffect, Receipt};
use jev_core::snapshot::{Candidate, Role, Snapshot};

use super::site::is_permitted;

/// What an action is: its operation, the target's name, and where it leads.
type Tried = (Operation, String, Option<String>);

/// The action under way: on which content, where the window stood, and in which document.
#[derive(Clone, Debug, Hash)]
struct Acting {
    version: PageVersion,
    offset: u32,
    document: DocumentId,
    tried: Tried,
}

/// What was tried in a run, and what came of it.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    acting: Option<Acting>,
    after_action: bool,
    refused: Vec<(DocumentId, Tried)>,
    without_effect: Vec<(PageVersion, Tried)>,
    /// Actions after which the content was the same, wherever the window stood: they may count as
    /// without effect.
    same_content: Vec<(PageVersion, Tried)>,
    /// Actions that led nowhere, and the addresses of those that have one.
    dead_ends: Vec<Tried>,
    dead: Vec<String>,
    /// Actions whose outcome is not known, in this run or an earlier one of the tab.
    unknown: Vec<Tried>,
    /// How many entries the tab's history holds that were made through the navigator.
    depth: u32,
}

impl Memory {
    /// An action is dispatched.
    pub fn acts(&mut self, page: &Snapshot, operation: Operation, target: Option<&Candidate>) {
        self.acting = Some(Acting {
            version: page.version().clone(),
            offset: page.scroll.offset,
            document: page.document.clone(),
            tried: tried_of(operation, target),
        });
    }

    /// What is or was dispatched last.
    pub fn operation(&self) -> Option<Operation> {
        self.acting.as_ref().map(|acting| acting.tried.0)
    }

    /// What the next run on the same tab has to respect.
    pub fn carried(&self) -> Self {
        Self {
            acting: None,
            after_action: false,
            ..self.clone()
        }
    }

    /// The host changed something by its own hand. What may have been done stays so.
    pub fn host_acted(&mut self) {
        self.refused.clear();
        self.without_effect.clear();
        self.same_content.clear();
        self.depth = 0;
    }

    /// The outcome of the last action will never be known.
    pub fn is_unknown(&mut self) {
        self.unknown
            .extend(self.acting.as_ref().map(|acting| acting.tried.clone()));
    }

    /// A digest of it all. The last action counts only until its outcome has been looked at.
    pub fn digest(&self, in_flight: Option<IntentId>) -> u64 {
        let mut hasher = DefaultHasher::new();
        let into = &mut hasher;
        self.after_action.hash(into);
        sorted(&self.refused).hash(into);
        sorted(&self.without_effect).hash(into);
        sorted(&self.same_content).hash(into);
        sorted(&self.dead).hash(into);
        sorted(&self.dead_ends).hash(into);
        sorted(&self.unknown).hash(into);
        self.depth.hash(into);
        if in_flight.is_some() || self.after_action {
            self.acting.hash(into);
        }
        hasher.finish()
    }

    /// A receipt came.
    pub fn received(&mut self, receipt: Receipt) {
        let Some(Acting {
            document, tried, ..
        }) = &self.acting
        else {
            return;
        };
        match receipt {
            Receipt::Rejected(_) => self.refused.push((document.clone(), tried.clone())),
            Receipt::Applied(effect) => {
                self.after_action = true;
                let moved = matches!(
                    effect,
                    AppliedEffect::Navigated | AppliedEffect::SameDocument
                );
                if moved && tried.0 == Operation::Back {
                    self.depth = self.depth.saturating_sub(1);
                } else if moved && tried.0 != Operation::Reload {
                    self.depth += 1;
                }
                if matches!(
                    effect,
                    AppliedEffect::DestinationRefused | AppliedEffect::DestinationFailed
                ) {
                    self.dead.extend(tried.2.clone());
                    self.dead_ends.push(tried.clone());
                }
            }
            Receipt::Stale(_) | Receipt::Unknown(_) => {}
        }
    }

    /// The page was looked at.
    pub fn looked(&mut self, page: &Snapshot) {
        if !std::mem::take(&mut self.after_action) {
            return;
        }
        if let Some(acting) = &self.acting
            && acting.version == *page.version()
        {
            let tried = (acting.version.clone(), acting.tried.clone());
            if acting.offset == page.scroll.offset {
                self.without_effect.push(tried.clone());
            }
            self.same_content.push(tried);
        }
    }

    /// Whether an action may not be offered on a page any more.
    fn is_spent(&self, page: &Snapshot, tried: &Tried) -> bool {
        let dead = |href: &String| self.dead.contains(href);
        self.unknown.contains(tried)
            || self.dead_ends.contains(tried)
            || tried.2.as_ref().is_some_and(dead)
            || (!self.refused.is_empty()
                && self
                    .refused
                    .contains(&(page.document.clone(), tried.clone())))
            || (!self.without_effect.is_empty()
                && self
                    .without_effect
                    .contains(&(page.version().clone(), tried.clone())))
    }

    /// What is wrong with an offer.
    pub fn bad_offer(&self, contract: &Contract, ask: &Ask) -> Option<&'static str> {
        let page = ask.snapshot();
        let actions = &contract.actions;
        let nothing_spent = self.refused.is_empty()
            && self.without_effect.is_empty()
            && self.dead_ends.is_empty()
            && self.unknown.is_empty();
        for candidate in ask.candidates() {
            if !is_permitted(candidate, actions) {
                return Some("a target is offered that the host does not allow");
            }
            let same = |other: &&Candidate| {
                (other.role, &other.label) == (candidate.role, &candidate.label)
            };
            let named = page.candidates.iter().filter(same);
            if candidate.role != Role::Link && named.count() > 1 {
                return Some("a control is offered that can't be told from another");
            }
            if !nothing_spent && self.is_spent(page, &tried_of(Operation::Click, Some(candidate))) {
                return Some("a target is offered that was refused, did nothing or is not known");
            }
        }
        let back = Operation::Back;
        for &operation in ask.operations() {
            let possible = match operation {
                Operation::ScrollDown => page.scroll.below > 0,
                Operation::ScrollUp => page.scroll.offset > 0,
                Operation::Back => self.depth > 0,
                Operation::Click | Operation::None => false,
                Operation::Press(key) => actions.keys.contains(&key),
                Operation::Reload => actions.reload == Permission::Allowed,
                Operation::Wait | Operation::Done | Operation::Blocked => true,
            };
            if !possible {
                return Some("an operation is offered that is not possible");
            }
            let claims = [Operation::Wait, Operation::Done, Operation::Blocked];
            let spent = || self.is_spent(page, &tried_of(operation, None));
            if !nothing_spent && !claims.contains(&operation) && spent() {
                return Some(
                    "an operation is offered that was refused, did nothing or is not known",
                );
            }
        }
        let always = [Operation::Wait, Operation::Done, Operation::Blocked];
        if !always.iter().all(|claim| ask.operations().contains(claim)) {
            return Some("WAIT, DONE or BLOCKED is not offered");
        }
        let may_go_back = ask.stage() == Stage::Decide
            && self.depth > 0
            && actions.back == Permission::Allowed
            && !self.is_spent(page, &tried_of(back, None))
            && !self
                .same_content
                .contains(&(page.version().clone(), tried_of(back, None)));
        if may_go_back && !ask.operations().contains(&back) {
            return Some("going back is possible and not offered");
        }
        None
    }
}

fn tried_of(operation: Operation, target: Option<&Candidate>) -> Tried {
    (
        operation,
        target.map_or_else(String::new, |target| {
            format!("{} under {}", target.label, target.context)
        }),
        target.and_then(|target| target.href.as_ref().map(|href| href.as_str().to_owned())),
    )
}

fn sorted<T: Ord>(items: &[T]) -> Vec<&T> {
    let mut items: Vec<&T> = items.iter().collect();
    items.sort();
    items.dedup();
    items
}

/// Whether an action was offered and is allowed.
pub fn is_lawful(contract: &Contract, ask: &Ask, action: &Action) -> bool {
    let actions = &contract.actions;
    match action {
        Action::Click { target } => {
            let offered: Vec<&CandidateId> =
                ask.candidates().map(|candidate| &candidate.id).collect();
            offered.contains(&&target.id) && is_permitted(target, actions)
        }
        Action::Scroll { pages, .. } => {
            ask.operations().contains(&action.operation()) && *pages == actions.scroll_pages
        }
        Action::Back | Action::Reload | Action::Press { .. } => {
            ask.operations().contains(&action.operation())
        }
    }
}
