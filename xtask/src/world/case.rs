//! One case: a navigator and its twin in one world, step by step, with every invariant asked after
//! every step.

use std::fmt;
use std::sync::Arc;

use jev_core::action::Operation;
use jev_core::contract::{Contract, Mode};
use jev_core::effect::{Effect, EffectKind};
use jev_core::history::{
    HistoryEntry, HistoryOperation, HistoryOutcome, HostOperation, PageChange,
};
use jev_core::ids::{IntentId, RunId};
use jev_core::input::Input;
use jev_core::navigator::Navigator;
use jev_core::question::Questionnaire;
use jev_core::record::{Event, Record};
use jev_core::time::Timestamp;

use super::coverage::{Coverage, Step};
use super::ending;
use super::invariants::SAFETY;
use super::liveness::{Course, LIVENESS};
use super::mix::{self, Fault, Kind, Mix};
use super::site::Site;
use super::witness::Witness;
use super::{Chance, World};

/// Which kind of promise was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// Something happened that must never happen.
    Safety,
    /// Something that must happen did not.
    Liveness,
}

/// A broken invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The invariant's name.
    pub invariant: &'static str,
    /// What is wrong.
    pub why: &'static str,
    /// Which kind it is.
    pub broken: Broken,
    /// After how many inputs.
    pub input: u32,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, why, input) = (self.invariant, self.why, self.input);
        write!(f, "{name} after input {input}: {why}")
    }
}

/// What a case is asked to do beside running.
#[derive(Clone, Copy, Debug, Default)]
pub struct Orders {
    /// Cancel in place of the input of this number.
    pub cancel_at: Option<u32>,
    /// Whom to tell the story, line by line, also of a case that panics.
    pub tell: Option<fn(&str)>,
}

/// How a case went.
#[derive(Debug, Default)]
pub struct Played {
    /// What it reached.
    pub coverage: Coverage,
    /// What it broke.
    pub failure: Option<Failure>,
    /// Inputs handled before the end of its first run.
    pub inputs: u32,
}

/// More inputs than any run may take; a run that takes them does not end.
const INPUTS_MOST: u32 = 4_000;

struct Case {
    navigator: Navigator,
    twin: Navigator,
    world: World,
    /// The mix as it was drawn; faults that stopped in one run strike again in the next.
    drawn: Mix,
    witness: Witness,
    /// Actions of the earlier runs on the tab.
    acted: usize,
    now: Timestamp,
    inputs: u32,
    unasked: u32,
    told: Vec<(Input, Timestamp)>,
    played: Played,
    orders: Orders,
}

/// Plays the case that a source of chance draws.
pub fn play(mut chance: Chance, orders: Orders) -> Played {
    let mix = Mix::draw(&mut chance);
    let Some(contract) = mix::contract(&mut chance, mix.kind) else {
        return Played::default();
    };
    play_under(chance, mix, contract, orders)
}

/// Plays a case under a mix and a contract.
pub fn play_under(mut chance: Chance, mix: Mix, contract: Contract, orders: Orders) -> Played {
    let site = Site::draw(&mut chance, contract.reach, contract.scope.clone());
    let world = World::new(chance, mix.clone(), site, contract.budget);
    let mut case = Case {
        navigator: Navigator::new(RunId(1), contract.clone()),
        twin: Navigator::new(RunId(1), contract.clone()),
        world,
        drawn: mix,
        witness: Witness::new(contract),
        acted: 0,
        now: Timestamp::ZERO,
        inputs: 0,
        unasked: 0,
        told: Vec::new(),
        played: Played::default(),
        orders,
    };
    case.introduce();
    let failure = case.runs().err();
    case.played.failure = failure;
    case.played
}

impl Case {
    /// Plays one run, and sometimes one or two more on the same tab.
    fn runs(&mut self) -> Result<(), Failure> {
        let first = self.run();
        self.played.inputs = self.inputs;
        first?;
        if self.orders.cancel_at.is_some() {
            return Ok(());
        }
        let more = match self.world.chance.below(8) {
            6 => 1,
            7 => 2,
            _ => 0,
        };
        for number in 0..more {
            if self.next_run(RunId(2 + number)).is_none() {
                return Ok(());
            }
            self.run()?;
        }
        Ok(())
    }

    /// Another run takes the tab over as it stands, under a contract of its own. Nothing when the
    /// contract is not sound.
    fn next_run(&mut self, run: RunId) -> Option<()> {
        let reach = self.witness.contract.reach;
        let mut draft = (*mix::contract(&mut self.world.chance, self.drawn.kind)?).clone();
        draft.reach = reach;
        let contract = draft.check().ok()?;
        let mut carried = self.navigator.carry();
        self.acted += self.witness.intents.len();
        self.witness = self.witness.next(contract.clone());
        self.world.begin_again(self.drawn.clone(), contract.budget);
        self.tell(|| format!("run {run} on the same tab, {:?}", contract.mode));
        if self.world.chance.below(3) == 2 {
            self.world.site.host_goes(&mut self.world.chance);
            let (done, changed) = (HistoryOutcome::Applied, PageChange::Changed);
            carried.host_acted(HostOperation::HostNavigate, "a page", done, changed);
            self.witness.host_acted();
            self.tell(|| "the host goes to another page".to_owned());
        }
        self.navigator = Navigator::resume(run, contract.clone(), carried.clone());
        self.twin = Navigator::resume(run, contract, carried);
        (self.now, self.inputs, self.unasked) = (Timestamp::ZERO, 0, 0);
        self.told.clear();
        Some(())
    }

    fn tell(&self, line: impl FnOnce() -> String) {
        if let Some(tell) = self.orders.tell {
            tell(&line());
        }
    }

    fn run(&mut self) -> Result<(), Failure> {
        self.played.coverage.began();
        self.drain();
        self.witness.after(&self.navigator);
        self.check()?;
        while !self.navigator.is_closed() {
            if self.inputs >= INPUTS_MOST {
                return self.live();
            }
            self.world.disturb(self.now, self.inputs);
            let Some((input, at)) = self.next_input() else {
                return self.live();
            };
            self.step(input, at)?;
        }
        self.end()?;
        self.live()
    }

    /// What comes next: the first thing on its way, or the timer.
    fn next_input(&mut self) -> Option<(Input, Timestamp)> {
        if self.orders.cancel_at == Some(self.inputs) {
            return Some((Input::Cancel, self.now));
        }
        let mut tick = self.navigator.poll_timeout().map(|(at, _)| at);
        if self.world.hits(Fault::LateTicks) {
            // Answers that come before a late tick come past the moment at which it was due.
            let late = self.world.millis(500);
            tick = tick.map(|at| at.after(late));
        }
        match (self.world.inbox.next_at(), tick) {
            (Some(post), Some(tick)) if tick < post => return Some((Input::Tick, tick)),
            // Of an answer and a timer in the same moment either may be first.
            (Some(post), Some(tick)) if tick == post && self.world.chance.below(2) == 0 => {
                return Some((Input::Tick, tick));
            }
            (None, tick) => return tick.map(|at| (Input::Tick, at)),
            (Some(_), _) => {}
        }
        let (mut at, input) = self.world.inbox.take()?;
        if self.world.hits(Fault::BackInTime) {
            at = Timestamp::since_start(at.elapsed() / 2);
        }
        Some((input, at))
    }

    fn step(&mut self, input: Input, at: Timestamp) -> Result<(), Failure> {
        self.inputs += 1;
        self.now = self.now.max(at);
        self.witness.before(&self.navigator, &input, at);
        let facts = &self.witness.step;
        let due_timer = facts.timer;
        if !facts.due && due_timer.is_none() {
            self.unasked += 1;
        }
        if let Some(timer) = due_timer {
            self.played.coverage.fired(timer);
        }
        let now = self.now.elapsed().as_secs_f64();
        self.tell(|| format!("{now:>9.3} s  < {}", said(&input)));
        if self.witness.contract.mode == Mode::Shadow {
            self.told.push((input.clone(), at));
        }
        self.twin.handle(input.clone(), at);
        let step = self.witness.names(&input);
        self.navigator.handle(input, at);
        let to = self.navigator.phase();
        self.played.coverage.step(Step { to, ..step });
        self.drain();
        self.witness.after(&self.navigator);
        self.check()
    }

    /// Takes what the navigator has to say, and compares it with what its twin says.
    fn drain(&mut self) {
        let mut differs = self.navigator.phase() != self.twin.phase()
            || self.navigator.poll_timeout() != self.twin.poll_timeout()
            || self.navigator.spent() != self.twin.spent();
        while let Some(effect) = self.navigator.poll_effect() {
            let twin = self.twin.poll_effect();
            differs |= twin.is_none_or(|twin| !same(&effect, &twin));
            self.played.coverage.effect(&effect.kind);
            let asked = effect.kind.questionnaire().map(Arc::new);
            self.tell(|| format!("             > {}", wanted(&effect, asked.as_deref())));
            self.witness.effect(&effect, asked.as_ref());
            self.world.take(effect, asked.as_deref(), self.now);
        }
        differs |= self.twin.poll_effect().is_some();
        while let Some(record) = self.navigator.poll_record() {
            differs |= self.twin.poll_record().as_ref() != Some(&record);
            self.recorded(&record);
        }
        differs |= self.twin.poll_record().is_some();
        self.witness.step.twin_differs = differs;
        let reached = &self.world.reached;
        let own = |(place, intent): (usize, &IntentId)| {
            self.witness.is_permitted(*intent)
                && reached.iter().skip(place + 1).all(|later| later != intent)
        };
        self.witness.unpermitted = !reached.iter().enumerate().all(own);
    }

    fn recorded(&mut self, record: &Record) {
        self.witness.record(record);
        match &record.event {
            Event::Received(_, receipt) => self.played.coverage.received(*receipt),
            Event::Ending(status, _) => self.played.coverage.ended(*status),
            Event::Opened
            | Event::Observed(_)
            | Event::Verified(_)
            | Event::VerifyFailed(_)
            | Event::Asked(_)
            | Event::Narrowed { .. }
            | Event::Proposed(_)
            | Event::JudgeFailed(_)
            | Event::Intent(..)
            | Event::Waited(_)
            | Event::Recovered(_)
            | Event::Ignored(..)
            | Event::SessionFailed(_)
            | Event::Closed(_) => {}
        }
        self.tell(|| {
            let line = format!("               {}", record.event.name());
            if let Event::Ending(status, _) = &record.event {
                format!("{line} {}", status.name())
            } else if let Event::Received(intent, receipt) = &record.event {
                format!("{line} {intent} {}", receipt.name())
            } else {
                line
            }
        });
    }

    fn check(&self) -> Result<(), Failure> {
        for (invariant, holds) in SAFETY {
            holds(&self.witness).map_err(|why| Failure {
                invariant,
                why,
                broken: Broken::Safety,
                input: self.inputs,
            })?;
        }
        Ok(())
    }

    /// The run is closed: what comes now comes too late.
    fn end(&mut self) -> Result<(), Failure> {
        let Some(report) = self.navigator.report() else {
            return Err(Failure {
                invariant: "S11",
                why: "a closed run has no report",
                broken: Broken::Safety,
                input: self.inputs,
            });
        };
        let inputs = self.inputs;
        let mut late: Vec<(Input, Timestamp)> = Vec::new();
        while let Some((at, input)) = self.world.inbox.take().filter(|_| late.len() < 6) {
            late.push((input, at));
        }
        let last = self.now.after(std::time::Duration::from_secs(1));
        late.extend(ending::too_late().map(|input| (input, last)));
        for (input, at) in late {
            self.step(input, at)?;
        }
        self.inputs = inputs;
        if let Some(after) = self.navigator.report() {
            self.witness.reports = Some((report, after));
        }
        self.witness.told_on = Some(self.told_on());
        self.witness.telemetry = ending::telemetry_json(&self.witness);
        if self.witness.contract.mode == Mode::Shadow {
            self.witness.off_output = ending::off_output(&self.witness.contract, &self.told);
        }
        self.check()
    }

    /// Of how many actions the next run is told, and how many there were.
    fn told_on(&self) -> (usize, usize) {
        let carried = self.navigator.carry();
        let history = carried.history();
        let is_action = |entry: &&HistoryEntry| match entry.operation {
            HistoryOperation::Judged(operation) => match operation {
                Operation::Click
                | Operation::ScrollDown
                | Operation::ScrollUp
                | Operation::Back
                | Operation::Reload
                | Operation::Press(_) => true,
                Operation::Wait | Operation::Done | Operation::Blocked | Operation::None => false,
            },
            HistoryOperation::Host(_) => false,
        };
        let told = history.iter().filter(is_action).count();
        (told, self.acted + self.witness.intents.len())
    }

    fn live(&self) -> Result<(), Failure> {
        let course = Course {
            kind: match self.orders.cancel_at {
                None => self.world.mix.kind,
                Some(_) => Kind::Calm,
            },
            inputs: self.inputs,
            unasked: self.unasked,
            prompt: self.world.mix.rate(Fault::LateTicks) == 0,
        };
        for (invariant, holds) in LIVENESS {
            holds(&self.witness, &course).map_err(|why| Failure {
                invariant,
                why,
                broken: Broken::Liveness,
                input: self.inputs,
            })?;
        }
        Ok(())
    }

    fn introduce(&self) {
        let contract = &self.witness.contract;
        let mix = &self.world.mix;
        self.tell(|| {
            let faults: Vec<String> = mix
                .active()
                .map(|(fault, rate)| format!("{fault:?} {rate}/256"))
                .collect();
            format!(
                "a {:?} world, turning after input {}: {}",
                mix.kind,
                mix.turn,
                faults.join(", ")
            )
        });
        self.tell(|| {
            format!(
                "{:?}, {:?}, {:?}, {:?}, budget {:?}, {:?}",
                contract.mode,
                contract.layout,
                contract.gate,
                contract.verify_first,
                contract.budget,
                contract.limits
            )
        });
    }
}

fn same(one: &Effect, other: &Effect) -> bool {
    one.id == other.id
        && one.deadline == other.deadline
        && match (&one.kind, &other.kind) {
            (EffectKind::Dispatch(one), EffectKind::Dispatch(other)) => one == other,
            (EffectKind::AskJudge(one), EffectKind::AskJudge(other)) => one == other,
            (EffectKind::Open(one), EffectKind::Open(other)) => one == other,
            (EffectKind::Wait { bound: one }, EffectKind::Wait { bound: other }) => one == other,
            (EffectKind::Close { grace: one }, EffectKind::Close { grace: other }) => one == other,
            (EffectKind::Verify(one), EffectKind::Verify(other)) => {
                (&one.goal, &one.goal_digest, &one.snapshot)
                    == (&other.goal, &other.goal_digest, &other.snapshot)
            }
            (EffectKind::Observe, EffectKind::Observe) => true,
            (
                EffectKind::Open(_)
                | EffectKind::Observe
                | EffectKind::AskJudge(_)
                | EffectKind::Dispatch(_)
                | EffectKind::Verify(_)
                | EffectKind::Wait { .. }
                | EffectKind::Close { .. },
                _,
            ) => false,
        }
}

fn said(input: &Input) -> String {
    match input {
        Input::Observed(id, page) => format!(
            "{id} Observed {} {} at {} ({} candidates, version {})",
            page.document,
            page.url,
            page.scroll.offset,
            page.candidates.len(),
            page.version().as_str().get(..6).unwrap_or("")
        ),
        Input::Judged(id, decision) => format!("{id} Judged {:?}", decision.answers),
        Input::Verified(id, verification) => format!("{id} Verified {:?}", verification.verdict),
        Input::Opened(..)
        | Input::OpenFailed(..)
        | Input::ObserveFailed(..)
        | Input::JudgeFailed(..)
        | Input::Receipt(..)
        | Input::DispatchFailed(..)
        | Input::Waited(..)
        | Input::WaitFailed(..)
        | Input::VerifyFailed(..)
        | Input::SessionLost(_)
        | Input::Closed(..)
        | Input::Cancel
        | Input::Tick => format!("{input:?}"),
    }
}

fn wanted(effect: &Effect, asked: Option<&Questionnaire>) -> String {
    let name = effect.kind.name();
    let id = effect.id;
    match (&effect.kind, asked) {
        (EffectKind::Dispatch(permit), _) => format!("{id} {name} {:?}", permit.action()),
        (EffectKind::AskJudge(_), Some(asked)) => {
            let options: Vec<String> = (0..asked.questions.len())
                .map(|number| {
                    let names: Vec<&str> = super::judge::options(asked, number)
                        .iter()
                        .map(|option| option.name.as_str())
                        .collect();
                    names.join(" ")
                })
                .collect();
            format!("{id} {name} {:?}: {}", asked.stage, options.join(" | "))
        }
        (
            EffectKind::Open(_)
            | EffectKind::Observe
            | EffectKind::AskJudge(_)
            | EffectKind::Verify(_)
            | EffectKind::Wait { .. }
            | EffectKind::Close { .. },
            _,
        ) => format!("{id} {name}"),
    }
}
