//! Where a node finds its chain.
use crate::host::{
    Block,
    address::{PEER_PORT, RPC_PORT, ZMQ_BLOCK_PORT, ZMQ_TX_PORT},
};
use std::{
    net::SocketAddrV4,
    path::{Path, PathBuf},
};

/// Bitcoind's place in a lab's block of addresses.
const HOST: u8 = 2;

/// The user of the fixed RPC credentials.
const USER: &str = "boltwright";
/// Its password: no secret, since whoever reaches a lab's loopback address may also read its files.
const PASSWORD: &str = "regtest-only";

/// Everything that a node needs to know to use the chain.
///
/// It stays the same when bitcoind is restarted, but for what the cookie file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Endpoint {
    /// RPC over HTTP.
    pub rpc: SocketAddrV4,
    /// The cookie file, written anew at each start.
    pub cookie: PathBuf,
    /// A fixed user, for daemons that cannot read a cookie.
    pub user: String,
    /// Its password.
    pub password: String,
    /// Bitcoin's peer-to-peer protocol.
    pub p2p: SocketAddrV4,
    /// ZMQ topic `rawblock`.
    pub zmq_raw_block: SocketAddrV4,
    /// ZMQ topic `rawtx`.
    pub zmq_raw_tx: SocketAddrV4,
    /// ZMQ topic `hashblock`.
    pub zmq_hash_block: SocketAddrV4,
    /// ZMQ topic `hashtx`.
    pub zmq_hash_tx: SocketAddrV4,
    /// ZMQ topic `sequence`.
    pub zmq_sequence: SocketAddrV4,
}

impl Endpoint {
    /// The endpoint in `block` of a bitcoind whose data directory is `data`.
    pub(super) fn new(block: Block, data: &Path) -> Endpoint {
        let at = |port| SocketAddrV4::new(block.address(HOST), port);
        Endpoint {
            rpc: at(RPC_PORT),
            cookie: data.join("regtest").join(".cookie"),
            user: USER.to_owned(),
            password: PASSWORD.to_owned(),
            p2p: at(PEER_PORT),
            // Topics may share a socket: a subscriber filters by topic.
            zmq_raw_block: at(ZMQ_BLOCK_PORT),
            zmq_hash_block: at(ZMQ_BLOCK_PORT),
            zmq_sequence: at(ZMQ_BLOCK_PORT),
            zmq_raw_tx: at(ZMQ_TX_PORT),
            zmq_hash_tx: at(ZMQ_TX_PORT),
        }
    }
}
