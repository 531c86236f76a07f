//! What can go wrong with the chain: what was tried, what came back, and where the log is.
use super::code;
use crate::host;
use std::path::PathBuf;

/// An error of the chain floor.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The machine did not give what the chain needs: bitcoind is nowhere to be found, a directory
    /// cannot be written, an address is not free.
    #[error(transparent)]
    Host(#[from] host::Error),
    /// The program found is not a bitcoind that Boltwright can use.
    #[error("{path}: `{line}` {problem}", path = path.display())]
    Version {
        /// The program.
        path: PathBuf,
        /// What it says about itself.
        line: String,
        /// What is wrong with that.
        problem: String,
    },
    /// Bitcoind did not start, or not in time.
    #[error("bitcoind did not start: {failure}")]
    Start {
        /// Why, with its own last words.
        failure: Box<host::wait::Failure>,
    },
    /// Bitcoind has ended, and what was asked of it with it.
    #[error("{call}: {death}")]
    Died {
        /// What was asked, shortened.
        call: String,
        /// That it ended, how, and its last words.
        death: Box<host::process::Death>,
    },
    /// Bitcoind said no.
    #[error("{call}: {message} ({}); log: {log}", code::words(*code), log = log.display())]
    Rpc {
        /// What was asked, shortened.
        call: String,
        /// Bitcoind's error code.
        code: i32,
        /// Bitcoind's error message.
        message: String,
        /// Its debug.log.
        log: PathBuf,
    },
    /// Bitcoind could not be asked, or did not answer in time.
    #[error("{call}: {problem}; log: {log}", log = log.display())]
    Transport {
        /// What was asked, shortened.
        call: String,
        /// What happened to the connection.
        problem: String,
        /// Bitcoind's debug.log.
        log: PathBuf,
    },
    /// Bitcoind's answer is not of the expected shape.
    #[error("{call}: unexpected answer: {problem}: {answer}; log: {log}", log = log.display())]
    Answer {
        /// What was asked, shortened.
        call: String,
        /// What does not fit.
        problem: String,
        /// The answer, shortened.
        answer: String,
        /// Bitcoind's debug.log.
        log: PathBuf,
    },
    /// What was waited for did not come.
    #[error(transparent)]
    Wait(#[from] host::wait::Failure),
    /// A wallet cannot have this name.
    #[error("wallet {name:?}: {problem}")]
    Wallet {
        /// The name.
        name: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The starting chain could not be made.
    #[error("preparing the starting chain: {problem}; log: {log}", log = log.display())]
    Prepare {
        /// What went wrong.
        problem: String,
        /// Bitcoind's debug.log.
        log: PathBuf,
    },
    /// A reorganisation that cannot be, or that bitcoind did not follow.
    #[error("reorg of {depth} blocks: {problem}; log: {log}", log = log.display())]
    Reorg {
        /// How deep it was to be.
        depth: u32,
        /// Why it is not.
        problem: String,
        /// Bitcoind's debug.log.
        log: PathBuf,
    },
}

impl Error {
    /// Bitcoind's error code, if it was bitcoind that said no.
    pub fn code(&self) -> Option<i32> {
        match self {
            Error::Rpc { code, .. } => Some(*code),
            _ => None,
        }
    }
}
