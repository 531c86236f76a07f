//! Why a payment failed, in the words of BOLT 4.
//!
//! LDK 0.2 decrypts a failure that comes back along the route, decides by it, and leaves the
//! failure code out of its event (`PaymentPathFailed::error_code` exists in its own test
//! builds only). It does log the code, with the payment's hash beside it. So the code is
//! taken from there; should a later LDK word that line differently, the code is missing
//! from our messages and nothing else changes.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use lightning::events::{PathFailure, PaymentFailureReason};
use lightning::ln::types::ChannelId;
use lightning::routing::gossip::NetworkUpdate;
use lightning::types::payment::PaymentHash;
use lightning::util::logger::{Level, Record};

use crate::channels::scid_text;

/// Failures heard of for payments whose failing event has not come yet.
#[derive(Default)]
pub(crate) struct HopFailures {
    heard: Mutex<HashMap<PaymentHash, String>>,
}

/// A payment's failure is collected soon after it was heard; this only bounds a leak.
const MOST_HEARD: usize = 4096;

impl HopFailures {
    /// Looks at everything that LDK logs, and keeps what tells of a failed hop.
    pub(crate) fn listen(&self, record: &Record) {
        let relevant =
            matches!(record.level, Level::Info) && record.module_path.ends_with("onion_utils");
        if let (true, Some(hash)) = (relevant, record.payment_hash)
            && let Some(words) = hop_failure(&record.args.to_string())
        {
            let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
            if heard.len() >= MOST_HEARD {
                heard.clear();
            }
            heard.insert(hash, words);
        }
    }

    /// What was heard of a payment last, and forgets it.
    pub(crate) fn take(&self, hash: &PaymentHash) -> Option<String> {
        self.heard
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(hash)
    }
}

/// Reads `Onion Error[from NODE: NAME(0xCODE)…]`.
fn hop_failure(line: &str) -> Option<String> {
    let rest = line.strip_prefix("Onion Error[from ")?;
    let (node, rest) = rest.split_once(": ")?;
    let (_, rest) = rest.split_once("(0x")?;
    let (code, _) = rest.split_once(')')?;
    let code = u16::from_str_radix(code, 16).ok()?;
    Some(format!("{} from {node}", bolt4_name(code)))
}

/// The name that BOLT 4 gives a failure code.
fn bolt4_name(code: u16) -> String {
    const BADONION: u16 = 0x8000;
    const PERM: u16 = 0x4000;
    const NODE: u16 = 0x2000;
    const UPDATE: u16 = 0x1000;
    const NAMES: &[(u16, &str)] = &[
        (NODE | 2, "temporary_node_failure"),
        (PERM | NODE | 2, "permanent_node_failure"),
        (PERM | NODE | 3, "required_node_feature_missing"),
        (BADONION | PERM | 4, "invalid_onion_version"),
        (BADONION | PERM | 5, "invalid_onion_hmac"),
        (BADONION | PERM | 6, "invalid_onion_key"),
        (UPDATE | 7, "temporary_channel_failure"),
        (PERM | 8, "permanent_channel_failure"),
        (PERM | 9, "required_channel_feature_missing"),
        (PERM | 10, "unknown_next_peer"),
        (UPDATE | 11, "amount_below_minimum"),
        (UPDATE | 12, "fee_insufficient"),
        (UPDATE | 13, "incorrect_cltv_expiry"),
        (UPDATE | 14, "expiry_too_soon"),
        (PERM | 15, UNKNOWN_DETAILS),
        (18, "final_incorrect_cltv_expiry"),
        (19, "final_incorrect_htlc_amount"),
        (UPDATE | 20, "channel_disabled"),
        (21, "expiry_too_far"),
        (PERM | 22, "invalid_onion_payload"),
        (23, "mpp_timeout"),
        (BADONION | PERM | 24, "invalid_onion_blinding"),
    ];
    NAMES.iter().find(|(known, _)| *known == code).map_or_else(
        || format!("failure code {code:#06x}"),
        |(_, name)| (*name).to_owned(),
    )
}

/// Words for a failed path, from the code if it was heard and from LDK's event otherwise.
pub(crate) fn path_words(
    heard: Option<String>,
    failure: &PathFailure,
    scid: Option<u64>,
) -> String {
    let mut words = match (heard, failure) {
        (Some(words), _) => words,
        (None, PathFailure::InitialSend { err }) => format!("could not be sent: {err:?}"),
        (None, PathFailure::OnPath { network_update }) => match network_update {
            Some(NetworkUpdate::ChannelFailure { is_permanent, .. }) => {
                let how = if *is_permanent {
                    "permanent"
                } else {
                    "temporary"
                };
                format!("{how} failure of a channel")
            }
            Some(NetworkUpdate::NodeFailure { node_id, .. }) => {
                format!("failure of node {node_id}")
            }
            None => "the payment was failed on its way".to_owned(),
        },
    };
    if let Some(scid) = scid {
        words.push_str(&format!(", at channel {}", scid_text(scid)));
    }
    words
}

/// How the words for a payment without a route begin.
pub(crate) const NO_ROUTE: &str = "no route";
/// How the words for a payment of an expired invoice begin.
pub(crate) const EXPIRED: &str = "the invoice expired";
/// BOLT 4's name for a hash that the payee does not know, or a wrong amount for it.
const UNKNOWN_DETAILS: &str = "incorrect_or_unknown_payment_details";

/// The one word by which callers decide, for the words of a payment that failed.
pub(crate) fn reason_word(words: &str) -> &'static str {
    if words.starts_with(NO_ROUTE) {
        "no_route"
    } else if words.starts_with(EXPIRED) {
        "invoice_expired"
    } else if words.contains(UNKNOWN_DETAILS) {
        UNKNOWN_DETAILS
    } else {
        "other"
    }
}

/// Words for LDK's reason to give a payment up.
pub(crate) fn reason_words(reason: Option<PaymentFailureReason>) -> &'static str {
    match reason {
        Some(PaymentFailureReason::RecipientRejected) => "the payee refused the payment",
        Some(PaymentFailureReason::UserAbandoned) => "given up",
        Some(PaymentFailureReason::RetriesExhausted) => "no further try succeeded",
        Some(PaymentFailureReason::PaymentExpired) => EXPIRED,
        Some(PaymentFailureReason::RouteNotFound) => NO_ROUTE,
        Some(PaymentFailureReason::UnknownRequiredFeatures) => {
            "the payee requires a feature that is not known here"
        }
        Some(_) | None => "the payment failed",
    }
}

/// Words for an HTLC that this node could not pass on.
pub(crate) fn forward_words(
    channel: ChannelId,
    failure: &lightning::events::HTLCHandlingFailureType,
    reason: Option<&lightning::events::HTLCHandlingFailureReason>,
) -> String {
    format!("HTLC from channel {channel} was failed: {failure:?}, reason {reason:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_one_of_a_few_words() {
        let rejected = Some(PaymentFailureReason::RecipientRejected);
        let heard = hop_failure("Onion Error[from 02ab: X(0x400f)]").expect("is one");
        let rejected = format!("{}: {heard}", reason_words(rejected));
        assert_eq!(reason_word(&rejected), UNKNOWN_DETAILS);
        let without_route = reason_words(Some(PaymentFailureReason::RouteNotFound));
        assert_eq!(reason_word(without_route), "no_route");
        let late = reason_words(Some(PaymentFailureReason::PaymentExpired));
        assert_eq!(reason_word(late), "invoice_expired");
        let tired = reason_words(Some(PaymentFailureReason::RetriesExhausted));
        assert_eq!(reason_word(tired), "other");
    }

    #[test]
    fn the_code_of_a_failed_hop_is_read_from_ldks_line() {
        assert_eq!(
            hop_failure("Onion Error[from 02ab: IncorrectPaymentDetails(0x400f) htlc_msat(00)]"),
            Some("incorrect_or_unknown_payment_details from 02ab".to_owned())
        );
        assert_eq!(
            hop_failure("Onion Error[from 02ab: UnknownFailureCode { code: 1 }(0x1)]"),
            Some("failure code 0x0001 from 02ab".to_owned())
        );
        assert_eq!(hop_failure("Something else"), None);
    }
}
