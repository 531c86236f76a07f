//! Acts on LDK's events about payments: the same rules as in `handle`.

use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use bitcoin::hex::DisplayHex as _;
use lightning::events::{Event, PathFailure, PaymentPurpose};
use lightning::ln::channelmanager::{PaymentId, RecentPaymentDetails};
use lightning::routing::router::Path;
use lightning::routing::scoring::ScoreUpdate as _;
use lightning::types::payment::{PaymentHash, PaymentPreimage};
use serde_json::json;

use crate::log::log_at;
use crate::node::Node;
use crate::payments::{Direction, Payment, Scores, Status, failure};
use crate::time;

/// Handles an event that tells of a payment.
pub(super) fn payment(node: &Arc<Node>, event: Event) {
    match event {
        Event::PaymentClaimable {
            payment_hash,
            purpose,
            amount_msat,
            ..
        } => match purpose.preimage() {
            // LDK leaves it to its user to take a hash only once. An event that it repeats after
            // a restart comes before the record, so this is another payment.
            _ if node.ledger.has_received(payment_hash) => {
                log_at!(
                    node.log,
                    Info,
                    "payment {payment_hash} of {amount_msat} msat came again and is refused"
                );
                node.manager.fail_htlc_backwards(&payment_hash);
            }
            Some(preimage) => node.manager.claim_funds(preimage),
            None => {
                log_at!(
                    node.log,
                    Warn,
                    "no preimage for the payment {payment_hash} of {amount_msat} msat"
                );
                node.manager.fail_htlc_backwards(&payment_hash);
            }
        },
        Event::PaymentClaimed {
            payment_hash,
            amount_msat,
            purpose,
            ..
        } => {
            let kind = match purpose {
                PaymentPurpose::SpontaneousPayment(_) => "keysend",
                _ => "invoice",
            };
            node.ledger.put(
                payment_hash,
                Payment::received(payment_hash, kind, amount_msat, purpose.preimage()),
            );
            node.outbox.event(
                "payment_received",
                json!({
                    "payment_hash": payment_hash.0.to_lower_hex_string(),
                    "amount_msat": amount_msat,
                    "kind": kind,
                }),
            );
        }
        Event::PaymentSent {
            payment_id,
            payment_preimage,
            payment_hash,
            fee_paid_msat,
            ..
        } => {
            let id = payment_id.unwrap_or(PaymentId(payment_hash.0));
            sent(node, id, payment_hash, payment_preimage, fee_paid_msat);
        }
        Event::PaymentFailed {
            payment_id,
            payment_hash,
            reason,
        } => {
            let hash = payment_hash.unwrap_or(PaymentHash(payment_id.0));
            failed(node, payment_id, hash, failure::reason_words(reason));
        }
        Event::PaymentPathFailed {
            payment_id: Some(payment_id),
            payment_hash,
            payment_failed_permanently,
            failure,
            path,
            short_channel_id,
            ..
        } => {
            if let PathFailure::OnPath {
                network_update: Some(update),
            } = &failure
            {
                node.graph.handle_network_update(update);
            }
            match short_channel_id {
                // Of its own channels the node knows all, and LDK warns of such a lesson.
                Some(scid) if path.hops.first().map(|hop| hop.short_channel_id) == Some(scid) => {}
                Some(scid) => learn(node, |scorer, now| {
                    scorer.payment_path_failed(&path, scid, now);
                }),
                // The payee itself refused, so every channel on the way carried the HTLC.
                None if payment_failed_permanently => {
                    learn(node, |scorer, now| scorer.probe_successful(&path, now));
                }
                None => {}
            }
            node.routes.failed(&payment_id, &path);
            let heard = node.log.hop_failures.take(&payment_hash);
            let words = failure::path_words(heard, &failure, short_channel_id);
            log_at!(
                node.log,
                Info,
                "a path of payment {payment_hash} failed: {words}"
            );
            node.ledger
                .update(Direction::Outgoing, payment_hash, |payment| {
                    payment.failure = Some(words);
                });
        }
        Event::PaymentForwarded {
            prev_node_id,
            next_node_id,
            total_fee_earned_msat,
            outbound_amount_forwarded_msat,
            claim_from_onchain_tx,
            ..
        } => node.outbox.event(
            "payment_forwarded",
            json!({
                "from": prev_node_id.map(|id| id.to_string()),
                "to": next_node_id.map(|id| id.to_string()),
                "amount_msat": outbound_amount_forwarded_msat,
                "fee_msat": total_fee_earned_msat,
                "on_chain": claim_from_onchain_tx,
            }),
        ),
        Event::HTLCHandlingFailed {
            prev_channel_id,
            failure_type,
            failure_reason,
        } => {
            let words =
                failure::forward_words(prev_channel_id, &failure_type, failure_reason.as_ref());
            log_at!(node.log, Info, "{words}");
        }
        Event::PaymentPathSuccessful { path, .. } => carried(node, &path),
        // The rest belongs to features that this node does not offer.
        _ => {}
    }
}

/// A path has carried a payment: `PaymentSent` has told everything but that.
fn carried(node: &Node, path: &Path) {
    learn(node, |scorer, now| {
        scorer.payment_path_successful(path, now)
    });
}

/// Teaches the scorer, for the next search for a route.
fn learn(node: &Node, lesson: impl FnOnce(&mut Scores, Duration)) {
    let mut scorer = node.scorer.write().unwrap_or_else(PoisonError::into_inner);
    lesson(&mut scorer, time::since_epoch());
    node.scorer_changed.store(true, Ordering::Release);
}

fn sent(
    node: &Node,
    id: PaymentId,
    hash: PaymentHash,
    preimage: PaymentPreimage,
    fee_msat: Option<u64>,
) {
    let paths = node.routes.take(&id).and_then(Result::ok);
    let mut amount_msat = None;
    node.ledger.update(Direction::Outgoing, hash, |payment| {
        payment.status = Status::Succeeded;
        payment.preimage = Some(preimage.0.to_lower_hex_string());
        payment.fee_msat = fee_msat;
        payment.failure = None;
        payment.settled_us = Some(time::now_us());
        if let Some(paths) = paths {
            payment.parts = u32::try_from(paths.len()).ok();
            payment.hops = paths
                .iter()
                .max_by_key(|path| path.hops.len())
                .map(crate::payments::describe_route);
        }
        amount_msat = Some(payment.amount_msat);
    });
    node.outbox.event(
        "payment_sent",
        json!({
            "payment_hash": hash.0.to_lower_hex_string(),
            "amount_msat": amount_msat,
            "fee_msat": fee_msat,
        }),
    );
    node.outbox.payment_ended(id);
}

fn failed(node: &Node, id: PaymentId, hash: PaymentHash, reason: &str) {
    let search = node.routes.take(&id);
    let mut words = None;
    node.ledger.update(Direction::Outgoing, hash, |payment| {
        let mut text = reason.to_owned();
        if let Some(last) = payment.failure.take() {
            text.push_str(&format!(": {last}"));
        } else if let Some(Err(why)) = search {
            text.push_str(&format!(": {why}"));
        }
        payment.status = Status::Failed;
        payment.failure = Some(text.clone());
        payment.settled_us = Some(time::now_us());
        words = Some(text);
    });
    node.outbox.event(
        "payment_failed",
        json!({ "payment_hash": hash.0.to_lower_hex_string(), "reason": words }),
    );
    node.outbox.payment_ended(id);
}

/// Ends the records of payments that LDK knows nothing of: a process that was killed had begun
/// them, and no HTLC had left. Called once at the start, when LDK has handed out the events
/// that it had kept; `suspects` were pending then.
pub(crate) fn end_lost_payments(node: &Node, suspects: Vec<PaymentHash>) {
    let known: HashSet<PaymentId> = node
        .manager
        .list_recent_payments()
        .into_iter()
        .map(|payment| match payment {
            RecentPaymentDetails::AwaitingInvoice { payment_id }
            | RecentPaymentDetails::Pending { payment_id, .. }
            | RecentPaymentDetails::Fulfilled { payment_id, .. }
            | RecentPaymentDetails::Abandoned { payment_id, .. } => payment_id,
        })
        .collect();
    for hash in suspects {
        let id = PaymentId(hash.0);
        let is_pending = node
            .ledger
            .get(Direction::Outgoing, hash)
            .is_some_and(|payment| payment.status == Status::Pending);
        if is_pending && !known.contains(&id) {
            log_at!(
                node.log,
                Warn,
                "payment {hash} was begun by an earlier run and never sent"
            );
            failed(node, id, hash, "the node ended before the payment was sent");
        }
    }
}
