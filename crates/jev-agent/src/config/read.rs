//! How the tool reads: the `[read]` table of the host's file, and an agent's overrides, which may
//! only be stricter.

use std::time::Duration;

use jev_core::contract::{Layout, Mode, Reach, VerifyFirst};
use jev_core::gate::{Gate, GateKind, THRESHOLD_MAX, THRESHOLD_MIN};
use jev_core::limits::{
    BUDGET, BUDGET_MAX_TOOL, BUDGET_MIN, Bound, CANDIDATES, Limits, NO_PROGRESS, RECOVERIES, STALE,
    STATE_CHARS, STEPS, WAITS,
};
use jev_core::ports::JudgeKind;
use serde::Serialize;
use serde_json::{Map, Value};

use super::error::ConfigError;
use super::reader::{Table, names_a_credential};

/// The only version of these settings. A later one will mean other defaults, never other meanings.
pub const READ_VERSION: u32 = 1;

/// Characters of visible text that the tool returns when nothing is said: about 5,000 tokens.
pub const TEXT_CHARS: u32 = 20_000;
/// The fewest characters of visible text that may be asked for.
pub const TEXT_CHARS_MIN: u32 = 200;
/// The most characters of visible text that may be asked for.
pub const TEXT_CHARS_MAX: u32 = 200_000;

/// How the tool reads. Build it from a file or from [`ReadSettings::default`], which is OFF.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReadSettings {
    /// How far a run goes. OFF when nothing is said: the first page is read once, no judge is asked.
    pub mode: Mode,
    /// One clock for a whole run, 1 ms to 30 s.
    pub budget: Duration,
    /// What is compared with the threshold; none: what suits the judge's kind.
    pub gate: Option<GateKind>,
    /// How strong a choice must be, 0.55 to 1. There unless the mode is OFF.
    pub threshold: Option<f64>,
    /// Counters.
    pub limits: Limits,
    /// Viewport or whole document.
    pub reach: Reach,
    /// One question or two.
    pub layout: Layout,
    /// Whether every new page is verified before the judge is asked.
    pub verify_first: VerifyFirst,
    /// Most characters of visible text in the tool's output.
    pub text_chars: u32,
}

impl Default for ReadSettings {
    fn default() -> Self {
        Self {
            mode: Mode::Off,
            budget: BUDGET,
            gate: None,
            threshold: None,
            limits: Limits::default(),
            reach: Reach::default(),
            layout: Layout::default(),
            verify_first: VerifyFirst::default(),
            text_chars: TEXT_CHARS,
        }
    }
}

const MODES: [(&str, Mode); 3] = [
    ("off", Mode::Off),
    ("shadow", Mode::Shadow),
    ("enforce", Mode::Enforce),
];
const GATES: [(&str, GateKind); 2] = [
    ("probability", GateKind::Probability),
    ("share", GateKind::Share),
];
const REACHES: [(&str, Reach); 2] = [("viewport", Reach::Viewport), ("document", Reach::Document)];
const LAYOUTS: [(&str, Layout); 2] = [("flat", Layout::Flat), ("two_head", Layout::TwoHead)];
const VERIFY_FIRST: [(&str, VerifyFirst); 2] = [("on", VerifyFirst::On), ("off", VerifyFirst::Off)];

/// Every key of a `limits` table with its bound.
const LIMITS: [(&str, Bound); 7] = [
    ("steps", STEPS),
    ("stale", STALE),
    ("no_progress", NO_PROGRESS),
    ("waits", WAITS),
    ("recoveries", RECOVERIES),
    ("state_chars", STATE_CHARS),
    ("candidates", CANDIDATES),
];

fn limit<'a>(limits: &'a mut Limits, key: &str) -> Option<&'a mut u32> {
    match key {
        "steps" => Some(&mut limits.steps),
        "stale" => Some(&mut limits.stale),
        "no_progress" => Some(&mut limits.no_progress),
        "waits" => Some(&mut limits.waits),
        "recoveries" => Some(&mut limits.recoveries),
        "state_chars" => Some(&mut limits.state_chars),
        "candidates" => Some(&mut limits.candidates),
        _ => None,
    }
}

/// What a `[read]` table or an override says, before it is laid over anything.
#[derive(Clone, Debug, Default, PartialEq)]
struct Said {
    mode: Option<Mode>,
    budget: Option<Duration>,
    gate: Option<GateKind>,
    threshold: Option<f64>,
    limits: Vec<(&'static str, u32)>,
    reach: Option<Reach>,
    layout: Option<Layout>,
    verify_first: Option<VerifyFirst>,
    text_chars: Option<u32>,
}

impl Said {
    fn read(table: &mut Table) -> Result<Self, ConfigError> {
        table.count("version", READ_VERSION, READ_VERSION)?;
        let mut said = Self {
            mode: table.word("mode", &MODES)?,
            budget: table.duration("budget", BUDGET_MIN, BUDGET_MAX_TOOL)?,
            gate: table.word("gate", &GATES)?,
            threshold: table.number("threshold", THRESHOLD_MIN, THRESHOLD_MAX)?,
            limits: Vec::new(),
            reach: table.word("reach", &REACHES)?,
            layout: table.word("layout", &LAYOUTS)?,
            verify_first: table.word("verify_first", &VERIFY_FIRST)?,
            text_chars: table.count("text_chars", TEXT_CHARS_MIN, TEXT_CHARS_MAX)?,
        };
        if let Some(mut limits) = table.table("limits")? {
            for (key, bound) in LIMITS {
                if let Some(value) = limits.count(key, bound.min, bound.max)? {
                    said.limits.push((key, value));
                }
            }
            limits.finish()?;
        }
        Ok(said)
    }

    fn over(self, base: &ReadSettings) -> ReadSettings {
        let mut limits = base.limits;
        for (key, value) in self.limits {
            if let Some(place) = limit(&mut limits, key) {
                *place = value;
            }
        }
        ReadSettings {
            mode: self.mode.unwrap_or(base.mode),
            budget: self.budget.unwrap_or(base.budget),
            gate: self.gate.or(base.gate),
            threshold: self.threshold.or(base.threshold),
            limits,
            reach: self.reach.unwrap_or(base.reach),
            layout: self.layout.unwrap_or(base.layout),
            verify_first: self.verify_first.unwrap_or(base.verify_first),
            text_chars: self.text_chars.unwrap_or(base.text_chars),
        }
    }
}

impl ReadSettings {
    /// Reads a `[read]` table over the defaults.
    pub(super) fn read(mut table: Table) -> Result<Self, ConfigError> {
        let settings = Said::read(&mut table)?.over(&Self::default());
        let threshold = table.key("threshold");
        table.finish()?;
        if settings.mode != Mode::Off && settings.threshold.is_none() {
            return Err(ConfigError::Missing {
                key: threshold,
                why: "unless the mode is off, say how strong a choice must be, 0.55 to 1",
            });
        }
        Ok(settings)
    }

    /// These settings under an agent's overrides.
    ///
    /// # Errors
    /// [`ConfigError::Wider`] for the first key that asks for more than these settings allow: a mode
    /// that goes further, a longer budget, a lower threshold, another gate, a higher limit, a wider
    /// reach, more text, or verify-first switched off.
    pub fn narrowed(&self, overrides: &Overrides) -> Result<Self, ConfigError> {
        let said = &overrides.said;
        let wider = |key: &str| ConfigError::Wider {
            key: key.to_owned(),
        };
        if said.mode.is_some_and(|mode| far(mode) > far(self.mode)) {
            return Err(wider("mode"));
        }
        if said.budget.is_some_and(|budget| budget > self.budget) {
            return Err(wider("budget"));
        }
        if said.gate.is_some_and(|gate| Some(gate) != self.gate) {
            return Err(wider("gate"));
        }
        if said.reach == Some(Reach::Document) && self.reach == Reach::Viewport {
            return Err(wider("reach"));
        }
        if let (Some(asked), Some(own)) = (said.threshold, self.threshold)
            && asked < own
        {
            return Err(wider("threshold"));
        }
        let mut own = self.limits;
        for (key, value) in &said.limits {
            if limit(&mut own, key).is_some_and(|own| *value > *own) {
                return Err(wider(&format!("limits.{key}")));
            }
        }
        if said.text_chars.is_some_and(|chars| chars > self.text_chars) {
            return Err(wider("text_chars"));
        }
        if said.verify_first == Some(VerifyFirst::Off) && self.verify_first == VerifyFirst::On {
            return Err(wider("verify_first"));
        }
        Ok(said.clone().over(self))
    }

    /// The gate for a judge of this kind: the one set, else the kind's own with the threshold set.
    /// OFF needs none; the kind's default is returned then and never used.
    #[must_use]
    pub fn gate(&self, kind: JudgeKind) -> Gate {
        let default = match kind {
            JudgeKind::Decides => Gate::deciding(),
            JudgeKind::Ranks => Gate::ranking(),
        };
        let Some(threshold) = self.threshold else {
            return default;
        };
        // The threshold was checked when it was read; a host that built these settings by hand
        // with a threshold outside the range gets the strictest gate, never a lax one.
        let kind = self.gate.unwrap_or(default.kind());
        Gate::new(kind, threshold)
            .or_else(|_| Gate::new(kind, THRESHOLD_MAX))
            .unwrap_or(default)
    }
}

/// How far a mode goes.
const fn far(mode: Mode) -> u8 {
    match mode {
        Mode::Off => 0,
        Mode::Shadow => 1,
        Mode::Enforce => 2,
    }
}

/// What an agent asks to have otherwise. Checked before anything is built from it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    said: Said,
}

/// Keys that only the host's file may hold.
const HOST_KEYS: [&str; 18] = [
    "judge",
    "provider",
    "model",
    "path",
    "env_file",
    "endpoint",
    "url",
    "base_url",
    "source",
    "sources",
    "start",
    "allow",
    "expect",
    "expect_url",
    "verify",
    "browser",
    "trace",
    "mcp",
];

impl Overrides {
    /// Reads an object of the keys of a `[read]` table.
    ///
    /// # Errors
    /// [`ConfigError::HostOnly`] for addresses, endpoints and sources, [`ConfigError::Credential`]
    /// for keys, and as for the host's file otherwise; each names the key.
    pub fn parse(value: &Value) -> Result<Self, ConfigError> {
        let Value::Object(entries) = value else {
            return Err(ConfigError::Type {
                key: "overrides".to_owned(),
                expected: "an object",
            });
        };
        refuse_addresses("", entries)?;
        let mut table = Table::new("", entries.clone());
        let said = Said::read(&mut table)?;
        table.finish()?;
        Ok(Self { said })
    }
}

/// Refuses what only the host may say, wherever it stands, before any of it is read.
fn refuse_addresses(path: &str, entries: &Map<String, Value>) -> Result<(), ConfigError> {
    let table = Table::new(path, Map::new());
    for (name, value) in entries {
        let key = table.key(name);
        let lower = name.to_lowercase().replace('-', "_");
        if names_a_credential(&lower) {
            return Err(ConfigError::Credential { key });
        }
        if HOST_KEYS.contains(&lower.as_str()) || holds_address(value) {
            return Err(ConfigError::HostOnly { key });
        }
        if let Value::Object(inner) = value {
            refuse_addresses(&key, inner)?;
        }
    }
    Ok(())
}

/// Whether a value is, or a list holds, something like an address.
fn holds_address(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("://"),
        Value::Array(items) => items.iter().any(holds_address),
        // Tables are walked by name.
        Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
