//! `jev task`: carries out a task file, or says what is wrong with it.

use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use clap::{Args, Subcommand};
use jev_agent::CancellationToken;
use jev_agent::runtime::{
    ChatPlanner, ContractPlanner, Decider, Planner, Runtime, RuntimeParts, Task, TaskResult,
    TaskState, Watchers,
};
use jev_agent::trajectory::Trajectory;
use jev_core::ids::Scope;
use jev_core::policy::Permission;
use jev_core::ports::SessionFactory;
use jev_session_cdp::{CdpSessionFactory, SessionOptions};
use serde_json::{Value, json};

use crate::chat::ChatArgs;
use crate::error::UsageError;
use crate::exit_code::Exit;
use crate::interrupt;
use crate::judge::{Chosen, JudgeArgs, shown};
use crate::memory::MemoryArgs;
use crate::output::ms;
use crate::story::{Story, clean};
use crate::trace::{self, TraceArgs};

/// Most characters of page text on one line.
const SHOWN: usize = 120;

/// `jev task`.
#[derive(Debug, Subcommand)]
pub(crate) enum TaskCommand {
    /// Carry out a task file: plan, execute, verify, recover.
    #[command(after_help = "\
Exit codes: 0 COMPLETED; else the exit code of the status underneath, see docs/statuses.md.
The file's schema: docs/task.schema.json.")]
    Run(Box<RunArgs>),
    /// Check a task file and say what it means. Opens nothing.
    Check {
        /// The task, TOML or JSON.
        file: PathBuf,
    },
}

/// `jev task run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The task, TOML or JSON.
    pub file: PathBuf,
    /// Who decides.
    #[command(flatten)]
    pub judge: JudgeArgs,
    /// Lets this chat model make the plan, instead of taking the file's own.
    #[command(flatten)]
    pub chat: ChatArgs,
    /// What has worked before.
    #[command(flatten)]
    pub memory: MemoryArgs,
    /// The browser to use. Default: found by search; JEV_CHROME names one too.
    #[arg(long, value_name = "PATH")]
    pub chrome: Option<PathBuf>,
    /// Print one JSON object instead of the story.
    #[arg(long)]
    pub json: bool,
    /// Whether the task is written down.
    #[command(flatten)]
    pub trace: TraceArgs,
}

/// Runs the command.
pub(crate) fn task(command: &TaskCommand) -> Result<Exit, UsageError> {
    match command {
        TaskCommand::Run(args) => run(args),
        TaskCommand::Check { file } => {
            let task = Task::load(file)?;
            let mut out = std::io::stdout();
            // A reader that went away is no failure.
            let _ = write!(out, "{}", describe(&task));
            Ok(Exit::Success)
        }
    }
}

fn run(args: &RunArgs) -> Result<Exit, UsageError> {
    let task = Task::load(&args.file)?;
    let planner: Arc<dyn Planner> = match args.chat.model()? {
        Some(model) => Arc::new(ChatPlanner::new(model)),
        None => Arc::new(ContractPlanner),
    };
    let named = args.judge.named()?;
    let chat_key = args.chat.key();
    let redactor = trace::redactor_hiding(named.key().into_iter().chain(&chat_key));
    let mut trajectory = args.trace.begin(redactor.clone())?;
    // Making the judge may make a recording, so everything else is checked before.
    let mut chosen = named.build()?;
    chosen.hiding.know(&chat_key);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(UsageError::Runtime)?;
    let factory: Arc<dyn SessionFactory> = Arc::new(CdpSessionFactory::new(SessionOptions {
        chrome: args.chrome.clone(),
        ..SessionOptions::default()
    }));
    let parts = RuntimeParts {
        factory: Trajectory::watch(trajectory.as_ref(), factory),
        planner,
        decider: Decider::Judge(Arc::clone(&chosen.judge)),
        scope: Scope::new("local", format!("jev-{}", std::process::id()), "tab-1")?,
        memory: args
            .memory
            .for_a_run(redactor.clone())
            .map(|memory| Arc::new(Mutex::new(memory))),
        redactor,
    };
    let result = runtime.block_on(carry_out(parts, &task, args, &chosen, trajectory.as_mut()));
    trace::tell(trajectory.as_ref());
    let result = result?;
    if args.json {
        let text = chosen.hiding.value(object(&result, &chosen)).to_string();
        let _ = writeln!(std::io::stdout(), "{text}");
    } else {
        tell(&mut chosen.hiding.lines(std::io::stdout()), &result);
    }
    crate::ending::end(runtime);
    Ok(match result.state {
        TaskState::Completed => Exit::Success,
        TaskState::Blocked => Exit::from(result.reason.status()),
    })
}

/// What `--json` prints: the result, what it cost, and what the user should know.
fn object(result: &TaskResult, chosen: &Chosen) -> Value {
    let mut object = serde_json::to_value(result).unwrap_or_default();
    if let Value::Object(fields) = &mut object {
        let cost = chosen.price.map(|price| price.of(result.usage));
        fields.insert("cost".to_owned(), json!(cost));
        let notices: Vec<&String> = chosen.notice.iter().collect();
        fields.insert("notices".to_owned(), json!(notices));
    }
    object
}

async fn carry_out(
    parts: RuntimeParts,
    task: &Task,
    args: &RunArgs,
    chosen: &Chosen,
    trajectory: Option<&mut Trajectory>,
) -> Result<TaskResult, UsageError> {
    let cancel = CancellationToken::new();
    let watcher = interrupt::watch(cancel.clone());
    let mut runtime = Runtime::new(parts);
    let result = if args.json {
        if let Some(notice) = &chosen.notice {
            aside!("note: {notice}");
        }
        let mut nobody = jev_agent::Unobserved;
        let watchers = Watchers {
            trajectory,
            observer: &mut nobody,
        };
        runtime.run(task, watchers, &cancel).await
    } else {
        let mut out = chosen.hiding.lines(std::io::stdout());
        let _ = write!(out, "{}", describe(task));
        let _ = writeln!(out, "judge    {}", shown(&chosen.judge.identity()));
        if let Some(notice) = &chosen.notice {
            let _ = writeln!(out, "note     {notice}");
        }
        let _ = writeln!(out);
        let mut lines = Story::bare(out);
        let watchers = Watchers {
            trajectory,
            observer: &mut lines,
        };
        runtime.run(task, watchers, &cancel).await
    };
    watcher.abort();
    Ok(result?)
}

/// What a task means, for a person.
fn describe(task: &Task) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| text.push_str(&format!("{name:<8} {value}\n"));
    line("goal", clean(task.goal.as_str(), 400));
    line("start", task.start.to_string());
    let allowed: Vec<String> = task
        .access
        .patterns()
        .iter()
        .map(ToString::to_string)
        .collect();
    line("allowed", allowed.join(" "));
    let mut success = task.success.expect.join("  and  ");
    if let Some(url) = &task.success.expect_url {
        success.push_str(&format!("  at {url}"));
    }
    line("success", success);
    let budgets = &task.budgets;
    line(
        "budget",
        format!(
            "{} steps, {} recoveries, {} actions, {}",
            budgets.steps,
            budgets.recoveries,
            budgets.actions,
            humantime::format_duration(budgets.time),
        ),
    );
    let mut actions = vec!["links".to_owned()];
    let named = |allowed, name: &str| (allowed == Permission::Allowed).then(|| name.to_owned());
    actions.extend(named(task.actions.scroll, "scroll"));
    actions.extend(named(task.actions.back, "back"));
    actions.extend(named(task.actions.reload, "reload"));
    actions.extend(task.actions.keys.iter().map(|key| format!("{key:?}")));
    if !task.actions.allow.is_empty() {
        actions.push(format!("{} named controls", task.actions.allow.len()));
    }
    line("actions", actions.join(", "));
    if let Some(plan) = &task.plan {
        for (number, step) in (1..).zip(plan.steps()) {
            line(
                &format!("step {number}"),
                clean(step.objective.as_str(), 400),
            );
        }
    }
    text
}

fn tell(out: &mut impl Write, result: &TaskResult) {
    let _ = writeln!(out, "\n{}", result.line());
    let status = result.reason.status();
    let mut why = format!("status   {}  {}", status.name(), status.sentence());
    if let Some(words) = result.reason.words() {
        why.push_str(&format!("\ncause    {}", clean(&words, 400)));
    }
    let _ = writeln!(out, "{why}");
    for step in &result.plan {
        let _ = writeln!(
            out,
            "step     {} ({})",
            clean(&step.objective, SHOWN),
            step.status.name()
        );
    }
    for piece in &result.evidence {
        let _ = writeln!(out, "evidence \u{201c}{}\u{201d}", clean(&piece.quote, 300));
    }
    if let Some(output) = &result.output {
        let _ = writeln!(out, "page     {}", output.url);
    }
    let _ = writeln!(out, "elapsed  {} ms", ms(result.elapsed));
}
