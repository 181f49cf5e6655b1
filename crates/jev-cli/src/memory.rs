//! `jev memory`: what has been learnt, looked at and corrected by hand; and `--memory` of the
//! commands that use it.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use jev_agent::memory::{Experience, Memory, MemoryError, Opened, Purge, TrailStep};
use jev_core::redact::Redactor;

use crate::error::UsageError;
use crate::exit_code::Exit;
use crate::story::clean;
use crate::trace::redactor;

/// Where the memory is.
#[derive(Debug, Default, Args)]
pub(crate) struct MemoryArgs {
    /// The file of the experience memory. Default: jev/experience.db in the user's data folder.
    #[arg(long, value_name = "FILE", env = "JEV_MEMORY")]
    pub memory: Option<PathBuf>,
    /// Neither use nor write the experience memory.
    #[arg(long, conflicts_with = "memory")]
    pub no_memory: bool,
}

impl MemoryArgs {
    fn file(&self) -> Option<PathBuf> {
        self.memory
            .clone()
            .or_else(|| default_file(&|name| std::env::var_os(name)))
    }

    /// The memory of a run. What is wrong with it is said, and the run goes on without it.
    pub(crate) fn for_a_run(&self, redactor: Redactor) -> Option<Memory> {
        if self.no_memory {
            return None;
        }
        match Memory::open(&self.file()?, redactor) {
            Ok(opened) => Some(told(opened)),
            Err(error) => {
                aside!("note: {error}; going on without it");
                None
            }
        }
    }
}

/// `jev/experience.db` in the folder where users keep their data.
fn default_file(variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let folder = |name: &str| {
        variable(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let data = folder("XDG_DATA_HOME")
        .or_else(|| folder("LOCALAPPDATA"))
        .or_else(|| folder("HOME").map(|home| home.join(".local/share")))?;
    Some(data.join("jev").join("experience.db"))
}

fn told(opened: Opened) -> Memory {
    if let Some(aside) = opened.set_aside {
        aside!(
            "note: the experience memory was broken; it was kept as {} and a new one begun",
            aside.display()
        );
    }
    opened.memory
}

/// `jev memory`.
#[derive(Debug, Args)]
pub(crate) struct MemoryCommandArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: MemoryCommand,
    /// The file of the experience memory. Default: jev/experience.db in the user's data folder.
    #[arg(long, value_name = "FILE", env = "JEV_MEMORY", global = true)]
    pub memory: Option<PathBuf>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    /// List every experience, newest change first.
    List {
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
    },
    /// Show one experience with its way.
    Show {
        /// Its number.
        id: i64,
    },
    /// Promote a candidate: from now on it is shown to policies and planners.
    Promote {
        /// Its number.
        id: i64,
    },
    /// Retire an experience, for ever.
    Retire {
        /// Its number.
        id: i64,
    },
    /// Delete experiences from the file.
    #[command(group(clap::ArgGroup::new("what").required(true)))]
    Purge {
        /// One, by its number.
        #[arg(group = "what")]
        id: Option<i64>,
        /// All retired ones.
        #[arg(long, group = "what")]
        retired: bool,
        /// Everything.
        #[arg(long, group = "what")]
        all: bool,
    },
}

/// Runs the command.
pub(crate) fn memory(args: &MemoryCommandArgs) -> Result<Exit, UsageError> {
    let file = MemoryArgs {
        memory: args.memory.clone(),
        no_memory: false,
    }
    .file()
    .ok_or(UsageError::NoMemoryPlace)?;
    let mut memory = told(Memory::open(&file, redactor())?);
    let mut out = std::io::stdout().lock();
    carry_out(&mut memory, &args.command, &mut out)?;
    Ok(Exit::Success)
}

// A reader that went away is no failure.
fn carry_out(
    memory: &mut Memory,
    command: &MemoryCommand,
    out: &mut impl Write,
) -> Result<(), MemoryError> {
    match command {
        MemoryCommand::List { json } => {
            let known = memory.list()?;
            for experience in &known {
                let line = if *json {
                    serde_json::to_string(experience).unwrap_or_default()
                } else {
                    line(experience)
                };
                let _ = writeln!(out, "{line}");
            }
            if known.is_empty() && !json {
                let _ = writeln!(out, "nothing has been learnt yet");
            }
        }
        MemoryCommand::Show { id } => show(&memory.show(*id)?, out),
        MemoryCommand::Promote { id } => show(&memory.promote(*id)?, out),
        MemoryCommand::Retire { id } => show(&memory.retire(*id)?, out),
        MemoryCommand::Purge { id, retired, .. } => {
            let what = match (id, retired) {
                (Some(id), _) => Purge::One(*id),
                (None, true) => Purge::Retired,
                (None, false) => Purge::All,
            };
            let gone = memory.purge(what)?;
            let _ = writeln!(out, "{gone} deleted");
        }
    }
    Ok(())
}

fn line(experience: &Experience) -> String {
    format!(
        "{:>5}  {:<9}  {:>3} ok {:>3} failed  {}  \u{201c}{}\u{201d}",
        experience.id,
        experience.state.name(),
        experience.successes,
        experience.failures,
        clean(&experience.origin, 60),
        clean(&experience.goal, 80),
    )
}

fn show(experience: &Experience, out: &mut impl Write) {
    let _ = writeln!(out, "{}", line(experience));
    for step in &experience.steps {
        let words = match step {
            TrailStep::Follow { path } => format!("follow {path}"),
            TrailStep::Press { role, name } => format!("press the {} {name}", role.word()),
            TrailStep::ScrollDown => "scroll down".to_owned(),
            TrailStep::ScrollUp => "scroll up".to_owned(),
            TrailStep::Back => "go back".to_owned(),
            TrailStep::Reload => "reload".to_owned(),
            TrailStep::Key { key } => format!("press {key:?}"),
        };
        let _ = writeln!(out, "       {}", clean(&words, 200));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_place_is_the_users_data_folder() {
        let place = |set: &'static [(&str, &str)]| {
            default_file(&|name| {
                set.iter()
                    .find(|(known, _)| *known == name)
                    .map(|(_, value)| OsString::from(value))
            })
        };
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(
            place(&[("XDG_DATA_HOME", "x"), ("HOME", "h")]),
            path("x/jev/experience.db")
        );
        assert_eq!(
            place(&[("XDG_DATA_HOME", ""), ("HOME", "h")]),
            path("h/.local/share/jev/experience.db")
        );
        assert_eq!(place(&[]), None);
    }
}
