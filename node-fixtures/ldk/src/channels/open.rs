//! Opens a channel.

use std::sync::Arc;

use bitcoin::secp256k1::PublicKey;
use bitcoin::{Amount, ScriptBuf};
use lightning::ln::types::ChannelId;

use super::openings::Opened;
use super::{ChannelError, OPEN_TIMEOUT, api_words};
use crate::log::log_at;
use crate::node::{Node, config};

/// What is asked for.
pub(crate) struct OpenRequest {
    pub peer: PublicKey,
    pub capacity: Amount,
    pub push_msat: u64,
    pub announced: bool,
}

/// Opens a channel; returns when its funding transaction is in bitcoind's mempool.
pub(crate) async fn open(node: &Arc<Node>, request: OpenRequest) -> Result<Opened, ChannelError> {
    if !node.watch.is_connected(&request.peer) {
        return Err(ChannelError::NotConnected(request.peer));
    }
    let mut id = [0; 16];
    id.copy_from_slice(&node.keys.random_bytes()[..16]);
    let id = u128::from_be_bytes(id);
    let outcome = node.openings.begin(id);
    let created = node.manager.create_channel(
        request.peer,
        request.capacity.to_sat(),
        request.push_msat,
        id,
        None,
        Some(config::channel(&node.options, request.announced)),
    );
    if let Err(error) = created {
        node.openings.failed(id, ChannelError::TimedOut);
        return Err(ChannelError::Refused(api_words(&error)));
    }
    node.peers.process_events();
    let (opened, funding) = match tokio::time::timeout(OPEN_TIMEOUT, outcome).await {
        Ok(Ok(outcome)) => outcome?,
        Ok(Err(_)) => return Err(ChannelError::Refused("the node is stopping".to_owned())),
        Err(_) => {
            give_up(node, id, request.peer, "the opening took too long");
            return Err(ChannelError::TimedOut);
        }
    };
    // LDK has queued it for broadcast; sending it here tells what bitcoind thinks of it.
    if let Some(funding) = funding {
        let txid = funding.compute_txid();
        let broadcaster = Arc::clone(&node.broadcaster);
        let sent = tokio::task::spawn_blocking(move || broadcaster.send_now(&funding)).await;
        if node.openings.release(txid) {
            node.openings.coins_are_back();
        }
        if let Ok(Err(error)) = sent {
            return Err(ChannelError::Refused(format!(
                "the channel exists, but its funding transaction was not accepted: {error}"
            )));
        }
    }
    Ok(opened)
}

/// Answers LDK's request for a funding transaction. Called on a thread that may wait.
pub(crate) fn fund(
    node: &Node,
    id: u128,
    temporary: ChannelId,
    peer: PublicKey,
    capacity: Amount,
    script: &ScriptBuf,
) {
    let funding = loop {
        // Counted from before the wallet picks coins, so that an opening that finds none
        // sees everyone who may still return some.
        let returns = node.openings.hold_coins();
        match node.wallet.fund(script, capacity, &node.fees) {
            Ok(funding) => break funding,
            Err(error) => {
                node.openings.let_go();
                if error.is_lack_of_funds() && node.openings.wait_for_coins(returns) {
                    continue;
                }
                let words = format!("cannot fund the channel: {error}");
                log_at!(node.log, Warn, "{words}");
                node.openings.failed(id, ChannelError::Refused(words));
                give_up(node, id, peer, "cannot fund the channel");
                return;
            }
        }
    };
    node.openings.funded(id, &funding);
    let given = node
        .manager
        .funding_transaction_generated(temporary, peer, funding.clone());
    if let Err(error) = given {
        // LDK has dropped the channel, for example because the peer left meanwhile.
        if node.openings.release(funding.compute_txid()) {
            node.wallet.unlock(&funding);
            node.openings.coins_are_back();
        }
        node.openings
            .failed(id, ChannelError::Refused(api_words(&error)));
    }
    node.peers.process_events();
}

/// Ends an opening. Its channel is looked for by our own id: LDK's changes when the channel is
/// funded.
fn give_up(node: &Node, id: u128, peer: PublicKey, why: &str) {
    let channels = node.manager.list_channels_with_counterparty(&peer);
    if let Some(channel) = channels
        .iter()
        .find(|channel| channel.user_channel_id == id)
    {
        // An error means that LDK has let go of it already, which is what is wanted.
        let _ = node.manager.force_close_broadcasting_latest_txn(
            &channel.channel_id,
            &peer,
            why.to_owned(),
        );
    }
    node.peers.process_events();
}
