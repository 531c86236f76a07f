//! Everything that can go wrong in a lab.

use crate::{chain, host, node};

/// An error of the lab, or of a floor below it in that floor's own words.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A node failed.
    #[error(transparent)]
    Node(#[from] node::Error),
    /// The chain failed.
    #[error(transparent)]
    Chain(#[from] chain::Error),
    /// This machine failed.
    #[error(transparent)]
    Host(#[from] host::Error),
    /// The request makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// The end of the lab found something wrong; the report was printed.
    #[error(transparent)]
    Failed(#[from] super::Failed),
}

impl From<host::wait::Failure> for Error {
    fn from(failure: host::wait::Failure) -> Error {
        Error::Host(failure.into())
    }
}

impl From<host::program::NotFound> for Error {
    fn from(error: host::program::NotFound) -> Error {
        Error::Host(error.into())
    }
}
