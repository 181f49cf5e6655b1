//! Who decides: the options of every command that asks a judge, the judge made of them, and the
//! commands of `jev judge`.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, Subcommand};
use jev_core::gate::{Gate, THRESHOLD_MAX, THRESHOLD_MIN};
use jev_core::ports::{Judge, JudgeIdentity, JudgeKind};
use jev_core::redact::Redactor;
use jev_core::telemetry::Price;
use jev_judge::credential::Secret;
use jev_judge::permute::ORDERS_MAX;
use jev_judge::spec::{BuildOptions, JudgeSpec};
use serde_json::Value;

use crate::args::GateArg;
use crate::error::UsageError;
use crate::exit_code::Exit;
use crate::prepare::whole;

mod ask;
#[cfg(feature = "embedded")]
mod install;
#[cfg(feature = "server")]
mod serve;

/// `jev judge`.
#[derive(Debug, Subcommand)]
pub(crate) enum JudgeCommand {
    /// Install the embedded judge's model: all-MiniLM-L6-v2, 92 MB.
    #[cfg(feature = "embedded")]
    Install(install::InstallArgs),
    /// Serve a judge of this program to other tools, on this machine only.
    #[cfg(feature = "server")]
    Serve(serve::ServeArgs),
    /// Ask a judge for one decision.
    Ask(Box<ask::AskArgs>),
}

/// Runs a command of `jev judge`.
pub(crate) fn judge(command: &JudgeCommand) -> Result<Exit, UsageError> {
    match command {
        #[cfg(feature = "embedded")]
        JudgeCommand::Install(args) => install::install(args),
        #[cfg(feature = "server")]
        JudgeCommand::Serve(args) => serve::serve(args),
        JudgeCommand::Ask(args) => ask::ask(args),
    }
}

/// The help of `--judge`: square brackets in a comment would be links.
const JUDGES: &str = "Who decides: lexical, embedded, scripted:FILE, systemone:URL[#MODEL], chat:URL#MODEL, \
     typesafe[:MODEL], openrouter[:MODEL], record:FILE=JUDGE or replay:FILE. Default: embedded when its model is \
     installed, else lexical";

/// The options that name a judge.
#[derive(Debug, Default, Args)]
pub(crate) struct JudgeArgs {
    /// Who decides.
    #[arg(long, value_name = "JUDGE", help = JUDGES)]
    pub judge: Option<String>,
    /// Ask every choice in so many option orders, 1 to 8, and average.
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub permute: Option<String>,
    /// The dotenv file that holds the judge's key, instead of the environment.
    #[arg(long, value_name = "FILE")]
    pub env_file: Option<PathBuf>,
    /// The name of the key's variable, instead of the provider's own.
    #[arg(long, value_name = "VAR")]
    pub key_env: Option<String>,
    /// What a million input and a million output tokens cost, as in 0.05,0.20. Without it no
    /// money is counted.
    #[arg(long, value_name = "IN,OUT", allow_hyphen_values = true)]
    pub price: Option<String>,
}

/// A judge that can be asked.
pub(crate) struct Chosen {
    /// The judge.
    pub judge: Arc<dyn Judge>,
    /// What its tokens cost, when that is known.
    pub price: Option<Price>,
    /// Takes the keys out of texts.
    pub hiding: Hiding,
    /// What the user should know: the judge that was wanted is not to be had.
    pub notice: Option<String>,
}

/// A judge that is named and not yet made.
pub(crate) struct Named {
    spec: JudgeSpec,
    options: BuildOptions,
    price: Option<Price>,
    key: Option<Secret>,
    notice: Option<String>,
}

impl Named {
    /// The judge's key, only to be kept out of what is written.
    pub(crate) fn key(&self) -> Option<&Secret> {
        self.key.as_ref()
    }

    /// Makes the judge. A recording's file is created here, so this comes after all other checks.
    pub(crate) fn build(self) -> Result<Chosen, UsageError> {
        let judge = self.spec.build(&self.options).map_err(UsageError::Judge)?;
        Ok(Chosen {
            judge,
            price: self.price,
            hiding: Hiding::of(&self.key),
            notice: self.notice,
        })
    }
}

impl JudgeArgs {
    /// The judge, made at once.
    pub(crate) fn choose(&self) -> Result<Chosen, UsageError> {
        self.named()?.build()
    }

    /// Which judge it is to be. Creates nothing.
    pub(crate) fn named(&self) -> Result<Named, UsageError> {
        let price = self.price.as_deref().map(price).transpose()?;
        let permute = match &self.permute {
            None => None,
            Some(text) => Some(whole("permute", text, 1..=ORDERS_MAX as u32)? as usize),
        };
        let options = BuildOptions {
            permute,
            env_file: self.env_file.clone(),
            key_variable: self.key_env.clone(),
            ..BuildOptions::default()
        };
        let (spec, notice) = match &self.judge {
            Some(text) => (JudgeSpec::parse(text).map_err(UsageError::Judge)?, None),
            None => preferred(),
        };
        // A key that is missing is the judge's own error, at the first question.
        let key = spec.credential(&options).read().unwrap_or_default();
        Ok(Named {
            spec,
            options,
            price,
            key,
            notice,
        })
    }
}

/// The judge of a user who named none, and what to tell them when it is only the second best.
fn preferred() -> (JudgeSpec, Option<String>) {
    let spec = JudgeSpec::preferred();
    let notice = match spec {
        JudgeSpec::Lexical if cfg!(feature = "embedded") => Some(
            "the lexical judge decides, which only compares words: the embedded judge's model is \
             not installed; `jev judge install` gets it",
        ),
        JudgeSpec::Lexical => Some(
            "the lexical judge decides, which only compares words: this build has no embedded judge",
        ),
        JudgeSpec::Embedded
        | JudgeSpec::Scripted { .. }
        | JudgeSpec::Compatible { .. }
        | JudgeSpec::Chat { .. }
        | JudgeSpec::TypeSafe { .. }
        | JudgeSpec::OpenRouter { .. }
        | JudgeSpec::Record { .. }
        | JudgeSpec::Replay { .. } => None,
    };
    (spec, notice.map(str::to_owned))
}

fn price(text: &str) -> Result<Price, UsageError> {
    let wrong = || UsageError::Price {
        text: text.to_owned(),
    };
    let (input, output) = text.split_once(',').ok_or_else(wrong)?;
    let number = |text: &str| text.trim().parse::<f64>().map_err(|_| wrong());
    Price::per_million(number(input)?, number(output)?).map_err(|_| wrong())
}

/// The gate that was asked for, else the one that fits the judge.
pub(crate) fn gate(
    kind: Option<GateArg>,
    threshold: Option<&str>,
    judge: JudgeKind,
) -> Result<Gate, UsageError> {
    let default = match (kind, judge) {
        (Some(GateArg::Probability), _) | (None, JudgeKind::Decides) => Gate::deciding(),
        (Some(GateArg::Share), _) | (None, JudgeKind::Ranks) => Gate::ranking(),
    };
    let Some(text) = threshold else {
        return Ok(default);
    };
    let threshold: f64 = text.trim().parse().map_err(|_| UsageError::Number {
        field: "threshold",
        text: text.to_owned(),
        min: THRESHOLD_MIN,
        max: THRESHOLD_MAX,
    })?;
    Ok(Gate::new(default.kind(), threshold)?)
}

/// Name and model, as a person reads them.
pub(crate) fn shown(identity: &JudgeIdentity) -> String {
    match &identity.model {
        Some(model) => format!("{}, model {model}", identity.name),
        None => identity.name.clone(),
    }
}

/// Takes the keys of judge and chat model out of whatever is written, should a page show them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hiding {
    redactor: Redactor,
}

impl Hiding {
    /// Knows these keys.
    pub(crate) fn of<'a>(keys: impl IntoIterator<Item = &'a Secret>) -> Self {
        let mut hiding = Self::default();
        hiding.know(keys);
        hiding
    }

    /// Learns these keys, too.
    pub(crate) fn know<'a>(&mut self, keys: impl IntoIterator<Item = &'a Secret>) {
        for key in keys {
            key.hide_in(&mut self.redactor);
        }
    }

    /// Every text inside a value.
    pub(crate) fn value(&self, value: Value) -> Value {
        self.redactor.known_only_in(value)
    }

    /// A writer of lines.
    pub(crate) fn lines<W: Write>(&self, out: W) -> HidingLines<W> {
        HidingLines {
            hiding: self.clone(),
            line: Vec::new(),
            out,
        }
    }
}

/// Passes whole lines on, the key taken out.
pub(crate) struct HidingLines<W: Write> {
    hiding: Hiding,
    line: Vec<u8>,
    out: W,
}

impl<W: Write> Write for HidingLines<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.line.extend_from_slice(bytes);
        while let Some(end) = self.line.iter().position(|byte| *byte == b'\n') {
            let rest = self.line.split_off(end + 1);
            let line = std::mem::replace(&mut self.line, rest);
            let line = String::from_utf8_lossy(&line);
            let shown = self.hiding.redactor.known_only(&line);
            self.out.write_all(shown.as_bytes())?;
        }
        Ok(bytes.len())
    }

    /// What is no whole line yet stays: a key may end in the next piece.
    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jev_core::redact::Hidden;
    use serde_json::json;

    fn hiding() -> Hiding {
        let mut hiding = Hiding::default();
        hiding
            .redactor
            .hide("sk-planted-0123456789", Hidden::Credential);
        hiding
    }

    #[test]
    fn the_key_is_taken_out_of_values_and_lines_however_they_come() {
        let value = json!({"a": ["x sk-planted-0123456789 y", 1], "b": null});
        assert_eq!(
            hiding().value(value),
            json!({"a": ["x [key] y", 1], "b": null})
        );
        let mut out = Vec::new();
        let mut lines = hiding().lines(&mut out);
        for piece in [
            "see sk-plan",
            "ted-0123456789",
            " here\nand ",
            "there\nrest",
        ] {
            write!(lines, "{piece}").unwrap();
            lines.flush().unwrap();
        }
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "see [key] here\nand there\n"
        );
    }

    #[test]
    fn prices_are_two_numbers() {
        for bad in ["", "1", "1,", "1,-2", "a,b", "1,2,3", "NaN,0"] {
            let error = price(bad).unwrap_err().to_string();
            assert!(error.contains("per million"), "{error}");
        }
        let usage = jev_core::question::Usage {
            input_tokens: 2_000_000,
            output_tokens: 500_000,
        };
        assert!((price("0.05, 0.2").unwrap().of(usage) - 0.2).abs() < 1e-12);
    }

    #[test]
    fn the_gate_follows_the_judge_unless_it_is_named() {
        for (kind, judge, expected) in [
            (None, JudgeKind::Ranks, Gate::ranking()),
            (None, JudgeKind::Decides, Gate::deciding()),
            (Some(GateArg::Share), JudgeKind::Decides, Gate::ranking()),
        ] {
            assert_eq!(gate(kind, None, judge).unwrap(), expected);
        }
        assert!(gate(None, Some("0.2"), JudgeKind::Ranks).is_err());
    }
}
