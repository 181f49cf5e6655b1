//! Configuration: the host's `jev.toml`, read strictly, and the digest that names it.
//!
//! Nothing is built from a file that has a fault anywhere, and every fault names its key. A file
//! holds no credentials: it names a dotenv file, or the provider's variable is used.

mod assemble;
mod error;
mod judge;
mod late;
mod read;
mod reader;
mod session;
mod source;

use std::path::{Path, PathBuf};

use jev_core::digest::Digester;
use jev_core::policy::Permission;
use serde::Serialize;
use serde_json::{Map, Value};

pub use error::ConfigError;
pub use judge::JudgeSettings;
pub use read::{Overrides, READ_VERSION, ReadSettings, TEXT_CHARS, TEXT_CHARS_MAX, TEXT_CHARS_MIN};
pub use session::SessionSettings;
pub use source::{ABOUT_MAX_CHARS, NAME_MAX_CHARS, SOURCES_MAX, SourceSettings};

use crate::permission::Ruling;
use crate::trajectory::KeepPictures;
use reader::Table;

/// Largest file that is read, in bytes.
const FILE_MAX_BYTES: u64 = 1024 * 1024;

/// The file's name when none is given.
pub const FILE_NAME: &str = "jev.toml";

/// The host's configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// Who decides.
    pub judge: JudgeSettings,
    /// What is read; each is one tool.
    pub sources: Vec<SourceSettings>,
    /// Which browser.
    pub browser: BrowserSettings,
    /// Whether runs are recorded.
    pub trace: TraceSettings,
    /// How runs go.
    pub read: ReadSettings,
    /// What is ruled of every call before anything happens.
    pub permission: Ruling,
    /// The MCP server's bounds.
    pub mcp: McpSettings,
    /// Sessions that an agent keeps.
    pub session: SessionSettings,
}

impl Default for Config {
    /// What an empty file says.
    fn default() -> Self {
        Self {
            judge: JudgeSettings::default(),
            sources: Vec::new(),
            browser: BrowserSettings::default(),
            trace: TraceSettings::default(),
            read: ReadSettings::default(),
            permission: Ruling::Allow,
            mcp: McpSettings::default(),
            session: SessionSettings::default(),
        }
    }
}

/// Which browser, as `[browser]` says it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BrowserSettings {
    /// The program; none: searched for.
    pub chrome: Option<PathBuf>,
    /// Which build to take when both are found.
    pub build: Build,
    /// Whether names on a list may stand for addresses of a private network.
    pub private_names: Permission,
}

/// The two builds of the browser.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Build {
    /// The headless shell: starts faster, takes less memory.
    #[default]
    Shell,
    /// The whole browser.
    Full,
}

/// Whether runs are recorded, as `[trace]` says it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TraceSettings {
    /// The folder for trajectories; none: nothing is recorded.
    pub dir: Option<PathBuf>,
    /// Whether each look at a page is kept as a picture too.
    pub pictures: KeepPictures,
}

/// The MCP server's bounds, as `[mcp]` says them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct McpSettings {
    /// Calls that run at once, 1 to 64.
    pub running: u32,
    /// Calls that wait their turn, 0 to 256; the next one is refused as busy.
    pub waiting: u32,
    /// The user in whose name sessions are opened.
    pub user: String,
}

impl Default for McpSettings {
    /// Four at once suit two cores (a browser step is bound by the processor from two tabs a core
    /// on); twelve more wait, so that sixteen clients are held.
    fn default() -> Self {
        Self {
            running: 4,
            waiting: 12,
            user: "local".to_owned(),
        }
    }
}

/// The digest of everything in a configuration that decides what a run may see and do. Part of
/// the identity of anything cached from a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct ConfigDigest(String);

impl ConfigDigest {
    /// 32 hexadecimal digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Config {
    /// Reads a file. Relative paths in it are taken from the file's folder.
    ///
    /// # Errors
    /// [`ConfigError`]: the first fault.
    pub fn load(file: &Path) -> Result<Self, ConfigError> {
        let unreadable = |error: std::io::Error| ConfigError::Unreadable {
            file: file.display().to_string(),
            kind: error.kind(),
        };
        let bytes = std::fs::metadata(file).map_err(unreadable)?.len();
        if bytes > FILE_MAX_BYTES {
            return Err(ConfigError::TooLong {
                file: file.display().to_string(),
                bytes,
                max: FILE_MAX_BYTES,
            });
        }
        let text = std::fs::read_to_string(file).map_err(unreadable)?;
        Self::parse(&text, file.parent().unwrap_or(Path::new("")))
    }

    /// Reads a text; `folder` is where relative paths begin.
    ///
    /// # Errors
    /// [`ConfigError`]: the first fault.
    pub fn parse(text: &str, folder: &Path) -> Result<Self, ConfigError> {
        let entries: Map<String, Value> =
            toml::from_str(text).map_err(|error| syntax(text, &error))?;
        let mut root = Table::new("", entries);
        root.count("version", 1, 1)?;
        let judge = match root.table("judge")? {
            Some(table) => JudgeSettings::read(table, folder)?,
            None => JudgeSettings::default(),
        };
        let read = match root.table("read")? {
            Some(table) => ReadSettings::read(table)?,
            None => ReadSettings::default(),
        };
        let browser = match root.table("browser")? {
            Some(table) => read_browser(table, folder)?,
            None => BrowserSettings::default(),
        };
        let trace = match root.table("trace")? {
            Some(table) => read_trace(table, folder)?,
            None => TraceSettings::default(),
        };
        let permission = match root.table("permission")? {
            Some(table) => read_permission(table)?,
            None => Ruling::Allow,
        };
        let mcp = match root.table("mcp")? {
            Some(table) => read_mcp(table)?,
            None => McpSettings::default(),
        };
        let session = match root.table("session")? {
            Some(table) => SessionSettings::read(table)?,
            None => SessionSettings::default(),
        };
        let sources = read_sources(&mut root)?;
        root.finish()?;
        Ok(Self {
            judge,
            sources,
            browser,
            trace,
            read,
            permission,
            mcp,
            session,
        })
    }

    /// The digest of judge, sources and reading; where the browser is and where records go is no
    /// part of it.
    #[must_use]
    pub fn digest(&self) -> ConfigDigest {
        let mut digester = Digester::new();
        digester.part("jev.toml 1");
        // Settings hold nothing that JSON can't: the text is never empty in practice, and an
        // empty one would only make two configurations share a name, not a run.
        for part in [
            serde_json::to_string(&self.judge.identity()),
            serde_json::to_string(&self.read),
        ] {
            digester.part(&part.unwrap_or_default());
        }
        for source in &self.sources {
            digester.part(&serde_json::to_string(&source.identity()).unwrap_or_default());
        }
        ConfigDigest(digester.finish())
    }
}

/// The line and the parser's word for a fault. toml's own rendering quotes the line.
fn syntax(text: &str, error: &toml::de::Error) -> ConfigError {
    let before = error
        .span()
        .and_then(|span| text.get(..span.start))
        .unwrap_or_default();
    ConfigError::Syntax {
        line: before.matches('\n').count() + 1,
        // Messages may quote a piece of the line in backquotes; what follows is dropped.
        what: error
            .message()
            .split(['`', '"', '\n'])
            .next()
            .unwrap_or_default()
            .trim()
            .chars()
            .take(80)
            .collect(),
    }
}

fn read_browser(mut table: Table, folder: &Path) -> Result<BrowserSettings, ConfigError> {
    let settings = BrowserSettings {
        // A bare name is looked up in PATH, so it is left as it is.
        chrome: table.text("chrome")?.map(|text| {
            if text.contains(['/', '\\']) {
                folder.join(text)
            } else {
                PathBuf::from(text)
            }
        }),
        build: table
            .word("build", &[("shell", Build::Shell), ("full", Build::Full)])?
            .unwrap_or_default(),
        private_names: table
            .word("private_names", &source::PERMISSIONS)?
            .unwrap_or_default(),
    };
    table.finish()?;
    Ok(settings)
}

fn read_trace(mut table: Table, folder: &Path) -> Result<TraceSettings, ConfigError> {
    let settings = TraceSettings {
        dir: table.text("dir")?.map(|text| folder.join(text)),
        pictures: table
            .word(
                "pictures",
                &[("off", KeepPictures::No), ("on", KeepPictures::Yes)],
            )?
            .unwrap_or_default(),
    };
    table.finish()?;
    Ok(settings)
}

#[derive(Clone, Copy)]
enum Rule {
    Allow,
    Ask,
    Deny,
}

fn read_permission(mut table: Table) -> Result<Ruling, ConfigError> {
    let key = table.key("reason");
    let rule = table.word(
        "rule",
        &[
            ("allow", Rule::Allow),
            ("ask", Rule::Ask),
            ("deny", Rule::Deny),
        ],
    )?;
    let reason = table.text("reason")?;
    table.finish()?;
    match (rule, reason) {
        (Some(Rule::Deny), Some(reason)) => Ok(Ruling::Deny { reason }),
        (Some(Rule::Deny), None) => Err(ConfigError::Missing {
            key,
            why: "the agent is told why it may not read",
        }),
        (None | Some(Rule::Allow | Rule::Ask), Some(_)) => Err(ConfigError::Type {
            key,
            expected: "left out unless the rule is deny",
        }),
        (None | Some(Rule::Allow), None) => Ok(Ruling::Allow),
        (Some(Rule::Ask), None) => Ok(Ruling::Ask),
    }
}

fn read_mcp(mut table: Table) -> Result<McpSettings, ConfigError> {
    let default = McpSettings::default();
    let settings = McpSettings {
        running: table.count("running", 1, 64)?.unwrap_or(default.running),
        waiting: table.count("waiting", 0, 256)?.unwrap_or(default.waiting),
        user: table.text("user")?.unwrap_or(default.user),
    };
    table.finish()?;
    Ok(settings)
}

fn read_sources(root: &mut Table) -> Result<Vec<SourceSettings>, ConfigError> {
    let tables = root.tables("source")?;
    if tables.len() > SOURCES_MAX {
        return Err(ConfigError::Type {
            key: "source".to_owned(),
            expected: "at most 32 tables",
        });
    }
    let mut sources: Vec<SourceSettings> = Vec::new();
    for table in tables {
        let key = table.key("name");
        let source = SourceSettings::read(table)?;
        if sources.iter().any(|earlier| earlier.name == source.name) {
            return Err(ConfigError::DuplicateName {
                key,
                name: source.name,
            });
        }
        sources.push(source);
    }
    Ok(sources)
}

#[cfg(test)]
mod tests;
