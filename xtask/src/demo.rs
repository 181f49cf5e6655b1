//! `cargo xtask demo`: the main job in a real Chromium, drawn so that a newcomer sees what happens.

use std::fs;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use jev_eval::site::Site;
use jev_eval::task::{self, Kind, Task};
use serde::Deserialize;

use crate::run::{self, Failure, cargo};
use crate::{picture, repo, setup};

/// Tasks of the public list that are shown: two and three clicks deep, one behind a page of 190 links.
const SHOWN: [&str; 3] = ["apache-005", "git-003", "sqlite3-005"];

/// A task whose site does not hold the answer.
const UNANSWERABLE: &str = "postgresql-007";

const WIDTH: usize = 100;

/// Options of `cargo xtask demo`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Also draw the first run's story into this SVG file, for the README.
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
}

/// Who decides in a scene.
enum Decider {
    /// A script of the repository.
    Script(PathBuf),
    /// The judge that `jev read` takes by itself.
    Default,
    /// A script that is written for the occasion, line by line.
    Lines(Vec<String>),
}

/// What must come of a scene for the demonstration to hold.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    Verified,
    NotVerified,
    /// VERIFIED or an end without verification; only a broken run is a fault.
    Honest,
}

struct Scene {
    title: String,
    words: String,
    task: Task,
    root: PathBuf,
    decider: Decider,
    expected: Expected,
}

/// The parts of a report file that the last table shows.
#[derive(Deserialize)]
struct ReportFile {
    judge: JudgeName,
    report: RunReport,
}

#[derive(Deserialize)]
struct JudgeName {
    name: String,
}

#[derive(Deserialize)]
struct RunReport {
    status: String,
    spent: Spent,
    timings: Timings,
    elapsed: Duration,
    verification: Option<Verification>,
}

#[derive(Deserialize)]
struct Spent {
    steps: u32,
    judge_calls: u32,
}

#[derive(Deserialize)]
struct Timings {
    open: Duration,
    judge: Duration,
}

#[derive(Deserialize)]
struct Verification {
    verdict: Verdict,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    Passed(Vec<Piece>),
    Refused(serde::de::IgnoredAny),
}

#[derive(Deserialize)]
struct Piece {
    quote: String,
}

/// One row of the last table.
struct Shown {
    title: String,
    expected: Expected,
    outcome: ReportFile,
}

/// `cargo xtask demo`.
pub(crate) fn command(arguments: &Arguments) -> Result<(), Failure> {
    let shown: Vec<&str> = SHOWN.into_iter().chain([UNANSWERABLE]).collect();
    let missing = setup::prepare_for(setup::Tasks::These(&shown))?.needed;
    if !missing.is_empty() {
        return Err(Failure::Missing {
            what: format!("the demonstration needs:\n  - {}", missing.join("\n  - ")),
        });
    }
    let jev = build()?;
    let work = repo::root().join("target/demo");
    fs::create_dir_all(&work).map_err(|error| Failure::file(&work, error))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::file(Path::new("runtime"), error))?;
    let stage = Stage {
        jev,
        work,
        runtime,
        paint: Paint::detect(),
        shown: Vec::new(),
    };
    stage.play(arguments.picture.as_deref())
}

/// Builds `jev` and says where it lies.
fn build() -> Result<PathBuf, Failure> {
    let text = run::output(cargo().args([
        "build",
        "--package",
        "jev-cli",
        "--message-format",
        "json-render-diagnostics",
    ]))?;
    text.lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| message["target"]["name"] == "jev")
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .ok_or_else(|| Failure::Unreadable {
            what: "cargo did not say where it put `jev`".to_owned(),
        })
}

struct Stage {
    jev: PathBuf,
    work: PathBuf,
    runtime: tokio::runtime::Runtime,
    paint: Paint,
    shown: Vec<Shown>,
}

impl Stage {
    fn play(mut self, picture: Option<&Path>) -> Result<(), Failure> {
        self.scene(&warranty()?, picture)?;
        let tasks = load(&repo::tasks())?;
        for id in SHOWN {
            let (task, root) = pick(&tasks, id)?;
            self.scene(&by_itself(&task, &root), None)?;
            let found = self
                .shown
                .last()
                .is_some_and(|shown| shown.outcome.report.status == "VERIFIED");
            if !found {
                self.scene(&by_the_way(task, root), None)?;
            }
        }
        let (task, root) = pick(&tasks, UNANSWERABLE)?;
        self.scene(&liar(task, root), None)?;
        self.summary()
    }

    /// Serves the site, shows the command, lets `jev` tell its story, keeps the report.
    fn scene(&mut self, scene: &Scene, picture: Option<&Path>) -> Result<(), Failure> {
        let site = self
            .runtime
            .block_on(Site::serve(&scene.root))
            .map_err(|error| Failure::Unreadable {
                what: error.to_string(),
            })?;
        let number = self.shown.len() + 1;
        let report = self.work.join(format!("{number}.json"));
        let mut command = self.command(scene, &site, number, &report)?;
        let head = format!("━━━ {number}. {} ", scene.title);
        let rule = "━".repeat(WIDTH.saturating_sub(head.chars().count()));
        println!("\n{}", self.paint.bold(&format!("{head}{rule}")));
        println!("{}\n", self.paint.dim(&scene.words));
        println!("$ jev read {}\n", typed(&command));
        // The exit code says how the run ended; that and more stands in the report.
        match picture {
            // The story comes from the child by another way; ours must be out before.
            None => {
                let _ = std::io::stdout().flush();
                command.status().map_err(|error| Failure::Start {
                    program: run::shown(&command),
                    error,
                })?;
            }
            Some(file) => {
                let output = command.output().map_err(|error| Failure::Start {
                    program: run::shown(&command),
                    error,
                })?;
                let story = String::from_utf8_lossy(&output.stdout);
                println!("{story}");
                let text = format!("$ jev read {}\n\n{story}", typed(&command));
                fs::write(file, picture::terminal("jev read", &text))
                    .map_err(|error| Failure::file(file, error))?;
            }
        }
        self.runtime.block_on(site.stop());
        let text = fs::read_to_string(&report).map_err(|error| Failure::file(&report, error))?;
        let outcome = serde_json::from_str(&text).map_err(|error| Failure::Unreadable {
            what: format!("{}: {error}", report.display()),
        })?;
        self.shown.push(Shown {
            title: scene.title.clone(),
            expected: scene.expected,
            outcome,
        });
        Ok(())
    }

    fn command(
        &self,
        scene: &Scene,
        site: &Site,
        number: usize,
        report: &Path,
    ) -> Result<Command, Failure> {
        let mut command = Command::new(&self.jev);
        command.current_dir(repo::root()).arg("read");
        let base = site.base();
        command.args(["--start", &format!("{base}{}", scene.task.start)]);
        command.args(["--allow", &format!("{base}*")]);
        command.args(["--goal", &scene.task.goal]);
        command.args(["--expect", &scene.task.evidence]);
        command.args(["--reach", "document", "--budget", "60s"]);
        match &scene.decider {
            Decider::Default => {}
            Decider::Script(file) => {
                command.arg("--judge").arg(scripted(file));
            }
            Decider::Lines(lines) => {
                let file = self.work.join(format!("{number}.script.jsonl"));
                fs::write(&file, lines.join("\n") + "\n")
                    .map_err(|error| Failure::file(&file, error))?;
                command.arg("--judge").arg(scripted(&file));
            }
        }
        let _ = fs::remove_file(report);
        command.arg("--report").arg(report);
        Ok(command)
    }

    /// Every run on one line, and whether each came out as it must.
    fn summary(&self) -> Result<(), Failure> {
        let head = "━━━ All runs ";
        let rule = "━".repeat(WIDTH.saturating_sub(head.chars().count()));
        println!("\n{}\n", self.paint.bold(&format!("{head}{rule}")));
        println!(
            "{:<44} {:<9} {:<12} {:>5} {:>5} {:>8} {:>8} {:>8}",
            "run", "judge", "status", "steps", "asked", "open", "judge", "total"
        );
        let mut wrong = Vec::new();
        for (number, shown) in (1..).zip(&self.shown) {
            let report = &shown.outcome.report;
            let verified = report.status == "VERIFIED";
            let right = match shown.expected {
                Expected::Verified => verified,
                Expected::NotVerified => !verified && ends_by_itself(&report.status),
                Expected::Honest => ends_by_itself(&report.status),
            };
            let status = format!("{:<12}", report.status);
            println!(
                "{:<44} {:<9} {} {:>5} {:>5} {:>5} ms {:>5} ms {:>5} ms",
                cut(&format!("{number}. {}", shown.title), 44),
                cut(&shown.outcome.judge.name, 9),
                self.paint.status(&status, &report.status),
                report.spent.steps,
                report.spent.judge_calls,
                report.timings.open.as_millis(),
                report.timings.judge.as_millis(),
                report.elapsed.as_millis(),
            );
            for quote in quotes(report).filter(|_| verified) {
                println!(
                    "{}",
                    self.paint.dim(&format!("   “{}”", cut(quote, WIDTH - 5)))
                );
            }
            if !right {
                wrong.push(number.to_string());
            }
        }
        println!(
            "\n{}",
            self.paint.dim(
                "Scripted decisions prove the chain from page to evidence, not a model's accuracy. Reports: target/demo/"
            )
        );
        if wrong.is_empty() {
            return Ok(());
        }
        Err(Failure::Unreadable {
            what: format!("run {} did not end as it must", wrong.join(", ")),
        })
    }
}

/// Statuses that a judge's choices lead to; all others mean that something broke.
fn ends_by_itself(status: &str) -> bool {
    [
        "VERIFIED",
        "UNVERIFIED",
        "ABSTAIN",
        "BLOCKED",
        "NO_PROGRESS",
        "STEP_LIMIT",
        "REJECTED",
        "LOADING_TIMEOUT",
    ]
    .contains(&status)
}

fn quotes(report: &RunReport) -> impl Iterator<Item = &str> {
    let pieces: &[Piece] = match report.verification.as_ref().map(|said| &said.verdict) {
        Some(Verdict::Passed(pieces)) => pieces,
        Some(Verdict::Refused(_)) | None => &[],
    };
    pieces.iter().map(|piece| piece.quote.as_str())
}

fn warranty() -> Result<Scene, Failure> {
    let root = repo::root().join("fixtures/help-centre");
    let task = load(&root.join("task.jsonl"))?.remove(0);
    Ok(Scene {
        title: "The warranty help centre".to_owned(),
        words: "The start page holds one link and no answer. A script makes the decisions; the click, the check of\nits target and the evidence are real.".to_owned(),
        task,
        decider: Decider::Script(PathBuf::from("fixtures/help-centre/script.jsonl")),
        root,
        expected: Expected::Verified,
    })
}

fn by_itself(task: &Task, root: &Path) -> Scene {
    Scene {
        title: format!("{}, the default judge", task.id),
        words: format!(
            "A manual as its Debian package ({}) ships it. The answer is {} click(s) away. The judge needs no key\nand no network; where it is not sure it must stop rather than guess.",
            task.package.as_deref().unwrap_or("none"),
            task.hops
        ),
        task: task.clone(),
        root: root.to_path_buf(),
        decider: Decider::Default,
        expected: Expected::Honest,
    }
}

fn by_the_way(task: Task, root: PathBuf) -> Scene {
    let mut lines: Vec<String> = task
        .shortest_path
        .iter()
        .skip(1)
        .map(|page| serde_json::json!({"operation": "CLICK", "href": page}).to_string())
        .collect();
    lines.push(r#"{"operation":"DONE"}"#.to_owned());
    Scene {
        title: format!("{}, a judge that knows the way", task.id),
        words: "The same task: the machinery reaches the answer when the decisions are right."
            .to_owned(),
        task,
        root,
        decider: Decider::Lines(lines),
        expected: Expected::Verified,
    }
}

fn liar(task: Task, root: PathBuf) -> Scene {
    Scene {
        title: format!("{}, a judge that lies", task.id),
        words: "The site does not hold the answer, and the judge claims to be done with full confidence, again and\nagain. Without evidence nobody believes it.".to_owned(),
        task,
        root,
        decider: Decider::Lines(vec![r#"{"operation":"DONE","p":0.99}"#.to_owned(); 8]),
        expected: Expected::NotVerified,
    }
}

fn load(path: &Path) -> Result<Vec<Task>, Failure> {
    task::load(path).map_err(|error| Failure::Unreadable {
        what: format!("{}: {error}", path.display()),
    })
}

fn pick(tasks: &[Task], id: &str) -> Result<(Task, PathBuf), Failure> {
    let unreadable = |what: String| Failure::Unreadable { what };
    let task = tasks
        .iter()
        .find(|task| task.id == id)
        .ok_or_else(|| unreadable(format!("no task `{id}` in fixtures/tasks/public.jsonl")))?;
    let root = setup::folders()
        .find(task)
        .ok_or_else(|| unreadable(format!("the pages of `{id}` are not here")))?;
    debug_assert!(task.kind == Kind::Unanswerable || !task.shortest_path.is_empty());
    Ok((task.clone(), root))
}

fn scripted(file: &Path) -> String {
    let root = repo::root();
    format!(
        "scripted:{}",
        file.strip_prefix(&root).unwrap_or(file).display()
    )
}

/// The arguments after `read` as one would type them, an option a line; the report file is ours.
fn typed(command: &Command) -> String {
    let arguments: Vec<String> = command
        .get_args()
        .skip(1)
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    arguments
        .chunks(2)
        .filter(|pair| pair.first().is_some_and(|name| name != "--report"))
        .map(|pair| {
            pair.iter()
                .map(|word| quoted(word))
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect::<Vec<_>>()
        .join(" \\\n    ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=".contains(c);
    if word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(most - 1).collect();
    short.push('…');
    short
}

/// Colours, where there is somebody to see them.
struct Paint {
    colours: bool,
}

impl Paint {
    fn detect() -> Self {
        Self {
            colours: std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
        }
    }

    fn with(&self, code: &str, text: &str) -> String {
        if self.colours {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    fn bold(&self, text: &str) -> String {
        self.with("1", text)
    }

    fn dim(&self, text: &str) -> String {
        self.with("2", text)
    }

    /// A status as it is laid out, in the colour of what it says.
    fn status(&self, text: &str, status: &str) -> String {
        self.with(if status == "VERIFIED" { "1;32" } else { "33" }, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_shown_as_a_shell_would_read_them() {
        let mut command = Command::new("jev");
        command.args(["read", "--goal", "it's how long?", "--judge", "lexical"]);
        command.args(["--report", "x.json"]);
        assert_eq!(
            typed(&command),
            "--goal 'it'\\''s how long?' \\\n    --judge lexical"
        );
    }
}
