//! The database of experiences: one SQLite file, with the full-text search that SQLite brings.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jev_core::access::CanonicalUrl;
use jev_core::digest::Digester;
use jev_core::redact::Redactor;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Row, TransactionBehavior, params};

use super::{
    Experience, Lifecycle, PROMOTE_BY_HAND, PROMOTE_SUCCESSES, RECALL_MAX, Trail, kept_goal,
};
use crate::trajectory::private_file;

/// Marks our files: `jevm`.
const APPLICATION_ID: i32 = 0x6a65_766d;
/// The number of the tables' format.
const FORMAT: i32 = 1;
/// How long another process may hold the file.
const BUSY: Duration = Duration::from_secs(2);
/// Most words of a goal that are searched for.
const WORDS: usize = 16;

const TABLES: &str = "
CREATE TABLE experience (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    goal TEXT NOT NULL,
    origin TEXT NOT NULL,
    steps TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('candidate', 'promoted', 'retired')),
    successes INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL
) STRICT;
CREATE INDEX experience_of ON experience (origin, goal);
CREATE VIRTUAL TABLE words USING fts5
    (goal, content='experience', content_rowid='id', tokenize='unicode61 remove_diacritics 2');
CREATE TRIGGER experience_in AFTER INSERT ON experience BEGIN
    INSERT INTO words (rowid, goal) VALUES (new.id, new.goal);
END;
CREATE TRIGGER experience_out AFTER DELETE ON experience BEGIN
    INSERT INTO words (words, rowid, goal) VALUES ('delete', old.id, old.goal);
END;
";

const COLUMNS: &str = "id, goal, origin, steps, state, successes, failures, created, updated";

/// Why the memory can't be used.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The file or its folder.
    #[error("memory: {path}: {source}")]
    File {
        /// Which.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The database refused.
    #[error("memory: {0}")]
    Database(#[source] rusqlite::Error),
    /// A database of another program.
    #[error("memory: {path} is a database of another program; it was left alone")]
    Foreign {
        /// Which.
        path: String,
    },
    /// A format of a later version of this program.
    #[error("memory: {path} was written by a later version (format {format}); it was left alone")]
    Newer {
        /// Which.
        path: String,
        /// Its format.
        format: i32,
    },
    /// There is no such experience.
    #[error("memory: there is no experience {id}; see `jev memory list`")]
    Missing {
        /// The number asked for.
        id: i64,
    },
    /// It has not proved itself.
    #[error(
        "memory: experience {id} has {successes} verified successes and {failures} failures; it takes {PROMOTE_BY_HAND} and none"
    )]
    Unproved {
        /// Its number.
        id: i64,
        /// Its successes.
        successes: u32,
        /// Its failures.
        failures: u32,
    },
    /// It is retired, for ever.
    #[error("memory: experience {id} is retired; what was retired is not promoted again")]
    Retired {
        /// Its number.
        id: i64,
    },
}

impl MemoryError {
    /// Whether the file itself is broken.
    fn is_corruption(&self) -> bool {
        match self {
            Self::Database(error) => matches!(
                error.sqlite_error_code(),
                Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
            ),
            Self::File { .. }
            | Self::Foreign { .. }
            | Self::Newer { .. }
            | Self::Missing { .. }
            | Self::Unproved { .. }
            | Self::Retired { .. } => false,
        }
    }
}

impl From<rusqlite::Error> for MemoryError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

/// What is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purge {
    /// One experience.
    One(i64),
    /// All retired ones.
    Retired,
    /// Everything.
    All,
}

/// An opened memory.
#[derive(Debug)]
pub struct Opened {
    /// The memory.
    pub memory: Memory,
    /// Where a broken file was put, when there was one. A new, empty one stands in its place.
    pub set_aside: Option<PathBuf>,
}

/// The memory. Its calls are short but block the thread.
#[derive(Debug)]
pub struct Memory {
    database: Connection,
    redactor: Redactor,
}

impl Memory {
    /// Opens a file, or makes it, readable by its owner alone. A broken file is put aside under
    /// another name, never deleted.
    ///
    /// # Errors
    /// [`MemoryError`]; the host goes on without a memory then.
    pub fn open(path: &Path, redactor: Redactor) -> Result<Opened, MemoryError> {
        let failed = |source| MemoryError::File {
            path: path.display().to_string(),
            source,
        };
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(failed)?;
        }
        match Self::connect(path, redactor.clone()) {
            Ok(memory) => Ok(Opened {
                memory,
                set_aside: None,
            }),
            Err(error) if error.is_corruption() => {
                let aside = aside(path);
                std::fs::rename(path, &aside).map_err(failed)?;
                // What belongs to the broken file must not be taken for the new one's.
                for ending in ["-journal", "-wal", "-shm"] {
                    let beside = with_ending(path, ending);
                    if beside.exists() {
                        std::fs::rename(&beside, with_ending(&aside, ending)).map_err(failed)?;
                    }
                }
                Ok(Opened {
                    memory: Self::connect(path, redactor)?,
                    set_aside: Some(aside),
                })
            }
            Err(error) => Err(error),
        }
    }

    /// A memory that is gone when it is dropped.
    ///
    /// # Errors
    /// [`MemoryError::Database`].
    pub fn in_memory(redactor: Redactor) -> Result<Self, MemoryError> {
        let database = Connection::open_in_memory()?;
        database.execute_batch(TABLES)?;
        Ok(Self { database, redactor })
    }

    fn connect(path: &Path, redactor: Redactor) -> Result<Self, MemoryError> {
        private(path).map_err(|source| MemoryError::File {
            path: path.display().to_string(),
            source,
        })?;
        let database = Connection::open(path)?;
        database.busy_timeout(BUSY)?;
        let check: String = database.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        if check != "ok" {
            return Err(rusqlite::Error::SqliteFailure(
                rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT),
                None,
            )
            .into());
        }
        let number = |name: &str| -> rusqlite::Result<i32> {
            database.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0))
        };
        let tables: i64 =
            database.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        let shown = || path.display().to_string();
        match (tables, number("application_id")?, number("user_version")?) {
            (0, _, _) => {
                // Another process may be making the same file at this moment.
                database.execute_batch(&format!(
                    "BEGIN IMMEDIATE;
                     PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {FORMAT};
                     {} COMMIT;",
                    TABLES
                        .replace("CREATE TABLE ", "CREATE TABLE IF NOT EXISTS ")
                        .replace("CREATE INDEX ", "CREATE INDEX IF NOT EXISTS ")
                        .replace(
                            "CREATE VIRTUAL TABLE ",
                            "CREATE VIRTUAL TABLE IF NOT EXISTS "
                        )
                        .replace("CREATE TRIGGER ", "CREATE TRIGGER IF NOT EXISTS ")
                ))?;
            }
            (_, APPLICATION_ID, FORMAT) => {}
            (_, APPLICATION_ID, format) => {
                return Err(MemoryError::Newer {
                    path: shown(),
                    format,
                });
            }
            (_, _, _) => return Err(MemoryError::Foreign { path: shown() }),
        }
        Ok(Self { database, redactor })
    }

    /// Notes a verified success. The way becomes a candidate, or counts once more; enough of them
    /// without a failure promote it. What is retired stays so.
    ///
    /// # Errors
    /// [`MemoryError::Database`].
    pub fn succeeded(&mut self, trail: &Trail) -> Result<(), MemoryError> {
        if trail.steps.is_empty() {
            // The answer stood on the start page: there is no way to remember.
            return Ok(());
        }
        let steps = serde_json::to_string(&trail.steps).unwrap_or_default();
        let key = Digester::new()
            .part(&trail.origin)
            .part(&folded(&trail.goal))
            .part(&steps)
            .finish();
        let now = now();
        let work = self
            .database
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        work.execute(
            "INSERT INTO experience
             (key, goal, origin, steps, state, successes, failures, created, updated)
             VALUES (?1, ?2, ?3, ?4, 'candidate', 1, 0, ?5, ?5)
             ON CONFLICT (key) DO UPDATE SET successes = successes + 1, updated = ?5",
            params![key, trail.goal, trail.origin, steps, now],
        )?;
        work.execute(
            "UPDATE experience SET state = 'promoted', updated = ?2
             WHERE key = ?1 AND state = 'candidate' AND failures = 0 AND successes >= ?3",
            params![key, now, PROMOTE_SUCCESSES],
        )?;
        work.commit()?;
        Ok(())
    }

    /// Notes that a task failed. Of its goal on its site every candidate has a contradiction now;
    /// what is promoted is retired when it is among `shown`, the experiences that somebody in the
    /// task was shown, whatever goal it was learnt for.
    ///
    /// # Errors
    /// [`MemoryError::Database`].
    pub fn failed(
        &mut self,
        goal: &str,
        start: &CanonicalUrl,
        shown: &[Experience],
    ) -> Result<(), MemoryError> {
        let now = now();
        let goal = folded(&kept_goal(goal, &self.redactor));
        let origin = start.origin().ascii_serialization();
        let work = self
            .database
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        {
            // Goals are one where their keys are: letter case and white space do not count, in any
            // language.
            let mut select = work.prepare("SELECT id, goal FROM experience WHERE origin = ?1")?;
            let known = select.query_map(params![origin], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
            })?;
            let same: Vec<i64> = known
                .filter_map(|row| match row {
                    Ok((id, known)) => (folded(&known) == goal).then_some(Ok(id)),
                    Err(error) => Some(Err(error)),
                })
                .collect::<Result<_, _>>()?;
            let mut contradict = work.prepare(
                "UPDATE experience SET failures = failures + 1, updated = ?2
                 WHERE id = ?1 AND state = 'candidate'",
            )?;
            for id in same {
                contradict.execute(params![id, now])?;
            }
        }
        for experience in shown {
            work.execute(
                "UPDATE experience SET failures = failures + 1, updated = ?2, state = 'retired'
                 WHERE id = ?1 AND state = 'promoted'",
                params![experience.id, now],
            )?;
        }
        work.commit()?;
        Ok(())
    }

    /// Promoted experience of this site whose goal shares words with this one, best first.
    ///
    /// # Errors
    /// [`MemoryError::Database`].
    pub fn recall(&self, goal: &str, start: &CanonicalUrl) -> Result<Vec<Experience>, MemoryError> {
        let query = query(&kept_goal(goal, &self.redactor));
        if query.is_empty() {
            return Ok(Vec::new());
        }
        let sql = format!(
            "SELECT {} FROM words JOIN experience ON experience.id = words.rowid
             WHERE words MATCH ?1 AND origin = ?2 AND state = 'promoted'
             ORDER BY rank, successes DESC, experience.id LIMIT ?3",
            COLUMNS
                .split(", ")
                .map(|name| format!("experience.{name}"))
                .collect::<Vec<_>>()
                .join(", ")
        );
        let origin = start.origin().ascii_serialization();
        let mut statement = self.database.prepare(&sql)?;
        let rows = statement.query_map(params![query, origin, RECALL_MAX as i64], experience)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Every experience, newest change first.
    ///
    /// # Errors
    /// [`MemoryError::Database`].
    pub fn list(&self) -> Result<Vec<Experience>, MemoryError> {
        let sql = format!("SELECT {COLUMNS} FROM experience ORDER BY updated DESC, id DESC");
        let mut statement = self.database.prepare(&sql)?;
        let rows = statement.query_map([], experience)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// One experience.
    ///
    /// # Errors
    /// [`MemoryError::Missing`], [`MemoryError::Database`].
    pub fn show(&self, id: i64) -> Result<Experience, MemoryError> {
        let sql = format!("SELECT {COLUMNS} FROM experience WHERE id = ?1");
        self.database
            .query_row(&sql, [id], experience)
            .optional()?
            .ok_or(MemoryError::Missing { id })
    }

    /// Promotes a candidate by the host's hand.
    ///
    /// # Errors
    /// [`MemoryError::Unproved`] without [`PROMOTE_BY_HAND`] successes or with a failure,
    /// [`MemoryError::Retired`], [`MemoryError::Missing`], [`MemoryError::Database`].
    pub fn promote(&mut self, id: i64) -> Result<Experience, MemoryError> {
        let Experience {
            state,
            successes,
            failures,
            ..
        } = self.show(id)?;
        match state {
            Lifecycle::Promoted => return self.show(id),
            Lifecycle::Retired => return Err(MemoryError::Retired { id }),
            Lifecycle::Candidate => {}
        }
        if failures > 0 || successes < PROMOTE_BY_HAND {
            return Err(MemoryError::Unproved {
                id,
                successes,
                failures,
            });
        }
        self.set_state(id, Lifecycle::Promoted)
    }

    /// Retires an experience, for ever.
    ///
    /// # Errors
    /// [`MemoryError::Missing`], [`MemoryError::Database`].
    pub fn retire(&mut self, id: i64) -> Result<Experience, MemoryError> {
        self.show(id)?;
        self.set_state(id, Lifecycle::Retired)
    }

    fn set_state(&mut self, id: i64, state: Lifecycle) -> Result<Experience, MemoryError> {
        self.database.execute(
            "UPDATE experience SET state = ?2, updated = ?3 WHERE id = ?1",
            params![id, state.name(), now()],
        )?;
        self.show(id)
    }

    /// Deletes experiences and says how many.
    ///
    /// # Errors
    /// [`MemoryError::Missing`], [`MemoryError::Database`].
    pub fn purge(&mut self, what: Purge) -> Result<usize, MemoryError> {
        let gone = match what {
            Purge::One(id) => {
                self.show(id)?;
                self.database
                    .execute("DELETE FROM experience WHERE id = ?1", [id])?
            }
            Purge::Retired => self
                .database
                .execute("DELETE FROM experience WHERE state = 'retired'", [])?,
            Purge::All => self.database.execute("DELETE FROM experience", [])?,
        };
        // What is deleted must not stay readable in the file's free pages.
        self.database
            .execute_batch("INSERT INTO words (words) VALUES ('rebuild'); VACUUM;")?;
        Ok(gone)
    }
}

fn experience(row: &Row<'_>) -> rusqlite::Result<Experience> {
    let state: String = row.get(4)?;
    let steps: String = row.get(3)?;
    let count = |index| {
        row.get::<_, i64>(index)
            .map(|n| u32::try_from(n).unwrap_or(0))
    };
    let time = |index| {
        row.get::<_, i64>(index)
            .map(|n| u64::try_from(n).unwrap_or(0))
    };
    Ok(Experience {
        id: row.get(0)?,
        goal: row.get(1)?,
        origin: row.get(2)?,
        // A step of a later version is not understood; the rest of the way would mislead.
        steps: serde_json::from_str(&steps).unwrap_or_default(),
        state: Lifecycle::parse(&state).unwrap_or(Lifecycle::Retired),
        successes: count(5)?,
        failures: count(6)?,
        created: time(7)?,
        updated: time(8)?,
    })
}

/// The words of a goal as a full-text query; empty when there are none.
fn query(goal: &str) -> String {
    goal.split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().count() > 2)
        .take(WORDS)
        .map(|word| format!("\"{word}\""))
        .collect::<Vec<_>>()
        .join(" OR ")
}

fn folded(goal: &str) -> String {
    jev_core::snapshot::collapse(goal).to_lowercase()
}

fn now() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| {
            i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
        })
}

/// Makes the file, readable by its owner alone, when there is none.
fn private(path: &Path) -> std::io::Result<()> {
    private_file()
        .append(true)
        .create(true)
        .open(path)
        .map(drop)
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// A name beside the file that nothing has yet.
fn aside(path: &Path) -> PathBuf {
    let stem = with_ending(path, &format!(".corrupt-{}", now()));
    let mut name = stem.clone();
    for number in 1.. {
        if !name.exists() {
            break;
        }
        name = with_ending(&stem, &format!("-{number}"));
    }
    name
}
