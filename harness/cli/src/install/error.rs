//! Why there is no bitcoind: what was tried, what came back, what helps.

use std::{io, path::PathBuf, process::ExitStatus};

/// The installation as a whole failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no folder to install into.
    #[error("failed to find Boltwright's folder: {0}")]
    Cache(#[from] boltwright::host::Error),

    /// The folder cannot be used.
    #[error("failed to {doing} {}: {source}; XDG_CACHE_HOME chooses another folder", path.display())]
    Folder {
        /// What was being done: `create`, `lock`.
        doing: &'static str,
        /// To which file or folder.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },

    /// No source gave a bitcoind that runs.
    #[error("{}", exhausted(attempts))]
    Exhausted {
        /// All that was tried, in order.
        attempts: Vec<Attempt>,
    },
}

/// One source that was tried in vain.
#[derive(Debug)]
pub struct Attempt {
    /// Its name.
    pub source: String,
    /// Why it failed.
    pub cause: Cause,
}

/// Why one source gave no bitcoind.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// No build is pinned for this kind of machine.
    #[error("there is no pinned build for {platform}")]
    Platform {
        /// The machine: `riscv64-linux-gnu`.
        platform: String,
    },

    /// The server was not reached or did not serve the file.
    #[error("failed to download {url}: {source}")]
    Http {
        /// What was asked for.
        url: String,
        /// What came back.
        source: Box<ureq::Error>,
    },

    /// The transfer broke off or stalled.
    #[error("the download of {url} broke off after {bytes} bytes: {reason}")]
    Transfer {
        /// What was asked for.
        url: String,
        /// How much had come.
        bytes: u64,
        /// What happened.
        reason: String,
    },

    /// The file is not the one that was pinned.
    #[error("{url} has SHA-256 {found}, but {expected} is pinned; it was thrown away")]
    Checksum {
        /// Where it came from.
        url: String,
        /// The pinned sum.
        expected: String,
        /// The sum of what came.
        found: String,
    },

    /// The archive is not what an archive of bitcoind should be.
    #[error("the archive is refused: {reason}")]
    Archive {
        /// What is wrong with it.
        reason: String,
    },

    /// Something that this source needs is not on this machine.
    #[error("{what} is missing{hint}")]
    Missing {
        /// What is missing.
        what: String,
        /// How to get it: empty, or starts with a separator.
        hint: String,
    },

    /// A program that this source uses failed.
    #[error("`{command}` failed ({status}): {said}")]
    Command {
        /// What was run.
        command: String,
        /// How it ended.
        status: ExitStatus,
        /// The last lines that it said.
        said: String,
    },

    /// None of the mirrors would do.
    #[error("no Debian mirror gave its list of packages: {0}")]
    Mirrors(String),

    /// What was unpacked does not run on this machine.
    #[error("what was unpacked does not run here: {said}")]
    DoesNotRun {
        /// What the program or the system said.
        said: String,
    },

    /// The disk or its rights are in the way.
    #[error("failed to {doing} {}: {source}", path.display())]
    Disk {
        /// What was being done: `write`, `create`.
        doing: &'static str,
        /// To which file.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
}

impl Cause {
    /// Whether every other source would fail for the same reason.
    pub(super) fn is_local(&self) -> bool {
        match self {
            Self::Disk { .. } => true,
            Self::Command { said, .. } | Self::Mirrors(said) => said.contains("No space left"),
            _ => false,
        }
    }

    /// For `map_err` on file operations.
    pub(super) fn disk(
        doing: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Disk {
            doing,
            path,
            source,
        }
    }
}

fn exhausted(attempts: &[Attempt]) -> String {
    let mut text = String::from("failed to install bitcoind; tried:");
    for Attempt { source, cause } in attempts {
        text.push_str(&format!("\n  {source}: {cause}"));
    }
    text.push_str(if attempts.iter().any(|attempt| attempt.cause.is_local()) {
        "\nfree some space there, or let XDG_CACHE_HOME name a folder on another disk"
    } else {
        "\nrun `boltwright install bitcoind` again where the internet or a Debian mirror is reachable"
    });
    text.push_str(
        ",\nor name a bitcoind of your own (28 or later): export BITCOIND_EXE=/path/to/bitcoind",
    );
    text
}
