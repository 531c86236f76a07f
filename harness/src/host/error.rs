//! Everything that can go wrong on the ground floor, in words that say what to do.
use std::path::PathBuf;

/// An error of the host floor.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or directory operation failed.
    #[error("{action} {path}: {source}", path = path.display())]
    Io {
        /// What was tried: "creating", "reading"…
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What came back.
        source: std::io::Error,
    },
    /// An environment variable holds what it cannot.
    #[error("{name}={value}: {problem}")]
    Knob {
        /// The variable.
        name: &'static str,
        /// Its value.
        value: String,
        /// What is wrong with it and what it takes.
        problem: String,
    },
    /// A program is nowhere to be found.
    #[error(transparent)]
    NotFound(#[from] super::program::NotFound),
    /// A process could not be started.
    #[error("{name} did not start: {problem}")]
    Spawn {
        /// The process's name in the lab.
        name: String,
        /// What was tried and came back.
        problem: String,
    },
    /// A process that something depended on has ended.
    #[error(transparent)]
    Death(#[from] super::process::Death),
    /// A wait ran out of time, or learned that it would never end.
    #[error(transparent)]
    Wait(#[from] super::wait::Failure),
    /// The keeper is gone or refused.
    #[error("keeper: {0}")]
    Keeper(String),
    /// No free address block.
    #[error("no free 127.x.y.0/24 address block: {0}")]
    Lease(String),
    /// A process does not do what every process must.
    #[error("{name} (pid {pid}): {problem}")]
    Stuck {
        /// Its name in the lab.
        name: String,
        /// Its pid.
        pid: u32,
        /// What it does not do.
        problem: String,
    },
    /// A regular expression is none.
    #[error("/{pattern}/ is not a regular expression: {problem}")]
    Pattern {
        /// The expression.
        pattern: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A line stands in a log that should not.
    #[error("/{pattern}/ should not be in {path}, but there it is: {line}", path = path.display())]
    Unwanted {
        /// The expression that no line should match.
        pattern: String,
        /// The log.
        path: PathBuf,
        /// The first line that does.
        line: String,
    },
    /// This machine allows too little.
    #[error("{0}")]
    Limit(String),
    /// SIGINT and SIGTERM cannot be listened for.
    #[error("listening for SIGINT and SIGTERM: {0}")]
    Interrupt(String),
    /// A directory does not fit its purpose (too long for a Unix socket, read-only, full).
    #[error("{path}: {problem}", path = path.display())]
    Directory {
        /// Which.
        path: PathBuf,
        /// Why it does not fit and what to do.
        problem: String,
    },
}
