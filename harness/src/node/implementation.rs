//! How one kind of daemon is found, launched and read.

use super::{Capabilities, Client, Failure, NodeOptions};
use crate::chain::Endpoint;
use crate::host::{Command, Program, address::PEER_PORT, program::NotFound};
use std::{fmt, net::SocketAddrV4, path::Path, path::PathBuf};

/// An implementation, as labs and matrices pass it around.
///
/// A user's own implementation is a `static` of a type that implements the trait.
pub type Kind = &'static dyn Implementation;

/// One implementation of the Lightning protocol: how its daemon is found, started and read.
///
/// Object-safe and without state: all that belongs to one running node is in its [`Launch`] and
/// its [`Client`].
pub trait Implementation: Send + Sync + fmt::Debug {
    /// Its short name in test names, reports and `BOLTWRIGHT_REQUIRE`: `ldk`, `cln`, `lnd`.
    fn name(&self) -> &'static str;

    /// Where its daemon is on this machine; the error says how to get it.
    fn find(&self) -> Result<Program, NotFound>;

    /// What this version can do.
    fn capabilities(&self, program: &Program) -> Capabilities;

    /// Writes what the daemon needs into its directory and returns how to start it. Called again
    /// for every restart.
    fn command(&self, launch: &Launch) -> super::Result<Command>;

    /// Where its log will be.
    fn log_path(&self, launch: &Launch) -> PathBuf;

    /// Connects to the daemon; called until it succeeds and the node answers with its id at the
    /// chain's tip, so a daemon that is not up yet is simply an error.
    fn client(&self, launch: &Launch) -> Result<Box<dyn Client>, Failure>;

    /// Connects to the running daemon whose directory this is, for those who did not start it
    /// (`boltwright rpc`).
    fn reach(&self, dir: &Path) -> Result<Box<dyn Client>, Failure> {
        Err(Failure {
            method: "connect".to_owned(),
            params: dir.display().to_string(),
            code: None,
            message: format!(
                "a node of {} cannot be reached from outside its lab",
                self.name()
            ),
            payment: None,
            unreachable: true,
        })
    }

    /// What a person types to talk to this node.
    fn command_line(&self, launch: &Launch) -> String;

    /// What a line of its log means for the end checks.
    fn classify(&self, line: &str) -> LogLine;
}

impl fmt::Display for dyn Implementation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a line of a daemon's log means for the end checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLine {
    /// Nothing to worry about.
    Ordinary,
    /// The daemon says that something is wrong with itself.
    Error,
    /// A connection to a peer was lost.
    Disconnect,
}

/// All that one node needs to be launched.
#[derive(Debug, Clone)]
pub struct Launch {
    /// Its name in the lab: `alice`.
    pub name: String,
    /// Its own directory.
    pub dir: PathBuf,
    /// Its peer port's address, and by its IP the address that is its own for anything else.
    pub listen: SocketAddrV4,
    /// The lab's bitcoind.
    pub chain: Endpoint,
    /// The daemon to run.
    pub program: Program,
    /// The secret that its keys come from, derived from the lab's seed and its name.
    pub seed: [u8; 32],
    /// What the test asked for.
    pub options: NodeOptions,
}

impl Launch {
    /// `dir` as it will be for the node of this name in a lab's directory.
    pub(crate) fn dir_in(lab: &Path, name: &str) -> PathBuf {
        lab.join(name)
    }

    /// The peer address of the node with this host number.
    pub(crate) fn listen_at(block: crate::host::Block, host: u8) -> SocketAddrV4 {
        SocketAddrV4::new(block.address(host), PEER_PORT)
    }
}
