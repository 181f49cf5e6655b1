//! The mix of a case: which faults its world has, how often each strikes, and the contract it runs
//! under. Every case draws its own, so that some faults meet alone and some in company.

use std::sync::OnceLock;
use std::time::Duration;

use jev_core::access::{AccessList, CanonicalUrl};
use jev_core::contract::{Contract, ContractDraft, Goal, Layout, Mode, Reach, VerifyFirst};
use jev_core::gate::{Gate, GateKind};
use jev_core::ids::Scope;
use jev_core::policy::{ActionPolicy, Discovery, NameRule, Permission, SafeKey};

use super::chance::Chance;
use super::site::MARK;

macro_rules! faults {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// A way in which the world misbehaves.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Fault { $($(#[$doc])* $name,)* }

        impl Fault {
            /// Every fault.
            pub const ALL: &'static [Fault] = &[$(Fault::$name,)*];
        }
    };
}

faults! {
    // Sites.
    /// The text shows another number at every look.
    Ticks,
    /// The page goes to another page by itself.
    Navigates,
    /// The page becomes a new document of the same content.
    Reloads,
    /// The page goes to an address that is not allowed.
    Leaves,
    /// The page does not come to rest: a look takes long and says so.
    Restless,
    /// What was on the page is gone at the next look.
    Vanishes,
    /// Ids of candidates are not theirs alone, or are names of operations.
    Clashes,
    // Sessions.
    /// Opening fails.
    OpenFails,
    /// The session belongs to someone else.
    OpenScope,
    /// A snapshot belongs to someone else.
    LookScope,
    /// A look fails.
    LookFails,
    /// The guard finds that the target is no longer the one judged.
    Stale,
    /// The guard refuses.
    Rejected,
    /// The receipt says that nothing is known.
    Unknown,
    /// The click does nothing.
    NoEffect,
    /// The boundary refuses where the click leads.
    DestinationRefused,
    /// The click leads to no page.
    DestinationFailed,
    /// The dispatch fails before anything was sent.
    SurelyNot,
    /// The dispatch fails and may have been sent.
    MaybeSent,
    /// The session is lost, and may go on answering.
    SessionLost,
    /// A wait fails.
    WaitFails,
    // The way back.
    /// An answer never comes.
    Loses,
    /// An answer comes late.
    Delays,
    /// An answer comes twice or more, the second time much later than answers to newer effects.
    Duplicates,
    /// Answers come that nobody asked for.
    Foreign,
    /// Ticks come when nothing is due.
    OddTicks,
    /// Timers fire late.
    LateTicks,
    /// The clock goes backwards.
    BackInTime,
    // Judges.
    /// Sure of a wrong option.
    Wrong,
    /// Not sure.
    Weak,
    /// An answer that breaks a rule.
    Malformed,
    /// An answer to an earlier question.
    StaleAnswer,
    /// No answer but an error.
    JudgeFails,
    /// Claims DONE.
    ClaimsDone,
    /// Claims BLOCKED.
    ClaimsBlocked,
    /// Chooses WAIT.
    Waits,
    /// Chooses `none`.
    ChoosesNone,
    /// Says that it took more tokens than can be summed.
    CountsHigh,
    // Verifiers.
    /// No verdict but an error.
    VerifierFails,
    /// A verdict on another version.
    WrongVersion,
    /// A verdict for another goal.
    WrongGoal,
    /// Passes without evidence.
    NoEvidence,
    /// Passes with evidence that is not on the page.
    FalseEvidence,
    /// Passes any page, with words that really stand there.
    Lies,
    /// Does not pass a page that it should.
    Flaps,
    // The caller.
    /// Cancels.
    Cancels,
}

/// What kind of world a case has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No fault at all, and ample limits: L1 must hold.
    Honest,
    /// No fault, and the case's own limits.
    Calm,
    /// All answers stop for good at some moment: L2 must hold.
    Silent,
    /// Some faults, which stop at some moment: L3 must hold.
    Mixed,
}

/// How often each fault strikes, and when they stop.
#[derive(Clone, Debug)]
pub struct Mix {
    /// The kind.
    pub kind: Kind,
    rates: [u8; Fault::ALL.len()],
    /// After so many inputs: silence, or healing.
    pub turn: u32,
}

impl Mix {
    /// A world without faults.
    pub fn honest() -> Self {
        Self {
            kind: Kind::Honest,
            rates: [0; Fault::ALL.len()],
            turn: u32::MAX,
        }
    }

    /// Draws a mix.
    pub fn draw(chance: &mut Chance) -> Self {
        let mut mix = Self::honest();
        mix.kind = match chance.below(32) {
            0..=2 => Kind::Honest,
            3 => Kind::Calm,
            4..=5 => Kind::Silent,
            _ => Kind::Mixed,
        };
        match mix.kind {
            Kind::Honest | Kind::Calm => {}
            Kind::Silent => mix.turn = chance.below(24),
            Kind::Mixed => {
                mix.turn = 1 + chance.below(96);
                // Most worlds have a judge that strays, else runs would be short and straight.
                mix = mix.with(Fault::Wrong, chance.pick(&[0, 64, 160, 240]).unwrap_or(0));
                for _ in 0..=chance.below(6) {
                    let fault = chance.pick(Fault::ALL).unwrap_or(Fault::Ticks);
                    let rate = chance.pick(&[3, 6, 12, 24, 64, 200]).unwrap_or(0);
                    mix = mix.with(fault, rate);
                }
            }
        }
        mix
    }

    /// How often a fault strikes, of 256.
    pub fn rate(&self, fault: Fault) -> u8 {
        self.rates.get(fault as usize).copied().unwrap_or(0)
    }

    /// Sets how often a fault strikes.
    pub fn with(mut self, fault: Fault, rate: u8) -> Self {
        if let Some(slot) = self.rates.get_mut(fault as usize) {
            *slot = rate;
        }
        self
    }

    /// Stops every fault.
    pub fn heal(&mut self) {
        self.rates = [0; Fault::ALL.len()];
    }

    /// The faults of this case.
    pub fn active(&self) -> impl Iterator<Item = (Fault, u8)> {
        Fault::ALL
            .iter()
            .map(|&fault| (fault, self.rate(fault)))
            .filter(|(_, rate)| *rate > 0)
    }
}

/// The parts of a contract that are the same in every case, parsed once.
struct Fixed {
    goal: Goal,
    scope: Scope,
    start: CanonicalUrl,
    access: AccessList,
}

fn fixed() -> Option<&'static Fixed> {
    static FIXED: OnceLock<Option<Fixed>> = OnceLock::new();
    FIXED
        .get_or_init(|| {
            Some(Fixed {
                goal: Goal::new(&format!("How long is the {MARK} warranty?")).ok()?,
                scope: Scope::new(format!("{MARK}-user"), "session", "tab").ok()?,
                start: CanonicalUrl::parse(&super::site::address(0)).ok()?,
                access: AccessList::parse([super::site::ALLOWED]).ok()?,
            })
        })
        .as_ref()
}

/// The draft that every case starts from: ENFORCE, ample limits, every kind of action.
pub fn ample() -> Option<ContractDraft> {
    let fixed = fixed()?;
    let mut draft = ContractDraft::new(
        fixed.goal.clone(),
        fixed.scope.clone(),
        fixed.start.clone(),
        fixed.access.clone(),
    );
    draft.mode = Mode::Enforce;
    draft.limits.steps = 64;
    draft.limits.waits = 8;
    draft.limits.no_progress = 8;
    draft.budget = Duration::from_secs(600);
    draft.actions = ActionPolicy {
        allow: vec![NameRule::Contains("details".to_owned())],
        deny: vec![NameRule::Contains("delete".to_owned())],
        reserve: vec![NameRule::Exact("Pay details".to_owned())],
        reload: Permission::Allowed,
        keys: vec![SafeKey::End, SafeKey::Escape],
        ..ActionPolicy::read_only()
    };
    Some(draft)
}

/// Draws a contract.
pub fn contract(chance: &mut Chance, kind: Kind) -> Option<Contract> {
    let mut draft = ample()?;
    draft.layout = chance
        .pick(&[Layout::Flat, Layout::TwoHead])
        .unwrap_or_default();
    draft.reach = chance
        .pick(&[Reach::Document, Reach::Viewport])
        .unwrap_or_default();
    draft.verify_first = match chance.below(8) {
        7 => VerifyFirst::Off,
        _ => VerifyFirst::On,
    };
    draft.limits.candidates = chance.pick(&[128, 1, 2, 3, 254])?;
    if chance.below(3) == 2 {
        draft.actions.discover = Discovery::LowRisk;
    }
    draft.gate = match chance.below(4) {
        0 | 1 => Gate::deciding(),
        2 => Gate::ranking(),
        _ => {
            let kind = chance.pick(&[GateKind::Probability, GateKind::Share])?;
            Gate::new(kind, chance.pick(&[0.55, 0.7, 0.9, 1.0])?).ok()?
        }
    };
    match kind {
        Kind::Honest => {}
        Kind::Calm | Kind::Silent | Kind::Mixed => {
            draft.mode = match chance.below(16) {
                13 => Mode::Off,
                14 | 15 => Mode::Shadow,
                _ => Mode::Enforce,
            };
            draft.limits.steps = chance.pick(&[8, 16, 64, 1, 3, 24])?;
            draft.limits.stale = chance.pick(&[2, 0, 1, 5])?;
            draft.limits.no_progress = chance.pick(&[3, 1, 5, 8])?;
            draft.limits.waits = chance.pick(&[3, 1, 2])?;
            draft.limits.recoveries = chance.pick(&[2, 0, 1, 8])?;
            draft.limits.state_chars = match chance.below(32) {
                31 => 100,
                27..=30 => chance.pick(&[3_600, 4_200, 5_000, 1_700])?,
                _ => 32_000,
            };
            let millis = match chance.below(16) {
                15 => 1,
                14 => 600,
                13 => 2_000,
                8..=12 => 60_000,
                _ => 10_000,
            };
            draft.budget = Duration::from_millis(millis);
            if chance.below(4) == 3 {
                draft.actions = ActionPolicy::read_only();
            }
        }
    }
    draft.check().ok()
}
