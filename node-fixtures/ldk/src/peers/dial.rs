//! Connections: made and accepted.
//!
//! `lightning-net-tokio` leaves Nagle's algorithm on, which adds 40 ms to each step of a
//! payment; TCP_NODELAY is set here, unless the node was told not to.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bitcoin::secp256k1::PublicKey;
use tokio::net::{TcpListener, TcpStream};

use super::PeerWatch;
use crate::log::{Log, log_at};
use crate::node::PeerManager;

const TCP_TIMEOUT: Duration = Duration::from_secs(5);
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// How often more to dial when a connection is closed during its handshake. Two nodes that dial
/// each other at the same moment can each close the other's connection for its own.
const MORE_TRIES: u32 = 2;
/// How long, at least and at most, a connection from the other side may take to win after ours
/// was closed. Chance decides in between, so that the two do not dial in step again.
const WIN_WITHIN: std::ops::Range<u64> = 250..500;
/// The pause after a failed accept, for example when descriptors have run out.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);

/// A connection that did not come about.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DialError {
    #[error("cannot connect to {address}: {source}")]
    Tcp {
        address: SocketAddr,
        source: io::Error,
    },
    #[error("no answer from {0} within {after} s", after = TCP_TIMEOUT.as_secs())]
    TcpTimeout(SocketAddr),
    #[error(
        "{address} closed the connection during the handshake: \
         it may not be node {id}, or it refuses this node"
    )]
    Handshake { address: SocketAddr, id: PublicKey },
    #[error("{0} did not finish the handshake within {after} s", after = HANDSHAKE_TIMEOUT.as_secs())]
    HandshakeTimeout(SocketAddr),
    #[error("this is the node's own id")]
    ToSelf,
}

/// Connects to a peer; returns once both have exchanged `init`.
pub(crate) async fn dial(
    peers: &Arc<PeerManager>,
    watch: &PeerWatch,
    id: PublicKey,
    address: SocketAddr,
    nodelay: bool,
) -> Result<(), DialError> {
    let mut tries = 0;
    loop {
        match dial_once(peers, watch, id, address, nodelay).await {
            Err(DialError::Handshake { .. }) if tries < MORE_TRIES => tries += 1,
            outcome => return outcome,
        }
    }
}

async fn dial_once(
    peers: &Arc<PeerManager>,
    watch: &PeerWatch,
    id: PublicKey,
    address: SocketAddr,
    nodelay: bool,
) -> Result<(), DialError> {
    if watch.is_connected(&id) {
        return Ok(());
    }
    let stream = tokio::time::timeout(TCP_TIMEOUT, TcpStream::connect(address))
        .await
        .map_err(|_| DialError::TcpTimeout(address))?
        .and_then(|stream| prepare(stream, nodelay))
        .map_err(|source| DialError::Tcp { address, source })?;
    let gone = lightning_net_tokio::setup_outbound(Arc::clone(peers), id, stream);
    let outcome = tokio::time::timeout(HANDSHAKE_TIMEOUT, async {
        tokio::select! {
            biased;
            () = watch.connected(id) => true,
            () = gone => tokio::time::timeout(win_within(), watch.connected(id)).await.is_ok(),
        }
    });
    match outcome.await {
        Ok(true) => Ok(()),
        Ok(false) => Err(DialError::Handshake { address, id }),
        Err(_) => Err(DialError::HandshakeTimeout(address)),
    }
}

/// Accepts peers: the body of a task.
pub(crate) async fn accept(
    listener: TcpListener,
    peers: Arc<PeerManager>,
    nodelay: bool,
    log: Arc<Log>,
) {
    loop {
        let accepted = listener
            .accept()
            .await
            .and_then(|(stream, _)| prepare(stream, nodelay));
        match accepted {
            Ok(stream) => {
                // The connection lives on its own; the future only tells of its end.
                drop(lightning_net_tokio::setup_inbound(
                    Arc::clone(&peers),
                    stream,
                ));
            }
            Err(error) => {
                log_at!(log, Warn, "cannot accept a peer: {error}");
                tokio::time::sleep(ACCEPT_AGAIN).await;
            }
        }
    }
}

fn win_within() -> Duration {
    // The clock's finest digits are chance enough for two nodes to fall out of step.
    let chance = u64::from(crate::time::since_epoch().subsec_nanos());
    Duration::from_millis(WIN_WITHIN.start + chance % (WIN_WITHIN.end - WIN_WITHIN.start))
}

fn prepare(stream: TcpStream, nodelay: bool) -> io::Result<std::net::TcpStream> {
    let stream = stream.into_std()?;
    stream.set_nodelay(nodelay)?;
    Ok(stream)
}
