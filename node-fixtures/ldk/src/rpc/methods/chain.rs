//! The chain and the wallet.

use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use bitcoin::BlockHash;
use lightning::chain::channelmonitor::Balance;
use lightning::util::sweep::OutputSpendStatus;
use serde::Deserialize;
use serde_json::json;

use super::super::protocol::{Failure, code};
use super::{Answer, DEFAULT_WAIT_MS, Nothing, blocking};
use crate::channels;
use crate::node::{ChainFollower, Node};

pub(super) async fn newaddress(node: &Arc<Node>, _: Nothing) -> Answer {
    let address = blocking(node, |node| node.wallet.new_address())
        .await?
        .map_err(|error| Failure::new(code::CHAIN, error))?;
    Ok(json!({ "address": address.to_string() }))
}

pub(super) async fn balance(node: &Arc<Node>, _: Nothing) -> Answer {
    let onchain = blocking(node, |node| node.wallet.balance())
        .await?
        .map_err(|error| Failure::new(code::CHAIN, error))?;
    Ok(json!({
        "onchain_confirmed_sat": onchain.confirmed.to_sat(),
        "onchain_unconfirmed_sat": onchain.unconfirmed.to_sat(),
        "lightning_msat": channels::total_local_msat(node),
        "lightning_sat": channels::total_local_msat(node) / 1000,
        "sweeping_sat": sweeping_sat(node),
    }))
}

/// What closed channels owe us and the wallet does not show yet: outputs that wait for their
/// delay or their depth, and sweeps that are not broadcast.
fn sweeping_sat(node: &Node) -> u64 {
    let open = node.manager.list_channels();
    let open: Vec<_> = open.iter().collect();
    let waiting: u64 = node
        .chain_monitor
        .get_claimable_balances(&open)
        .iter()
        .map(|balance| match balance {
            // The closing transaction pays to the wallet, which shows it by itself.
            Balance::ClaimableAwaitingConfirmations {
                source: lightning::chain::channelmonitor::BalanceSource::CoopClose,
                ..
            } => 0,
            other => other.claimable_amount_satoshis(),
        })
        .sum();
    let unswept: u64 = node
        .sweeper
        .tracked_spendable_outputs()
        .iter()
        .filter(|output| {
            matches!(
                output.status,
                OutputSpendStatus::PendingInitialBroadcast { .. }
            )
        })
        .map(|output| match &output.descriptor {
            lightning::sign::SpendableOutputDescriptor::StaticOutput { output, .. } => output.value,
            lightning::sign::SpendableOutputDescriptor::DelayedPaymentOutput(output) => {
                output.output.value
            }
            lightning::sign::SpendableOutputDescriptor::StaticPaymentOutput(output) => {
                output.output.value
            }
        })
        .map(bitcoin::Amount::to_sat)
        .sum();
    waiting + unswept
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WaitTip {
    hash: String,
    timeout_ms: Option<u64>,
}

pub(super) async fn waittip(node: &Arc<Node>, params: WaitTip) -> Answer {
    let hash = BlockHash::from_str(&params.hash).map_err(|_| {
        let why = format!(
            "hash {:?} is not a block hash: 64 hexadecimal digits",
            params.hash
        );
        Failure::new(code::INVALID_PARAMS, why)
    })?;
    let timeout_ms = params.timeout_ms.unwrap_or(DEFAULT_WAIT_MS);
    let mut tips = node.sync.watch();
    let reached = async {
        if tips.borrow_and_update().block_hash != hash {
            // The chain thread may be waiting; a failure here is one it will report.
            let node = Arc::clone(node);
            // On a task of its own: the lock is held until the thread has come back, also when
            // this caller's time is over.
            let poked = tokio::spawn(async move {
                let _turn = node.catching_up.lock().await;
                if node.sync.tip().block_hash == hash {
                    return Ok(());
                }
                blocking(&node, |node| {
                    let _ = node.sync.catch_up(&ChainFollower::of(node));
                })
                .await
            });
            poked
                .await
                .map_err(|error| Failure::new(code::INTERNAL, error))??;
        }
        tips.wait_for(|tip| tip.block_hash == hash)
            .await
            .map(|tip| tip.height)
            .map_err(|error| Failure::new(code::STOPPING, error))
    };
    let height = tokio::time::timeout(Duration::from_millis(timeout_ms), reached)
        .await
        .unwrap_or_else(|_| {
            let tip = node.sync.tip();
            let why = format!(
                "timed out after {timeout_ms} ms: the tip is block {} {}, not {hash}",
                tip.height, tip.block_hash
            );
            Err(Failure::new(code::TIMEOUT, why).with(json!({
                "block_height": tip.height,
                "block_hash": tip.block_hash.to_string(),
            })))
        })?;
    node.peers.process_events();
    Ok(json!({ "block_height": height, "block_hash": hash.to_string() }))
}
