//! `jev init`: writes a commented configuration and tries it at once.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use jev_agent::config::{Config, FILE_NAME, ReadSettings, SourceSettings};
use jev_agent::permission::Ruling;
use jev_agent::source::{RunContext, Shared};
use jev_agent::tool::{
    AtOnce, Connection, Effects, Naming, ReadBrowser, ToolCall, ToolDefinition, ToolError,
};
use jev_agent::{CancellationToken, Unobserved};
use jev_core::access::CanonicalUrl;
use jev_core::ports::SessionFactory;
use jev_core::status::Status;
use jev_session_cdp::{CdpSessionFactory, SessionOptions};
use serde_json::{Value, json};

use crate::doctor;
use crate::error::UsageError;
use crate::exit_code::Exit;
use crate::output::Form;

/// The file as it is written, with `@NAME@` where an answer goes.
const TEMPLATE: &str = include_str!("init.toml");

/// `jev init`.
#[derive(Debug, Args)]
#[command(after_help = "\
Nothing is ever overwritten. Exit codes: 0 written and in order; 2 usage, or the file is there
already; 5 and 6 written, and judge or browser need a look (`jev doctor`), or the start page could not
be read; another one as in docs/statuses.md: written, and so ended the look at the start page.")]
pub(crate) struct InitArgs {
    /// The page that runs start on. Without it the file holds an example to be filled in.
    #[arg(long, value_name = "URL")]
    pub start: Option<String>,
    /// A regular expression that the page with the answer must match. Repeatable.
    #[arg(long, value_name = "REGEX", requires = "start")]
    pub expect: Vec<String>,
    /// Where to write.
    #[arg(long, value_name = "FILE", default_value = FILE_NAME)]
    pub file: PathBuf,
}

/// Runs the command.
pub(crate) fn init(args: &InitArgs) -> Result<Exit, UsageError> {
    let start = args
        .start
        .as_deref()
        .map(CanonicalUrl::parse)
        .transpose()
        .map_err(UsageError::Start)?;
    let text = written(start.as_ref(), &args.expect);
    // Read before it is written: a file that can't be read back is never left behind.
    let folder = args.file.parent().unwrap_or(Path::new(""));
    let config = Config::parse(&text, folder)?;
    write(&args.file, &text)?;
    say!("wrote    {}", args.file.display());
    let runtime = tokio::runtime::Runtime::new().map_err(UsageError::Runtime)?;
    let checks = runtime.block_on(doctor::examine(&config, None));
    let mut exit = doctor::tell(&checks, Form::Lines);
    if let (Exit::Success, Some(source)) = (exit, config.sources.first()) {
        let tried = runtime.block_on(look(&config, source));
        say!("tried    {}", tried.says);
        exit = tried.exit;
    }
    crate::ending::end(runtime);
    say!(
        "next     edit {}, then `jev doctor`, then docs/mcp.md",
        args.file.display()
    );
    Ok(exit)
}

fn write(file: &Path, text: &str) -> Result<(), UsageError> {
    let failed = |source: std::io::Error| {
        let name = file.display().to_string();
        if source.kind() == std::io::ErrorKind::AlreadyExists {
            UsageError::Exists { file: name }
        } else {
            UsageError::Write {
                field: "file",
                path: name,
                source,
            }
        }
    };
    let mut opened = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(file)
        .map_err(failed)?;
    opened.write_all(text.as_bytes()).map_err(failed)?;
    opened.sync_all().map_err(failed)
}

/// What came of the look at the start page.
struct Tried {
    says: String,
    exit: Exit,
}

/// One look at the start page, as a call with the mode off takes it.
async fn look(config: &Config, settings: &SourceSettings) -> Tried {
    let factory: Arc<dyn SessionFactory> =
        Arc::new(CdpSessionFactory::new(SessionOptions::default()));
    let (Ok(source), Ok(judge)) = (settings.source(&factory), config.judge.build()) else {
        return Tried {
            says: "the configuration can't be used".to_owned(),
            exit: Exit::Usage,
        };
    };
    let tool = ReadBrowser::new(
        ToolDefinition::read_browser(Naming::Single, None, Effects::of(&settings.actions)),
        Arc::new(Shared(source)),
        judge,
        ReadSettings::default(),
    );
    let arguments = json!({"goal": "Look at the start page."});
    let outcome = tool
        .read(ToolCall {
            context: Some(&RunContext::new("local", "init")),
            connection: Connection::Lasting,
            arguments: &arguments,
            gate: &Ruling::Allow,
            turns: &AtOnce,
            observer: &mut Unobserved,
            cancel: &CancellationToken::new(),
        })
        .await;
    match outcome {
        Ok(outcome) if outcome.report.status == Status::Observed => {
            let characters = outcome
                .report
                .page
                .map_or(0, |page| page.text.chars().count());
            Tried {
                says: format!("{} was read: {characters} characters", settings.start),
                // OBSERVED is what a look comes to when all is in order.
                exit: Exit::Success,
            }
        }
        Ok(outcome) => Tried {
            says: format!(
                "{} was not read: {}{}",
                settings.start,
                outcome.report.status.sentence(),
                outcome
                    .report
                    .cause
                    .map(|cause| format!(" ({cause})"))
                    .unwrap_or_default()
            ),
            exit: Exit::from(outcome.report.status),
        },
        Err(error) => Tried {
            says: error.to_string(),
            exit: match error {
                ToolError::Failed => Exit::Browser,
                ToolError::Cancelled => Exit::Cancelled,
                ToolError::SourceRequired
                | ToolError::ScopeAndGoalRequired(_)
                | ToolError::Arguments(_)
                | ToolError::Denied { .. }
                | ToolError::NotConsented(_)
                | ToolError::Busy { .. }
                | ToolError::Contract(_)
                | ToolError::Session(_) => Exit::Usage,
            },
        },
    }
}

/// The template with its answers.
fn written(start: Option<&CanonicalUrl>, expect: &[String]) -> String {
    // A JSON string or list of strings is one in TOML too: both escape alike.
    let quoted = |value: Value| value.to_string();
    let (comment, start) = match start {
        Some(start) => ("", start.as_str()),
        None => ("# ", "https://docs.example.org/handbook/"),
    };
    let expect_line = if expect.is_empty() {
        format!("# expect = {}", quoted(json!([r"\d+ months"])))
    } else {
        format!("expect = {}", quoted(json!(expect)))
    };
    TEMPLATE
        .replace("@COMMENT@", comment)
        .replace("@START@", &quoted(json!(start)))
        .replace("@EXPECT@", &expect_line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_can_be_read_back() {
        let plain = Config::parse(&written(None, &[]), Path::new("")).unwrap();
        assert!(plain.sources.is_empty());
        let start = CanonicalUrl::parse("http://h/a'\"b/").unwrap();
        let expect = [r#"\d+ "months"\s"#.to_owned(), "ä\t".to_owned()];
        let config = Config::parse(&written(Some(&start), &expect), Path::new("")).unwrap();
        let [source] = config.sources.as_slice() else {
            panic!("one source");
        };
        assert_eq!(source.start, start);
        assert_eq!(source.criteria(), jev_verify::Criteria::Evidence);
        assert_eq!(config.read, ReadSettings::default());
    }
}
