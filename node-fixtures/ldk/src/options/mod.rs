//! The command line: one table of options, read by hand.
//!
//! A test binary may link this crate, so the parser stays small and brings no dependency.
//! The same table feeds the parser, `--help` and the error for an unknown option: `table`
//! holds it, `parse` reads a command line by it.

mod parse;
mod table;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::log::Level;
pub(crate) use parse::parse;
pub(crate) use table::help;

/// What the command line asks for.
#[derive(Debug)]
pub(crate) enum Request {
    Help,
    Version,
    Run(Box<Options>),
}

/// Where the node keeps its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreKind {
    /// In a sqlite database in the data directory: survives a restart and SIGKILL.
    Sqlite,
    /// Nowhere: a restarted node knows its key and nothing else.
    Memory,
}

impl StoreKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            StoreKind::Sqlite => "sqlite",
            StoreKind::Memory => "memory",
        }
    }
}

/// How to authenticate to bitcoind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BitcoindAuth {
    /// The cookie file that bitcoind writes anew at each start.
    Cookie(PathBuf),
    /// A user and password of its `rpcauth` or `rpcuser`.
    Password { user: String, password: String },
}

/// Everything the daemon can be told.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub data_dir: PathBuf,
    pub alias: String,
    pub seed: Option<[u8; 32]>,
    pub listen: SocketAddr,
    pub rpc_socket: PathBuf,
    pub log_file: Option<PathBuf>,
    pub log_level: Level,
    pub bitcoind_address: SocketAddr,
    pub bitcoind_auth: BitcoindAuth,
    pub bitcoind_wallet: String,
    pub bitcoind_timeout: Duration,
    pub store: StoreKind,
    pub nodelay: bool,
    pub fee_base_msat: u32,
    pub fee_proportional_millionths: u32,
    pub cltv_delta: u16,
    pub min_depth: u32,
    pub to_self_delay: u16,
    pub feerate_sat_per_kw: u32,
    pub anchors: bool,
}

/// A command line that cannot be understood.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum OptionsError {
    #[error("unknown option {0}{hint}", hint = table::hint(.0))]
    Unknown(String),
    #[error("unexpected argument {0}: every argument is an option")]
    Stray(String),
    #[error("{name} needs a value: {name} {value}")]
    NoValue {
        name: &'static str,
        value: &'static str,
    },
    #[error("{0} is given twice")]
    Twice(&'static str),
    #[error("{name} is missing: {about}")]
    Missing {
        name: &'static str,
        about: &'static str,
    },
    #[error("{name} cannot be {got:?}: {why}")]
    Value {
        name: &'static str,
        got: String,
        why: String,
    },
    #[error("an argument is not valid UTF-8: {0:?}")]
    Encoding(OsString),
    #[error("{0}")]
    Conflict(&'static str),
}
