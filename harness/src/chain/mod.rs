//! The chain floor: bitcoind on regtest.
//!
//! A [`Chain`] is one real bitcoind, Core or Knots, in a lab's [`Site`](crate::host::Site), with
//! the wallet `lab` that pays for everything. [`Chain::start`] does not mine the many blocks that
//! a wallet needs before it can pay: the first lab of all does that, once, and stores the result,
//! the *prepared chain*; each lab copies it and mines one fresh block on top. So a chain is ready
//! in the time that bitcoind itself takes to start, holds hundreds of confirmed coins, and is the
//! same chain up to that last block, coin for coin, wherever it was prepared.
//!
//! The lab calls it, and nodes read its [`Endpoint`]. It knows no node: that a node has seen what
//! was mined here is the lab's to wait for. It never fetches anything from the network, reads no
//! `bitcoin.conf` of the user's, and listens on the lab's own loopback address alone.

mod block;

mod code;
mod daemon;
mod endpoint;
mod error;
mod handle;
mod http;
mod launch;
mod mine;
mod options;
mod prepared;
mod reorg;
mod rpc;
mod starting;
mod transaction;
mod version;
mod wallet;

pub use daemon::log_path;
pub use endpoint::Endpoint;
pub use error::Error;
pub use handle::{Chain, SEARCH};
pub use mine::Tip;
pub use options::ChainOptions;
pub use reorg::{Orphans, Reorg, ReorgOptions};
pub use transaction::TransactionInfo;
pub use wallet::{Balances, Wallet};

pub use ::bitcoincore_rpc;
