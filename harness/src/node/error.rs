//! Everything that can go wrong with a node, naming the node and its log.

use super::{Capability, Failure, FailureReason, PaymentHash};
use crate::{chain, host};
use std::path::PathBuf;

/// An error of the node floor.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A daemon refused a call, in its own words.
    #[error("{node}: {failure}\n  log: {log}", log = log.display())]
    Refused {
        /// Which node, with its implementation: `alice (ldk)`.
        node: String,
        /// The call and what came back.
        failure: Box<Failure>,
        /// Where its log is.
        log: PathBuf,
    },
    /// A payment was tried and failed.
    #[error("{node}: payment{} failed: {reason}{}\n  log: {log}", hash_words(hash), detail_words(detail, reason), log = log.display())]
    PaymentFailed {
        /// The payer.
        node: String,
        /// Of which payment, where the payer chose it.
        hash: Option<PaymentHash>,
        /// Why.
        reason: FailureReason,
        /// The daemon's own words.
        detail: String,
        /// Where the payer's log is.
        log: PathBuf,
    },
    /// The implementation cannot do that.
    #[error("{node} cannot do {capability}: {implementation} lacks it")]
    Unsupported {
        /// Which node.
        node: String,
        /// Of which implementation.
        implementation: &'static str,
        /// What was asked.
        capability: Capability,
    },
    /// The node is not running.
    #[error(
        "{node} is not running (it was stopped, killed or never started); start it again with `start()`"
    )]
    NotRunning {
        /// Which node.
        node: String,
    },
    /// The node is being started and does not answer yet.
    #[error("{node} is being started and does not answer yet")]
    NotReady {
        /// Which node.
        node: String,
    },
    /// The request makes no sense, and no daemon was asked.
    #[error("{node}: {problem}")]
    Invalid {
        /// Which node.
        node: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The host floor failed: a process, a file, a wait.
    #[error(transparent)]
    Host(#[from] host::Error),
    /// The chain floor failed.
    #[error(transparent)]
    Chain(#[from] chain::Error),
}

fn hash_words(hash: &Option<PaymentHash>) -> String {
    hash.map(|hash| format!(" {hash}")).unwrap_or_default()
}

/// The daemon's own words behind the reason, if they say more than it.
fn detail_words(detail: &str, reason: &FailureReason) -> String {
    match detail.strip_prefix(&reason.to_string()) {
        Some(rest) => rest.to_owned(),
        None if detail.is_empty() => String::new(),
        None => format!(" ({detail})"),
    }
}

impl Error {
    /// Why a payment failed, if that is what this error is about.
    pub fn payment_failure(&self) -> Option<&FailureReason> {
        match self {
            Error::PaymentFailed { reason, .. } => Some(reason),
            _ => None,
        }
    }
}

impl From<host::wait::Failure> for Error {
    fn from(failure: host::wait::Failure) -> Error {
        Error::Host(failure.into())
    }
}

impl From<host::process::Death> for Error {
    fn from(death: host::process::Death) -> Error {
        Error::Host(death.into())
    }
}

impl From<host::program::NotFound> for Error {
    fn from(error: host::program::NotFound) -> Error {
        Error::Host(error.into())
    }
}
