//! Judging: what is offered, what the judge proposes, and whether it is strong enough.

use std::sync::Arc;

use super::Navigator;
use super::phase::{Acted, Look, Phase};
use crate::action::{Action, Operation, ScrollDirection};
use crate::asking::{Ask, Offer};
use crate::contract::Mode;
use crate::effect::EffectKind;
use crate::error::JudgeError;
use crate::history::{HistoryOutcome, PageChange};
use crate::limits::WAIT_BOUND;
use crate::policy::Permission;
use crate::progress::ActionKey;
use crate::proposal::{self, GateResult, Proposal};
use crate::question::{Decision, Stage, Usage};
use crate::record::Event;
use crate::report::StepReport;
use crate::snapshot::{Candidate, Role, Snapshot};
use crate::status::{Cause, Status};

/// Whether another control has the same role and name. Links of one name lead where they say; of
/// controls that can't be told apart none is offered.
fn is_ambiguous(page: &Snapshot, candidate: &Candidate) -> bool {
    candidate.role != Role::Link
        && page
            .candidates
            .iter()
            .filter(|other| other.role == candidate.role && other.label == candidate.label)
            .count()
            > 1
}

impl Navigator {
    /// Asks the judge about a page, as a new step.
    pub(super) fn ask(&mut self, page: &Arc<Snapshot>) {
        if self.spent.steps >= self.contract.limits.steps {
            self.give_up_on(page, Status::StepLimit);
            return;
        }
        let offer = self.offer(page);
        let Ok(ask) = Ask::first(&self.contract, page, &self.history, &self.goal, offer) else {
            self.give_up_on(page, self.unless_shadow(Status::StateLimit));
            return;
        };
        if self.spent.charge_step(&self.contract.limits).is_err() {
            self.give_up_on(page, Status::StepLimit);
            return;
        }
        self.steps.push(StepReport {
            number: self.spent.steps,
            url: page.url.clone(),
            version: page.version().clone(),
            offered: ask.candidates.len(),
            proposal: None,
            error: None,
            intent: None,
            action: None,
            receipt: None,
            usage: Usage::default(),
            judge_time: std::time::Duration::ZERO,
            act_time: std::time::Duration::ZERO,
        });
        self.send(ask);
    }

    fn send(&mut self, ask: Ask) {
        let ask = Arc::new(ask);
        self.spent.judge_calls += 1;
        // A page that will not hold still is verified again so often between two judgments.
        self.spent.rebinds = 0;
        self.record(Event::Asked(Arc::clone(&ask)));
        let flight = self.emit_in_budget(EffectKind::AskJudge(Arc::clone(&ask)));
        self.phase = Phase::Judging { flight, ask };
    }

    /// Everything that is really possible on this page and allowed.
    fn offer(&self, page: &Snapshot) -> Offer {
        let actions = &self.contract.actions;
        let barred = self.progress.barred(page);
        let allowed = |permission: Permission, possible: bool, operation: Operation| {
            let offered =
                possible && permission == Permission::Allowed && barred.offers(operation, None);
            offered.then_some(operation)
        };
        let mut operations: Vec<Operation> = [
            allowed(actions.scroll, page.scroll.below > 0, Operation::ScrollDown),
            allowed(actions.scroll, page.scroll.offset > 0, Operation::ScrollUp),
            allowed(actions.back, self.back_depth > 0, Operation::Back),
            allowed(actions.reload, true, Operation::Reload),
        ]
        .into_iter()
        .flatten()
        .collect();
        for &key in &actions.keys {
            // A host may name a key twice; option names are unique.
            let new = !operations.contains(&Operation::Press(key));
            operations.extend(allowed(Permission::Allowed, new, Operation::Press(key)));
        }
        operations.extend([Operation::Wait, Operation::Done, Operation::Blocked]);
        let unnamed = &page.costs().unnamed;
        let candidates = page
            .candidates
            .iter()
            .enumerate()
            .filter(|(index, candidate)| {
                !unnamed.contains(index)
                    && actions.offers(candidate.role, &candidate.label)
                    && !is_ambiguous(page, candidate)
                    && candidate
                        .href
                        .as_ref()
                        .is_none_or(|href| self.contract.access.allows(href))
                    && barred.offers(Operation::Click, Some(candidate))
            })
            .map(|(index, _)| index)
            .collect();
        Offer {
            operations,
            candidates,
            unnamed: u32::try_from(unnamed.len()).unwrap_or(u32::MAX),
        }
    }

    pub(super) fn judged(&mut self, decision: Decision) {
        let Some(ask) = self.land_judgment() else {
            return;
        };
        self.spent.usage.add(decision.usage);
        if let Some(step) = self.steps.last_mut() {
            step.usage.add(decision.usage);
        }
        match ask.stage {
            Stage::Narrow => self.narrowed(&ask, &decision),
            Stage::Decide => match Proposal::read(&ask, decision, &self.contract.gate) {
                Ok(proposal) => self.proposed(&ask, proposal),
                Err(error) => self.void(error),
            },
        }
    }

    pub(super) fn judge_failed(&mut self, error: JudgeError) {
        if self.land_judgment().is_some() {
            self.void(error);
        }
    }

    fn land_judgment(&mut self) -> Option<Arc<Ask>> {
        self.count_time();
        let Phase::Judging { ask, .. } = &self.phase else {
            return None;
        };
        Some(Arc::clone(ask))
    }

    fn void(&mut self, error: JudgeError) {
        self.record(Event::JudgeFailed(error.clone()));
        if let Some(step) = self.steps.last_mut() {
            step.error = Some(error.clone());
        }
        match self.contract.mode {
            Mode::Shadow => self.end(Status::Observed, None),
            Mode::Off | Mode::Enforce => {
                self.end(Status::JudgeError, Some(Cause::Judge(error)));
            }
        }
    }

    fn narrowed(&mut self, ask: &Ask, decision: &Decision) {
        if let Err(error) = proposal::check(ask, decision) {
            self.void(error);
            return;
        }
        match ask.decide(&self.contract, &decision.answers) {
            Ok(next) => {
                self.record(Event::Narrowed {
                    from: ask.candidates.len(),
                    to: next.candidates.len(),
                });
                self.send(next);
            }
            Err(_) => {
                let status = self.unless_shadow(Status::StateLimit);
                self.give_up_after_judging(&ask.snapshot, status);
            }
        }
    }

    fn proposed(&mut self, ask: &Arc<Ask>, proposal: Proposal) {
        self.record(Event::Proposed(proposal.clone()));
        let (operation, gate) = (proposal.operation, proposal.gate);
        let target = proposal.candidate().cloned();
        if let Some(step) = self.steps.last_mut() {
            step.proposal = Some(proposal);
        }
        if self.contract.mode == Mode::Shadow {
            self.end(Status::Observed, None);
            return;
        }
        let page = &ask.snapshot;
        if gate == GateResult::Failed {
            self.give_up_after_judging(page, Status::Abstain);
            return;
        }
        let acted = Acted {
            operation,
            label: target.as_ref().map(|target| target.label.clone()),
            key: ActionKey::new(operation, target.as_ref()),
            version: page.version().clone(),
            offset: page.scroll.offset,
            outcome: HistoryOutcome::Applied,
            change: PageChange::Unchanged,
        };
        let action = match operation {
            Operation::Done => return self.observe(Look::Done(acted)),
            Operation::Blocked => return self.observe(Look::Blocked(acted)),
            Operation::Wait => return self.wait(acted),
            Operation::None => return self.give_up_after_judging(page, Status::Abstain),
            Operation::Click => match target {
                Some(target) => Action::Click { target },
                None => return self.give_up_after_judging(page, Status::Abstain),
            },
            Operation::ScrollDown => self.scroll(ScrollDirection::Down),
            Operation::ScrollUp => self.scroll(ScrollDirection::Up),
            Operation::Back => Action::Back,
            Operation::Reload => Action::Reload,
            Operation::Press(key) => Action::Press { key },
        };
        self.dispatch(page, action, acted);
    }

    fn scroll(&self, direction: ScrollDirection) -> Action {
        Action::Scroll {
            direction,
            pages: self.contract.actions.scroll_pages,
        }
    }

    fn wait(&mut self, mut acted: Acted) {
        acted.outcome = HistoryOutcome::Waited;
        let bound = WAIT_BOUND.min(self.now.until(self.budget_end()));
        let flight = self.emit_in_budget(EffectKind::Wait { bound });
        self.phase = Phase::Waiting { flight, acted };
    }

    /// SHADOW returns what OFF returns, whatever would have happened.
    fn unless_shadow(&self, status: Status) -> Status {
        match self.contract.mode {
            Mode::Shadow => Status::Observed,
            Mode::Off | Mode::Enforce => status,
        }
    }
}
