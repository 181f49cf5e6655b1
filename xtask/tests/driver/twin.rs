//! A second navigator beside the driver's: it takes the same inputs, and every invariant is asked of
//! it after each. What the driver reports must be what it reports.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use jev_agent::Observer;
use jev_core::contract::{Contract, Mode};
use jev_core::ids::RunId;
use jev_core::input::Input;
use jev_core::navigator::Navigator;
use jev_core::record::Record;
use jev_core::report::Report;
use jev_core::time::Timestamp;
use xtask::world::ending;
use xtask::world::invariants::SAFETY;
use xtask::world::liveness::{Course, LIVENESS};
use xtask::world::mix::Mix;
use xtask::world::witness::Witness;

pub(crate) struct Twin {
    navigator: Navigator,
    witness: Witness,
    records: VecDeque<Record>,
    /// The inputs, to tell an OFF run the same.
    told: Vec<(Input, Timestamp)>,
    inputs: u32,
    unasked: u32,
    pub(crate) failures: Vec<String>,
}

impl Twin {
    pub(crate) fn new(contract: Contract) -> Self {
        let mut twin = Self {
            navigator: Navigator::new(RunId(1), contract.clone()),
            witness: Witness::new(contract),
            records: VecDeque::new(),
            told: Vec::new(),
            inputs: 0,
            unasked: 0,
            failures: Vec::new(),
        };
        twin.drain();
        twin
    }

    fn drain(&mut self) {
        while let Some(effect) = self.navigator.poll_effect() {
            let asked = effect.kind.questionnaire().map(Arc::new);
            self.witness.effect(&effect, asked.as_ref());
        }
        while let Some(record) = self.navigator.poll_record() {
            self.witness.record(&record);
            self.records.push_back(record);
        }
        self.witness.after(&self.navigator);
        self.check();
    }

    fn check(&mut self) {
        for (invariant, holds) in SAFETY {
            if let Err(why) = holds(&self.witness) {
                let after = self.inputs;
                self.failures
                    .push(format!("{invariant} after input {after}: {why}"));
            }
        }
    }

    /// The driver has returned.
    pub(crate) fn ended(&mut self, report: &Report, mix: &Mix) {
        if self.navigator.report().as_ref() != Some(report) {
            self.failures
                .push("the driver's report is not the navigator's".to_owned());
        }
        if !self.records.is_empty() {
            self.failures
                .push("the driver kept records to itself".to_owned());
        }
        // The report of a run that is over stays what it is, whatever comes too late.
        for input in ending::too_late() {
            let later = Timestamp::since_start(report.elapsed + Duration::from_secs(1));
            self.navigator.handle(input, later);
            while self.navigator.poll_record().is_some() {}
        }
        let after = self.navigator.report();
        self.witness.reports = after.map(|after| (report.clone(), after));
        if self.witness.contract.mode == Mode::Shadow {
            self.witness.off_output = ending::off_output(&self.witness.contract, &self.told);
        }
        self.witness.telemetry = ending::telemetry_json(&self.witness);
        self.check();
        let course = Course {
            kind: mix.kind,
            inputs: self.inputs,
            unasked: self.unasked,
            prompt: true,
        };
        for (invariant, holds) in LIVENESS {
            if let Err(why) = holds(&self.witness, &course) {
                self.failures.push(format!("{invariant}: {why}"));
            }
        }
    }
}

impl Observer for Twin {
    fn input(&mut self, input: &Input, at: Timestamp) {
        self.inputs += 1;
        self.witness.before(&self.navigator, input, at);
        let step = &self.witness.step;
        self.unasked += u32::from(!step.due && step.timer.is_none());
        self.told.push((input.clone(), at));
        self.navigator.handle(input.clone(), at);
        self.drain();
    }

    fn record(&mut self, record: &Record) {
        if self.records.pop_front().as_ref() != Some(record) {
            let name = record.event.name();
            self.failures.push(format!(
                "the driver's record `{name}` is not the navigator's"
            ));
        }
    }
}
