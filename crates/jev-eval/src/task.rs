//! Task files: JSON Lines, one task a line, checked as a whole before anything runs.

use std::collections::HashSet;
use std::fmt;
use std::path::{Component, Path};

use jev_core::contract::{ContractError, Goal};
use jev_verify::{Matcher, PatternError};
use serde::{Deserialize, Serialize};

/// Whether the site answers the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It does; VERIFIED is right.
    Answerable,
    /// It does not; VERIFIED would be false.
    Unanswerable,
}

/// One task: a site, a start page, a goal, and what the page that answers it must show.
///
/// Keys that are not listed here are measurements of the site (how many links a page has, how far
/// down the evidence stands); they are accepted and not read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Unique in its file.
    pub id: String,
    /// The site's short name; results are grouped by it.
    pub site: String,
    /// The Debian package that ships the site, when one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// The site's root folder: relative to the root of the package's archive, or, without a
    /// package, to the task file's folder.
    pub root: String,
    /// The start page, relative to `root`.
    pub start: String,
    /// What to find.
    pub goal: String,
    /// The goal's language.
    pub lang: String,
    /// A regular expression over the rendered text, white space collapsed.
    pub evidence: String,
    /// Whether the site answers it.
    pub kind: Kind,
    /// The page that answers it, relative to `root`.
    #[serde(default)]
    pub answer_page: Option<String>,
    /// The pages of a shortest way, start and answer page included; empty when not known.
    #[serde(default)]
    pub shortest_path: Vec<String>,
    /// Clicks on a shortest way.
    #[serde(default)]
    pub hops: u32,
    /// Whether the evidence lies below the first window.
    #[serde(default)]
    pub below_fold: Option<bool>,
}

/// A task file that can't be used, and where.
#[derive(Debug, thiserror::Error)]
pub enum TaskFileError {
    /// The file can't be read.
    #[error("{path}: {error}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        error: std::io::Error,
    },
    /// It holds no task.
    #[error("the file holds no task")]
    Empty,
    /// A line is at fault.
    #[error("line {line}: {fault}")]
    Line {
        /// The line, from 1 on.
        line: usize,
        /// What is wrong with it.
        fault: TaskFault,
    },
}

/// What is wrong with a task.
#[derive(Debug, thiserror::Error)]
pub enum TaskFault {
    /// Not JSON, or a field is missing or of another type.
    #[error("not a task: {0}")]
    Json(#[from] serde_json::Error),
    /// A field that must say something is blank.
    #[error("`{field}` is blank")]
    Blank {
        /// The field.
        field: &'static str,
    },
    /// Another task has this id.
    #[error("the id `{id}` stands on line {first} already")]
    Duplicate {
        /// The id.
        id: String,
        /// Where it stands first.
        first: usize,
    },
    /// The goal can't be a run's goal.
    #[error("{0}")]
    Goal(#[from] ContractError),
    /// The evidence can't be looked for.
    #[error("evidence: {0}")]
    Evidence(#[from] PatternError),
    /// A path that could lead out of its folder.
    #[error("`{field}` must be a relative path without `..`: {path}")]
    Path {
        /// The field.
        field: &'static str,
        /// The path.
        path: String,
    },
    /// Not a Debian package's name.
    #[error("`{name}` is not a package name")]
    Package {
        /// The name.
        name: String,
    },
    /// The path, the hops and the answer page do not fit together.
    #[error("{0}")]
    Way(WayFault),
}

/// How a shortest way contradicts its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WayFault {
    /// It begins elsewhere.
    Start,
    /// It ends elsewhere.
    End,
    /// Another number of clicks.
    Hops,
    /// An unanswerable task has an answer page or a way.
    Unanswerable,
}

impl fmt::Display for WayFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Start => "`shortest_path` does not begin at `start`",
            Self::End => "`shortest_path` does not end at `answer_page`",
            Self::Hops => "`hops` is not the number of clicks of `shortest_path`",
            Self::Unanswerable => {
                "an unanswerable task can't have `answer_page` or `shortest_path`"
            }
        })
    }
}

impl Task {
    fn check(&self) -> Result<(), TaskFault> {
        for (field, value) in [
            ("id", &self.id),
            ("site", &self.site),
            ("start", &self.start),
            ("lang", &self.lang),
        ] {
            if value.trim().is_empty() {
                return Err(TaskFault::Blank { field });
            }
        }
        Goal::new(&self.goal)?;
        Matcher::pattern(&self.evidence)?;
        if let Some(name) = self.package.as_ref().filter(|name| !is_package(name)) {
            return Err(TaskFault::Package { name: name.clone() });
        }
        check_path("root", &self.root)?;
        check_path("start", &self.start)?;
        for page in self.answer_page.iter().chain(&self.shortest_path) {
            check_path("shortest_path", page)?;
        }
        self.check_way().map_err(TaskFault::Way)
    }

    fn check_way(&self) -> Result<(), WayFault> {
        match self.kind {
            Kind::Unanswerable if self.answer_page.is_some() || !self.shortest_path.is_empty() => {
                Err(WayFault::Unanswerable)
            }
            Kind::Unanswerable => Ok(()),
            Kind::Answerable => {
                let (Some(first), Some(last)) =
                    (self.shortest_path.first(), self.shortest_path.last())
                else {
                    return Ok(());
                };
                if *first != self.start {
                    Err(WayFault::Start)
                } else if self.answer_page.as_ref().is_some_and(|page| page != last) {
                    Err(WayFault::End)
                } else if self.hops as usize + 1 != self.shortest_path.len() {
                    Err(WayFault::Hops)
                } else {
                    Ok(())
                }
            }
        }
    }
}

/// The name is handed to a package manager, so nothing but Debian's own alphabet passes.
fn is_package(name: &str) -> bool {
    name.len() >= 2
        && name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "+-.".contains(c))
}

fn check_path(field: &'static str, path: &str) -> Result<(), TaskFault> {
    let plain = Path::new(path)
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if plain && !path.is_empty() && !path.contains(['\\', '\0']) {
        Ok(())
    } else {
        Err(TaskFault::Path {
            field,
            path: path.to_owned(),
        })
    }
}

/// Reads the tasks of a text, in order. Blank lines are passed over.
///
/// # Errors
/// The first line at fault; a text without a task.
pub fn parse(text: &str) -> Result<Vec<Task>, TaskFileError> {
    let mut tasks = Vec::new();
    let mut seen: Vec<(String, usize)> = Vec::new();
    for (index, content) in text.lines().enumerate() {
        let line = index + 1;
        let at = |fault| TaskFileError::Line { line, fault };
        if content.trim().is_empty() {
            continue;
        }
        let task: Task = serde_json::from_str(content).map_err(|error| at(error.into()))?;
        task.check().map_err(at)?;
        if let Some((id, first)) = seen.iter().find(|(id, _)| *id == task.id) {
            return Err(at(TaskFault::Duplicate {
                id: id.clone(),
                first: *first,
            }));
        }
        seen.push((task.id.clone(), line));
        tasks.push(task);
    }
    if tasks.is_empty() {
        return Err(TaskFileError::Empty);
    }
    Ok(tasks)
}

/// Reads a task file.
///
/// # Errors
/// The file can't be read, or [`parse`]'s errors.
pub fn load(path: &Path) -> Result<Vec<Task>, TaskFileError> {
    let text = std::fs::read_to_string(path).map_err(|error| TaskFileError::Read {
        path: path.display().to_string(),
        error,
    })?;
    parse(&text)
}

/// The packages that the tasks' sites come from, each once, in order of appearance.
#[must_use]
pub fn packages(tasks: &[Task]) -> Vec<&str> {
    let mut seen = HashSet::new();
    tasks
        .iter()
        .filter_map(|task| task.package.as_deref())
        .filter(|package| seen.insert(*package))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"id":"a","site":"s","package":"git-doc","root":"usr/share/doc/git-doc","start":"i.html","goal":"g?","lang":"en","evidence":"x+","kind":"answerable","answer_page":"b.html","shortest_path":["i.html","b.html"],"hops":1,"start_links":7}"#;

    #[test]
    fn a_good_line_is_read_whatever_else_it_measures() {
        let tasks = parse(&format!("\n{GOOD}\n\n")).unwrap();
        assert_eq!(tasks.len(), 1);
        assert_eq!(tasks[0].hops, 1);
        assert_eq!(packages(&tasks), ["git-doc"]);
    }

    #[test]
    fn faults_are_named_with_their_line() {
        let cases = [
            ("\"id\":\"a\"", "\"id\":\" \"", "`id` is blank"),
            ("\"goal\":\"g?\"", "\"goal\":\" \"", "goal: blank"),
            (
                "\"x+\"",
                "\"(\"",
                "evidence: `(` is not a regular expression",
            ),
            (
                "git-doc\",\"root\"",
                "-oDebug\",\"root\"",
                "`-oDebug` is not a package name",
            ),
            (
                "usr/share/doc/git-doc",
                "/etc",
                "`root` must be a relative path",
            ),
            (
                "usr/share/doc/git-doc",
                "usr/../../etc",
                "`root` must be a relative path",
            ),
            (
                "\"start\":\"i.html\"",
                "\"start\":\"j.html\"",
                "does not begin at `start`",
            ),
            (
                "\"answer_page\":\"b.html\"",
                "\"answer_page\":\"c.html\"",
                "does not end at",
            ),
            ("\"hops\":1", "\"hops\":2", "`hops` is not the number"),
            (
                "\"answerable\"",
                "\"unanswerable\"",
                "an unanswerable task can't",
            ),
            ("\"answerable\"", "\"maybe\"", "not a task"),
            ("\"lang\":\"en\",", "", "missing field `lang`"),
        ];
        for (from, to, expected) in cases {
            assert!(GOOD.contains(from), "{from}");
            let text = format!("\n{}", GOOD.replacen(from, to, 1));
            let message = parse(&text).unwrap_err().to_string();
            assert!(message.starts_with("line 2: "), "{message}");
            assert!(message.contains(expected), "{message}");
        }
        let message = parse(&format!("{GOOD}\n{GOOD}")).unwrap_err().to_string();
        assert_eq!(message, "line 2: the id `a` stands on line 1 already");
        assert!(matches!(parse(" \n"), Err(TaskFileError::Empty)));
    }

    #[test]
    fn the_repository_s_own_tasks_are_sound() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/tasks/public.jsonl");
        let tasks = load(&file).unwrap();
        let unanswerable = tasks
            .iter()
            .filter(|task| task.kind == Kind::Unanswerable)
            .count();
        assert_eq!((tasks.len(), unanswerable), (20, 4));
        assert!(tasks.iter().all(|task| task.package.is_some()));
    }
}
