//! What a test may ask of a node before it starts.

use super::Kind;
use crate::host::{Program, program::NotFound};
use std::path::PathBuf;

/// How much a node logs, in words that every implementation has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogLevel {
    /// Only what is wrong.
    Error,
    /// And what looks wrong.
    Warn,
    /// And what a person wants to follow.
    Info,
    /// And what a developer wants to follow.
    Debug,
    /// All there is.
    Trace,
}

impl LogLevel {
    /// Its name in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            LogLevel::Error => "error",
            LogLevel::Warn => "warn",
            LogLevel::Info => "info",
            LogLevel::Debug => "debug",
            LogLevel::Trace => "trace",
        }
    }
}

/// Options of one node; the default is what is fast and quiet enough for a test.
///
/// ```
/// use boltwright::prelude::*;
///
/// let options = NodeOptions::default()
///     .log_level(LogLevel::Trace)
///     .option("store", "memory"); // an option of the daemon's own, here of the embedded LDK node
/// assert_eq!(options.args(), ["--store=memory"]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeOptions {
    pub(crate) executable: Option<PathBuf>,
    pub(crate) log_level: Option<LogLevel>,
    args: Vec<String>,
}

impl NodeOptions {
    /// Runs this executable instead of the one that would be found: several versions in one lab.
    #[must_use]
    pub fn executable(mut self, path: impl Into<PathBuf>) -> NodeOptions {
        self.executable = Some(path.into());
        self
    }

    /// How much it logs (default: debug).
    #[must_use]
    pub fn log_level(mut self, level: LogLevel) -> NodeOptions {
        self.log_level = Some(level);
        self
    }

    /// An option of the daemon's own, passed as `--name=value`; a later one of the same name wins.
    #[must_use]
    pub fn option(mut self, name: &str, value: impl ToString) -> NodeOptions {
        let prefix = format!("--{name}=");
        self.args.retain(|arg| !arg.starts_with(&prefix));
        self.args.push(format!("{prefix}{}", value.to_string()));
        self
    }

    /// A flag or any other argument of the daemon's own, passed as it is.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<String>) -> NodeOptions {
        self.args.push(arg.into());
        self
    }

    /// The daemon's own arguments asked for so far.
    pub fn args(&self) -> &[String] {
        &self.args
    }

    /// The program to run: the one asked for, or the one that is found.
    pub(crate) fn program(&self, kind: Kind) -> Result<Program, NotFound> {
        match &self.executable {
            Some(path) => Program::given(kind.name(), path),
            None => kind.find(),
        }
    }

    /// The level to log at.
    pub fn level(&self) -> LogLevel {
        self.log_level.unwrap_or(LogLevel::Debug)
    }
}
