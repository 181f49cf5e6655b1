//! Offers: what may be offered to a judge on a page, and what may not be offered again.

use std::hash::{DefaultHasher, Hash, Hasher};

use jev_core::action::{Action, Operation};
use jev_core::asking::Ask;
use jev_core::contract::Contract;
use jev_core::ids::{CandidateId, DocumentId, PageVersion};
use jev_core::receipt::{AppliedEffect, Receipt};
use jev_core::snapshot::{Candidate, Snapshot};

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
    dead: Vec<String>,
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

    /// A digest of it all. The last action counts only until its outcome has been looked at.
    pub fn digest(&self, in_flight: bool) -> u64 {
        let mut hasher = DefaultHasher::new();
        let into = &mut hasher;
        self.after_action.hash(into);
        sorted(&self.refused).hash(into);
        sorted(&self.without_effect).hash(into);
        sorted(&self.dead).hash(into);
        if in_flight || self.after_action {
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
                if matches!(
                    effect,
                    AppliedEffect::DestinationRefused | AppliedEffect::DestinationFailed
                ) {
                    self.dead.extend(tried.2.clone());
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
            && acting.offset == page.scroll.offset
        {
            self.without_effect
                .push((acting.version.clone(), acting.tried.clone()));
        }
    }

    /// What is wrong with an offer. `acted` says whether this run has acted before.
    pub fn bad_offer(&self, contract: &Contract, ask: &Ask, acted: bool) -> Option<&'static str> {
        let page = ask.snapshot();
        let actions = &contract.actions;
        let again = |tried: &Tried| {
            self.refused
                .contains(&(page.document.clone(), tried.clone()))
                || self
                    .without_effect
                    .contains(&(page.version().clone(), tried.clone()))
                || tried
                    .2
                    .as_ref()
                    .is_some_and(|href| self.dead.contains(href))
        };
        let nothing_tried =
            self.refused.is_empty() && self.without_effect.is_empty() && self.dead.is_empty();
        for candidate in ask.candidates() {
            if !actions.offers(candidate.role, &candidate.label) {
                return Some("a control that policy does not allow is offered");
            }
            let away = candidate
                .href
                .as_ref()
                .map(|href| !contract.access.allows(href));
            if away == Some(true) {
                return Some("an address that is not allowed is offered");
            }
            if !nothing_tried && again(&tried_of(Operation::Click, Some(candidate))) {
                return Some("a target is offered again that was refused or did nothing");
            }
        }
        for &operation in ask.operations() {
            let possible = match operation {
                Operation::ScrollDown => page.scroll.below > 0,
                Operation::ScrollUp => page.scroll.offset > 0,
                Operation::Back => acted,
                Operation::Click | Operation::None => false,
                Operation::Press(key) => actions.keys.contains(&key),
                Operation::Reload | Operation::Wait | Operation::Done | Operation::Blocked => true,
            };
            if !possible {
                return Some("an operation is offered that is not possible");
            }
            let claims = [Operation::Wait, Operation::Done, Operation::Blocked];
            if !nothing_tried && !claims.contains(&operation) && again(&tried_of(operation, None)) {
                return Some("an operation is offered again that was refused or did nothing");
            }
        }
        let always = [Operation::Wait, Operation::Done, Operation::Blocked];
        if !always.iter().all(|claim| ask.operations().contains(claim)) {
            return Some("WAIT, DONE or BLOCKED is not offered");
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
            offered.contains(&&target.id)
                && actions.offers(target.role, &target.label)
                && target
                    .href
                    .as_ref()
                    .is_none_or(|href| contract.access.allows(href))
        }
        Action::Scroll { pages, .. } => {
            ask.operations().contains(&action.operation()) && *pages == actions.scroll_pages
        }
        Action::Back | Action::Reload | Action::Press { .. } => {
            ask.operations().contains(&action.operation())
        }
    }
}
