//! Why a command failed: its last line on standard error, and its exit code.

use crate::install;
use boltwright::{chain, host, lab, node};
use std::{io, path::PathBuf, process::ExitCode};

/// What the commands return.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of a command, or of the library in its own words.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The lab failed.
    #[error(transparent)]
    Lab(#[from] lab::Error),
    /// A node failed.
    #[error(transparent)]
    Node(#[from] node::Error),
    /// The chain failed.
    #[error(transparent)]
    Chain(#[from] chain::Error),
    /// This machine failed.
    #[error(transparent)]
    Host(#[from] host::Error),
    /// bitcoind was missing and could not be installed.
    #[error(transparent)]
    Install(#[from] install::Error),
    /// A file could not be read or written.
    #[error("failed to {doing} {}: {source}", path.display())]
    File {
        /// What was tried: `read`, `write`.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// What came back.
        source: io::Error,
    },
    /// The output could not be written.
    #[error("failed to write the output: {0}")]
    Output(#[source] io::Error),
    /// The command line makes no sense.
    #[error("{0}")]
    Usage(String),
    /// Anything else, in words that say what to do.
    #[error("{0}")]
    Failed(String),
    /// Everything was said already.
    #[error("what is wrong was told above")]
    Told,
}

impl Error {
    /// For `map_err` on file operations.
    pub fn file(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |source| Error::File {
            doing,
            path,
            source,
        }
    }

    /// Tells it on standard error; the exit code that it stands for.
    pub fn tell(&self) -> ExitCode {
        match self {
            // `boltwright logs DIR | head`: the reader has all that it wanted.
            Error::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
            Error::Told => ExitCode::FAILURE,
            Error::Usage(_) => {
                eprintln!("error: {self}");
                ExitCode::from(2)
            }
            _ => {
                eprintln!("error: {self}");
                ExitCode::FAILURE
            }
        }
    }
}
